// A page that trains: from any frame a worker goes on, with the engine that Python printed. What it computes is another
// line of the run; the recording stays.

import { Changes } from "./changes.js";
import { element } from "./ink.js";
import { putPicture } from "./list.js";
import { countText, lossText } from "./numbers.js";
import { pageExtras, part } from "./page.js";
import { bytesOf, inflated, rowOf, unpackArray } from "./unpack.js";

const MOST_COMPUTED = 2000; // frames of a line; then every second one goes
const MOST_LINES = 12; // the oldest goes
const MOST_LETTERS = 2000, MOST_REPEATED = 1e7, FRAMES_REPEATED = 100; // of an address, steps of one, and frames between two changes
const MOST_PAINTED = 64; // of their panels
const FRAME_MS = 12; // of training for one frame, so that the page keeps its frames
const CHANGE = /^(lr|batch|keep|raw|f?\d+):([-+.\de]+)@(\d+)$/; // in an address
const WHOLE = { batch: value => Number.isSafeInteger(value) && value > 0 };

/** Read the parts of a page for the engine. */
async function readTraining(told) {
  const Real = told.dtype === "float64" ? Float64Array : Float32Array;
  const [start, columns] = await Promise.all(["start", "samples"].map(id => unpackArray(JSON.parse(part(id).textContent), Real)));
  const { numbers: wide, features, samples: many } = told.settings, given = wide - features, data = new Real(many * wide);
  for (let k = 0; k < given; k++) for (let s = 0; s < many; s++) data[s * wide + k] = columns[k * many + s];
  const count = told.keys[0].trained.length, arrays = Array.from({ length: start.length / count }, (_, k) => start.slice(k * count, (k + 1) * count));
  const each = arrays.length / told.keys.length, bytes = flags => Uint8Array.from(flags);
  const keys = told.keys.map((key, k) => ({ ...key, trained: bytes(key.trained), frozen: bytes(key.frozen), arrays: arrays.slice(k * each, (k + 1) * each) }));
  const { settings, probe, view, trial, laws, whole } = told, named = told.rows.filter(([name]) => name), sizes = named.map(([, size]) => size);
  const sum = sizes.reduce((all, size) => all + size, 0), outputs = [sum - sizes.at(-1), sizes.at(-1)];
  const slots = await Promise.all(told.slots.map(async ({ inputs, unit, output }) => ({ output, inputs: (await unpackArray(inputs, Float64Array)).map(one => one / unit) })));
  return {
    settings, keys, laws, data, columns: told.columns.map(column => Real.from(column)), shares: told.shares && Float64Array.from(told.shares),
    probe, view, trial, whole, rows: sum + told.rows.length - named.length, asked: { slots, outputs, wide: told.inputs },
  };
}

/** Return a function that asks the engine and promises its answer: in a worker, or in this thread where workers are forbidden. */
async function engineOf() {
  const text = new TextDecoder().decode(await inflated(bytesOf(part("engine").textContent)));
  try {
    const worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
    const ask = asked => new Promise((resolve, reject) => {
      Object.assign(worker, { onmessage: ({ data }) => resolve(data), onerror: reject });
      worker.postMessage(asked);
    });
    await ask({});
    return { ask, beside: true };
  } catch {
    const script = document.createElement("script");
    script.textContent = text;
    document.body.append(script);
    return { ask: asked => new Promise(resolve => setTimeout(() => resolve(globalThis.trainingOfPage(asked)))), beside: false };
  }
}

/** What the page computed: where it leaves the recording, and what was changed since then. */
class Line {
  /** `place` is a frame of the recording; `first` are other first weights, `{ seed }` or `{ equal }`, or null. */
  constructor(run, place, first, did) {
    Object.assign(this, { run, place, first, did }); // changes: what, step, value, and the number of frames until then
  }

  /** Return the last value of what was changed, up to a frame. */
  valueAt(name, frame, usual) {
    return this.did.findLast(([what, , , frames]) => what === name && frames <= frame)?.[2] ?? usual;
  }
}

export class TrainOn {
  constructor(page) {
    this.told = JSON.parse(part("training").textContent);
    Object.assign(this, { page, base: page.run, engine: null, running: false, waiting: false, lines: [], wish: null, stands: null, due: 0, clock: 0, made: 0, repeats: 0 });
    page.training = this;
    this.button = part("buttons").appendChild(element("button", "train", "train on"));
    this.button.addEventListener("click", () => this.toggle());
    this.changes = new Changes(this);
    page.bar.onLine = run => this.running || this.waiting || page.take(run);
    page.openComputed = () => this.open();
  }

  /** The line that the page shows; null: a recorded one. */
  get line() {
    return this.lines.find(line => line.run === this.page.run) ?? null;
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
    this.repeats += 1;
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
    this.tell();
  }

  /** Do some steps, and show the last one. */
  async one(by) {
    this.repeats += 1;
    this.running = false;
    await this.begin(by, Infinity);
    this.tell();
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
    const { page, line, base } = this, { run, frame } = page;
    if (line && frame === run.frames - 1) return line;
    const recorded = run.frames - run.computed, computed = Math.max(0, frame + 1 - recorded), own = computed > 0 ? line : null;
    const places = [...Array(frame + 1).keys()], kept = places.slice(0, recorded).map(place => base.head.places?.[place] ?? place);
    const taken = run.taken(places, { places: kept, until: own ? run.until : run.steps[frame] });
    Object.assign(taken, { computed, trained: run.trained.slice(0, computed), films: new Map(own ? run.films : []) });
    const did = own ? own.did.filter(([, , , frames]) => frames <= frame) : [];
    return this.add(new Line(taken, own ? own.place : frame, own ? own.first : null, did));
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

  /** Return the rates of a line after a frame. */
  ratesAt(line, frame) {
    const { groups, rates } = this.told, [first, ...others] = line.first || line.place < this.base.frames - 1 ? this.recordedRates(line.place) : rates;
    const rate = line.valueAt("lr", frame, first);
    return [rate, ...others.map((one, k) => (k < groups - 1 && first ? one * (rate / first) : one))];
  }

  /** Return the rates with which the recording goes on after one of its frames. */
  recordedRates(place) {
    const { past, keys, rates } = this.told;
    let ahead = this.base.steps[place] - keys[0].steps;
    for (const [many, own] of past) if ((ahead -= many) < 0) return own;
    return rates;
  }

  /** Return the orders that bring the engine to a frame of a line, from the recording on. */
  ordersTo(line, frame) {
    const { base, told: { keys, past } } = this, { run, place, first } = line;
    const key = first ? 0 : keys.findLastIndex(one => one.frame <= place), orders = [["stand", key, first]];
    let step = keys[key].steps, from = keys[0].steps;
    for (const [many, rates] of first ? [] : past) {
      const count = Math.min(from + many, base.steps[place]) - step;
      from += many;
      if (count > 0) orders.push(["run", count, rates]) && (step += count);
    }
    const { weight, gradient } = base.tables, { length } = keys[0].trained;
    if (!first && weight.errors === null) orders.push(["place", ...[weight, gradient].map(table => (table ? rowOf(table, place).slice(0, length) : []))]);
    let frames = 0;
    for (const [what, at, value, until] of line.did) {
      if (until > frame) break;
      if (at > step) orders.push(["run", at - step, this.ratesAt(line, frames)]) && (step = at);
      if (what !== "lr") orders.push(["change", what, value]);
      frames = until;
    }
    const end = run.frames ? run.steps[frame] : step;
    if (end > step) orders.push(["run", end - step, this.ratesAt(line, frame)]);
    return orders;
  }

  // ---- the engine

  async prepare() {
    this.engine = await engineOf();
    await this.engine.ask({ begin: await readTraining(this.told) });
  }

  /** Bring the engine to a frame of a line, and ask it for more; undefined if it does not begin, which the page says. */
  async reach(line, frame, { orders = [], ...more }) {
    Object.assign(this, { waiting: true, due: 0 });
    try {
      await (this.ready ??= this.prepare());
      const atEnd = frame === line.run.frames - 1, there = atEnd && this.stands === line ? [] : this.ordersTo(line, frame);
      this.stands = atEnd ? line : null;
      return await this.engine.ask({ orders: [...there, ...orders], ...more });
    } catch (error) {
      this.lines = this.lines.filter(({ run }) => run.computed || run === this.page.run);
      Object.assign(this, { stands: null, running: false });
      this.write();
      return refuse(error);
    } finally {
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
    const line = this.lineHere(), { run, did } = line, now = this.ratesAt(line, run.frames)[0], wanted = this.changes.rate ?? now;
    if (wanted !== now) did.push(["lr", run.steps[run.frames - 1], wanted, run.frames]);
    this.changes.typed = false;
    await this.ask(line, [["run", count, this.ratesAt(line, run.frames), milliseconds]]);
  }

  /** Change a weight by its index, freeze it (`f` and its index), or change how the line trains on: one more frame at the same step. */
  async change(what, value) {
    const [, index] = /^f?(\d+)$/.exec(what) ?? [], known = index === undefined || Number(index) < this.told.keys[0].trained.length;
    if (this.waiting || !this.possible || !known || !Number.isFinite(value) || !(WHOLE[what]?.(value) ?? true)) return;
    this.running = false;
    const line = this.lineHere(), { run } = line;
    if (what === "batch") value = Math.min(value, this.told.settings.samples);
    line.did.push([what, run.steps[run.frames - 1], value, run.frames]);
    await this.ask(line, [["change", what, value]]);
    this.tell();
  }

  /** Begin again with other first weights: `{ seed }` or `{ equal }`. */
  async restart(first) {
    if (this.waiting) return;
    this.running = false;
    const { base, told: { keys } } = this, [{ frame: place }] = keys;
    const run = base.taken([], { places: [], until: -Infinity, edits: [], named: [] });
    await this.ask(this.add(new Line(run, place, first, [])), []);
    this.tell();
  }

  /** Show the moment before the last change of the line, or the recording; nothing is lost. */
  undo() {
    const { page, line } = this, last = line?.did.findLast(([, , , frames]) => frames <= page.frame);
    this.repeats += 1;
    this.pause();
    if (!line) return;
    if (last) page.go(last[3] - 1);
    else this.home();
  }

  /** Show the recording. */
  home() {
    this.repeats += 1;
    this.running = false;
    this.page.take(this.base);
    this.write();
    part("about").textContent = this.page.origin;
    putAddress("#");
  }

  /** Return the numbers of the step after the computed frame that is shown, with the sample alone; null if they are unknown. */
  async open() {
    const { told, page } = this;
    if (this.running) this.pause();
    while (this.waiting) await new Promise(requestAnimationFrame); // for a frame that is still to come
    const { line } = this, { frame } = page;
    if (!told.trial || !line) return null;
    const rates = this.ratesAt(line, frame + 1), wanted = frame === line.run.frames - 1 ? this.changes.rate : null;
    const found = await this.reach(line, frame, { open: [wanted ?? rates[0], ...rates.slice(1)] });
    return found ? { frame, ...found.opened } : null;
  }

  /** Add a frame that the engine computed to a line, and show it. */
  take(line, { step, trained, loss, weight, gradient, update, rows, painted }) {
    const { page } = this, { run } = line, found = Object.create(null);
    let at = 0;
    for (const [name, size] of this.told.rows) found[name] = rows.subarray(at, (at += size));
    found.input = Float32Array.from(this.told.probe.slice(0, this.told.inputs));
    if (run.computed >= MOST_COMPUTED) thin(line);
    const table = { weight, gradient, update };
    for (const [name, one] of Object.entries(run.tables)) append(one, run.frames, row => row.set(table[name].subarray(0, Math.min(row.length, table[name].length))));
    const texels = run.tables.weight.numbers.subarray(run.frames * run.tables.weight.columns);
    for (const { kind, name, texel } of run.document.plates) if (kind === "activation" && found[name]) texels.set(found[name], texel);
    if (run.beside) append(run.beside, run.frames, row => run.head.beside.reduce((from, [name, size]) => (found[name] && row.set(found[name], from), from + size), 0));
    const lr = this.ratesAt(line, run.frames)[0];
    for (const [name, number] of Object.entries({ steps: step, loss, lr, sample: found[""]?.[0] ?? NaN })) run[name].push(number);
    this.paint(line, step, painted);
    run.trained.push(trained ?? NaN);
    run.frames += 1;
    run.computed += 1;
    const before = page.frame;
    if (this.wish === line && (page.run !== run || before >= run.frames - 2)) this.show(line);
    else page.bar.show(before, page.look);
    this.write();
    if (Number.isFinite(trained ?? 0) && Number.isFinite(loss)) return;
    this.pause();
    part("about").textContent = `training diverged at step ${countText(step)}: the loss is ${lossText(Number.isFinite(trained ?? 0) ? loss : trained)}; go back, and take a lower lr`;
  }

  // Add what the network makes of the panels' inputs: their lists at this step, for a while.
  paint({ run, number }, step, painted) {
    for (const [k, slot] of this.told.slots.entries()) {
      const film = this.page.pictures.shown.find(({ name }) => name === slot.panel);
      if (!film) continue;
      const { steps, looks } = run.films.get(slot.panel) ?? { steps: [], looks: [[], []] };
      const list = (other, theme) => this.listOf(slot, film.looks[other].at(-1), painted[k], `${number} at ${step}`, theme);
      const { theme, themes } = run.document, alike = [theme, Object.keys(themes).find(name => name !== theme)];
      const since = Math.max(0, steps.length + 1 - MOST_PAINTED);
      run.films.set(slot.panel, { steps: [...steps, step].slice(since), looks: looks.map((look, other) => [...look, list(other, alike[other])].slice(since)) });
    }
  }

  // Return a panel's list with other colours in its slot.
  listOf({ panel, kind, number, size: [high, wide], output, span: [low, end], tables, stale }, list, made, name, theme) {
    const place = value => Math.round(255 * Math.min(Math.max((value - low) / (end - low), 0), 1)) || 0;
    const digits = output < 0 ? Array.from(made, byte => byte.toString(16).padStart(2, "0")) : Array.from(made, value => tables[theme].substr(6 * place(value), 6));
    const text = digits.join(""), now = kind === "points" ? [3, text] : [5, putPicture(`${panel} of ${name} ${theme}`, text, wide, high)];
    const record = list.filter(([name]) => name === kind)[number];
    return list.filter(([name]) => name !== stale).map(one => (one === record ? one.with(...now) : one));
  }

  // ---- words

  write() {
    const { page, line, running, atEnd, possible } = this;
    this.button.textContent = running ? "pause" : atEnd ? "train on" : "train here";
    this.button.title = running ? "" : `train from step ${countText(page.run.steps[page.frame])}, in this browser${atEnd ? " (Space)" : ""}`;
    this.button.disabled = !possible;
    page.controls.playing(running || page.playing);
    this.changes.write(line, page.frame);
  }

  // ---- the address

  /** Put what was done into the address: `#train=500&from=300&did=lr:0.1@303,4:-3@310`; `seed=` or `equal=` for other first weights. */
  tell() {
    const { line, base } = this;
    if (!line) return;
    const { run, did, place, first } = line, [[name, number]] = Object.entries(first ?? { from: base.steps[place] });
    const start = first || place < base.frames - 1 ? `&${name}=${number}` : "";
    const changes = did.length ? `&did=${did.map(([what, step, value]) => `${what}:${value}@${step}`)}` : "";
    const text = `#train=${run.steps[run.frames - 1]}${start}${changes}`;
    if (text.length < MOST_LETTERS) putAddress(text);
  }

  /** Do again what an address says, or begin to train (`#train`); false: it says nothing of training. */
  follow(wanted) {
    this.repeats += 1; // what another address says ends
    const until = Math.round(Number(wanted.get("train")));
    if (wanted.get("train") === "" && !window.matchMedia("(prefers-reduced-motion: reduce)").matches) {
      if (!this.running) this.toggle();
      return true;
    }
    if (!Number.isSafeInteger(until) || until < 1) return false;
    const whole = name => (/^\d{1,15}$/.test(wanted.get(name) ?? "") ? Number(wanted.get(name)) : null);
    const equal = Number(wanted.get("equal") || NaN), seed = this.told.laws.length ? whole("seed") : null;
    this.repeat(Math.min(until, MOST_REPEATED), whole("from"), seed !== null ? { seed } : Number.isFinite(equal) ? { equal } : null, (wanted.get("did") ?? "").slice(0, MOST_LETTERS));
    return true;
  }

  async repeat(until, from, first, did) {
    const { page, base, repeats } = this;
    if (page.run !== base) page.take(base);
    if (first) await this.restart(first);
    else page.go(from === null ? base.frames - 1 : Math.max(base.steps.findLastIndex(step => step <= from), 0));
    if (!this.possible) return;
    const found = did.split(",").map(one => CHANGE.exec(one)).filter(Boolean);
    for (const [, what, value, step] of [...found, [null, "", "", until]]) {
      const wanted = Math.min(Number(step), until), now = () => page.run.steps[page.frame], each = Math.ceil((wanted - now()) / FRAMES_REPEATED);
      while (now() < wanted) {
        const before = now();
        part("about").textContent = `step ${countText(before)} of the ${countText(until)} that the address asks for`;
        await this.begin(Math.min(each, wanted - before), Infinity);
        if (repeats !== this.repeats) return;
        if (now() <= before || !Number.isFinite(page.run.trained.at(-1))) return; // somebody else asks, or it diverged
      }
      if (what === "lr") this.changes.type(value);
      else if (what) await this.change(what, Number(value));
      if (repeats !== this.repeats) return;
    }
    part("about").textContent = page.origin;
    this.tell();
  }
}

// Forget every second computed frame of a line but those at changes.
function thin({ run, did }) {
  const recorded = run.frames - run.computed, kept = [], changed = new Set(did.flatMap(([, , , frames]) => [frames - 1, frames])), moved = new Map();
  for (let k = recorded; k < run.frames; k++) {
    if ((k - recorded) % 2 || changed.has(k)) moved.set(k, recorded + kept.push(k) - 1);
  }
  for (const table of [...Object.values(run.tables), run.beside].filter(Boolean)) kept.forEach((k, place) => {
    table.numbers.copyWithin((recorded + place) * table.columns, k * table.columns, (k + 1) * table.columns);
  });
  for (const name of ["steps", "loss", "lr", "sample"]) run[name] = [...run[name].slice(0, recorded), ...kept.map(k => run[name][k])];
  run.trained = kept.map(k => run.trained[k - recorded]);
  run.frames = recorded + kept.length;
  run.computed = kept.length;
  for (const change of did) change[3] = moved.get(change[3]) ?? moved.get(change[3] - 1) + 1;
}

// Add a row to a table, which grows.
function append(table, frame, fill) {
  const from = frame * table.columns, end = from + table.columns;
  if (table.numbers.length < end) {
    const more = new Float32Array(2 * end);
    more.set(table.numbers);
    table.numbers = more;
  }
  const row = table.numbers.subarray(from, end);
  row.fill(0);
  fill(row);
  table.frames = frame + 1;
}

pageExtras.push(page => {
  try {
    return new TrainOn(page);
  } catch (error) {
    page.training = null;
    return refuse(error);
  }
});

// Set the end of the address; some frames have none.
function putAddress(text) {
  try {
    window.history.replaceState(null, "", text);
  } catch {
    return;
  }
}

// Say why there is no training; the page plays.
function refuse(error) {
  part("about").textContent = `this page cannot train: ${error.message ?? "its engine does not begin"}`;
}
