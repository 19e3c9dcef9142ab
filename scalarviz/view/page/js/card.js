// The selected cube in words: its name, what it stands between, its numbers, and how its value came about; as the small
// inspector of the window.

import { missingIn } from "./quantity.js";
import { errorOf, sureChip, sureText } from "./rounded.js";
import { meaningOf, parameterName, unitName } from "./tip.js";

const CARD_WIDE = 524;
const CARD_HIGH = 84;
const CARD_LEAST = 300; // narrower it says nothing
const CURVE_FROM = 440; // width that has room for the curve
const COLUMN_STEP = 98; // from one number to the next

/** Width that a card takes left of a legend; 0 where there is no room for one. */
export function cardWidth(room) {
  return room >= CARD_LEAST ? Math.min(room, CARD_WIDE) : 0;
}

/**
 * Draw the card of a cube.
 * @param {Ink} ink
 * @param {number[]} box x, y, width in logical pixels
 * @param {Shown} shown
 * @param {object} frame as `Player.show` takes it
 * @param {{plate: number, element: number}} chosen
 * @param {{steps: ArrayLike<number>, values: ArrayLike<number>} | null} history of its value up to the frame, if known
 */
export function drawCard(ink, [x, y, width], shown, frame, chosen, history) {
  const { theme } = ink;
  const { document } = shown;
  const plate = document.plates[chosen.plate];
  const row = plate.kind === "activation";
  const index = plate.start + chosen.element;
  const name = row ? unitName(document, plate.name, chosen.element) : parameterName(document, index);
  ink.box(x, y, width, CARD_HIGH, { fill: theme.panel, stroke: theme.border, radius: 6 });
  const curve = history && width >= CURVE_FROM && history.steps.length > 0;
  const title = curve ? `value since step ${history.steps[0]}` : "";
  const right = x + width - 16;
  const most = right - ink.measure(title, 13) - 12;
  ink.text(right, y + 26, title, 13, theme.text3, { end: "right" });
  const wide = ink.measure(name, 16, true);
  if (x + 16 + wide <= most) {
    ink.text(x + 16, y + 26, name, 16, theme.text1, { bold: true });
    const meaning = row ? "" : meaningOf(document, index);
    if (x + 31 + wide + ink.measure(meaning, 13) <= most) ink.text(x + 31 + wide, y + 26, meaning, 13, theme.text2);
  }
  cardNumbers(shown, frame, row ? null : index, plate.texel + chosen.element).forEach(([word, text], k) => {
    ink.text(x + 16 + k * COLUMN_STEP, y + 50, word, 13, theme.text3);
    ink.text(x + 16 + k * COLUMN_STEP, y + 71, text, 16, theme.text1);
  });
  if (curve) cardCurve(ink, [x + 346, y + 38, width - 366, 36], history);
}

// Words and numbers: its value, and of a parameter the gradient and the update that there are at this frame.
function cardNumbers(shown, frame, index, texel) {
  if (index === null) return [["value", sureChip(shown.numbers[texel], errorOf(frame, "weight", texel))]];
  const found = [["value", sureText(frame.texels.weight[index], errorOf(frame, "weight", index))]];
  for (const [name, word] of [["gradient", "gradient"], ["update", "last update"]]) {
    if (frame.texels[name] && !missingIn(frame.flags?.[texel] ?? 0, name) && frame.known?.[name] !== false) {
      found.push([word, sureText(frame.texels[name][index], errorOf(frame, name, index))]);
    }
  }
  return found;
}

// The value over its steps: where it began as a thin line across, the end as a disc.
function cardCurve(ink, [x, y, width, height], { steps, values }) {
  const { theme } = ink;
  const known = Array.from(values, (value, k) => [steps[k], value]).filter(([, value]) => Number.isFinite(value));
  if (!known.length) return;
  const [low, high] = known.reduce(([a, b], [, value]) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
  const span = Math.max(high - low, 1e-3 * Math.max(Math.abs(low), Math.abs(high)), 1e-12);
  const long = Math.max(known.at(-1)[0] - known[0][0], 1);
  const points = known.map(([step, value]) => [
    x + (width * (step - known[0][0])) / long, y + height * (0.5 - (value - (low + high) / 2) / span),
  ]);
  ink.path([[x, points[0][1]], [x + width, points[0][1]]], theme.grid, 1);
  if (points.length > 1) ink.path(points, theme.text1, 2);
  ink.disc(...points.at(-1), 3.5, theme.text1);
}
