// Buttons and sliders of a live cell, made of what Python describes: the same controls as the window's panel.

import { CellBreaks } from "./cellbreaks.js";
import { element } from "./panels.js";
import { CellSlider } from "./slider.js";

const WORDS = { restart: "restart", back: "back", toggle_run: "run", step: "step", micro_next: "into a step" };
const HEAD = ["learning rate", "pace"];   // the others are behind "more"

/** The row of buttons, the sliders that are always there, and the others, which can be opened. */
export class CellButtons {
  /**
   * @param {HTMLElement} root
   * @param {object} cell The LiveCell.
   */
  constructor(root, cell) {
    Object.assign(this, { root, cell, shape: "", named: null, made: new Map() });
    this.tools = root.appendChild(element("div", "tools"));
    this.head = root.appendChild(element("div", "rows"));
    this.more = root.appendChild(element("details", "more"));
    this.more.appendChild(element("summary", "", "more controls"));
    this.rest = this.more.appendChild(element("div", "rows"));
    this.breaks = new CellBreaks(this.more.appendChild(element("div", "breaks")), cell);
    this.buttons = new Map();
    this.keys = root.appendChild(element("details", "more"));
    this.keys.appendChild(element("summary", "", "keys"));
    const list = this.keys.appendChild(element("dl", "keys"));
    this.lines = cell.about.keys.map(({ name, keys, does }) => {
      const line = list.appendChild(element("div"));
      line.append(element("dt", "", keys[0]), element("dd", "", does));
      return [name, line];
    });
  }

  /** Take over what has changed: `parts` of all that is `known`. */
  show(known, parts) {
    if ("tools" in parts) this.makeTools(known.tools);
    if ("controls" in parts) this.showRows(known.controls);
    if ("breaks" in parts) this.breaks.show(known.breaks);
    this.more.hidden = !this.rest.children.length && this.breaks.root.hidden;
    if ("running" in parts || "micro" in parts || "tools" in parts) this.name(known);
    if ("quantity" in parts) {
      for (const [name, button] of this.quantities ?? []) button.setAttribute("aria-pressed", String(known.quantity === name));
    }
    if ("why_not" in parts) {
      for (const [name, line] of this.lines) {
        line.title = known.why_not[name] ?? "";   // why it does nothing now
        line.classList.toggle("old", Boolean(line.title));
      }
    }
    this.root.hidden = !known.tools?.length && !known.controls?.length;
  }

  name({ running, micro }) {
    const run = this.buttons.get("toggle_run"), step = this.buttons.get("step"), into = this.buttons.get("micro_next");
    if (run) {
      run.textContent = running ? "pause" : "run";
      run.setAttribute("aria-pressed", String(Boolean(running)));
    }
    if (step) step.textContent = micro ? "finish the step" : "step";
    if (into) into.textContent = micro ? "next micro-step" : "into a step";
  }

  /** Buttons that are there stay, told anew or not: one that is replaced under a finger loses its click. */
  makeTools(names) {
    const named = names.join(" ");
    if (named === this.named) return;
    this.named = named;
    const make = name => {
      const told = this.cell.about.keys.find(action => action.name === name), made = element("button", name, WORDS[name] ?? name);
      made.type = "button";
      made.dataset.name = name;
      if (told) made.title = `${told.does} (${told.keys[0]})`;
      made.addEventListener("click", event => this.cell.act(name, told?.takes && event.shiftKey ? 10 : undefined));
      return made;
    };
    this.buttons = new Map(names.map(name => [name, make(name)]));
    const known = this.cell.about.keys.map(action => action.name);
    const views = [["weight", "show_weights", "value"], ["gradient", "show_gradients", "gradient"], ["update", "show_updates", "update"]];
    this.quantities = names.length ? views.filter(([, name]) => known.includes(name)).map(([quantity, name, words]) => {
      const made = make(name);
      made.textContent = words;
      return [quantity, made];
    }) : [];
    const shows = element("span", "quantities");
    shows.append(...this.quantities.map(([, made]) => made));
    this.tools.replaceChildren(...this.buttons.values(), shows);
  }

  /** Rows of controls; elements stay as long as the rows are the same, so that a hand keeps what it holds. */
  showRows(rows) {
    const shape = JSON.stringify(rows.map(row => [row.look, row.label, row.items.map(item => [item.name, item.choices, item.least, item.most])]));
    if (shape !== this.shape) {
      this.shape = shape;
      this.made = new Map();
      const built = rows.filter(row => row.look !== "rule").map(row => [row, this.row(row)]);
      this.head.replaceChildren(...built.filter(([row]) => HEAD.includes(row.label)).map(([, made]) => made));
      this.rest.replaceChildren(...built.filter(([row]) => !HEAD.includes(row.label)).map(([, made]) => made));
    }
    for (const row of rows) for (const item of [...row.items, ...(row.typed ? [row.typed] : [])]) this.made.get(item.name)?.show(item);
  }

  row(row) {
    const made = element("div", `row ${row.look}`), label = row.look === "slider" ? "" : row.label;
    if (label) made.append(element("span", "label", label));
    if (row.note && row.look !== "buttons") made.title = row.note;
    for (const item of row.items) made.append(this.item(item, row));
    if (row.typed) {
      const typed = this.item(row.typed, row);
      typed.classList.add("typed");   // its track would be of all numbers that there are
      made.append(typed);
    }
    return made;
  }

  item(item, row) {
    const kinds = { slider: () => new CellSlider(item, this.cell), segments: () => new CellChoice(item, this.cell),
      switch: () => new CellSwitch(item, this.cell), button: () => new CellButton(item, this.cell, row) };
    const made = kinds[item.kind]();
    this.made.set(item.name, made);
    return made.root;
  }
}

/** One of a few. */
export class CellChoice {
  constructor(item, cell) {
    this.root = element("span", "segments");
    this.root.title = item.does;
    this.buttons = item.choices.map(choice => {
      const made = this.root.appendChild(element("button", "", String(choice)));
      made.type = "button";
      made.addEventListener("click", () => cell.say({ kind: "control", name: item.name, value: choice }));
      return [choice, made];
    });
  }

  show({ value }) {
    for (const [choice, made] of this.buttons) made.setAttribute("aria-pressed", String(choice === value));
  }
}

/** On or off. */
export class CellSwitch {
  constructor(item, cell) {
    this.root = element("label", "switch", item.name);
    this.root.title = item.does;
    this.input = element("input");
    this.input.type = "checkbox";
    this.input.addEventListener("change", () => cell.say({ kind: "control", name: item.name, value: this.input.checked }));
    this.root.prepend(this.input);
  }

  show({ value }) {
    this.input.checked = Boolean(value);
  }
}

/** A button of a row: it does something, or makes a layer wider or slimmer. */
export class CellButton {
  constructor(item, cell, row) {
    const layer = row.look === "layers", words = item.name.includes("fewer") ? "\u2212" : item.name.includes("more units") ? "+" : item.name;
    this.root = element("button", "", layer ? words : item.name);
    this.root.type = "button";
    this.root.title = `${item.name}: ${item.does}`;
    this.sign = layer && words === "+";
    this.root.addEventListener("click", () => cell.say({ kind: "control", name: item.name }));
  }

  show({ shown }) {
    if (this.sign && shown) this.root.textContent = `${shown} +`;
  }
}
