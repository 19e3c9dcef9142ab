// The legend: a bar in the cubes' own colours, with a tick for every cube. As view/panels/legend.py draws the window's.

import { TYPE, drawLine, sharpCanvas } from "./curve.js";
import { earlyTable, earlyUnit } from "./early.js";
import { exponentText, shareText, shortText } from "./numbers.js";

const BAR_HEIGHT = 14;
const MOST_TICKS = 64;   // cubes that have a tick of their own

/** Places (0 to 1) and texts of the numbers below the bar, and how its scale is divided. */
function legendTicks({ low, high, scale }) {
  const range = { low, high, scale };
  if (scale === "log") {
    const count = Math.round(Math.log10(high / low));
    const ends = [low, ...Array.from({ length: count }, (_, k) => high * 10 ** (k + 1 - count))];
    return [ends.map(end => [earlyUnit(range, end), exponentText(end).replace("1.0e", "1e")]), "log"];
  }
  const ticks = scale === "symlog" ? [-high, -high / 10, 0, high / 10, high] : [-high, 0, high];
  const form = scale === "symlog" && high < 0.1 ? tick => exponentText(tick, 1, true) : tick => shortText(tick, true);
  const named = ticks.map(tick => [earlyUnit(range, tick), form(tick)]);
  return [named, scale === "symlog" ? "log both ways from 0" : "range of the network"];
}

/**
 * Draw the legend of what the cubes show.
 * @param {HTMLCanvasElement} canvas
 * @param {object} shown Of the player: `range`, `numbers` (texels,), `clippedShare`, `quantity` {words, map}.
 * @param {object} document
 * @param {string} theme "dark" or "light".
 */
export function drawLegend(canvas, shown, document, theme) {
  const { context, wide, high } = sharpCanvas(canvas), look = document.themes[theme], { range, quantity } = shown;
  const top = high - BAR_HEIGHT - 20, [named, words] = legendTicks(range);
  const note = `${words} \u00b7 ${shareText(shown.clippedShare)} clipped`;
  context.font = `bold 16px ${TYPE}`;
  context.fillStyle = look.text1;
  context.fillText(quantity.words, 0, top - 14);
  const title = context.measureText(quantity.words).width;
  context.font = `13px ${TYPE}`;
  context.fillStyle = look.text3;
  context.textAlign = "right";
  if (title + 16 + context.measureText(note).width <= wide) context.fillText(note, wide, top - 14);
  const count = Math.max(2, Math.round(wide)), table = earlyTable(document.maps[quantity.map][theme], count);
  for (let k = 0; k < count; k++) {
    context.fillStyle = `rgb(${table.subarray(3 * k, 3 * k + 3).join(",")})`;
    context.fillRect(k * wide / count, top, wide / count + 0.5, BAR_HEIGHT);
  }
  if (document.parameters <= MOST_TICKS) {
    for (const number of shown.numbers.subarray(0, document.parameters)) {
      const x = Math.min(Math.max(earlyUnit(range, number), 0), 1) * (wide - 1) + 0.5;
      if (Number.isFinite(x)) drawLine(context, [[x, top - 7], [x, top - 2]], look.text2, 1.2);
    }
  }
  writeTicks(context, named, wide, top + BAR_HEIGHT, look);
  canvas.setAttribute("aria-label", `${quantity.words}: colours from ${named[0][1]} to ${named[named.length - 1][1]}`);
}

/** Ticks and numbers; one that would touch a neighbour is left out, the ends and zero stay. */
function writeTicks(context, named, wide, y, look) {
  const taken = [], ends = place => [0, 0.5, 1].includes(place);
  context.textAlign = "left";
  for (const [place, text] of [...named].sort((a, b) => ends(b[0]) - ends(a[0]) || a[0] - b[0])) {
    const width = context.measureText(text).width, left = Math.min(Math.max(place * wide - width / 2, 0), wide - width);
    if (taken.some(([a, b]) => left < b + 8 && left + width > a - 8)) continue;
    taken.push([left, left + width]);
    drawLine(context, [[place * (wide - 1) + 0.5, y], [place * (wide - 1) + 0.5, y + 4]], look.text3, 1);
    context.fillStyle = look.text2;
    context.fillText(text, left, y + 16);
  }
}
