// Titles, names and wires of a planned picture, where its blueprint says; as view/notes/labels.py.

import { rangeText } from "./labels.js";
import { countText } from "./numbers.js";

const OFF = 0.75; // pixels by which a point may stand elsewhere and still be where the plan says
const LEAST_SIZE = 0.97; // of the fitted size: words keep theirs, and would touch in a smaller picture
const PLUS_RADIUS = 8;

/** The flat part of a planned picture as one camera shows it. */
export class PlanLabels {
  /**
   * @param {object} document of `document_of`, whose `words.plan` is there
   * @param {(xyz: number[]) => number[]} project world points to logical pixels
   * @param {number[]} box what would leave it is left out
   * @param {(text: string, size: number, bold?: boolean) => number} measure
   */
  constructor(document, project, box, measure) {
    this.sheet = document.words.plan;
    this.box = box;
    this.measure = measure;
    const { anchors, places } = this.sheet;
    const there = anchors.map(project);
    const away = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1]);
    this.size = away(there[1], there[0]) / away(places[1], places[0]);
    this.shift = [0, 1].map((k) => there[0][k] - this.size * places[0][k]);
    const off = Math.max(...places.flatMap((p, n) => [0, 1].map((k) => Math.abs(this.size * p[k] + this.shift[k] - there[n][k]))));
    /** Whether the camera looks from where the plan was made for: else its words would lie wrongly. */
    this.seen = this.size >= LEAST_SIZE && off <= OFF * Math.max(this.size, 1);
  }

  /** Where a point of the plan stands in this picture. */
  at(x, y) {
    return [this.size * x + this.shift[0], this.size * y + this.shift[1]];
  }

  /** The same of a box. */
  boxAt([x, y, width, height]) {
    return [...this.at(x, y), this.size * width, this.size * height];
  }

  #inside(x, y, width, height) {
    const [left, top, wide, high] = this.box;
    return left <= x && top <= y && x + width <= left + wide && y + height <= top + high;
  }

  /** Write it; `extents` are the ranges of tensors by name, after `bound`. */
  draw(ink, extents, bound) {
    const { theme } = ink;
    for (const { points, arrow } of this.sheet.wires) {
      const way = points.map(([x, y]) => this.at(x, y));
      if (arrow) {
        if (way.length > 2) ink.path(way.slice(0, -1), theme.flow, 1.4);
        ink.arrow(way.at(-2), way.at(-1), theme.flow, 1.4, 7);
      } else ink.path(way, theme.flow, 1.4);
    }
    for (const plus of this.sheet.pluses) this.#drawPlus(ink, this.at(...plus));
    for (const head of this.sheet.headings) this.#drawHeading(ink, head);
    const { note, words } = this.sheet;
    if (note) {
      const [x, y] = this.at(note[0], note[1]);
      const wide = this.measure(words, 13);
      if (wide <= this.size * note[2] && this.#inside(x, y - 12, this.size * note[2], 14)) ink.text(x, y, words, 13, theme.text3);
    }
    for (const caption of this.sheet.captions) this.#drawCaption(ink, caption, extents, bound);
  }

  #drawPlus(ink, [x, y]) {
    const { theme } = ink;
    if (!this.#inside(x - PLUS_RADIUS, y - PLUS_RADIUS, 2 * PLUS_RADIUS, 2 * PLUS_RADIUS)) return;
    ink.disc(x, y, PLUS_RADIUS, theme.text2);
    ink.disc(x, y, PLUS_RADIUS - 1.4, theme.background);
    ink.path([[x - 4, y], [x + 4, y]], theme.text1, 1.4);
    ink.path([[x, y - 4], [x, y + 4]], theme.text1, 1.4);
  }

  #drawHeading(ink, { text, count, x: left, y: top, width: wide }) {
    const { theme } = ink;
    const [x, y] = this.at(left, top);
    const width = this.size * wide;
    if (!this.#inside(x, y - 20, width, 24)) return;
    const [own, number] = [this.measure(text, 15, true), countText(count)];
    ink.text(x, y - 6, text, 15, theme.text1, { bold: true });
    if (own + 8 + this.measure(number, 15) <= width + 30) ink.text(x + own + 8, y - 6, number, 15, theme.text3);
    ink.path([[x, y], [x + width, y]], theme.flow, 1);
  }

  #drawCaption(ink, { tensor, title, shape, x: left, y: top, width: wide }, extents, bound) {
    const { theme } = ink;
    const [x, y] = this.at(left, top);
    const width = this.size * wide;
    if (!this.#inside(x, y, width, 36)) return;
    ink.text(x, y + 17, title, 15, theme.text1, { bold: true });
    const span = extents[tensor] === undefined ? "" : ` ${rangeText(extents[tensor], bound)}`;
    const line = [shape + span, shape].find((text) => this.measure(text, 13) <= width) ?? "";
    ink.text(x, y + 33, line, 13, theme.text2);
  }
}
