// Which cube is under a pixel: the walk of the fragment shader, in plain numbers; the same as view/cubes/picking.py.
//
// Nothing is read back from the graphics card. Cubes have their drawn size: with gaps from six pixels on, without gaps
// below that; below one pixel, the cell under the middle of the pixel counts.

import { firstCorner, variantFor } from "./boxes.js";
import { dot3, rayAt } from "./camera.js";

/** Size in device pixels from which cubes have gaps, rims and marks. */
export const DETAIL_PIXELS = 6;
// most cells that the walk visits in one plate, as in the shader
const STEPS = 128;

/**
 * Return the nearest cube under a point of the picture, as plate, element and flat index (null in an activation row).
 *
 * `density` is device pixels per camera pixel: it decides how a plate is drawn. `shares` are cube sizes as shares of
 * the largest, 0 for one that is not drawn; without it all have full size.
 */
export function pickCube(plates, camera, at, density = 1, shares = null) {
  const { origin, way, start, near } = rayAt(camera, at), drawn = drawnSo(plates, camera, density);
  let best = Infinity;
  let found = null;
  plates.forEach((plate, index) => {
    const { slab, mean, half } = drawn[index], relative = origin.map((x, k) => x - slab.origin[k]);
    const p = slab.axes.map((axis) => dot3(relative, axis)), d = steady(slab.axes.map((axis) => dot3(way, axis)));
    if (!(near < leaving(slab, p, d))) return; // the far side of its box, on which it is drawn, is before the near plane
    // below six pixels a smaller cube is a darker cell of full size
    const own = shares && (half < 0.5 ? (element) => shares(index, element) : (element) => Number(shares(index, element) > 0));
    const [t, element] = mean ? meanCell(slab, p, d, start, own) : walk(slab, p, d, start, best, half, own);
    if (element >= 0 && t < best) {
      best = t;
      found = { plate: index, element, flat: plate.start >= 0 ? plate.start + element : null };
    }
  });
  return found;
}

// The data that depend on plates and camera only; kept while the pointer moves.
const kept = { plates: null, camera: null, density: 0, drawn: [] };

function drawnSo(plates, camera, density) {
  if (kept.plates !== plates || kept.camera !== camera || kept.density !== density) {
    const slabs = kept.plates === plates ? kept.drawn.map(({ slab }) => slab) : plates.map(slabOf);
    const drawn = plates.map((plate, index) => {
      const { detail, samples } = variantFor(plate, camera, density, DETAIL_PIXELS);
      return { slab: slabs[index], mean: samples > 0, half: detail ? plate.half : 0.5 };
    });
    Object.assign(kept, { plates, camera, density, drawn });
  }
  return kept.drawn;
}

// A plate in coordinates of cells, cell c spans c..c+1: `axes` map from the world to them.
function slabOf(plate) {
  const square = dot3(plate.axes[0], plate.axes[0]), [rows, columns] = plate.cells;
  return {
    origin: firstCorner(plate),
    axes: plate.axes.map((axis) => axis.map((x) => x / square)),
    rows, columns, half: plate.half, depth: plate.depth, period: plate.period, strides: plate.strides,
    last: plate.folded ? plate.size - (rows - 1) * columns : columns, // cells in use in the last row
  };
}

/** Return the element in a cell of a plate; -1 for an empty cell. */
function elementIn(slab, row, column) {
  const [high, wide] = slab.period, [innerRow, innerColumn] = [row % high, column % wide];
  if (innerRow === high - 1 || innerColumn === wide - 1) return -1;
  if (row === slab.rows - 1 && column >= slab.last) return -1;
  const [a, b, c, d] = slab.strides;
  return Math.floor(row / high) * a + innerRow * b + Math.floor(column / wide) * c + innerColumn * d;
}

// Return a direction without components so small that dividing by them would overflow.
function steady(d) {
  const tiny = 1e-6 * Math.sqrt(dot3(d, d));
  return d.map((x) => (Math.abs(x) >= tiny ? x : tiny));
}

// Return where a ray leaves the box of a plate.
function leaving(slab, p, d) {
  const edge = 0.5 - slab.half;
  return Math.min(
    ((d[0] > 0 ? slab.columns - edge : edge) - p[0]) / d[0],
    ((d[1] > 0 ? slab.rows - edge : edge) - p[1]) / d[1],
    ((d[2] > 0 ? slab.depth : -slab.depth) - p[2]) / d[2],
  );
}

// Return where a ray enters and leaves the sides of the whole plate, and the planes of its faces.
function crossing(slab, p, d) {
  const reach = d[2] > 0 ? slab.depth : -slab.depth, edge = 0.5 - slab.half;
  const [xa, xb] = [(edge - p[0]) / d[0], (slab.columns - edge - p[0]) / d[0]];
  const [ya, yb] = [(edge - p[1]) / d[1], (slab.rows - edge - p[1]) / d[1]];
  const [first, last] = [(-reach - p[2]) / d[2], (reach - p[2]) / d[2]];
  const into = Math.max(Math.min(xa, xb), Math.min(ya, yb), first);
  return { reach, first, last, into, out: Math.min(Math.max(xa, xb), Math.max(ya, yb), last) };
}

const inside = (x, count) => Math.min(Math.max(Math.floor(x), 0), count - 1);

// Walk from cell to cell until the ray meets a cube; return its share of the way, and the element, -1 for none.
function walk(slab, p, d, start, best, half, share) {
  const { reach, first, last, into, out } = crossing(slab, p, d), t = Math.max(into, start);
  if (t > out || t > best) return [Infinity, -1];
  const [sx, sy] = [d[0] > 0 ? 1 : -1, d[1] > 0 ? 1 : -1];
  let column = inside(p[0] + d[0] * t, slab.columns);
  let row = inside(p[1] + d[1] * t, slab.rows);
  for (let k = 0; k < STEPS; k++) {
    const [x, y] = [column + 0.5 - p[0], row + 0.5 - p[1]];
    let [side, near, far, element] = [half, first, last, -2];
    if (share) {
      element = elementIn(slab, row, column);
      const size = element >= 0 ? share(element) : 0;
      if (!(size > 0)) element = -1;
      side = half * size;
      const middle = slab.depth * (size - 1) - p[2]; // it rests on the foot of its plate
      [near, far] = [(middle - reach * size) / d[2], (middle + reach * size) / d[2]];
    }
    const enters = Math.max((x - side * sx) / d[0], (y - side * sy) / d[1], near, start);
    if (element !== -1 && enters <= Math.min((x + side * sx) / d[0], (y + side * sy) / d[1], far)) {
      if (element === -2) element = elementIn(slab, row, column);
      if (element >= 0) return [enters, element];
    }
    const [nextX, nextY] = [(x + 0.5 * sx) / d[0], (y + 0.5 * sy) / d[1]];
    if (Math.min(nextX, nextY) > out) break;
    if (nextX < nextY) column += sx;
    else row += sy;
    if (column < 0 || row < 0 || column >= slab.columns || row >= slab.rows) break;
  }
  return [Infinity, -1];
}

// For cubes below a pixel: return the cell of the main face under the ray, for every ray that meets the plate's box.
function meanCell(slab, p, d, start, share) {
  const { first, into, out } = crossing(slab, p, d), t = Math.max(first, start);
  if (Math.max(into, t) > out) return [Infinity, -1];
  const element = elementIn(slab, inside(p[1] + d[1] * t, slab.rows), inside(p[0] + d[0] * t, slab.columns));
  return [t, share === null || element < 0 || share(element) > 0 ? element : -1];
}
