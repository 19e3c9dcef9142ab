// One small layer as a formula: inputs enter above the cubes; sum, activation, output and target stand to the right;
// as view/notes/layer.py. Seen from elsewhere, what would lie on cubes is left out.

import { cubeCorners, pointOf } from "./boxes.js";
import { lossText } from "./numbers.js";
import { lossLine, swatchColour, wantedText } from "./outcome.js";
import { sureChip } from "./rounded.js";
import { columnNames, rowNames } from "./rownames.js";
import { Taken } from "./taken.js";

const CHIP_HIGH = 28;
const INPUT_STYLES = [[58, 15, true], [46, 13, true], [38, 13, false]]; // width, type, whether in a box
const WIDE_ROW = { sum: 56, output: 140, target: 200, sumWidth: 60, width: 50 };
const TIGHT_ROW = { sum: 47, output: 118, target: 168, sumWidth: 58, width: 46 };
const SWATCH_SIDE = 42;
const LEVEL_STEP = 34; // least distance between the levels of two rows of chips

/** Where everything around a single layer stands, seen by one camera. */
export class LayerFlow {
  /**
   * @param {object} document of `document_of`, whose `words.single` is there
   * @param {(xyz: number[]) => number[]} project world points to logical pixels
   * @param {number[]} box the scene; what would leave it is left out
   * @param {(text: string, size: number, bold?: boolean) => number} measure
   * @param {boolean} moved whether the camera is another one than that of the layout
   */
  constructor(document, project, box, measure, moved) {
    Object.assign(this, { document, project, box, measure, moved });
    this.told = document.words.single;
    this.weight = document.plates[this.told.weight];
    this.bias = this.told.bias === null ? null : document.plates[this.told.bias];
    this.taken = new Taken(box);
    for (const plate of document.plates) {
      for (let element = 0; element < plate.size; element++) this.taken.addPolygon(cubeCorners(plate, element).map(project));
    }
    this.style = INPUT_STYLES[0];
    this.chips = this.#chipPlaces();
    this.tips = this.anchors = this.#rowAnchors();
    this.at = WIDE_ROW;
    this.columns = this.#fittingColumns();
    this.below = true; // whether swatches and loss have their place below the last row
    if (moved) this.#leaveOutHidden();
    this.swatch = this.#swatchPlace();
    this.names = this.#rowNames();
    this.biasAt = this.#biasPlace();
    this.inputNames = this.chips ? [] : this.#bareNames();
  }

  // ---- places

  // Middles of the inputs' chips; null when they would touch, or have no room.
  #chipPlaces() {
    if (this.weight.folded) return null;
    const { shape, half, depth } = this.weight;
    const backs = Array.from({ length: shape[1] }, (_, j) => this.project(pointOf(this.weight, j, [0, -half - 0.22, depth])));
    const centres = backs.map(([x, y]) => [x, y - CHIP_HIGH / 2 - 2]);
    const room = Math.min(Infinity, ...centres.slice(1).map(([x], k) => x - centres[k][0]));
    const fitting = INPUT_STYLES.find(([wide]) => wide + 3 <= room);
    if (!fitting) return null;
    this.style = fitting;
    return Math.min(...centres.map(([, y]) => y)) - CHIP_HIGH / 2 - 20 > this.box[1] - 12 ? centres : null;
  }

  // Whether a box around (x, y) is off the cubes; takes it. Always, where the camera is the layout's own.
  #free(x, y, width, height, air = 7) {
    if (!this.moved) return true;
    const box = [x - width / 2 + air, y - height / 2 + air, width - 2 * air, height - 2 * air];
    if (this.taken.cost(box) > 0) return false;
    this.taken.addBox(box);
    return true;
  }

  // Chips that would lie on cubes: all inputs or none, all rows or none.
  #leaveOutHidden() {
    const [wide] = this.style;
    if (this.chips && !this.chips.every(([x, y]) => this.#free(x, y - 8, wide + 6, CHIP_HIGH + 20))) this.chips = null;
    if (this.columns.length) {
      const anchors = levelAnchors(this.tips, this.taken, this.#end, CHIP_HIGH);
      if (anchors) this.anchors = anchors;
      else this.columns = [];
    }
    if (this.columns.length) {
      const [x, y] = this.#lowest;
      const long = this.measure(lossLine(this.told, 0), 13);
      this.below = this.#free(x + this.#end - long / 2, y + 65, long + 8, 78);
    }
  }

  // From a row's anchor to the right edge of its last chip.
  get #end() {
    return this.at[this.columns.at(-1)] + this.at.width / 2;
  }

  // The anchor of the row of chips at the bottom.
  get #lowest() {
    return this.anchors.reduce((low, at) => (at[1] > low[1] ? at : low));
  }

  // Where each row's flow starts: a little right of the nearest corner of its last cube's top face.
  #rowAnchors() {
    const plate = this.bias ?? this.weight;
    const [rows, columns] = plate.shape;
    return Array.from({ length: rows }, (_, i) => {
      const element = i * columns + columns - 1;
      if (!this.moved) {
        const [x, y] = this.project(pointOf(plate, element, [plate.half, plate.half, plate.depth]));
        return [x + 4, y];
      }
      const corners = cubeCorners(plate, element).map(this.project);
      const [x, y] = corners.reduce((right, p) => (p[0] > right[0] ? p : right));
      return [x + 4, y];
    });
  }

  // Which of sum, output and target fit between the cubes and the scene's edge, and below each other.
  #fittingColumns() {
    const steps = this.anchors.slice(1).map(([, y], k) => y - this.anchors[k][1]);
    if (!this.moved && steps.length && Math.min(...steps) < CHIP_HIGH + 3) return [];
    if (this.weight.folded) return [];
    const room = this.box[0] + this.box[2] - Math.max(...this.anchors.map(([x]) => x));
    for (const offsets of [WIDE_ROW, TIGHT_ROW]) {
      this.at = offsets;
      if (room >= offsets.target + offsets.width / 2 + 4 && this.told.wanted) return ["sum", "output", "target"];
    }
    return room >= TIGHT_ROW.output + TIGHT_ROW.width / 2 + 4 ? ["sum", "output"] : [];
  }

  #backEdge(plate, j) {
    return this.project(pointOf(plate, j, [0, -plate.half, plate.depth]));
  }

  // Top left of the input's swatch, left of the first chip; null where there is no room.
  #swatchPlace() {
    if (!this.chips || !this.told.colours || this.chips.length !== 3) return null;
    const x = this.chips[0][0] - INPUT_STYLES[0][0] / 2 - 25 - SWATCH_SIDE;
    const y = this.chips[0][1] - 13;
    const free = x > 4 && this.#free(x + SWATCH_SIDE / 2, y + SWATCH_SIDE / 2 - 8, SWATCH_SIDE + 8, SWATCH_SIDE + 24);
    return free ? [Math.round(x), Math.round(y)] : null;
  }

  // The outputs' names beside their rows, where these end on the left or, from another side, on the right.
  #rowNames() {
    const { outputs } = this.document.names;
    const sides = [[this.weight, -1], ...(this.moved ? [[this.bias ?? this.weight, 1]] : [])];
    for (const [plate, side] of sides) {
      const tray = this.document.trays.find((one) => this.document.plates[one.plate] === plate);
      const corners = tray ? tray.corners.map(this.project) : null;
      const found = rowNames(plate, outputs.map((name) => `to ${name}`), side, this.project, this.taken, this.measure, corners);
      if (found.length) return found;
    }
    return [];
  }

  // Middle and baseline of the word over the biases; null where it has no room.
  #biasPlace() {
    if (!this.bias) return null;
    const [x, y] = this.#backEdge(this.bias, 0);
    return y - 26 > this.box[1] - 12 && this.#free(x, y - 15, 40, 24) ? [x, y - 10] : null;
  }

  // The inputs' names over their columns, where no chips with numbers have room.
  #bareNames() {
    return columnNames(this.weight, this.document.names.inputs, this.project, this.measure, this.box[1] - 12,
      (x, y, wide, high) => this.#free(x, y, wide + 8, high, 4));
  }

  // ---- what is drawn

  /**
   * Boxes, lines and words, and the numbers of a frame.
   * @param {Ink} ink
   * @param {{rows?: object, wanted?: number[], sample_loss?: number}} frame
   */
  draw(ink, frame) {
    const { theme } = ink;
    const wanted = frame.wanted ?? this.told.wanted;
    for (const { text, x, y, size, end } of this.names) ink.text(x, y, text, size, theme.text2, { end });
    if (this.biasAt) ink.text(...this.biasAt, "bias", 15, theme.text2, { bold: true, end: "middle" });
    for (const { text, x, y, size, end } of this.inputNames) ink.text(x, y, text, size, theme.text2, { bold: true, end });
    const { input } = frame.rows ?? {};
    const [sums, outputs] = [frame.rows?.[this.told.sums], frame.rows?.[this.told.last]];
    if (this.chips) this.#drawInputs(ink, input, frame.rowErrors?.input);
    if (!this.columns.length || !outputs || !sums) return;
    const first = Math.min(...this.anchors.map(([, y]) => y));
    const there = (name, row) => frame.reached?.[name][row] ?? true; // inside of a step some numbers are to come
    this.anchors.forEach((anchor, row) => {
      const tip = this.tips[row];
      if (tip[0] !== anchor[0] || tip[1] !== anchor[1]) ink.path([tip, anchor], theme.flow, 1.4);
      this.#drawRow(ink, anchor, anchor[1] === first);
      const [x, y] = anchor;
      const bold = { bold: true, end: "middle" };
      if (there(this.told.sums, row)) ink.text(x + this.at.sum, y + 5.5, sureChip(sums[row], frame.rowErrors?.[this.told.sums]?.[row], true), 15, theme.text1, bold);
      if (there(this.told.last, row)) ink.text(x + this.at.output, y + 5.5, sureChip(outputs[row], frame.rowErrors?.[this.told.last]?.[row]), 15, theme.text1, bold);
      if (this.columns.includes("target")) {
        ink.text(x + this.at.target, y + 5.5, wantedText(wanted?.[row]), 15, theme.text2, { end: "middle" });
      }
    });
    if (!frame.reached) this.#drawOutcome(ink, outputs, this.columns.includes("target") ? wanted : null, frame.sample_loss);
  }

  #drawInputs(ink, input, errors) {
    const { theme } = ink;
    const [wide, size, boxed] = this.style;
    const { inputs } = this.document.names;
    const bold = { bold: true, end: "middle" };
    if (this.swatch) {
      const [x, y] = this.swatch;
      ink.path([[x + SWATCH_SIDE, y + 18], [this.chips[0][0] - wide / 2, this.chips[0][1] + 1]], theme.flow, 1.2);
      ink.text(x + SWATCH_SIDE / 2, y - 9, "input", 13, theme.text2, { end: "middle" });
      if (input) this.#drawSwatch(ink, x, y, SWATCH_SIDE, SWATCH_SIDE, input);
    }
    this.chips.forEach(([x, y], j) => {
      if (boxed && j) ink.path([[this.chips[j - 1][0] + wide / 2, this.chips[j - 1][1]], [x - wide / 2, y]], theme.flow, 1.2);
      if (boxed) ink.path([[x, y + CHIP_HIGH / 2], this.#backEdge(this.weight, j).slice(0, 2)], theme.flow, 1.4);
      if (boxed) this.#chip(ink, x, y, wide, true);
      if (inputs[j]) ink.text(x, y - CHIP_HIGH / 2 - (boxed ? 7 : 1), inputs[j], 15, theme.text2, bold);
      if (input) ink.text(x, y + 0.36 * size, sureChip(input[j], errors?.[j]), size, theme.text1, bold);
    });
  }

  #chip(ink, x, y, wide, strong) {
    const stroke = strong ? ink.theme.flow : ink.theme.border;
    ink.box(Math.round(x - wide / 2), Math.round(y - CHIP_HIGH / 2), wide, CHIP_HIGH, { radius: 6, fill: ink.theme.panel, stroke });
  }

  #drawRow(ink, [x, y], first) {
    const { theme } = ink;
    const { at } = this;
    ink.arrow([x, y], [x + at.sum - at.sumWidth / 2, y], theme.flow, 1.4);
    this.#chip(ink, x + at.sum, y, at.sumWidth, true);
    const [left, right] = [x + at.sum + at.sumWidth / 2, x + at.output - at.width / 2];
    ink.arrow([left, y], [right, y], theme.flow, 1.4);
    const { symbol } = this.told;
    const [size, up] = symbol.length === 1 ? [18, 6] : [13, CHIP_HIGH / 2 - 3];
    if (this.measure(symbol, size) < right - left + 14) {
      ink.text((left + right) / 2 - 1, y - up, symbol, size, theme.text2, { end: "middle" });
    }
    this.#chip(ink, x + at.output, y, at.width, true);
    if (this.columns.includes("target")) this.#chip(ink, x + at.target, y, at.width, false);
    if (!first) return;
    for (const name of this.columns) {
      const called = name === "output" ? this.told.called : name;
      ink.text(x + at[name], y - CHIP_HIGH / 2 - 10, called, 13, theme.text2, { end: "middle" });
    }
  }

  // Swatches of output and target below the last row, and the sample's own loss.
  #drawOutcome(ink, outputs, wanted, loss) {
    const { theme } = ink;
    const [x, y] = this.#lowest;
    const fits = y + 100 < this.box[1] + this.box[3] + 8;
    let under = y + CHIP_HIGH / 2;
    if (this.told.colours && this.below && this.anchors.length === 3 && fits) {
      const pairs = [[this.at.output, outputs], ...(this.columns.includes("target") ? [[this.at.target, wanted]] : [])];
      for (const [middle, colour] of pairs) {
        ink.path([[x + middle, under], [x + middle, y + 36]], theme.flow, 1.4);
        if (colour && [...colour].every((part) => part !== null && Number.isFinite(part))) {
          this.#drawSwatch(ink, Math.round(x + middle - this.at.width / 2), Math.round(y + 36), this.at.width, 40, colour);
        }
      }
      under = y + 76;
    }
    if (loss === undefined || loss === null || !this.below) return;
    const one = lossLine(this.told, loss);
    const ways = [[one], [...(this.told.label ? [`wanted ${this.told.label}`] : []), `sample loss ${lossText(loss)}`]];
    const lines = ways.find((way) => way.every((line) => this.measure(line, 13) <= this.#end)) ?? [];
    lines.forEach((line, k) => {
      const down = under + 20 + 18 * k;
      if (down < this.box[1] + this.box[3] + 8) ink.text(x + this.#end, down, line, 13, theme.text1, { end: "right" });
    });
  }

  #drawSwatch(ink, x, y, wide, high, colour) {
    ink.box(x, y, wide, high, { radius: 5, fill: swatchColour(colour), stroke: ink.theme.flow });
  }
}

// Where each row's chips start when the scene was turned by hand: level with their rows, off the cubes, or in a column
// to the right of all of them; null where there is no place.
function levelAnchors(tips, taken, reach, height) {
  for (const anchors of triedAnchors(tips)) {
    const boxes = anchors.map(([x, y]) => [x + 10, y - height / 2, reach - 6, height]);
    if (boxes.every((box) => taken.cost(box) === 0) && tips.every((tip, k) => clearLine(taken, tip, anchors[k]))) {
      for (const box of boxes) taken.addBox(box);
      return anchors;
    }
  }
  return null;
}

function triedAnchors(tips) {
  const order = tips.map((_, k) => k).sort((a, b) => tips[a][1] - tips[b][1]);
  const rising = order.map((k) => tips[k][1]);
  const found = rising.slice(1).every((y, k) => y - rising[k] >= LEVEL_STEP - 3) ? [tips] : [];
  let high = -Infinity;
  const spread = rising.map((y, k) => {
    high = Math.max(high, y - LEVEL_STEP * k);
    return high + LEVEL_STEP * k;
  });
  const shift = spread.reduce((sum, y, k) => sum + y - rising[k], 0) / spread.length;
  const right = Math.max(...tips.map(([x]) => x));
  for (const aside of [0, 24, 60]) {
    const anchors = tips.map(() => null);
    order.forEach((k, place) => (anchors[k] = [right + aside, spread[place] - shift]));
    found.push(anchors);
  }
  return found;
}

// Whether the line from a cube to its chips crosses no other cube.
function clearLine(taken, tip, anchor) {
  const long = Math.hypot(anchor[0] - tip[0], anchor[1] - tip[1]);
  for (let at = 26; at < long; at += 8) {
    const [x, y] = [0, 1].map((k) => tip[k] + (at / long) * (anchor[k] - tip[k]));
    if (taken.cost([x, y, 1, 1]) !== 0) return false;
  }
  return true;
}
