// The time bar: the window's lists from view/page/bar.py, and what only a browser has: a pointer, a slider, a label.

import { Ink, element, typeScale } from "./ink.js";
import { inkOf } from "./inks.js";
import { changedList, paint } from "./list.js";
import { countText, lossText } from "./numbers.js";

const DIAMOND_RADIUS = 6;
const LABEL_SIZE = 13, LABEL_ROOM = 110, LABEL_APART = 48, HALF_LABEL = 4; // of the last step: its size, and pixels before the right end for it alone
const RING = 5, RING_REACH = [9, 14]; // radius of a ring, and pixels around its middle, across and down

/** Return the index of the nearest number in a rising list. */
export function nearestIn(sorted, number) {
  let low = 0, high = sorted.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < number) low = middle + 1;
    else high = middle;
  }
  return low > 0 && number - sorted[low - 1] <= sorted[low] - number ? low - 1 : low;
}

const limited = (number, low, high) => Math.min(Math.max(number, low), high);

// Return the place of a point of a list whose part from `low` to `high` is `more` pixels longer.
const stretched = (at, low, high, more) => at + more * (high > low ? limited((at - low) / (high - low), 0, 1) : Number(at >= high));

/** A time bar in its own element, which is a slider for screen readers. */
export class TimeBar {
  /**
   * `root` gets role slider, a canvas and a label. Edits and flags are steps with words; `go` is called with the frame
   * that the user asks for.
   */
  constructor(root, run, go) {
    Object.assign(this, { root, go, frame: 0, look: null, over: null, held: false, onRing: null, onLine: null, lines: [] });
    this.ink = new Ink(root.appendChild(document.createElement("canvas")), run.document.advances);
    this.label = root.appendChild(element("div", "label"));
    this.label.hidden = true;
    root.setAttribute("role", "slider");
    root.setAttribute("aria-label", "Time");
    root.tabIndex = 0;
    this.take(run);
    this.listen();
    new ResizeObserver(() => this.draw()).observe(root);
  }

  /** Set another run; the next `show` draws it. */
  take(run) {
    this.run = run;
    this.marks = [...run.edits, ...run.named];
    this.bars = run.bars.map(bar => ({ ...bar, layers: bar.layers.map(([name, since, lists]) => {
      let last = null;
      return [name, since, lists.map(changes => (last = changedList(last, changes)))];
    }) }));
    this.root.setAttribute("aria-valuemin", String(run.steps[0]));
    this.root.setAttribute("aria-valuemax", String(run.steps[run.steps.length - 1]));
  }

  show(frame, look) {
    this.frame = frame;
    this.look = look;
    const { steps } = this.run, last = steps[steps.length - 1];
    this.root.setAttribute("aria-valuenow", String(steps[frame]));
    this.root.setAttribute("aria-valuetext", `step ${countText(steps[frame])} of ${countText(last)}${this.lossWords(frame)}`);
    this.draw();
  }

  lossWords(frame) {
    const loss = this.run.loss[frame];
    return Number.isNaN(loss) ? "" : `, loss ${lossText(loss)}`;
  }

  // ---- places, in logical pixels

  /** Choose the largest bar that fits. */
  fit() {
    const type = typeScale(this.root), [wide, high] = this.size = [this.root.clientWidth / type, this.root.clientHeight / type];
    const bar = this.bar = this.bars.findLast(({ size }) => size[0] <= wide && size[1] <= high) ?? this.bars[0];
    this.more = bar && [wide - bar.size[0], high - bar.size[1]];
    this.ends = bar && this.endsOf(bar);
    return bar;
  }

  /** Return the place of a point of the list: computed steps and their losses press it together. */
  placeOf([x, y]) {
    const { scale: [first, last, left, right, knee], plot } = this.bar, [across, down] = this.more, losses = this.ends.slice(2);
    if (!this.pressed) return [stretched(x, left, right, across), stretched(y, ...plot, down)];
    const part = (x - left) / (right - left), span = last - first, step = first + (knee ? knee * Math.expm1(part * Math.log1p(span / knee)) : part * span);
    const below = x < left ? HALF_LABEL : 0, [low, high, log] = this.bar.losses ?? [], up = (plot[1] - y + below) / (plot[1] - plot[0]), inside = low !== undefined && up > 0 && up <= 1; // an area ends at 0
    const loss = log ? low * (high / low) ** up : low + up * (high - low);
    return [x < left || x > right ? x + across * (x > right) : this.placeOfStep(step), inside ? this.placeOfLoss(loss, losses) + below : stretched(y, ...plot, down)];
  }

  placeOfStep(step) {
    const [, , left, right, knee] = this.bar.scale, [first, last] = this.ends, span = last - first, done = limited(step - first, 0, span);
    const part = knee ? Math.log1p(done / knee) / Math.log1p(span / knee) : done / span;
    return left + part * (right + this.more[0] - left);
  }

  placeOfLoss(loss, [low, high] = this.ends.slice(2)) {
    const { plot: [top, bottom], losses: [, , log] } = this.bar, height = bottom + this.more[1] - top;
    const up = log ? Math.log(loss / low) / Math.log(high / low) : (loss - low) / (high - low);
    return top + height * (1 - limited(up, 0, 1));
  }

  /** The first and the last step, the least and the largest loss, with those that the page computed. */
  endsOf(bar) {
    const [first, last] = bar.scale, [low, high, log] = bar.losses ?? [0, 1, 0];
    const own = this.lines.flatMap(line => this.curveOf(line)).flatMap(([, one]) => (!log || one > 0 ? [one] : []));
    return [first, Math.max(last, ...this.lines.map(({ steps }) => steps.at(-1) ?? first)), Math.min(low, ...own), Math.max(high, ...own)];
  }

  /** Whether there are more steps, or other losses, than the bar was written for. */
  get pressed() {
    const [, last, low, high] = this.ends, { scale, losses } = this.bar;
    return last !== scale[1] || Boolean(losses && (low !== losses[0] || high !== losses[1]));
  }

  /** Return the losses of a line, each at the step of its weights, one earlier; the last at its end, if the bar's own has one there. */
  curveOf({ computed, loss, steps, trained }) {
    const ends = computed && this.bar.ending ? [[steps.at(-1), loss.at(-1)]] : [];
    return [...trained.map((lost, k) => [steps[steps.length - computed + k] - 1, lost]), ...ends].filter(([, lost]) => Number.isFinite(lost));
  }

  /** Return the place of the last step of a line, on its curve if there is one. */
  endOf(line) {
    const { computed, loss, steps } = line, lost = computed ? this.curveOf(line).at(-1)?.[1] : loss.at(-1), { losses, rail, plot } = this.bar, foot = stretched(rail[0], plot[1], plot[1], this.more[1]);
    return [this.placeOfStep(steps.at(-1)), losses && Number.isFinite(lost) ? this.placeOfLoss(lost) : foot];
  }

  /** Return the line, not the shown one, whose end is at a place. */
  lineAt(at) {
    return this.lines.find(run => run !== this.run && this.endOf(run).every((middle, k) => Math.abs(at[k] - middle) <= RING_REACH[k]));
  }

  /** Return the frame at a place; marks attract clicks beside them. */
  frameAt(x) {
    const { steps } = this.run, away = (step) => Math.abs(this.placeOfStep(step) - x);
    const [mark] = this.marks.map(([step]) => step).filter(step => away(step) <= DIAMOND_RADIUS).sort((a, b) => away(a) - away(b));
    return mark === undefined ? nearestIn(steps.map(step => this.placeOfStep(step)), x) : nearestIn(steps, mark);
  }

  /** Return the ring of another branch at a place, if branches can be chosen. */
  ringAt(at) {
    return this.onRing && this.bar.spots.find(([x, y, wide, high]) =>
      this.placeOf([x + wide / 2, y + high / 2]).every((middle, k) => Math.abs(at[k] - middle) <= RING_REACH[k]));
  }

  // ---- pointer

  listen() {
    const root = this.root, at = ({ clientX, clientY }) => {
      const { left, top } = root.getBoundingClientRect();
      return [clientX - left, clientY - top].map(place => place / typeScale(root));
    };
    root.addEventListener("pointerdown", event => {
      if (event.button !== 0 || !this.bar) return;
      const ring = this.ringAt(at(event)), line = this.lineAt(at(event));
      if (line) return this.onLine(line);
      if (ring) return this.onRing(ring[4]);
      this.held = true;
      root.setPointerCapture(event.pointerId);
      this.go(this.frameAt(at(event)[0]));
    });
    root.addEventListener("pointermove", event => {
      this.over = at(event);
      if (this.held) this.go(this.frameAt(this.over[0]));
      this.say();
    });
    for (const name of ["pointerup", "pointercancel"]) root.addEventListener(name, () => (this.held = false));
    root.addEventListener("pointerleave", () => {
      this.over = null;
      this.say();
    });
  }

  /** Show the label beside the pointer: step, loss, edits; or another branch. */
  say() {
    this.label.hidden = this.over === null || !this.bar;
    if (this.label.hidden) return;
    const frame = this.frameAt(this.over[0]), ring = !this.held && this.ringAt(this.over), line = !this.held && this.lineAt(this.over);
    const words = this.marks.filter(([step]) => nearestIn(this.run.steps, step) === frame).map(([, text]) => text);
    const lines = [`step ${countText(this.run.steps[frame])}${this.lossWords(frame)}`, ...words.slice(-6)];
    const other = line && `${line.computed ? "another line of this page" : "the recording"}\nup to step ${countText(line.steps.at(-1))}`;
    this.label.textContent = other || (ring ? ring[5] : lines.join("\n"));
    const wide = this.label.offsetWidth, room = this.root.clientWidth;
    this.label.style.left = `${limited(this.over[0] * typeScale(this.root) - wide / 2, 0, room - wide)}px`;
  }

  // ---- drawing

  draw() {
    if (!this.look || !this.root.clientWidth || !this.fit()) return;
    const { ink, bar, run, size: [wide, high], more: [across, down] } = this, step = run.steps[this.frame], here = this.placeOfStep(step);
    const fork = run.computed ? run.steps[run.frames - run.computed - 1] ?? -Infinity : step; // where a line leaves the recording
    const known = Math.min(here, this.placeOfStep(fork));
    ink.fit(this.look);
    this.labelled = this.risen = -Infinity; // the places of the last label below, and of the last one aside
    for (const [name, since, lists] of bar.layers) {
      const foot = bar.plot[1];
      let list = lists[Math.max(since.findLastIndex(from => from <= step), 0)];
      let move = point => this.placeOf(point);
      if (name === "cursor") move = ([x, y]) => [here + x, stretched(y, foot, foot, down)];
      if (name === "flag") {
        const more = Math.max(0, ink.measure(countText(step), LABEL_SIZE, true) + 2 * HALF_LABEL - (list[0]?.[3] ?? 0)); // of a longer number
        list = list.map(one => (one[0] === "rect" ? one.with(1, one[1] - more / 2).with(3, one[3] + more) : one));
        const half = (list[0]?.[3] ?? 0) / 2, middle = limited(here, bar.flag[0] + half, bar.flag[1] + across - half);
        move = ([x, y]) => [middle + x, y];
      }
      if (name === "cursor") this.drawLines(ink, here);
      const part = { before: [0, known], after: [known, wide] }[name] ?? [0, wide];
      ink.within(part[0], 0, part[1] - part[0], high, () => {
        ink.moment = { textOf: () => countText(step), inkOf: colour => colour }; // the only number is the step
        for (const record of list) if (!this.pressed || ["cursor", "flag"].includes(name) || !this.hides(record)) paint(ink, record, move);
      });
    }
  }

  /** Return whether a text stands where computed steps are, or too near the one before it: the last loss of the recording, labels. */
  hides([kind, x, y]) {
    const { scale: [, , left, right], rail: [, baseline], size: [wide] } = this.bar;
    if (!["text", "number"].includes(kind)) return false;
    if (x > right) return true;
    if (x < left) {
      const [, down] = this.placeOf([x, y]), hidden = Math.abs(down - this.risen) < LABEL_SIZE;
      if (!hidden) this.risen = down;
      return hidden;
    }
    const [place] = this.placeOf([x, y]), label = y >= baseline - 1;
    if (!label || (place <= wide + this.more[0] - LABEL_ROOM && place >= this.labelled + LABEL_APART)) {
      if (label) this.labelled = place;
      return false;
    }
    return true;
  }

  // Draw what the page computed: the other lines with a ring at their end, then the shown one.
  drawLines(ink, here) {
    const { run, bar: { rail, plot }, pressed } = this, end = this.lines.reduce((last, { steps }) => Math.max(last, steps.at(-1) ?? 0), 0);
    for (const other of this.lines) {
      if (other === run) continue;
      if (other.computed) this.drawLine(ink, other, this.look.text3, 1.5, 0, this.size[0]);
      for (const [radius, colour] of [[RING, "text2"], [RING - 2, "panel"]]) ink.disc(...this.endOf(other), radius, this.look[colour]);
    }
    if (run.computed) for (const [from, to, colour] of [[0, here, "text1"], [here, this.size[0], "flow"]]) this.drawLine(ink, run, this.look[colour], 2, from, to);
    const aside = ink.measure(countText(end), LABEL_SIZE) / 2;
    if (pressed) ink.text(Math.min(this.placeOfStep(end), this.size[0] - aside), stretched(rail[1], plot[1], plot[1], this.more[1]), countText(end), LABEL_SIZE, this.look.text3, { end: "middle" });
  }

  // Draw rail and losses of what a line computed, between two places.
  drawLine(ink, line, colour, width, from, to) {
    const { bar: { rail: [rail], losses, plot, layers }, more: [, down], run } = this, { computed, frames, steps } = line, first = Math.max(frames - computed - 1, 0);
    const along = steps.slice(first).map(step => this.placeOfStep(step)); // from the last recorded frame on, if there is any
    const path = losses ? this.curveOf(line).map(([step, lost]) => [this.placeOfStep(step), this.placeOfLoss(lost)]) : [];
    const foot = plot[1] + down, railed = stretched(rail, plot[1], plot[1], down), own = run.steps === steps;
    const area = layers.find(([name]) => name === (from ? "after" : "before"))[2].at(-1).find(([kind]) => kind === "area")?.[3];
    ink.within(from, 0, to - from, this.size[1], () => {
      if (own && path.length && area) ink.shape([[path[0][0], foot], ...path, [path.at(-1)[0], foot]], inkOf(this.look, area));
      if (own) ink.path([[along[0], railed], [along.at(-1), railed]], colour, 4);
      if (path.length > 1) ink.path(path, colour, width);
    });
  }
}
