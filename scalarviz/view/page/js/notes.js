// Words, chips and lines around the cubes: the window's list from view/page/document.py, with the numbers of the shown
// frame. For another camera each group moves with its point of the world; a group that would cover a cube or another
// group is left out.

import { slabCorners, worldOf } from "./boxes.js";
import { beforeEye, project } from "./camera.js";
import { hexOf } from "./inks.js";
import { paint } from "./list.js";
import { chipText, lossText, shortText, sureChip } from "./numbers.js";

const GROUPS_APART = 3; // pixels between two moved groups
const CLEARLY = 6; // pixels by which a name must be nearer to its own plate than to others
const GRID = [0, 1, 2, 3, 4].flatMap((i) => [0, 1, 2, 3, 4].map((j) => [i / 4, j / 4])); // points of a plate's face

export class Around {
  /** `pick` finds the cube drawn at a point; `foot` is the lower edge of the cubes. */
  constructor(document, view, measure, pick, foot) {
    Object.assign(this, { document, view, measure, pick, foot, placed: [], taken: [] });
    const { words, plates } = document, { camera } = view;
    this.plan = words.plan && new Plan(words.plan, camera);
    if (!plates.every((plate) => beforeEye(camera, slabCorners(plate)))) return; // no places among the cubes
    const aside = Boolean(this.plan && !this.plan.seen); // a plan seen from another camera: labels of plates
    this.moved = aside || view.turned || Math.abs(view.fitted - 1) > 1e-9;
    this.slabs = this.moved ? plates.map((plate) => boundsOf(slabCorners(plate).map((xyz) => project(camera, xyz)))) : [];
    this.faces = this.moved ? plates.map((plate) => GRID.map(([u, v]) => project(camera, worldOf(plate, [u * plate.cells[1] - 0.5, v * plate.cells[0] - 0.5, plate.depth])))) : [];
    for (const group of words.around.filter((one) => Boolean(one.turned) === aside)) {
      const move = this.#moveOf(group);
      if (move) this.#place(group, move);
    }
  }

  // Return a group at its place; names without room move to another side of their point.
  #place(group, move) {
    const box = this.moved && group.at !== "plan" ? this.#boxOf(group, move) : null;
    if (!box) return this.placed.push([group, move]);
    const alone = group.shapes.length > 0 || !Array.isArray(group.at), at = alone ? box : project(this.view.camera, group.at);
    const away = [0, 1].map((k) => 2 * (at[k] - box[k]) - box[k + 2]);
    const sides = alone ? [[0, 0]] : [[0, 0], [away[0], 0], [0, away[1]], away];
    for (const [dx, dy] of sides) {
      const there = [box[0] + dx, box[1] + dy, box[2], box[3]];
      if ((!group.over && this.#covered(there)) || this.taken.some((other) => groupsMeet(there, other)) || this.#strays(group, there)) continue;
      this.taken.push(there);
      return this.placed.push([group, (point) => move(point).map((x, k) => x + (k ? dy : dx))]);
    }
    return null;
  }

  // Return whether a name is nearer to another plate than to its own.
  #strays({ at }, [x, y, wide, high]) {
    const { plates } = this.document, own = plates.findIndex((plate) => slabCorners(plate).some((corner) => corner.every((c, k) => Math.abs(c - at[k]) < 1e-6)));
    const away = this.faces.map((face) => Math.min(...face.map(([a, b]) => Math.hypot(Math.max(x - a, a - x - wide, 0), Math.max(y - b, b - y - high, 0)))));
    return own >= 0 && plates.some(({ kind }, k) => k !== own && kind === plates[own].kind && away[k] < away[own] + CLEARLY);
  }

  // Return the current place of a point of the list; null for points of the list's own camera only.
  #moveOf({ at }) {
    const { view } = this;
    if (at === "plan") return ([x, y]) => this.plan.at(x, y);
    const [here, home] = this.moved && Array.isArray(at) ? [project(view.camera, at), project(view.listed, at)] : [view.toCanvas([0, 0]), [0, 0]];
    return this.moved && !at ? null : ([x, y]) => [x + here[0] - home[0], y + here[1] - home[1]];
  }

  // Return the box of a group's texts and boxes.
  #boxOf({ shapes, texts }, move) {
    const corners = shapes.filter(([kind]) => kind === "rect").flatMap(([, x, y, wide, high]) => [move([x, y]), move([x + wide, y + high])]);
    for (const [x, y, text, size, , bold, end] of texts) {
      const wide = this.measure(text, size, bold), left = x - { left: 0, middle: 0.5, right: 1 }[end] * wide;
      corners.push(move([left, y - 0.75 * size]), move([left + wide, y]));
    }
    return corners.length ? boundsOf(corners) : null;
  }

  // Return whether a box covers a cube, or is partly outside the picture.
  #covered([x, y, wide, high]) {
    if (x < 0 || y < 0 || x + wide > this.view.width || y + high > this.foot) return true;
    if (!this.slabs.some((slab) => groupsMeet([x, y, wide, high], slab))) return false; // most are far from every plate
    const [across, down] = [Math.max(2, Math.ceil(wide / 16)), Math.max(1, Math.ceil(high / 10))].map((count) => [...Array(count + 1)].map((_, k) => k / count));
    return across.some((u) => down.some((v) => this.pick([x + u * wide, y + v * high])));
  }

  /** Draw the words over the cubes, or around them. */
  draw(ink, shown, frame, over = false) {
    const { words } = this.document;
    this.row = (name) => (name === "target" ? frame.wanted ?? words.target : shown.rowOf(frame, name));
    for (const [{ shapes, texts }, move] of this.placed.filter(([one]) => Boolean(one.over) === over)) {
      for (const shape of shapes) this.#shape(ink, move, shape);
      for (const [x, y, text, size, colour, bold, end, bound] of texts) {
        const said = bound ? this.#written(bound, size, bold, shown, frame) : text;
        paint(ink, ["text", x, y, said, size, colour, bold, end], move);
      }
    }
  }

  // Draw a shape; a bound one is filled with the colour from its row.
  #shape(ink, move, record) {
    const [kind, x, y, wide, high, name, ...rest] = record;
    if (kind !== "rect" || !rest.at(-1)) return paint(ink, record, move);
    const fill = swatchColour(this.row(name));
    if (fill) paint(ink, [kind, x, y, wide, high, fill, ...rest], move);
  }

  // Draw a number of the frame after its words; nothing if it is unknown.
  #written([name, index, form, before, within], size, bold, shown, { sample_loss: loss, rowErrors }) {
    const [kind, bound] = form.split(" ");
    if (kind === "loss") return loss === undefined || loss === null ? "" : before + lossText(loss);
    if (kind === "range") {
      const extent = shown.extents[name], sign = shown.quantity.scale === "log" ? "\u2264\u2009" : bound;
      const text = extent === undefined ? before.trimEnd() : before + (extent ? sign + shortText(extent) : "all 0");
      return within !== null && this.measure(text, size, bold) > within ? before.trimEnd() : text;
    }
    const row = this.row(name);
    if (kind === "target") return Number.isNaN(row?.[index] ?? NaN) ? "?" : chipText(row[index]);
    return row ? sureChip(row[index], rowErrors?.[name]?.[index], kind === "signed") : "\u2013";
  }
}

/** Return red, green and blue (0..1), or one grey, as a colour; null if unknown. */
function swatchColour(row) {
  const colour = row ? [...row] : [], parts = colour.length === 1 ? [colour[0], colour[0], colour[0]] : colour;
  return !parts.length || !parts.every(Number.isFinite) ? null : hexOf(parts.map((part) => Math.min(Math.max(part, 0), 1)));
}

// Return the box around points.
function boundsOf(points) {
  const [low, high] = [Math.min, Math.max].map((most) => [0, 1].map((k) => most(...points.map((point) => point[k]))));
  return [...low, high[0] - low[0], high[1] - low[1]];
}

function groupsMeet(one, other) {
  return [0, 1].every((k) => one[k] < other[k] + other[k + 2] + GROUPS_APART && other[k] < one[k] + one[k + 2] + GROUPS_APART);
}

const OFF = 0.75; // pixels by which a point may differ from the plan
const LEAST_SIZE = 0.97; // share of the fitted size: words keep their size, and would touch in a smaller picture

/** The plan of a document with `words.plan`. */
export class Plan {
  constructor(sheet, camera) {
    this.sheet = sheet;
    const { anchors, places } = sheet, there = anchors.map((xyz) => project(camera, xyz));
    const away = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1]);
    this.size = away(there[1], there[0]) / away(places[1], places[0]);
    this.shift = [0, 1].map((k) => there[0][k] - this.size * places[0][k]);
    const off = Math.max(...places.flatMap((p, n) => [0, 1].map((k) => Math.abs(this.size * p[k] + this.shift[k] - there[n][k]))));
    /** Whether the camera is that of the plan; otherwise its words would be misplaced. */
    this.seen = this.size >= LEAST_SIZE && off <= OFF * Math.max(this.size, 1);
  }

  at(x, y) {
    return [this.size * x + this.shift[0], this.size * y + this.shift[1]];
  }
}
