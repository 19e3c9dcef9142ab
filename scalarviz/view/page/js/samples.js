// Samples that a user gives to a page that trains: by a click on the map of a plane, or a picture that is dropped.

import { element } from "./ink.js";
import { canvasOf } from "./list.js";
import { part } from "./page.js";

export const MOST_ADDED = 200; // samples of a line
const FINE = 10000; // a place is rounded to a map's width divided by this, as in the window
const STILL_PIXELS = 4; // a pointer that moved more does not click

const groundOf = ({ slots }) => slots.find(({ ground }) => ground);

/** Return what each added sample has: the `rest` of its inputs, and one of the `targets`. */
export function addedIn(told) {
  const slot = groundOf(told);
  return slot && { rest: slot.ground.rest, targets: slot.span };
}

/** Return whether a text is a sample that the page can add: x, y and the number of its target, `0.5;-0.3;1`. */
export function fitsSample(value, told) {
  const slot = groundOf(told), given = value.split(";"), [x, y, kind] = given.map(Number);
  const within = (at, [least, most]) => at >= least && at <= most;
  return Boolean(slot) && given.length === 3 && !given.includes("") && within(x, slot.ground.across) && within(y, slot.ground.up) && kind in slot.span;
}

/** Return a panel's list with the samples that a line has: a disc for each that was added, and the picture that was dropped. */
export function withSamples({ ground, canvas }, list, did, theme) {
  if (canvas) return withPicture(canvas, list, did.findLast(([what]) => what === "picture")?.[2]);
  const added = ground ? did.filter(([what]) => what === "add").map(([, , value]) => value.split(";").map(Number)) : [];
  if (!added.length) return list;
  const [, left, top, wide, high] = list.find(([kind]) => kind === "image"), discs = list.find(([kind]) => kind === "cells"), [, rects, fills] = discs;
  const { across: [west, east], up: [south, north], inks } = ground, rim = fills.slice(0, 6), sides = [rects[2], rects[6]]; // of a rim, and inside it
  const places = added.flatMap(([x, y]) => {
    const at = [left + (wide * (x - west)) / (east - west), top + (high * (north - y)) / (north - south)];
    return sides.flatMap(side => [at[0] - side / 2, at[1] - side / 2, side, side]);
  });
  const colours = added.map(([, , kind]) => rim + inks[theme][kind]).join("");
  const last = list.findLast(([kind]) => kind === "cells"); // test samples, perhaps: the added ones stand over them
  return list.flatMap(one => (one === last ? [one, discs.with(1, places).with(2, colours)] : [one]));
}

// Return the list of a canvas without the error, which is that of the recorded step, and with the target that was dropped.
function withPicture({ stale }, list, pixels) {
  const [, target, error] = list.filter(([kind]) => kind === "image");
  return list.filter(one => one !== error && !(one[0] === "text" && stale.includes(one[3]))).map(one => (one === target && pixels ? one.with(5, pixels.canvas) : one));
}

/** Two buttons that choose what a click on the map adds. */
export class Samples {
  constructor(training, row) {
    Object.assign(this, { training, row, slot: groundOf(training.told), kind: null, buttons: [], queue: Promise.resolve() });
    if (!this.slot) return;
    const group = row.appendChild(element("span", "", "add a point"));
    this.buttons = this.slot.ground.says.map((words, kind) => {
      const button = element("button");
      group.append(" ", button);
      button.append(element("span", "", "\u25cf"), ` ${words}`);
      button.title = "then click the map: each click adds a sample to those that it trains with";
      button.addEventListener("click", () => this.take(this.kind === kind ? null : kind));
      return button;
    });
    document.addEventListener("keydown", ({ key }) => key === "Escape" && this.take(null));
    let pressed = [NaN, NaN];
    const listen = (name, then) => document.addEventListener(name, event => event.target.tagName === "CANVAS" && then(event, this.under(event)), true);
    listen("pointerdown", (event, at) => {
      pressed = at ? [event.clientX, event.clientY] : [NaN, NaN];
      if (at) event.stopPropagation(); // the scene does not turn
    });
    listen("pointermove", ({ target }, at) => (target.style.cursor = at ? "crosshair" : ""));
    listen("click", ({ clientX, clientY }, at) => at && Math.hypot(clientX - pressed[0], clientY - pressed[1]) < STILL_PIXELS && this.add(at));
  }

  /** Choose what a click adds: a kind of sample, or null for none. */
  take(kind) {
    this.kind = kind;
    this.write();
  }

  /** Return the place of the plane below a pointer, rounded; null elsewhere, and while no button is pressed. */
  under({ clientX, clientY }) {
    const { training: { page, page: { player, pictures } }, slot: { panel, ground } } = this, shown = pictures.shown.find(({ name }) => name === panel);
    if (this.kind === null || this.row.hidden || !shown || !this.training.possible) return null;
    const list = pictures.listOf(panel, page.frame, page.theme), [, left, top, across] = list[0], [, x, y, wide, high] = list.find(([kind]) => kind === "image");
    const film = player.frame.list.find(one => one[0] === "film" && one[5] === panel), { type } = player.view, { left: aside = 0, top: above = 0 } = player.document;
    const box = (film ? player.box : shown.listing.ink.canvas).getBoundingClientRect(), scale = film ? (type * film[3]) / across : box.width / across;
    const [from, over] = film ? [type * (film[1] - aside), type * (film[2] - above)] : [0, 0];
    const shares = [((clientX - box.x - from) / scale + left - x) / wide, 1 - ((clientY - box.y - over) / scale + top - y) / high];
    if (shares.some(share => !(share >= 0 && share <= 1))) return null;
    return [ground.across, ground.up].map(([least, most], k) => {
      const digits = Math.min(Math.max(Math.ceil(Math.log10(FINE / (most - least))), 0), 100);
      return Number((least + (most - least) * shares[k]).toFixed(digits));
    });
  }

  /** Add a sample of the chosen kind, one after the other; training that runs goes on. */
  add(at) {
    const { training } = this, value = [...at, this.kind].join(";");
    this.queue = this.queue.then(async () => {
      const { running } = training;
      training.address.cancel();
      if (running) training.pause();
      while (training.waiting) await new Promise(requestAnimationFrame);
      await training.change("add", value);
      if (running) training.toggle();
    });
  }

  write() {
    const { training: { page, possible }, slot } = this;
    this.buttons.forEach((button, kind) => {
      button.firstChild.style.color = `#${slot.ground.inks[page.theme][kind]}`;
      button.setAttribute("aria-pressed", String(this.kind === kind));
      button.disabled = !possible;
    });
  }
}

/** Takes a picture that is dropped on the page: its pixels become the targets. It is sent nowhere. */
export class Drops {
  constructor(training) {
    Object.assign(this, { training, size: training.told.slots.find(({ canvas }) => canvas?.size[0])?.canvas.size });
    if (!this.size) return;
    document.addEventListener("dragover", event => event.preventDefault());
    document.addEventListener("drop", event => {
      event.preventDefault();
      if (event.dataTransfer.files.length) this.take(event.dataTransfer.files[0]);
    });
  }

  /** Learn the middle of a picture, on white, at the size of the recorded one. */
  async take(file) {
    const { training, size: [high, wide] } = this, picture = await createImageBitmap(file).catch(() => null);
    if (!picture) return (part("about").textContent = "this browser cannot read the dropped file as a picture");
    const scale = Math.max(wide / picture.width, high / picture.height), [across, down] = [picture.width * scale, picture.height * scale];
    const canvas = canvasOf(wide, high), context = Object.assign(canvas.getContext("2d"), { fillStyle: "#fff", imageSmoothingQuality: "high" });
    context.fillRect(0, 0, wide, high);
    context.drawImage(picture, (wide - across) / 2, (high - down) / 2, across, down);
    const { data } = context.getImageData(0, 0, wide, high), pixels = new Float32Array(3 * wide * high).map((_, k) => data[4 * Math.floor(k / 3) + (k % 3)] / 255);
    training.address.cancel();
    if (training.running) training.pause();
    while (training.waiting) await new Promise(requestAnimationFrame);
    return training.change("picture", Object.assign(pixels, { canvas }));
  }
}
