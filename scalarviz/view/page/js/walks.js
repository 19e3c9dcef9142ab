// The micro-steps that a page holds: after which frames there are any, and what the cubes show at each of them.

import { MARK_BITS } from "./quantity.js";
import { extentOf, symmetricRange } from "./ranges.js";
import { bytesOf, inflated, rowOf, unpackTable } from "./unpack.js";

/** Places of the phases of a step. */
export const PHASE = { zero: 0, forward: 1, loss: 2, backward: 3, gradients: 4, update: 5 };

export async function readWalks(textOf, run) {
  const said = JSON.parse(new TextDecoder().decode(await inflated(bytesOf(textOf("walks")))));
  return new Walks(said, await unpackTable(JSON.parse(textOf("steps"))), run);
}

/** All of them; a walk is one step, opened: with one sample alone, or of the whole batch. */
export class Walks {
  /** `table` has a row a walk: gradient and new weights (P each), then the rows of all stages, then their deltas. */
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

/** The whole numbers of runs [first, end). */
function* numbersIn(runs) {
  for (const [first, end] of runs) for (let k = first; k < end; k++) yield k;
}

export class RecordedWalk {
  constructor(told, plan, numbers, lengths, run) {
    Object.assign(this, { told, plan, run, lengths });
    const { parameters } = run.document, width = lengths.reduce((sum, [, count]) => sum + count, 0);
    this.gradient = numbers.subarray(0, parameters);
    this.after = numbers.subarray(parameters, 2 * parameters);
    this.rows = this.#rowsFrom(numbers, 2 * parameters);
    this.deltas = this.#rowsFrom(numbers, 2 * parameters + width);
    this.cubes = new Set(run.document.plates.filter(plate => plate.kind === "activation").map(plate => plate.name));
  }

  #rowsFrom(numbers, start) {
    let at = start;
    return new Map(this.lengths.map(([name, count]) => [name, numbers.subarray(at, at += count)]));
  }

  get count() {
    return this.plan.steps.length;
  }

  phaseAt(at) {
    return this.plan.steps[at - 1][0];
  }

  /** The first micro-step of a phase, or of the next that has any, from 1. */
  firstOf(phase) {
    return 1 + this.plan.steps.findIndex(([of]) => of >= phase);
  }

  /** What the cubes show: the quantity of a phase. */
  quantityAt(at) {
    return [PHASE.zero, PHASE.backward, PHASE.gradients].includes(this.phaseAt(at)) ? "gradient" : "weight";
  }

  /** Whether rows show deltas at a micro-step. */
  backwardAt(at) {
    return [PHASE.backward, PHASE.gradients].includes(this.phaseAt(at));
  }

  /** Which weights have their gradient, and which are at their new value, after a micro-step: bytes, (parameters,). */
  weightsAt(at, phase) {
    const found = new Uint8Array(this.run.document.parameters);
    for (const [of, , , , weights] of this.plan.steps.slice(0, at)) {
      if (of === phase) for (const k of numbersIn(weights)) found[k] = 1;
    }
    return found;
  }

  /** By stage, which numbers of its row the forward pass has come to; "input" too. */
  reachedAt(at) {
    const phase = this.phaseAt(at), done = phase > PHASE.forward;
    const found = Object.fromEntries(this.lengths.map(([name, count]) => [name, new Uint8Array(count).fill(Number(done))]));
    for (const [of, kind, stages, units] of this.plan.steps.slice(0, at)) {
      if (of === PHASE.forward && kind !== "product") for (const one of stages) for (const k of numbersIn(units)) found[this.lengths[one][0]][k] = 1;
    }
    const inputs = this.run.document.names.inputs.length;
    return { ...found, input: new Uint8Array(inputs).fill(Number(phase >= PHASE.forward)) };
  }

  /** By stage, the deltas that have come, NaN for the others; with a layer's come those of all stages behind it. */
  deltasAt(at) {
    const found = new Map(this.lengths.map(([name, count]) => [name, new Float32Array(count).fill(NaN)]));
    for (const [of, , stages, units] of this.plan.steps.slice(0, at)) {
      if (of !== PHASE.backward) continue;
      for (const [name] of stages.map(one => this.lengths[one])) for (const k of numbersIn(units)) found.get(name)[k] = this.deltas.get(name)[k];
      for (const [behind] of this.lengths.slice(Math.max(...stages) + 1)) found.set(behind, this.deltas.get(behind));
    }
    return found;
  }

  /** Deltas by the rows that are cubes: one that stands for sums and what becomes of them has those of the sums. */
  rowDeltasAt(at) {
    const deltas = this.deltasAt(at), found = new Map();
    let pending = null;
    for (const { name, weight } of this.run.document.stages) {
      if (this.cubes.has(name)) {
        const own = deltas.get(name);
        const use = pending && pending.length === own.length && !pending.every(Number.isNaN);
        found.set(name, use ? pending : own);
        pending = null;
      } else if (weight !== null) pending = deltas.get(name);
    }
    return found;
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
    const { run } = this, { document } = run, frame = run.shown(this.told.frame), { parameters } = document;
    const computed = this.weightsAt(at, PHASE.gradients), moved = this.weightsAt(at, PHASE.update);
    const flags = frame.flags.slice(), weight = frame.texels.weight.slice(), reached = this.reachedAt(at);
    for (let k = 0; k < parameters; k++) {
      flags[k] &= ~MARK_BITS.apart;
      flags[k] = computed[k] ? flags[k] & ~MARK_BITS.missing : flags[k] | MARK_BITS.missing;
      if (moved[k]) weight[k] = this.after[k];
    }
    const hides = new Set(), backward = this.backwardAt(at) ? this.rowDeltasAt(at) : null;
    this.#putRows(weight, flags, hides, reached, backward);
    const rows = Object.fromEntries([...this.rows].filter(([name]) => !this.cubes.has(name)));
    const { gradient: errors, ...others } = frame.errors ?? {};
    const shown = { ...frame, texels: { ...frame.texels, weight, gradient: this.gradient }, errors: { ...others, gradient: null }, flags,
      rows: { ...frame.rows, ...rows }, reached, hides, step: this.told.step, sample_loss: null, about: [this.told.samples, frame.about?.[1]] };
    const { single } = document.words; // of one layer deltas stand below its outputs
    if (single && this.phaseAt(at) >= PHASE.backward) shown.deltas = { row: this.deltasAt(at).get(single.sums), mean: this.told.mean };
    return backward ? { ...shown, rowMap: "gradient", rowRange: rangeOfDeltas(backward) } : shown;
  }

  // Rows of activations that are cubes: what is not there yet is marked, and backwards they are deltas.
  #putRows(weight, flags, hides, reached, backward) {
    for (const { kind, name, texel, size } of this.run.document.plates) {
      if (kind !== "activation") continue;
      const deltas = backward?.get(name), row = deltas ?? (name === "input" ? null : this.rows.get(name));
      const whole = backward ? deltas && !deltas.some(Number.isNaN) : reached[name].every(Boolean);
      for (let k = 0; k < size; k++) {
        const there = backward ? deltas && !Number.isNaN(deltas[k]) : reached[name][k];
        if (row) weight[texel + k] = there ? row[k] : 0;
        if (!there) flags[texel + k] |= MARK_BITS.missing;
        if (backward) flags[texel + k] &= ~MARK_BITS.dead;
        if (!there || !whole) hides.add(texel + k);
      }
    }
  }
}

/** The range of the deltas that have come. */
function rangeOfDeltas(rows) {
  const numbers = [0, ...[...rows.values()].flatMap(row => [...row].filter(Number.isFinite))];
  return symmetricRange(extentOf(numbers), "symlog");
}
