// The label beside the pointer: a cube's name, what it stands between, and its number.

import { chipText, figureText } from "./numbers.js";
import { flatSpan } from "./quantity.js";

/** Name of the parameter at a flat index, such as `0.weight[4][2]`: made from its tensor's name and shape. */
export function parameterName(document, index) {
  const found = document.tensors.find((tensor) => index >= tensor.start && index < flatSpan(tensor)[1]);
  if (!found) return "";
  let rest = index - found.start;
  const place = [];
  for (const side of [...found.shape].reverse()) {
    place.unshift(rest % side);
    rest = Math.floor(rest / side);
  }
  return found.name + place.map((k) => `[${k}]`).join("");
}

/** Name of a number of a row of activations. */
export function unitName(document, row, unit) {
  const last = document.stages.at(-1)?.name;
  const names = row === "input" ? document.names.inputs : row === last ? document.names.outputs : [];
  const kind = row === "input" ? "input" : row === last ? "output" : `${row} ${document.rows[row] ?? ""}`.trim();
  return names[unit] === undefined ? `${kind}[${unit}]` : `${kind} ${names[unit]}`;
}

/** Lines about a cube: name and number first. */
export function tipLines(shown, frame, hit) {
  const { document, quantity } = shown;
  const plate = document.plates[hit.plate];
  const texel = plate.texel + hit.element;
  if (plate.kind === "activation") return [[unitName(document, plate.name, hit.element), chipText(shown.numbers[texel])]];
  const index = plate.start + hit.element;
  const lines = [[parameterName(document, index), figureText(frame.texels.weight[index])]];
  if (quantity.name !== "weight") {
    const text = shown.flags[texel] & 32 ? "not computed yet" : figureText(shown.numbers[texel]);
    lines.push([quantity.words, quantity.scale === "log" ? text.replace(/^\+/, "") : text]);
  }
  return lines;
}

/** Draw it at a point in logical pixels, inside of the picture. */
export function drawTip(ink, at, size, shown, frame, hit) {
  const lines = tipLines(shown, frame, hit);
  const [pad, high] = [10, 20];
  const widths = lines.map(([name, text]) => ink.measure(name, 13, true) + ink.measure(text, 13) + 12);
  const wide = Math.max(...widths) + 2 * pad;
  const tall = lines.length * high + 8;
  const x = Math.max(2, Math.min(at[0] + 16, size[0] - wide - 2));
  const y = at[1] + 18 + tall > size[1] - 2 ? Math.max(2, at[1] - tall - 10) : at[1] + 18;
  ink.box(x, y, wide, tall, { fill: ink.theme.panel, stroke: ink.theme.border, radius: 6 });
  lines.forEach(([name, text], row) => {
    const line = y + 4 + high * row + 14.5;
    ink.text(x + pad, line, name, 13, ink.theme.text1, { bold: true });
    ink.text(x + wide - pad, line, text, 13, ink.theme.text2, { end: "right" });
  });
}
