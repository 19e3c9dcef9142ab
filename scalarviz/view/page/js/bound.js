// Numbers of the moment in a display list, which the browser fills in: their texts, colours, and places on a scale.

import { alikeIn32, lineOf, sentencesOf } from "./captions.js";
import { hexOf, inkOn } from "./inks.js";
import { MINUS_SIGN, chipText, countText, deltaText, errorOf, exponentText, lossText, numberText, rateText, shareText, shortText, sureChip } from "./numbers.js";
import { MARK_BITS } from "./quantity.js";
import { unitOf } from "./ranges.js";

const BRIEF = 0.00995; // a smaller number has an exponent, even with little room
const CUBE = "cube", SIGN = "sign"; // colours of a number on a cube, and of a gradient

/** Return whether a printed number, or a product of some, is below 0. */
function isNegative(text) {
  const factors = text.replaceAll(`e${MINUS_SIGN}`, ""), zero = (factors.match(/\d[\d.,]*/g) ?? []).some((found) => !Number(found.replaceAll(",", "")));
  return !zero && factors.split(MINUS_SIGN).length % 2 === 0;
}

const MADE = {
  count: countText,
  loss: lossText,
  rate: rateText,
  plain: (value) => numberText(value, 4),
  delta: deltaText,
  share: shareText,
  target: (value) => (Number.isNaN(value) ? "?" : chipText(value)),
  tick: (value) => shortText(value, true),
  "small tick": (value) => (Math.abs(value) < 0.1 ? exponentText(value, 1, true) : shortText(value, true)),
  decade: (value) => exponentText(value).replace("1.0e", "1e"),
  ...Object.fromEntries([1, 2, 3, 4, 5, 6].map((digits) => [`${digits} decimals`, (value) => numberText(value, digits, true)])),
  "range \u00b1": (most) => (most ? `\u00b1${shortText(most)}` : "all 0"),
  "range \u2264\u2009": (most) => (most ? `\u2264\u2009${shortText(most)}` : "all 0"),
};

/** Return a number as it is written on a cube or a chip. */
function figure(value, form, signed) {
  if (value === 0 && form !== "chip") return "0";
  if (form === "tenths") return numberText(value, Math.abs(value) < 9.95 ? 1 : 0, signed);
  if (form === "brief" && Math.abs(value) < BRIEF) return exponentText(value, 0, signed);
  return form === "decades" ? shortText(value, signed) : chipText(value, signed);
}

/** The numbers of one frame as a list shows them. */
export class Moment {
  /**
   * `colourOf` returns the colour of a cube by plate and element; `frame.stepOf` the step of a recorded panel.
   * `frame.written` has numbers of texts by name that no cube shows; `frame.pieceOf` writes the equations of opened steps.
   */
  constructor(shown, frame, colourOf) {
    Object.assign(this, { shown, frame, colourOf });
  }

  // Return a number and its largest error; undefined if it is unknown.
  #numberOf(name, index, form) {
    const { shown, frame } = this, { quantity } = shown;
    if (form.startsWith("range")) return [shown.extents[name], 0];
    if (name === "tick") return [Math.sign(index) * shown.legend.range.high * 10 ** (1 - Math.abs(index)) || 0, 0];
    if (name === "=") return [index, 0];
    if (name === "clipped") return [this.clipped, 0];
    if (name === "step") return [frame.step, 0];
    if (name === "run loss") return [frame.loss, 0];
    if (name === "rate") return [frame.lr, 0];
    if (name === "loss") return [frame.sample_loss ?? undefined, 0];
    if (name === "target") return [this.rowOf(name)?.[index] ?? NaN, 0];
    if (name.startsWith("step of ")) return [frame.stepOf?.(name.slice(8)), 0];
    if (name === quantity.name) return [shown.numbers[index], errorOf(frame, name, index)];
    const row = this.rowOf(name), plate = this.#plateOf(name, index);
    return [row?.[index], plate ? errorOf(frame, "weight", plate.texel + index) : frame.rowErrors?.[name]?.[index] ?? 0];
  }

  rowOf(name) {
    return this.frame.written?.[name] ?? (name === "weight" ? this.frame.texels.weight : name === "target" ? this.shown.document.target : this.shown.rowOf(this.frame, name));
  }

  #plateOf(name, index) {
    const { plates } = this.shown.document, row = plates.find((one) => one.kind === "activation" && one.name === name);
    return row ?? ([this.shown.quantity.name, "weight"].includes(name) ? plates.find((one) => one.start >= 0 && index >= one.start && index < one.start + one.size) : undefined);
  }

  /** Return the text of a number between its words; only the first words if it is unknown, or if there is no room. */
  textOf(name, index, form, before, within, after, more, wide) {
    if (form.startsWith("caption")) return this.#captionOf(name, index, form, before, within, after, more, wide);
    const [value, error] = this.#numberOf(name, index, form), bare = form.replace("signed ", "");
    const others = more?.flatMap((one, k) => (k % 2 ? [] : [this.#numberOf(one, more[k + 1], form)[0]]));
    if (form.includes(":")) return this.frame.pieceOf(form, [value, ...others]);
    if (form === "either") return before.split("|")[1 + Math.sign(value - (others[0] ?? 0))] ?? "";
    if (value === undefined) return form.startsWith("range") || form === "loss" ? before.trimEnd() : `${before}\u2013${after}`;
    const text = before + (MADE[bare]?.(value) ?? sureChip(value, error, bare !== form, figure(value, bare, bare !== form))) + after;
    return within && wide(text) > within ? before.trimEnd() : text;
  }

  /** Return a line of the sentence about a sample's outputs; "" if rows of 32 bits do not tell how far they are apart. */
  #captionOf(name, index, form, names, width, begin, more, wide) {
    const [, line, count] = form.split(" ").map(Number), known = [[name, index], ...more.flatMap((one, k) => (k % 2 ? [] : [[one, more[k + 1]]]))];
    const numbers = known.map(one => this.#numberOf(...one, form)[0]), all = names.split("|");
    if (numbers.includes(undefined) || (this.frame.sample_loss > 0 && alikeIn32(numbers, all.length))) return "";
    return lineOf(sentencesOf(all, numbers).map(one => begin + one), line, count, width, wide);
  }

  /** Return the cube whose number a record shows: its plate and its element there; null if it is on none. */
  cubeOf(name, index) {
    const plate = this.#plateOf(name, index);
    return plate ? { plate: this.shown.document.plates.indexOf(plate), element: plate.start >= 0 ? index - plate.start : index } : null;
  }

  /** Return the colour of a number: on a cube the readable one, of a gradient that of its printed sign. */
  inkOf(colour, name, index, text) {
    if (colour === SIGN) return isNegative(text) ? "gradient@0" : "gradient@256";
    const cube = colour === CUBE ? this.cubeOf(name, index) : null;
    return cube ? inkOn(this.colourOf(cube.plate, cube.element)) : colour;
  }

  /** Return the colour that a row of three numbers is, or of one; null if it is unknown. */
  swatchOf(name) {
    const colour = [...(this.rowOf(name) ?? [])], parts = colour.length === 1 ? [colour[0], colour[0], colour[0]] : colour;
    return !parts.length || !parts.every(Number.isFinite) ? null : hexOf(parts.map((part) => Math.min(Math.max(part, 0), 1)));
  }

  /** The share of the numbers of the legend beyond its range. */
  get clipped() {
    const { legend: { numbers, range }, spans } = this.shown;
    let [beyond, count] = [0, 0];
    for (const [first, end] of spans) for (let k = first; k < end; k++, count++) beyond += Number(Math.abs(numbers[k]) > range.high);
    return count ? beyond / count : 0;
  }

  /** Return the places of the known weights on the scale of the legend, 0 to 1. */
  get marks() {
    const { legend: { numbers, flags, range }, spans } = this.shown;
    return spans.flatMap(([first, end]) => [...numbers.subarray(first, end)].filter((value, k) => Number.isFinite(value) && !(flags?.[first + k] & MARK_BITS.missing)))
      .map((value) => Math.min(Math.max(unitOf(range, value), 0), 1));
  }
}
