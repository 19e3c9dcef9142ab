// The page of two recordings: the page of one, whose picture has three columns.

import { Moment } from "./bound.js";
import { Ink, element, putUnder } from "./ink.js";
import { paintList, whenLoaded } from "./list.js";
import { countText, lossText } from "./numbers.js";
import { Page, openPage, part } from "./page.js";
import { readPair } from "./pair.js";
import { Player } from "./player.js";
import { TimeBar } from "./timebar.js";

class PairBar extends TimeBar {
  lossWords(frame) {
    const { run } = this;
    const said = run.halves.map((half, k) => [run.letters[k], half.steps[run.places[frame][k]], half.loss[run.places[frame][k]]]);
    return said.filter(([, , loss]) => !Number.isNaN(loss)).map(([letter, step, loss]) =>
      `, ${letter}: loss ${lossText(loss)}${step === run.steps[frame] ? "" : ` at step ${countText(step)}`}`).join("");
  }
}

export class Comparison extends Page {
  /** Lay out the picture; in a lying one the card stands below the second column. */
  lay() {
    super.lay();
    const card = part("card"), { columns: [, [x], [end]], picture: [wide], time } = this.player.document;
    card.classList.toggle("below", x > 0 && Boolean(time));
    if (!time) return;
    const stage = part("stage"), scale = stage.offsetWidth / wide, place = { left: stage.offsetLeft + scale * x, wide: scale * (end - x), foot: stage.offsetTop + scale * time[1] };
    for (const [name, pixels] of Object.entries(place)) card.style.setProperty(`--${name}`, `${pixels}px`);
  }

  playerOf(root, document, options) {
    return new Views(root, document, this.run.third, options);
  }

  barOf(root, go) {
    return new PairBar(root, this.run, go);
  }

  /** The frames of the three columns with their lists; and the lists around them. */
  shown() {
    const { run, frame, quantity, shape, player } = this, lists = run.listAt(frame, quantity, shape);
    const three = run.shown(frame, player.document).map((one, k) => ({ ...one, list: lists[k], tip: ({ plate, element }) => this.tip(plate, element) }));
    return { three, around: lists.slice(3) };
  }

  paint() {
    const shown = this.shown();
    this.player.show(shown);
    whenLoaded(shown.around.flat(), () => this.player.renew());
  }

  tip(plate, element) {
    const { kind, name, start } = this.player.document.plates[plate], row = kind === "activation";
    const first = row ? this.run.document.plates.find(one => one.kind === kind && one.name === name).texel : start;
    return this.run.tip(this.frame, this.quantity, first + element);
  }

  lossWords() {
    const { run, frame } = this;
    return run.halves.map((half, k) => lossText(half.loss[run.places[frame][k]])).join(" and ");
  }

  /** Write the words of the heads where they can be read without seeing the picture. */
  write() {
    super.write();
    part("heads").textContent = this.player.around.flat().filter(([kind]) => kind === "text").map(record => record[3]).join(" ");
  }
}

export function openComparison() {
  return openPage(readPair, Comparison);
}

/** The picture of a comparison: three players of one document, in the boxes of its columns, and lists over them. */
export class Views {
  constructor(root, document, third, options) {
    Object.assign(this, { root, document, players: [], listeners: [], around: [], written: null, following: false });
    const { picture: [wide, high], columns } = document, [, , across, down] = columns[0];
    this.boxes = columns.map(([x, y]) => {
      const box = root.appendChild(element("div", "column")), share = (part, whole) => `${100 * part / whole}%`;
      return Object.assign(box.style, { left: share(x, wide), top: share(y, high), width: share(across, wide), height: share(down, high) }) && box;
    });
    try {
      for (const [k, box] of this.boxes.entries()) {
        const own = { ...document, ...(k === 2 && third), lit: [-columns[k][0], -columns[k][1], wide, high] };
        this.players.push(new Player(box, own, options));
      }
    } catch (error) {
      this.dispose();
      throw error;
    }
    this.ink = new Ink(root.appendChild(element("canvas", "around")), document.advances);
    for (const player of this.players) {
      player.on("pose", pose => this.#follow(player, pose));
      player.on("hover", () => this.#point(player));
      player.on("select", which => this.#select(player, which));
      player.on("drawn", () => this.outdated || this.#write());
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

  show({ three, around }) {
    this.around = around;
    this.players.forEach((player, k) => player.show(three[k]));
  }

  /** Write what stands around the columns again. */
  renew() {
    this.written = null;
    if (!this.outdated) this.#write();
  }

  // Write heads and legends, each with the numbers of the player whose it is, if they have changed.
  #write() {
    const { ink, document: { picture, themes }, players: [first, , last], around } = this, { type } = first.view, wanted = [around, type, this.theme];
    if (this.written && wanted.every((one, k) => one === this.written[k])) return;
    this.written = wanted;
    ink.begin(...picture, type * Math.max(1, window.devicePixelRatio || 1), themes[this.theme]);
    [first, last].forEach(({ shown, frame }, k) => {
      ink.moment = new Moment(shown, frame);
      paintList(ink, around[k]);
    });
  }

  get frame() {
    return this.players[2].frame;
  }

  get outdated() {
    return this.players.some(player => player.outdated);
  }

  fit() {
    this.players[0].fit(); // the others follow
  }

  draw() {
    for (const player of this.players) player.draw();
    this.renew();
  }

  /** Draw everything of a column on its upper canvas, for printing, until the next drawing. */
  flatten() {
    const { canvas } = this.ink, { picture, columns } = this.document, share = (pixels, k) => pixels * [canvas.width, canvas.height][k % 2] / picture[k % 2];
    this.players.forEach((player, k) => {
      const { above } = player;
      putUnder(above, flat => flat.drawImage(canvas, ...columns[k].map(share), 0, 0, above.width, above.height));
      player.flatten();
    });
  }

  dispose() {
    for (const player of this.players) player.dispose();
    for (const made of [...this.boxes, this.ink?.canvas]) made?.remove();
  }
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
