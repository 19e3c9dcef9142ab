// A page that trains on: where the recording ends, a worker continues with the engine that Python printed.

import { element } from "./ink.js";
import { putPicture } from "./list.js";
import { countText, lossText } from "./numbers.js";
import { pageExtras, part } from "./page.js";
import { bytesOf, inflated, rowOf, unpackArray } from "./unpack.js";

const MOST_COMPUTED = 2000; // frames that are kept; then every second one goes
const MOST_LETTERS = 2000, MOST_REPEATED = 1e7, FRAMES_REPEATED = 100; // of an address, steps of one, and frames between two changes
const MOST_PAINTED = 64; // of their panels
const FRAME_MS = 12; // of training for one frame, so that the page keeps its frames

/** Read the parts of a page for the engine. */
async function readTraining() {
  const told = JSON.parse(part("training").textContent), Real = told.dtype === "float64" ? Float64Array : Float32Array;
  const [start, columns] = await Promise.all(["start", "samples"].map(id => unpackArray(JSON.parse(part(id).textContent), Real)));
  const { numbers: wide, features, samples: many } = told.settings, given = wide - features, data = new Real(many * wide);
  for (let k = 0; k < given; k++) for (let s = 0; s < many; s++) data[s * wide + k] = columns[k * many + s];
  const count = told.trained.length, arrays = Array.from({ length: start.length / count }, (_, k) => start.slice(k * count, (k + 1) * count));
  const numbers = {
    theta: arrays[0], state: arrays.slice(1), data, steps: told.steps, shares: told.shares && Float64Array.from(told.shares),
    trained: Uint8Array.from(told.trained), frozen: Uint8Array.from(told.frozen), columns: told.columns.map(column => Real.from(column)),
  };
  const { settings, probe, view } = told, named = told.rows.filter(([name]) => name), sizes = named.map(([, size]) => size);
  const sum = sizes.reduce((all, size) => all + size, 0), outputs = [sum - sizes.at(-1), sizes.at(-1)];
  const slots = await Promise.all(told.slots.map(async ({ inputs, unit, output }) => ({ output, inputs: (await unpackArray(inputs, Float64Array)).map(one => one / unit) })));
  return { settings, numbers, probe, view, whole: told.whole, rows: sum + told.rows.length - named.length, asked: { slots, outputs, wide: told.inputs } };
}

/** Return a function that asks the engine: in a worker, or in this thread where workers are forbidden. */
async function engineOf(take) {
  const text = new TextDecoder().decode(await inflated(bytesOf(part("engine").textContent)));
  try {
    const worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
    await new Promise((begun, failed) => Object.assign(worker, { onmessage: begun, onerror: failed }).postMessage({ ready: true }));
    worker.onmessage = ({ data }) => take(data);
    return { ask: asked => worker.postMessage(asked), beside: true };
  } catch {
    const script = document.createElement("script");
    script.textContent = text;
    document.body.append(script);
    return { ask: asked => setTimeout(() => take(globalThis.trainingOfPage(asked))), beside: false };
  }
}

export class TrainOn {
  constructor(page) {
    Object.assign(this, { page, engine: null, training: false, waiting: false, turn: 0, did: [], shown: null, due: 0, clock: 0, run: page.run, recorded: page.run.frames });
    this.run.trained = []; // losses of the computed steps, as they were trained
    this.told = JSON.parse(part("training").textContent);
    this.rate = this.told.rates[0]; // of the last step
    const { actions } = page, { toggle_run: run, step } = actions;
    actions.toggle_run = () => (this.training || (this.atEnd && !page.playing) ? this.toggle() : run());
    actions.step = by => (this.atEnd ? this.one(by) : step(by));
    this.button = part("buttons").appendChild(element("button", "train", "train on"));
    this.button.title = "train further from the last step, in this browser (Space there)";
    this.button.addEventListener("click", () => this.toggle());
    const field = this.field = part("speed").appendChild(element("label", "", "lr ")).appendChild(element("input"));
    Object.assign(field, { type: "number", step: "any", min: "0", value: String(this.told.rates[0]) });
    this.again = part("tools").appendChild(element("button", "", `back to step ${countText(this.last)}`));
    this.again.title = "forget the steps that this page computed";
    this.again.addEventListener("click", () => this.restart());
    this.again.hidden = true;
    this.value = part("card").querySelector(".words").appendChild(element("label", "", "set to ")).appendChild(element("input"));
    Object.assign(this.value, { type: "number", step: "any", title: "give this weight another value, after the last step" });
    this.value.addEventListener("change", () => this.change(page.card.texel, this.value.value));
    const write = page.write.bind(page);
    page.write = () => {
      write();
      this.value.parentElement.hidden = !(this.atEnd && page.card.texel < page.run.document.parameters);
    };
    const follow = page.follow.bind(page);
    page.follow = hash => {
      const there = follow(hash), wanted = new URLSearchParams(hash.slice(1)), until = Math.round(Number(wanted.get("train")));
      if (!Number.isSafeInteger(until) || until < 1) return there;
      this.repeat(Math.min(until, MOST_REPEATED), wanted.get("did") ?? "");
      return true;
    };
  }

  async one(by) {
    this.training = false;
    await this.begin(by, Infinity);
    this.tell();
  }

  /** Whether the page shows the last frame of the run that goes on. */
  get atEnd() {
    const { page, run } = this;
    return page.run === run && !page.walk && page.frame === run.frames - 1;
  }

  get rates() {
    const [first, ...others] = this.told.rates, rate = this.field.value === "" ? first : Math.max(0, Number(this.field.value));
    return [rate, ...others.map((one, k) => (k < this.told.groups - 1 && first ? one * (rate / first) : one))];
  }

  toggle() {
    if (this.training) return this.pause();
    const { page, run } = this;
    if (page.run !== run) return (part("about").textContent = "the branch on which the page opened trains on");
    page.stop();
    if (!this.atEnd) page.go(run.frames - 1);
    Object.assign(this, { training: true, due: 0, clock: performance.now() });
    this.show();
    return requestAnimationFrame(() => this.tick());
  }

  pause() {
    this.training = false;
    this.show();
    this.tell();
  }

  /** Put what was done into the address, which repeats it: `#train=500&did=lr:0.1@303,4:-3@310`. */
  tell() {
    const { run, did, recorded } = this, text = `#train=${run.steps[run.frames - 1]}&did=${did.map(([what, step, value]) => `${what}:${value}@${step}`)}`;
    if (run.frames > recorded && text.length < MOST_LETTERS) window.history.replaceState(null, "", text);
  }

  /** Do again what an address says: rates and weights from their steps on, up to a step. */
  async repeat(until, did) {
    if (this.run.frames > this.recorded) this.restart();
    const found = did.split(",").map(one => /^(lr|\d+):([-+.\de]+)@(\d+)$/.exec(one)).filter(Boolean);
    for (const [, what, value, step] of [...found, [null, "", "", until]]) {
      const wanted = Math.min(Number(step), until), each = Math.ceil((wanted - this.last) / FRAMES_REPEATED);
      while (this.last < wanted) {
        const before = this.last;
        await this.begin(Math.min(each, wanted - before), Infinity);
        if (this.last <= before || !Number.isFinite(this.run.trained.at(-1))) return; // somebody else asks, or it diverged
      }
      if (what === "lr") this.field.value = value;
      else if (what) await this.change(Number(what), value);
    }
    this.tell();
  }

  /** The last step that is known. */
  get last() {
    return this.run.steps[this.run.frames - 1];
  }

  show() {
    this.page.trains = this.training;
    this.button.textContent = this.training ? "pause" : "train on";
    this.page.controls.playing(this.training || this.page.playing);
    this.again.hidden = this.run.frames === this.recorded;
  }

  // Ask for the steps that are due at this speed.
  tick() {
    if (this.training && !this.atEnd) this.pause(); // somebody looks at an earlier step
    if (!this.training) return;
    const now = performance.now();
    this.due = Math.min(this.due + (Math.min(now - this.clock, 250) * this.page.speed * this.told.every) / 1000, 1e6);
    this.clock = now;
    if (this.due >= 1 && !this.waiting) this.begin(Math.floor(this.due));
    requestAnimationFrame(() => this.tick());
  }

  async prepare() {
    this.engine ??= await engineOf(data => "loss" in data && this.take(data));
    const { gradient } = this.run.tables, count = this.told.trained.length;
    this.engine.ask({ begin: { ...(await readTraining()), gradient: gradient ? rowOf(gradient, this.recorded - 1).slice(0, count) : [] } });
  }

  /** Ask the engine for steps, or for as many as it does in a while; resolved when they are shown. */
  async begin(count, milliseconds = this.engine?.beside ? 4 * FRAME_MS : FRAME_MS) {
    if (this.waiting) return;
    const { rates } = this;
    if (rates[0] !== this.rate) this.did.push(["lr", this.last, (this.rate = rates[0])]);
    await this.ask({ count, milliseconds, rates });
  }

  /** Give a weight another value: one more frame at the same step. */
  async change(index, text) {
    const value = Number(text);
    if (text === "" || this.waiting || !Number.isFinite(value) || !(index < this.told.trained.length)) return;
    this.training = false;
    this.did.push([index, this.last, value]);
    await this.ask({ index, value });
    this.value.value = "";
    this.value.blur();
    this.tell();
  }

  async ask(asked) {
    Object.assign(this, { waiting: true, due: 0 });
    await (this.ready ??= this.prepare());
    await new Promise(shown => {
      this.shown = shown;
      this.engine.ask({ ...asked, turn: this.turn });
    });
  }

  /** Add a frame that the engine computed, and go there if the page shows the last one. */
  take({ turn, step, trained, loss, weight, gradient, update, rows, painted }) {
    const { page, run } = this, found = Object.create(null);
    this.waiting = false;
    this.shown();
    if (turn !== this.turn) return; // it began again meanwhile
    const follow = this.atEnd;
    let at = 0;
    for (const [name, size] of this.told.rows) found[name] = rows.subarray(at, (at += size));
    found.input = Float32Array.from(this.told.probe.slice(0, this.told.inputs));
    if (run.frames - this.recorded >= MOST_COMPUTED) this.thin();
    const table = { weight, gradient, update };
    for (const [name, one] of Object.entries(run.tables)) append(one, run.frames, row => row.set(table[name].subarray(0, Math.min(row.length, table[name].length))));
    const texels = run.tables.weight.numbers.subarray(run.frames * run.tables.weight.columns);
    for (const { kind, name, texel } of run.document.plates) if (kind === "activation" && found[name]) texels.set(found[name], texel);
    if (run.beside) append(run.beside, run.frames, row => run.head.beside.reduce((from, [name, size]) => (found[name] && row.set(found[name], from), from + size), 0));
    for (const [name, number] of Object.entries({ steps: step, loss, lr: this.rate, sample: found[""]?.[0] ?? NaN })) run[name].push(number);
    this.paint(step, painted);
    run.trained.push(trained);
    run.frames += 1;
    run.computed = run.frames - this.recorded;
    page.bar.take(run);
    if (follow) page.go(run.frames - 1);
    this.show();
    if (Number.isFinite(trained ?? 0) && Number.isFinite(loss)) return;
    this.pause();
    part("about").textContent = `training diverged at step ${countText(step)}: the loss is ${lossText(Number.isFinite(trained ?? 0) ? loss : trained)}; ${this.again.textContent} and take a lower lr`;
  }

  // Add what the network makes of the panels' inputs: their lists at this step, for a while.
  paint(step, painted) {
    for (const [k, slot] of this.told.slots.entries()) {
      const film = this.page.pictures.shown.find(({ name }) => name === slot.panel);
      if (!film) continue;
      film.recorded ??= film.steps.length;
      film.steps.push(step);
      film.looks.forEach((look, other) => look.push(this.listOf(slot, look[film.recorded - 1], painted[k], step, other)));
      if (film.steps.length > film.recorded + MOST_PAINTED) for (const part of [film.steps, ...film.looks]) part.splice(film.recorded, 1);
    }
  }

  // Return a panel's list with other colours in its slot; `other`: in the theme that the page does not open with.
  listOf({ panel, kind, number, size: [high, wide], output, span: [low, end], tables, stale }, list, made, step, other) {
    const theme = Object.keys(this.run.document.themes).find(name => (name === this.run.document.theme) !== Boolean(other));
    const place = value => Math.round(255 * Math.min(Math.max((value - low) / (end - low), 0), 1)) || 0;
    const digits = output < 0 ? Array.from(made, byte => byte.toString(16).padStart(2, "0")) : Array.from(made, value => tables[theme].substr(6 * place(value), 6));
    const text = digits.join(""), now = kind === "points" ? [3, text] : [5, putPicture(`${panel} at ${step} ${theme}`, text, wide, high)];
    const record = list.filter(([name]) => name === kind)[number];
    return list.filter(([name]) => name !== stale).map(one => (one === record ? one.with(...now) : one));
  }

  // Forget every second computed frame.
  thin() {
    const { run } = this, kept = [];
    for (let k = this.recorded + 1; k < run.frames; k += 2) kept.push(k);
    for (const table of [...Object.values(run.tables), run.beside].filter(Boolean)) kept.forEach((k, place) => {
      table.numbers.copyWithin((this.recorded + place) * table.columns, k * table.columns, (k + 1) * table.columns);
    });
    for (const name of ["steps", "loss", "lr", "sample"]) run[name] = [...run[name].slice(0, this.recorded), ...kept.map(k => run[name][k])];
    run.trained = kept.map(k => run.trained[k - this.recorded]);
    run.frames = this.recorded + kept.length;
  }

  /** Forget all computed frames: training starts where the recording ends. */
  restart() {
    const { page, run } = this;
    this.pause();
    run.frames = this.recorded;
    run.computed = run.trained.length = 0;
    for (const name of ["steps", "loss", "lr", "sample"]) run[name].length = this.recorded;
    part("about").textContent = page.origin;
    for (const film of page.pictures.shown) for (const part of [film.steps, ...film.looks]) part.length = film.recorded ?? part.length;
    page.bar.take(run);
    page.go(run.frames - 1);
    this.show();
    Object.assign(this, { ready: null, turn: this.turn + 1, did: [], rate: this.told.rates[0] });
    window.history.replaceState(null, "", "#");
  }
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

pageExtras.push(page => new TrainOn(page));
