// Which parts of a scene are covered, so that a text finds a place where it hides nothing; as view/notes/placer.py.

import { convexHull } from "./hull.js";

const RASTER = 4; // pixels of a cell
const LONGEST_LINE = 4096; // points: zoomed in by hand, most of it is outside

/** A coarse raster of a box. Lines count little, cubes and texts fully. */
export class Taken {
  /** @param {number[]} box x, y, width, height in logical pixels */
  constructor(box) {
    this.box = box;
    this.down = Math.floor(box[3] / RASTER) + 2;
    this.across = Math.floor(box[2] / RASTER) + 2;
    this.costs = new Float32Array(this.down * this.across);
  }

  /** Mark the convex hull of points (N, 2), with a little air around it. */
  addPolygon(points) {
    const ring = convexHull(points);
    const span = [0, 1].map((k) => {
      const along = points.map((p) => p[k]);
      const limit = [this.box[k] - 4 * RASTER, this.box[k] + (k ? this.down : this.across) * RASTER + 4 * RASTER];
      return [Math.min(...along) - 2 * RASTER, Math.max(...along) + 2 * RASTER].map((x) => Math.min(Math.max(x, limit[0]), limit[1]));
    });
    const edges = ring.map((p, k) => {
      const q = ring[(k + 1) % ring.length];
      const long = Math.hypot(q[0] - p[0], q[1] - p[1]) || 1;
      return [p[0], p[1], (q[0] - p[0]) / long, (q[1] - p[1]) / long];
    });
    const [left, top, right, foot] = this.#window([span[0][0], span[1][0], span[0][1] - span[0][0], span[1][1] - span[1][0]]);
    for (let row = top; row < foot; row++) {
      const y = this.box[1] + (row + 0.5) * RASTER;
      for (let column = left; column < right; column++) {
        const x = this.box[0] + (column + 0.5) * RASTER;
        if (edges.every(([px, py, ex, ey]) => ex * (y - py) - ey * (x - px) > -RASTER)) this.costs[row * this.across + column] += 1;
      }
    }
  }

  /** Mark a thin line. */
  addLine(start, end) {
    const long = Math.hypot(end[0] - start[0], end[1] - start[1]);
    if (!Number.isFinite(long)) return;
    const count = Math.min(Math.max(2, Math.floor(long / RASTER) + 1), LONGEST_LINE);
    let before = -1; // a cell counts once for a line, however many of its points are in it
    for (let k = 0; k < count; k++) {
      const share = k / (count - 1);
      const [column, row] = [0, 1].map((n) => Math.trunc((start[n] + share * (end[n] - start[n]) - this.box[n]) / RASTER));
      if (column < 0 || row < 0 || column >= this.across || row >= this.down) continue;
      const cell = row * this.across + column;
      if (cell !== before) this.costs[cell] += 0.12;
      before = cell;
    }
  }

  /** Mark a box as full. */
  addBox(box) {
    const [left, top, right, foot] = this.#window(box);
    for (let row = top; row < foot; row++) this.costs.subarray(row * this.across + left, row * this.across + right).forEach((_, k, part) => (part[k] += 1));
  }

  /** Covered cells below a box; infinite when it leaves the scene. */
  cost([x, y, width, height]) {
    const [left, top, wide, high] = this.box;
    if (!(x >= left + 4 && y >= top && x + width <= left + wide - 4 && y + height <= top + high)) return Infinity;
    const [first, above, last, foot] = this.#window([x, y, width, height]);
    let sum = 0;
    for (let row = above; row < foot; row++) {
      for (let column = first; column < last; column++) sum += this.costs[row * this.across + column];
    }
    return sum;
  }

  #window([x, y, width, height]) {
    const [left, top] = [Math.trunc((x - this.box[0]) / RASTER), Math.trunc((y - this.box[1]) / RASTER)];
    const right = Math.trunc((x + width - this.box[0]) / RASTER) + 1;
    const foot = Math.trunc((y + height - this.box[1]) / RASTER) + 1;
    const within = (at, most) => Math.min(Math.max(at, 0), most);
    return [within(left, this.across), within(top, this.down), within(right, this.across), within(foot, this.down)];
  }
}
