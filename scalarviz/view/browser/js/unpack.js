// Tables of numbers over time, as scalarviz/view/browser/pack.py packs them: the way back to float32 bits.

const ZERO_KEY = 0x80000000;   // of +0: keys count up with the numbers, 0 to 2^32 - 1

/**
 * Bytes of a base64 text.
 * @param {string} text
 * @returns {Uint8Array}
 */
export function bytesOf(text) {
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k++) bytes[k] = letters.charCodeAt(k);
  return bytes;
}

/**
 * Inflate raw deflated bytes. At most `limit` bytes come out: a few kilobytes can stand for gigabytes.
 * @param {Uint8Array} bytes
 * @param {number} [limit]
 * @returns {Promise<Uint8Array>}
 */
export async function inflated(bytes, limit = 2 ** 30) {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > limit) {
      await reader.cancel();
      throw new RangeError("the data are longer than they say");
    }
    parts.push(value);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * A table of numbers over time.
 * @typedef {object} Table
 * @property {number} frames N.
 * @property {number} columns T.
 * @property {Float32Array} numbers N x T, frame after frame.
 * @property {?Float32Array} errors By how much a number of each column may be off, (T,); null where every bit is kept.
 */

/**
 * Unpack a table.
 * @param {{frames: number, columns: number, bits: number, order: number, data: string, step: string=}} packed
 * @returns {Promise<Table>}
 */
export async function unpackTable(packed) {
  const { frames, columns, bits, order } = packed, count = frames * columns, width = bits / 8;
  if (![16, 32].includes(bits) || ![1, 2, 3].includes(order) || !Number.isSafeInteger(count) || count < 0) {
    throw new RangeError("this table is not one of ours");
  }
  const raw = await inflated(bytesOf(packed.data), count * width);
  if (raw.length !== count * width) throw new RangeError("the data are shorter than they say");
  if (bits === 32) return { frames, columns, numbers: exactNumbers(raw, frames, columns, order), errors: null };
  const steps = new Float32Array(bytesOf(packed.step).buffer);
  if (steps.length !== columns) throw new RangeError("the data lack a step for each column");
  return { frames, columns, numbers: roundedNumbers(raw, frames, columns, order, steps), errors: steps.map(s => s / 2) };
}

/** One row of a table, (T,): a view, not a copy. */
export function rowOf(table, frame) {
  return table.numbers.subarray(frame * table.columns, (frame + 1) * table.columns);
}

/** One column of a table, (N,). */
export function columnOf(table, column) {
  return Float32Array.from({ length: table.frames }, (_, k) => table.numbers[k * table.columns + column]);
}

function exactNumbers(raw, frames, columns, order) {
  const count = frames * columns, numbers = new Float32Array(count), bits = new Uint32Array(numbers.buffer);
  const led = new Float32Array(1), ledBits = new Uint32Array(led.buffer);
  const keyOf = word => (word >>> 31 ? ~word : word | ZERO_KEY) >>> 0;
  for (let column = 0; column < columns; column++) {
    for (let frame = 0; frame < frames; frame++) {
      const from = column * frames + frame, at = frame * columns + column;
      const folded = raw[from] | raw[from + count] << 8 | raw[from + 2 * count] << 16 | raw[from + 3 * count] << 24;
      const moved = (folded >>> 1) ^ -(folded & 1);
      let expected = ZERO_KEY;
      if (frame > 0) {
        expected = keyOf(bits[at - columns]);
        const known = Math.min(order, frame);
        if (known > 1) {   // as Python computes it, in float64, and rounded once
          const a = numbers[at - columns], b = numbers[at - 2 * columns];
          led[0] = known === 2 ? 2 * a - b : 3 * a - 3 * b + numbers[at - 3 * columns];
          if (Number.isFinite(led[0])) expected = keyOf(ledBits[0]);
        }
      }
      const key = (expected + moved) >>> 0;
      bits[at] = key >= ZERO_KEY ? key ^ ZERO_KEY : ~key;   // never through a float: a NaN keeps its bits
    }
  }
  return numbers;
}

function roundedNumbers(raw, frames, columns, order, steps) {
  const count = frames * columns, numbers = new Float32Array(count);
  for (let column = 0; column < columns; column++) {
    let speed = 0, whole = 0;
    for (let frame = 0; frame < frames; frame++) {
      const from = column * frames + frame, folded = raw[from] | raw[from + count] << 8;
      const moved = (folded >>> 1) ^ -(folded & 1);
      speed = order === 1 ? moved : (speed + moved) << 16 >> 16;
      whole = (whole + speed) << 16 >> 16;
      numbers[frame * columns + column] =
        whole === -32768 ? NaN : whole === 32767 ? Infinity : whole === -32767 ? -Infinity : whole * steps[column];
    }
  }
  return numbers;
}
