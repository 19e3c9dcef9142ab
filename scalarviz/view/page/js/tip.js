// The label beside the pointer: a cube's name, what it stands between, and its number.

import { errorOf, sureChip, sureText } from "./numbers.js";
import { MARK_BITS, flatSpan } from "./quantity.js";

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
  const kind = row === "input" ? "input" : row === last ? "output" : `${row} ${Object.hasOwn(document.rows, row) ? document.rows[row] : ""}`.trim();
  return names[unit] === undefined ? `${kind}[${unit}]` : `${kind} ${names[unit]}`;
}

/** What a parameter stands between, such as `from r to b`. */
export function meaningOf(document, index) {
  const tensor = document.tensors.find((one) => index >= one.start && index < flatSpan(one)[1]);
  if (!tensor) return "";
  const rest = index - tensor.start;
  const { stages } = document;
  const at = stages.findIndex(({ weight, bias }) => weight === tensor.name || bias === tensor.name);
  if (at >= 0 && stages[at].bias === tensor.name) return `bias of ${targetName(document, at, rest)}`;
  if (tensor.shape.length === 2) {
    const [row, column] = [Math.floor(rest / tensor.shape[1]), rest % tensor.shape[1]];
    return at < 0 ? `row ${row}, column ${column}` : `from ${sourceName(document, at, column)} to ${targetName(document, at, row)}`;
  }
  if (tensor.shape.length < 3) return "";
  const place = [];
  tensor.shape.reduceRight((left, side) => (place.unshift(left % side), Math.floor(left / side)), rest);
  return `output ${place[0]}, input ${place[1]}, kernel ${place.slice(2).join(", ")}`;
}

// What feeds an input of a layer: a unit of a row that it reads, if it reads whole rows.
function sourceName(document, at, number) {
  const { stages, names, tensors } = document;
  if (!stages[at].whole) return `its input ${number}`;
  const rows = new Map(stages.map((stage) => [stage.name, stage]));
  const sources = stages[at].sources.length ? stages[at].sources : [at ? stages[at - 1].name : "input"];
  const wide = tensors.find(({ name }) => name === stages[at].weight).shape[1];
  const sample = wide - sources.reduce((sum, name) => sum + (rows.get(name)?.outputs ?? 0), 0);
  for (const name of sources) {
    const row = rows.get(name);
    const size = row ? row.outputs : sample;
    if (number < size) return row ? `${rowName(document, row)} ${number}` : (names.inputs[number] ?? `input ${number}`);
    number -= size;
  }
  return `its input ${number}`;
}

// What an output of a layer becomes: the activation that reads it alone, or an output with a name.
function targetName(document, at, number) {
  const { stages, names } = document;
  const next = stages[at + 1];
  const alone = next && next.weight === null && (!next.sources.length || (next.sources.length === 1 && next.sources[0] === stages[at].name));
  const after = alone ? at + 1 : at;
  if (after === stages.length - 1) return names.outputs[number] ?? `output ${number}`;
  return `${rowName(document, stages[after])} ${number}`;
}

function rowName({ chain }, { name, weight, kind }) {
  if (!chain) return name;
  return weight !== null ? "sum" : kind;
}

/** The row of activations that a texel is of; undefined of a parameter. */
export function rowAt({ plates }, texel) {
  return plates.find((one) => one.kind === "activation" && texel >= one.texel && texel < one.texel + one.size);
}

/** What a texel is called, and what it stands between. */
export function nameAt(document, texel) {
  const row = rowAt(document, texel);
  return row ? [unitName(document, row.name, texel - row.texel), ""] : [parameterName(document, texel), meaningOf(document, texel)];
}

/** Lines about a cube: name and number first. */
export function tipLines(shown, frame, hit) {
  if (frame.tip) return frame.tip(hit);
  const { document, quantity } = shown;
  const plate = document.plates[hit.plate];
  const texel = plate.texel + hit.element, [name, meaning] = nameAt(document, texel);
  const missing = shown.flags[texel] & MARK_BITS.missing;
  if (plate.kind === "activation") return [[name, missing && !frame.reached ? "not recorded" : sureChip(shown.numbers[texel], errorOf(frame, "weight", texel))]];
  const lines = [[name, sureText(frame.texels.weight[texel], errorOf(frame, "weight", texel))]];
  if (meaning) lines.push([meaning, ""]);
  if (quantity.name !== "weight") {
    const text = missing ? "not computed yet" : sureText(shown.numbers[texel], errorOf(frame, quantity.name, texel));
    lines.push([quantity.words, quantity.scale === "log" ? text.replace(/^\+/, "") : text]);
  }
  return lines;
}

/** Draw it at a point in logical pixels, inside of the picture. */
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
