// What stands beside the cubes: the scene's panels.

import { Listing, changedList } from "./list.js";
import { countText } from "./numbers.js";

/** A new element with a class and a text; nothing that comes from a file is ever read as HTML. */
export function element(tag, name = "", text = "") {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text) made.textContent = text;
  return made;
}

/** Lists of panels at some of the steps; between two the one before stands, and says of which step it is. */
export class PanelPictures {
  /**
   * @param {{steps: number[], document: object, pictures: object[]}} run Panels with `name`, `steps`, which go
   *   up, `lists`: the first one, then changes; and `other`: what changes of each in the other look.
   */
  constructor(root, run) {
    this.run = run;
    this.shown = run.pictures.map(panel => {
      let last = null;
      const { steps } = panel, lists = panel.lists.map(changes => (last = changedList(last, changes)));
      const others = panel.other.map((changes, k) => changedList(lists[k], changes));
      const figure = root.appendChild(element("figure", "panel")), canvas = figure.appendChild(element("canvas"));
      const listing = new Listing(canvas, run.document.words.advances), caption = figure.appendChild(element("figcaption"));
      return { name: panel.name, steps, looks: [lists, others], listing, caption };
    });
  }

  /** Stand at a frame, in a look. */
  show(frame, theme) {
    const now = this.run.steps[frame], known = Math.min(now, this.run.until);   // later ones are of another branch
    for (const one of this.shown) {
      const lists = one.looks[Number(theme !== this.run.document.theme)];
      const place = Math.max(one.steps.findLastIndex(step => step <= known), 0), step = one.steps[place];
      const words = `step ${countText(step)}`;
      one.caption.textContent = words;
      one.caption.classList.toggle("old", step !== now);
      one.listing.show(lists[place], this.run.document.themes[theme], `${one.name} at ${words}`);
    }
  }
}
