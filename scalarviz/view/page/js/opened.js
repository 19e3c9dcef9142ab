// The page of a run with opened steps: the page of any run, and a walk through the step after a frame, in the window's
// own picture.

import { element } from "./ink.js";
import { countText } from "./numbers.js";
import { layersShown } from "./layers.js";
import { Page, openPage, part } from "./page.js";
import { readRun } from "./recorded.js";
import { actionButton, drawSign } from "./tools.js";
import { PHASE, readWalks } from "./walks.js";

const READ_SECONDS = 1.2; // for which a micro-step is shown while an opened step plays
const CROSS = "M5 2 L10 7 L15 2 L17 4 L12 8 L17 12 L15 14 L10 9 L5 14 L3 12 L8 8 L3 4 Z";
const ROW = [["escape", CROSS], ["micro_back", "back"], ["toggle_run", "play"], ["micro_next", "step"]];

/** Return the nearest number; null if there are none. */
function nearestOf(numbers, wanted) {
  const nearer = (best, one) => (best === null || Math.abs(one - wanted) < Math.abs(best - wanted) ? one : best);
  return numbers.reduce(nearer, null);
}

export class OpenedPage extends Page {
  constructor(run) {
    super(run);
    Object.assign(this, { walks: run.walks, walk: null, made: [], opening: null, at: 0, alone: true, timer: 0 });
  }

  make() {
    super.make();
    const row = part("inner");
    for (const [name, sign] of ROW) {
      const button = row.appendChild(actionButton(this, name, ""));
      button.setAttribute("aria-label", name === "escape" ? "close the step" : name === "toggle_run" ? "play the step" : button.title);
      drawSign(button, sign);
      if (name === "toggle_run") this.playButton = button;
    }
    [this.whoseButton, this.fitButton] = ["whose", "fit"].map(name => row.appendChild(actionButton(this, name, name)));
    part("buttons").append(actionButton(this, "micro_next", "open step"));
    part("keyline").prepend(element("b", "", "."), "\u00a0open\u00a0the\u00a0step\u2003");
  }

  actionsOf() {
    const actions = super.actionsOf(), { step, back, escape, toggle_run: run } = actions;
    return {
      ...actions,
      step: by => (this.walk ? this.go(this.frame + 1) : step(by)),
      back: by => (this.walk ? this.go(this.frame) : back(by)),
      escape: () => (this.walk && !document.querySelector(".sheet:not([hidden])") ? this.go(this.from) : escape()),
      toggle_run: () => (this.walk ? this.playInside() : run()),
      micro_next: () => this.next(),
      micro_back: () => this.previous(),
      whose: () => this.other(),
    };
  }

  // ---- the walk

  /** The part of an address about the opened step. */
  get inside() {
    return this.walk ? `&micro=${this.at}${this.walk.told.alone ? "" : "&whole=1"}` : "";
  }

  /** The frames of the opening branch with an opened step after them. */
  get held() {
    const { frames } = this.walks, { places } = this.run.head;
    return places ? places.flatMap((place, frame) => (frames.includes(place) ? [frame] : [])) : frames;
  }

  /** Open the step after the frame that is shown, which this page computes: its pictures are those of a stored step. */
  async compute() {
    if (this.training?.closed) return this.tell(this.training.closed);
    const { models } = this.walks, found = (await this.training?.open(models.map(({ told }) => told.alone))) ?? [];
    if (!found.length && this.held.length) return this.enter(nearestOf(this.held, this.frame), false);
    if (!found.length) return this.tell("the step after this one does not open: the page lacks some of its numbers");
    this.made = found.map(one => models.find(({ told }) => told.alone === one.alone).again(this.run, one));
    return this.enter(found[0].frame, false);
  }

  /** Return the step after a frame, of one sample or of the batch. */
  walkAt(frame, alone) {
    const made = this.made.filter(({ run, told }) => run === this.run && told.frame === frame);
    if (made.length) return made.find(({ told }) => told.alone === alone) ?? made[0];
    return this.walks.at(this.run.head.places?.[frame] ?? frame, alone);
  }

  /** Whether the page computes the opened steps that it does not store. */
  get computes() {
    return Boolean(this.training && this.walks.models.length);
  }

  /** Open the step after the frame that is shown, or the nearest stored step where this page cannot. */
  openStep() {
    if (!this.computes || this.held.includes(this.frame)) return this.enter(nearestOf(this.held, this.frame), false);
    return this.opening ??= this.compute().finally(() => (this.opening = null));
  }

  /** Show the next micro-step; the first call opens the step, after the last comes the next frame. */
  next() {
    this.stop();
    if (this.opening) return this.opening.then(() => this.walk && this.next()); // it takes a moment
    if (!this.walk) return this.openStep();
    if (this.at < this.walk.count) return this.reach(this.at + 1);
    return this.go(this.frame + 1);
  }

  /** Show the previous micro-step; at the first, the end of the step before, or of the stored one before. */
  async previous() {
    this.stop();
    if (this.walk && this.at > 1) return this.reach(this.at - 1);
    const earlier = this.held.filter(frame => frame < this.frame), before = this.computes && !this.opening ? this.frame - 1 : earlier.at(-1) ?? -1;
    if (before < 0) return this.tell("no opened step is stored before this one");
    if (this.held.includes(before)) return this.enter(before, true);
    this.go(before);
    await this.openStep();
    return this.walk && this.reach(this.walk.count);
  }

  show(quantity) {
    if (this.walk) this.tell("the cubes of an opened step show what it is about");
    else super.show(quantity);
  }

  tell(words) {
    part("remark").textContent = this.walk ? words : "";
    if (!this.walk) part("about").textContent = words || this.origin;
  }

  /** Switch between one sample and the whole batch. */
  other() {
    this.alone = !(this.walk?.told.alone ?? this.alone);
    if (!this.walk) return;
    const walk = this.walkAt(this.frame, this.alone);
    const remark = walk.told.alone === this.alone ? "" : "the other view of this step was not stored";
    Object.assign(this, { walk, at: Math.min(this.at, walk.count) });
    this.lay();
    this.reach(this.at);
    this.tell(remark);
  }

  /** Open the step after a frame, and show its first micro-step, or its last. */
  enter(frame, atEnd) {
    if (frame === null) return this.tell(layersShown() ? "only steps of the recorded layers open" : "no opened step is stored for this branch");
    const from = this.frame, home = this.walk ? this.from : from; // where closing leads back to
    if (!this.walk) this.pose = this.player.view.turned ? this.player.pose : null;
    this.go(frame);
    const walk = this.walkAt(frame, this.alone);
    Object.assign(this, { walk, from: home, at: atEnd ? walk.count : 1, layout: null }); // cubes of an opened step have no looks of their own
    part("app").classList.add("inside");
    part("inner").hidden = false;
    this.lay();
    this.reach(this.at);
    const steps = this.held.map(one => countText(this.run.steps[one] + 1)).join(", ");
    const why = this.training && !this.computes ? "this page opens no other steps of a network of this kind or size; " : "";
    return this.tell(from !== frame && !atEnd ? `${why}of this recording the steps ${steps} are stored` : "");
  }

  layoutIn(shape) {
    return this.walk ? this.walk.layouts[shape] : super.layoutIn(shape);
  }

  documentOf(layout) {
    return { ...super.documentOf(layout), ...(this.walk && { own: undefined }) };
  }

  shown() {
    const shown = super.shown();
    return this.walk ? { stepOf: shown.stepOf, ...this.walk.shownAt(this.at, this.player.document, this.shape) } : shown;
  }

  /** Show a micro-step, by its number from 1. */
  reach(at) {
    const { walk, player } = this;
    this.at = at;
    player.quantity = walk.quantityAt(at);
    player.selected = null; // the list marks the weight
    this.paint();
    part("said").textContent = walk.told.said[at - 1].filter(Boolean).join(" ");
    const other = this.walkAt(this.frame, !walk.told.alone);
    this.whoseButton.hidden = other === walk;
    this.whoseButton.textContent = walk.told.alone ? "whole batch" : "one sample";
    this.tell(walk.phaseAt(at) === PHASE.update && walk.follows ? "an optimiser may also count earlier gradients and penalties: here some weights go with their gradient" : "");
    this.training?.address.tell(true);
  }

  drawn() {
    super.drawn();
    this.fitButton.hidden = !this.player.view.turned;
  }

  pressSpot(name, value) {
    if (!this.walk) return super.pressSpot(name, value);
    this.stop();
    if (name === "phase") this.reach(Math.min(this.walk.firstOf(value), this.walk.count));
    else if ((value === 0) === !this.walk.told.alone) this.other();
    return undefined;
  }

  /** A chosen cube: the micro-step that is about its weight, of this phase or a later one. */
  select(which) {
    if (!this.walk) return super.select(which);
    const found = typeof which === "number" ? this.walk.about(which, this.walk.phaseAt(this.at)) : null;
    this.player.selected = null; // the list marks it
    if (found !== null) this.player.pointer = null; // a label beside a finger would cover what the list says
    return found === null ? undefined : this.stop() || this.reach(found);
  }

  /** Play the opened step, or pause it. */
  playInside() {
    if (this.timer) return this.stop();
    if (this.at === this.walk.count) this.reach(1);
    this.timer = setInterval(() => (this.at < this.walk.count ? this.reach(this.at + 1) : this.stop()), 1000 * READ_SECONDS);
    return drawSign(this.playButton, "pause");
  }

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
    if (this.playButton) drawSign(this.playButton, "play");
    super.stop();
  }

  /** Show another run; an opened step closes first, in its own. */
  take(run) {
    if (this.walk) this.go(this.from);
    super.take(run);
  }

  go(frame) {
    const { walk } = this;
    if (walk) {
      this.stop();
      Object.assign(this, { walk: null, at: 0, layout: null });
      part("app").classList.remove("inside");
      part("inner").hidden = true;
      part("said").textContent = "";
      this.lay();
      if (this.pose) this.player.pose = this.pose;
      this.tell("");
    }
    super.go(frame);
    if (walk) this.training?.address.tell(true);
  }

  paper(flat) {
    if (!this.walk || flat) return super.paper(flat);
    return this.player.draw();
  }

  /** Apply a micro-step in the address: `#frame=20&micro=32`, with `&whole=1` for the whole batch. */
  follow(hash) {
    const there = super.follow(hash), wanted = new URLSearchParams(hash.slice(1)), at = Math.round(Number(wanted.get("micro")));
    if (!(at >= 1)) return there;
    this.stop();
    this.alone = wanted.get("whole") !== "1";
    this.openAt(at);
    return true;
  }

  // Open a step at a micro-step, once there is what the address says of training.
  async openAt(at) {
    const { repeating } = this.training?.address ?? {};
    if (repeating && !(await repeating)) return;
    await this.openStep();
    if (this.walk) this.reach(Math.min(at, this.walk.count));
  }
}

export const openWithSteps = () => openPage(async textOf => {
  const run = await readRun(textOf);
  run.walks = await readWalks(textOf, run);
  return run;
}, OpenedPage);
