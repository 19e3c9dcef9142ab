// The view of a document: fitted, moved by the user, or on its way back; and its place in a canvas.

import { slabCorners } from "./boxes.js";
import { STEEPEST, between, cameraOf, project, shifted, sizeOf, turned, zoomed } from "./camera.js";
import { convexHull } from "./outline.js";

const GLIDE_SECONDS = 0.3; // for the way back to the view that shows everything
const SMALLEST_SIZE = 0.2; // share of the fitted size: the least size of the picture

/** The pose of one document, in its own pixels, shown in a canvas of any size. */
export class Viewpoint {
  constructor(document, changed) {
    this.document = document;
    this.changed = changed;
    this.slabs = document.plates.map(slabCorners);
    this.points = [...this.slabs.flat(), ...document.trays.flatMap((tray) => tray.corners)];
    this.home = document.pose;
    this.pose = structuredClone(this.home);
    this.glide = null;
    this.seen = null;
    this.resize(...document.size);
  }

  /** Set the canvas to this many CSS pixels, of the shape of the document: a larger one enlarges the whole picture. */
  resize(width, height) {
    [this.width, this.height] = this.document.size;
    this.type = Math.max(1e-3, Math.min(width / this.width, height / this.height));
    this.seen = null;
  }

  /** Whether the camera was moved. */
  get turned() {
    return JSON.stringify(this.pose) !== JSON.stringify(this.home);
  }

  /** The camera, in logical pixels; the same object while nothing moves. */
  get camera() {
    this.seen ??= this.#cameraOf(this.pose);
    return this.seen;
  }

  /** Change the parts of the pose that `pose` names. */
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

  // The same by the user: a part of the picture always stays in the middle of its place.
  #move(pose) {
    this.glide = null;
    const [x, y, wide, high] = this.document.scene;
    const shift = wayBack(this.#cameraOf(pose), this.slabs, [x, y, x + wide, y + high]);
    this.#go(shift.some((along) => along !== 0) ? shifted(pose, ...shift) : pose);
  }

  #cameraOf(pose) {
    return cameraOf(pose, this.document.size, this.points);
  }

  turn(dx, dy) {
    this.#move(turned(this.pose, dx, dy));
  }

  shift(dx, dy) {
    this.#move(shifted(this.pose, dx, dy));
  }

  /** Enlarge around a point in logical pixels, at most until one cube fills its place. */
  zoom(factor, at) {
    const [left, top, right, foot] = this.document.rect;
    const [now, fitted] = [sizeOf(this.pose), sizeOf(this.home)];
    const most = Math.max(2, Math.min(right - left, foot - top) / fitted);
    const wanted = Math.min(Math.max(now * factor, SMALLEST_SIZE * fitted), most * fitted);
    this.#move(zoomed(this.pose, wanted / now, at));
  }

  /** Glide to the view that shows everything; at once if the user wants no motion. */
  fit() {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) this.set(this.home);
    else this.glide = { from: this.pose, began: performance.now() };
  }

  step() {
    if (!this.glide) return false;
    const { from, began } = this.glide;
    const share = Math.min(1, (performance.now() - began) / 1000 / GLIDE_SECONDS);
    if (share >= 1) this.set(this.home);
    else this.#go(between(from, this.home, 1 - (1 - share) ** 3));
    return this.glide !== null;
  }
}

// share of the place on each side that may be empty
const LEASH_MARGIN = 1 / 6;

/** Return the shortest shift in pixels that brings a box (given by corners) to the middle of a rectangle. */
export function wayBack(camera, boxes, [left, top, right, foot]) {
  const [across, down] = [LEASH_MARGIN * (right - left), LEASH_MARGIN * (foot - top)];
  const middle = [left + across, right - across].flatMap((x) => [top + down, foot - down].map((y) => [x, y]));
  let best = null;
  for (const box of boxes) {
    const seen = box.map((corner) => project(camera, corner));
    if (seen.some(([, , w]) => !(w > 0))) continue; // cannot be projected
    const shift = shiftTo(seen, middle);
    if (best === null || square(shift) < square(best)) best = shift;
  }
  return best ?? [0, 0];
}

const square = ([x, y]) => x * x + y * y;

/**
 * Return the shortest shift after which the hulls of `points` and `target`, both (N, 2), touch; zero if they do.
 * Shifts that let them touch are a convex region: the hull of all differences.
 */
export function shiftTo(points, target) {
  const region = convexHull(target.flatMap(([x, y]) => points.map((p) => [x - p[0], y - p[1]])));
  const sides = region.map(([x, y], k) => {
    const [nextX, nextY] = region[(k + 1) % region.length];
    return [nextX - x, nextY - y];
  });
  const around = sides.every(([dx, dy], k) => -dx * region[k][1] + dy * region[k][0] >= 0);
  if (region.length > 2 && around) return [0, 0];
  let nearest = null;
  region.forEach(([x, y], k) => {
    const [dx, dy] = sides[k];
    const along = Math.min(Math.max(-(x * dx + y * dy) / Math.max(dx * dx + dy * dy, 1e-300), 0), 1);
    const at = [x + along * dx, y + along * dy];
    if (nearest === null || square(at) < square(nearest)) nearest = at;
  });
  return nearest;
}
