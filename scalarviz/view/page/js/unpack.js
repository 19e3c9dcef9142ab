// Tables of numbers over time from scalarviz/view/page/pack.py, unpacked to float32 bits.

import { denseBytes } from "./load.js";

const LEAD_WEIGHTS = [[1], [2, -1], [3, -3, 1], [4, -6, 4, -1]];   // of earlier frames, the newest first
const ZERO_KEY = 0x80000000;   // of +0: keys are in the order of the numbers, 0 to 2^32 - 1

/** Return the bytes of a base64 text, or of a dense one, which starts with `!`. */
export function bytesOf(text) {
  if (text[0] === "!") return denseBytes(text.slice(1));
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k++) bytes[k] = letters.charCodeAt(k);
  return bytes;
}

/** Decompress raw deflated bytes, at most `limit`: a few kilobytes can expand to gigabytes. */
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
      throw new RangeError("the data are longer than announced");
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/**
 * Numbers over time, N x T, frame by frame; `errors` are the largest errors of columns, null if every bit is kept.
 * With order 0, `led` predicts each number, or nothing does.
 */
export async function unpackTable(packed, led = null) {
  const { frames, columns, bits, order } = packed, count = frames * columns, width = bits / 8;
  if (![16, 32].includes(bits) || ![bits === 32 ? 0 : 1, 1, 2, 3, 4].includes(order) || !Number.isSafeInteger(count) || count < 0) {
    throw new RangeError("scalarviz did not write this table");
  }
  const raw = await inflated(bytesOf(packed.data), count * width);
  if (raw.length !== count * width) throw new RangeError("the data are shorter than announced");
  if (bits === 32) return { frames, columns, numbers: exactNumbers(raw, frames, columns, order, led), errors: null };
  const steps = new Float32Array(bytesOf(packed.step).buffer);
  if (steps.length !== columns) throw new RangeError("the data lack a step for each column");
  return { frames, columns, numbers: roundedNumbers(raw, frames, columns, order, steps), errors: steps.map(s => s / 2) };
}

/** Return the numbers of `array_text` in pack.py as an array of floats. */
export async function unpackArray({ kind, bytes: width, data }, Real) {
  const raw = await inflated(bytesOf(data)), count = raw.length / width, whole = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at++) whole[(at % count) * width + Math.floor(at / count)] = raw[at];
  return Real.from(new globalThis[`${kind}Array`](whole.buffer));
}

/** Return one row of a table, (T,), as a view, not a copy. */
export function rowOf(table, frame) {
  return table.numbers.subarray(frame * table.columns, (frame + 1) * table.columns);
}

/** Return the updates predicted as by `led_updates` of pack.py; null where bits are missing. */
export function ledUpdates(values, gradients, steps, rates, columns) {
  if (values.errors || gradients?.errors) return null;
  const led = new Float32Array(values.frames * columns);
  for (let frame = 0; frame < values.frames; frame++) {
    const alone = frame > 0 && steps[frame] - steps[frame - 1] === 1, from = frame * values.columns;
    for (let k = 0; k < columns; k++) {
      const now = values.numbers[from + k];
      if (alone) led[frame * columns + k] = now - values.numbers[from - values.columns + k];
      else if (gradients) led[frame * columns + k] = now - Math.fround(now + rates[frame] * gradients.numbers[frame * columns + k]);
    }
  }
  return led;
}

function exactNumbers(raw, frames, columns, order, table) {
  const count = frames * columns, numbers = new Float32Array(count), bits = new Uint32Array(numbers.buffer);
  const led = new Float32Array(1), ledBits = new Uint32Array(led.buffer);
  const keyOf = word => (word >>> 31 ? ~word : word | ZERO_KEY) >>> 0;
  for (let column = 0; column < columns; column++) {
    for (let frame = 0; frame < frames; frame++) {
      const from = column * frames + frame, at = frame * columns + column;
      const folded = raw[from] | raw[from + count] << 8 | raw[from + 2 * count] << 16 | raw[from + 3 * count] << 24;
      const moved = (folded >>> 1) ^ -(folded & 1);
      let expected = ZERO_KEY;
      if (order === 0) {
        led[0] = table?.[at] ?? 0;
        if (Number.isFinite(led[0])) expected = keyOf(ledBits[0]);
      } else if (frame > 0) {
        expected = keyOf(bits[at - columns]);
        const known = Math.min(order, frame);
        if (known > 1) {   // as Python computes it: in float64, rounded once
          let sum = 0;
          for (let k = 0; k < known; k++) sum += LEAD_WEIGHTS[known - 1][k] * numbers[at - (k + 1) * columns];
          led[0] = sum;
          if (Number.isFinite(led[0])) expected = keyOf(ledBits[0]);
        }
      }
      const key = (expected + moved) >>> 0;
      bits[at] = key >= ZERO_KEY ? key ^ ZERO_KEY : ~key;   // never as a float, so that a NaN keeps its bits
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
