// A page that trains: from any frame a worker goes on, with the engine that Python printed. What it computes is another
// line of the run; the recording stays.

import { Address, putAddress } from "./address.js";
import { Changes } from "./changes.js";
import { engineOf, readTraining } from "./engine.js";
import { element } from "./ink.js";
import { dataOf, layersShown } from "./layers.js";
import { Line, Recording } from "./line.js";
import { countText } from "./numbers.js";
import { pageExtras, part } from "./page.js";
import { Drops, MOST_ADDED, fitsSample } from "./samples.js";
import { keepPainted } from "./slots.js";
import { rowOf } from "./unpack.js";

const MOST_LINES = 12; // the oldest goes
const SLOW_MS = 500; // of a long way, which the page then says
const FRAME_MS = 12; // of training for one frame, so that the page keeps its frames
const LOOK_MS = 300; // between two moments of panels while a recording plays, for the same reason
const notNegative = value => Number.isFinite(value) && value >= 0;
const FITS = { // whether a page can take a value; elsewhere any finite number
  lr: notNegative,
  batch: value => Number.isSafeInteger(value) && value > 0,
  rule: (value, told) => value in told.rules,
  bend: (value, told) => value in told.bends,
  l1: notNegative,
  l2: notNegative,
  picture: value => value instanceof Float32Array, // never of an address
  add: (value, told, samples) => samples < told.settings.samples + MOST_ADDED && fitsSample(value, told),
};

export class TrainOn {
  constructor(page) {
    this.told = dataOf("training", JSON.parse(part("training").textContent));
    Object.assign(this, { page, base: page.run, engine: null, running: false, waiting: false, lines: [], wish: null, stands: null, due: 0, clock: 0, made: 0, looking: false, looked: -Infinity, changing: null });
    this.recording = new Recording(this.base, this.told);
    page.training = this;
    this.button = part("buttons").appendChild(element("button", "train", "train on"));
    this.button.addEventListener("click", () => this.toggle());
    this.changes = new Changes(this);
    this.drops = new Drops(this);
    this.address = new Address(this);
    page.bar.onLine = run => this.address.cancel() || this.pause() || page.take(run);
  }

  /** The line that the page shows; null: a recorded one. */
  get line() {
    return this.page.run.line;
  }

  /** The rate of the step after the shown frame. */
  get rate() {
    const { line, recording, base, told, page: { run, frame } } = this, [[, [rate]]] = (line ?? recording).pace(run.steps[frame], frame);
    return line || run === base ? rate : told.rates[0];
  }

  /** Whether the page shows the last frame of a run that can go on. */
  get atEnd() {
    const { page } = this;
    return !page.walk && page.frame === page.run.frames - 1 && (page.run === this.base || this.line !== null);
  }

  /** Whether training can go on from the shown frame: the page has the state of the training there, or can repeat the way to it. */
  get possible() {
    const { page, line, base, told } = this;
    return !page.walk && (line !== null || (page.run === base && page.frame >= told.keys[0].frame));
  }

  /** Pause, or train on from the last frame; false elsewhere, where time plays. */
  toggles() {
    if (!this.running && !this.atEnd) return false;
    this.toggle();
    return true;
  }

  toggle() {
    this.address.cancel();
    if (this.running) return this.pause();
    const { page } = this;
    page.stop();
    if (!this.possible) return (part("about").textContent = "the branch on which the page opened trains on");
    Object.assign(this, { running: true, clock: performance.now() });
    this.begin(1);
    this.write();
    return requestAnimationFrame(() => this.tick());
  }

  pause() {
    this.running = false;
    this.write();
    this.address.tell();
  }

  /** Do some steps, and show the last one. */
  async one(by) {
    this.address.cancel();
    this.running = false;
    await this.changing;
    await this.begin(by, Infinity);
    this.address.tell();
  }

  // Ask for the steps that are due at this speed.
  tick() {
    if (this.running && !this.waiting && !this.atEnd) this.pause(); // somebody looks at an earlier step
    if (!this.running) return;
    const now = performance.now();
    this.due = Math.min(this.due + (Math.min(now - this.clock, 250) * this.page.speed * this.told.every) / 1000, 1e6);
    this.clock = now;
    if (this.due >= 1 && !this.waiting) {
      this.begin(Math.floor(this.due)).catch(error => {
        this.running = false;
        refuse(error);
      });
    }
    requestAnimationFrame(() => this.tick());
  }

  // ---- lines

  /** Return the line that goes on from the shown frame: the one that ends there, or a new one. */
  lineHere() {
    const { page, line } = this, { run, frame } = page;
    if (line && frame === run.frames - 1) return line;
    return this.add(Line.from(this.recording, run, frame, line));
  }

  // Keep a new line.
  add(line) {
    this.lines.push(line);
    if (this.lines.length > MOST_LINES) this.lines.splice(this.lines.findIndex(one => one.run !== this.page.run), 1);
    line.number = this.made += 1;
    return line;
  }

  /** Show the last frame of a line, and draw the others on the bar. */
  show(line) {
    const { page, base } = this;
    page.bar.lines = [base, ...this.lines.map(({ run }) => run)];
    if (page.run === line.run) page.go(line.run.frames - 1);
    else page.take(line.run);
    this.wish = line;
  }

  // ---- the engine

  async prepare() {
    this.engine = await engineOf(this.told);
    await this.engine.ask({ begin: await readTraining(this.told) });
  }

  /** Bring the engine to a frame of a line, and ask it for more; undefined if it does not begin, which the page says. */
  async reach(line, frame, { orders = [], ...more }) {
    Object.assign(this, { waiting: true, due: 0 });
    const slow = setTimeout(() => (part("about").textContent = `computing step ${countText(line.run.steps[frame] ?? 0)}\u2026`), SLOW_MS);
    try {
      await (this.ready ??= this.prepare());
      const atEnd = frame === line.run.frames - 1, there = atEnd && this.stands === line ? [] : line.ordersTo(frame);
      this.stands = atEnd ? line : null;
      return await this.engine.ask({ orders: [...there, ...orders], ...more });
    } catch (error) {
      this.lines = this.lines.filter(({ run }) => run.computed || run === this.page.run);
      Object.assign(this, { stands: null, running: false });
      this.write();
      return refuse(error);
    } finally {
      clearTimeout(slow);
      this.waiting = false;
    }
  }

  /** Give orders at the end of a line, and show what they made. */
  async ask(line, orders) {
    this.wish = line;
    const found = await this.reach(line, line.run.frames - 1, { orders });
    if (found) this.take(line, found);
  }

  /** Ask for steps, or for as many as the engine does in a while. */
  async begin(count, milliseconds = this.engine?.beside ? 4 * FRAME_MS : FRAME_MS) {
    if (this.waiting || !this.possible) return;
    const line = this.lineHere();
    await this.ask(line, [["run", count, line.pace(line.step, line.run.frames), milliseconds]]);
  }

  /** Change a weight by its index, freeze it (`f` and its index), or change how the line trains on: one more frame at the same step. */
  change(what, value) {
    return (this.changing = this.changed(what, value));
  }

  // Do so; a rate changes while training goes on.
  async changed(what, value) {
    const [, index] = /^f?(\d+)$/.exec(what) ?? [], known = index === undefined || Number(index) < this.told.keys[0].trained.length;
    const { samples } = this.line?.sizesAt(this.page.frame) ?? this.told.settings, fits = FITS[what] ?? Number.isFinite;
    if (!this.possible || !known || !fits(value, this.told, samples)) return;
    const goesOn = this.running && what === "lr";
    if (what === "lr" && value === this.rate) return; // another optimiser brought it
    this.running = false;
    while (this.waiting) await new Promise(requestAnimationFrame); // for the frame that is still to come
    const line = this.lineHere(), { run } = line, { rules } = this.told, rule = line.valueAt("rule", run.frames, 0);
    if (what === "batch") value = Math.min(value, samples);
    const note = (name, number) => line.did.push([name, run.steps[run.frames - 1], number, run.frames]);
    note(what, value);
    if (what === "rule" && rules[value].family !== rules[rule].family) note("lr", rules[value].rate);
    await this.ask(line, [["change", what, value]]);
    this.address.tell();
    if (goesOn && !this.running) this.toggle();
  }

  /** Begin again with other first weights: `{ seed }` or `{ equal }`. */
  async restart(first) {
    this.running = false;
    while (this.waiting) await new Promise(requestAnimationFrame); // for the frame that is still to come
    const { base, told: { keys } } = this, [{ frame: place }] = keys;
    const run = base.taken([], { places: [], until: -Infinity, edits: [], named: [] });
    await this.ask(this.add(new Line(this.recording, run, place, first)), []);
    this.address.tell();
  }

  /** Show the moment before the last change of the line, or the recording; nothing is lost. */
  undo() {
    const { page, line } = this, last = line?.did.findLast(([, , , frames]) => frames <= page.frame);
    this.address.cancel();
    this.pause();
    if (!line) return;
    const { run } = line, frame = last ? last[3] - 1 : run.frames - run.computed - 1; // without a change: where the line begins
    if (frame < 0 || frame === page.frame) return this.home();
    page.go(frame);
    part("about").textContent = this.origin;
    this.address.tell();
  }

  /** Show the recording. */
  home() {
    this.address.cancel();
    this.running = false;
    this.page.take(this.base);
    this.write();
    part("about").textContent = this.page.origin;
    putAddress("#");
  }

  /** Why the step after the shown frame does not open; "" if it does. */
  get closed() {
    const { line, page, possible } = this;
    return possible && line?.valueAt("keep", page.frame, 0) > 0 ? "the step after this one does not open: no step sets its gradients to 0" : "";
  }

  /** Return the numbers of the step after the frame that is shown, of these sides of the switch; null if they are unknown. */
  async open(sides) {
    const { told, page } = this;
    if (this.running) this.pause();
    while (this.waiting) await new Promise(requestAnimationFrame); // for a frame that is still to come
    if (!told.trial || !this.possible) return null;
    const { frame } = page, line = this.line ?? Line.from(this.recording, page.run, frame, null), { batch } = told.settings;
    const known = sides.filter(alone => alone || line.sizesAt(frame).batch === batch); // its words say how many samples
    const [[, rates]] = line.pace(page.run.steps[frame], frame);
    const found = await this.reach(line, frame, { open: { rates, sides: known } });
    const { rules: [{ kind }], bends } = told;
    return found?.opened.map(one => ({ frame, others: line.othersAt(frame), bends: [bends[0], bends[line.valueAt("bend", frame, 0)]], words: line.wordsAt(frame, kind), ...one })) ?? null;
  }

  /** Add a frame that the engine computed to a line, and show it. */
  take(line, found) {
    const { page } = this, { run } = line, { step, trained, loss } = found, trains = step > line.step;
    line.thin();
    line.add(found);
    keepPainted(this.told.slots, page.pictures, run, run.frames - 1, found.painted, line.did);
    const before = page.frame;
    if (this.wish === line && (page.run !== run || before >= run.frames - 2)) this.show(line);
    else page.bar.show(before, page.look);
    this.write();
    if (!this.running) this.address.tell(); // it came after a pause
    if (Number.isFinite(trained ?? 0) && Number.isFinite(loss)) {
      const moved = trains && !found.update.every(one => one === 0), why = "its gradients are almost 0, as at a minimum, or where units are dead";
      const still = !moved && (this.rate === 0 ? "lr is 0: no weight moves" : trains && `step ${countText(step)} moved no weight: ${why}`);
      part("about").textContent = this.address.repeated || line.risen || still || this.origin;
      return;
    }
    this.pause();
    part("about").textContent = `training diverged at step ${countText(step)}: the loss is no finite number; undo, and take a lower lr or smaller weights`;
  }

  /** Paint the panels of a frame that the page knows no moment of: of a recorded one, those that follow whole. */
  async look() {
    const { page, page: { run, frame, pictures }, told: { slots, keys } } = this, computed = frame >= run.frames - run.computed || layersShown() !== "";
    const wanted = slots.filter(({ whole, panel }) => (whole || computed) && pictures.has(panel) && pictures.stepAt(panel, frame) !== run.steps[frame]);
    if (this.looking || this.running || (page.playing && performance.now() - this.looked < LOOK_MS) || !wanted.length) return;
    Object.assign(this, { looking: true, looked: performance.now() });
    try {
      await (this.ready ??= this.prepare());
      const weights = rowOf(run.tables.weight, frame).slice(0, keys[0].trained.length), bend = run.line?.valueAt("bend", frame, 0) ?? 0;
      const { painted } = await this.engine.ask({ look: [weights, bend, slots.map(slot => wanted.includes(slot))] });
      keepPainted(slots, pictures, run, frame, painted, run.line?.did.filter(([, , , frames]) => frames <= frame));
    } catch {
      return; // it cannot begin: its panels stay
    } finally {
      this.looking = false;
    }
    if (page.run !== run || page.frame !== frame) return void this.look();
    page.paint();
    if (!page.late) page.write();
  }

  // ---- words

  /** The line below the picture, where nothing else is to be said. */
  get origin() {
    const { line, page } = this;
    return line?.mistakeAt(page.frame) || page.origin;
  }

  write() {
    const { page, line, running, atEnd, possible } = this;
    this.button.textContent = atEnd || running ? "train on" : "train here";
    this.button.setAttribute("aria-pressed", String(running)); // the button that plays says "pause"
    this.button.title = `train from step ${countText(page.run.steps[page.frame])}, in this browser${atEnd ? " (Space)" : ""}`;
    this.button.disabled = !possible;
    page.controls.playing(running || page.playing);
    this.changes.write(line, page.frame);
    if (!running && !page.playing && !page.walk) this.address.keep();
    const there = `${page.run.steps[page.frame]} of ${line?.number ?? ""}`;
    if (this.there !== there && !this.address.repeated && !page.walk) part("about").textContent = this.origin; // what was said was of another moment
    this.there = there;
  }
}

pageExtras.push(page => {
  try {
    return new TrainOn(page);
  } catch (error) {
    page.training = null;
    return refuse(error);
  }
});

// Say why there is no training; the page plays.
function refuse(error) {
  part("about").textContent = `this page cannot train: ${error.message ?? "its engine does not begin"}`;
}
