// The legend: a bar in the cubes' colours with the range of the shown frame, and the meaning of marks.

import { Ink } from "./ink.js";
import { paint } from "./list.js";
import { exponentText, shareText, shortText } from "./numbers.js";
import { MARK_BITS } from "./quantity.js";
import { clippedShare, unitOf } from "./ranges.js";

const BAR_HIGH = 14, LEGEND_WIDE = 344, ROWS_WIDE = 220, LEGEND_GAP = 30, LEAST_LEGEND = 160;
const FIRST_LINE = 2; // height above a bar on its own canvas
const MOST_TICKS = 64; // most cubes with their own tick

/** Return places and texts of the numbers below the bar, and the division of its scale. */
function legendTicks({ range, quantity, document }) {
  const { low, high, scale } = range;
  if (scale === "log") {
    const decades = Math.round(Math.log10(high / low));
    const ends = [low, ...Array.from({ length: decades }, (_, k) => high * 10 ** (k + 1 - decades))];
    return [ends.map((end) => [unitOf(range, end), exponentText(end).replace("1.0e", "1e")]), "log"];
  }
  const ticks = scale === "symlog" ? [-high, -high / 10, 0, high / 10, high] : [-high, 0, high];
  const form = scale === "symlog" && high < 0.1 ? (x) => exponentText(x, 1, true) : (x) => shortText(x, true);
  const said = scale === "symlog" ? "log both ways from 0" : `range of ${document.scope ?? "the network"}`;
  return [ticks.map((tick) => [unitOf(range, tick), form(tick)]), quantity ? said : ""];
}

function drawBar(ink, [x, y, width], title, note, table, labels, marks) {
  const { theme } = ink, baseline = y + 14;
  ink.text(x, baseline, title, 16, theme.text1, { bold: true });
  if (ink.measure(title, 16, true) + 16 + ink.measure(note, 13) <= width) {
    ink.text(x + width, baseline, note, 13, theme.text3, { end: "right" });
  }
  const top = baseline + 20;
  for (const unit of marks) {
    const at = x + Math.min(Math.max(unit, 0), 1) * (width - 1) + 0.5;
    ink.path([[at, top - 7], [at, top - 2]], theme.text2, 1.2);
  }
  ink.colours(x, top, width, BAR_HIGH, table);
  const taken = [], weight = ([place]) => (place === 0 || place === 0.5 || place === 1 ? 0 : 1);
  for (const [place, text] of [...labels].sort((a, b) => weight(a) - weight(b) || a[0] - b[0])) {
    const wide = ink.measure(text, 13), left = Math.min(Math.max(x + place * width - wide / 2, x), x + width - wide);
    if (taken.some(([a, b]) => left < b + 8 && left + wide > a - 8)) continue;
    taken.push([left, left + wide]);
    const tick = x + place * (width - 1) + 0.5;
    ink.path([[tick, top + BAR_HIGH], [tick, top + BAR_HIGH + 4]], theme.text3, 1);
    ink.text(left, top + BAR_HIGH + 16, text, 13, theme.text2);
  }
}

function plainText(value, signed) {
  if (Number.isInteger(value)) return (signed && value > 0 ? "+" : "") + String(value).replace("-", "\u2212");
  return shortText(value, signed);
}

// The samples are more useful than the division of the scale: as many of these words as fit beside the title.
function noteOf(ink, width, { quantity, range, clippedShare, far = null, inside, document }, said, about) {
  if (inside && !about) return "faint: weight";
  const clipped = `${shareText(clippedShare)} clipped${far === null ? "" : `, up to ${shortText(far)}`}`;
  const plain = far === null ? `${said} \u00b7 ${clipped}` : clipped;
  const room = width - ink.measure(quantity.words, 16, true) - 16, log = range.scale === "symlog" ? ["log"] : [];
  const owns = document.ownRange ? ["own range"] : [], whose = about ? [[about], [about.split(", ").at(-1)]] : [owns];
  const texts = whose.map((words) => [...words, ...log].join(" \u00b7 ")).filter(Boolean);
  const notes = [...(about ? [] : [plain]), ...texts.map((text) => `${text} \u00b7 ${clipped}`), ...texts, ...log]; // log is kept longest
  return notes.find((note) => ink.measure(note, 13) <= room) ?? plain;
}

/**
 * Draw the legends into a strip (x, y, width, height); the bar marks the selected parameter, and `about` names the
 * samples. Return the room left of them.
 */
export function drawLegends(ink, box, shown, tables, detailed, selected = null, about = "") {
  const [x, y, width] = box, { document, range, numbers } = shown;
  const rows = !shown.rowless && document.plates.some(({ kind }) => kind === "activation");
  let own = Math.min(LEGEND_WIDE, Math.max(290, 0.4 * width), width);
  const both = rows && width >= 2 * LEAST_LEGEND + LEGEND_GAP;
  if (both) {
    const part = Math.max(LEAST_LEGEND, Math.min(ROWS_WIDE, width - own - LEGEND_GAP));
    own = Math.min(own, width - part - LEGEND_GAP);
    drawRowScale(ink, [x, y, part], shown, tables[1]);
  }
  const place = [x + width - own, y, own];
  drawScale(ink, place, shown, tables[0], about);
  if (selected !== null && Number.isFinite(numbers[selected]) && !shown.unknown) {
    const at = place[0] + Math.min(Math.max(unitOf(range, numbers[selected]), 0), 1) * (own - 1) + 0.5;
    ink.path([[at, y + 24], [at, y + 33]], ink.theme.selection, 3);
  }
  drawMarks(ink, [x, y + box[3] + 3, width], marksOn(shown, detailed), document);
  return both ? 0 : width - own - LEGEND_GAP;
}

/** Draw the bar of activation rows, at (x, y, width). */
export function drawRowScale(ink, place, { document, activation }, table, title = "activation", note = null) {
  const { low, high } = activation, labels = [[0, plainText(low, false)], [1, plainText(high, low < 0)]];
  if (low < 0 && high > 0) labels.push([-low / (high - low), "0"]);
  drawBar(ink, place, title, note ?? document.kinds, table, labels, []);
}

/** Draw the bar of the cubes, at (x, y, width), with a tick for each of few numbers. */
export function drawScale(ink, place, shown, table, about = "") {
  const { document, range, quantity, numbers } = shown, [labels, said] = legendTicks(shown);
  if (shown.unknown) return drawBar(ink, place, quantity.words, said, table, quantity.scale === "log" ? [] : [[0.5, "0"]], []);
  const few = document.parameters <= MOST_TICKS;
  const marks = few ? Array.from(numbers.subarray(0, document.parameters)).filter((value, k) => Number.isFinite(value) && !(shown.flags[k] & MARK_BITS.missing)) : [];
  drawBar(ink, place, quantity.words, noteOf(ink, place[2], shown, said, about), table, labels,
    marks.map((value) => unitOf(range, value)));
}

// ---- marks

const LARGE_MARKS = ["dead", "frozen", "clipped"]; // drawn only on cubes of six pixels or more
const MARK_WIDE = 19; // width of its icon and the gap beside it

/** Return the names of the visible marks, the most important first. */
export function marksOn(shown, detailed) {
  const found = new Set(Object.keys(MARK_BITS).filter((name) => shown.bits & MARK_BITS[name]));
  if (found.has("missing") && shown.untrained) {
    found.delete("missing");
    found.add("untrained");
  }
  if (shown.rowless && shown.quantity.name === "weight" && (found.delete("untrained") || found.delete("missing"))) found.add("unrecorded");
  if (shown.clips) found.add("clipped");
  if (!detailed) for (const name of LARGE_MARKS) found.delete(name);
  return Object.keys(shown.document.marks).filter((name) => found.has(name));
}

/** Draw their meanings in one line that ends at the right of a box; as many as fit. */
export function drawMarks(ink, [x, baseline, width], names, document) {
  const wideOf = (texts) => texts.reduce((sum, text) => sum + MARK_WIDE + ink.measure(text, 13) + 18, texts.length ? -18 : 0);
  let texts = names.map((name) => document.marks[name][0]);
  if (wideOf(texts) > width) texts = names.map((name) => document.marks[name][1]);
  while (texts.length && wideOf(texts) > width) texts.pop();
  let at = x + width - wideOf(texts);
  texts.forEach((text, k) => {
    const [left, top] = [at, baseline + 2];
    for (const record of document.marks[names[k]][2]) paint(ink, record, ([x, y]) => [left + x, top + y]);
    ink.text(at + MARK_WIDE, baseline, text, 13, ink.theme.text2);
    at += MARK_WIDE + ink.measure(text, 13) + 18;
  });
}

/** Return the texts of a legend of two pictures with a common range. */
export function bothShown(a, b) {
  const count = a.document.parameters;
  const joined = part => {
    const whole = new a[part].constructor(2 * count);
    whole.set(a[part].subarray(0, count));
    whole.set(b[part].subarray(0, count), count);
    return whole;
  };
  const spans = [...a.spans, ...a.spans.map(([first, end]) => [first + count, end + count])];
  const numbers = joined("numbers");
  return {
    document: { ...a.document, parameters: 2 * count }, range: a.range, quantity: a.quantity, numbers, flags: joined("flags"),
    unknown: a.unknown && b.unknown, clippedShare: clippedShare(numbers, a.range.high, spans), far: a.far ?? b.far,
  };
}

/** A legend on its own canvas: of the cubes, or, with a title, of activation rows. */
export class ScaleBar {
  constructor(canvas, document, title = "") {
    Object.assign(this, { canvas, title, ink: new Ink(canvas, document.advances) });
  }

  /** Redraw it, for one picture or for two with a common range; `about` names the samples. */
  draw(players, theme, about = "") {
    if (!this.canvas.clientWidth || !players.every((one) => one.frame && one.tables)) return;
    const { ink, title } = this, [wide, high] = ink.fit(theme), place = [0, FIRST_LINE, wide];
    const [{ shown, frame, tables }, second] = players;
    if (title) return drawRowScale(ink, place, shown, tables[1], title, frame.rowMap ? "" : null);
    drawScale(ink, place, second ? bothShown(shown, second.shown) : shown, tables[0], about);
    const marks = players.flatMap((one) => marksOn(one.shown, one.cubes.detailed(one.view.camera, one.overlay.density)));
    drawMarks(ink, [0, high - 5, wide], [...new Set(marks)], shown.document);
  }
}
