// Mean colours of blocks of cubes, for plates of which a pixel covers more than can be sampled.
// They are averaged as colours, not as numbers: what cancels out is grey, not neutral.

import { roundHalfToEven } from "./maps.js";
import { unitOf } from "./ranges.js";

const FROZEN_BIT = 8;
// what stands in the fourth channel for a block with such marks (not computed or dead, -inf, +inf, NaN)
const MEAN_MARKS = [[32 | 16, 40], [4, 85], [2, 170], [1, 255]];

/**
 * The mean colour of each block of cubes, and its mark.
 * @param {Float32Array} values of the plate, row by row
 * @param {Uint8Array} flags
 * @param {[number, number]} cells rows and columns
 * @param {{low: number, high: number, scale: string}} range
 * @param {Uint8Array} table the colour map, (T, 3)
 * @param {number} block side of a block; those at the end may be smaller
 * @returns {Uint8Array} (ceil(rows / block), ceil(columns / block), 4)
 */
export function blockMeans(values, flags, cells, range, table, block) {
  const [rows, columns] = cells;
  const [tall, wide] = [Math.ceil(rows / block), Math.ceil(columns / block)];
  const total = new Float64Array(3 * tall * wide);
  const count = new Uint32Array(tall * wide);
  const found = new Uint8Array(4 * tall * wide);
  const last = table.length / 3 - 1;
  for (let row = 0, at = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++, at++) {
      const into = Math.floor(row / block) * wide + Math.floor(column / block);
      const marks = flags[at] & ~FROZEN_BIT;
      const unit = marks ? 0.5 : Math.min(Math.max(unitOf(range, values[at]), 0), 1);
      const place = 3 * roundHalfToEven(unit * last);
      for (let k = 0; k < 3; k++) total[3 * into + k] += table[place + k];
      count[into]++;
      if (marks) {
        for (const [bits, mark] of MEAN_MARKS) {
          if (marks & bits) found[4 * into + 3] = Math.max(found[4 * into + 3], mark);
        }
      }
    }
  }
  for (let into = 0; into < count.length; into++) {
    for (let k = 0; k < 3; k++) {
      found[4 * into + k] = Math.floor((total[3 * into + k] + Math.floor(count[into] / 2)) / count[into]);
    }
  }
  return found;
}
