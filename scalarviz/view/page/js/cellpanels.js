// The scene's panels in a live cell: pictures that Python draws now and then, beside the cubes or below them.

import { element } from "./panels.js";
import { countText } from "./numbers.js";

const BROADEST = 400;   // pixels; a panel that is broader stands below the cubes, across all of the cell

const HAND = 25;        // milliseconds between two places of a hand that are told

/** Pictures of the panels; each stays until another one comes, and says of which step it is where that is not shown. */
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
   * @param {object} parts As view/cell/panels.py writes them: "panels", and the pictures by "panel NAME".
   */
  take(parts) {
    if ("panels" in parts) this.stand(parts.panels ?? []);
    for (const [name, one] of this.made) {
      const address = parts[`panel ${name}`];
      if (address) one.picture.src = address;
    }
  }

  stand(told) {
    this.told = told;
    if (told.map(one => one.name).join("\n") !== [...this.made.keys()].join("\n")) {
      this.made = new Map(told.map(one => [one.name, this.figure(one.name)]));
      const [root, broad] = [[], []];
      for (const { name, size } of told) (size?.[0] > BROADEST ? broad : root).push(this.made.get(name).figure);
      this.root.replaceChildren(...root);
      this.broad.replaceChildren(...broad);
      [this.root.hidden, this.broad.hidden] = [!root.length, !broad.length];
    }
    for (const { name, step, size, why } of told) {
      const { figure, picture } = this.made.get(name), of = typeof step === "number" ? ` at step ${countText(step)}` : "";
      picture.hidden = !size;
      if (size) [picture.width, picture.height] = size;
      picture.alt = `${name}${of}`;
      figure.dataset.why = why ? `${name}: ${why}` : "";
    }
    this.date(this.step);
  }

  /** The cubes show a step. */
  date(step) {
    this.step = step;
    for (const one of this.told ?? []) {
      const { caption, figure } = this.made.get(one.name), old = typeof one.step === "number" && one.step !== step;
      const words = figure.dataset.why || (old ? `step ${countText(one.step)}` : "");
      if (caption.textContent !== words) caption.textContent = words;
    }
  }

  figure(name) {
    const figure = element("figure"), picture = figure.appendChild(element("img"));
    picture.draggable = false;
    this.touch(name, picture);
    return { figure, picture, caption: figure.appendChild(element("figcaption")) };
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
      const { left, top, width } = picture.getBoundingClientRect(), scale = picture.width ? Number(picture.getAttribute("width")) / width : 1;
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
