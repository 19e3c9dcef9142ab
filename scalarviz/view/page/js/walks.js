// The opened steps in a page: the frames that have any after them; at each micro-step, what the cubes show and the
// window's list around them.

import { formWith, pieceOf } from "./equations.js";
import { rgbOf } from "./gl.js";
import { MARK_BITS } from "./quantity.js";
import { colourAt, extentOf, mapIn, symmetricRange, tableOf, unitOf, weightRange } from "./ranges.js";
import { splicedList } from "./lists.js";
import { bytesOf, inflated, rowOf, unpackArray, unpackTable } from "./unpack.js";

/** Indices of the phases of a step. */
export const PHASE = { zero: 0, forward: 1, loss: 2, backward: 3, gradients: 4, update: 5 };
/** What a micro-step lights: lit weights, weights in the range, weights with a gradient, its weights; rows; deltas. */
const LIGHT = { lit: 0, range: 1, computed: 2, now: 3, reached: 4, come: 5, whose: 6 };
/** The quantity of the cubes in each phase. */
const SHOWN = ["gradient", "product", "product", "passed on", "gradient", "change"];
const FORM = 9; // place in a record of a number
/** Most units of a row with a delta as a second line beside each. */
const SECOND = 64;
const SHINES = 0.8, GLIMMERS = 0.25, SHINING = 4000; // light around current cubes and known ones; most cubes with light
const SINKS = 0.6; // share of its height by which a cube sinks at most
const HALF = 0.5; // share of its colour that a dark cube keeps

export async function readWalks(textOf, run) {
  if (textOf("opened") === null) return new Walks({ walks: [], models: [] }, null, run); // other layers have none
  const said = JSON.parse(new TextDecoder().decode(await inflated(bytesOf(textOf("opened"))))), packed = JSON.parse(textOf("steps"));
  if (packed.frames) return new Walks(said, await unpackTable(packed), run);
  const numbers = await unpackArray(packed, Float64Array);
  return new Walks(said, { numbers, columns: numbers.length / said.walks.length, wide: true }, run);
}

/** All walks; a walk is one opened step, with one sample or with the whole batch. */
export class Walks {
  /**
   * `table` has a row a walk: gradient, factors forward and backward, and change (P each), then rows and their deltas;
   * the `wide` one of a small network has weights and their deltas before rows. The walks `said.models` can show other steps.
   */
  constructor(said, table, run) {
    this.walks = said.walks.map((told, k) => new RecordedWalk(told, said, numbersOf(rowOf(table, k), said.rows, run.document.parameters, table.wide), run));
    this.models = said.models.map(k => this.walks[k]);
    this.frames = [...new Set(this.walks.map(walk => walk.told.frame))].sort((a, b) => a - b);
  }

  /** Return the step after a frame, preferably with the sample `alone`; null if there is none. */
  at(frame, alone) {
    const there = this.walks.filter(walk => walk.told.frame === frame);
    return there.find(walk => walk.told.alone === alone) ?? there[0] ?? null;
  }
}

/** Return the numbers of a walk by name, from its row. */
function numbersOf(row, lengths, parameters, wide) {
  const names = ["gradient", "forward", "backward", "change", ...(wide ? ["weight", "back"] : [])], found = {};
  names.forEach((name, k) => (found[name] = row.subarray(k * parameters, (k + 1) * parameters)));
  const rest = row.subarray(names.length * parameters), width = lengths.reduce((sum, [, count]) => sum + count, 0);
  return { ...found, rows: rest.subarray(0, width), deltas: rest.subarray(width) };
}

/** Return the parts of a long row by the names of rows. */
function partsOf(numbers, lengths) {
  let at = 0;
  return new Map(lengths.map(([name, count]) => [name, numbers.subarray(at, at += count)]));
}

/** Return the next of 1, 2, 5, 10, 20, ... and their tenths. */
function roundedUp(value) {
  if (!(value > 0 && value < Infinity)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map(step => step * power).find(one => one >= value * (1 - 1e-9));
}

/** Return how far a change of 1 raises a cube, as a share of its height: see `StepDrawing.heights`. */
function riseOf([height, first, ...shares], change) {
  const most = extentOf(change), room = Math.min(1, ...shares.filter((share, k) => change[first + k] > 0));
  return (most > 0 && most < Infinity ? 1 / roundedUp(most / (SINKS * height * room)) : 1) / height;
}

/** Return what becomes of records in a step with another activation: equations and letters have that one, if the page knows it. */
function withBends(one, other) {
  const parts = one.slope.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").split(/\by\b/), known = formWith(`${one.name}:0`, one.name, other.name) !== "";
  const slope = new RegExp(parts.reduce((all, part, k) => all + (k > 1 ? "\\1" : "(\\w+)") + part)); // y stands for a unit
  const lettersOf = text => text.replace(`${one.sign}(sum)`, `${other.sign}(sum)`).replace(slope, (all, y) => other.slope.replace(/\by\b/g, parts.length > 1 ? y : "y"));
  const formOf = record => (record[0].endsWith("number") ? formWith(record[FORM], one.name, other.name) : "");
  const bend = record => {
    if (formOf(record)) return record.with(FORM, formOf(record));
    return known && record[0].endsWith("text") && lettersOf(record[3]) !== record[3] ? record.with(3, lettersOf(record[3])) : null;
  };
  return { bend, "other bend": record => (known ? null : record) };
}

export class RecordedWalk {
  constructor(told, { plans, rows: lengths }, numbers, run) {
    const { layouts, records, count } = run.lists;
    const shapes = told.layouts.length, before = told.layouts.map(() => []);
    Object.assign(this, { told, plan: plans[told.plan], layouts: told.layouts.map(number => layouts[number]), records, run, lengths, shapes });
    this.lists = told.lists.map((steps, k) => (before[k % shapes] = splicedList(before[k % shapes], steps, count)));
    this.take(numbers);
  }

  /** Show these numbers: see `numbersOf`. */
  take({ gradient, forward, backward, change, weight = this.run.shown(this.told.frame).texels.weight, back = backward, rows, deltas }) {
    const times = factors => Float32Array.from(factors, (factor, k) => factor * weight[k]);
    this.numbers = { gradient: Float32Array.from(gradient), product: times(forward), "passed on": times(backward), change: Float32Array.from(change) };
    this.rise = this.told.rise.map(room => riseOf(room, change));
    Object.assign(this, { rows: partsOf(rows, this.lengths), deltas });
    const named = [...partsOf(deltas, this.lengths)].map(([name, row]) => [`\u03b4 of ${name}`, row]);
    const own = { "weight before": weight, "weight after": change.map((x, k) => weight[k] + x), "its gradient": gradient, "its factor": forward, "its delta": back };
    this.written = Object.assign(Object.create(null), Object.fromEntries([...this.rows, ...named]), own);
  }

  /**
   * Return the step after a frame that the page computed: this walk with other numbers, without the words that it knows of its own alone.
   * `others` is what it does not have as recorded, `bends` are the recorded activation and its own, `words` as of `standingIn`.
   */
  again(run, { frame, loss, lr, rows, deltas, others, bends, words, ...numbers }) {
    const { told, lengths } = this, walk = Object.assign(Object.create(this), { run }), joined = named => lengths.flatMap(([name, count]) => [...(named[name] ?? Array(count).fill(NaN))]);
    walk.computed = { words, others: Object.assign({}, ...others.map(name => (name === "bend" ? withBends(...bends) : { rule: () => null, "other rule": record => record }))) };
    walk.told = { ...told, frame, loss, lr, step: run.steps[frame] + 1, said: told.said.map(([always]) => [always]) };
    walk.take({ ...numbers, rows: Float64Array.from(joined(rows)), deltas: Float64Array.from(joined(deltas)) });
    return walk;
  }

  get count() {
    return this.plan.steps.length;
  }

  phaseAt(at) {
    return this.plan.steps[at - 1];
  }

  /** Return the first micro-step of a phase, or of the next phase that has any, from 1. */
  firstOf(phase) {
    return 1 + this.plan.steps.findIndex(of => of >= phase);
  }

  /** Whether some weight goes with its gradient; in plain descent all go against it. */
  get follows() {
    const { gradient, change } = this.numbers;
    return change.some((x, k) => x * gradient[k] > 0);
  }

  /** Return the first micro-step about a weight from a phase on; null if none is. */
  about(index, phase) {
    const found = this.plan.lights.findIndex((light, k) => this.plan.steps[k] >= phase && light[LIGHT.now].some(([first, end]) => first <= index && index < end));
    return found < 0 ? null : found + 1;
  }

  /** Return the quantity of a phase, which the cubes show. */
  quantityAt(at) {
    return SHOWN[this.phaseAt(at)];
  }

  /** Return the display list of a micro-step, for the lying picture (0) or the standing one (1). */
  listAt(at, shape) {
    const list = this.lists[(at - 1) * this.shapes + shape], { lists } = this.run;
    return this.computed ? lists.standingIn(lists.lasting(list, this.computed.others), this.computed.words) : lists.recordedIn(list);
  }

  /** Return a part of what a micro-step lights, as bytes: of the weights, or of all rows. */
  lightAt(at, part) {
    const found = new Uint8Array(part < LIGHT.reached ? this.run.document.parameters : this.deltas.length);
    for (const [first, end] of this.plan.lights[at - 1][part]) found.fill(1, first, end);
    return found;
  }

  /** Return the deltas by the rows of cubes that show them, NaN for unknown ones. */
  rowDeltasAt(at) {
    const come = this.lightAt(at, LIGHT.come), deltas = partsOf(this.deltas.map((delta, k) => (come[k] ? delta : NaN)), this.lengths);
    return new Map(this.plan.lights[at - 1][LIGHT.whose].map(([row, stage]) => [row, deltas.get(stage)]));
  }

  /** Return what the cubes of a document show, and the list around them: `shape` is that of the document. */
  shownAt(at, document, shape) {
    const { run, told, numbers: all } = this, base = run.shown(told.frame), phase = this.phaseAt(at), quantity = this.quantityAt(at);
    const [lit, range, computed] = [LIGHT.lit, LIGHT.range, LIGHT.computed].map(part => this.lightAt(at, part)), numbers = all[quantity], updates = phase === PHASE.update;
    const weight = new Float32Array(document.texels), flags = new Uint8Array(document.texels), rise = updates ? new Map() : null;
    weight.set(base.texels.weight.subarray(0, document.parameters));
    for (let k = 0; k < document.parameters; k++) {
      flags[k] = (base.flags[k] & ~(MARK_BITS.apart | MARK_BITS.missing)) | (computed[k] ? 0 : MARK_BITS.missing);
      if (!updates || !lit[k]) continue;
      weight[k] += numbers[k];
      rise.set(k, Math.min(Math.max(numbers[k] * this.rise[shape], -1), 1));
    }
    const reached = Object.fromEntries(partsOf(this.lightAt(at, LIGHT.reached), this.lengths)), ranged = numbers.map((x, k) => (range[k] ? x : NaN)), deltas = this.rowDeltasAt(at);
    for (const { kind, name, texel, size } of document.plates) {
      if (kind !== "activation") continue;
      weight.set(this.rows.get(name), texel);
      for (let k = 0; k < size; k++) flags[texel + k] = reached[name][k] ? 0 : MARK_BITS.missing;
    }
    const loss = phase >= PHASE.loss ? Number(told.loss) : NaN;
    return {
      pieceOf, kinds: base.kinds, step: told.step, loss, lr: Number(told.lr), sample_loss: told.alone && phase >= PHASE.loss ? loss : null, written: Object.assign(Object.create(this.written), { weight }),
      texels: { weight, [quantity]: numbers.map((x, k) => (lit[k] ? x : 0)) }, flags, reached, rise, lit: { [quantity]: lit }, list: this.listAt(at, shape), past: told.frame < run.frames - 1,
      deltasOf: name => deltas.get(name), whole: name => (name === quantity ? ranged : undefined), shine: player => lightsOf(player, this.lightAt(at, LIGHT.now)), instead: player => darkOf(player, weight, phase > PHASE.loss, deltas),
    };
  }
}

/** Return the range of the known deltas: that of the gradients if they fit. */
function rangeOfDeltas({ quantity, unknown, range }, rows) {
  const most = extentOf([0, ...[...rows.values()].flatMap(row => [...row].filter(Number.isFinite))]);
  return quantity.name === "gradient" && !unknown && most <= range.high ? range : symmetricRange(most, "symlog");
}

/** Return colours, in bytes by texel, of cubes without a number: dark weights, waiting rows, rows at half brightness. */
function darkOf({ document, look, shown, tables }, weight, half, deltas) {
  const { parameters, plates, colours, themes } = document, tray = rgbOf(themes[look].tray).map(part => 255 * part), found = new Map();
  const dim = (table, range, x) => colourAt(table, unitOf(range, x) || 0).map((byte, k) => Math.round(HALF * byte + (1 - HALF) * tray[k]));
  const waits = texel => (shown.flags[texel] & MARK_BITS.missing) !== 0, table = tableOf(mapIn(document, "weight", look), colours);
  const range = weightRange(weight, parameters), wide = rangeOfDeltas(shown, deltas), other = tableOf(mapIn(document, "gradient", look), colours);
  for (let k = 0; k < parameters; k++) if (waits(k)) found.set(k, dim(table, range, weight[k]));
  plates.forEach(({ kind, name, texel, size }, index) => {
    const own = size > SECOND ? deltas.get(name) : null; // no room for a second line
    for (let k = texel; kind === "activation" && k < texel + size; k++) {
      if (own && !Number.isNaN(own[k - texel])) found.set(k, colourAt(other, unitOf(wide, own[k - texel])));
      else if (waits(k)) found.set(k, tray);
      else if (half) found.set(k, dim(tables[1], shown.ranges[index], shown.numbers[k]));
    }
  });
  return found;
}

/** Return the light around cubes, by flat index: strong on current ones, weak on known ones. */
function lightsOf({ document, shown, tables }, now) {
  if (document.parameters > SHINING) return null;
  return k => {
    const unit = Math.min(Math.max(unitOf(shown.range, shown.drawn[k]) || 0, 0), 1), lit = !(shown.flags[k] & MARK_BITS.missing);
    return [...colourAt(tables[0], unit).map(byte => byte / 255), (now[k] ? SHINES : GLIMMERS) * Math.abs(2 * unit - 1) * Number(lit)];
  };
}
