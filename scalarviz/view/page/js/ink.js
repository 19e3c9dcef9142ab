// The flat parts of the picture: texts, lines and boxes over the cubes, on their own canvas.

let bySoftware = false;

/** Whether a processor draws everything here: known once the first cubes have a context. */
export function drawFlatBySoftware(software) {
  bySoftware = software;
}

/**
 * Return the 2D context of a canvas. Without a graphics card a browser may emulate one, also for flat drawings; asking
 * for the processor directly takes half of the time.
 */
export function flatContext(canvas) {
  return canvas.getContext("2d", { willReadFrequently: bySoftware });
}

/** Draw below the content of a canvas, in its pixels, until it is redrawn; a WebGL canvas does not change. */
export function putUnder(canvas, draw) {
  const flat = canvas.getContext("2d");
  if (!flat) return;
  Object.assign(flat, { globalCompositeOperation: "destination-over" }).resetTransform();
  draw(flat);
  flat.globalCompositeOperation = "source-over";
}

export const MIDDLE = 0.357; // from a baseline to half the height of a digit, as a share of the type size
const FAMILY = '"Open Sans", "Noto Sans", "Segoe UI", "DejaVu Sans", system-ui, sans-serif';

/** Return a new element with a class and a text; content of files is never read as HTML. */
export function element(tag, name = "", text = "") {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text) made.textContent = text;
  if (tag === "button") made.type = "button"; // inside a form it would submit
  return made;
}

/** Return how much larger type is than usual, from the style sheet for very large pages. */
export function typeScale(element) {
  return Number(getComputedStyle(element).getPropertyValue("--type")) || 1;
}

export class Ink {
  /**
   * `advances` are widths of the window's letters in thousandths: texts are placed as in the window, and squeezed if a
   * font is wider. Without them texts have the font's width.
   */
  constructor(canvas, advances = null) {
    this.canvas = canvas;
    const letters = [...(advances?.letters ?? "")];
    this.widths = advances && [advances.regular, advances.bold].map((list) => new Map(letters.map((letter, k) => [letter, list[k] / 1000])));
    this.unknown = advances?.unknown;
    this.measure = this.measure.bind(this);
    this.context = null; // until the first drawing, when it is known what draws
    this.films = new Map(); // painted panels by name
    this.theme = null;
  }

  /** Clear everything. */
  begin(width, height, ratio, theme) {
    const [across, down] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
    if (this.canvas.width !== across || this.canvas.height !== down) {
      this.canvas.width = across;
      this.canvas.height = down;
    }
    this.theme = theme;
    this.context ??= flatContext(this.canvas);
    this.context.setTransform(across / width, 0, 0, down / height, 0, 0);
    this.context.clearRect(0, 0, width, height);
  }

  /** Clear and resize the canvas to its element; return its width and height in pixels of its type. */
  fit(theme) {
    const type = typeScale(this.canvas), [wide, high] = [this.canvas.clientWidth / type, this.canvas.clientHeight / type];
    this.begin(wide, high, (window.devicePixelRatio || 1) * type, theme);
    return [wide, high];
  }

  #font(size, bold) {
    this.context.font = `${bold ? 600 : 400} ${size}px ${FAMILY}`;
  }

  /** Return the width of a text in the window's font, which is the most that it takes here. */
  measure(text, size, bold = false) {
    if (!this.widths) {
      this.#font(size, bold);
      return this.context.measureText(text).width;
    }
    const which = Number(bold);
    let sum = 0;
    for (const letter of text) sum += this.widths[which].get(letter) ?? this.unknown[which];
    return size * sum;
  }

  text(x, y, text, size, colour, { bold = false, end = "left" } = {}) {
    if (!text) return;
    this.#font(size, bold);
    this.context.textAlign = end === "middle" ? "center" : end;
    this.context.textBaseline = "alphabetic";
    this.context.fillStyle = colour;
    this.context.fillText(text, x, y, this.measure(text, size, bold) + 0.5);
  }

  /** Draw a bar of colours (N, 3) from left to right. */
  colours(x, y, width, height, table) {
    const count = table.length / 3;
    const gradient = this.context.createLinearGradient(x, 0, x + width, 0);
    const stops = 64; // between them the browser interpolates as the maps do
    for (let k = 0; k <= stops; k++) {
      const at = 3 * Math.round((k / stops) * (count - 1));
      gradient.addColorStop(k / stops, `rgb(${table[at]}, ${table[at + 1]}, ${table[at + 2]})`);
    }
    this.context.fillStyle = gradient;
    this.context.fillRect(x, y, width, height);
  }

  /** Draw a box, perhaps rounded, with its border inside. */
  box(x, y, width, height, { fill = null, stroke = null, radius = 0, border = 1 } = {}) {
    const path = this.context;
    const inset = stroke ? border / 2 : 0;
    path.beginPath();
    path.roundRect(x + inset, y + inset, width - 2 * inset, height - 2 * inset, Math.max(0, radius - inset));
    if (fill) {
      path.fillStyle = fill;
      path.fill();
    }
    if (stroke) {
      path.setLineDash([]);
      path.strokeStyle = stroke;
      path.lineWidth = border;
      path.stroke();
    }
  }

  /** Draw inside a box only. */
  within(x, y, width, height, draw) {
    const path = this.context;
    path.save();
    path.beginPath();
    path.rect(x, y, width, height);
    path.clip();
    draw();
    path.restore();
  }

  #trace(points, closed = false) {
    const path = this.context;
    path.beginPath();
    points.forEach(([x, y], k) => (k ? path.lineTo(x, y) : path.moveTo(x, y)));
    if (closed) path.closePath();
    return path;
  }

  path(points, colour, width, { cap = "round", dash = [] } = {}) {
    const path = this.#trace(points);
    path.setLineDash(dash);
    path.lineJoin = "round";
    path.lineCap = cap;
    path.strokeStyle = colour;
    path.lineWidth = width;
    path.stroke();
  }

  shape(points, colour) {
    const path = this.#trace(points, true);
    Object.assign(path, { fillStyle: colour ?? "#000", globalCompositeOperation: colour ? "source-over" : "destination-out" }).fill();
    path.globalCompositeOperation = "source-over"; // without a colour it clears its area
  }

  disc(x, y, radius, colour) {
    this.context.beginPath();
    this.context.arc(x, y, radius, 0, 2 * Math.PI);
    this.context.fillStyle = colour;
    this.context.fill();
  }
}
