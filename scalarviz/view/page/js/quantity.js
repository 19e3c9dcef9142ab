// The numbers that the cubes show, their marks, and their range: computed once for cubes, printed numbers and legend.

import { extentOf, rangeOf, weightRange, weightReach } from "./ranges.js";

/** Bits of a mark, as in the window's atlas. "Clipped" needs none: it follows from value and range. */
export const MARK_BITS = { nan: 1, above: 2, below: 4, frozen: 8, dead: 16, missing: 32, apart: 64 };

/** Return whether a quantity has no number, by its name and the mark of a frame; update and gradient may differ. */
export function missingIn(mark, name) {
  if (name === "weight") return false;
  return ((mark & MARK_BITS.missing) !== 0) !== (name.startsWith("update") && (mark & MARK_BITS.apart) !== 0);
}

/** Return the mark of a difference: a number missing in one is missing. */
export function bothMarks(a, b) {
  const [gradient, update] = ["gradient", "update"].map(name => missingIn(a, name) || missingIn(b, name));
  return (gradient ? MARK_BITS.missing : 0) | (gradient !== update ? MARK_BITS.apart : 0);
}

const ROW_BOUNDS = { sigmoid: [0, 1], tanh: [-1, 1] };

/** Return the range of a tensor in a frame's flat arrays: first and end. */
export function flatSpan({ start, shape }) {
  return [start, shape.reduce((product, side) => product * side, 1) + start];
}

// Return whether the numbers of a row are unknown; in an opened step they are still to come.
function unknownRow({ flags, reached }, { texel, size }) {
  if (!flags || reached) return false;
  for (let k = texel; k < texel + size; k++) if (!(flags[k] & MARK_BITS.missing)) return false;
  return true;
}

/** One frame as the cubes show it. */
export class Shown {
  constructor(document) {
    const texels = document.atlas[0] * document.atlas[1];
    this.document = document;
    this.numbers = new Float32Array(texels); // numbers of the quantity, then activation rows
    this.drawn = new Float32Array(texels); // numbers that colour the cubes
    this.flags = new Uint8Array(texels);
    this.marks = this.flags; // marks of cubes: in an opened step a missing number is dark, without a mark
    // numbers without a cube have no texel: activation rows follow the last parameter
    const drawn = document.tensors.filter((tensor) => flatSpan(tensor)[1] <= document.parameters);
    this.buffers = drawn.filter(({ role }) => role === "buffer" || role === "count");
    const weights = drawn.filter(({ role }) => role !== "buffer" && role !== "count");
    // the parts of a frame's flat arrays that determine the range
    this.spans = (weights.length ? weights : drawn).map(flatSpan);
    this.tensors = drawn;
    this.alone = !weights.length; // buffers alone determine the range
  }

  update(frame, quantity) {
    Object.assign(this, { quantity, inside: Boolean(frame.reached) });
    this.#fill(frame, quantity);
    this.#mark(frame, quantity);
    this.whole = frame.whole?.(quantity.name) ?? this.numbers; // numbers that determine the ranges
    const reach = quantity.name === "weight" ? weightReach(this.whole, this.spans) : Infinity;
    this.range = rangeOf(quantity, extentOf(this.whole, this.spans, reach, this.inside));
    const { weight } = frame.texels, dark = this.inside && this.unknown;
    /** Range, numbers and marks of the legend: if all cubes of an opened step are dark, those of their weights. */
    this.legend = dark ? { range: weightRange(weight, this.document.parameters), numbers: weight } : { range: this.range, numbers: this.numbers, flags: this.flags };
    this.#rescale(quantity);
    this.activation = frame.rowRange ?? this.#activationRange(frame);
    this.ranges = this.document.plates.map((plate) => {
      if (plate.kind !== "activation") return this.range;
      const own = this.document.sheet && plate.name === "input";
      return { scale: "linear", ...(own ? { low: 0, high: 1 } : this.activation) };
    });
    this.#measure();
  }

  #fill(frame, { name }) {
    const { parameters, plates } = this.document, { weight, gradient, update } = frame.texels, numbers = this.numbers;
    if (name === "|gradient|") {
      for (let k = 0; k < parameters; k++) numbers[k] = Math.abs(gradient[k]);
    } else if (name === "update/value") {
      for (let k = 0; k < parameters; k++) numbers[k] = update[k] === 0 ? 0 : Math.abs(update[k]) / Math.abs(weight[k]);
    } else {
      numbers.set(frame.texels[name].subarray(0, parameters));
    }
    for (const plate of plates) {
      if (plate.kind === "activation") {
        const row = frame.rows?.[plate.name] ?? weight.subarray(plate.texel, plate.texel + plate.size);
        numbers.set(row, plate.texel);
      }
    }
  }

  // Compute the marks of the frame and of the numbers themselves.
  #mark(frame, { name }) {
    const { parameters } = this.document, { flags, numbers } = this, given = frame.flags;
    let computed = false;
    for (let k = 0; k < flags.length; k++) {
      let mark = given ? given[k] : 0;
      if (k < parameters) {
        const missing = frame.lit?.[name] ? !frame.lit[name][k] : missingIn(mark, name);
        mark &= 255 - MARK_BITS.missing - MARK_BITS.apart;
        if (missing) mark |= MARK_BITS.missing;
        if (!(mark & MARK_BITS.missing)) computed = true;
      }
      const x = numbers[k];
      if (x !== x) mark |= MARK_BITS.nan;
      else if (x === Infinity) mark |= MARK_BITS.above;
      else if (x === -Infinity) mark |= MARK_BITS.below;
      flags[k] = mark;
    }
    if (name === "update" && computed) {
      for (const [start, stop] of this.buffers.map(flatSpan)) {
        for (let k = start; k < stop; k++) flags[k] &= 255 - MARK_BITS.missing;
      }
    }
    this.unknown = !computed;
    this.marks = this.inside ? flags.map((mark) => mark & ~MARK_BITS.missing) : flags;
  }

  // Each buffer has its own range, because its numbers are not weights.
  #rescale({ scale }) {
    this.drawn.set(this.numbers);
    if (this.alone || scale === "log" || !this.buffers.length) return;
    this.buffers.forEach((buffer) => {
      const factor = buffer.role === "count" ? 0 : this.range.high / extentOf(this.whole, [flatSpan(buffer)]);
      const [start, stop] = flatSpan(buffer);
      for (let k = start; k < stop; k++) this.drawn[k] *= factor;
    });
  }

  #measure() {
    const { numbers, flags } = this;
    /** The largest magnitude among the numbers of each tensor, if it is known. */
    this.extents = Object.create(null); // a tensor may be called __proto__
    for (const tensor of this.tensors) {
      const [start, stop] = flatSpan(tensor);
      for (let k = start; k < stop; k++) {
        if (!Number.isFinite(numbers[k]) || flags[k] & MARK_BITS.missing) continue;
        this.extents[tensor.name] = Math.max(this.extents[tensor.name] ?? 0, Math.abs(numbers[k]));
      }
    }
  }

  /** Return the activations of a stage, as cubes or as numbers beside them; null if there are none. */
  rowOf(frame, name) {
    const plate = this.document.plates.find((one) => one.kind === "activation" && one.name === name);
    return frame.rows?.[name] ?? (plate && !unknownRow(frame, plate) ? this.numbers.subarray(plate.texel, plate.texel + plate.size) : null);
  }

  // Compute one scale for all activation rows: the bounds of the functions, or the largest value seen.
  #activationRange(frame) {
    let [low, high] = [0, 0];
    const loose = [];
    for (const [name, kind] of Object.entries(this.document.rows)) {
      const bounds = ROW_BOUNDS[frame.kinds?.[name] ?? kind], row = this.rowOf(frame, name);
      if (bounds) [low, high] = [Math.min(low, bounds[0]), Math.max(high, bounds[1])];
      else if (row && !(name === "input" && this.document.sheet)) loose.push(row);
    }
    if (loose.length) {
      const all = new Float64Array(loose.reduce((sum, row) => sum + row.length, 0));
      loose.reduce((at, row) => (all.set(row, at), at + row.length), 0);
      const v = extentOf(all), negative = all.some((x) => x < 0);
      [low, high] = [Math.min(low, negative ? -v : 0), Math.max(high, v)];
    }
    return { low, high: high > low ? high : low + 1 };
  }
}
