// The picture in a browser: cubes drawn by the window's shaders, from numbers given by the caller.

import { Overlay } from "./overlay.js";
import { Pointers } from "./pointer.js";
import { Shown } from "./quantity.js";
import { mapIn, tableOf } from "./ranges.js";
import { Stage } from "./stage.js";
import { Viewpoint } from "./viewpoint.js";

/**
 * The cubes of one document inside an element. The player follows the element's size, draws at the next animation frame
 * after a change (the newest state only), and pauses in a hidden tab.
 */
export class Player extends Stage {
  constructor(root, document, { theme = document.theme, density = 0, quantity = "weight" } = {}) {
    super(root, density);
    if (getComputedStyle(root).position === "static") root.style.position = "relative";
    Object.assign(this, { document, frame: null, look: theme, listeners: new Map() });
    this.pointer = this.hit = this.chosen = null;
    this.pointed = null; // the cube pointed at in another view of the same document; may be set
    this.fresh = 0; // device pixels per CSS pixel of the drawn cubes; 0: they must be drawn again
    this.shown = new Shown(document);
    this.showing = document.quantities.find(({ name }) => name === quantity) ?? document.quantities[0];
    this.view = new Viewpoint(document, () => this.#viewed());
    this.overlay = new Overlay(this.above, document, this.view, this.shown);
    this.#begin();
    this.pointers = new Pointers(this.box, this.#hands());
    this.sizes = new ResizeObserver(() => this.#resized());
    this.sizes.observe(this.box);
    this.#resized();
  }

  // ---- elements and context

  // Mark the cubes to be drawn again.
  #changed() {
    this.fresh = 0;
    this.pace.ask();
  }

  // Create everything that belongs to the context, at the start and after a lost context.
  #begin() {
    this.stand(this.document);
    this.#dress();
    this.coloured = "";
    this.outdated = true;
  }

  restored() {
    this.#begin();
    this.#changed();
  }

  // ---- public methods

  /**
   * Show a frame at the next animation frame; the newest wins, none is queued.
   *
   * `texels` by quantity are those of `texels_of`, `errors` the largest error of each, `rows` by stage, `list` the
   * display list. `whole` are other numbers for the range, `tip` the lines beside the pointer.
   */
  show(frame) {
    this.frame = frame;
    this.outdated = true;
    this.fresh = 0;
    this.pace.move();
  }

  get quantity() {
    return this.showing.name;
  }

  set quantity(name) {
    const { quantities } = this.document;
    this.showing = quantities.find((one) => one.name === name) ?? this.showing;
    this.outdated = true;
    this.#changed();
  }

  get theme() {
    return this.look;
  }

  set theme(name) {
    this.look = name;
    this.#changed();
  }

  /** The camera: `az`, `el` in degrees, `centre`, `place`, `scale`, `eye` as in the document's `pose`. */
  get pose() {
    return structuredClone(this.view.pose);
  }

  set pose(pose) {
    this.view.set(pose);
  }

  fit() {
    this.view.fit();
    this.pace.move();
  }

  /** The cube under the pointer: a flat index, `{row, unit}` of a row of activations, or null. */
  get hovered() {
    return this.#named(this.hit);
  }

  /** The selected cube; may be set, null for none. */
  get selected() {
    return this.#named(this.chosen);
  }

  set selected(which) {
    this.chosen = which === null ? null : this.#find(which);
    this.pace.ask();
  }

  /** Call `listener` at an event: hover, select, pose, drawn. */
  on(name, listener) {
    this.listeners.set(name, [...(this.listeners.get(name) ?? []), listener]);
  }

  #tell(name, detail) {
    for (const listener of this.listeners.get(name) ?? []) listener(detail);
  }

  dispose() {
    super.dispose();
    this.pointers.dispose();
    this.sizes.disconnect();
    this.listeners.clear();
    this.frame = null;
  }

  // ---- input

  #hands() {
    return {
      turn: (dx, dy) => this.view.turn(dx / this.view.type, dy / this.view.type),
      shift: (dx, dy) => this.view.shift(dx / this.view.type, dy / this.view.type),
      zoom: (factor, at) => this.view.zoom(factor, this.#logical(at)),
      hover: (at) => {
        this.pointer = at && this.#logical(at);
        this.pace.ask();
      },
      click: (at, event) => this.#click(this.#logical(at), event),
    };
  }

  // Return a point in CSS pixels as a point of the picture.
  #logical(at) {
    return at.map((x) => x / this.view.type);
  }

  #click(at, event) {
    const hit = this.overlay.pick(at);
    if (event.pointerType === "touch") this.pointer = at; // a finger does not hover: a tap names the cube
    const same = hit && this.chosen && hit.plate === this.chosen.plate && hit.element === this.chosen.element;
    this.chosen = same ? null : hit;
    this.#tell("select", this.selected);
    this.pace.ask();
  }

  #viewed() {
    this.#tell("pose", this.view.pose);
    this.fresh = 0;
    this.pace.move();
  }

  #resized() {
    this.view.resize(this.box.clientWidth, this.box.clientHeight);
    this.pace.resized();
    this.#changed();
  }

  #named(hit) {
    if (!hit) return null;
    const plate = this.document.plates[hit.plate];
    return plate.start >= 0 ? plate.start + hit.element : { row: plate.name, unit: hit.element };
  }

  #find(which) {
    const row = typeof which === "object";
    const plate = this.document.plates.findIndex((one) =>
      row ? one.kind === "activation" && one.name === which.row : one.start >= 0 && which >= one.start && which < one.start + one.size,
    );
    if (plate < 0) return null;
    return { plate, element: row ? which.unit : which - this.document.plates[plate].start };
  }

  // ---- drawing

  step() {
    this.view.step();
    const { width, height, type } = this.view, density = this.pace.density(width * height * type * type);
    if (density === this.fresh) this.#write(); // only words and marks changed
    else this.#draw(density);
  }

  draw() {
    const { width, height, type } = this.view;
    if (!this.disposed && !this.lost) this.#draw(this.pace.density(width * height * type * type));
  }

  // Draw cubes and words with this many device pixels per CSS pixel; moved cubes end at the scene's edges.
  #draw(fineness) {
    const { view: { width, height, type, camera, turned }, overlay, frame } = this, theme = this.document.themes[this.look];
    this.#takeOver();
    const window = turned ? this.document.scene : [0, 0, width + 1, height + 1];
    const how = { empty: !frame, past: frame?.past, lit: this.document.lit };
    overlay.density = this.drawCubes([width * type, height * type], fineness, theme, camera, window, how);
    this.fresh = fineness;
    this.#write();
    this.#tell("drawn", frame);
  }

  // Draw the words over the cubes.
  #write() {
    this.#point();
    this.overlay.draw(this.frame, this.document.themes[this.look], this.tables, this);
  }

  // Apply custom looks.
  #dress() {
    const { overlay: { own }, cubes, document } = this;
    cubes.setOwn(own.bytes, Boolean(document.own), own.rise !== null);
  }

  // Update the cubes with changes of frame and look.
  #takeOver() {
    const { frame, shown, cubes, overlay: { own }, document } = this;
    const names = [this.showing.map, frame?.rowMap ?? "activation"], wanted = `${names} ${this.look}`, other = this.coloured !== wanted;
    if (other) {
      this.tables = names.map((name) => tableOf(mapIn(document, name, this.look), document.colours));
      cubes.setColours(...this.tables);
      this.coloured = wanted;
    }
    if (!frame || !(this.outdated || other)) return;
    shown.update(frame, this.showing);
    cubes.setNumbers(shown.drawn, shown.marks);
    cubes.setRanges(shown.ranges);
    this.outdated = false;
    if (!frame.instead && !own.instead) return;
    this.ground.shine(frame.shine?.(this) ?? null);
    Object.assign(own, { instead: frame.instead?.(this) ?? null, rise: frame.rise ?? null });
    this.#dress();
  }

  // Find the cube under the pointer: the picture may have moved.
  #point() {
    const hit = this.pointer && this.frame ? this.overlay.pick(this.pointer) : this.pointed;
    const other = hit?.plate !== this.hit?.plate || hit?.element !== this.hit?.element;
    this.hit = hit;
    if (other && (this.pointer || !this.pointed)) this.#tell("hover", this.hovered);
  }
}
