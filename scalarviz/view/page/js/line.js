// What a page computed: a line of the run, which leaves the recording at one of its frames, and how the engine gets to
// each of its own.

import { countText, lossText, rateText } from "./numbers.js";
import { rowOf } from "./unpack.js";

const MOST_COMPUTED = 2000; // frames of a line; then every second one goes
const NOISE = 0.5; // share of its largest loss by which a line's loss may rise for another reason than its rate

/** Mistakes to learn from: by name, what a switch says, and what they do. */
export const MISTAKES = {
  keep: ["no zero_grad", "zero_grad sets all gradients to 0 before a step; without it each step adds its gradient to those of the steps before"],
  raw: ["no bias correction", "the averages of Adam begin at 0, and stay too small at first"],
};
const EQUALS = "all weights began equal: hidden units of a layer get equal gradients, until something tells them apart";

/** The recording as training sees it: its run, and what Python told of the training. */
export class Recording {
  constructor(base, told) {
    Object.assign(this, { base, told });
  }

  /** Return the rates of the steps after one, as runs of equal ones: how many steps, and their rates. */
  pace(step) {
    const { told: { past, keys, rates } } = this, found = [];
    let ahead = step - keys[0].steps;
    for (const [many, own] of past) {
      if (ahead < many) found.push([many - Math.max(ahead, 0), own]);
      ahead -= many;
    }
    return [...found, [Infinity, rates]];
  }
}

/** What the page computed: where it leaves the recording, and what was changed since then. */
export class Line {
  /** `place` is a frame of the recording; `first` are other first weights, `{ seed }` or `{ equal }`, or null. */
  constructor(recording, run, place, first = null, did = []) {
    Object.assign(this, { recording, run, place, first, did }); // changes: what, step, value, and the number of frames until then
    run.line = this;
  }

  /** Return the activation after a frame: the words beside its cubes, and the kinds of its rows where they are not the recorded ones. */
  bendAt(frame) {
    const place = this.valueAt("bend", frame, 0), { name, labels } = this.recording.told.bends[place];
    return { labels, kinds: place ? Object.fromEntries(Object.keys(labels).map(row => [row, name])) : {} };
  }

  /** What is not as recorded after a frame: "rule" of the optimiser, "bend" of hidden layers. */
  othersAt(frame) {
    const { limits } = this.recording.told.settings, other = (name, usual = 0) => this.valueAt(name, frame, usual) !== usual;
    const rule = other("rule") || other("raw") || other("l1", limits.l1) || other("l2", limits.l2);
    return [...(rule ? ["rule"] : []), ...(other("bend") ? ["bend"] : [])];
  }

  /** Return how many samples there are after a frame, and how many a step takes: a batch of all samples stays one. */
  sizesAt(frame) {
    let { samples, batch, sampling } = this.recording.told.settings;
    for (const [what, , value, frames] of this.did) {
      if (frames > frame) break;
      if (what === "batch") batch = value;
      if (what === "add" && batch === samples++ && sampling === "epochs") batch = samples;
    }
    return { samples, batch };
  }

  /** Return what a picture says of the training, by what it would say without changes: pairs of texts; `kind` is its optimiser. */
  wordsAt(frame, kind = this.recording.told.wide) {
    const { rules, bends: [{ labels: recorded }], lossOf, settings } = this.recording.told, said = count => `batch ${countText(count)}`;
    const { samples, batch } = this.sizesAt(frame);
    const bent = Object.entries(this.bendAt(frame).labels).map(([row, label]) => [recorded[row], label]);
    return [[kind, rules[this.valueAt("rule", frame, 0)].kind], [said(settings.batch), said(batch)], [lossOf, lossOf.replace(countText(settings.samples), countText(samples))], ...bent];
  }

  /** Whether a weight got another value after the last step, so that loss, gradient and update are older. */
  editedAt(frame) {
    const { did, run: { steps } } = this;
    return did.some(([what, step, , frames]) => frames <= frame && step === steps[frame] && Number.isInteger(Number(what)));
  }

  /** Return the last value of what was changed, up to a frame. */
  valueAt(name, frame, usual) {
    return this.did.findLast(([what, , , frames]) => what === name && frames <= frame)?.[2] ?? usual;
  }

  /** Return the rates of the steps after one, as runs of equal ones, with the changes up to a frame: a rate that somebody typed stays. */
  pace(step, frame) {
    const { recording, did } = this, typed = did.findLast(([what, , , frames]) => what === "lr" && frames <= frame);
    if (!typed) return recording.pace(step);
    const [, at, rate] = typed, { groups } = recording.told, [[, [first, ...others]]] = recording.pace(at);
    return [[Infinity, [rate, ...others.map((one, k) => (k < groups - 1 && first ? one * (rate / first) : one))]]];
  }

  /** What a mistake does that holds after a frame; "" without one. */
  mistakeAt(frame) {
    const [, [, does]] = Object.entries(MISTAKES).find(([name]) => this.valueAt(name, frame, 0) > 0) ?? ["", ["", ""]];
    return does || (this.first?.equal ? EQUALS : "");
  }

  /** What is wrong with its rate, if that was changed last: the loss rose far above all losses before; else "". */
  get risen() {
    const { run: { loss }, did } = this, [what, , rate, since] = did.at(-1) ?? [], most = (some, first) => some.reduce((found, one) => (one > found ? one : found), first);
    const before = loss[since - 1], high = most(loss.slice(0, since), before), now = most(loss.slice(since), before);
    return what === "lr" && now - high > NOISE * Math.abs(high) ? `the loss rose from ${lossText(before)} to ${lossText(now)} since lr is ${rateText(rate)}: undo, or take a lower lr` : "";
  }

  /** The step at which it ends now. */
  get step() {
    const { run, place, recording: { base } } = this;
    return run.frames ? run.steps[run.frames - 1] : base.steps[place];
  }

  /** Return the orders that bring the engine to one of its frames, from the recording on. */
  ordersTo(frame) {
    const { run, place, first, recording: { base, told: { keys, dtype } } } = this;
    const key = first ? 0 : keys.findLastIndex(one => one.frame <= place), orders = [["stand", key, first]];
    let { steps: step } = keys[key];
    const goTo = (wanted, frame) => {
      if (wanted > step) orders.push(["run", wanted - step, this.pace(step, frame)]);
      step = Math.max(step, wanted);
    };
    if (!first) goTo(base.steps[place], -1);
    const { weight, gradient, update } = base.tables, exact = keys[key].frame === place || dtype === "float64"; // the tables have float32
    const rowIn = (table, wanted = true) => (table && wanted ? rowOf(table, place).slice(0, Math.min(keys[0].trained.length, base.document.parameters)) : []);
    if (!first && weight.errors === null) orders.push(["place", rowIn(weight, !exact), rowIn(gradient), rowIn(update)]);
    let frames = 0;
    for (const [what, at, value, until] of this.did) {
      if (until > frame) break;
      goTo(at, frames);
      orders.push(["change", what, value]);
      frames = until;
    }
    if (run.frames) goTo(run.steps[frame], frame);
    return orders;
  }

  /** Return the line that goes on from one of the frames of a run: the recording, or what `line` computed. */
  static from(recording, run, frame, line) {
    const { base } = recording, recorded = run.frames - run.computed, computed = Math.max(0, frame + 1 - recorded), own = computed > 0 ? line : null;
    const places = [...Array(frame + 1).keys()], kept = places.slice(0, recorded).map(place => base.head.places?.[place] ?? place);
    const taken = run.taken(places, { places: kept, until: own ? run.until : run.steps[frame] });
    Object.assign(taken, { computed, trained: run.trained.slice(0, computed), films: new Map([...run.films].map(([name, film]) => [name, film.filter(({ frame: at }) => at <= frame)])) });
    return new Line(recording, taken, own ? own.place : frame, own?.first, own?.did.filter(([, , , frames]) => frames <= frame).map(one => [...one])); // each line counts its own frames
  }

  /** Add a frame that the engine computed. */
  add({ step, trained, loss, weight, gradient, update, rows }) {
    const { run, recording: { told } } = this, found = Object.create(null);
    let at = 0;
    for (const [name, size] of told.rows) found[name] = rows.subarray(at, (at += size));
    found.input = Float32Array.from(told.probe.slice(0, told.inputs));
    const table = { weight, gradient, update };
    for (const [name, one] of Object.entries(run.tables)) append(one, run.frames, row => row.set(table[name].subarray(0, Math.min(row.length, table[name].length))));
    const texels = run.tables.weight.numbers.subarray(run.frames * run.tables.weight.columns);
    for (const { kind, name, texel } of run.document.plates) if (kind === "activation" && found[name]) texels.set(found[name], texel);
    if (run.beside) append(run.beside, run.frames, row => run.head.beside.reduce((from, [name, size]) => (found[name] && row.set(found[name], from), from + size), 0));
    const [[, [lr]]] = this.pace(step, run.frames);
    for (const [name, number] of Object.entries({ steps: step, loss, lr, sample: found[told.rows.at(-1)[0]]?.[0] ?? NaN })) run[name].push(number);
    run.trained.push(trained ?? NaN);
    run.frames += 1;
    run.computed += 1;
  }

  /** Forget every second computed frame but those at changes, if there are too many. */
  thin() {
    const { run, did } = this;
    if (run.computed < MOST_COMPUTED) return;
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
    const placed = one => (one.frame < recorded ? one : { ...one, frame: moved.get(one.frame) ?? moved.get(one.frame + 1) ?? one.frame }); // other lines share them
    for (const [name, film] of run.films) run.films.set(name, film.map(placed));
    for (const change of did) change[3] = moved.get(change[3]) ?? moved.get(change[3] - 1) + 1;
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
