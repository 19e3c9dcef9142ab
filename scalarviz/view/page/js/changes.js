// What a user changes while a page trains: the rate, the batch, samples, weights, the beginning, and three mistakes to learn from.

import { element } from "./ink.js";
import { layersShown } from "./layers.js";
import { MISTAKES } from "./line.js";
import { countText } from "./numbers.js";
import { part } from "./page.js";
import { Samples } from "./samples.js";

const EQUAL = 0.5; // of all first weights, where they begin equal
const SCROLLED = 0.05 / 100, SCROLL_REST = 250; // of the largest weight, for a pixel of the wheel; and milliseconds after which it rests
const DRAGGED = 1 / 300; // of the largest weight, for a pixel of a drag
const PENALTIES = {
  l1: "a penalty on the size of each weight: many weights become almost 0",
  l2: "a penalty on the square of each weight: all weights become smaller",
};

/** Return an input in a label; with the names of `choices` it is a menu, whose values are their places. */
function fieldIn(root, words, title, how, choices = null) {
  const label = root.appendChild(element("label", "", how.type === "checkbox" ? "" : words)), field = label.appendChild(element(choices ? "select" : "input"));
  label.title = title;
  choices?.forEach((name, k) => (field.appendChild(element("option", "", name)).value = String(k)));
  if (how.type === "checkbox") label.append(words);
  return Object.assign(field, how);
}

export class Changes {
  constructor(training) {
    Object.assign(this, { training });
    const { told, page } = training, number = { type: "number", step: "any" }, card = part("card").querySelector(".words");
    this.lr = fieldIn(part("speed"), "lr ", "the learning rate of the coming steps", { ...number, min: "0" });
    this.lr.addEventListener("change", () => {
      training.change("lr", Math.max(0, this.lr.valueAsNumber)); // no rate is less
      this.lr.blur(); // keys are the page's again
    });
    this.value = fieldIn(card, "set to ", "give this weight another value", number);
    this.value.addEventListener("change", () => {
      if (this.value.value !== "") training.change(page.card.texel, Number(this.value.value));
      this.value.value = "";
      this.value.blur();
    });
    this.frozen = fieldIn(card, "frozen", "training does not change this weight", { type: "checkbox" });
    this.frozen.addEventListener("change", () => training.change(`f${page.card.texel}`, Number(this.frozen.checked)));
    const numbers = this.numbers = card.querySelector("table");
    numbers.addEventListener("pointerdown", event => this.takes(page.card.texel) && numbers.setPointerCapture(event.pointerId));
    numbers.addEventListener("pointermove", event => numbers.hasPointerCapture(event.pointerId) && event.movementX && this.turn(page.card.texel, DRAGGED * event.movementX));
    numbers.addEventListener("lostpointercapture", () => this.settle());
    const row = this.row = part("row").appendChild(element("div"));
    Object.assign(row, { id: "changes", hidden: !layersShown() }); // a page with other layers was opened from here
    const open = this.open = part("buttons").appendChild(element("button", "change", "change"));
    open.title = "the batch, samples, the first weights, and three mistakes";
    open.setAttribute("aria-expanded", String(!row.hidden));
    open.addEventListener("click", () => {
      row.hidden = !row.hidden;
      open.setAttribute("aria-expanded", String(!row.hidden));
      if (!row.hidden) row.scrollIntoView({ block: "nearest" });
    });
    this.batch = fieldIn(row, "batch ", "", { ...number, min: "1", step: "1" });
    this.batch.addEventListener("change", () => training.change("batch", Number(this.batch.value)));
    this.rule = fieldIn(row, "optimiser ", "another one begins anew, with its usual numbers", {}, told.rules.map(({ name }) => name));
    this.rule.parentElement.hidden = told.rules.length < 2; // parameter groups have several rules
    this.rule.addEventListener("change", () => training.change("rule", Number(this.rule.value)));
    const { layers = [] } = told; // the recorded ones first
    this.layers = fieldIn(row, "layers ", "units of the hidden layers; others begin anew", {}, layers);
    this.layers.parentElement.hidden = !layers.length;
    this.layers.value = String(Math.max(layers.indexOf(layersShown()), 0));
    this.layers.addEventListener("change", () => {
      const place = Number(this.layers.value), wanted = place ? `#layers=${layers[place]}` : "";
      window.location.hash = wanted;
      if (window.location.hash !== wanted) part("about").textContent = `this frame takes no address: open the page alone, with ${wanted || "#"} at its end`;
    });
    this.bend = fieldIn(row, "activation ", "of all hidden layers", {}, told.bends.map(({ name }) => name));
    this.bend.parentElement.hidden = told.bends.length < 2;
    this.bend.addEventListener("change", () => training.change("bend", Number(this.bend.value)));
    this.penalties = Object.entries(PENALTIES).map(([name, title]) => {
      const field = fieldIn(row, `${name} `, title, { ...number, min: "0" });
      field.addEventListener("change", () => training.change(name, Math.max(0, field.valueAsNumber)));
      return [name, field];
    });
    this.switches = Object.entries(MISTAKES).map(([name, [words, title]]) => {
      const field = fieldIn(row, words, title, { type: "checkbox" });
      field.addEventListener("change", () => training.change(name, Number(field.checked)));
      return [name, field];
    });
    this.samples = new Samples(training, row);
    const start = words => row.appendChild(element("button", "", words));
    if (told.laws.length) {
      const field = fieldIn(row, "seed ", "of the first weights", { ...number, min: "0", step: "1", value: "1" }), again = start("begin with this seed");
      again.addEventListener("click", () => Number.isSafeInteger(field.valueAsNumber) && field.valueAsNumber >= 0 && training.restart({ seed: field.valueAsNumber }));
    }
    start("begin with equal weights").addEventListener("click", () => training.restart({ equal: EQUAL }));
    this.undo = start("undo");
    this.undo.title = "go to the moment before the last change (Ctrl+Z)";
    this.undo.addEventListener("click", () => training.undo());
    document.addEventListener("keydown", event => {
      if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.key !== "z" || event.target.tagName === "INPUT") return;
      event.preventDefault();
      training.undo();
    });
    this.home = part("tools").appendChild(element("button", "", "recording"));
    this.home.title = "show the recorded steps; the time bar has a ring for what this page computed";
    this.home.addEventListener("click", () => training.home());
    part("stage").addEventListener("wheel", event => event.shiftKey && this.scroll(event), { capture: true, passive: false });
    this.write(null, page.frame);
  }

  /** The state of the recorded training before the shown frame. */
  get key() {
    const { told, line, page } = this.training;
    return told.keys.findLast(one => one.frame <= (line ? line.place : page.frame)) ?? told.keys[0];
  }

  /** Whether a number is a weight that can get another value after the shown frame. */
  takes(index) {
    const { trained, frozen } = this.key;
    return this.training.possible && Boolean(trained[index] || frozen[index]);
  }

  /** Change the weight under the pointer by Shift and the wheel, once the wheel rests. */
  scroll(event) {
    const index = this.training.page.player.hovered;
    if (!this.takes(index)) return;
    event.preventDefault();
    event.stopPropagation();
    this.turn(index, -SCROLLED * (event.deltaY || event.deltaX));
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.settle(), SCROLL_REST);
  }

  /** Prepare another value of a weight: `share` of the largest weight more. */
  turn(index, share) {
    const { page, told } = this.training;
    const weights = page.run.shown(page.frame, page.player.document).texels.weight.subarray(0, told.keys[0].trained.length);
    if (this.turned?.index !== index) this.turned = { index, value: weights[index] };
    this.turned.value += share * weights.reduce((most, w) => Math.max(most, Math.abs(w)), 0);
    this.value.placeholder = this.turned.value.toPrecision(4);
  }

  /** Give a weight the prepared value. */
  settle() {
    const { turned } = this;
    this.turned = null;
    this.value.placeholder = "";
    if (turned) this.training.change(turned.index, Number(turned.value.toPrecision(4)));
  }

  /** Show what holds after a frame. */
  write(line, frame) {
    const { training } = this, { told, page } = training, { texel } = page.card;
    const at = name => line?.valueAt(name, frame), set = (field, value) => document.activeElement !== field && (field.value = String(value));
    set(this.lr, training.rate);
    const { samples, batch } = line?.sizesAt(frame) ?? told.settings;
    set(this.batch, batch);
    this.batch.max = String(samples);
    this.batch.parentElement.title = `samples of a step, of ${countText(samples)}`;
    this.samples.write();
    const rule = at("rule") ?? 0;
    set(this.rule, rule);
    set(this.bend, at("bend") ?? 0);
    for (const [name, field] of this.penalties) set(field, at(name) ?? told.settings.limits[name]);
    for (const [name, field] of this.switches) {
      field.checked = at(name) > 0;
      field.parentElement.hidden = name === "raw" && !told.rules[rule].corrects;
    }
    for (const { parentElement } of [this.value, this.frozen]) parentElement.hidden = !this.takes(texel);
    this.numbers.classList.toggle("dragged", this.takes(texel));
    this.frozen.checked = Boolean(at(`f${texel}`) ?? this.key.frozen[texel]);
    this.home.hidden = !line;
    this.undo.disabled = !line;
  }
}
