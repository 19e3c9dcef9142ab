// The camera: from a pose to the matrix of the shaders and of `project`; the same as view/space/camera.py.
//
// A pose is {az, el, centre, place, scale, eye}: degrees; the world point that it turns around and its place on screen
// in pixels; pixels per world unit (in perspective: at distance 1 from the eye); from `centre` to the eye, to the
// right, up and back, or null for parallel projection.

// share of the depth range by which the planes are outside the scene
const DEPTH_MARGIN = 0.02;
// the near plane as a share of the far plane, if the scene reaches behind the eye
const NEAREST = 0.01;

export const dot3 = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

/** Return right, up and back (towards the eye) as unit vectors: azimuth 0 looks along +y, +x is right, z is up. */
export function basisOf(az, el) {
  const [a, e] = [(az * Math.PI) / 180, (el * Math.PI) / 180], right = [Math.cos(a), Math.sin(a), 0];
  const back = [Math.sin(a) * Math.cos(e), -Math.cos(a) * Math.cos(e), Math.sin(e)];
  const up = [
    back[1] * right[2] - back[2] * right[1],
    back[2] * right[0] - back[0] * right[2],
    back[0] * right[1] - back[1] * right[0],
  ];
  return [right, up, back];
}

/**
 * The camera of a pose for a picture of `size` pixels; its planes enclose the world points that can be seen.
 *
 * `matrix` (4, 4) maps to clip space, `columns` is the same for uniformMatrix4fv. `eye` is its position and 1, or the
 * direction towards it and 0. Pixels are scale (x, -y) / w + shift of coordinates along `axes` from `middle`, which is
 * the eye, or the centre for parallel projection.
 */
export function cameraOf(pose, size, points) {
  const axes = basisOf(pose.az, pose.el), [right, up, back] = axes, parallel = pose.eye === null;
  const middle = parallel
    ? [...pose.centre]
    : pose.centre.map((c, k) => c + right[k] * pose.eye[0] + up[k] * pose.eye[1] + back[k] * pose.eye[2]);
  const planes = planesOf(points.length ? points : [pose.centre], middle, back, parallel);
  const shift = parallel
    ? [...pose.place]
    : [pose.place[0] + (pose.scale * pose.eye[0]) / pose.eye[2], pose.place[1] - (pose.scale * pose.eye[1]) / pose.eye[2]];
  const matrix = clipMatrix(axes, middle, size, pose.scale, shift, planes, parallel), columns = new Float32Array(16);
  matrix.forEach((row, r) => row.forEach((x, c) => (columns[4 * c + r] = x)));
  const eye = parallel ? [...back, 0] : [...middle, 1];
  return { size, matrix, columns, eye, scale: pose.scale, axes, shift, middle, planes };
}

// Return the depths along the line of sight between which everything is drawn.
function planesOf(points, middle, back, parallel) {
  let [low, high] = [Infinity, -Infinity];
  for (const p of points) {
    const depth = -((p[0] - middle[0]) * back[0] + (p[1] - middle[1]) * back[1] + (p[2] - middle[2]) * back[2]);
    low = Math.min(low, depth);
    high = Math.max(high, depth);
  }
  const margin = DEPTH_MARGIN * (high - low + 1);
  if (parallel) return [low - margin, high + margin];
  const far = Math.max(high + margin, 1e-3);
  return [Math.max(low - margin, 0.5 * low, NEAREST * far), far];
}

// Return rows of clip space as linear forms of (x, y, z, 1).
function clipMatrix(axes, middle, size, scale, shift, [near, far], parallel) {
  const forms = axes.map((axis) => [...axis, -dot3(axis, middle)]), one = [0, 0, 0, 1];
  const depth = forms[2].map((x) => -x), w = parallel ? one : depth;
  const z = one.map((o, k) => (parallel ? 2 * depth[k] - (near + far) * o : (near + far) * depth[k] - 2 * near * far * o));
  return [
    w.map((x, k) => (2 * (scale * forms[0][k] + shift[0] * x)) / size[0] - x),
    w.map((x, k) => x - (2 * (-scale * forms[1][k] + shift[1] * x)) / size[1]),
    z.map((x) => x / (far - near)),
    w,
  ];
}

/** Return the pixel of a world point, from the upper left corner, and w, which is not above 0 behind the eye. */
export function project({ matrix, size }, p) {
  const [x, y, , w] = matrix.map((row) => row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3]);
  return [((x / w + 1) / 2) * size[0], ((1 - y / w) / 2) * size[1], w];
}

/** Return whether points are in front of the eye, so that they can be projected. */
export function beforeEye(camera, points) {
  return points.every((p) => project(camera, p)[2] > 1e-6);
}

/** Return the pixels of one world unit across the line of sight at a world point. */
export function pixelsPerUnit({ matrix, scale }, p) {
  return scale / (dot3(matrix[3], p) + matrix[3][3]);
}

export function towardsEye({ eye }, p) {
  return p.map((x, k) => eye[k] - eye[3] * x);
}

/**
 * The ray of a pixel (the middle of the first is (0.5, 0.5)): from the eye to the far plane, or between the planes in
 * parallel projection; `start` and `near` are the shares of it at which cubes and the near plane begin.
 */
export function rayAt({ axes: [right, up, back], middle, shift, scale, planes: [near, far], eye }, at) {
  const [a, b] = [(at[0] - shift[0]) / scale, (shift[1] - at[1]) / scale];
  if (eye[3]) {
    const way = back.map((x, k) => far * (a * right[k] + b * up[k] - x));
    return { origin: eye.slice(0, 3), way, start: 1e-4, near: near / far };
  }
  const origin = middle.map((x, k) => x + a * right[k] + b * up[k] - near * back[k]);
  return { origin, way: back.map((x) => (near - far) * x), start: -Infinity, near: -Infinity };
}

/** Return how far a drag turns the scene, in degrees. */
export const DEGREES_PER_PIXEL = 0.4;
// the eye never passes the pole: up stays up
export const STEEPEST = 89;

/** Return the pose turned by a drag in pixels: the near side of the scene follows the pointer. */
export function turned(pose, dx, dy) {
  const el = Math.min(Math.max(pose.el + DEGREES_PER_PIXEL * dy, -STEEPEST), STEEPEST);
  return { ...pose, az: pose.az - DEGREES_PER_PIXEL * dx, el };
}

export function shifted(pose, dx, dy) {
  return { ...pose, place: [pose.place[0] + dx, pose.place[1] + dy] };
}

/** Return the pose enlarged by a factor around a pixel. */
export function zoomed(pose, factor, at) {
  const place = pose.place.map((x, k) => at[k] + factor * (x - at[k]));
  return { ...pose, scale: pose.scale * factor, place };
}

/** Return the pixels of a world unit in the middle of the scene. */
export function sizeOf(pose) {
  return pose.eye === null ? pose.scale : pose.scale / pose.eye[2];
}

/** Return the pose at a `share` of the way from `from` to `to`, the shorter way round. */
export function between(start, to, share) {
  const turn = ((((to.az - start.az + 180) % 360) + 360) % 360) - 180;
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
