// When to draw, and how finely: at most once an animation frame, never before the last picture is done, coarser while
// something moves and a picture takes long, as fine as can be when all is still.

const STILL_AFTER = 180; // milliseconds without a change
const MOVING_BUDGET = 1000 / 22; // milliseconds that a picture may take while something moves
const STILL_BUDGET = 400; // and when all is still
const COARSEST = 0.4; // device pixels of a CSS pixel, at least
const FINEST = 2; // finer than the screen has no use, but for smooth edges

/** The rhythm of one player. */
export class Pace {
  /**
   * @param {number} fixed device pixels of a CSS pixel; 0: chosen here
   * @param {() => void} step draws
   */
  constructor(fixed, step) {
    this.fixed = fixed;
    this.step = step;
    this.request = 0;
    this.timer = 0;
    this.movedAt = -Infinity;
    this.cost = 0; // milliseconds of a million pixels, as measured
    this.fence = null;
    this.frames = 0;
    this.waiting = false;
    this.visible = () => {
      if (!document.hidden && this.waiting) this.ask();
    };
    document.addEventListener("visibilitychange", this.visible);
  }

  /** Draw into a context from now on. */
  begin(graphics) {
    this.gl = graphics.gl;
    this.fence = null;
    this.cost = graphics.software ? 60 : 1;
  }

  /** Something changes, and will perhaps go on: draw soon, and again more finely when it is still. */
  move() {
    this.movedAt = performance.now();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), STILL_AFTER + 10);
    this.ask();
  }

  /** Draw at the next animation frame. */
  ask() {
    if (document.hidden) this.waiting = true; // a hidden tab draws nothing
    else if (!this.request) this.request = requestAnimationFrame(() => this.#tick());
  }

  #tick() {
    this.request = 0;
    this.waiting = false;
    if (this.#busy()) {
      this.request = requestAnimationFrame(() => this.#tick());
      return;
    }
    this.step();
  }

  // Whether the last picture is not done yet; measures it when it is.
  #busy() {
    if (!this.fence || this.gl.isContextLost()) return false;
    const state = this.gl.clientWaitSync(this.fence, 0, 0);
    if (state === this.gl.TIMEOUT_EXPIRED) return true;
    this.gl.deleteSync(this.fence);
    this.fence = null;
    const took = performance.now() - this.began;
    const cost = took / (this.pixels / 1e6);
    // one that was done within an animation frame took less than was seen
    this.cost = took < 20 ? Math.min(this.cost, cost) : 0.6 * this.cost + 0.4 * cost;
    return false;
  }

  /** Device pixels of a CSS pixel for the next picture, of so many CSS pixels. */
  density(area) {
    this.pixels = area;
    if (this.fixed) return this.#of(area, this.fixed);
    const screen = Math.max(1, Math.min(window.devicePixelRatio || 1, 3));
    const moving = performance.now() - this.movedAt < STILL_AFTER;
    const budget = moving ? MOVING_BUDGET : STILL_BUDGET;
    const affordable = Math.sqrt((budget / Math.max(this.cost, 1e-3)) * 1e6 / area);
    const finest = Math.max(screen, FINEST);
    const least = moving ? COARSEST : screen;
    // in steps, so that a canvas is not made anew for every picture
    const chosen = [finest, screen, 0.75 * screen, 0.5 * screen, COARSEST].find((density) => density <= affordable);
    return this.#of(area, Math.max(chosen ?? COARSEST, least));
  }

  #of(area, density) {
    this.pixels = area * density * density;
    return density;
  }

  /** A picture was sent to be drawn. */
  drawn() {
    this.frames++;
    this.began = performance.now();
    this.fence = this.gl.fenceSync(this.gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    this.gl.flush();
  }

  /** Draw no more. */
  dispose() {
    cancelAnimationFrame(this.request);
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.visible);
    this.request = -1;
  }
}
