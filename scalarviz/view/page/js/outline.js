// Marks around one cube: corner brackets around the hovered one, the outline of the selected one.

import { cubeCorners } from "./boxes.js";
import { beforeEye, dot3, project, towardsEye } from "./camera.js";

const OUTLINE_STEP = 7; // pixels between tested points of an outline
const OUTLINE_INSET = 2; // pixels from the cube's edge to the tested point inside
const OUTLINE_AIR = 5; // pixels between a cube and its outline
const OUTLINE_LEAST = 12; // least side of a mark: it must be visible around a cube of one pixel too

// corners of each face of `cubeCorners`, the main face first, and its outward direction
const CUBE_FACES = [[4, 5, 7, 6], [0, 1, 3, 2], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4], [1, 3, 7, 5]];
const CUBE_WAYS = [[0, 0, 1], [0, 0, -1], [0, -1, 0], [0, 1, 0], [-1, 0, 0], [1, 0, 0]];

function reachOf(points) {
  return [0, 1].map((k) => {
    const along = points.map((p) => p[k]);
    return [Math.min(...along), Math.max(...along)];
  });
}

// Return points spread from their middle to at least the least size in both directions.
function atLeast(points) {
  const span = reachOf(points);
  return points.map((p) =>
    [0, 1].map((k) => {
      const [low, high] = span[k], middle = (low + high) / 2, away = p[k] - middle;
      if (high - low < 1) return middle + (Math.sign(away) * OUTLINE_LEAST) / 2;
      return middle + away * Math.max(1, OUTLINE_LEAST / (high - low));
    }),
  );
}

/** Return four corner paths around the face of a cube that faces us most; null behind the eye. */
export function bracketsOf(plate, element, camera, share = 1) {
  const corners = cubeCorners(plate, element, share);
  if (!beforeEye(camera, corners)) return null;
  const towards = CUBE_FACES.map((face, k) => {
    const middle = [0, 1, 2].map((n) => face.reduce((sum, c) => sum + corners[c][n], 0) / 4);
    const way = towardsEye(camera, middle), out = [0, 1, 2].map((n) => dot3(CUBE_WAYS[k], plate.axes.map((axis) => axis[n])));
    return dot3(out, way) / Math.hypot(...out) / Math.hypot(...way);
  });
  // the main face, unless it is turned away: it has the numbers, and the choice should be stable while the scene turns
  const best = towards[0] > 0.25 ? 0 : towards.indexOf(Math.max(...towards));
  let flat = CUBE_FACES[best].map((corner) => project(camera, corners[corner]).slice(0, 2));
  const [[left, right], [top, foot]] = reachOf(flat);
  if (Math.min(right - left, foot - top) < OUTLINE_LEAST) {
    flat = atLeast([[left, top], [right, top], [right, foot], [left, foot]]);
  }
  const ring = grownRing(convexHull(flat), OUTLINE_AIR);
  return ring.map((p, k) => {
    const ends = [ring[(k + ring.length - 1) % ring.length], ring[(k + 1) % ring.length]];
    const [before, after] = ends.map((q) => {
      const long = Math.hypot(q[0] - p[0], q[1] - p[1]) || 1, arm = Math.min(0.25 * long, 14) / long;
      return [p[0] + arm * (q[0] - p[0]), p[1] + arm * (q[1] - p[1])];
    });
    return [before, p, after];
  });
}

/**
 * The uncovered parts of a selected cube's outline; `picked` finds what is drawn at a point. Cubes of its own plate
 * may cover its sides; then only its main face is outlined, which they cannot cover.
 */
export function outlineOf(plates, index, element, camera, picked, share = 1) {
  const plate = plates[index], corners = cubeCorners(plate, element, share);
  if (!beforeEye(camera, corners)) return [];
  const flat = (points) => points.map((p) => project(camera, p).slice(0, 2));
  let ring = aroundCube(flat(corners), picked);
  const middle = [0, 1, 2].map((k) => corners.slice(4).reduce((sum, c) => sum + c[k], 0) / 4);
  const facing = dot3(towardsEye(camera, middle), plate.axes[2]) > 0;
  const own = (hit) => hit.plate === index && hit.element === element;
  let covers = (hit) => !own(hit);
  if (facing && ring.some(({ hit }) => hit && hit.plate === index && !own(hit))) {
    ring = aroundCube(flat(corners.slice(4)), picked);
    covers = (hit) => hit.plate !== index;
  }
  return runsOf(ring.map(({ point }) => point), ring.map(({ hit }) => hit !== null && covers(hit)));
}

// Return points around projected corners, with what is drawn a little inside the edge at each.
function aroundCube(corners, picked) {
  const ring = convexHull(atLeast(corners));
  const small = Math.min(...reachOf(corners).map(([low, high]) => high - low)) < OUTLINE_LEAST;
  const middle = [0, 1].map((k) => ring.reduce((sum, p) => sum + p[k], 0) / ring.length);
  const outer = grownRing(ring, OUTLINE_AIR);
  const inner = small ? ring.map(() => middle) : grownRing(ring, -OUTLINE_INSET);
  return ring.flatMap((_, k) => {
    const next = (k + 1) % ring.length, long = Math.hypot(outer[next][0] - outer[k][0], outer[next][1] - outer[k][1]);
    const steps = Math.max(1, Math.floor(long / OUTLINE_STEP));
    return Array.from({ length: steps }, (__, step) => {
      const [point, inside] = [outer, inner].map((rim) => [0, 1].map((n) => rim[k][n] + (step / steps) * (rim[next][n] - rim[k][n])));
      return { point, hit: picked(inside) };
    });
  });
}

// Return the paths between covered points of a closed ring.
function runsOf(points, covered) {
  const first = covered.indexOf(true);
  if (first < 0) return [[...points, points[0]]];
  const order = points.map((_, k) => (first + k) % points.length), paths = [];
  let run = [];
  for (const k of [...order, first]) {
    if (!covered[k]) run.push(points[k]);
    else {
      if (run.length > 1) paths.push(run);
      run = [];
    }
  }
  return paths;
}

/** Return the corners of the hull of points, in order around it. */
export function convexHull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const turn = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
  const half = (along) => {
    const chain = [];
    for (const p of along) {
      while (chain.length > 1 && turn(chain[chain.length - 2], chain[chain.length - 1], p) <= 0) chain.pop();
      chain.push([p[0], p[1]]);
    }
    chain.pop();
    return chain;
  };
  if (sorted.length < 3) return sorted.map(([x, y]) => [x, y]);
  return [...half(sorted), ...half(sorted.reverse())];
}

/** Return a convex ring moved outward by some pixels; a sharp corner is cut off at twice the distance. */
export function grownRing(ring, air) {
  if (ring.length < 3) return ring;
  const count = ring.length, middle = [0, 1].map((k) => ring.reduce((sum, p) => sum + p[k], 0) / count);
  let outward = ring.map((p, k) => {
    const q = ring[(k + 1) % count], long = Math.max(Math.hypot(q[0] - p[0], q[1] - p[1]), 1e-9);
    return [(q[1] - p[1]) / long, (p[0] - q[0]) / long];
  });
  const side = outward.reduce((sum, n, k) => {
    const q = ring[(k + 1) % count];
    const half = [(ring[k][0] + q[0]) / 2 - middle[0], (ring[k][1] + q[1]) / 2 - middle[1]];
    return sum + n[0] * half[0] + n[1] * half[1];
  }, 0);
  if (side < 0) outward = outward.map(([x, y]) => [-x, -y]);
  return ring.map((p, k) => {
    const before = outward[(k + count - 1) % count], both = [before[0] + outward[k][0], before[1] + outward[k][1]];
    const reach = Math.min(2 / Math.max(both[0] ** 2 + both[1] ** 2, 1e-9), 2);
    return [p[0] + air * both[0] * reach, p[1] + air * both[1] * reach];
  });
}
