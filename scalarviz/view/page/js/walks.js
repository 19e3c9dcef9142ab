// The micro-steps that a page holds: after which frames there are any, and what the cubes show at each of them.

import { rgbOf } from "./gl.js";
import { MARK_BITS } from "./quantity.js";
import { colourAt, extentOf, symmetricRange, tableOf, unitOf, weightReach } from "./ranges.js";
import { bytesOf, inflated, rowOf, unpackTable } from "./unpack.js";

/** Places of the phases of a step. */
export const PHASE = { zero: 0, forward: 1, loss: 2, backward: 3, gradients: 4, update: 5 };
/** Parts of what a micro-step lights: weights that are lit, that make the range, that have their gradient, that it is about; rows; deltas; sums. */
export const LIGHT = { lit: 0, range: 1, computed: 2, now: 3, reached: 4, come: 5, whose: 6, sums: 7 };
/** What cubes show in each phase. */
const SHOWN = ["gradient", "product", "product", "passed on", "gradient", "change"];
/** Units of a row, up to which each has its delta beside it, as a second line. */
export const SECOND = 64;
const SHINES = 0.8, GLIMMERS = 0.25, SHINING = 4000; // light around what comes about now, and what has come; of so many cubes
const HALF = 0.5; // of its colour, what is left of a cube in the dark

export async function readWalks(textOf, run) {
  const said = JSON.parse(new TextDecoder().decode(await inflated(bytesOf(textOf("walks")))));
  return new Walks(said, await unpackTable(JSON.parse(textOf("steps"))), run);
}

/** All of them; a walk is one step, opened: with one sample alone, or of the whole batch. */
export class Walks {
  /** `table` has a row a walk: gradient, product, what is passed on and change (P each), rows of all stages, their deltas. */
  constructor(said, table, run) {
    Object.assign(this, { run, lengths: said.rows });
    this.walks = said.walks.map((told, k) => new RecordedWalk(told, said.plans[told.plan], rowOf(table, k), said.rows, run));
    this.frames = [...new Set(this.walks.map(walk => walk.told.frame))].sort((a, b) => a - b);
  }

  /** The step after a frame, with the sample `alone` where there is such a one, else the other one; null where there is none. */
  at(frame, alone) {
    const there = this.walks.filter(walk => walk.told.frame === frame);
    return there.find(walk => walk.told.alone === alone) ?? there[0] ?? null;
  }

}

export class RecordedWalk {
  constructor(told, plan, numbers, lengths, run) {
    Object.assign(this, { told, plan, run, lengths });
    const { parameters } = run.document, width = lengths.reduce((sum, [, count]) => sum + count, 0);
    const names = ["gradient", "product", "passed on", "change"];
    this.numbers = Object.fromEntries(names.map((name, k) => [name, numbers.subarray(k * parameters, (k + 1) * parameters)]));
    this.rows = this.#rowsOf(numbers.subarray(4 * parameters, 4 * parameters + width));
    this.deltas = numbers.subarray(4 * parameters + width);
    this.cubes = new Set(run.document.plates.filter(plate => plate.kind === "activation").map(plate => plate.name));
  }

  #rowsOf(numbers) {
    let at = 0;
    return new Map(this.lengths.map(([name, count]) => [name, numbers.subarray(at, at += count)]));
  }

  get count() {
    return this.plan.steps.length;
  }

  phaseAt(at) {
    return this.plan.steps[at - 1];
  }

  /** The first micro-step of a phase, or of the next that has any, from 1. */
  firstOf(phase) {
    return 1 + this.plan.steps.findIndex(of => of >= phase);
  }

  /** What the cubes show: the quantity of a phase. */
  quantityAt(at) {
    return SHOWN[this.phaseAt(at)];
  }

  /** A part of what a micro-step lights, as bytes: of the weights, or of all rows. */
  lightAt(at, part) {
    const found = new Uint8Array(part < LIGHT.reached ? this.run.document.parameters : this.deltas.length);
    for (const [first, end] of this.plan.lights[at - 1][part]) found.fill(1, first, end);
    return found;
  }

  /** By stage, which numbers of its row the forward pass has come to; "input" too. */
  reachedAt(at) {
    const input = new Uint8Array(this.run.document.names.inputs.length).fill(1);
    return { ...Object.fromEntries(this.#rowsOf(this.lightAt(at, LIGHT.reached))), input };
  }

  /** By stage, the deltas that have come, NaN for the others. */
  deltasAt(at) {
    const come = this.lightAt(at, LIGHT.come);
    return this.#rowsOf(this.deltas.map((delta, k) => (come[k] ? delta : NaN)));
  }

  /** They by the rows of cubes that have them. */
  rowDeltasAt(at) {
    const deltas = this.deltasAt(at);
    return new Map(this.plan.lights[at - 1][LIGHT.whose].map(([row, stage]) => [row, deltas.get(stage)]));
  }

  /** What stands on cubes of a small net: [above, below] by flat index, of those whose number comes about in this phase. */
  facesAt(at) {
    const phase = this.phaseAt(at), found = new Map();
    this.told.lines.slice(0, at).forEach(([, , , face], k) => {
      if (face && this.phaseAt(k + 1) === phase) found.set(...face);
    });
    return found;
  }

  shownAt(at) {
    const { run, told, numbers: all } = this, { document } = run, frame = run.shown(told.frame), phase = this.phaseAt(at), quantity = this.quantityAt(at);
    const [lit, range, computed] = [LIGHT.lit, LIGHT.range, LIGHT.computed].map(part => this.lightAt(at, part)), numbers = all[quantity], updates = phase === PHASE.update;
    const flags = frame.flags.slice(), weight = frame.texels.weight.slice(), reached = this.reachedAt(at), rise = updates ? new Map() : null;
    for (let k = 0; k < document.parameters; k++) {
      flags[k] = (flags[k] & ~(MARK_BITS.apart | MARK_BITS.missing)) | (computed[k] ? 0 : MARK_BITS.missing);
      if (!updates || !lit[k]) continue;
      weight[k] += numbers[k];
      rise.set(k, Math.min(Math.max(numbers[k] * told.rise, -1), 1));
    }
    const hides = new Set(), ranged = numbers.map((x, k) => (range[k] ? x : NaN));
    this.#putRows(weight, flags, hides, reached);
    const rows = Object.fromEntries([...this.rows].filter(([name]) => !this.cubes.has(name)));
    const { gradient: _, ...others } = frame.errors ?? {};
    const shown = { ...frame, texels: { ...frame.texels, ...all, [quantity]: numbers.map((x, k) => (lit[k] ? x : 0)), weight },
      errors: others, flags, rows: { ...frame.rows, ...rows }, reached, hides, lit: { [quantity]: lit }, rise, step: told.step, sample_loss: phase < PHASE.loss || told.own === null ? null : Number(told.own),
      deltasOf: name => this.rowDeltasAt(at).get(name), whole: name => (name === quantity ? ranged : undefined), shine: player => lightsOf(player, this.lightAt(at, LIGHT.now)), instead: player => darkOf(player, weight, phase > PHASE.loss, this.rowDeltasAt(at)),
      about: [quantity === "gradient" ? told.samples : "", updates ? told.height : ""] };
    const { single } = document.words; // of one layer deltas stand below its outputs
    if (single && phase >= PHASE.backward) shown.deltas = { row: this.deltasAt(at).get(single.sums), mean: told.mean };
    return shown;
  }

  // Rows of activations that are cubes: what is not there yet is marked.
  #putRows(weight, flags, hides, reached) {
    for (const { kind, name, texel, size } of this.run.document.plates) {
      if (kind !== "activation") continue;
      const row = name === "input" ? null : this.rows.get(name), whole = reached[name].every(Boolean);
      for (let k = 0; k < size; k++) {
        if (row) weight[texel + k] = row[k];
        flags[texel + k] = (flags[texel + k] & ~(row ? MARK_BITS.missing : 0)) | (reached[name][k] ? 0 : MARK_BITS.missing);
        if (!whole) hides.add(texel + k);
      }
    }
  }
}

/** The range of the deltas that have come: that of the gradients, where they fit in. */
export function rangeOfDeltas({ quantity, unknown, range }, rows) {
  const most = extentOf([0, ...[...rows.values()].flatMap(row => [...row].filter(Number.isFinite))]);
  return quantity.name === "gradient" && !unknown && most <= range.high ? range : symmetricRange(most, "symlog");
}

/** Colours, in bytes by texel, of cubes that show no number: weights in the dark, rows that wait or stand at half light. */
function darkOf({ document, look, shown, tables }, weight, half, deltas) {
  const { parameters, plates, maps, colours, themes } = document, tray = rgbOf(themes[look].tray).map(part => 255 * part), found = new Map();
  const dim = (table, range, x) => colourAt(table, unitOf(range, x) || 0).map((byte, k) => Math.round(HALF * byte + (1 - HALF) * tray[k]));
  const waits = texel => (shown.flags[texel] & MARK_BITS.missing) !== 0, table = tableOf(maps.weight[look], colours), every = [[0, parameters]];
  const range = symmetricRange(extentOf(weight, every, weightReach(weight, every))), wide = rangeOfDeltas(shown, deltas), other = tableOf(maps.gradient[look], colours);
  for (let k = 0; k < parameters; k++) if (waits(k)) found.set(k, dim(table, range, weight[k]));
  plates.forEach(({ kind, name, texel, size }, index) => {
    const own = size > SECOND ? deltas.get(name) : null; // where no second line has room
    for (let k = texel; kind === "activation" && k < texel + size; k++) {
      if (own && !Number.isNaN(own[k - texel])) found.set(k, colourAt(other, unitOf(wide, own[k - texel])));
      else if (waits(k)) found.set(k, tray);
      else if (half) found.set(k, dim(tables[1], shown.ranges[index], shown.numbers[k]));
    }
  });
  return found;
}

/** Light around cubes, by flat index: what comes about now shines, what has come glimmers. */
function lightsOf({ document, shown, tables }, now) {
  if (document.parameters > SHINING) return null;
  return k => {
    const unit = Math.min(Math.max(unitOf(shown.range, shown.drawn[k]) || 0, 0), 1), lit = !(shown.flags[k] & MARK_BITS.missing);
    return [...colourAt(tables[0], unit).map(byte => byte / 255), (now[k] ? SHINES : GLIMMERS) * Math.abs(2 * unit - 1) * Number(lit)];
  };
}
