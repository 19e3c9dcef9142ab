// The time bar of a live cell: a page's bar whose curve grows while it is looked at.

import { TimeBar } from "./timebar.js";

const NEAR_PAUSE = 60;   // milliseconds between two ways of a hand that drags

/** Where training is, where it was, and what happened where. */
export class CellTime {
  /**
   * @param {HTMLElement} root
   * @param {object} cell The LiveCell.
   */
  constructor(root, cell) {
    Object.assign(this, { root, cell, bar: null, told: null, later: [], points: [], step: 0, went: 0, wanted: null });
    root.hidden = true;
    this.branches = null;
  }

  /** What Python tells of the past: its ends, edits, flags and branches, and now and then all losses. */
  take(told, curve) {
    this.root.hidden = !told;
    if (!told) return;
    if (curve !== this.curve) {
      this.curve = curve;
      this.points = curve ? curve.steps.map((step, k) => [step, Number(curve.loss[k])]) : [];
      const last = this.points.length ? this.points[this.points.length - 1][0] : told.first;
      this.later = this.later.filter(([step]) => step > last);
    }
    this.told = told;
    this.later = this.later.filter(([step]) => step <= told.newest);
  }

  /** A frame came: its loss is of the curve, too. */
  add(step, loss) {
    const all = this.later.length ? this.later : this.points, last = all.length ? all[all.length - 1][0] : -1;
    if (step > last && Number.isFinite(loss)) this.later.push([step, loss]);
  }

  /** Stand where the run stands, in a look. */
  stand(look) {
    if (!this.told || !look) return;
    const step = this.told.at, run = this.run(step), signature = `${run.steps.length} ${this.told.newest} ${run.edits.length} ${run.named.length}`;
    if (!this.bar) this.bar = new TimeBar(this.root, run, frame => this.go(frame));
    else if (signature !== this.signature || run.steps[run.at] !== this.bar.run.steps[run.at]) this.bar.take(run);
    Object.assign(this, { signature, step });
    this.bar.show(run.at, look);
    this.writeBranches();
  }

  /** Steps with their losses, the first, this and the newest among them. */
  run(step) {
    const points = new Map([[this.told.first, NaN], ...this.points, ...this.later]);
    for (const own of [step, this.told.newest]) if (!points.has(own)) points.set(own, NaN);
    const steps = [...points.keys()].filter(one => one >= this.told.first && one <= Math.max(this.told.newest, step)).sort((a, b) => a - b);
    return { steps, loss: steps.map(one => points.get(one)), edits: this.told.edits, named: this.told.flags,
      left: [], about: { stepLoss: this.told.stepLoss }, at: steps.indexOf(step) };
  }

  /** A hand wants a frame of the bar; while it drags, not more often than there is time for. */
  go(frame) {
    const step = this.bar.run.steps[frame], now = performance.now();
    this.wanted = step;
    if (now - this.went >= NEAR_PAUSE) this.ask(true);
    clearTimeout(this.rest);
    this.rest = setTimeout(() => this.settle(), 2 * NEAR_PAUSE);
  }

  /** The hand has left the bar, or does something else, which comes after it: exactly to where it was left. */
  settle() {
    if (!this.rest) return;
    clearTimeout(this.rest);
    this.rest = 0;
    this.ask(false);
  }

  ask(near) {
    this.went = performance.now();
    this.cell.say({ kind: "go", step: this.wanted, near });
  }

  /** Branches as a choice, where there are several. */
  writeBranches() {
    const { branches } = this.told, key = JSON.stringify(branches);
    if (key === this.written) return;
    this.written = key;
    this.branches?.remove();
    this.branches = null;
    if (branches.length < 2) return;
    this.branches = this.root.appendChild(document.createElement("select"));
    this.branches.className = "branches";
    this.branches.setAttribute("aria-label", "branches of the past");
    for (const { number, newest, why, current } of branches) {
      const option = this.branches.appendChild(document.createElement("option"));
      option.value = String(number);
      option.selected = current;
      option.textContent = `branch ${number + 1}: to step ${newest}${why ? `, ${why}` : ""}`;
    }
    this.branches.addEventListener("change", () => this.cell.say({ kind: "branch", number: Number(this.branches.value) }));
  }

  dispose() {
    clearTimeout(this.rest);
  }
}
