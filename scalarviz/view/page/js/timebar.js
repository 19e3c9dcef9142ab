// The time bar: the window's lists from view/page/bar.py, and what only a browser has: a pointer, a slider, a label.

import { Ink, element, typeScale } from "./ink.js";
import { inkOf } from "./inks.js";
import { changedList, paint } from "./list.js";
import { countText, lossText } from "./numbers.js";

const DIAMOND_RADIUS = 6;
const LABEL_SIZE = 13, LABEL_ROOM = 110; // of the last step: its size, and pixels before the right end for it alone
const RING_REACH = [9, 14]; // pixels around the middle of a ring, across and down

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
    Object.assign(this, { root, go, frame: 0, look: null, over: null, held: false, onRing: null });
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
    const { scale: [first, last, left, right, knee], plot } = this.bar, [across, down] = this.more, [, most, ...losses] = this.ends;
    if (most === last) return [stretched(x, left, right, across), stretched(y, ...plot, down)];
    const part = (x - left) / (right - left), span = last - first, step = first + (knee ? knee * Math.expm1(part * Math.log1p(span / knee)) : part * span);
    const [low, high, log] = this.bar.losses ?? [], up = (plot[1] - y) / (plot[1] - plot[0]), inside = low !== undefined && up > 0 && up <= 1; // an area ends at 0
    const loss = log ? low * (high / low) ** up : low + up * (high - low);
    return [x < left || x > right ? x + across * (x > right) : this.placeOfStep(step), inside ? this.placeOfLoss(loss, losses) : stretched(y, ...plot, down)];
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
    const { computed, frames, steps, trained } = this.run, [first, last] = bar.scale, [low, high, log] = bar.losses ?? [0, 1, 0];
    if (!computed) return [first, last, low, high];
    const own = trained.filter(one => Number.isFinite(one) && (!log || one > 0));
    return [first, Math.max(last, steps[frames - 1]), Math.min(low, ...own), Math.max(high, ...own)];
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
      const ring = this.ringAt(at(event));
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
    const frame = this.frameAt(this.over[0]), ring = !this.held && this.ringAt(this.over);
    const words = this.marks.filter(([step]) => nearestIn(this.run.steps, step) === frame).map(([, text]) => text);
    const lines = [`step ${countText(this.run.steps[frame])}${this.lossWords(frame)}`, ...words.slice(-6)];
    this.label.textContent = ring ? ring[5] : lines.join("\n");
    const wide = this.label.offsetWidth, room = this.root.clientWidth;
    this.label.style.left = `${limited(this.over[0] * typeScale(this.root) - wide / 2, 0, room - wide)}px`;
  }

  // ---- drawing

  draw() {
    if (!this.look || !this.root.clientWidth || !this.fit()) return;
    const { ink, bar, size: [wide, high], more: [across, down] } = this, step = this.run.steps[this.frame], here = this.placeOfStep(step);
    ink.fit(this.look);
    for (const [name, since, lists] of bar.layers) {
      const list = lists[Math.max(since.findLastIndex(from => from <= step), 0)], foot = bar.plot[1];
      let move = point => this.placeOf(point);
      if (name === "cursor") move = ([x, y]) => [here + x, stretched(y, foot, foot, down)];
      if (name === "flag") {
        const half = (list[0]?.[3] ?? 0) / 2, middle = limited(here, bar.flag[0] + half, bar.flag[1] + across - half);
        move = ([x, y]) => [middle + x, y];
      }
      if (name === "cursor" && this.run.computed) this.drawComputed(ink, here);
      const part = { before: [0, here], after: [here, wide] }[name] ?? [0, wide];
      ink.within(part[0], 0, part[1] - part[0], high, () => {
        ink.moment = { textOf: () => countText(step), inkOf: colour => colour }; // the only number is the step
        for (const record of list) if (!this.run.computed || !this.hides(record)) paint(ink, record, move);
      });
    }
  }

  /** Return whether a text stands where computed steps are: the last loss of the recording, the last labels. */
  hides([kind, x, y]) {
    const { scale: [, , left, right], rail: [, baseline], size: [wide] } = this.bar;
    if (!["text", "number"].includes(kind) || x < left) return false;
    return x > right || (y >= baseline - 1 && this.placeOf([x, y])[0] > wide + this.more[0] - LABEL_ROOM);
  }

  // Draw rail and losses of the computed steps up to the last, and its label.
  drawComputed(ink, here) {
    const { run: { computed, frames, steps, trained }, bar: { rail, losses, plot } } = this, first = frames - computed - 1;
    const [line, label] = rail.map(y => stretched(y, plot[1], plot[1], this.more[1])), colour = name => this.look[name];
    const along = steps.slice(first).map(step => this.placeOfStep(step)), end = along.at(-1);
    const path = along.flatMap((x, k) => (losses && k && Number.isFinite(trained[k - 1]) ? [[x, this.placeOfLoss(trained[k - 1])]] : []));
    const foot = plot[1] + this.more[1], areaOf = part => this.bar.layers.find(([name]) => name === part)[2].at(-1).find(([kind]) => kind === "area")?.[3];
    for (const [name, from, to, own] of [["before", 0, here, colour("text1")], ["after", here, this.size[0], colour("flow")]]) {
      ink.within(from, 0, to - from, this.size[1], () => {
        if (path.length && areaOf(name)) ink.shape([[path[0][0], foot], ...path, [path.at(-1)[0], foot]], inkOf(this.look, areaOf(name)));
        ink.path([[along[0], line], [end, line]], own, 4);
        if (path.length > 1) ink.path(path, own, 2);
      });
    }
    ink.text(end, label, countText(steps[frames - 1]), LABEL_SIZE, colour("text3"), { end: "middle" });
  }
}
