// The page of two recordings: the page of one, with three pictures, and what is said of both.

import { NumberCard, NumberTable } from "./card.js";
import { Heads } from "./heads.js";
import { countText, lossText } from "./numbers.js";
import { Page, openPage, part } from "./page.js";
import { readPair } from "./pair.js";
import { RowScaleBar, ScaleBar } from "./scales.js";
import { TimeBar } from "./timebar.js";
import { Views } from "./views.js";

const SIDES = ["a", "b", "difference"];

/** A time bar that says the losses of both. */
class PairBar extends TimeBar {
  lossWords(frame) {
    const { run } = this;
    const said = run.halves.map((half, k) => [run.letters[k], half.steps[run.places[frame][k]], half.loss[run.places[frame][k]]]);
    return said.filter(([, , loss]) => !Number.isNaN(loss)).map(([letter, step, loss]) =>
      `, ${letter}: loss ${lossText(loss)}${step === run.steps[frame] ? "" : ` at step ${countText(step)}`}`).join("");
  }
}

/** Everything on the page, and which frame is shown. */
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
    this.heads = new Heads(SIDES.map(side => part(`head-${side}`)), run);
    this.card = new NumberCard(document.querySelector("#card .body"), run, () => this.select(null));
    this.table = new NumberTable(part("table"), run, texel => this.choose(texel));
    this.scales = ["both", "difference"].map(name => new ScaleBar(part(`scale-${name}`), run.document));
    const titles = run.rows.length ? ["activation", `activation, ${run.of}`] : [];
    this.rowScales = titles.map((title, k) => new RowScaleBar(part(`rows-${k ? "difference" : "both"}`), run.document, title));
    for (const { canvas } of this.rowScales) canvas.hidden = false;
    this.makeControls();
    for (const scale of [...this.scales, ...this.rowScales]) new ResizeObserver(() => this.drawScales()).observe(scale.canvas);
  }

  drawScales() {
    const { players } = this.player ?? { players: [] };
    if (!this.scales || players.length < 3) return;
    this.scales[0].draw(players.slice(0, 2), this.look);
    this.scales[1].draw(players.slice(2), this.look);
    this.rowScales.forEach((scale, k) => scale.draw(players.slice(2 * k), this.look));
  }

  /** The three frames that are shown. */
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
    this.heads.show(frame, player.quantity, words, this.three);
    this.bar.show(frame, look);
    this.card.show(frame, player.quantity, look);
    this.table.show(frame, player.quantity);
    this.quantities.show(player.quantity);
  }
}

/** Make the page live, or say in one sentence why only its picture stands there. */
export function openComparison() {
  return openPage(readPair, Comparison);
}
