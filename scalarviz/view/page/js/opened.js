// Rows of activations inside of a step that a live cell has opened: Python has put numbers and marks into the frame, here
// is what the cubes make of them. A page of a recording works it out by itself: walks.js.

import { MARK_BITS } from "./quantity.js";

/**
 * Take over what is told of an opened step.
 * @param {object} frame as `Player.show` takes it, changed in place
 * @param {{range: ?{low: number, high: number, scale: string}, reached: Object<string, boolean[]>, cubes: string[]}} inside
 *   range of the deltas, null where rows show activations; which numbers beside the cubes are there; the rows that are cubes
 * @param {object} document
 */
export function openedIn(frame, inside, document) {
  const hides = new Set();
  for (const { kind, texel, size } of document.plates) {
    if (kind !== "activation") continue;
    const marks = frame.flags.subarray(texel, texel + size);
    if (marks.some((mark) => mark & MARK_BITS.missing)) for (let k = 0; k < size; k++) hides.add(texel + k);
  }
  for (const name of inside.cubes) delete frame.rows[name]; // their numbers are the texture's
  Object.assign(frame, { hides, reached: inside.reached, sample_loss: null });
  if (inside.range) Object.assign(frame, { rowMap: "gradient", rowRange: inside.range });
}
