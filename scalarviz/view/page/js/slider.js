// A slider of a live cell: a track, logarithmic where the control is, and its number, which can be typed.

import { element } from "./panels.js";

const TRACK = 1000;      // places of a track
const HAND_PAUSE = 40;   // milliseconds between two values of a hand that drags

/** The value at a share of the track, to three digits as a hand aims; its ends are what they are. */
export function trackValue({ least, most, log, whole }, share) {
  const end = share <= 0 ? least : share >= 1 ? most : null;
  const value = end ?? (log ? least * (most / least) ** share : least + share * (most - least));
  if (whole || end !== null) return whole ? Math.round(value) : value;
  const size = log ? Math.abs(value) : most - least, digits = 2 - Math.floor(Math.log10(size));
  const unit = 10 ** Math.abs(digits), rounded = digits < 0 ? Math.round(value / unit) * unit : Number(value.toFixed(Math.min(digits, 20)));
  return Math.min(Math.max(rounded, least), most);
}

/** Where a value stands on the track, 0 to 1. */
export function trackShare({ least, most, log }, value) {
  if (!(value > least)) return 0;
  if (value >= most) return 1;
  return log ? Math.log(value / least) / Math.log(most / least) : (value - least) / (most - least);
}

/** One slider with its name and number. */
export class CellSlider {
  /**
   * @param {object} item As view/cell/asked.py writes it.
   * @param {object} cell The LiveCell.
   */
  constructor(item, cell) {
    Object.assign(this, { item, cell, held: false, went: 0 });
    this.root = element("label", "slider");
    this.root.title = item.keys ? `${item.does} (${item.keys})` : item.does;
    this.root.append(element("span", "label", item.name));
    this.track = this.root.appendChild(element("input"));
    this.track.type = "range";
    this.track.min = "0";
    this.track.max = String(item.stops.length ? item.stops.length - 1 : TRACK);
    this.track.step = "1";
    this.track.dataset.name = item.name;
    this.track.setAttribute("aria-label", item.name);
    this.track.addEventListener("input", () => this.drag());
    this.track.addEventListener("change", () => this.let());
    this.number = this.root.appendChild(element("input", "number"));
    this.number.type = "text";
    this.number.setAttribute("aria-label", `${item.name}, typed`);
    this.number.disabled = item.stops.length > 0;
    this.number.addEventListener("keydown", event => this.typed(event));
    this.number.addEventListener("blur", () => this.show(this.item));
  }

  get value() {
    const { item } = this, at = Number(this.track.value);
    return item.stops.length ? item.stops[at] : trackValue(item, at / TRACK);
  }

  drag() {
    this.held = true;
    if (performance.now() - this.went < HAND_PAUSE) return;
    this.went = performance.now();
    this.cell.say({ kind: "control", name: this.item.name, value: this.value, held: true });
  }

  let() {
    this.cell.say({ kind: "control", name: this.item.name, value: this.value, held: this.held });
    if (this.held) this.cell.say({ kind: "release" });
    this.held = false;
  }

  typed(event) {
    event.stopPropagation();
    if (event.key === "Escape") this.number.blur();
    if (event.key !== "Enter") return;
    const value = Number(this.number.value.trim().replace("\u2212", "-").replace(",", "."));
    if (this.number.value.trim() && Number.isFinite(value)) this.cell.say({ kind: "control", name: this.item.name, value });
    this.number.blur();
  }

  /** What Python says that it is; a hand that holds it is not disturbed. */
  show(item) {
    this.item = item;
    if (this.root.ownerDocument.activeElement !== this.number) this.number.value = item.shown || String(item.value);
    if (this.held) return;
    const { stops } = item;
    this.track.value = String(stops.length ? Math.max(stops.indexOf(item.value), 0) : Math.round(trackShare(item, item.value) * TRACK));
    this.track.setAttribute("aria-valuetext", item.shown || String(item.value));
  }
}
