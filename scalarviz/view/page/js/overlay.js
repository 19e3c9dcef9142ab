// The words over the cubes: their numbers, marks around the selected and the hovered one, the pointer's label.

import { project } from "./camera.js";
import { Ink } from "./ink.js";
import { drawLegends } from "./legend.js";
import { paint, paintList } from "./list.js";
import { Around } from "./notes.js";
import { bracketsOf, outlineOf } from "./outline.js";
import { pickCube } from "./picking.js";
import { colourAt, unitOf } from "./ranges.js";
import { drawTip } from "./tip.js";
import { ValuePlaces, drawValues } from "./values.js";

const FADE = 36; // pixels

const NO_SIDE = 127, SIDE_STEPS = 126; // in a texel's fourth byte, and the steps of a side; plus 128 with a colour

export class Overlay {
  constructor(canvas, document, view, shown, legends) {
    Object.assign(this, { document, view, shown, legends, places: null, around: null, placed: {} });
    this.ink = new Ink(canvas, document.words.advances);
    this.density = 1; // device pixels per logical pixel: it decides how cubes are drawn
    this.own = new OwnLooks(document);
  }

  pick(at) {
    if (at[1] > this.foot) return null;
    return pickCube(this.document.plates, this.view.camera, at, this.density, this.shares);
  }

  /** Return the lower edge of the cubes: moved cubes never cover the legends. */
  get foot() {
    const { moved, strip, box, height } = this.view;
    return moved && strip && this.legends !== "none" ? box[1] + box[3] : height;
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

  /** Redraw everything; `detailed` says whether cubes are large enough for all marks. */
  draw(frame, theme, tables, { hit, pointer, chosen }, detailed) {
    const { ink, view } = this;
    ink.begin(view.width, view.height, view.type * Math.max(1, window.devicePixelRatio || 1), theme);
    if (!frame) return;
    if (frame.list) {
      this.#paintList(frame);
      return this.#marks({ hit, pointer, chosen }, frame, theme);
    }
    this.#place();
    if (this.crosses) this.#fade(theme);
    this.around.draw(ink, this.shown, frame);
    if (view.strip && this.legends !== "none") this.#foot(frame, tables, chosen, detailed);
    const small = this.shares && { shares: this.shares, camera: view.camera, picked: (at) => this.pick(at) };
    const colourOf = (index, element) => this.colourOf(index, element, tables);
    drawValues(ink, this.places, this.shown, frame, colourOf, small);
    frame.above?.(this, colourOf);
    this.#marks({ chosen }, frame, theme);
    this.around.draw(ink, this.shown, frame, true);
    this.#marks({ hit, pointer }, frame, theme);
  }

  // Draw the window's list; under another camera what stands among the cubes follows them, inside the scene.
  #paintList({ list, followers }) {
    const { ink, view, document } = this;
    if (!view.turned) return paintList(ink, list);
    const follow = followers(document, view), moved = list.map((record) => [record, follow(record)]);
    ink.context.save();
    ink.context.beginPath();
    ink.context.rect(...document.scene);
    ink.context.clip();
    for (const [record, move] of moved) if (move && record[0] !== "clip") paint(ink, record, move);
    ink.context.restore();
    return paintList(ink, moved.filter(([, move]) => !move).map(([record]) => record));
  }

  // Mark the selected cube, and the one under the pointer with its name.
  #marks({ hit, pointer, chosen }, frame, theme) {
    if (chosen) this.#outline(chosen, theme);
    if (!hit) return;
    this.#brackets(hit, theme);
    if (pointer) drawTip(this.ink, pointer, [this.view.width, this.view.height], this.shown, frame, hit);
  }

  // All places stay while camera and kind of quantity stay.
  #place() {
    const { camera } = this.view, decades = !this.shown.quantity.plain, same = this.placed.camera === camera;
    if (same && this.placed.decades === decades) return;
    this.placed = { camera, decades };
    const among = [0, 0, this.view.width, this.foot];
    for (const form of decades ? ["decades", "brief"] : ["cube", "tenths"]) { // the second if the first has no room
      this.places = new ValuePlaces(this.document, camera, this.view, form, (at) => this.#largest(at), among);
      this.places.form = form;
      if (this.places.size) break;
    }
    if (same) return;
    this.crosses = this.view.slabs.some((slab) => slab.some((corner) => project(camera, corner)[1] > this.foot));
    this.around = new Around(this.document, this.view, this.ink.measure, (at) => this.#largest(at), this.foot);
  }

  // Fade out cubes that reach below the foot.
  #fade({ background }) {
    const { ink: { context }, foot, view: { width, height } } = this, shade = context.createLinearGradient(0, foot - FADE, 0, foot);
    shade.addColorStop(0, `${background}00`);
    shade.addColorStop(1, background);
    context.fillStyle = shade;
    context.fillRect(0, foot - FADE, width, height - foot + FADE);
  }

  // Draw what would be there if all cubes had full size.
  #largest(at) {
    return pickCube(this.document.plates, this.view.camera, at);
  }

  // Draw the legends below the cubes, and formulas at their left.
  #foot(frame, tables, chosen, detailed) {
    const [x, y] = this.view.strip, plate = chosen && this.document.plates[chosen.plate];
    const index = plate && plate.start >= 0 ? plate.start + chosen.element : null;
    const about = frame.about?.[this.shown.quantity.name.includes("gradient") ? 0 : 1], says = this.shown.quantity.name !== "weight";
    const room = drawLegends(this.ink, this.view.strip, this.shown, tables, detailed, index, (says && about) || "");
    if (room > 0 && frame.formulas && !frame.reached) {
      const [size, step, lines] = frame.formulas, fit = lines.every((line) => this.ink.measure(line, size) <= room + 1);
      if (fit) lines.forEach((line, row) => this.ink.text(x, y + 16 + step * row, line, size, this.ink.theme.text2));
    }
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
