// What is written over the cubes: their numbers, marks around the selected and the hovered one, the pointer's label.

import { earlyPick, earlyUnit } from "./early.js";
import { Ink } from "./ink.js";
import { bracketsOf, outlineOf } from "./outline.js";
import { drawTip } from "./tip.js";
import { ValuePlaces, drawValues } from "./values.js";

/** Everything flat over the cubes of one document. */
export class Overlay {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {object} document of `document_of`
   * @param {Viewpoint} view
   * @param {Shown} shown
   */
  constructor(canvas, document, view, shown) {
    this.ink = new Ink(canvas);
    this.document = document;
    this.view = view;
    this.shown = shown;
    this.places = null;
    this.placed = "";
  }

  /** The cube that is drawn at a point in CSS pixels, or null. */
  pick(at) {
    return earlyPick(this.document.plates, this.view.camera, at);
  }

  /** Colour of the main face of a cube in 0..1. */
  colourOf(index, element, tables) {
    const plate = this.document.plates[index];
    const table = tables[plate.kind === "activation" ? 1 : 0];
    const last = table.length / 3 - 1;
    const unit = earlyUnit(this.shown.ranges[index], this.shown.drawn[plate.texel + element]);
    const at = 3 * Math.round(Math.min(Math.max(unit, 0), 1) * last || 0);
    return [0, 1, 2].map((k) => table[at + k] / 255);
  }

  /**
   * Write everything anew.
   * @param {object} frame as `Player.show` takes it
   * @param {object} theme of the document's `themes`
   * @param {Uint8Array[]} tables colours of weights and of activations
   * @param {{hit: object | null, pointer: number[] | null, chosen: object | null}} touched
   */
  draw(frame, theme, tables, { hit, pointer, chosen }) {
    const { ink, view } = this;
    ink.begin(view.width, view.height, Math.max(1, window.devicePixelRatio || 1), theme);
    if (!frame) return;
    this.#place();
    drawValues(ink, this.places, this.shown, frame, (index, element) => this.colourOf(index, element, tables));
    if (chosen) this.#outline(chosen, theme);
    if (hit) {
      this.#brackets(hit, theme);
      drawTip(ink, pointer, [view.width, view.height], view.type, this.shown, frame, hit);
    }
  }

  // Numbers keep their places while camera and kind of quantity stay.
  #place() {
    const { camera, moved, type } = this.view;
    const decades = this.shown.quantity.name !== "weight";
    if (this.places && this.placed.camera === camera && this.placed.decades === decades) return;
    this.placed = { camera, decades };
    this.places = new ValuePlaces(this.document, camera, moved, decades, type, (at) => this.pick(at));
  }

  #outline({ plate, element }, theme) {
    for (const path of outlineOf(this.document.plates, plate, element, this.view.camera, (at) => this.pick(at))) {
      this.ink.path(path, theme.selection, 2.6 * this.view.type);
    }
  }

  #brackets({ plate, element }, theme) {
    const paths = bracketsOf(this.document.plates[plate], element, this.view.camera) ?? [];
    for (const [colour, wide] of [[theme.background, 4.6], [theme.selection, 2.6]]) {
      for (const path of paths) this.ink.path(path, colour, wide * this.view.type);
    }
  }
}
