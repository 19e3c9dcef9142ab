// The legends of a comparison: one scale for the two, one for their difference.

import { Ink } from "./ink.js";
import { drawMarks, drawRowScale, drawScale, marksOn } from "./legend.js";
import { clippedShare } from "./ranges.js";

const FIRST_LINE = 2; // what lies above the bar

/** What a legend says of two pictures that share a range. */
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
    unknown: a.unknown && b.unknown, clippedShare: clippedShare(numbers, a.v, spans), far: a.far ?? b.far,
  };
}

/** A legend on a canvas of its own. */
export class ScaleBar {
  constructor(canvas, document) {
    this.canvas = canvas;
    this.ink = new Ink(canvas, document.words.advances);
  }

  /** Draw it anew. */
  draw(players, theme) {
    const [first, second] = players.map(one => one.shown);
    if (!this.canvas.clientWidth || !players.every(one => one.frame && one.tables)) return;
    const [wide, high] = this.ink.fit(theme);
    drawScale(this.ink, [0, FIRST_LINE, wide], second ? bothShown(first, second) : first, players[0].tables[0]);
    const marks = players.flatMap(one => marksOn(one.shown, one.cubes.detailed(one.view.camera, one.overlay.density)));
    drawMarks(this.ink, [0, high - 5, wide], [...new Set(marks)], first.document);
  }
}

/** A legend of rows of activations on a canvas of its own. */
export class RowScaleBar extends ScaleBar {
  /** @param {string} title what it is called */
  constructor(canvas, document, title) {
    super(canvas, document);
    this.title = title;
  }

  draw([{ frame, shown, tables }], theme) {
    if (!this.canvas.clientWidth || !frame || !tables) return;
    const [wide] = this.ink.fit(theme);
    drawRowScale(this.ink, [0, FIRST_LINE, wide], shown, tables[1], this.title, frame.rowMap ? "" : null);
  }
}
