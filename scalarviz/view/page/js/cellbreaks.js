// Conditions at which a live cell pauses: one is typed, and those that are there can be switched off, on, or taken away.

import { element } from "./panels.js";

/** The row of "more controls" for them. */
export class CellBreaks {
  /**
   * @param {HTMLElement} root
   * @param {object} cell The LiveCell.
   */
  constructor(root, cell) {
    Object.assign(this, { root, cell, told: "" });
    root.hidden = true;
    const label = root.appendChild(element("label", "row", ""));
    label.appendChild(element("span", "label", "pause when"));
    this.input = label.appendChild(element("input", "condition"));
    Object.assign(this.input, { type: "text", placeholder: "loss < 0.01", maxLength: 400, autocomplete: "off", spellcheck: false });
    this.input.title = "such as loss < 0.01, grad > 10, nan, 0.weight[0][0] crosses 0; Enter sets it";
    this.input.addEventListener("keydown", event => {
      const text = this.input.value.trim();
      if (event.key !== "Enter" || !text) return;
      cell.say({ kind: "break", text });
      this.sent = text;
    });
    this.list = root.appendChild(element("ul", "conditions"));
  }

  /** @param {?{number: number, text: string, hits: number, on: boolean}[]} there those of the run; null: none can be set */
  show(there) {
    this.root.hidden = !there;
    const told = JSON.stringify(there ?? []);
    if (!there || told === this.told) return;
    if (this.sent && there.length > (this.count ?? 0) && this.input.value.trim() === this.sent) this.input.value = "";   // it was taken
    this.told = told;
    this.count = there.length;
    this.list.replaceChildren(...there.map(one => this.line(one)));
  }

  line({ number, text, hits, on }) {
    const line = element("li"), label = line.appendChild(element("label", "switch")), box = label.appendChild(element("input"));
    Object.assign(box, { type: "checkbox", checked: on });
    box.addEventListener("change", () => this.cell.say({ kind: "break", text: String(number) }));
    label.append(` ${text}`);
    if (hits) line.append(element("span", "dim", `${hits} hit${hits > 1 ? "s" : ""}`));
    const away = line.appendChild(element("button", "", "\u00d7"));
    away.type = "button";
    away.setAttribute("aria-label", `take away: ${text}`);
    away.addEventListener("click", () => this.cell.say({ kind: "break", text: `-${number}` }));
    return line;
  }
}
