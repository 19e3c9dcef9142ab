// The boxes of the plates as corners and triangles, the places of their cubes, and how a plate is drawn at its size.

import { dot3, pixelsPerUnit, towardsEye } from "./camera.js";

/** Constant attributes of a corner, and how many numbers each has; `a_range` has its own buffer. */
export const BOX_ATTRIBUTES = [
  ["a_pos", 3], ["a_origin", 3], ["a_u", 3], ["a_v", 3], ["a_w", 3],
  ["a_dims", 4], ["a_place", 4], ["a_strides", 4], ["a_style", 4],
];

// two triangles a face, counter-clockwise from outside in a right-handed frame
const BOX_FACES = [
  0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4, 2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5,
];
const BOX_CORNERS = [0, 1, 2, 3, 4, 5, 6, 7].map((k) => [k & 1, (k >> 1) & 1, k >> 2]);

/** Return the world position of a place on a plate: column, row, depth in cells from the middle of its first cube. */
export function worldOf({ origin, axes }, at) {
  return origin.map((x, k) => x + axes.reduce((sum, axis, n) => sum + at[n] * axis[k], 0));
}

export const firstCorner = (plate) => worldOf(plate, [-0.5, -0.5, 0]);

// Return the eight corners of a box between two ends, in cells.
const cornersOf = (low, high) => BOX_CORNERS.map((corner) => corner.map((side, k) => (side ? high[k] : low[k])));

/** Return the eight corners of a plate's slab in the world, (8, 3). */
export function slabCorners(plate) {
  const { cells: [rows, columns], half, depth } = plate;
  const corners = cornersOf([-half, -half, -depth], [columns - 1 + half, rows - 1 + half, depth]);
  return corners.map((at) => worldOf(plate, at));
}

/** Return row and column of the cell with an element, counted in C order of the tensor. */
export function cellOf(plate, element) {
  const [across, within, kernel] = plate.strides;
  if (!plate.tile[0]) return [Math.floor(element / within), element % within];
  const rest = element % across, inner = rest % kernel;
  return [
    Math.floor(element / across) * plate.period[0] + Math.floor(inner / within),
    Math.floor(rest / kernel) * plate.period[1] + (inner % within),
  ];
}

/** Return the world position of a point of a cube; `at` is in cells from the cube's middle: column, row, depth. */
export function pointOf(plate, element, at = [0, 0, 0]) {
  const [row, column] = cellOf(plate, element);
  return worldOf(plate, [column + at[0], row + at[1], at[2]]);
}

/** Return the corners of a cube whose side is a `share` of the largest; the last four are its main face's. */
export function cubeCorners(plate, element, share = 1) {
  const sink = (1 - share) * plate.depth; // a smaller cube rests on the foot of its plate
  return BOX_CORNERS.map((corner) => {
    const [x, y, z] = corner.map((side) => share * (2 * side - 1));
    return pointOf(plate, element, [x * plate.half, y * plate.half, z * plate.depth - sink]);
  });
}

/** Return the corners of all plates, eight each, in the format of `BOX_ATTRIBUTES`. */
export function boxNumbers(plates, atlasWidth) {
  return new Float32Array(
    plates.flatMap((plate) => {
      const [rows, columns] = plate.cells, edge = 0.5 - plate.half;
      const place = [plate.period[1], plate.period[0], plate.texel % atlasWidth, Math.floor(plate.texel / atlasWidth)];
      const constants = [
        ...firstCorner(plate), ...plate.axes.flat(), columns, rows, plate.half, plate.depth,
        ...place, ...plate.strides, ...plate.style,
      ];
      const corners = cornersOf([edge, edge, -plate.depth], [columns - edge, rows - edge, plate.depth]);
      return corners.flatMap((at) => [...at, ...constants]);
    }),
  );
}

/** Return the triangles of all plates, 36 numbers each, counter-clockwise from outside. */
export function boxTriangles(plates) {
  return plates.flatMap((plate, index) => {
    const [u, v, w] = plate.axes;
    const turn = u[0] * (v[1] * w[2] - v[2] * w[1]) - u[1] * (v[0] * w[2] - v[2] * w[0]) + u[2] * (v[0] * w[1] - v[1] * w[0]);
    const own = BOX_FACES.map((corner) => 8 * index + corner);
    return turn > 0 ? own : own.reverse();
  });
}

/** Samples along each axis of a pixel; if it covers more cubes, blocks are averaged. */
export const SAMPLES = 4;

/** Return how many rows or columns of a plate, whichever are denser, one device pixel covers at its middle. */
export function cellsPerPixel(plate, camera, density) {
  const [rows, columns] = plate.cells, middle = worldOf(plate, [(columns - 1) / 2, (rows - 1) / 2, 0]);
  const ray = towardsEye(camera, middle), far = Math.sqrt(dot3(ray, ray)), pitch = Math.hypot(...plate.axes[0]);
  const [across, down, out] = plate.axes.map((axis) => dot3(axis, ray) / far / pitch);
  const size = pixelsPerUnit(camera, middle) * density * pitch;
  const flat = Math.sqrt(Math.max(1 - Math.min(across * across, down * down), 1e-9));
  return flat / (size * Math.max(Math.abs(out), 1e-3));
}

/** Return how a plate is drawn: in detail (from its cubes' device pixels), flat, or as a mean of samples. */
export function variantFor(plate, camera, density, detailPixels) {
  const dense = cellsPerPixel(plate, camera, density);
  if (dense <= 1 / detailPixels) return { detail: true, samples: 0, means: false };
  const samples = dense <= 1 ? 0 : Math.min(Math.ceil(dense), SAMPLES);
  return { detail: false, samples, means: dense > SAMPLES && !plate.folded && !plate.tile[0] }; // of one matrix without gaps
}
