// The page that plays a link. The recording after the # may come from anybody, so every part of it is checked.

import { PageLists } from "./lists.js";
import { startPage } from "./page.js";
import { RecordedRun } from "./recorded.js";
import { bytesOf, inflated, unpackTable } from "./unpack.js";

const LONGEST_LINK = 8000, MOST_BYTES = 2 ** 20, MOST_FRAMES = 1000, MOST_TEXELS = 65536, MOST_PLATES = 300, MOST_RECORDS = 2000;
const OF_A_RUN = [   // the list of view/page/link.py; shaders, colours and keys are the player's own
  "theme", "size", "plates", "trays", "flow", "atlas", "parameters", "texels", "tensors", "rows", "units", "sheet",
  "target", "rect", "scene", "pose", "time", "rim",
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
  const { plates, atlas, texels, parameters, tensors, trays, size } = document, wrong = "scalarviz did not write its picture";
  demand(isList(plates, MOST_PLATES) && plates.length && isList(trays, MOST_PLATES) && isList(tensors, MOST_PLATES), wrong);
  demand(isList(atlas, 2) && atlas.every(side => isCount(side, 4096) && side > 0), wrong);
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
  demand([rows, units].every(one => one && typeof one === "object") && Object.values(units).every(isPlain), wrong);
  demand(document.target === null || (isList(document.target, 4096) && document.target.every(one => one === null || Number.isFinite(one))), wrong);
  const isBox = box => isList(box, 4) && box.length === 4 && box.every(Number.isFinite);
  demand(isBox(document.scene) && isBox(document.rect) && (document.time === null || isBox(document.time)), wrong);
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

// The lists of the frames: records, and how each list follows from the one before.
const isChange = step => (Array.isArray(step) ? step.length === 2 && step.every(one => isCount(one, MOST_RECORDS)) : isCount(step, MOST_RECORDS));
const isLists = ({ quantities, choices, lists, shapes, records }, frames) => isList(quantities, 1) && quantities[0] === "weight" && choices === 1 && isList(shapes, 1) && shapes[0] === 0 &&
  isList(lists, 2 * frames) && lists.length === 2 * frames && lists.every(list => isList(list, MOST_RECORDS) && list.every(isChange)) &&
  isList(records, MOST_RECORDS) && records.every(isDrawn);

const isDrawn = record => isRecord(record) && DRAWN[record[0]]?.test(record.slice(1).map(formOf).join("")) && (record[0] !== "area" || record[1].length > 1);

// The forms of records that a link may hold, one letter a part: number, list, text, nothing.
const formOf = part => (Number.isFinite(part) ? "n" : isList(part, 4000) && part.every(Number.isFinite) ? "l" : typeof part === "string" ? "t" : part === null ? "o" : "?");
const DRAWN = Object.assign(Object.create(null), {
  text: /^nntntnt$/, number: /^nnntnttnttn$/, rect: /^nnnn[to]{2}nnn$/, swatch: /^nnnnt[to]nn$/, marks: /^nnnntn$/, lines: /^ltn$/, strokes: /^ltn$/,
  path: /^ltn$/, beside: /^$/, polygon: /^l[to]$/, area: /^lnt$/, clip: /^nnnn$/, image: /^nnnntn$/,
});

// The time bar: layers of records, and the changes of each from one step to another.
function isBar({ size, scale, plot, flag, spots, layers }) {
  const isLayer = ([name, since, lists]) => typeof name === "string" && isList(since, MOST_FRAMES) && since.every(Number.isFinite) &&
    isList(lists, since.length) && lists.length === since.length && Array.isArray(lists[0]) &&
    lists.every(list => list && isList(Object.values(list), 1000) && Object.values(list).every(isDrawn));
  return [[size, 2], [scale, 5], [plot, 2], [flag, 2]].every(([list, count]) => isList(list, count) && list.length === count && list.every(Number.isFinite)) &&
    isList(spots, 0) && isList(layers, 7) && layers.every(layer => isList(layer, 3) && layer.length === 3 && isLayer(layer));
}

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
  demand(head.lists && isLists(head.lists, count) && isList(head.bars, 1) && head.bars.every(bar => bar && isBar(bar)), wrong);
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
  const about = { line: head.about.line, bits: 12, gestures: base.gestures };
  const lists = new PageLists({ ...head.lists, layouts: [{}] });
  return new RecordedRun({ ...head, steps, document, named: [], pictures: [], keys: base.keys, about }, { weight }, marks, beside, lists);
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
