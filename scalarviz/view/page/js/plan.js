// Where the flat part of a planned picture stands, as one camera shows it.

import { project } from "./camera.js";

const OFF = 0.75; // pixels by which a point may stand elsewhere and still be where the plan says
const LEAST_SIZE = 0.97; // of the fitted size: words keep theirs, and would touch in a smaller picture

/** The plan of a document whose `words.plan` is there. */
export class Plan {
  constructor(sheet, camera) {
    this.sheet = sheet;
    const { anchors, places } = sheet, there = anchors.map((xyz) => project(camera, xyz));
    const away = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1]);
    this.size = away(there[1], there[0]) / away(places[1], places[0]);
    this.shift = [0, 1].map((k) => there[0][k] - this.size * places[0][k]);
    const off = Math.max(...places.flatMap((p, n) => [0, 1].map((k) => Math.abs(this.size * p[k] + this.shift[k] - there[n][k]))));
    /** Whether the camera looks from where the plan was made for: else its words would lie wrongly. */
    this.seen = this.size >= LEAST_SIZE && off <= OFF * Math.max(this.size, 1);
  }

  /** Where a point of the plan stands in this picture. */
  at(x, y) {
    return [this.size * x + this.shift[0], this.size * y + this.shift[1]];
  }

  /** The same of a box. */
  boxAt([x, y, width, height]) {
    return [...this.at(x, y), this.size * width, this.size * height];
  }
}
