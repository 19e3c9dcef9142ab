// Cubes on a page: their canvases, and when and how finely they are drawn: once an animation frame, never before the last
// picture is done, more coarsely during slow movements, and as finely as possible at rest.

import { Cubes } from "./cubes.js";
import { Graphics } from "./gl.js";
import { Ground } from "./ground.js";
import { putUnder } from "./ink.js";

/**
 * A canvas for cubes and one above it for flat parts, in one box. A subclass draws in `step`, and handles a context
 * that the browser took away and gave back in `restored`.
 */
export class Stage {
  /** `density` is device pixels per CSS pixel; 0: as fine as screen and speed allow. Throws without WebGL. */
  constructor(root, density) {
    const make = (parent, name) => parent.appendChild(root.ownerDocument.createElement(name));
    Object.assign(this, { root, disposed: false, lost: false, box: make(root, "div") });
    Object.assign(this.box.style, { position: "absolute", inset: "0", overflow: "hidden", userSelect: "none" });
    [this.canvas, this.above] = [0, 1].map(() => {
      const canvas = make(this.box, "canvas");
      Object.assign(canvas.style, { position: "absolute", inset: "0", width: "100%", height: "100%", display: "block" });
      canvas.setAttribute("aria-hidden", "true"); // the container has a description
      return canvas;
    });
    this.above.style.pointerEvents = "none";
    this.canvas.addEventListener("webglcontextlost", (event) => {
      if (this.disposed) return;
      event.preventDefault(); // so that the browser restores it
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
   * inside a window in the camera's pixels, the light of a larger picture in the box of that. Return the device pixels
   * of a camera pixel.
   */
  drawCubes(size, fineness, theme, camera, window, { past = false, empty = false, lit = null } = {}) {
    const { canvas, ground, cubes, graphics: { gl } } = this;
    const [across, down] = size.map((side) => Math.max(1, Math.round(side * fineness))), density = across / camera.size[0];
    if (canvas.width !== across || canvas.height !== down) Object.assign(canvas, { width: across, height: down });
    const placed = ([x, y, wide, high]) => [x, down / density - y - high, wide, high].map((side) => Math.round(side * density));
    gl.depthMask(true);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    gl.viewport(...(lit ? placed(lit) : [0, 0, across, down]));
    ground.drawLight(theme, past);
    gl.viewport(0, 0, across, down);
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(...placed(window));
    ground.drawTrays(camera, theme, density, !cubes.sized);
    ground.drawFlow(camera, theme, density, across, down);
    ground.drawBloom(camera, theme);
    if (!empty) cubes.draw(camera, theme, density);
    gl.disable(gl.SCISSOR_TEST);
    this.pace.drawn(fineness);
    return density;
  }

  /** Draw cubes and words on one canvas, for printing and files, until the next redraw. */
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
const SLOWEST = 700; // most milliseconds between two changes of one movement, on a slow machine
const MOVING_BUDGET = 1000 / 22; // most milliseconds of a picture during a movement
const STILL_BUDGET = 300; // and at rest
const FINEST = 2; // most device pixels per CSS pixel: more than the screen has only smooths edges
const COARSER = [0.75, 0.5, 0.4]; // shares of the screen's density, during a movement
const WITHIN_A_FRAME = 20; // work within an animation frame took less than was measured
const GUESS = { true: 40, false: 3 }; // milliseconds of a million pixels on a processor, and on a graphics card
const WORTH = 0.85; // a coarser picture must take at most this share of the time
const FORGET = 0.99; // measurements decay: the machine also runs other programs

class Pace {
  constructor(fixed, step) {
    this.fixed = fixed;
    this.step = step;
    this.request = 0;
    this.timer = 0;
    this.movedAt = -Infinity;
    this.gap = 0; // milliseconds between the last two changes of one movement
    this.times = new Map(); // measured milliseconds of a picture by density
    this.fence = null;
    this.waiting = false;
    this.visible = () => {
      if (!document.hidden && this.waiting) this.ask();
    };
    document.addEventListener("visibilitychange", this.visible);
  }

  /** Drop measurements when the canvas has another size. */
  resized() {
    this.times.clear();
  }

  begin(graphics) {
    this.gl = graphics.gl;
    this.fence = null;
    this.guess = GUESS[graphics.software];
    this.times.clear();
  }

  /** Draw soon after a change, and again more finely at rest. */
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
    this.waiting = document.hidden; // it may have been hidden since the request
    if (this.waiting) return;
    if (this.#busy()) this.ask();
    else this.step();
  }

  // Return whether the last picture is unfinished; measure it once it is done.
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

  // Return the time of a picture with this many CSS pixels at a density, measured or estimated from the nearest one.
  #expected(density, area) {
    if (this.times.has(density)) return this.times.get(density);
    const known = [...this.times.keys()].sort((a, b) => Math.abs(a - density) - Math.abs(b - density))[0];
    const share = known === undefined ? 0 : (density / known) ** 2;
    return known === undefined ? (this.guess * area * density ** 2) / 1e6 : this.times.get(known) * share;
  }

  /** Return the device pixels per CSS pixel for the next picture with this many CSS pixels. */
  density(area) {
    if (this.fixed) return this.fixed;
    const screen = Math.max(1, Math.min(window.devicePixelRatio || 1, 3));
    // with slow pictures a movement is not at rest between two of them
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

  /** Note that a picture was sent for drawing at a density. */
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
