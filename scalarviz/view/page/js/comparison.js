// The page of two recordings: the page of one, with three pictures, and words about both.

import { NumberCard, NumberTable } from "./card.js";
import { element } from "./ink.js";
import { ScaleBar } from "./legend.js";
import { countText, lossText, rateText, sureText } from "./numbers.js";
import { Page, openPage, part } from "./page.js";
import { readPair } from "./pair.js";
import { Player } from "./player.js";
import { MARK_BITS } from "./quantity.js";
import { TimeBar } from "./timebar.js";
import { meaningOf } from "./tip.js";

const SIDES = ["a", "b", "difference"];

class PairBar extends TimeBar {
  lossWords(frame) {
    const { run } = this;
    const said = run.halves.map((half, k) => [run.letters[k], half.steps[run.places[frame][k]], half.loss[run.places[frame][k]]]);
    return said.filter(([, , loss]) => !Number.isNaN(loss)).map(([letter, step, loss]) =>
      `, ${letter}: loss ${lossText(loss)}${step === run.steps[frame] ? "" : ` at step ${countText(step)}`}`).join("");
  }
}

export class Comparison extends Page {
  place() {
    const cubes = part("cubes");
    cubes.classList.toggle("stacked", cubes.clientWidth < this.widest * cubes.clientHeight);
    super.place();
  }

  get widest() {
    return 0.9;
  }

  playerOf(root, document, options) {
    const { run } = this, views = new Views(SIDES.map(side => part(`cubes-${side}`)), document, run.third, options);
    views.on("drawn", () => this.drawScales());
    return views;
  }

  make() {
    const { run } = this;
    this.bar = new PairBar(part("bar"), run, frame => this.stop() || this.go(frame));
    this.card = new NumberCard(document.querySelector("#card .body"), run, () => this.select(null));
    this.table = new NumberTable(part("table"), run, texel => this.choose(texel));
    this.scales = ["both", "difference"].map(name => new ScaleBar(part(`scale-${name}`), run.document));
    const titles = run.rows.length ? ["activation", `activation, ${run.of}`] : [];
    this.rowScales = titles.map((title, k) => new ScaleBar(part(`rows-${k ? "difference" : "both"}`), run.document, title));
    for (const { canvas } of this.rowScales) canvas.hidden = false;
    this.makeControls();
    for (const scale of [...this.scales, ...this.rowScales]) new ResizeObserver(() => this.drawScales()).observe(scale.canvas);
  }

  drawScales() {
    const { players } = this.player ?? { players: [] };
    if (!this.scales || players.length < 3) return;
    this.scales[0].draw(players.slice(0, 2), this.look);
    this.scales[1].draw(players.slice(2), this.look);
    this.rowScales.forEach((scale, k) => scale.draw([players[2 * k]], this.look));
  }

  shown() {
    this.three = this.run.shown(this.frame);
    for (const one of this.three) one.tip = ({ plate, element }) => this.tip(plate, element);
    return this.three;
  }

  tip(plate, element) {
    return this.run.tip(this.frame, this.player.quantity, this.run.document.plates[plate].texel + element);
  }

  write() {
    const { run, frame, look, player } = this;
    if (!this.three) return;
    const { words } = run.document.quantities.find(one => one.name === player.quantity);
    part("shows").textContent = words;
    this.writeHeads(player.quantity, words);
    this.bar.show(frame, look);
    this.card.show(frame, player.quantity, look);
    this.table.show(frame, player.quantity);
    this.quantities.show(player.quantity);
  }

  /** Write above each picture its step, and the size of the difference. */
  writeHeads(quantity, words) {
    const { run, frame, three: [, , third] } = this, asked = run.steps[frame], { parameters } = run.document;
    const [a, b, difference] = SIDES.map(side => part(`head-${side}`)), moments = [a, b].map(head => head.querySelector(".moment"));
    run.halves.forEach((half, k) => {
      const at = run.places[frame][k], step = half.steps[at], moment = moments[k];
      moment.replaceChildren("step ", element("b", "", countText(step)), " loss ", element("b", "", lossText(half.loss[at])), " ");
      const other = step < asked ? `its last before ${countText(asked)}` : step > asked ? `its first, after ${countText(asked)}` : "";
      const rate = Number.isNaN(half.lr[at]) ? "" : `lr ${rateText(half.lr[at])}`;
      moment.append(element("span", other ? "other" : "rate", other || rate));
    });
    const numbers = third.texels[quantity].subarray(0, parameters), nameOf = index => meaningOf(run.document, index);
    const same = run.exact ? !numbers.some(x => x !== 0 && Number.isFinite(x)) : run.same[quantity][frame];
    const flags = quantity === "weight" ? new Uint8Array(parameters) : third.flags;
    const text = largestText(numbers, flags, third.errors[quantity], Boolean(same), nameOf);
    difference.querySelector(".name").textContent = `difference of ${words}s`;
    Object.assign(difference.querySelector(".moment"), { textContent: text, title: text });
  }
}

export function openComparison() {
  return openPage(readPair, Comparison);
}

/**
 * Return where the difference is largest, or that there is none, in the window's words. Each number may be off by its
 * error; `same`: all were equal before they were rounded.
 */
export function largestText(numbers, flags, errors, same, nameOf) {
  let [index, known, finite] = [-1, 0, 0];
  for (let k = 0; k < numbers.length; k++) {
    if (flags[k] & MARK_BITS.missing) continue;
    known++;
    if (!Number.isFinite(numbers[k])) continue;
    finite++;
    if (index < 0 || Math.abs(numbers[k]) > Math.abs(numbers[index])) index = k;
  }
  if (!known) return "not computed yet";
  const beside = known > finite ? `${countText(known - finite)} NaN or infinite` : "";
  if (!finite) return `no number to compare: ${beside}`;
  if (same) return beside ? `no difference between numbers; ${beside}` : "no difference: every number is the same";
  const said = `largest ${sureText(numbers[index], errors?.[index] ?? 0)}  \u00b7  ${nameOf(index)}`;
  return beside ? `${said}  \u00b7  ${beside}` : said;
}

/** Players of one document in three elements. */
export class Views {
  constructor(roots, document, third, options) {
    this.players = [];
    this.listeners = [];
    this.following = false;
    try {
      for (const [k, root] of roots.entries()) {
        this.players.push(new Player(root, k < 2 ? document : { ...document, ...third }, { ...options, legends: "none" }));
      }
    } catch (error) {
      this.dispose();
      throw error;
    }
    for (const player of this.players) {
      player.on("pose", pose => this.#follow(player, pose));
      player.on("hover", () => this.#point(player));
      player.on("select", which => this.#select(player, which));
    }
  }

  #others(player) {
    return this.players.filter(one => one !== player);
  }

  // The camera moves in all pictures together.
  #follow(player, pose) {
    if (this.following) return;
    this.following = true;
    for (const other of this.#others(player)) other.pose = pose;
    this.following = false;
  }

  // The cube pointed at in one picture is marked in all.
  #point(player) {
    for (const other of this.#others(player)) {
      const same = other.pointed?.plate === player.hit?.plate && other.pointed?.element === player.hit?.element;
      if (same) continue;
      other.pointed = player.hit;
      other.pace.ask();
    }
  }

  #select(player, which) {
    for (const other of this.#others(player)) other.selected = which;
    for (const [name, listener] of this.listeners) if (name === "select") listener(which);
  }

  on(name, listener) {
    if (name === "select") this.listeners.push([name, listener]);
    else for (const player of this.players) player.on(name, listener);
  }

  show(frames) {
    this.players.forEach((player, k) => player.show(frames[k]));
  }

  get outdated() {
    return this.players.some(player => player.outdated);
  }

  fit() {
    this.players[0].fit(); // the others follow
  }
}

for (const name of ["draw", "flatten", "dispose"]) {
  Views.prototype[name] = function () {
    for (const player of this.players) player[name]();
  };
}

// Properties of one player hold for all.
for (const name of ["quantity", "theme", "pose", "selected"]) {
  Object.defineProperty(Views.prototype, name, {
    get() {
      return this.players[0][name];
    },
    set(value) {
      for (const player of this.players) player[name] = value;
    },
  });
}
