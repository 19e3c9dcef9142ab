// Looks that cubes were given by hand: a colour, a size, whether they are seen; as view/cubes/own.py. Their labels are
// words around the cubes. Only documents that have `own` need it.

import { playerExtras } from "./player.js";

const NO_SIDE = 127; // in a texel's fourth byte; 128 more where there is a colour
const SIDE_STEPS = 126; // steps of a side

/** The looks of a document. */
export class OwnLooks {
  /** @param {object} document whose `own` lists `[flat index, "#rrggbb" or null, side 0..1 or null]` */
  constructor(document) {
    this.document = document;
    this.looks = new Map(document.own.map(([index, colour, share]) => [index, { colour: colour && bytesOfColour(colour), share }]));
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
}

function bytesOfColour(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

playerExtras.push((player) => {
  if (!player.document.own) return;
  const looks = (player.overlay.own = new OwnLooks(player.document));
  player.cubes.setOwn(looks.bytes);
});
