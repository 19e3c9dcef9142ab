// Names beside plates and rows of activations, at places where they hide no cube and no other name; as
// view/notes/labels.py. A name keeps its side of a plate while there is room, so that it does not jump about.

import { slabCorners } from "./boxes.js";
import { shortText } from "./numbers.js";
import { columnNames, rowNames } from "./rownames.js";
import { Taken } from "./taken.js";

const LINE_HIGH = 19;
const NAME_TYPE = 15; // of a title
const SMALL_TYPE = 13; // of shapes, ranges, and what rows are called
const NAME_AIR = 6; // least air between two names in a line
const FAR_ABOVE = [41, 53, 67, 82]; // pixels from a plate up to its name, where no place near it is free
const UNITS_WIDE = 90; // what the names of a row's numbers may take behind its own
const LIGHTLY = 0.45; // cost of a place that a line may touch at a corner, but not cross
const STAY = 0.8; // what it is worth to stay
const ENDS = ["left", "left", "right", "right", "middle", "middle", "left", "right", "left"];
const ENDS_ABOVE = ["left", "right", "middle"];

// Places for a text beside projected corners: above, below and beside both ends, nearest and nicest first.
function placesAround(points, width, height) {
  const [xs, ys] = [0, 1].map((k) => points.map((p) => p[k]));
  const [low, high] = [[Math.min(...xs), Math.min(...ys)], [Math.max(...xs), Math.max(...ys)]];
  const span = 0.25 * (high[0] - low[0]) + 1;
  const left = points.filter((p) => p[0] < low[0] + span).map((p) => p[1]);
  const right = points.filter((p) => p[0] > high[0] - span).map((p) => p[1]);
  const mean = (list) => list.reduce((a, b) => a + b, 0) / list.length;
  const middle = (low[0] + high[0] - width) / 2;
  return [7, 17, 29].flatMap((gap) => [
    [low[0] - 2, Math.min(...left) - height - gap], [low[0] + 8, Math.max(...left) + gap],
    [high[0] - width + 2, Math.min(...right) - height - gap], [high[0] - width, Math.max(...right) + gap],
    [middle, low[1] - height - gap], [middle, high[1] + gap],
    [high[0] + gap, Math.max(...right) - height], [low[0] - width - gap, mean(left) - height / 2],
    [high[0] + gap, mean(right) - height / 2],
  ]);
}

// Places further up: elsewhere a name so far away would seem another plate's.
function placesAbove(points, width, height) {
  const xs = points.map((p) => p[0]);
  const [low, high, top] = [Math.min(...xs), Math.max(...xs), Math.min(...points.map((p) => p[1]))];
  return FAR_ABOVE.flatMap((gap) => [low - 2, high - width + 2, (low + high - width) / 2].map((x) => [x, top - height - gap]));
}

/** `±0.85`: the range of a tensor after `bound`; `all 0` of one without any other number. */
export function rangeText(extent, bound) {
  return extent ? `${bound}${shortText(extent)}` : "all 0";
}

/** Where the names of one document stand, seen by one camera. */
export class Labels {
  /**
   * @param {object} document of `document_of`
   * @param {(xyz: number[]) => number[]} project world points to logical pixels
   * @param {number[]} box the scene
   * @param {(text: string, size: number, bold?: boolean) => number} measure
   * @param {Labels | null} before of the camera a moment ago
   */
  constructor(document, project, box, measure, before = null) {
    this.document = document;
    this.measure = measure;
    this.before = before?.chosen ?? Object.create(null); // a plate may be called __proto__
    this.chosen = Object.create(null);
    this.names = [];
    this.rows = [];
    this.units = [];
    const { plates, trays, flow, words } = document;
    this.taken = new Taken(box);
    const hulls = plates.map((plate) => slabCorners(plate).map(project));
    for (const hull of hulls) this.taken.addPolygon(hull);
    for (const line of flow.lines) this.taken.addLine(project(line.slice(0, 3)), project(line.slice(3)));
    for (const { corners } of trays) {
      const ring = corners.map(project);
      ring.forEach((corner, k) => this.taken.addLine(corner, ring[(k + 1) % 4]));
    }
    this.columns = [];
    for (const { plate: index, columns, rows } of words.sides ?? []) { // they have one place, titles many
      const tray = trays.find((one) => one.plate === index);
      this.columns.push(...columnNames(plates[index], columns, project, measure, box[1] - 12, (...at) => this.#free(...at)));
      this.units.push(...rowNames(plates[index], rows, -1, project, this.taken, measure, tray ? tray.corners.map(project) : null));
    }
    for (const label of words.plates) this.#placePlate(label, hulls[label.plate]);
    for (const row of words.rows) {
      const beside = this.#placeUnits(row, project);
      this.#placeRow(row, hulls[row.plate], beside ? [] : row.names);
    }
  }

  // The cheapest place, the first among equals; null if even that one covers cubes.
  #best(key, places, [width, height], limit) {
    const costs = places.map(([x, y], k) => this.taken.cost([x, y, width, height]) + 0.02 * k);
    if (this.before[key] !== undefined) costs[this.before[key]] -= STAY;
    const best = costs.indexOf(Math.min(...costs));
    if (!(costs[best] <= limit)) return null;
    this.chosen[key] = best;
    const [x, y] = places[best];
    this.taken.addBox([x - NAME_AIR, y, width + 2 * NAME_AIR, height]);
    return [x, y];
  }

  // Whether a box around (x, y) lies on no cube; takes it.
  #free(x, y, width, height) {
    const box = [x - width / 2, y - height / 2 + 4, width, height - 8];
    if (this.taken.cost(box) > LIGHTLY) return false;
    this.taken.addBox(box);
    return true;
  }

  #placePlate({ plate, title, shape }, hull) {
    const { name } = this.document.plates[plate];
    // the widest text the second line can become: places must not depend on the numbers
    const widest = shape ? this.measure(`${shape}   \u00b18.8e\u221288`, SMALL_TYPE) : 0;
    const own = this.measure(title, NAME_TYPE, true);
    const two = shape ? 2 * LINE_HIGH : LINE_HIGH;
    // first what stands after the name gives way, the range before the shape: a name rather than none
    const forms = [
      [shape, Math.max(own, widest), two],
      [shape, Math.max(own, this.measure(shape, SMALL_TYPE)), two],
      ["", own, LINE_HIGH],
    ];
    for (const [text, width, height] of forms) {
      for (const far of [false, true]) {
        const places = far ? placesAbove(hull, width, height) : placesAround(hull, width, height);
        const [key, ends] = far ? [`${name} far`, ENDS_ABOVE] : [name, ENDS];
        const spot = this.#best(key, places, [width, height], LIGHTLY);
        if (spot) {
          const end = ends[this.chosen[key] % ends.length];
          const x = spot[0] + width * { left: 0, middle: 0.5, right: 1 }[end];
          this.names.push({ name, title, shape: text, x, y: spot[1] + 14, end, ranged: width >= widest });
          return;
        }
      }
    }
  }

  // A name beside each of several cubes of a row, on the side away from its layer; whether they have room.
  #placeUnits({ plate: index, names }, project) {
    if (names.length < 2) return false; // one name is shorter behind the row's own
    const { plates } = this.document;
    const middleOf = (plate) => {
      const corners = slabCorners(plate);
      return [0, 1, 2].map((k) => corners.reduce((sum, c) => sum + c[k], 0) / 8);
    };
    const middle = middleOf(plates[index]);
    const others = plates.filter((_, k) => k !== index).map(middleOf);
    const far = (other) => other.reduce((sum, x, k) => sum + Math.abs(x - middle[k]), 0);
    const nearest = others.reduce((best, other) => (!best || far(other) < far(best) ? other : best), null);
    const away = nearest ? middle.reduce((sum, x, k) => sum + (x - nearest[k]) * plates[index].axes[0][k], 0) : 1;
    for (const side of away >= 0 ? [1, -1] : [-1, 1]) {
      const found = rowNames(plates[index], names, side, project, this.taken, this.measure);
      if (found.length) {
        this.units.push(...found);
        return true;
      }
    }
    return false;
  }

  #placeRow({ plate, text }, hull, names) {
    const { name } = this.document.plates[plate];
    const line = names.join(", ");
    const together = this.measure(line, SMALL_TYPE) <= UNITS_WIDE ? line : `${names[0]} \u2026 ${names.at(-1)}`;
    const after = names.length ? `  ${together}` : "";
    for (const more of after ? [after, ""] : [""]) {
      const width = this.measure(text, SMALL_TYPE) + this.measure(more, SMALL_TYPE);
      const places = placesAround(hull, width, LINE_HIGH);
      const near = [1, 3, 5, 8, 0, 2, 4, 7, 6].map((k) => places[k]);
      const key = more === after ? `row ${name}` : `row ${name} alone`;
      const spot = this.#best(key, [...near, ...places.slice(9)], [width, LINE_HIGH], LIGHTLY);
      if (spot) {
        this.rows.push({ x: spot[0], y: spot[1] + 14, text, more });
        return;
      }
    }
  }

  /**
   * A free box of this size: `before`, or as far to the lower right of the scene as there is one; it is taken from now on.
   * @returns {number[] | null} x, y, width, height
   */
  freePlace([width, height], before) {
    const [left, top, wide, high] = this.taken.box, first = before ? [before] : [];
    for (let y = top + high - height - 8; y > top + 0.4 * high; y -= 16) {
      for (let x = left + wide - width - 24; x > left + 0.3 * wide; x -= 16) first.push([x, y]);
    }
    const around = ([x, y]) => [x - 12, y - 8, width + 24, height + 16];
    const free = first.find((at) => this.taken.cost(around(at)) === 0);
    if (!free) return null;
    this.taken.addBox(around(free));
    return [free[0], free[1], width, height];
  }

  /** Write them; `extents` are the ranges of tensors by name, after `bound`. */
  draw(ink, extents, bound) {
    const { theme } = ink;
    for (const { name, title, shape, x, y, end, ranged } of this.names) {
      ink.text(x, y, title, NAME_TYPE, theme.text1, { bold: true, end });
      const span = ranged && extents[name] !== undefined ? `   ${rangeText(extents[name], bound)}` : "";
      if (shape) ink.text(x, y + LINE_HIGH, shape + span, SMALL_TYPE, theme.text2, { end });
    }
    for (const { text, x, y, size, end } of this.columns) ink.text(x, y, text, size, theme.text2, { bold: true, end });
    for (const { text, x, y, size, end } of this.units) ink.text(x, y, text, size, theme.text2, { end });
    for (const { x, y, text, more } of this.rows) {
      ink.text(x, y, text, SMALL_TYPE, theme.text3);
      ink.text(x + this.measure(text, SMALL_TYPE), y, more, SMALL_TYPE, theme.text2);
    }
  }
}
