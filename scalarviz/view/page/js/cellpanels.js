// The scene's panels in a live cell: lists that Python sends, painted beside the cubes or below them.

import { element } from "./panels.js";
import { Listing } from "./list.js";
import { countText } from "./numbers.js";

const BROADEST = 400;   // pixels; a panel that is broader stands below the cubes, across all of the cell

const HAND = 25;        // milliseconds between two places of a hand that are told

/** The panels; each stays until another list comes, and says of which step it is where that is not shown. */
export class CellPanels {
  /**
   * @param {HTMLElement} root Beside the cubes, where there is room.
   * @param {HTMLElement} broad Below them.
   * @param {object} cell The LiveCell.
   */
  constructor(root, broad, cell) {
    Object.assign(this, { root, broad, cell, told: null, made: new Map(), touched: false });
    root.hidden = broad.hidden = true;
  }

  /**
   * Take over what came with a frame.
   * @param {object} parts As view/cell/panels.py writes them: "panels", and the lists by "panel NAME".
   */
  take(parts) {
    if ("panels" in parts) this.stand(parts.panels ?? [], name => parts[`panel ${name}`] ?? this.made.get(name)?.records);
    for (const [name, one] of this.made) one.records = parts[`panel ${name}`] ?? one.records;
    this.paint();
  }

  stand(told, listOf) {
    this.told = told;
    if (told.map(one => one.name).join("\n") !== [...this.made.keys()].join("\n")) {
      this.made = new Map(told.map(one => [one.name, this.figure(one.name, listOf(one.name))]));
      const wide = ({ records }) => records?.[0][3] > BROADEST, all = [...this.made.values()];
      for (const [root, some] of [[this.root, all.filter(one => !wide(one))], [this.broad, all.filter(wide)]]) {
        root.replaceChildren(...some.map(one => one.figure));
        root.hidden = !some.length;
      }
    }
    this.date(this.step);
  }

  /** Every list in the look of now. */
  paint() {
    const { document, theme } = this.cell;
    for (const { name, step } of document ? this.told ?? [] : []) {
      const { listing, records } = this.made.get(name), of = typeof step === "number" ? ` at step ${countText(step)}` : "";
      if (records) listing.show(records, document.themes[theme], `${name}${of}`);
    }
  }

  /** The cubes show a step. */
  date(step) {
    this.step = step;
    for (const one of this.told ?? []) {
      const { caption } = this.made.get(one.name), old = typeof one.step === "number" && one.step !== step;
      const words = old ? `step ${countText(one.step)}` : "";
      if (caption.textContent !== words) caption.textContent = words;
    }
  }

  figure(name, records) {
    const figure = element("figure"), canvas = figure.appendChild(element("canvas"));
    this.touch(name, canvas);
    const listing = new Listing(canvas, this.cell.document.words.advances);
    return { figure, listing, records, caption: figure.appendChild(element("figcaption")) };
  }

  /** Keys that a panel takes after a hand was on one; returns whether this one was for a panel. */
  key(event) {
    const taken = this.touched && !event.ctrlKey && !event.metaKey && this.told?.some(one => one.keys?.includes(event.key));
    if (!taken) return false;
    this.cell.say({ kind: "panel", what: "key", key: event.key });
    return true;
  }

  /** What a hand does on a picture, it does on the panel. */
  touch(name, picture) {
    let told = 0, held = false;
    const say = (what, event) => {
      const { left, top, width } = picture.getBoundingClientRect(), scale = this.made.get(name).records[0][3] / width;
      const at = [(event.clientX - left) * scale, (event.clientY - top) * scale];
      this.cell.say({ kind: "panel", name, what, at, button: event.button === 2 ? "right" : "left", shift: event.shiftKey });
      told = performance.now();
    };
    picture.addEventListener("pointerdown", event => {
      if (event.button === 1) return;
      held = this.touched = true;
      picture.setPointerCapture(event.pointerId);
      say("press", event);
    });
    picture.addEventListener("pointermove", event => held && performance.now() - told >= HAND && say("move", event));
    picture.addEventListener("contextmenu", event => event.preventDefault());
    for (const end of ["pointerup", "pointercancel"]) {
      picture.addEventListener(end, event => {
        if (!held) return;
        held = false;
        say("move", event);
        say("release", event);
      });
    }
  }
}
