// What stands over the cubes: the window's list with the numbers of the moment, marks around the selected and the
// hovered cube, and the pointer's label.

import { Moment } from "./bound.js";
import { pointOf } from "./boxes.js";
import { dot3, towardsEye } from "./camera.js";
import { followers } from "./follow.js";
import { Ink } from "./ink.js";
import { paint } from "./list.js";
import { bracketsOf, outlineOf } from "./outline.js";
import { pickCube } from "./picking.js";
import { colourAt, unitOf } from "./ranges.js";
import { drawTip } from "./tip.js";

const PATCH = "ink", PATCH_AIR = 10; // fill of the patch below a NaN, and how much wider it is than the word
const NO_SIDE = 127, SIDE_STEPS = 126; // in a texel's fourth byte, and the steps of a side; plus 128 with a colour

export class Overlay {
  constructor(canvas, document, view, shown) {
    Object.assign(this, { document, view, shown });
    this.ink = new Ink(canvas, document.advances);
    this.density = 1; // device pixels per logical pixel: it decides how cubes are drawn
    this.own = new OwnLooks(document);
  }

  pick(at) {
    const [x, y, wide, high] = this.document.scene;
    if (this.view.turned && (at[0] < x || at[0] > x + wide || at[1] < y || at[1] > y + high)) return null; // moved cubes end there
    return pickCube(this.document.plates, this.view.camera, at, this.density, this.shares);
  }

  /** Return a cube's size as a share of the largest, by plate and element; null while all have full size. */
  get shares() {
    return this.document.own && ((index, element) => this.shareOf(index, element));
  }

  shareOf(index, element) {
    return this.own.shareOf(index, element) ?? 1;
  }

  /** Return the colour of a cube's main face in 0..1. */
  colourOf(index, element, tables) {
    const plate = this.document.plates[index], own = this.own.colourOf(index, element);
    if (own) return own;
    const unit = unitOf(this.shown.ranges[index], this.shown.drawn[plate.texel + element]);
    return colourAt(tables[plate.kind === "activation" ? 1 : 0], unit || 0).map((byte) => byte / 255);
  }

  /** Redraw everything. */
  draw(frame, theme, tables, { hit, pointer, chosen }) {
    const { ink, view } = this;
    ink.begin(view.width, view.height, view.type * Math.max(1, window.devicePixelRatio || 1), theme);
    if (!frame) return;
    ink.moment = new Moment(this.shown, frame, (index, element) => this.colourOf(index, element, tables));
    this.#paintList(frame.list ?? []);
    if (chosen) this.#outline(chosen, theme);
    if (!hit) return;
    this.#brackets(hit, theme);
    if (pointer) drawTip(ink, pointer, [view.width, view.height], this.shown, frame, hit);
  }

  // Draw the list; under another camera what stands among the cubes follows them, inside the scene.
  #paintList(list) {
    const { ink, view, document } = this, { left = 0, top = 0 } = document, { context } = ink;
    const there = ([x, y]) => [x - left, y - top], follow = view.turned ? followers(document, view) : () => null;
    const moved = list.map((record) => [record, follow(record)]);
    context.save(); // a clipping box ends here and the next one starts
    context.beginPath();
    context.rect(...document.scene);
    if (view.turned) context.clip();
    const taken = [];
    for (const [record, move] of moved) if (move && record[0] !== "clip" && !this.#hides(record, move) && this.#hasRoom(record, move, taken)) paint(ink, record, move);
    context.restore();
    context.save();
    for (const [record, move] of moved) if (!move) paint(ink, record, there);
    context.restore();
  }

  // Return whether the cube on which a text stands, or the patch below one, is turned away, or does not show its place.
  #hides(record, { cube, at }) {
    if (!cube && ["number", "text"].includes(record[0])) return this.pick(at) !== null; // a name does not lie on cubes
    if (!cube || !(["number", "text"].includes(record[0]) || (record[0] === "rect" && record[5] === PATCH))) return false;
    const plate = this.document.plates[cube.plate], top = pointOf(plate, cube.element, [0, 0, plate.depth]), reach = this.#widthOf(record) / 2;
    return dot3(towardsEye(this.view.camera, top), plate.axes[2]) <= 0 || [0, -reach, reach].some((aside) => {
      const hit = this.pick([at[0] + aside, at[1]]);
      return hit?.plate !== cube.plate || hit.element !== cube.element;
    });
  }

  // Return whether a text is off those before it, and take its place.
  #hasRoom(record, { at }, taken) {
    if (!["number", "text"].includes(record[0])) return true;
    const [, , , ...said] = record, [size, , , end] = record[0] === "text" ? said.slice(1) : said, wide = this.#widthOf(record, end);
    const left = at[0] - ({ middle: 0.5, right: 1 }[end] ?? 0) * wide, box = [left, at[1] - size / 2, left + wide, at[1] + size / 2];
    if (taken.some((other) => [0, 1].every((k) => box[k] < other[k + 2] && other[k] < box[k + 2]))) return false;
    taken.push(box);
    return true;
  }

  // Return the width of a record that stands at its place as wanted, usually around it; of any other 0.
  #widthOf([kind, , , ...said], wanted = "middle") {
    if (kind === "rect") return said[0] - PATCH_AIR;
    const { measure, moment } = this.ink, [words, size, , bold, end] = kind === "text" ? said : ["", ...said];
    if (end !== wanted) return 0;
    const wide = (text) => measure(text, size, Boolean(bold));
    return wide(kind === "text" ? words : moment.textOf(...said.slice(4), wide));
  }

  #outline({ plate, element }, theme) {
    for (const path of outlineOf(this.document.plates, plate, element, this.view.camera, (at) => this.pick(at), this.shareOf(plate, element))) {
      this.ink.path(path, theme.selection, 2.6);
    }
  }

  #brackets({ plate, element }, theme) {
    const paths = bracketsOf(this.document.plates[plate], element, this.view.camera, this.shareOf(plate, element)) ?? [];
    for (const [colour, wide] of [[theme.background, 4.6], [theme.selection, 2.6]]) for (const path of paths) this.ink.path(path, colour, wide);
  }
}

/** Custom looks: a colour or a size, as in view/cubes/looks.py (their labels are notes); and the looks of a frame. */
export class OwnLooks {
  /** @param {object} document whose `own` lists `[flat index, "#rrggbb" or null, side 0..1 or null]` */
  constructor(document) {
    Object.assign(this, { document, instead: null, rise: null }); // by texel: bytes of colours, shares of the height
    this.looks = new Map((document.own ?? []).map(([index, colour, share]) => [index, { colour: colour && bytesOfColour(colour), share }]));
  }

  /** Four bytes a texel, as the shaders read them: a parameter's texel is its flat index. Null without looks. */
  get bytes() {
    if (!this.looks.size && !this.instead) return null;
    const [width, height] = this.document.atlas, found = new Uint8Array(4 * width * height);
    for (let k = 3; k < found.length; k += 4) found[k] = NO_SIDE;
    for (const [index, { colour, share }] of this.looks) {
      if (colour) found.set(colour, 4 * index);
      found[4 * index + 3] = (share === null ? NO_SIDE : Math.round(SIDE_STEPS * share)) + (colour ? 128 : 0);
    }
    for (const [texel, colour] of this.instead ?? []) found.set([...colour, found[4 * texel + 3] | 128], 4 * texel);
    for (let k = 0; this.rise && k < this.document.parameters; k++) found[4 * k + 3] = (found[4 * k + 3] & 128) | Math.round(63 * (1 + (this.rise.get(k) ?? 0)));
    return found;
  }

  #of(index, element) {
    return this.looks.get(this.document.plates[index].texel + element);
  }

  shareOf(index, element) {
    const share = this.#of(index, element)?.share ?? null;
    return share === null ? null : Math.round(SIDE_STEPS * share) / SIDE_STEPS;
  }

  colourOf(index, element) {
    const colour = this.instead?.get(this.document.plates[index].texel + element) ?? this.#of(index, element)?.colour;
    return colour?.map((byte) => byte / 255) ?? null;
  }
}

function bytesOfColour(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}
