// How far a picture may be moved by hand: a part of it always stays in the middle of its place; as view/space/viewpoint.py.

import { project } from "./camera.js";
import { convexHull } from "./hull.js";

// share of the place on each side in which nothing needs to be seen
const LEASH_MARGIN = 1 / 6;

/**
 * The shortest shift of the picture, in pixels, after which one of the boxes reaches the middle of `rect`.
 * @param {number[][][]} boxes corners of what is seen, (B, K, 3) in the world; those behind the eye do not count
 * @param {[number, number, number, number]} rect left, top, right and foot of the picture's place
 * @returns {[number, number]} zero where one of them is there already
 */
export function wayBack(camera, boxes, [left, top, right, foot]) {
  const [across, down] = [LEASH_MARGIN * (right - left), LEASH_MARGIN * (foot - top)];
  const middle = [left + across, right - across].flatMap((x) => [top + down, foot - down].map((y) => [x, y]));
  let best = null;
  for (const box of boxes) {
    const seen = box.map((corner) => project(camera, corner));
    if (seen.some(([, , w]) => !(w > 0))) continue; // where projecting means nothing
    const shift = shiftTo(seen, middle);
    if (best === null || square(shift) < square(best)) best = shift;
  }
  return best ?? [0, 0];
}

const square = ([x, y]) => x * x + y * y;

/**
 * The shortest shift after which the hulls of `points` and of `target`, both (N, 2), touch; zero if they do.
 * Shifts that let them touch are a convex region: the hull of all differences.
 */
export function shiftTo(points, target) {
  const region = convexHull(target.flatMap(([x, y]) => points.map((p) => [x - p[0], y - p[1]])));
  const sides = region.map(([x, y], k) => {
    const [nextX, nextY] = region[(k + 1) % region.length];
    return [nextX - x, nextY - y];
  });
  const around = sides.every(([dx, dy], k) => -dx * region[k][1] + dy * region[k][0] >= 0);
  if (region.length > 2 && around) return [0, 0];
  let nearest = null;
  region.forEach(([x, y], k) => {
    const [dx, dy] = sides[k];
    const along = Math.min(Math.max(-(x * dx + y * dy) / Math.max(dx * dx + dy * dy, 1e-300), 0), 1);
    const at = [x + along * dx, y + along * dy];
    if (nearest === null || square(at) < square(nearest)) nearest = at;
  });
  return nearest;
}
