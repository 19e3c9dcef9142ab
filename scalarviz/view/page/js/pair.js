// Two recordings of one page, unpacked: the frame of each at a step, and their difference.

import { PageLists } from "./lists.js";
import { countText, sureText } from "./numbers.js";
import { bothMarks } from "./quantity.js";
import { NOT_YET, RECORDED, RecordedRun } from "./recorded.js";
import { bytesOf, inflated, unpackTable } from "./unpack.js";

const FLOAT_LARGEST = 3.4028234663852886e38;
const NONE_YET = "none yet"; // the short form

/** Read the parts of a page: texts by name ("run", "a-weight", ...) of base64, compressed JSON and packed tables. */
export async function readPair(textOf) {
  const head = JSON.parse(new TextDecoder().decode(await inflated(bytesOf(textOf("run")))));
  const halves = [];
  for (const [k, letter] of ["a", "b"].entries()) {
    const tables = {};
    for (const name of RECORDED) {
      const text = textOf(`${letter}-${name}`);
      if (text !== null) tables[name] = await unpackTable(JSON.parse(text));
    }
    const own = head.both[k], marks = { ...own.flags, bytes: await inflated(bytesOf(own.flags.data)) };
    const none = { beside: [], sample: [], edits: [], named: [], pictures: [] };
    halves.push(new RecordedRun({ ...none, ...head, ...own }, tables, marks, null));
  }
  const lists = new PageLists(JSON.parse(new TextDecoder().decode(await inflated(bytesOf(textOf("lists"))))));
  return new PairRun(head, halves, lists);
}

/** Return `b` minus `a`, number by number; the result is finite where both are. */
export function differenceOf(a, b) {
  const found = new Float32Array(a.length);
  for (let k = 0; k < found.length; k++) {
    const apart = b[k] - a[k];
    found[k] = Number.isFinite(apart) ? Math.min(Math.max(apart, -FLOAT_LARGEST), FLOAT_LARGEST) : apart;
  }
  return found;
}

/** Return the larger magnitude of each two numbers; numbers that are not finite do not affect the range. */
export function largerOf(a, b) {
  const size = x => (Number.isFinite(x) ? Math.abs(x) : 0);
  return Float32Array.from(a, (x, k) => Math.max(size(x), size(b[k])));
}

export class PairRun extends RecordedRun {
  /**
   * In the head, `third` has the differing parts of the difference's document, `places` the frame of each recording at
   * each step, `ranges` for each step the range of the rows of both and of their difference.
   */
  constructor(head, halves, lists) {
    const [a] = halves, none = { sample: [], lr: [], named: [], pictures: [] };
    const loss = head.steps.map((step, k) => (a.steps[head.places[k][0]] === step ? a.loss[head.places[k][0]] : NaN));
    super({ ...head, ...none, loss }, {}, null, null, lists);
    Object.assign(this, { halves, places: head.places, of: head.of, third: head.third, ranges: head.ranges });
    this.letters = ["a", "b"];
    this.rows = this.document.plates.filter(plate => plate.kind === "activation").map(({ texel, size }) => [texel, texel + size]); // first and end
  }

  get exact() {
    return this.halves.every(half => half.exact);
  }

  get quantities() {
    return RECORDED.filter(name => this.has(name));
  }

  /** Return the steps at which the two show a frame. */
  stepsAt(frame) {
    return this.halves.map((half, k) => half.steps[this.places[frame][k]]);
  }

  /** Return the frames of both and of their difference for the cubes of a layout. */
  shown(frame, layout) {
    const [a, b] = this.halves.map((half, k) => half.shown(this.places[frame][k], layout));
    const wholes = {}, whole = name => (wholes[name] ??= largerOf(a.texels[name], b.texels[name]));
    const all = make => Object.fromEntries(this.quantities.map(name => [name, make(name)]));
    const errors = all(name => {
      const [first, second] = [a.errors[name], b.errors[name]];
      return first && second ? first.map((error, k) => error + second[k]) : first ?? second;
    });
    const flags = a.flags.map((mark, k) => bothMarks(mark, b.flags[k]));
    const texels = all(name => differenceOf(a.texels[name], b.texels[name]));
    const [low, high, v] = this.ranges[frame] ?? [0, 1, 1], rowRange = { low, high, scale: "linear" };
    const third = { texels, errors, flags, step: this.steps[frame], rows: Object.create(null), rowMap: "difference", rowRange: { low: -v, high: v, scale: "linear" } };
    const past = frame < this.frames - 1;
    return [{ ...a, whole, rowRange, past }, { ...b, whole, rowRange, past }, { ...third, past }];
  }

  /** Return the lists of a frame: of the three columns, then of what belongs to both, and to their difference. */
  listAt(frame, quantity, shape) {
    const found = [[]];
    for (const record of this.lists.at(frame, quantity, shape)) {
      if (record[0] === "section") found.push([]);
      else found.at(-1).push(record);
    }
    return found;
  }

  texts(frame, quantity, index, none = NONE_YET) {
    const numbers = [], errors = [];
    for (const [k, half] of this.halves.entries()) {
      const at = this.places[frame][k], table = half.tables[quantity];
      if (half.missing(at, index, quantity)) numbers.push(null);
      else numbers.push(table.numbers[at * table.columns + index]);
      errors.push(half.error(quantity, index));
    }
    const texts = numbers.map((number, k) => (number === null ? none : sureText(number, errors[k])));
    return [...texts, numbers.includes(null) ? none : sureText(numbers[1] - numbers[0], errors[0] + errors[1])];
  }

  histories(quantity, index) {
    return this.halves.map(half => ({ steps: half.steps, numbers: half.history(quantity, index) }));
  }

  linesAt(frame) {
    const steps = this.stepsAt(frame), asked = this.steps[frame];
    return [...this.letters.map((letter, k) => (steps[k] === asked ? letter : `${letter} at ${countText(steps[k])}`)), this.of];
  }

  placesAt(frame) {
    return this.places[frame];
  }

  /** Return whether a number is unknown at a frame: in a page of two the page says so itself. */
  missing() {
    return false;
  }

  tableAt(frame, quantity) {
    const title = `every ${quantity === "weight" ? "value" : quantity} at step ${countText(this.steps[frame])}`;
    return { title, heads: this.linesAt(frame), cellsOf: texel => this.texts(frame, quantity, texel) };
  }

  quantitiesOf(texel) {
    return texel < this.document.parameters ? this.quantities : ["weight"];
  }

  /** Return the lines about a number. */
  tip(frame, quantity, texel) {
    const [name, meaning] = this.nameOf(texel), of = this.quantitiesOf(texel).includes(quantity) ? quantity : "weight";
    const texts = this.texts(frame, of, texel, NOT_YET), steps = this.stepsAt(frame);
    const words = [...this.letters.map((letter, k) => `${letter} at step ${countText(steps[k])}`), this.of];
    return [[name, ""], ...(meaning ? [[meaning, ""]] : []), ...words.map((word, k) => [word, texts[k]])];
  }
}
