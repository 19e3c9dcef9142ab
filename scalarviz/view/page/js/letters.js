// What a reading network's picture has among its cubes: who looks at whom, the numbers of the letters on their way, inner
// numbers, and what comes next; as view/panels/word_scene.py draws them, of the frame that is shown.

import { project } from "./camera.js";
import { colourAt, tableOf } from "./maps.js";
import { MINUS_SIGN, numberText, shortText } from "./numbers.js";

const GREY_LEAST = 0.16; // grey of a share of 0: the cells can be counted
const WORD_SIZE = 13;
const MAP_TICK = 12; // type of the letters beside the maps
const [MAP_LARGEST, MAP_LEGIBLE] = [15, 8.5]; // pixels of a cell of a map; from where on letters stand beside them
const [GREYS_WIDE, GREYS_TALL, GREYS_STEPS] = [44, 7, 22];
const BARS_APART = 14; // least pixels between names of bars
const MAP_COLOURS = 2049;

function greyByte(share, light) {
  const grey = GREY_LEAST + (1 - GREY_LEAST) * Math.min(Math.max(share, 0), 1);
  return Math.round(255 * (light ? 1.06 - grey : grey));
}

/** The grey of a share of attention. */
export function greyOf(share, light) {
  const byte = greyByte(share, light);
  return `rgb(${byte}, ${byte}, ${byte})`;
}

/** `49`, `<1`: a share in per cent without its sign. */
export function percentText(share) {
  return share > 0 && share < 0.005 ? "<1" : numberText(100 * share, 0);
}

/** The places of the largest shares, as a stable sort from the last has them. */
export function likeliest(shares, most) {
  const order = [...shares.keys()].sort((a, b) => shares[b] - shares[a] || b - a);
  return order.slice(0, most);
}

/** One frame of what was read: its numbers by their parts. */
export class ReadAt {
  /**
   * @param {object} told `letters` of a page's head, as view/page/ofscene.py makes it
   * @param {Float32Array} parts its row of numbers
   * @param {Float32Array} likely its row of probabilities
   * @param {number} frame
   */
  constructor(told, parts, likely, frame) {
    const { heads, count, widths, hidden } = told, triangle = (count * (count + 1)) / 2;
    Object.assign(this, { told, frame, tokens: ["start", ...told.word] });
    let at = 0;
    const take = (size) => parts.subarray(at, (at += size));
    this.attention = Array.from({ length: heads }, () => take(triangle));
    this.stream = widths.map((width) => take(count * width));
    this.inner = hidden && take(count * hidden[1]);
    const known = likely.length - 2, each = known / count;
    this.likely = Array.from({ length: count }, (_, k) => likely.subarray(k * each, (k + 1) * each));
    [this.streamMost, this.innerMost] = likely.subarray(known);
    this.rows = told.rows[told.rows.length === 1 ? 0 : frame];
    this.finite = !Number.isNaN(likely[0]);
  }

  /** What a number of a letter is called. */
  nameOf(number) {
    return this.told.letters[number] ?? "end";
  }

  /** The number of what follows the letter at a place. */
  follows(place) {
    return place < this.told.word.length ? this.told.letters.indexOf(this.told.word[place]) : this.told.letters.length;
  }
}

/** Draws all parts that have their room; `places` are the boxes of the letters afterwards, `[box, letter]`. */
export class LettersAmong {
  /**
   * @param {Overlay} overlay of a planned picture
   * @param {ReadAt} read
   * @param {number} chosen the letter that is looked at
   * @param {"dark" | "light"} look
   */
  constructor(overlay, read, chosen, look) {
    const { view, document, ink } = overlay;
    Object.assign(this, { overlay, read, chosen, ink, theme: ink.theme, light: look !== "dark", places: [] });
    this.sheet = overlay.around.plan;
    this.window = [0, 0, view.width, overlay.foot];
    this.colours = tableOf(document.maps.weight[look], MAP_COLOURS);
    this.greys = Uint8Array.from({ length: 3 * GREYS_STEPS }, (_, k) => greyByte(Math.floor(k / 3) / (GREYS_STEPS - 1), this.light));
    this.room = (name) => (this.sheet.sheet.rooms[name] ? this.sheet.boxAt(this.sheet.sheet.rooms[name]) : null);
    this.plate = (name) => document.plates.find((plate) => plate.name === name);
  }

  draw() {
    const { read, chosen } = this;
    this.drawAttention(this.room("attention"));
    if (read.stream.length) this.drawStream();
    if (read.inner) this.drawInner(this.room("hidden"));
    if (read.told.uses.length) this.drawNext(this.room("next"));
    read.told.uses.forEach((tensor, k) => this.drawFrame(this.plate(tensor), read.rows[k][chosen]));
  }

  holds(box) {
    const [x, y, wide, high] = box, [left, top, width, height] = this.window;
    return left <= x && top <= y && x + wide <= left + width && y + high <= top + height;
  }

  // ---- attention

  // A triangle a head: rows look at columns.
  drawAttention(room) {
    const { ink, theme, read } = this;
    if (!room || !this.holds(room)) return;
    const { heads, count } = read.told, columns = heads <= 4 ? 1 : 2, lines = Math.ceil(heads / columns);
    const [x, y, width, height] = [room[0], room[1], room[2] / columns, room[3] / lines];
    let cell = Math.min((width - 22) / count, (height - 8) / (count + 1.1), MAP_LARGEST);
    const foot = cell >= MAP_LEGIBLE;
    if (!foot) cell = Math.min((width - 22) / count, (height - 6) / count, MAP_LARGEST); // letters at the left alone
    const named = cell >= MAP_LEGIBLE, left = named ? 14 : 0;
    if (!named) cell = Math.min((width - 8) / count, (height - 8) / count, MAP_LARGEST);
    this.drawBar(room[0] + left, room[1] - 8, "0", "1", this.greys);
    ink.text(room[0] + left, room[1] - 25, "looks at", WORD_SIZE, theme.text2);
    for (let h = 0; h < heads; h++) {
      const at = [x + (h % columns) * width + left, y + Math.floor(h / columns) * height];
      this.drawTriangle(at, cell, named, foot, read.attention[h]);
      const title = `head ${h + 1}`;
      if (2 * cell + 6 + ink.measure(title, WORD_SIZE) <= width - left) {
        ink.text(at[0] - left + width - 4, at[1] + 10, title, WORD_SIZE, theme.text3, { end: "right" });
      }
      for (let k = 0; k < count; k++) this.places.push([[at[0] - 14, at[1] + k * cell, (k + 1) * cell + 14, cell], k]);
    }
  }

  drawTriangle([left, top], cell, named, footed, shares) {
    const { ink, theme, chosen, read } = this, { tokens } = read, gap = cell > 4 ? 1 : 0;
    let at = 0;
    tokens.forEach((token, row) => {
      const name = row ? token : "\u2022", here = row === chosen;
      if (named) ink.text(left - 7, top + (row + 0.5) * cell + 4, name, MAP_TICK, here ? theme.text1 : theme.text2, { bold: here, end: "middle" });
      if (named && footed) ink.text(left + (row + 0.5) * cell, top + tokens.length * cell + 10, name, MAP_TICK, theme.text3, { end: "middle" });
      for (let across = 0; across <= row; across++) {
        const fill = greyOf(shares[at++], this.light);
        ink.box(left + across * cell, top + row * cell, cell - gap, cell - gap, { fill, radius: cell > 8 ? 1.5 : 0 });
      }
    });
    ink.box(left - 2, top + chosen * cell - 2, (chosen + 1) * cell + 3, cell + 3, { stroke: theme.selection, border: 1.4 });
  }

  // A small legend on a baseline: its ends left and right of it.
  drawBar(left, y, low, high, table) {
    const { ink, theme } = this;
    ink.text(left, y, low, WORD_SIZE, theme.text2);
    const x = left + ink.measure(low, WORD_SIZE) + 5;
    for (let k = 0; k < GREYS_STEPS; k++) { // each over the rest: between two of them nothing shines through
      const [r, g, b] = colourAt(table, k / (GREYS_STEPS - 1)), left = (k * GREYS_WIDE) / GREYS_STEPS;
      ink.box(x + left, y - 8, GREYS_WIDE + 0.5 - left, GREYS_TALL, { fill: `rgb(${r}, ${g}, ${b})` });
    }
    ink.text(x + GREYS_WIDE + 5, y, high, WORD_SIZE, theme.text2);
  }

  // ---- the stream and the inner numbers

  // The colour at 0..1 of the map of weights.
  colour(unit) {
    const [r, g, b] = colourAt(this.colours, unit);
    return `rgb(${r}, ${g}, ${b})`;
  }

  // Signed numbers, row by row, as cells that fill a box.
  drawCells(box, numbers, columns, most) {
    const rows = numbers.length / columns, wide = box[2] / columns, high = box[3] / rows, gap = Math.min(wide, high) > 3 ? 0.7 : 0;
    numbers.forEach((value, k) => {
      const [x, y] = [box[0] + (k % columns) * wide, box[1] + Math.floor(k / columns) * high];
      this.ink.box(x, y, wide - gap, high - gap, { fill: this.colour((value / Math.max(most, 1e-30) + 1) / 2) });
    });
  }

  // The numbers of each letter, a row each, where they are on their way; one scale for all of them.
  drawStream() {
    const { ink, theme, read, chosen, sheet } = this, { count, widths } = read.told, most = read.streamMost;
    const boxes = sheet.sheet.rows.map((box) => sheet.boxAt(box));
    const which = [...widths.keys()], shown = which.length === boxes.length ? which : [0, ...which.slice(-2)];
    boxes.slice(0, shown.length).forEach((box, k) => {
      if (!this.holds(box)) return;
      const [x, y, width, height] = box, high = height / count;
      ink.box(x - 3, y - 3, width + 6, height + 6, { fill: theme.background });
      ink.box(x - 1, y - 1, width + 1.3, height + 1.3, { fill: theme.grid });
      this.drawCells(box, read.stream[shown[k]], widths[shown[k]], most);
      ink.box(x - 2, y + chosen * high - 1.5, width + 3.5, high + 2.5, { stroke: theme.selection, border: 1.4 });
    });
    const { note, words } = sheet.sheet, last = boxes.at(-1);
    if (!note || !last) return;
    const [least, top] = [`${MINUS_SIGN}${shortText(most)}`, `+${shortText(most)}`];
    const wide = ink.measure(least, WORD_SIZE) + GREYS_WIDE + 10 + ink.measure(top, WORD_SIZE), [x, y] = sheet.at(note[0], note[1]);
    const room = sheet.size * note[2], places = [[last[0] + last[2] + 14, y]];
    if (ink.measure(words, WORD_SIZE) > room && wide <= room) places.push([x, y]);
    const at = places.find((place) => this.holds([place[0], place[1] - 12, wide, 14]));
    if (at) this.drawBar(...at, least, top, this.colours);
  }

  // The inner numbers of the chosen letter, each beside the row of weights that makes it.
  drawInner(room) {
    const { ink, theme, read, chosen } = this, [tensor, count] = read.told.hidden, plate = this.plate(tensor);
    if (!room || !plate || plate.cells[0] !== count) return;
    const wide = Math.min(12, room[2] - 4), [first, last] = [0, plate.cells[0] - 1].map((row) => this.edge(plate, row)[1]);
    const step = (last - first) / Math.max(count - 1, 1);
    const box = [room[0] + 0.5 * (room[2] - wide), first - 0.5 * step, wide, last - first + step];
    if (!this.holds(box)) return;
    ink.box(box[0] - 1, box[1] - 1, box[2] + 1.3, box[3] + 1.3, { fill: theme.grid });
    this.drawCells(box, read.inner.subarray(chosen * count, (chosen + 1) * count), 1, read.innerMost);
    const middle = room[0] + 0.5 * room[2];
    ink.text(middle, box[1] + box[3] + 14, "relu", WORD_SIZE, theme.text2, { end: "middle" });
    ink.text(middle, box[1] - 6, `\u2264${shortText(read.innerMost)}`, WORD_SIZE, theme.text2, { end: "middle" });
  }

  // ---- rows of plates

  // The main face of a row as four points, in order.
  rowCorners(plate, row) {
    const { origin, axes, half, depth, cells } = plate, camera = this.overlay.view.camera;
    const point = (x, y) => origin.map((from, k) => from + x * axes[0][k] + y * axes[1][k] + depth * axes[2][k]);
    const [left, right] = [-half, cells[1] - 1 + half];
    return [[left, row - half], [right, row - half], [right, row + half], [left, row + half]].map(([x, y]) => project(camera, point(x, y)).slice(0, 2));
  }

  // The middle of a row's right end.
  edge(plate, row) {
    const [, above, below] = this.rowCorners(plate, row);
    return [(above[0] + below[0]) / 2, (above[1] + below[1]) / 2];
  }

  drawFrame(plate, row) {
    if (!plate || !(row >= 0 && row < plate.cells[0])) return;
    const corners = this.rowCorners(plate, row), middle = [0, 1].map((k) => corners.reduce((sum, p) => sum + p[k], 0) / 4);
    const grown = corners.map((p) => [0, 1].map((k) => p[k] + 1.5 * Math.sign(p[k] - middle[k])));
    const low = [0, 1].map((k) => Math.min(...grown.map((p) => p[k]))), high = [0, 1].map((k) => Math.max(...grown.map((p) => p[k])));
    if (this.holds([...low, high[0] - low[0], high[1] - low[1]])) this.ink.path(grown, this.theme.selection, 1.8, { closed: true });
  }

  // The likeliest letters go on the rows of the head that say them.
  drawNext(room) {
    const { ink, theme, read, chosen } = this, plate = this.plate(read.told.uses.at(-1)), likely = read.likely[chosen];
    if (!room || !plate || plate.cells[0] !== likely.length || !this.holds(room)) return;
    const left = room[0] + 4, most = Math.max(room[2] - 40, 6), taken = [];
    const [top, bottom] = [0, plate.cells[0] - 1].map((row) => this.edge(plate, row)[1]);
    for (let y = top; y < bottom; y += 6) ink.path([[left, y], [left, Math.min(y + 3, bottom)]], theme.flow, 1.2);
    for (const number of likeliest(likely, 6)) {
      const share = likely[number], y = this.edge(plate, number)[1];
      if (share < 0.02 || taken.some((other) => Math.abs(y - other) < BARS_APART)) continue;
      taken.push(y);
      const bold = taken.length === 1, colour = bold ? theme.text1 : theme.text3, at = left + most * share + 5;
      ink.box(left, y - 3, Math.max(most * share, 2), 6, { fill: colour });
      const text = `${read.nameOf(number)} ${percentText(share)}`, fits = at + ink.measure(text, WORD_SIZE, bold) <= room[0] + room[2] + 22;
      ink.text(at, y + 5, fits ? text : read.nameOf(number), WORD_SIZE, colour, { bold });
    }
  }
}
