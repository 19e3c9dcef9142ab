// The label beside the pointer: a cube's name, its two units, and its number.

import { deltaText, errorOf, sureChip, sureText } from "./numbers.js";
import { MARK_BITS, flatSpan } from "./quantity.js";

// Return the tensor with a flat index, and the place in it; undefined if there is none.
function placeOf({ tensors }, index) {
  const tensor = tensors.find((one) => index >= one.start && index < flatSpan(one)[1]), place = [];
  tensor?.shape.reduceRight((left, side) => (place.unshift(left % side), Math.floor(left / side)), index - tensor.start);
  return [tensor, place];
}

/** Return the name of the parameter at a flat index, such as `0.weight[4][2]`, from its tensor's name and shape. */
export function parameterName(document, index) {
  const [tensor, place] = placeOf(document, index);
  return tensor ? tensor.name + place.map((k) => `[${k}]`).join("") : "";
}

/** Return a parameter's meaning, such as `from input r to output b`: its tensor's words, with names of its places. */
export function meaningOf(document, index) {
  const [tensor, place] = placeOf(document, index);
  return tensor?.means ? tensor.means.replace(/\{(\d)\}/g, (_, axis) => nameAlong(tensor.along[axis], place[axis])) : parameterName(document, index);
}

// Return a name along an axis: from texts, or from words with a first number; otherwise the number itself.
function nameAlong(names, k) {
  for (const one of names ?? []) {
    const [word, first, count] = Array.isArray(one) ? one : [one, null, 1];
    if (k < count) return first === null ? word : word + (first + k);
    k -= count;
  }
  return String(k);
}

/** Return the name of a number in an activation row. */
export function unitName(document, row, unit) {
  return nameAlong(document.units[row], unit);
}

/** Return the activation row of a texel; undefined for a parameter. */
export function rowAt({ plates }, texel) {
  return plates.find((one) => one.kind === "activation" && texel >= one.texel && texel < one.texel + one.size);
}

/** Return a texel's meaning, and its name in code if that differs. */
export function nameAt(document, texel) {
  const row = rowAt(document, texel);
  return row ? [unitName(document, row.name, texel - row.texel), ""] : [...new Set([meaningOf(document, texel), parameterName(document, texel)]), ""];
}

/** Return the lines about a cube, name and number first. */
export function tipLines(shown, frame, hit) {
  if (frame.tip) return frame.tip(hit);
  const { document, quantity } = shown;
  const plate = document.plates[hit.plate];
  const texel = plate.texel + hit.element, [name] = nameAt(document, texel);
  const missing = shown.flags[texel] & MARK_BITS.missing;
  if (plate.kind === "activation") {
    const delta = frame.deltasOf?.(plate.name)?.[hit.element] ?? NaN, text = missing ? (shown.inside ? "not there yet" : "not recorded") : sureChip(shown.numbers[texel], errorOf(frame, "weight", texel));
    return [[name, text], ...(Number.isNaN(delta) ? [] : [["\u03b4", deltaText(delta)]])];
  }
  const lines = [[name, sureText(frame.texels.weight[texel], errorOf(frame, "weight", texel))]];
  if (quantity.name !== "weight") {
    const text = missing ? "not computed yet" : sureText(shown.numbers[texel], errorOf(frame, quantity.name, texel));
    lines.push([quantity.words, quantity.scale === "log" ? text.replace(/^\+/, "") : text]);
  }
  return lines;
}

export function drawTip(ink, at, size, shown, frame, hit) {
  const lines = tipLines(shown, frame, hit);
  const [pad, high] = [10, 20];
  const widths = lines.map(([name, text], row) => ink.measure(name, 13, !row) + (text ? ink.measure(text, 13) + 12 : 0));
  const wide = Math.max(...widths) + 2 * pad;
  const tall = lines.length * high + 8;
  const x = Math.max(2, Math.min(at[0] + 16, size[0] - wide - 2));
  const y = at[1] + 18 + tall > size[1] - 2 ? Math.max(2, at[1] - tall - 10) : at[1] + 18;
  ink.box(x, y, wide, tall, { fill: ink.theme.panel, stroke: ink.theme.border, radius: 6 });
  lines.forEach(([name, text], row) => {
    const line = y + 4 + high * row + 14.5;
    ink.text(x + pad, line, name, 13, row ? ink.theme.text2 : ink.theme.text1, { bold: !row });
    ink.text(x + wide - pad, line, text, 13, ink.theme.text2, { end: "right" });
  });
}
