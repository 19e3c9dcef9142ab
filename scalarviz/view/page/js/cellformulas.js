// The outputs of a single layer written out below the cubes of a live cell: text, since a cell is as narrow as a column.

import { element } from "./panels.js";

/** A line for each output. */
export class CellFormulas {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.pen = document.createElement("canvas").getContext("2d");
    root.hidden = true;
  }

  /**
   * The numbers of a frame; inside of a step, where the line below has formulas of its own, the place stays.
   * @param {object} frame as `Player.show` takes it, with `formulas`: for each output the ways to write it, the best first
   */
  show(frame) {
    this.last = frame;
    const found = frame.formulas ?? [];
    this.root.hidden = !found.length;
    if (this.root.hidden) return;
    this.root.classList.toggle("waits", Boolean(frame.reached));
    const wide = this.root.clientWidth;
    this.pen.font = getComputedStyle(this.root).font;
    const written = found.map((ways) => ways.find((line) => this.pen.measureText(line).width <= wide) ?? ways.at(-1));
    while (this.root.childElementCount > written.length) this.root.lastElementChild.remove();
    written.forEach((line, k) => {
      const place = this.root.children[k] ?? this.root.appendChild(element("p"));
      if (place.textContent !== line) place.textContent = line;
    });
  }

  /** The cell has become wider or narrower. */
  arrange() {
    if (this.last) this.show(this.last);
  }
}
