// Where a document is seen from: fitted, moved by hand, or on its way back; and how its pixels lie in a canvas.

import { slabCorners } from "./boxes.js";
import { earlyBetween, earlyCameraOf, earlyShifted, earlySizeOf, earlyTurned, earlyZoomed } from "./early.js";

const GLIDE_SECONDS = 0.3; // of the way back to the view that shows everything
const SMALLEST_SIZE = 0.2; // of the fitted size: the picture is never smaller
const STEEPEST = 89; // degrees: the eye never goes over the pole

/** The pose of one document, in pixels of the document, shown in a canvas of any size. */
export class Viewpoint {
  /**
   * @param {object} document of `document_of`
   * @param {() => void} changed is called whenever it looks from elsewhere
   */
  constructor(document, changed) {
    this.document = document;
    this.changed = changed;
    this.points = [...document.plates.flatMap(slabCorners), ...document.trays.flatMap((tray) => tray.corners)];
    this.home = document.pose;
    this.pose = structuredClone(this.home);
    this.glide = null;
    this.seen = null;
    [this.width, this.height] = document.size;
  }

  /** The canvas has so many CSS pixels. */
  resize(width, height) {
    [this.width, this.height] = [Math.max(1, width), Math.max(1, height)];
    this.seen = null;
  }

  /** CSS pixels of a pixel of the document. */
  get fitted() {
    return Math.min(this.width / this.document.size[0], this.height / this.document.size[1]);
  }

  /** How much larger all type is than in a picture of the usual size. */
  get type() {
    return Math.max(1, this.fitted);
  }

  /** Whether this is another view than the one that the document was laid out for, or another size. */
  get moved() {
    return this.fitted !== 1 || JSON.stringify(this.pose) !== JSON.stringify(this.home);
  }

  /** A place in pixels of the document, in CSS pixels. */
  toCanvas([x, y]) {
    const [wide, high] = this.document.size;
    return [this.width / 2 + (x - wide / 2) * this.fitted, this.height / 2 + (y - high / 2) * this.fitted];
  }

  /** A point in CSS pixels, in pixels of the document. */
  toDocument([x, y]) {
    const [wide, high] = this.document.size;
    return [(x - this.width / 2) / this.fitted + wide / 2, (y - this.height / 2) / this.fitted + high / 2];
  }

  /** The camera, in CSS pixels of the canvas; the same object while nothing moves. */
  get camera() {
    if (!this.seen) {
      const { pose, fitted } = this;
      const placed = { ...pose, scale: pose.scale * fitted, place: this.toCanvas(pose.place) };
      this.seen = earlyCameraOf(placed, [this.width, this.height], this.points);
    }
    return this.seen;
  }

  /** Look from elsewhere: what `pose` names of it. */
  set(pose) {
    this.glide = null;
    const el = Math.max(-STEEPEST, Math.min(STEEPEST, pose.el ?? this.pose.el));
    this.#go({ ...this.pose, ...structuredClone(pose), el });
  }

  #go(pose) {
    this.pose = pose;
    this.seen = null;
    this.changed();
  }

  /** Turn by a drag of CSS pixels. */
  turn(dx, dy) {
    this.glide = null;
    this.#go(earlyTurned(this.pose, dx, dy));
  }

  /** Shift the picture by CSS pixels. */
  shift(dx, dy) {
    this.glide = null;
    this.#go(earlyShifted(this.pose, dx / this.fitted, dy / this.fitted));
  }

  /** Enlarge around a point in CSS pixels, never beyond one cube that fills its place. */
  zoom(factor, at) {
    this.glide = null;
    const [left, top, right, foot] = this.document.rect;
    const [now, fitted] = [earlySizeOf(this.pose), earlySizeOf(this.home)];
    const most = Math.max(2, Math.min(right - left, foot - top) / fitted);
    const wanted = Math.min(Math.max(now * factor, SMALLEST_SIZE * fitted), most * fitted);
    this.#go(earlyZoomed(this.pose, wanted / now, this.toDocument(at)));
  }

  /** Set out for the view that shows everything; at once where motion is not wanted. */
  fit() {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) this.set(this.home);
    else this.glide = { from: this.pose, began: performance.now() };
  }

  /** Time passes; returns whether it goes on. */
  step() {
    if (!this.glide) return false;
    const { from, began } = this.glide;
    const share = Math.min(1, (performance.now() - began) / 1000 / GLIDE_SECONDS);
    if (share >= 1) this.set(this.home);
    else this.#go(earlyBetween(from, this.home, 1 - (1 - share) ** 3));
    return this.glide !== null;
  }
}
