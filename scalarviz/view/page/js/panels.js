// The scene's panels beside the cubes.

import { Ink, element, typeScale } from "./ink.js";
import { layersShown } from "./layers.js";
import { changedList, paintList, picturesOf, recoloured } from "./list.js";
import { countText } from "./numbers.js";

/** A display list on a canvas; the previous list stays until all images of this one are decoded. */
export class Listing {
  constructor(canvas, advances) {
    this.ink = new Ink(canvas, advances);
    this.records = null;
    canvas.setAttribute("role", "img");
  }

  /** Show a list in a theme; `words` describe it for screen readers. */
  show(records, theme, words) {
    const { canvas } = this.ink, [, , , wide, high] = records[0], ratio = Math.max(1, window.devicePixelRatio || 1) * typeScale(canvas);
    canvas.setAttribute("aria-label", [words, ...records.filter(([kind]) => kind === "text").map((text) => text[3])].join(", "));
    if (this.wanted === records && this.theme === theme && this.ratio === ratio) return;
    this.wanted = records;
    const coming = picturesOf(records).filter((picture) => !picture.complete);
    const take = () => {
      if (this.wanted !== records) return;
      Object.assign(this, { records, theme, ratio });
      Object.assign(canvas.style, { width: `calc(${wide}px * var(--type, 1))`, aspectRatio: `${wide} / ${high}` });
      this.#paint();
    };
    if (!coming.length || !this.records) take(); // the previous list stays until this one is complete
    if (coming.length) Promise.allSettled(coming.map((picture) => picture.decode())).then(take);
  }

  #paint() {
    const { ink, records } = this, [, x, y, wide, high] = records[0];
    ink.begin(wide, high, this.ratio, this.theme);
    ink.context.translate(-x, -y);
    paintList(ink, records.slice(1));
  }
}

const COLUMN = 320; // pixels of the window's column
const NOTHING = [["box", 0, 0, 1, 1]];

/** Lists of a panel at some steps; between two steps the earlier list is shown, with its step. */
export class PanelPictures {
  /** A panel has `steps`, `lists` (the first one, then changes), and `other`, the changes to the other theme. */
  constructor(root, run) {
    this.run = run;
    this.shown = run.pictures.map(panel => {
      let last = null;
      const { steps } = panel, lists = recoloured(panel.lists.map(changes => (last = changedList(last, changes))), panel.colours);
      const others = panel.other.map((changes, k) => changedList(lists[k], changes));
      const wide = lists[0][0][3] > COLUMN;
      const figure = root.appendChild(element("figure", wide ? "panel wide" : "panel")), canvas = figure.appendChild(element("canvas"));
      const listing = new Listing(canvas, run.document.advances), caption = figure.appendChild(element("figcaption"));
      return { name: panel.name, steps, looks: [lists, others], figure, listing, caption };
    });
  }

  has(name) {
    return this.shown.some(panel => panel.name === name);
  }

  /** Return the list of a panel at a frame. */
  listOf(name, frame, theme) {
    const one = this.shown.find(panel => panel.name === name);
    if (!one) return NOTHING; // no list of it could be read
    return this.#at(one, frame, theme).list;
  }

  // Return the list of a panel in a theme at a frame, and its step.
  #at(one, frame, theme) {
    const { run } = this, painted = run.films.get(one.name)?.findLast(film => film.frame <= frame), look = Number(theme !== run.document.theme);
    if (painted) return { step: painted.step, list: theme && painted.listIn(theme) };
    if (layersShown()) return { step: NaN, list: NOTHING }; // the lists are those of the recorded layers
    const known = Math.min(run.steps[frame], run.until), place = Math.max(one.steps.findLastIndex(step => step <= known), 0); // later ones are of another branch
    return { step: one.steps[place], list: one.looks[look][place] };
  }

  /** Return the step of a panel's list at a frame. */
  stepAt(name, frame) {
    const one = this.shown.find(panel => panel.name === name);
    return one && this.#at(one, frame, "").step;
  }

  /** Show the panels that the picture with this list has no room for. */
  show(frame, theme, picture) {
    const now = this.run.steps[frame], there = new Set(picture.filter(([kind]) => kind === "film").map(film => film[5]));
    for (const one of this.shown) {
      one.figure.hidden = there.has(one.name);
      if (one.figure.hidden) continue;
      const { step, list } = this.#at(one, frame, theme);
      const words = `step ${countText(step)}`;
      one.caption.textContent = words;
      one.caption.classList.toggle("old", step !== now);
      one.listing.show(list, this.run.document.themes[theme], `${one.name} at ${words}`);
    }
  }
}
