// The page of two recordings: the page of one, with three pictures, and what is said of both.

import { Heads } from "./heads.js";
import { countText, lossText } from "./numbers.js";
import { Page, openPage, part } from "./page.js";
import { readPair } from "./pair.js";
import { PairCard } from "./paircard.js";
import { PairTable } from "./pairtable.js";
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
    cubes.classList.toggle("stacked", cubes.clientWidth < 0.9 * cubes.clientHeight);
    super.place();
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
    this.card = new PairCard(part("card"), run, () => this.select(null));
    this.table = new PairTable(part("table"), run);
    this.scales = ["both", "difference"].map(name => new ScaleBar(part(`scale-${name}`), run.document));
    this.rowScales = this.card.rows.map((canvas, k) => new RowScaleBar(canvas, run.document, k ? `activation, ${run.of}` : "activation"));
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

  select(which) {
    const { document } = this.run, row = which !== null && typeof which === "object";
    if (this.player.selected !== which && !row) this.player.selected = which;
    this.card.select(row ? document.plates.find(one => one.kind === "activation" && one.name === which.row).texel + which.unit : which);
    this.write();
    this.drawScales(); // those of the rows stand where a card does
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
