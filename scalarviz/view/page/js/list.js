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
    paintList(ink, records.slice(1));
  }
}

/** Paint records with an ink that has begun, in the colours of its theme. */
export function paintList(ink, records) {
  const { context, theme } = ink, colour = (name) => (name !== null && Object.hasOwn(theme, name) ? theme[name] : name);
  context.save();
  for (const [kind, ...said] of records) PAINT[kind](ink, colour, ...said);
  context.restore();
}

const PAINT = {
  clip({ context }, colour, x, y, wide, high) {
    context.restore();
    context.save();
    context.beginPath();
    context.rect(x, y, wide, high);
    context.clip();
  },

  rect(ink, colour, x, y, wide, high, fill, stroke, border, radius) {
    ink.box(x, y, wide, high, { fill: colour(fill), stroke: colour(stroke), border, radius });
  },

  cells(ink, colour, rects, fills, radius, rings) {
    for (let k = 0; 4 * k < rects.length; k++) {
      const [x, y, wide, high] = rects.slice(4 * k, 4 * k + 4), own = `#${fills.slice(6 * k, 6 * k + 6)}`;
      const round = radius > ROUND ? Math.min(wide, high) / 2 : radius, ring = rings?.[k] ?? 0;
      ink.box(x, y, wide, high, ring > 0 ? { stroke: own, border: ring, radius: round } : { fill: own, radius: round });
    }
  },

  lines(ink, colour, ways, of, width) {
    for (let k = 0; k < ways.length; k += 4) ink.path([[ways[k], ways[k + 1]], [ways[k + 2], ways[k + 3]]], colour(of), width, { cap: "butt" });
  },

  strokes(ink, colour, ways, of, width) {
    for (let k = 0; k < ways.length; k += 4) ink.path([[ways[k], ways[k + 1]], [ways[k + 2], ways[k + 3]]], colour(of), width);
  },

  path(ink, colour, flat, of, width) {
    ink.path(pairsOf(flat), colour(of), width);
  },

  polygon(ink, colour, flat, fill) {
    ink.shape(pairsOf(flat), colour(fill));
  },

  image({ context }, colour, x, y, wide, high, address, smooth) {
    const picture = pictureOf(address);
    context.imageSmoothingEnabled = Boolean(smooth);
    if (picture.naturalWidth) context.drawImage(picture, x, y, wide, high);
  },

  sprites({ context }, colour, rects, cells, address, smooth) {
    const picture = pictureOf(address);
    context.imageSmoothingEnabled = Boolean(smooth);
    for (let k = 0; picture.naturalWidth && k < rects.length; k += 4) {
      const [u, v, across, down] = cells.slice(k, k + 4), { naturalWidth: wide, naturalHeight: high } = picture;
      context.drawImage(picture, u * wide, v * high, across * wide, down * high, ...rects.slice(k, k + 4));
    }
  },

  // discs with a shade towards their rim
  points(ink, colour, flat, diameter, colours) {
    const radius = diameter / 2;
    pairsOf(flat).forEach(([x, y], k) => {
      ink.disc(x, y, radius, `#${colours.slice(6 * k, 6 * k + 6)}`);
      const shade = ink.context.createRadialGradient(x, y, 0, x, y, radius);
      shade.addColorStop(0, "rgba(0, 0, 0, 0)");
      shade.addColorStop(1, "rgba(0, 0, 0, 0.13)");
      ink.disc(x, y, radius, shade);
    });
  },

  text(ink, colour, x, y, text, size, of, bold, end) {
    ink.text(x, y, text, size, colour(of), { bold: Boolean(bold), end });
  },
};

/** Call `then` when all images of some records can be painted: now, if they can already. */
export function whenLoaded(records, then) {
  const picture = picturesOf(records).find((one) => !one.complete);
  if (!picture) then();
  // not `decode`: that waits for a frame of the browser, and nothing else may ask for one
  else for (const end of ["load", "error"]) picture.addEventListener(end, () => whenLoaded(records, then), { once: true });
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
