// A display list under a camera that was turned: what stands among the cubes follows them, as if it were drawn on the
// plane of the faces of its cube's plate, or of the nearest one.

import { slabCorners, worldOf } from "./boxes.js";
import { cameraOf, dot3, project, rayAt } from "./camera.js";
import { MIDDLE } from "./ink.js";
import { pickCube } from "./picking.js";

const POINTS = { lines: 1, strokes: 1, path: 1, polygon: 1, points: 1 }; // kinds whose points move one by one
const LEAST_SLOPE = 0.05; // of a plane, below which it is seen from its edge

function middleOf([kind, x, y, ...said]) {
  if (kind === "text" || kind === "number") return [x, y - MIDDLE * (said[kind === "text" ? 1 : 0] ?? 0)];
  return ["clip", "spot"].includes(kind) ? [x, y] : [x + said[0] / 2, y + said[1] / 2];
}

/**
 * Return a function from a record to the map of its points; null for records outside the scene, which keep their places.
 * The map has the `cube` on which the record stands, or null, and `at`: where its middle is now.
 */
export function followers(document, view) {
  const [left, top, wide, high] = document.scene, { left: aside = 0, top: down = 0 } = document, here = ([x, y]) => [x - aside, y - down], listed = cameraOf(document.pose, document.size, view.points);
  const planes = document.plates.map((plate) => planeOf(plate, listed));
  const move = (plane, at) => {
    const { origin, way } = rayAt(listed, at), along = dot3(plane.normal, way);
    const share = dot3(plane.normal, plane.point.map((x, k) => x - origin[k])) / along;
    return project(view.camera, origin.map((x, k) => x + share * way[k])).slice(0, 2);
  };
  return (record) => {
    const many = Object.hasOwn(POINTS, record[0]), at = here(many ? record[1] : middleOf(record));
    const inside = at[0] >= left && at[0] < left + wide && at[1] >= top && at[1] < top + high;
    if (!inside || !planes.length) return null;
    const away = ({ box: [x, y, right, foot] }) => Math.hypot(Math.max(x - at[0], at[0] - right, 0), Math.max(y - at[1], at[1] - foot, 0));
    const cube = many ? null : pickCube(document.plates, listed, at);
    const plane = cube ? planes[cube.plate] : planes.reduce((best, one) => (away(one) < away(best) ? one : best));
    if (many) return (point) => move(plane, here(point));
    const there = move(plane, at);
    return Object.assign(([x, y]) => [x - aside + there[0] - at[0], y - down + there[1] - at[1]], { cube, at: there });
  };
}

// The plane of a plate's main faces, and the plate's box in the picture; of a plane seen from its edge, one across.
function planeOf(plate, camera) {
  const corners = slabCorners(plate).map((corner) => project(camera, corner)), [xs, ys] = [0, 1].map((k) => corners.map((corner) => corner[k]));
  const point = worldOf(plate, [0, 0, plate.depth]), own = plate.axes[2], across = camera.axes[2];
  const slope = Math.abs(dot3(own, across)) / Math.sqrt(dot3(own, own));
  return { point, normal: slope > LEAST_SLOPE ? own : across, box: [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)] };
}
