// What becomes of the one sample in a deeper network: input, output and target side by side, and its own loss, where
// the scene is free; as view/notes/layer.py. A single layer says this in the flow around its cubes.

import { chipText, lossText } from "./numbers.js";
import { sureChip } from "./rounded.js";

const OUTCOME_SWATCH = 46;
const OUTCOME_STEP = 60;
const OUTCOME_ARROW = 44;
const OUTCOME_CHIP = 52;

/** A number of the target; what nobody knows is a question mark. */
export function wantedText(value) {
  return value === null || value === undefined || Number.isNaN(value) ? "?" : chipText(value);
}

/** The loss of the one sample that is drawn, after the class that is wanted where the target is one. */
export function lossLine({ label, colours }, loss) {
  return `${label ? `wanted ${label} \u00b7 ` : ""}loss of this ${colours ? "colour" : "sample"} ${lossText(loss)}`;
}

/** Red, green and blue (0..1), or one grey, as a colour of the browser. */
export function swatchColour(colour) {
  const parts = colour.length === 1 ? [colour[0], colour[0], colour[0]] : [...colour];
  return `rgb(${parts.map((part) => Math.round(255 * Math.min(Math.max(part || 0, 0), 1))).join(", ")})`;
}

/**
 * Draw it for one frame.
 * @param {Ink} ink
 * @param {number[]} box x, y, width, height in logical pixels
 * @param {object} document whose `words.outcome` is there
 * @param {(stage: string) => ArrayLike<number> | null} rowOf activations of a stage
 * @param {{wanted?: number[], sample_loss?: number}} frame
 */
export function drawOutcome(ink, box, { names, words }, rowOf, frame) {
  const told = words.outcome, [input, output] = [rowOf("input"), rowOf(told.last)];
  const wanted = frame.wanted ?? told.wanted;
  if (!input || !output) return;
  if (told.colours && wanted) drawSwatches(ink, box, [input, output, wanted]);
  else drawChips(ink, box, names.outputs, [[told.called, output, frame.rowErrors?.[told.last]], ...(wanted ? [["target", wanted]] : [])]);
  const { sample_loss: loss } = frame, [x, y, width, height] = box;
  if (loss !== undefined && loss !== null) {
    ink.text(x + width, y + height - 4, lossLine(told, loss), 13, ink.theme.text1, { end: "right" });
  }
}

function drawSwatches(ink, [x, top], colours) {
  const { theme } = ink, y = top + 20, half = OUTCOME_SWATCH / 2, second = x + OUTCOME_SWATCH + OUTCOME_ARROW;
  [x, second, second + OUTCOME_STEP].forEach((at, k) => {
    const name = ["input", "output", "target"][k], known = [...colours[k]].every((part) => part !== null && Number.isFinite(part));
    ink.box(at, y, OUTCOME_SWATCH, OUTCOME_SWATCH, { radius: 5, fill: known ? swatchColour(colours[k]) : null, stroke: theme.flow });
    if (!known && k === 2) ink.text(at + half, y + half + 6, "?", 15, theme.text2, { end: "middle" });
    ink.text(at + half, y - 7, name, 13, theme.text2, { end: "middle" });
  });
  ink.arrow([x + OUTCOME_SWATCH + 4, y + half], [second - 4, y + half], theme.flow, 1.4);
}

function drawChips(ink, [left, top, width], outputs, rows) {
  const { theme } = ink, x = left + width - outputs.length * (OUTCOME_CHIP + 6) + 6, y = top + 20;
  rows.forEach(([title, values, errors], row) => {
    const high = y + 34 * row;
    ink.text(x - 10, high + 19, title, 13, theme.text2, { end: "right" });
    [...values].forEach((value, k) => {
      const at = x + k * (OUTCOME_CHIP + 6);
      ink.box(at, high, OUTCOME_CHIP, 28, { radius: 6, fill: theme.panel, stroke: row ? theme.border : theme.flow });
      const text = row ? wantedText(value) : sureChip(value, errors?.[k]);
      ink.text(at + OUTCOME_CHIP / 2, high + 19.5, text, 15, row ? theme.text2 : theme.text1, { bold: !row, end: "middle" });
    });
  });
  if (outputs.length > 1) {
    outputs.forEach((name, k) => ink.text(x + k * (OUTCOME_CHIP + 6) + OUTCOME_CHIP / 2, y - 7, name, 13, theme.text2, { end: "middle" }));
  }
}
