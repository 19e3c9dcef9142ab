// A display list of view/ink/listed.py, drawn on its own canvas.

import { MIDDLE, flatContext } from "./ink.js";
import { inkOf } from "./inks.js";
import { colourAt } from "./ranges.js";

const pictures = new Map(); // images by address: equal ones are decoded once
const MOST_PICTURES = 200;
const BAR = "map "; // the address of a colour map
const isBar = (address) => typeof address === "string" && address.startsWith(BAR);
const READABLE = 13; // pixels of the smallest type
const BEYOND = 12; // pixels by which a text may reach beyond a small panel
const FILM_AIR = 24; // pixels around a panel's picture that belong to it
const ROUND = 900; // a box with at least this radius is a disc

/** Draw one record with the colours of `ink`; `move` maps its points to their current places. */
export function paint(ink, [kind, ...said], move = (at) => at) {
  const colour = (name) => inkOf(ink.theme, name);
  PAINTERS[kind](ink, move, colour, ...said);
}

export function paintList(ink, records) {
  ink.context.save(); // a clipping box ends here and the next one starts
  for (const record of records) paint(ink, record);
  ink.context.restore();
}

/** Call `then` once all images of the records can be drawn: at once if possible. */
export function whenLoaded(records, then) {
  const picture = picturesOf(records).find((one) => !one.complete);
  if (!picture) then();
  // not `decode`, which waits for a frame of the browser that nothing else may request
  else for (const end of ["load", "error"]) picture.addEventListener(end, () => whenLoaded(records, then), { once: true });
}

const PAINTERS = {
  clip({ context }, move, colour, x, y, wide, high) {
    context.restore();
    context.save();
    context.beginPath();
    context.rect(...move([x, y]), wide, high);
    context.clip();
  },
  rect(ink, move, colour, x, y, wide, high, fill, stroke, border, radius) {
    const [across, down] = move([x + wide / 2, y + high / 2]); // in a stretched picture it keeps its size
    ink.box(across - wide / 2, down - high / 2, wide, high, { fill: colour(fill), stroke: colour(stroke), border, radius });
  },
  cells(ink, move, colour, rects, fills, radius, rings) {
    for (let k = 0; 4 * k < rects.length; k++) {
      const [x, y, wide, high] = rects.slice(4 * k, 4 * k + 4), own = fillOf(ink, fills, k);
      const round = radius > ROUND ? Math.min(wide, high) / 2 : radius, ring = rings?.[k] ?? 0;
      ink.box(...move([x, y]), wide, high, ring > 0 ? { stroke: own, border: ring, radius: round } : { fill: own, radius: round });
    }
  },
  lines(ink, move, colour, ways, own, width, cap = "butt") {
    const points = pairsOf(ways).map(move);
    for (let k = 0; k < points.length; k += 2) ink.path(points.slice(k, k + 2), colour(own), width, { cap });
  },
  strokes(...how) {
    PAINTERS.lines(...how, "round");
  },
  path(ink, move, colour, flat, own, width) {
    ink.path(pairsOf(flat).map(move), colour(own), width);
  },
  area(ink, move, colour, flat, bottom, fill) {
    const line = pairsOf(flat);
    ink.shape([[line[0][0], bottom], ...line, [line.at(-1)[0], bottom]].map(move), colour(fill));
  },
  polygon(ink, move, colour, flat, fill) {
    const corners = pairsOf(flat), [first] = corners, [x, y] = move(first); // it keeps its size, too
    ink.shape(corners.map((corner) => [corner[0] - first[0] + x, corner[1] - first[1] + y]), colour(fill));
  },
  image({ context }, move, colour, x, y, wide, high, address, smooth) {
    if (isBar(address)) return paintBar(context, colour, [...move([x, y]), wide, high], address.slice(BAR.length));
    const picture = pictureOf(address);
    context.imageSmoothingEnabled = Boolean(smooth);
    if (picture.naturalWidth) context.drawImage(picture, ...move([x, y]), wide, high);
  },
  sprites({ context }, move, colour, rects, cells, address, smooth) {
    const picture = pictureOf(address), { naturalWidth: wide, naturalHeight: high } = picture;
    context.imageSmoothingEnabled = Boolean(smooth);
    for (let k = 0; picture.naturalWidth && k < rects.length; k += 4) {
      const [u, v, across, down] = cells.slice(k, k + 4), at = move(rects.slice(k, k + 2));
      context.drawImage(picture, u * wide, v * high, across * wide, down * high, ...at, ...rects.slice(k + 2, k + 4));
    }
  },
  // discs with shading towards the rim
  points(ink, move, colour, flat, diameter, colours) {
    const { context } = ink, radius = diameter / 2;
    pairsOf(flat).map(move).forEach(([x, y], k) => {
      ink.disc(x, y, radius, `#${colours.slice(6 * k, 6 * k + 6)}`);
      const shade = context.createRadialGradient(x, y, 0, x, y, radius);
      shade.addColorStop(0, "rgba(0, 0, 0, 0)");
      shade.addColorStop(1, "rgba(0, 0, 0, 0.13)");
      ink.disc(x, y, radius, shade);
    });
  },
  spot() {}, // a place to press
  // a number of the moment
  number(ink, move, colour, x, y, size, own, bold, end, name, index, ...said) {
    const { moment } = ink, text = moment.textOf(name, index, ...said, (words) => ink.measure(words, size, Boolean(bold)));
    PAINTERS.text(ink, move, colour, x, y, text, size, moment.inkOf(own, name, index, text), bold, end);
  },
  // behind the text before it
  "next number": (ink, move, colour, gap, y, ...said) => PAINTERS.number(ink, (at) => at, colour, ink.pen + gap, move([0, y])[1], ...said),
  "next text": (ink, move, colour, gap, y, ...said) => PAINTERS.text(ink, (at) => at, colour, ink.pen + gap, move([0, y])[1], ...said),
  swatch(ink, move, colour, x, y, wide, high, name, stroke, border, radius) {
    PAINTERS.rect(ink, move, colour, x, y, wide, high, ink.moment.swatchOf(name), stroke, border, radius);
  },
  marks(ink, move, colour, x, y, wide, high, own, width) {
    for (const unit of ink.moment.marks) {
      const [across, down] = move([x + unit * (wide - 1) + 0.5, y]);
      ink.path([[across, down], [across, down + high]], colour(own), width, { cap: "butt" });
    }
  },
  // a panel's own list, which the page has: painted once on a canvas of its own, since it changes more rarely
  film(ink, move, colour, x, y, wide, high, name) {
    const list = ink.filmOf(name), { context, theme } = ink, { a: ratio } = context.getTransform(), known = ink.films.get(name);
    const [left, top, across, down] = [x - FILM_AIR, y - FILM_AIR, x + wide + FILM_AIR, y + high + FILM_AIR].map((side) => Math.round(side * ratio));
    const wanted = [list, theme, ratio, left, top, across, down];
    let film = known?.film;
    if (!known?.wanted.every((one, k) => one === wanted[k])) {
      film = Object.assign(document.createElement("canvas"), { width: Math.max(1, across - left), height: Math.max(1, down - top) });
      paintFilm(ink, film, list, [ratio, left, top], [x, y, wide]);
      if (picturesOf(list).every((picture) => picture.complete)) ink.films.set(name, { wanted, film });
    }
    context.save();
    context.resetTransform();
    context.drawImage(film, left, top);
    context.restore();
  },
  text(ink, move, colour, x, y, text, size, own, bold, end) {
    const at = move([x, y]);
    ink.text(...at, text, size, colour(own), { bold: Boolean(bold), end });
    if (end === "left") ink.pen = at[0] + ink.measure(text, size, Boolean(bold));
  },
};

function paintFilm(ink, film, [[, left, top, across], ...records], [ratio, aside, above], [x, y, wide]) {
  const { context } = ink, scale = wide / across;
  ink.context = flatContext(film);
  ink.context.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * (x - scale * left) - aside, ratio * (y - scale * top) - above);
  paintList(ink, scale < 1 ? legible(records, scale, [left, across], ink.measure) : records);
  ink.context = context;
}

// Return a panel's records for a smaller scale: texts keep their size, as in view/ink/listed.py.
function legible(records, scale, [left, wide], measure) {
  const taken = [], placed = new Map(), texts = records.filter(([kind]) => kind === "text");
  const boxes = new Map(texts.flatMap((text) => records.filter((one) => isBefore(one, text)).slice(-1).map((one) => [text, one])));
  for (const record of [...texts.filter((one) => one[6]), ...texts.filter((one) => !one[6])]) {
    const [kind, x, y, words, size, own, bold, end] = record, now = Math.max(size, Math.min(size, READABLE) / scale), across = measure(words, now, Boolean(bold));
    const mark = boxes.get(record), before = mark ? x - mark[1] : 0, beyond = BEYOND / scale, base = y + MIDDLE * (now - size);
    const start = Math.max(left - beyond + before, Math.min(x - (across * ["left", "middle", "right"].indexOf(end)) / 2, left + wide + beyond - across));
    const box = [start - before - 2, base - 0.75 * now, start + across + 2, base + 0.05 * now];
    if (taken.some((other) => [0, 1].every((k) => box[k] < other[k + 2] && other[k] < box[k + 2]))) continue;
    taken.push(box);
    placed.set(record, [kind, start, base, words, now, own, bold, "left"]);
    if (mark) placed.set(mark, mark.with(1, start - before));
  }
  const gone = new Set([...texts, ...boxes.values()].filter((one) => !placed.has(one)));
  return records.filter((record) => !gone.has(record)).map((record) => placed.get(record) ?? record);
}

// Return whether a record is a small box that stands before a text, in its line.
function isBefore([kind, x, y, wide, high], [, tx, ty, , , , , end]) {
  return kind === "rect" && Math.max(wide, high) <= READABLE && end === "left" && tx > x + wide && tx < x + wide + READABLE && Math.abs(ty - y - high) < READABLE / 2;
}

// Draw a colour map from left to right.
function paintBar(context, colour, [x, y, wide, high], name) {
  const [map, ...rest] = name.split(":"), shade = context.createLinearGradient(x, 0, x + wide, 0);
  for (let step = 0; step <= 256; step += 4) shade.addColorStop(step / 256, colour([`${map}@${step}`, ...rest].join(":")));
  context.fillStyle = shade;
  context.fillRect(x, y, wide, high);
}

// The colour of one cell: its digits, or its place in a map after the map's name.
function fillOf({ shades }, fills, k) {
  const [name, places] = fills.split(":");
  if (places === undefined) return `#${fills.slice(6 * k, 6 * k + 6)}`;
  return `rgb(${colourAt(shades[name], parseInt(places.slice(2 * k, 2 * k + 2), 16) / 255)})`;
}

function pictureOf(address) {
  if (typeof address !== "string") return address; // a canvas
  if (!pictures.has(address)) {
    if (pictures.size >= MOST_PICTURES) pictures.delete(pictures.keys().next().value);
    pictures.set(address, Object.assign(new Image(), { src: address }));
  }
  return pictures.get(address);
}

/** Return a canvas for a list in place of a picture's address. */
export function canvasOf(wide, high) {
  return Object.assign(document.createElement("canvas"), { width: wide, height: high, complete: true, naturalWidth: wide, naturalHeight: high });
}

/** Return a canvas with colours, three bytes a pixel. */
export function pictureOfBytes(bytes, wide, high) {
  const canvas = canvasOf(wide, high), context = canvas.getContext("2d"), image = context.createImageData(wide, high);
  image.data.fill(255);
  for (let k = 0, at = 0; at < bytes.length; at++, k += at % 3 ? 1 : 2) image.data[k] = bytes[at];
  context.putImageData(image, 0, 0);
  return canvas;
}

export function picturesOf(records) {
  const address = { image: 5, sprites: 3 };
  const addresses = records.filter(([kind]) => Object.hasOwn(address, kind)).map((record) => record[address[record[0]]]);
  return addresses.filter((one) => !isBar(one)).map(pictureOf);
}

// Parse numbers as points.
function pairsOf(flat) {
  return Array.from({ length: flat.length / 2 }, (_, k) => [flat[2 * k], flat[2 * k + 1]]);
}

/** Return a list from the previous one and its changes. */
export function changedList(before, changes) {
  return Array.isArray(changes) ? changes : before.map((record, k) => changes[k] ?? record);
}

/** Return lists with the `colours` that `colours_apart` in view/page/recorded.py took out of them, by the number of a record. */
export function recoloured(lists, colours) {
  return Object.entries(colours).reduce((found, [k, digits]) => {
    const bytes = Uint8Array.from(digits.match(/../g), (two) => parseInt(two, 16)), count = bytes.length / lists.length / 3; // of one list
    for (let at = 0; at < bytes.length; at++) if (at % lists.length) bytes[at] += bytes[at - 1];
    const byteOf = (j, now) => bytes[((j % 3) * count + Math.floor(j / 3)) * lists.length + now].toString(16).padStart(2, "0");
    const digitsAt = (now) => Array.from({ length: 3 * count }, (_, j) => byteOf(j, now)).join("");
    const shaded = (record, now) => Object.assign([...record], { [record[0] === "points" ? 3 : 2]: digitsAt(now) });
    return found.map((list, now) => Object.assign([...list], { [k]: shaded(list[k], now) }));
  }, lists);
}
