// Mean colours of blocks of cubes, for plates of which a pixel covers more than can be sampled.
// They are averaged as colours, not as numbers: what cancels out is grey, not neutral.

import { unitOf } from "./ranges.js";

const FROZEN_BIT = 8;
// added to a small number above 0 and taken away again it leaves the nearest whole one, the even one of two, as NumPy has
const ROUNDING = 2 ** 52;
// what stands in the fourth channel for a block with such marks (not computed or dead, -inf, +inf, NaN)
const MEAN_MARKS = [[32 | 16, 40], [4, 85], [2, 170], [1, 255]];

/**
 * The mean colour of each block of cubes, and its mark.
 * @param {Float32Array} values of the plate, row by row
 * @param {{low: number, high: number, scale: string}} range
 * @param {Uint8Array} table the colour map, (T, 3)
 * @param {number} block side of a block; those at the end may be smaller
 * @returns {Uint8Array} (ceil(rows / block), ceil(columns / block), 4)
 */
export function blockMeans(values, flags, cells, range, table, block) {
  const [rows, columns] = cells;
  const [tall, wide] = [Math.ceil(rows / block), Math.ceil(columns / block)];
  const found = new Uint8Array(4 * tall * wide);
  const totals = new Float64Array(3 * wide); // of one row of blocks
  for (let down = 0; down < tall; down++) {
    const end = Math.min((down + 1) * block, rows);
    totals.fill(0);
    for (let row = down * block; row < end; row++) {
      addColours(totals, values, flags, row * columns, columns, range, table, block);
      addMarks(found, flags, row * columns, columns, 4 * down * wide, block);
    }
    for (let across = 0; across < wide; across++) {
      const count = (end - down * block) * (Math.min((across + 1) * block, columns) - across * block);
      const half = Math.floor(count / 2);
      const into = 4 * (down * wide + across);
      for (let k = 0; k < 3; k++) found[into + k] = Math.floor((totals[3 * across + k] + half) / count);
    }
  }
  return found;
}

// Add the colours of one row of cubes to the totals of its blocks. It is gone through a million times a frame: nothing
// is made here, and the usual scale is written out.
function addColours(totals, values, flags, first, columns, range, table, block) {
  const { low, high, scale } = range;
  const [span, last, linear] = [high - low, table.length / 3 - 1, scale === "linear"];
  for (let start = 0, into = 0; start < columns; start += block, into += 3) {
    const end = first + Math.min(start + block, columns);
    let [red, green, blue] = [0, 0, 0];
    for (let at = first + start; at < end; at++) {
      let unit = 0.5; // what carries a mark
      if ((flags[at] & ~FROZEN_BIT) === 0) {
        unit = linear ? (values[at] - low) / span : unitOf(range, values[at]);
        unit = unit < 0 ? 0 : unit > 1 ? 1 : unit;
      }
      const place = 3 * (unit * last + ROUNDING - ROUNDING);
      red += table[place];
      green += table[place + 1];
      blue += table[place + 2];
    }
    totals[into] += red;
    totals[into + 1] += green;
    totals[into + 2] += blue;
  }
}

// The most important mark of each block, in the fourth channel.
function addMarks(found, flags, first, columns, into, block) {
  for (let column = 0; column < columns; column++) {
    const marks = flags[first + column] & ~FROZEN_BIT;
    if (marks === 0) continue;
    const at = into + 4 * Math.floor(column / block) + 3;
    for (const [bits, mark] of MEAN_MARKS) if (marks & bits) found[at] = Math.max(found[at], mark);
  }
}
