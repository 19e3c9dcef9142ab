// Looks that cubes were given by hand: a colour, a size, whether they are seen, a label; as view/cubes/own.py and
// view/notes/notices.py. Only documents that have `own` need it.

import { cubeCorners } from "./boxes.js";
import { project } from "./camera.js";
import { playerExtras } from "./player.js";
import { beforeEye } from "./values.js";

const NO_SIDE = 127; // in a texel's fourth byte; 128 more where there is a colour
const SIDE_STEPS = 126; // steps of a side
const TAG_SIZE = 13;
const [TAG_PAD, TAG_HIGH] = [7, 20];
const TAG_AWAY = [16, 30, 46, 64, 84, 106]; // pixels above the cube that are tried
const TAG_ASIDE = [0, 0.6, -0.6, 1.2, -1.2];

const pointIn = ([x, y], [left, top, wide, high]) => left <= x && x <= left + wide && top <= y && y <= top + high;
const boxesMeet = (a, b) => a[0] < b[0] + b[2] && b[0] < a[0] + a[2] && a[1] < b[1] + b[3] && b[1] < a[1] + a[3];
const keptIn = (x, low, high) => Math.min(Math.max(x, low), high);

/** The looks of a document. */
export class OwnLooks {
  /** @param {object} document whose `own` lists `[flat index, "#rrggbb" or null, side 0..1 or null, label]` */
  constructor(document) {
    this.document = document;
    this.looks = new Map(document.own.map(([index, colour, share, label]) => [index, { colour: colour && bytesOfColour(colour), share, label }]));
  }

  /** Four bytes a texel, as the shaders read them: a parameter's texel is its flat index. */
  get bytes() {
    const [width, height] = this.document.atlas, found = new Uint8Array(4 * width * height);
    for (let k = 3; k < found.length; k += 4) found[k] = NO_SIDE;
    for (const [index, { colour, share }] of this.looks) {
      if (colour) found.set(colour, 4 * index);
      found[4 * index + 3] = (share === null ? NO_SIDE : Math.round(SIDE_STEPS * share)) + (colour ? 128 : 0);
    }
    return found;
  }

  #of(index, element) {
    const { start, kind } = this.document.plates[index];
    return kind === "activation" ? undefined : this.looks.get(start + element);
  }

  /** How large a cube is beside the largest, as the shader has it; null: as all others. */
  shareOf(index, element) {
    const share = this.#of(index, element)?.share ?? null;
    return share === null ? null : Math.round(SIDE_STEPS * share) / SIDE_STEPS;
  }

  /** Its colour in 0..1, null for none. */
  colourOf(index, element) {
    return this.#of(index, element)?.colour?.map((byte) => byte / 255) ?? null;
  }

  /** Labels above their cubes, each joined with the far edge of its face by a line, on no other word where there is room. */
  draw(overlay) {
    const { ink, view } = overlay, { theme } = ink, box = [0, 0, view.width, overlay.foot], taken = ink.texts.map((text) => wordBox(ink, text));
    for (const index of [...this.looks.keys()].sort((a, b) => a - b)) {
      const { label } = this.looks.get(index), end = label ? this.#edge(index, overlay) : null;
      if (!end || !pointIn(end, box)) continue;
      const width = ink.measure(label, TAG_SIZE) + 2 * TAG_PAD;
      let best = null, least = Infinity;
      for (const at of tagPlaces(end, width, box)) {
        const cost = tagCost(at, width, end, taken);
        if (cost < least) [best, least] = [at, cost];
      }
      const [x, y] = best;
      taken.push([x, y, width, TAG_HIGH]);
      ink.path([tagFoot(best, width, end), end], theme.selection, 1.4);
      ink.disc(...end, 2.5, theme.selection);
      ink.box(x, y, width, TAG_HIGH, { radius: 4, fill: theme.panel, stroke: theme.selection });
      ink.text(x + TAG_PAD, y + 14.5, label, TAG_SIZE, theme.text1);
    }
  }

  // The middle of the upper edge of a cube's face; null for one that is not drawn.
  #edge(index, overlay) {
    const { plates } = this.document, { camera } = overlay.view;
    const at = plates.findIndex((plate) => plate.kind !== "activation" && index >= plate.start && index < plate.start + plate.size);
    const plate = plates[at], share = plate ? overlay.shareOf(at, index - plate.start) : 0;
    if (!(share > 0)) return null;
    const corners = cubeCorners(plate, index - plate.start, share), face = [4, 5, 7, 6].map((k) => corners[k]);
    if (!beforeEye(camera, face)) return null;
    const ring = face.map((point) => project(camera, point).slice(0, 2));
    const middles = ring.map((p, k) => [0, 1].map((n) => (p[n] + ring[(k + 1) % 4][n]) / 2));
    return middles.reduce((high, one) => (one[1] < high[1] ? one : high));
  }
}

function bytesOfColour(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

// A written word, with the chip that it may stand in.
function wordBox(ink, [x, y, text, size, bold, end]) {
  const wide = ink.measure(text, size, bold), air = 8, left = x - { left: 0, middle: 0.5, right: 1 }[end] * wide;
  return [left - air, y - 0.8 * size - air / 2, wide + 2 * air, size + air];
}

// Left upper corners above a point, within the box, the nearest first.
function tagPlaces(end, width, [left, top, wide]) {
  return TAG_AWAY.flatMap((away) => TAG_ASIDE.map((aside) => [
    Math.min(Math.max(end[0] + (aside - 0.5) * width, left + 2), left + wide - width - 2), Math.max(end[1] - away - TAG_HIGH, top + 2),
  ]));
}

// Where the line leaves a label.
function tagFoot([x, y], width, end) {
  return [keptIn(end[0], x + 4, x + width - 4), y + TAG_HIGH];
}

// Two for each word that a label would lie on, one for each that its line would cross.
function tagCost(at, width, end, taken) {
  const foot = tagFoot(at, width, end), box = [...at, width, TAG_HIGH];
  const way = Array.from({ length: 8 }, (_, k) => [0, 1].map((n) => foot[n] + (k / 8) * (end[n] - foot[n])));
  return taken.reduce((sum, other) => sum + 2 * boxesMeet(box, other) + way.some((point) => pointIn(point, other)), 0);
}

playerExtras.push((player) => {
  if (!player.document.own) return;
  const looks = (player.overlay.own = new OwnLooks(player.document));
  player.cubes.setOwn(looks.bytes);
});
