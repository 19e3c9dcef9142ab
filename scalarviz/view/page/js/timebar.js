// The time bar: losses over the recorded steps, edits and flags as marks, and a cursor; like the window's in view/screen/.

import { Ink, element, typeScale } from "./ink.js";
import { countText, lossText } from "./numbers.js";

export function placeOn(axis, number) {
  if (axis.log) return Math.log(Math.max(number, 1e-300) / axis.low) / Math.log(axis.high / axis.low);
  return (number - axis.low) / (axis.high - axis.low);
}

/** Return points of a curve, at most one a pixel; several in one pixel give their mean. Both ends are exact. */
export function thinned(places, numbers) {
  const points = [];
  let column = NaN, sum = 0, count = 0, place = 0;
  const finish = () => count && points.push([place, sum / count]);
  for (let k = 0; k < places.length; k++) {
    if (!Number.isFinite(numbers[k])) continue;
    const here = Math.floor(places[k]);
    if (here !== column) {
      finish();
      column = here;
      sum = count = 0;
    }
    sum += numbers[k];
    count += 1;
    place = places[k];
  }
  finish();
  const first = places.findIndex((_, k) => Number.isFinite(numbers[k]));
  if (points.length) points[0] = [places[first], numbers[first]];
  return points;
}

/** Cut a curve at a place; both parts contain the point there. */
export function cutAt(points, place) {
  const after = points.findIndex(point => point[0] > place);
  if (after === -1) return [points, []];
  if (after === 0) return [[], points];
  const [x, y] = points[after - 1], [right, end] = points[after];
  const between = [place, y + (end - y) * (place - x) / (right - x)];
  return [[...points.slice(0, after), between], [between, ...points.slice(after)]];
}

/** Return a share of one colour (#rrggbb) over another, opaque, mixed as in the window. */
export function mixedColour(over, ground, share) {
  const part = (colour, k) => parseInt(colour.slice(1 + 2 * k, 3 + 2 * k), 16);
  return `rgb(${[0, 1, 2].map(k => Math.round(share * part(over, k) + (1 - share) * part(ground, k)))})`;
}

const LONG_RUN = 20000;   // steps from which the bar is logarithmic: the first hundred would be one pixel
const FIRST_STEPS = 10;   // steps of equal width on a logarithmic bar
const DIAMOND_RADIUS = 6;
const BADGE_FOOT = 24;    // pixels down to the lower edge of the step's flag

/** The scale of steps: maps steps to pixels and back. */
export class StepScale {
  constructor(first, last, left, right) {
    Object.assign(this, { first, last: Math.max(last, first + 1), left, right });
    this.log = this.last - first >= LONG_RUN;
  }

  at(step) {
    const span = this.last - this.first, done = Math.min(Math.max(step - this.first, 0), span);
    const part = this.log ? Math.log1p(done / FIRST_STEPS) / Math.log1p(span / FIRST_STEPS) : done / span;
    return this.left + part * (this.right - this.left);
  }

  step(x) {
    const part = Math.min(Math.max((x - this.left) / (this.right - this.left), 0), 1), span = this.last - this.first;
    const done = this.log ? FIRST_STEPS * Math.expm1(part * Math.log1p(span / FIRST_STEPS)) : part * span;
    return this.first + Math.min(Math.round(done), span);
  }

  /** Return the labelled steps below the rail, at least this many pixels apart: the ends, and round ones between. */
  ticks(pitch = 90) {
    const inner = [], span = this.last - this.first;
    if (this.log) {
      for (let size = 10; size < span; size *= 10) inner.push(this.first + size);
    } else {
      const least = Math.max(span * pitch / Math.max(this.right - this.left, 1), 1);
      const size = 10 ** Math.floor(Math.log10(least));
      const every = [1, 2, 5, 10].map(k => size * k).find(k => k >= least);
      for (let step = (Math.floor(this.first / every) + 1) * every; step < this.last; step += every) inner.push(step);
    }
    return [this.first, ...inner, this.last];
  }
}

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

/** A time bar in its own element, which is a slider for screen readers. */
export class TimeBar {
  /**
   * `root` gets role slider, a canvas and a label. Edits and flags are steps with words, `left` are other branches;
   * `go` is called with the frame that the user asks for.
   */
  constructor(root, run, go) {
    Object.assign(this, { root, go, frame: 0, look: null, over: null, held: false });
    this.ink = new Ink(root.appendChild(document.createElement("canvas")));
    this.label = root.appendChild(element("div", "label"));
    this.label.hidden = true;
    root.setAttribute("role", "slider");
    root.setAttribute("aria-label", "Time");
    root.tabIndex = 0;
    this.take(run);
    this.listen();
    new ResizeObserver(() => this.draw()).observe(root);
  }

  /** Set other steps, or more of them; the next `show` draws them. */
  take(run) {
    this.run = run;
    this.last = Math.max(run.steps[run.steps.length - 1], ...run.left.map(branch => branch.steps[branch.steps.length - 1]));
    this.marks = marksOf(run);
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

  /** Return the frame at a place in logical pixels; marks attract clicks beside them. */
  frameAt(x) {
    const near = this.marks.map(mark => [Math.abs(this.scale.at(mark.step) - x), mark.step]).filter(m => m[0] <= DIAMOND_RADIUS);
    const step = near.length ? near.sort((a, b) => a[0] - b[0])[0][1] : this.scale.step(x);
    return nearestIn(this.run.steps, step);
  }

  /** Return the mark of a branch near a place in logical pixels, if branches can be chosen. */
  ringAt(x, y) {
    if (!this.onRing || !this.scale || Math.abs(y - (this.root.clientHeight / typeScale(this.root) - 26)) > 14) return null;
    return this.marks.find(mark => mark.kind === "ring" && Math.abs(this.scale.at(mark.step) - x) <= DIAMOND_RADIUS + 3) ?? null;
  }

  listen() {
    const root = this.root, x = event => (event.clientX - root.getBoundingClientRect().left) / typeScale(root);
    root.addEventListener("pointerdown", event => {
      if (event.button !== 0) return;
      const ring = this.ringAt(x(event), (event.clientY - root.getBoundingClientRect().top) / typeScale(root));
      if (ring) return this.onRing(ring.branch);
      this.held = true;
      root.setPointerCapture(event.pointerId);
      this.go(this.frameAt(x(event)));
    });
    root.addEventListener("pointermove", event => {
      this.over = x(event);
      if (this.held) this.go(this.frameAt(this.over));
      this.say();
    });
    for (const name of ["pointerup", "pointercancel"]) root.addEventListener(name, () => (this.held = false));
    root.addEventListener("pointerleave", () => {
      this.over = null;
      this.say();
    });
  }

  /** Show the label beside the pointer: step, loss, edits. */
  say() {
    this.label.hidden = this.over === null || !this.scale;
    if (this.label.hidden) return;
    const frame = this.frameAt(this.over), step = this.run.steps[frame];
    const words = this.marks.filter(mark => nearestIn(this.run.steps, mark.step) === frame).flatMap(mark => mark.words);
    const first = `step ${countText(step)}${this.lossWords(frame)}`;
    this.label.textContent = [first, ...words.slice(-6)].join("\n");
    const wide = this.label.offsetWidth, room = this.root.clientWidth;
    this.label.style.left = `${Math.min(Math.max(this.over * typeScale(this.root) - wide / 2, 0), room - wide)}px`;
  }

  draw() {
    if (!this.look || !this.root.clientWidth) return;
    const { ink, look, run: { steps } } = this, [wide, high] = ink.fit(look);
    const small = wide < 480, left = small ? 50 : 58, right = wide - (small ? 16 : 70), rail = high - 26;
    this.scale = new StepScale(steps[0], this.last, left, right);
    const plot = { top: 12, bottom: rail - 11 }, limits = [left - 6, right + (small ? 12 : 54)];
    const cursor = this.scale.at(steps[this.frame]);
    if (this.run.axis) this.drawLosses(plot, cursor, small || high < 80);
    for (const [end, colour] of [[this.scale.at(steps.at(-1)), look.flow], [cursor, look.text1]]) ink.path([[left, rail], [end, rail]], colour, 4);
    for (const mark of this.marks) drawMark(ink, mark, this.scale.at(mark.step), rail, cursor);
    this.drawLabels(high - 7, limits);
    this.drawCursor(cursor, rail, limits);
  }

  drawLosses(plot, cursor, small) {
    const { ink, look, run, scale } = this, { axis } = run, height = plot.bottom - plot.top;
    const y = loss => plot.bottom - height * Math.min(Math.max(placeOn(axis, loss), 0), 1);
    let free = plot.bottom + 13;
    for (const [tick, text] of axis.ticks) {
      const at = y(tick);
      if (at > free - 15) continue;
      ink.text(scale.left - 8, Math.min(at + 4, plot.bottom), text, 13, look.text3, { end: "right" });
      free = at;
    }
    const points = thinned(run.steps.map(step => scale.at(step)), run.loss).map(([x, loss]) => [x, y(loss)]);
    const [before, after] = cutAt(points, cursor);
    for (const [part, share] of [[after, 0.11], [before, 0.3]]) {
      if (part.length > 1) ink.shape([[part[0][0], plot.bottom], ...part, [part.at(-1)[0], plot.bottom]], mixedColour(look.text3, look.panel, share));
    }
    for (const branch of run.left) {
      const way = thinned(branch.steps.map(step => scale.at(step)), branch.loss);
      ink.path(way.map(([x, loss]) => [x, y(loss)]), look.text3, 1.6, { dash: [6, 4] });
    }
    if (!points.length) return;
    ink.path(after, look.text3, 1.4);
    ink.path(before, look.text1, 2);
    const last = run.loss.at(-1), end = points.at(-1);
    if (small || !Number.isFinite(last) || end[0] < scale.right - 4) return;   // a branch continues there
    ink.text(end[0] + 8, Math.min(Math.max(end[1] + 4, BADGE_FOOT + 13), plot.bottom), lossText(last), 13, look.text2);
  }

  drawLabels(baseline, limits) {
    const { ink, look } = this, cursor = this.run.steps[this.frame], ticks = this.scale.ticks();
    const near = this.marks.filter(mark => mark.kind !== "ring").sort((a, b) => Math.abs(a.step - cursor) - Math.abs(b.step - cursor)).slice(0, 6);
    const wanted = near.map(mark => ({ x: this.scale.at(mark.step), text: shortened(ink, mark), mark: true }));
    for (const step of [ticks[0], ticks[ticks.length - 1], ...ticks.slice(1, -1)]) {
      wanted.push({ x: this.scale.at(step), text: countText(step), mark: false });
    }
    const kept = [];
    for (const label of wanted) {
      const half = ink.measure(label.text, 13) / 2;
      const x = Math.min(Math.max(label.x, limits[0] + half), limits[1] - half);
      if (kept.some(other => Math.abs(x - other.x) < half + other.half + 10)) continue;
      kept.push({ x, half });
      ink.text(x, baseline, label.text, 13, label.mark ? look.text1 : look.text3, { end: "middle" });
    }
  }

  drawCursor(x, rail, [least, most]) {
    const { ink, look } = this, text = countText(this.run.steps[this.frame]);
    ink.path([[x, 15], [x, rail]], look.text1, 1.6);
    ink.disc(x, rail, 8.2, look.panel);
    ink.disc(x, rail, 6.8, look.text1);
    const wide = ink.measure(text, 13, true) + 16, left = Math.min(Math.max(x - wide / 2, least + 4), most - wide);
    ink.box(left, 5, wide, 19, { fill: look.text1, radius: 4 });
    ink.text(left + wide / 2, 19, text, 13, look.background, { bold: true, end: "middle" });
  }
}

/** Return edits (those after one step joined) and flags, by step. */
function marksOf(run) {
  const found = new Map();
  for (const { from, number, why } of run.left) {
    if (from !== undefined) found.set(`ring ${number}`, { kind: "ring", step: from, branch: number, words: [why ? `branch: ${why}` : "previous branch"] });
  }
  for (const [kind, list] of [["edit", run.edits], ["flag", run.named]]) {
    for (const [step, words] of list) {
      const key = `${kind} ${step}`;
      if (!found.has(key)) found.set(key, { kind, step, words: [] });
      found.get(key).words.push(words);
    }
  }
  return [...found.values()].sort((a, b) => a.step - b.step);
}

function shortened(ink, mark) {
  let text = mark.words[mark.words.length - 1];
  if (ink.measure(text, 13) > 170) {
    while (text && ink.measure(`${text}\u2026`, 13) > 170) text = text.slice(0, -1);
    text += "\u2026";
  }
  return mark.words.length > 1 ? `${text}, ${mark.words.length - 1} more` : text;
}

function drawMark(ink, mark, x, rail, cursor) {
  const { theme } = ink, colour = x <= cursor + 0.5 ? theme.text1 : theme.text3, side = DIAMOND_RADIUS + 3.8;
  if (mark.kind === "flag") {
    ink.path([[x, rail], [x, rail - 17]], colour, 1.6);
    ink.shape([[x, rail - 18], [x + 10, rail - 14], [x, rail - 10]], colour);
  } else if (mark.kind === "ring") ink.box(x - side, rail - side, 2 * side, 2 * side, { stroke: colour, border: 1.6, radius: side });
  else {
    for (const [radius, fill] of [[DIAMOND_RADIUS + 1.6, colour], [DIAMOND_RADIUS - 0.8, theme.panel]]) {
      ink.shape([[x, rail - radius], [x + radius, rail], [x, rail + radius], [x - radius, rail]], fill);
    }
  }
}
