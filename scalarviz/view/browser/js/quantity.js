// Which numbers the cubes show, their marks, and their range: once for cubes, numbers on them and legend.

import { extentOf } from "./ranges.js";

/** Bits of a mark, as the window's atlas has them. "Clipped" needs none: it follows from value and range. */
export const MARK_BITS = { nan: 1, above: 2, below: 4, frozen: 8, dead: 16, missing: 32 };

const SMALLEST_RANGE = 2 ** -126;
const ROW_BOUNDS = { sigmoid: [0, 1], tanh: [-1, 1] };

/** The quantities that a frame has numbers for, of those that the document knows. */
export function quantitiesOf(document, frame) {
  const needs = { weight: ["weight"], gradient: ["gradient"], "|gradient|": ["gradient"], update: ["update"],
    "update/value": ["update", "weight"] };
  return document.quantities.filter(({ name }) => needs[name].every((part) => frame?.texels[part]));
}

/** The range of a quantity whose end is `v`. */
function rangeTo(quantity, v) {
  if (quantity.range) return { low: quantity.range[0], high: quantity.range[1], scale: quantity.scale };
  if (!quantity.decades) return { low: -v, high: v, scale: quantity.scale };
  const low = Math.max(v * 10 ** -quantity.decades, SMALLEST_RANGE);
  return v > low ? { low, high: v, scale: "log" } : { low: 10 ** -quantity.decades, high: 1, scale: "log" };
}

/** One frame as the cubes show it. */
export class Shown {
  /** @param {object} document of `document_of` */
  constructor(document) {
    const texels = document.atlas[0] * document.atlas[1];
    this.document = document;
    this.numbers = new Float32Array(texels); // what it is: numbers of the quantity, then rows of activations
    this.drawn = new Float32Array(texels); // what cubes are coloured by
    this.flags = new Uint8Array(texels);
    this.buffers = document.tensors.filter(({ role }) => role === "buffer" || role === "count");
    this.weights = document.tensors.filter(({ role }) => role !== "buffer" && role !== "count");
  }

  /**
   * Take over a frame.
   * @param {object} frame as `Player.show` takes it
   * @param {object} quantity of the document's `quantities`
   */
  update(frame, quantity) {
    this.quantity = quantity;
    this.#fill(frame, quantity);
    this.#mark(frame, quantity);
    const spans = this.weights.length ? this.weights : this.document.tensors;
    const v = extentOf(this.#parts(spans));
    this.range = rangeTo(quantity, v);
    this.v = this.range.high;
    this.#rescale(quantity);
    this.activation = this.#activationRange(frame);
    this.ranges = this.document.plates.map((plate) => {
      if (plate.kind !== "activation") return this.range;
      const own = this.document.sheet && plate.name === "input";
      return { ...(own ? { low: 0, high: 1 } : this.activation), scale: "linear" };
    });
  }

  #fill(frame, { name }) {
    const { parameters, plates } = this.document;
    const { weight, gradient, update } = frame.texels;
    const numbers = this.numbers;
    if (name === "|gradient|") {
      for (let k = 0; k < parameters; k++) numbers[k] = Math.abs(gradient[k]);
    } else if (name === "update/value") {
      for (let k = 0; k < parameters; k++) numbers[k] = update[k] === 0 ? 0 : Math.abs(update[k]) / Math.abs(weight[k]);
    } else {
      const from = { weight, gradient, update }[name];
      numbers.set(from.subarray(0, parameters));
    }
    for (const plate of plates) {
      if (plate.kind === "activation") {
        const row = frame.rows?.[plate.name] ?? weight.subarray(plate.texel, plate.texel + plate.size);
        numbers.set(row, plate.texel);
      }
    }
  }

  #mark(frame, { name }) {
    const { parameters } = this.document;
    const { flags, numbers } = this;
    const given = frame.flags;
    const unknown = name !== "weight" && frame.known?.[name.includes("gradient") ? "gradient" : "update"] === false;
    const keep = name === "weight" ? 255 - MARK_BITS.missing : 255;
    let computed = false;
    this.unknown = name !== "weight";
    for (let k = 0; k < flags.length; k++) {
      let mark = given ? given[k] : 0;
      if (k < parameters) {
        mark &= keep;
        if (unknown) mark |= MARK_BITS.missing;
        if (!(mark & MARK_BITS.missing)) computed = true;
      }
      const x = numbers[k];
      if (x !== x) mark |= MARK_BITS.nan;
      else if (x === Infinity) mark |= MARK_BITS.above;
      else if (x === -Infinity) mark |= MARK_BITS.below;
      flags[k] = mark;
    }
    if (name === "update" && computed) {
      for (const { start, shape } of this.buffers) {
        const stop = start + shape.reduce((a, b) => a * b, 1);
        for (let k = start; k < stop; k++) flags[k] &= 255 - MARK_BITS.missing;
      }
    }
    this.unknown = !computed;
  }

  #parts(tensors) {
    if (!this.buffers.length || tensors.length === this.document.tensors.length) {
      return this.numbers.subarray(0, this.document.parameters);
    }
    const parts = tensors.map(({ start, shape }) => this.numbers.subarray(start, start + shape.reduce((a, b) => a * b, 1)));
    const all = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }

  // Buffers, whose numbers are no weights, fill the range each by one of their own.
  #rescale({ scale }) {
    this.drawn.set(this.numbers);
    if (!this.weights.length || scale === "log") return;
    for (const { start, shape, role } of this.buffers) {
      const stop = start + shape.reduce((a, b) => a * b, 1);
      const factor = role === "count" ? 0 : this.range.high / extentOf(this.numbers.subarray(start, stop));
      for (let k = start; k < stop; k++) this.drawn[k] *= factor;
    }
  }

  // One scale for all rows of activations: the bounds of the functions, or the largest value seen.
  #activationRange(frame) {
    let [low, high] = [0, 0];
    const loose = [];
    const rows = new Map(this.document.plates.filter((p) => p.kind === "activation").map((p) => [p.name, p]));
    for (const [name, kind] of Object.entries(this.document.rows)) {
      const bounds = ROW_BOUNDS[kind];
      const plate = rows.get(name);
      const row = frame.rows?.[name] ?? (plate && this.numbers.subarray(plate.texel, plate.texel + plate.size));
      if (bounds) [low, high] = [Math.min(low, bounds[0]), Math.max(high, bounds[1])];
      else if (row && !(name === "input" && this.document.sheet)) loose.push(...row);
    }
    if (loose.length) {
      const v = extentOf(loose);
      const negative = loose.some((x) => x < 0);
      [low, high] = [Math.min(low, negative ? -v : 0), Math.max(high, v)];
    }
    return { low, high: high > low ? high : low + 1 };
  }

  /** Share of the parameters beyond the range; infinities count, NaN does not. */
  get clippedShare() {
    let count = 0;
    let all = 0;
    for (const { start, shape } of this.weights.length ? this.weights : this.document.tensors) {
      const stop = start + shape.reduce((a, b) => a * b, 1);
      for (let k = start; k < stop; k++) count += Math.abs(this.numbers[k]) > this.v ? 1 : 0;
      all += stop - start;
    }
    return all ? count / all : 0;
  }
}
