// A display list, as view/page/listed.py writes it, painted on a canvas of its own.

import { Ink } from "./ink.js";

const pictures = new Map(); // images by their addresses: the same one is decoded once
const MOST_PICTURES = 200;
const ROUND = 900; // a radius from which on a box is a disc

/** One list on one canvas; the one before stands until all images of this one have been decoded. */
export class Listing {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {object} advances widths of letters, as the document's `words` has them
   */
  constructor(canvas, advances) {
    this.ink = new Ink(canvas, advances);
    this.records = null;
    canvas.setAttribute("role", "img");
  }

  /** Show a list in a theme; `words` says what it is of, for who does not see it. */
  show(records, theme, words) {
    const { canvas } = this.ink, [, , , wide, high] = records[0], ratio = Math.max(1, window.devicePixelRatio || 1);
    canvas.setAttribute("aria-label", [words, ...records.filter(([kind]) => kind === "text").map((text) => text[3])].join(", "));
    if (this.wanted === records && this.theme === theme && this.ratio === ratio) return;
    this.wanted = records;
    const coming = picturesOf(records).filter((picture) => !picture.complete);
    const take = () => {
      if (this.wanted !== records) return;
      Object.assign(this, { records, theme, ratio });
      Object.assign(canvas.style, { width: `${wide}px`, aspectRatio: `${wide} / ${high}` });
      this.#paint();
    };
    if (!coming.length || !this.records) take(); // the list before stands until all of this one is there
    if (coming.length) Promise.allSettled(coming.map((picture) => picture.decode())).then(take);
  }

  #paint() {
    const { ink, records } = this, [, x, y, wide, high] = records[0];
    ink.begin(wide, high, this.ratio, this.theme);
    ink.context.translate(-x, -y);
    for (const [kind, ...said] of records.slice(1)) this[`_${kind}`](...said);
  }

  // A colour of the theme by its name, or as it is.
  #colour(name) {
    return name === null ? null : Object.hasOwn(this.theme, name) ? this.theme[name] : name;
  }

  _rect(x, y, wide, high, fill, stroke, border, radius) {
    this.ink.box(x, y, wide, high, { fill: this.#colour(fill), stroke: this.#colour(stroke), border, radius });
  }

  _cells(rects, fills, radius, rings) {
    for (let k = 0; 4 * k < rects.length; k++) {
      const [x, y, wide, high] = rects.slice(4 * k, 4 * k + 4), colour = `#${fills.slice(6 * k, 6 * k + 6)}`;
      const round = radius > ROUND ? Math.min(wide, high) / 2 : radius, ring = rings?.[k] ?? 0;
      this.ink.box(x, y, wide, high, ring > 0 ? { stroke: colour, border: ring, radius: round } : { fill: colour, radius: round });
    }
  }

  _lines(ways, colour, width) {
    for (let k = 0; k < ways.length; k += 4) this.ink.path([[ways[k], ways[k + 1]], [ways[k + 2], ways[k + 3]]], this.#colour(colour), width, { cap: "butt" });
  }

  _path(flat, colour, width) {
    this.ink.path(pairsOf(flat), this.#colour(colour), width);
  }

  _polygon(flat, fill) {
    this.ink.shape(pairsOf(flat), this.#colour(fill));
  }

  _image(x, y, wide, high, address, smooth) {
    const picture = pictureOf(address);
    this.ink.context.imageSmoothingEnabled = Boolean(smooth);
    if (picture.naturalWidth) this.ink.context.drawImage(picture, x, y, wide, high);
  }

  _sprites(rects, cells, address, smooth) {
    const picture = pictureOf(address), { context } = this.ink;
    context.imageSmoothingEnabled = Boolean(smooth);
    for (let k = 0; picture.naturalWidth && k < rects.length; k += 4) {
      const [u, v, across, down] = cells.slice(k, k + 4), { naturalWidth: wide, naturalHeight: high } = picture;
      context.drawImage(picture, u * wide, v * high, across * wide, down * high, ...rects.slice(k, k + 4));
    }
  }

  // Discs with a shade towards their rim.
  _points(flat, diameter, colours) {
    const { context } = this.ink, radius = diameter / 2;
    pairsOf(flat).forEach(([x, y], k) => {
      this.ink.disc(x, y, radius, `#${colours.slice(6 * k, 6 * k + 6)}`);
      const shade = context.createRadialGradient(x, y, 0, x, y, radius);
      shade.addColorStop(0, "rgba(0, 0, 0, 0)");
      shade.addColorStop(1, "rgba(0, 0, 0, 0.13)");
      this.ink.disc(x, y, radius, shade);
    });
  }

  _text(x, y, text, size, colour, bold, end) {
    this.ink.text(x, y, text, size, this.#colour(colour), { bold: Boolean(bold), end });
  }
}

/** The image of an address. */
function pictureOf(address) {
  if (!pictures.has(address)) {
    if (pictures.size >= MOST_PICTURES) pictures.delete(pictures.keys().next().value);
    const picture = new Image();
    pictures.set(address, picture);
    picture.src = address;
  }
  return pictures.get(address);
}

function picturesOf(records) {
  const address = { image: 5, sprites: 3 };
  return records.filter(([kind]) => Object.hasOwn(address, kind)).map((record) => pictureOf(record[address[record[0]]]));
}

/** Numbers as points. */
export function pairsOf(flat) {
  return Array.from({ length: flat.length / 2 }, (_, k) => [flat[2 * k], flat[2 * k + 1]]);
}

/** A list, of the one before it and what has changed. */
export function changedList(before, changes) {
  return Array.isArray(changes) ? changes : before.map((record, k) => changes[k] ?? record);
}
