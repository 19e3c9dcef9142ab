// The page that plays a link. The recording after the # may come from anybody, so every part of it is checked.

import { startPage } from "./page.js";
import { RecordedRun } from "./recorded.js";
import { bytesOf, inflated, unpackTable } from "./unpack.js";

const LONGEST_LINK = 8000, MOST_BYTES = 2 ** 20, MOST_FRAMES = 1000, MOST_TEXELS = 65536, MOST_PLATES = 300;
const OF_A_RUN = [   // the list of view/page/link.py; shaders, colours and keys are the player's own
  "theme", "size", "plates", "trays", "flow", "atlas", "parameters", "texels", "numbered", "tensors",
  "stages", "rows", "units", "kinds", "names", "sheet", "words", "rect", "scene", "pose", "rim",
];

/** Throw an error with the fault of a link, unless a condition holds. */
function demand(holds, words) {
  if (!holds) throw new RangeError(words);
}

const isCount = (number, most) => Number.isInteger(number) && number >= 0 && number <= most;
const isList = (list, most) => Array.isArray(list) && list.length <= most;
const isLine = line => isList(line, 2) && isCount(line[0], 1e15) && typeof line[1] === "string" && line[1].length <= 400;
const isNumber = one => typeof one === "number" || ["NaN", "Infinity", "-Infinity"].includes(one);

/** The document of a link: its own parts override the player's. */
function checkedDocument(own, base) {
  demand(own && typeof own === "object", "the link holds no picture");
  const parts = OF_A_RUN.filter(name => Object.hasOwn(own, name)).map(name => [name, own[name]]);
  const document = { ...base, ...Object.fromEntries(parts) };
  document.words = { ...base.words, ...own.words };
  const { plates, atlas, texels, parameters, tensors, stages, trays, size } = document, wrong = "scalarviz did not write its picture";
  demand(isList(plates, MOST_PLATES) && plates.length && isList(trays, MOST_PLATES) && isList(tensors, MOST_PLATES), wrong);
  demand(isList(stages, MOST_PLATES) && isList(atlas, 2) && atlas.every(side => isCount(side, 4096) && side > 0), wrong);
  demand(isCount(texels, MOST_TEXELS) && atlas[0] * atlas[1] <= 4 * MOST_TEXELS && texels <= atlas[0] * atlas[1], wrong);
  demand(isCount(parameters, texels) && ["dark", "light"].includes(document.theme), wrong);
  demand(isList(size, 2) && size.every(side => isCount(side, 8192) && side >= 100), wrong);
  for (const plate of plates) {
    demand(isCount(plate.size, texels) && isCount(plate.texel, texels - plate.size), wrong);
    demand(isList(plate.cells, 2) && plate.cells.every(side => isCount(side, MOST_TEXELS)), wrong);
    demand(plate.cells[0] * plate.cells[1] <= 4 * MOST_TEXELS && [plate.origin, ...plate.axes].flat().every(Number.isFinite), wrong);
  }
  const { pose, rows, units } = document, numbers = [pose?.az, pose?.el, pose?.scale, pose?.centre, pose?.place, pose?.eye ?? []].flat();
  demand(pose && [pose.centre, pose.place].every(Array.isArray) && numbers.length >= 8 && numbers.every(Number.isFinite), wrong);
  const isPlain = names => isList(names, 4096) && names.flat(2).every(one => typeof one !== "object");
  demand(typeof document.kinds === "string" && document.kinds.length <= 400, wrong);
  demand([rows, units].every(one => one && typeof one === "object") && Object.values(units).every(isPlain), wrong);
  demand(isList(document.words.around, 2000) && document.words.around.every(isGroup), wrong);
  for (const tensor of tensors) {
    demand(typeof tensor.name === "string" && tensor.name.length <= 400 && isList(tensor.shape, 16), wrong);
    demand(typeof tensor.means === "string" && tensor.means.length <= 400 && isList(tensor.along, 8), wrong);
    demand(tensor.along.every(isPlain), wrong);
    demand(tensor.shape.every(side => isCount(side, MOST_TEXELS)) && isCount(tensor.start, MOST_TEXELS), wrong);
  }
  return document;
}

// A record of numbers and short texts. It is drawn, never inserted into the page.
const isRecord = record => isList(record, 20) && record.flat(3).length <= 4000 && record.flat(3).every(one => !one || typeof one !== "object");

// The words around the cubes.
function isGroup(group) {
  const isBound = (bound) => bound === undefined || (isList(bound, 5) && bound.length === 5 && [0, 2, 3].every((k) => typeof bound[k] === "string") &&
    isCount(bound[1], MOST_TEXELS) && (bound[4] === null || Number.isFinite(bound[4])));
  return group && typeof group === "object" && [group.shapes, group.texts].every((list) => isList(list, 2000) && list.every(isRecord)) &&
    group.shapes.every(([kind]) => ["rect", "path", "lines", "polygon"].includes(kind)) &&
    group.texts.every((text) => typeof text[2] === "string" && text[2].length <= 400 && isBound(text[7]));
}

// The words about each frame: parts about its training, and the samples of its gradients and updates.
function isSaid(said, frames) {
  const words = one => isList(one, 3) && isList(one[0], 10) && [...one[0], one[1], one[2]].every(part => typeof part === "string");
  if (!said || !isList(said.texts, 1000) || !said.texts.length || !said.texts.every(words) || !isList(said.at, frames)) return false;
  return said.at.every(place => isCount(place, said.texts.length - 1));
}

// The time bar: layers of records, and the changes of each from one step to another.
function isBar({ size, scale, plot, flag, spots, layers }) {
  const isDrawn = record => isRecord(record) && ["rect", "path", "strokes", "lines", "area", "polygon", "text"].includes(record[0]) &&
    (record[0] !== "text" || typeof record[3] === "string") && (record[0] !== "area" || record[1]?.length > 1);
  const isLayer = ([name, since, lists]) => typeof name === "string" && isList(since, MOST_FRAMES) && since.every(Number.isFinite) &&
    isList(lists, since.length) && lists.length === since.length && Array.isArray(lists[0]) &&
    lists.every(list => list && isList(Object.values(list), 1000) && Object.values(list).every(isDrawn));
  return [[size, 2], [scale, 5], [plot, 2], [flag, 2]].every(([list, count]) => isList(list, count) && list.length === count && list.every(Number.isFinite)) &&
    isList(spots, 0) && isList(layers, 7) && layers.every(layer => isList(layer, 3) && layer.length === 3 && isLayer(layer));
}

// The type size of formulas, their distance, and the lines.
const isFormulas = one => isList(one, 3) && one.slice(0, 2).every(Number.isFinite) && isList(one[2], 100) &&
  one[2].every(line => typeof line === "string" && line.length <= 400);

/** The recording in a link, on top of the shared parts. An error names the fault. */
export async function readLink(hash, base) {
  demand(hash.length <= LONGEST_LINK, "the link is too long");
  const [, version, data] = /^(\d{1,3})\.([\w-]*)$/.exec(hash) ?? [];
  demand(data, "the link is incomplete, or scalarviz did not write it");
  demand(version === "1", "the link needs a newer scalarviz");
  let head;
  try {
    const bytes = await inflated(bytesOf(data.replaceAll("-", "+").replaceAll("_", "/")), MOST_BYTES);
    head = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new RangeError("the link is damaged or incomplete");
  }
  const wrong = "scalarviz did not write the recording in the link";
  demand(head && typeof head === "object" && head.parts && head.about && typeof head.about.line === "string", wrong);
  const document = checkedDocument(head.document, base.document), { steps: strides } = head, count = strides?.length;
  demand(isList(strides, MOST_FRAMES) && count && strides.every(stride => isCount(stride, 1e15)), wrong);
  let sum = 0;
  const steps = strides.map(stride => (sum += stride));
  demand(sum <= 1e15, wrong);
  for (const list of [head.loss, head.lr, head.sample]) {
    demand(isList(list, count) && list.length === count && list.every(isNumber), wrong);
  }
  demand(isList(head.edits, 100) && head.edits.every(isLine), wrong);
  demand(isSaid(head.said, count) && isList(head.bars, 1) && head.bars.every(bar => bar && isBar(bar)), wrong);
  demand(Object.values(head.formulas ?? {}).every(isFormulas), wrong);
  demand(isList(head.beside, 300) && head.beside.every(one => isList(one, 2) && typeof one[0] === "string" && isCount(one[1], 4096)), wrong);
  const whole = (unpacking) => unpacking.catch(() => demand(false, wrong));   // instead of the browser's message
  const table = async (packed, columns) => {
    demand(packed && packed.frames === count && packed.columns === columns && typeof packed.data === "string", wrong);
    return whole(unpackTable(packed));
  };
  const weight = await table(head.parts.weight, document.texels);
  const besides = head.beside.reduce((sum, [, length]) => sum + length, 0);
  const beside = besides ? await table(head.parts.rows, besides) : null;
  const marks = { ...head.flags, bytes: await whole((async () => inflated(bytesOf(head.flags.data), MOST_BYTES))()) };
  demand([1, count].includes(marks.frames) && marks.columns === document.texels, wrong);
  demand(marks.bytes.length === marks.frames * marks.columns, wrong);
  const about = { line: head.about.line, bits: 12, of: String(head.about.of ?? ""), gestures: base.gestures };
  return new RecordedRun({ ...head, steps, document, upright: {}, named: [], pictures: [], keys: base.keys, about }, { weight }, marks, beside);
}

/** Play the link in this address, or say in one sentence why it cannot play. */
export async function openLink() {
  const place = document.getElementById("sentence"), hash = window.location.hash.slice(1);
  window.addEventListener("hashchange", () => window.location.reload());
  if (!hash) return;
  try {
    const base = JSON.parse(new TextDecoder().decode(await inflated(bytesOf(document.getElementById("base").textContent))));
    await startPage(await readLink(hash, base), "");
  } catch (error) {
    const words = error instanceof RangeError ? error.message : "scalarviz did not write its picture"; // instead of the browser's message
    place.textContent = `${place.textContent} This link cannot be played: ${words}.`;
  }
}
