// When to draw, and how finely: at most once an animation frame, never before the last picture is done, coarser while
// something moves and a picture takes long, as fine as can be when all is still.

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

/** The rhythm of one player. */
export class Pace {
  /**
   * @param {number} fixed device pixels of a CSS pixel; 0: chosen here
   */
  constructor(fixed, step) {
    this.fixed = fixed;
    this.step = step;
    this.request = 0;
    this.timer = 0;
    this.movedAt = -Infinity;
    this.gap = 0; // milliseconds between the last two changes, of one movement
    this.times = new Map(); // milliseconds of a picture by its density, as measured
    this.fence = null;
    this.frames = 0;
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

  /** Draw into a context from now on. */
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

  /** Draw at the next animation frame. */
  ask() {
    if (document.hidden) this.waiting = true; // a hidden tab draws nothing
    else if (!this.request) this.request = requestAnimationFrame(() => this.#tick());
  }

  #tick() {
    this.request = 0;
    this.waiting = document.hidden; // it may have been hidden since this was asked for
    if (this.waiting) return;
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
    const moving = performance.now() - this.movedAt < STILL_AFTER + this.gap;
    const finest = Math.max(screen, FINEST);
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
    this.frames++;
    this.drawnAt = density;
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
