// Moving a camera by hand: turn, shift, zoom, and glide to another pose; as view/space/camera.py.
// Every function takes a pose (see camera.js) and returns another one.

/** How far a drag turns the scene, in degrees. */
export const DEGREES_PER_PIXEL = 0.4;
// the eye never goes over the pole: up stays up
const POLE = 89;

/** Turned by a drag of pixels: the near side of the scene follows the pointer. */
export function turned(pose, dx, dy) {
  const el = Math.min(Math.max(pose.el + DEGREES_PER_PIXEL * dy, -POLE), POLE);
  return { ...pose, az: pose.az - DEGREES_PER_PIXEL * dx, el };
}

/** The picture moved by pixels. */
export function shifted(pose, dx, dy) {
  return { ...pose, place: [pose.place[0] + dx, pose.place[1] + dy] };
}

/** The picture enlarged by a factor around a pixel. */
export function zoomed(pose, factor, at) {
  const place = pose.place.map((x, k) => at[k] + factor * (x - at[k]));
  return { ...pose, scale: pose.scale * factor, place };
}

/** The same part of the scene, as large at its middle, where parallel lines stay parallel. */
export function parallelPose(pose) {
  return pose.eye === null ? pose : { ...pose, eye: null, scale: sizeOf(pose) };
}

/** The same by an eye that is so far away; one that has an eye already keeps it. */
export function perspectivePose(pose, distance) {
  return pose.eye === null ? { ...pose, eye: [0, 0, distance], scale: pose.scale * distance } : pose;
}

/** Pixels of a world unit in the middle of the scene. */
export function sizeOf(pose) {
  return pose.eye === null ? pose.scale : pose.scale / pose.eye[2];
}

/** The pose that is `share` of the way from `from` to `to`, the shorter way round; its lines are those of the end. */
export function between(from, to, share) {
  const start = to.eye === null ? parallelPose(from) : perspectivePose(from, to.eye[2]);
  const turn = wrapped(to.az - start.az);
  const mix = (a, b) => a.map((x, k) => x + share * (b[k] - x));
  return {
    az: to.az - (1 - share) * turn,
    el: start.el + share * (to.el - start.el),
    centre: to.centre,
    place: mix(start.place, to.place),
    scale: start.scale * (to.scale / start.scale) ** share,
    eye: to.eye === null ? null : mix(start.eye, to.eye),
  };
}

/** An angle in degrees as one from -180 to below 180. */
export function wrapped(degrees) {
  return ((((degrees + 180) % 360) + 360) % 360) - 180;
}
