// Cubes on a page: their canvases, and when and how finely they are drawn: once an animation frame, never before the last
// picture is done, coarser while something moves and a picture takes long, as fine as can be when all is still.

import { Cubes } from "./cubes.js";
import { Graphics } from "./gl.js";
import { Ground } from "./ground.js";
import { putUnder } from "./ink.js";

/**
 * A canvas for cubes and one above it for what is flat, in a box of their own. Whoever extends it says how it draws
 * (`step`) and what it does when the browser gives back a context that it took away (`restored`).
 */
export class Stage {
  /** `density`: device pixels of a CSS pixel; 0: as fine as the screen and as is fast enough. Throws where no WebGL is. */
  constructor(root, density) {
    const make = (parent, name) => parent.appendChild(root.ownerDocument.createElement(name));
    Object.assign(this, { root, disposed: false, lost: false, box: make(root, "div") });
    Object.assign(this.box.style, { position: "absolute", inset: "0", overflow: "hidden", userSelect: "none" });
    [this.canvas, this.above] = [0, 1].map(() => {
      const canvas = make(this.box, "canvas");
      Object.assign(canvas.style, { position: "absolute", inset: "0", width: "100%", height: "100%", display: "block" });
      canvas.setAttribute("aria-hidden", "true"); // whoever shows it says in words what it says
      return canvas;
    });
    this.above.style.pointerEvents = "none";
    this.canvas.addEventListener("webglcontextlost", (event) => {
      if (this.disposed) return;
      event.preventDefault(); // so that the browser gives it back
      this.lost = true;
    });
    this.canvas.addEventListener("webglcontextrestored", () => {
      if (this.disposed) return;
      this.lost = false;
      this.graphics = new Graphics(this.canvas);
      this.restored();
    });
    this.pace = new Pace(density, () => this.disposed || this.lost || this.step());
    try {
      this.graphics = new Graphics(this.canvas);
    } catch (error) {
      this.pace.dispose();
      this.box.remove();
      throw error;
    }
  }

  stand(document) {
    this.graphics.dispose(false);
    this.ground = new Ground(this.graphics, document);
    this.cubes = new Cubes(this.graphics, document);
    this.pace.begin(this.graphics);
  }

  /**
   * Draw light, trays, lines and cubes into `size` CSS pixels of `fineness` device pixels each; all but the light
   * inside of a window in the camera's pixels. Returns device pixels of one of the camera's.
   */
  drawCubes(size, fineness, theme, camera, [x, y, wide, high], { past = false, empty = false } = {}) {
    const { canvas, ground, cubes, graphics: { gl } } = this;
    const [across, down] = size.map((side) => Math.max(1, Math.round(side * fineness))), density = across / camera.size[0];
    if (canvas.width !== across || canvas.height !== down) Object.assign(canvas, { width: across, height: down });
    gl.viewport(0, 0, across, down);
    gl.depthMask(true);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    ground.drawLight(theme, past);
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(...[x, down / density - y - high, wide, high].map((side) => Math.round(side * density)));
    ground.drawTrays(camera, theme, density, !cubes.sized);
    ground.drawFlow(camera, theme, density, across, down);
    ground.drawBloom(camera, theme);
    if (!empty) cubes.draw(camera, theme, density);
    gl.disable(gl.SCISSOR_TEST);
    this.pace.drawn(fineness);
    return density;
  }

  /** Cubes and words on one canvas, as paper and files want them, until the words are written anew. */
  flatten() {
    const { canvas, above } = this;
    putUnder(above, flat => flat.drawImage(canvas, 0, 0, above.width, above.height));
  }

  dispose() {
    this.disposed = true;
    this.pace.dispose();
    this.graphics.dispose();
    this.box.remove();
  }
}

const STILL_AFTER = 180; // milliseconds without a change
const SLOWEST = 700; // milliseconds between two changes of one movement, where a machine is slow
const MOVING_BUDGET = 1000 / 22; // milliseconds that a picture may take while something moves
const STILL_BUDGET = 300; // and when all is still
const FINEST = 2; // device pixels of a CSS pixel: finer than the screen has no use, but for smooth edges
const COARSER = [0.75, 0.5, 0.4]; // shares of the screen's, while something moves
const WITHIN_A_FRAME = 20; // what is done within an animation frame took less than was seen
const GUESS = { true: 40, false: 3 }; // milliseconds of a million pixels by a processor, and by a card
const WORTH = 0.85; // a coarser picture is drawn where that takes so much less
const FORGET = 0.99; // what took long may do so no longer: other things run on a machine

class Pace {
  constructor(fixed, step) {
    this.fixed = fixed;
    this.step = step;
    this.request = 0;
    this.timer = 0;
    this.movedAt = -Infinity;
    this.gap = 0; // milliseconds between the last two changes, of one movement
    this.times = new Map(); // milliseconds of a picture by its density, as measured
    this.fence = null;
    this.waiting = false;
    this.visible = () => {
      if (!document.hidden && this.waiting) this.ask();
    };
    document.addEventListener("visibilitychange", this.visible);
  }

  /** The canvas has another size: what took how long is of no use any more. */
  resized() {
    this.times.clear();
  }

  begin(graphics) {
    this.gl = graphics.gl;
    this.fence = null;
    this.guess = GUESS[graphics.software];
    this.times.clear();
  }

  /** Something changes, and will perhaps go on: draw soon, and again more finely when it is still. */
  move() {
    const now = performance.now(), gap = now - this.movedAt;
    this.gap = gap < SLOWEST ? gap : 0;
    this.movedAt = now;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), STILL_AFTER + this.gap + 10);
    this.ask();
  }

  ask() {
    if (document.hidden) this.waiting = true; // a hidden tab draws nothing
    else if (!this.request) this.request = requestAnimationFrame(() => this.#tick());
  }

  #tick() {
    this.request = 0;
    this.waiting = document.hidden; // it may have been hidden since this was asked for
    if (this.waiting) return;
    if (this.#busy()) this.ask();
    else this.step();
  }

  // Whether the last picture is not done yet; measures it when it is.
  #busy() {
    if (!this.fence || this.gl.isContextLost()) return false;
    const state = this.gl.clientWaitSync(this.fence, 0, 0);
    if (state === this.gl.TIMEOUT_EXPIRED) return true;
    this.gl.deleteSync(this.fence);
    this.fence = null;
    this.#measured(performance.now() - this.began);
    return false;
  }

  #measured(took) {
    for (const [density, time] of this.times) this.times.set(density, time * FORGET);
    const before = this.times.get(this.drawnAt) ?? took;
    this.times.set(this.drawnAt, took < WITHIN_A_FRAME ? took / 2 : 0.6 * before + 0.4 * took);
  }

  // How long a picture of so many CSS pixels takes at a density: as it did, or by what the next one to it took.
  #expected(density, area) {
    if (this.times.has(density)) return this.times.get(density);
    const known = [...this.times.keys()].sort((a, b) => Math.abs(a - density) - Math.abs(b - density))[0];
    const share = known === undefined ? 0 : (density / known) ** 2;
    return known === undefined ? (this.guess * area * density ** 2) / 1e6 : this.times.get(known) * share;
  }

  /** Device pixels of a CSS pixel for the next picture, of so many CSS pixels. */
  density(area) {
    if (this.fixed) return this.fixed;
    const screen = Math.max(1, Math.min(window.devicePixelRatio || 1, 3));
    // where pictures take longer than a moment, what moves is not still between two of them
    const moving = performance.now() - this.movedAt < STILL_AFTER + this.gap, finest = Math.max(screen, FINEST);
    const choice = moving ? [finest, screen, ...COARSER.map((share) => share * screen)] : [finest, screen];
    let best = null;
    for (const density of choice) {
      const time = this.#expected(density, area);
      if (time <= (moving ? MOVING_BUDGET : STILL_BUDGET)) return density;
      if (best === null || time < WORTH * best.time) best = { density, time };
    }
    return moving ? best.density : screen;
  }

  /** A picture was sent to be drawn at that density. */
  drawn(density) {
    this.drawnAt = density;
    this.began = performance.now();
    this.fence = this.gl.fenceSync(this.gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    this.gl.flush();
  }

  dispose() {
    cancelAnimationFrame(this.request);
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.visible);
    this.request = -1;
  }
}
