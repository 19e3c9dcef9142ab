// What stands beside the cubes: the scene's panels, the card of one number, and a table of all of them.

import { drawHistory } from "./curve.js";
import { Listing, changedList } from "./list.js";
import { countText } from "./numbers.js";
import { sureText } from "./rounded.js";

/**
 * A new element with a class and a text; nothing that comes from a file is ever read as HTML.
 * @param {string} tag
 * @param {string} [name] Its class.
 * @param {string} [text]
 */
export function element(tag, name = "", text = "") {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text) made.textContent = text;
  return made;
}

/** Lists of panels at some of the steps; between two the one before stands, and says of which step it is. */
export class PanelPictures {
  /**
   * @param {HTMLElement} root
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

/** The card of one number: its name, what is recorded of it at this step, and how it came there. */
export class NumberCard {
  /**
   * @param {HTMLElement} root
   * @param {object} run A RecordedRun.
   * @param {function(): void} close
   */
  constructor(root, run, close) {
    Object.assign(this, { root, run, texel: null });
    const head = root.appendChild(element("div", "head"));
    this.name = head.appendChild(element("h2"));
    const button = head.appendChild(element("button", "", "\u00d7"));
    button.type = "button";
    button.setAttribute("aria-label", "close");
    button.addEventListener("click", close);
    this.meaning = root.appendChild(element("p", "meaning"));
    this.numbers = root.appendChild(element("dl"));
    this.since = root.appendChild(element("p", "since"));
    this.canvas = root.appendChild(element("canvas", "history"));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  /** Show a number by its texel, null: none; what it is called, and what it stands between. */
  select(texel, name, meaning = "") {
    this.root.hidden = texel === null;
    this.texel = texel;
    this.name.textContent = name;
    this.meaning.textContent = meaning;
    this.histories = texel === null ? {} : Object.fromEntries(
      Object.keys(this.run.tables).map(quantity => [quantity, this.run.history(quantity, texel)]).filter(h => h[1]));
  }

  /** Stand at a frame, with the history of a quantity. */
  show(frame, quantity, look) {
    Object.assign(this, { frame, quantity, look });
    if (this.texel === null) return;
    const words = { weight: "value", gradient: "gradient", update: "last update" };
    this.numbers.replaceChildren(...Object.entries(this.histories).map(([name, numbers]) => {
      const pair = element("div");
      const none = this.run.missing(frame, this.texel, name);
      const text = none ? "not computed yet" : sureText(numbers[frame], this.run.error(name, this.texel));
      pair.append(element("dt", "", words[name]), element("dd", "", text));
      return pair;
    }));
    this.drawn = this.histories[quantity] ? quantity : "weight";
    this.since.textContent = `${words[this.drawn]} since step ${countText(this.run.steps[0])}`;
    this.draw();
  }

  draw() {
    if (this.texel === null || !this.look || this.root.hidden) return;
    drawHistory(this.canvas, this.histories[this.drawn], this.frame, this.look);
  }
}

const MOST_ROWS = 400;

/** All numbers of the step shown, as a table that can be read without seeing the cubes. */
export class NumberTable {
  /**
   * @param {HTMLElement} root
   * @param {object} run A RecordedRun.
   * @param {function(number): string} nameOf The name of a texel.
   * @param {function(number): void} choose Looks into it: the way to a number for whoever has no pointer.
   */
  constructor(root, run, nameOf, choose) {
    Object.assign(this, { root, run, nameOf, choose, cells: null });
    this.title = root.appendChild(element("h2"));
    const table = root.appendChild(element("table"));
    this.head = table.appendChild(element("thead")).appendChild(element("tr"));
    this.body = table.appendChild(element("tbody"));
    this.note = root.appendChild(element("p"));
    const count = run.document.parameters;
    if (count > MOST_ROWS) this.note.textContent = `the first ${MOST_ROWS} of ${countText(count)}`;
  }

  /** Write the numbers of a frame, where the table is to be seen. */
  show(frame) {
    if (this.root.hidden) return;
    const names = Object.keys(this.run.tables), { texels } = this.run.shown(frame);
    this.title.textContent = `all numbers at step ${countText(this.run.steps[frame])}`;
    this.cells ??= this.#rows(names); // once: while it plays, a row that has the focus keeps it
    this.cells.forEach((cells, k) => cells.forEach((cell, at) => {
      const name = names[at], none = this.run.missing(frame, k, name);
      cell.textContent = none ? "not computed yet" : sureText(texels[name][k], this.run.error(name, k));
    }));
  }

  #rows(names) {
    this.head.replaceChildren(...["name", ...names].map(name => element("th", "", name === "weight" ? "value" : name)));
    return Array.from({ length: Math.min(this.run.document.parameters, MOST_ROWS) }, (_, k) => {
      const row = this.body.appendChild(element("tr"));
      const button = row.appendChild(element("th")).appendChild(element("button", "name", this.nameOf(k)));
      button.type = "button";
      button.addEventListener("click", () => this.choose(k));
      return names.map(() => row.appendChild(element("td")));
    });
  }
}
