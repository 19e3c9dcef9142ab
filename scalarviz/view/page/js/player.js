// The picture in a browser: cubes drawn by the window's own shaders, from numbers that somebody else has.

import { Cubes } from "./cubes.js";
import { Graphics } from "./gl.js";
import { Ground } from "./ground.js";
import { Overlay } from "./overlay.js";
import { Pace } from "./pace.js";
import { Pointers } from "./pointer.js";
import { Shown } from "./quantity.js";
import { tableOf } from "./ranges.js";
import { Viewpoint } from "./viewpoint.js";

/** What other scripts add to a player whenever it has a new context; called with it. */
export const playerExtras = [];

/**
 * The cubes of one document inside an element.
 *
 * It makes its own canvases in `root`, follows its size, draws at the next animation frame after something changed and
 * never more than the newest, pauses in a hidden tab, and comes back when the browser took its context away.
 */
export class Player {
  /**
   * @param {number} [options.density] device pixels of a CSS pixel, always; default: as fine as the screen and as is
   *     fast enough
   * @param {"all" | "none"} [options.legends] whether they and formulas stand below the cubes
   * @throws {Error} where the browser has no WebGL 2
   */
  constructor(root, document, { theme = document.theme, density = 0, quantity = "weight", legends = "all" } = {}) {
    this.root = root;
    this.document = document;
    this.frame = null;
    this.look = theme;
    this.listeners = new Map();
    this.pointer = this.hit = this.chosen = null;
    this.pointed = null; // what is pointed at in another view of the same document; may be set
    this.disposed = this.lost = false;
    this.fresh = 0; // device pixels of a CSS pixel in which the cubes stand there as they are; 0: they do not
    this.shown = new Shown(document);
    this.showing = document.quantities.find(({ name }) => name === quantity) ?? document.quantities[0];
    this.view = new Viewpoint(document, () => this.#viewed());
    this.#makeElements(legends);
    this.pace = new Pace(density, () => this.#step());
    try {
      this.#begin();
    } catch (error) {
      this.pace.dispose();
      this.box.remove();
      throw error;
    }
    this.pointers = new Pointers(this.box, this.#hands());
    this.sizes = new ResizeObserver(() => this.#resized());
    this.sizes.observe(this.box);
    this.#resized();
  }

  // ---- elements and context

  // Cubes have to be drawn anew.
  #changed() {
    this.fresh = 0;
    this.pace.ask();
  }

  #makeElements(legends) {
    const make = (name) => this.root.ownerDocument.createElement(name);
    this.box = make("div");
    Object.assign(this.box.style, { position: "absolute", inset: "0", overflow: "hidden", userSelect: "none" });
    if (getComputedStyle(this.root).position === "static") this.root.style.position = "relative";
    this.canvas = make("canvas");
    const above = make("canvas");
    for (const canvas of [this.canvas, above]) {
      Object.assign(canvas.style, { position: "absolute", inset: "0", width: "100%", height: "100%", display: "block" });
      canvas.setAttribute("aria-hidden", "true"); // whoever shows it says in words what it says
      this.box.append(canvas);
    }
    above.style.pointerEvents = "none";
    this.overlay = new Overlay(above, this.document, this.view, this.shown, legends);
    this.canvas.addEventListener("webglcontextlost", (event) => {
      if (this.disposed) return;
      event.preventDefault(); // so that the browser gives it back
      this.lost = true;
      this.#tell("lost");
    });
    this.canvas.addEventListener("webglcontextrestored", () => {
      if (this.disposed) return;
      this.lost = false;
      this.#begin();
      this.#tell("restored");
      this.#changed();
    });
    this.root.append(this.box);
  }

  // Everything that lives in the context, at the start and after it came back.
  #begin() {
    this.graphics = new Graphics(this.canvas);
    this.ground = new Ground(this.graphics, this.document);
    this.cubes = new Cubes(this.graphics, this.document);
    this.cubes.sizing = this.overlay.sizing;
    for (const extra of playerExtras) extra(this);
    this.pace.begin(this.graphics);
    this.coloured = "";
    this.outdated = true;
  }

  // ---- what is asked of it

  /**
   * Show a frame at the next animation frame; the newest wins, none is queued.
   * @param {{weight: Float32Array, gradient?: Float32Array, update?: Float32Array}} frame.texels as `texels_of` gives
   *     them: parameters, then rows of activations
   * @param {Object<string, ArrayLike<number>>} [frame.rows] activations by stage, those too that are no cubes
   * @param {number} [frame.step] the step that all of it is of
   * @param {Object<string, boolean>} [frame.known] false where there is no such quantity at this frame
   * @param {Object<string, ?Float32Array>} [frame.errors] by how much each number of a quantity may be off, null: 0
   * @param {(quantity: string) => Float32Array} [frame.whole] numbers whose range it has, where those are not its own
   * @param {(hit: object) => string[][]} [frame.tip] the lines beside the pointer, where they are not those of any frame
   * @param {boolean} [frame.past] whether newer ones are known: the light behind the cubes says so
   */
  show(frame) {
    this.frame = frame;
    this.outdated = true;
    this.fresh = 0;
    this.pace.move();
  }

  /** What the cubes show, by name. */
  get quantity() {
    return this.showing.name;
  }

  set quantity(name) {
    const { quantities } = this.document;
    const found = quantities.find((quantity) => quantity.name === name);
    if (!found) throw new Error(`no quantity ${name}; there are ${quantities.map((one) => one.name).join(", ")}`);
    this.showing = found;
    this.outdated = true;
    this.#changed();
  }

  /** "dark" or "light". */
  get theme() {
    return this.look;
  }

  set theme(name) {
    const { themes } = this.document;
    if (!Object.hasOwn(themes, name)) throw new Error(`no theme ${name}; there are ${Object.keys(themes).join(", ")}`);
    this.look = name;
    this.#changed();
  }

  /** How large cubes are: `byValue`: as what they show; those below `threshold` of the range (0 to below 1) hide. */
  get sizing() {
    return { ...this.cubes.sizing };
  }

  set sizing({ byValue = false, threshold = 0 }) {
    if (!(threshold >= 0 && threshold < 1)) throw new Error(`threshold ${threshold}: allowed is 0 to below 1`);
    this.overlay.sizing = this.cubes.sizing = { byValue: Boolean(byValue), threshold };
    this.overlay.placed = {};
    this.#changed();
  }

  /** Whether parallel lines stay parallel; may be set. */
  get parallel() {
    return this.view.parallel;
  }

  set parallel(wanted) {
    this.view.parallel = Boolean(wanted);
  }

  /** Where it is seen from: `az`, `el` in degrees, `centre`, `place`, `scale`, `eye` as the document's `pose`. */
  get pose() {
    return structuredClone(this.view.pose);
  }

  set pose(pose) {
    this.view.set(pose);
  }

  /** Glide back to the view that shows everything. */
  fit() {
    this.view.fit();
    this.pace.move();
  }

  /** The cube under the pointer: a flat index, `{row, unit}` of a row of activations, or null. */
  get hovered() {
    return this.#named(this.hit);
  }

  /** The cube that was clicked; may be set, null for none. */
  get selected() {
    return this.#named(this.chosen);
  }

  set selected(which) {
    this.chosen = which === null ? null : this.#find(which);
    this.pace.ask();
  }

  /** Call `listener` when something happens: hover, select, pose, lost, restored, drawing, drawn; returns what ends that. */
  on(name, listener) {
    if (!this.listeners.has(name)) this.listeners.set(name, new Set());
    this.listeners.get(name).add(listener);
    return () => this.listeners.get(name)?.delete(listener);
  }

  #tell(name, detail) {
    for (const listener of this.listeners.get(name) ?? []) listener(detail);
  }

  /** Give everything back: elements, listeners, the context. */
  dispose() {
    if (this.disposed) return;
    this.disposed = true;
    this.pace.dispose();
    this.pointers.dispose();
    this.sizes.disconnect();
    this.graphics.dispose();
    this.listeners.clear();
    this.box.remove();
    this.frame = null;
  }

  // ---- hands

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

  // A point in CSS pixels in those that the picture counts in.
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

  #step() {
    if (this.disposed || this.lost) return;
    this.view.step();
    const { width, height, type } = this.view;
    const density = this.pace.density(width * height * type * type);
    if (density === this.fresh) this.#write(); // only words and marks changed
    else this.#draw(density);
  }

  /** Draw at once. */
  draw() {
    const { width, height, type } = this.view;
    if (!this.disposed && !this.lost) this.#draw(this.pace.density(width * height * type * type));
  }

  // Cubes and words, at so many device pixels of a CSS pixel.
  #draw(fineness) {
    const { width, height, type, camera } = this.view;
    const density = type * fineness;
    const [across, down] = [Math.max(1, Math.round(width * density)), Math.max(1, Math.round(height * density))];
    if (this.canvas.width !== across || this.canvas.height !== down) {
      this.canvas.width = across;
      this.canvas.height = down;
    }
    this.#tell("drawing", this.frame);
    this.#takeOver();
    const theme = this.document.themes[this.look];
    const { gl } = this.graphics;
    gl.viewport(0, 0, across, down);
    gl.depthMask(true);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    this.ground.drawLight(theme, this.frame?.past);
    this.#clip(across, down);
    this.ground.drawTrays(camera, theme, across / width, this.overlay.shares === null);
    this.ground.drawFlow(camera, theme, across / width, across, down);
    if (this.frame) this.cubes.draw(camera, theme, across / width);
    gl.disable(gl.SCISSOR_TEST);
    this.pace.drawn(fineness);
    this.fresh = fineness;
    this.overlay.density = across / width;
    this.#write();
    this.#tell("drawn", this.frame);
  }

  // What lies over the cubes.
  #write() {
    this.#point();
    const detailed = this.cubes.detailed(this.view.camera, this.overlay.density);
    this.overlay.draw(this.frame, this.document.themes[this.look], this.tables, this, detailed);
  }

  // Draw nothing below the foot of the scene.
  #clip(across, down) {
    const { gl } = this.graphics;
    const foot = Math.round((this.overlay.foot / this.view.height) * down);
    if (foot >= down) return;
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(0, down - foot, across, foot);
  }

  // Bring frame and look onto the cubes, as far as they changed.
  #takeOver() {
    if (this.outdated && this.frame) {
      this.shown.update(this.frame, this.showing);
      this.cubes.setNumbers(this.shown.drawn, this.shown.flags);
      this.cubes.setRanges(this.shown.ranges);
      this.outdated = false;
    }
    const names = [this.showing.map, this.frame?.rowMap ?? "activation"], wanted = `${names} ${this.look}`;
    if (this.coloured !== wanted) {
      const { maps, colours } = this.document;
      this.tables = names.map((name) => tableOf(maps[name][this.look], colours));
      this.cubes.setColours(...this.tables);
      this.coloured = wanted;
    }
  }

  // What is under the pointer now: the picture may have moved below it.
  #point() {
    const hit = this.pointer && this.frame ? this.overlay.pick(this.pointer) : this.pointed;
    const other = hit?.plate !== this.hit?.plate || hit?.element !== this.hit?.element;
    this.hit = hit;
    if (other && (this.pointer || !this.pointed)) this.#tell("hover", this.hovered);
  }
}
