// A recorded run, unpacked: the data of each frame, in the form that the player takes.

import { countText, sureText } from "./numbers.js";
import { dataOf } from "./layers.js";
import { PageLists } from "./lists.js";
import { MARK_BITS, missingIn } from "./quantity.js";
import { nameAt } from "./tip.js";
import { bytesOf, inflated, ledUpdates, rowOf, unpackTable } from "./unpack.js";

/** Quantities that are recorded; the others are computed from them. */
export const RECORDED = ["weight", "gradient", "update"];
export const NOT_YET = "not computed yet";

/** Read the parts of a page: texts by name ("run", "weight", ...) of base64, compressed JSON and packed tables. */
export async function readRun(textOf) {
  const read = async name => dataOf(name, JSON.parse(new TextDecoder().decode(await inflated(bytesOf(textOf(name))))));
  const head = await read("run");
  head.document = dataOf("document", head.document);
  const tables = {};
  for (const name of RECORDED) {
    const text = textOf(name);
    if (text === null) continue;
    const all = part => [...head[part], ...(head.branches?.rest[part] ?? [])];
    const led = name === "update" && ledUpdates(tables.weight, tables.gradient, all("steps"), all("lr").map(Number), head.document.parameters);
    tables[name] = await unpackTable(JSON.parse(text), led || null);
  }
  const beside = textOf("rows") === null ? null : await unpackTable(JSON.parse(textOf("rows")));
  const marks = head.flags && { ...head.flags, bytes: await inflated(bytesOf(head.flags.data)) };
  const lists = new PageLists(await read("lists"));
  return new RecordedRun(head, tables, marks, beside, lists);
}

// Return rows of a table of numbers or bytes.
function rowsAt({ numbers, bytes, columns }, places) {
  const from = numbers ?? bytes, found = new from.constructor(places.length * columns);
  places.forEach((place, k) => found.set(from.subarray(place * columns, (place + 1) * columns), k * columns));
  return numbers ? { numbers: found } : { bytes: found };
}

/** A recording: N frames of a run, the newest last. */
export class RecordedRun {
  /**
   * `tables` are numbers by quantity, `marks` the bits of each texel (or one frame for all), `beside` rows that are
   * not cubes, `lists` the pictures. In the head, `sample` has the loss of the probe sample.
   */
  constructor(head, tables, marks, beside, lists) {
    Object.assign(this, { head, tables, marks, beside, lists, until: head.until ?? Infinity, frames: head.steps.length });
    for (const name of ["document", "steps", "bars", "edits", "named", "about", "pictures", "keys"]) this[name] = head[name];
    for (const name of ["sample", "loss", "lr"]) this[name] = head[name].map(Number); // NaN and infinities are texts
    this.computed = 0; // frames at the end that this page computed
    this.trained = []; // their losses, as they were trained
    this.films = new Map(); // what this page painted, by panel: frames with their steps and lists
    this.line = null; // what was changed before the frames that this page computed
    this.rows = []; // rows of activations in the table of all numbers
  }

  /** Return a run of some frames, by their places in the page; `own` replaces parts of the head. */
  taken(places, own = {}) {
    const { head, tables, marks, beside, lists } = this, part = { ...head, places, ...own };
    for (const name of ["steps", "loss", "lr", "sample"]) {
      const all = [...this[name], ...(head.branches?.rest[name] ?? [])];
      part[name] = places.map(k => all[k]);
    }
    const rows = table => table && { ...table, frames: places.length, ...rowsAt(table, places) };
    const found = Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, rows(table)]));
    return new RecordedRun(part, found, marks && marks.frames > 1 && places.length ? rows(marks) : marks, rows(beside), lists);
  }

  get exact() {
    return Object.values(this.tables).every(table => table.errors === null);
  }

  /** Return whether a quantity can be shown; an address may ask for anything. */
  has(quantity) {
    return this.lists.quantities.includes(quantity);
  }

  /** Return the numbers of a frame for the cubes of a layout, whose rows may be other ones than those of the tables. */
  shown(frame, layout = this.document) {
    const entries = Object.entries(this.tables);
    return {
      texels: Object.fromEntries(entries.map(([name, table]) => [name, this.#moved(rowOf(table, frame), layout)])),
      errors: Object.fromEntries(entries.map(([name, { errors }]) => [name, errors && this.#moved(errors, layout)])),
      flags: this.#moved(this.flagsAt(frame), layout), step: this.steps[frame], loss: this.loss[frame], lr: this.lr[frame],
      rows: this.rowsAt(frame), rowErrors: this.rowErrors, sample_loss: Number.isNaN(this.sample[frame]) ? null : this.sample[frame],
      past: frame < this.frames - 1, kinds: this.line?.bendAt(frame).kinds ?? {},
    };
  }

  // Return numbers by the texels of another layout.
  #moved(numbers, { plates, texels, parameters }) {
    const rows = (all) => all.filter(({ kind }) => kind === "activation"), here = rows(this.document.plates), there = rows(plates);
    const same = (one, k) => one.name === here[k]?.name && one.texel === here[k].texel;
    if (numbers.length <= parameters || (here.length === there.length && there.every(same))) return numbers;
    const found = new numbers.constructor(texels);
    found.set(numbers.subarray(0, parameters));
    for (const { name, texel, size } of there) {
      const own = here.find(one => one.name === name);
      if (own) found.set(numbers.subarray(own.texel, own.texel + size), texel);
    }
    return found;
  }

  /** Return the display list of a frame. */
  listAt(frame, quantity, shape, choice) {
    const { line, lists } = this, computed = frame >= this.frames - this.computed; // the last two lists are those of such frames, before a step and after one
    if (computed) return lists.standingIn(lists.at(line.editedAt(frame) ? -2 : -1, quantity, shape, choice), line.wordsAt(frame));
    return lists.at(this.head.places?.[frame] ?? frame, quantity, shape, choice);
  }

  /** Activations by stage that are shown as numbers beside the cubes; those that are cubes are among the weights. */
  rowsAt(frame) {
    return this.beside ? this.#apart(rowOf(this.beside, frame)) : Object.create(null);
  }

  /** The largest error of each; empty if they are exact. */
  get rowErrors() {
    return this.beside?.errors ? this.#apart(this.beside.errors) : Object.create(null);
  }

  #apart(row) {
    const found = Object.create(null); // a layer may be called __proto__
    let at = 0;
    for (const [name, count] of this.head.beside) {
      found[name] = row.subarray(at, at + count);
      at += count;
    }
    return found;
  }

  flagsAt(frame) {
    const { marks } = this, from = marks && Math.min(frame, marks.frames - 1) * marks.columns;
    const flags = marks ? marks.bytes.subarray(from, from + marks.columns) : new Uint8Array(this.document.texels);
    if (frame < this.frames - this.computed) return flags;
    const found = flags.map(bits => bits & ~MARK_BITS.dead); // not known
    for (const [what, , value, frames] of this.line.did) if (what[0] === "f" && frames <= frame) found[what.slice(1)] = value ? MARK_BITS.frozen : 0;
    return found;
  }

  // ---- one number

  nameOf(texel) {
    return nameAt(this.document, texel);
  }

  /** Return the recorded quantities of a texel: a row of activations has only values. */
  quantitiesOf(texel) {
    return Object.keys(this.tables).filter(name => texel < this.tables[name].columns);
  }

  /** The texts of one number at a frame, for each of `linesAt`; `none` if nothing was computed yet. */
  texts(frame, quantity, texel, none = NOT_YET) {
    const { numbers, columns } = this.tables[quantity];
    return [this.missing(frame, texel, quantity) ? none : sureText(numbers[frame * columns + texel], this.error(quantity, texel))];
  }

  linesAt() {
    return [""];
  }

  placesAt(frame) {
    return [frame];
  }

  histories(quantity, texel) {
    return [{ steps: this.steps, numbers: this.history(quantity, texel) }];
  }

  /** The rows of the table of all numbers at a frame. */
  tableAt(frame) {
    const names = Object.keys(this.tables), heads = names.map(name => (name === "weight" ? "value" : name));
    const cellsOf = texel => names.map(name => this.texts(frame, name, texel)[0]);
    return { title: `all numbers at step ${countText(this.steps[frame])}`, heads, cellsOf };
  }

  /** One number over time, (N,), NaN where it is unknown. */
  history(quantity, texel) {
    const { numbers: all, columns } = this.tables[quantity];
    const numbers = Float32Array.from({ length: this.frames }, (_, k) => all[k * columns + texel]);
    return quantity === "weight" ? numbers : numbers.map((number, k) => (this.missing(k, texel, quantity) ? NaN : number));
  }

  /** Return whether a number had no gradient, or no update. */
  missing(frame, texel, quantity = "gradient") {
    return missingIn(this.flagsAt(frame)[texel], quantity);
  }

  error(quantity, texel) {
    return this.tables[quantity].errors?.[texel] ?? 0;
  }
}
