// The address of a page that trains: its end says how what is shown was made, and an address like that makes it again.

import { layersShown } from "./layers.js";
import { countText } from "./numbers.js";
import { part } from "./page.js";

const MOST_LETTERS = 2000, MOST_REPEATED = 1e7, FRAMES_REPEATED = 100; // of an address, steps of one, and frames between two changes
const CHANGE = /^(lr|batch|rule|bend|l1|l2|keep|raw|f?\d+|add):([-+.\de;]+)@(\d+)$/; // in an address

export class Address {
  constructor(training) {
    Object.assign(this, { training, repeats: 0, repeated: "", repeating: null });
  }

  /** What an address says is no longer repeated. */
  cancel() {
    this.repeats += 1;
    this.repeated = "";
    this.repeating = null;
  }

  /**
   * Put what is shown into the address: `#train=500&from=300&did=lr:0.1@303,4:-3@310`; `seed=` or `equal=` for other first
   * weights. A recorded frame is named only if its step `opens` or closes.
   */
  tell(opens = false) {
    const { line, base, page: { run, frame, inside = "" } } = this.training;
    if (!line && !opens) return;
    if (frame < run.frames - run.computed) return putAddress(line || run === base ? `#step=${run.steps[frame]}${inside}` : "#"); // no address names a branch
    const { place, first } = line, did = line.did.filter(([, , , frames]) => frames <= frame), [[name, number]] = Object.entries(first ?? { from: base.steps[place] });
    const start = first || place < base.frames - 1 ? `&${name}=${number}` : "";
    const changes = did.length ? `&did=${did.map(([what, step, value]) => `${what}:${value}@${step}`)}` : "";
    const text = `#train=${run.steps[frame]}${start}${changes}${inside}`, long = text.length > MOST_LETTERS && "these are too many changes for an address";
    const lost = did.some(([what]) => what === "picture") ? "a dropped picture is not in the address" : long;
    if (lost) part("about").textContent = lost;
    putAddress(lost ? "#" : text);
  }

  /** Let an address that names a recorded step name the one that is shown. */
  keep() {
    const { line, page: { run, frame } } = this.training, wanted = new URLSearchParams(window.location.hash.slice(1));
    if (line || !wanted.has("step") || Number(wanted.get("step")) === run.steps[frame]) return;
    for (const name of ["layers", "micro", "whole"]) wanted.delete(name);
    wanted.set("step", run.steps[frame]);
    putAddress(`#${wanted}`);
  }

  /** Do again what an address says, or begin to train (`#train`); false: it says nothing of training. */
  follow(wanted) {
    const { training, training: { told } } = this;
    this.cancel(); // what another address says
    const until = Math.round(Number(wanted.get("train")));
    if (wanted.get("train") === "" && !window.matchMedia("(prefers-reduced-motion: reduce)").matches) {
      if (!training.running) training.toggle();
      return true;
    }
    const whole = name => (/^\d{1,15}$/.test(wanted.get(name) ?? "") ? Number(wanted.get(name)) : null);
    const equal = Number(wanted.get("equal") || NaN), seed = told.laws.length ? whole("seed") : null;
    const first = seed !== null ? { seed } : Number.isFinite(equal) ? { equal } : null;
    if (!wanted.has("train") || !Number.isSafeInteger(until) || until < (first || wanted.has("from") ? 0 : 1)) return false;
    this.repeating = this.repeat(Math.min(until, MOST_REPEATED), whole("from"), first, (wanted.get("did") ?? "").slice(0, MOST_LETTERS));
    return true;
  }

  // Return whether it reached the end.
  async repeat(until, from, first, did) {
    const { training, training: { page, base }, repeats } = this;
    part("about").textContent = this.repeated = `computing step ${countText(until)}\u2026, as the address says`;
    if (page.run !== base) page.take(base);
    if (first) await training.restart(first);
    else page.go(from === null ? base.frames - 1 : Math.max(base.steps.findLastIndex(step => step <= from), 0));
    if (!training.possible) return this.cancel();
    const found = did.split(",").map(one => CHANGE.exec(one)).filter(Boolean);
    for (const [, what, value, step] of [...found, [null, "", "", until]]) {
      const wanted = Math.min(Number(step), until), now = () => page.run.steps[page.frame], each = Math.ceil((wanted - now()) / FRAMES_REPEATED);
      while (now() < wanted) {
        const before = now();
        await training.begin(Math.min(each, wanted - before), Infinity);
        if (repeats !== this.repeats) return;
        if (now() <= before || !Number.isFinite(page.run.trained.at(-1))) return this.cancel(); // somebody else asks, or it diverged
      }
      if (what) await training.change(what, what === "add" ? value : Number(value));
      if (repeats !== this.repeats) return;
    }
    this.cancel();
    part("about").textContent = training.line?.risen || training.origin;
    this.tell();
    return true;
  }
}

/** Set the end of the address, after the layers that the page shows; some frames have none. */
export function putAddress(text) {
  const layers = layersShown() && `#layers=${layersShown()}`;
  try {
    window.history.replaceState(null, "", layers ? layers + text.replace("#", "&").replace(/&$/, "") : text);
  } catch {
    return;
  }
}
