// The card of one weight in a live cell: its value, which can be typed, its gradient, and the terms of it.

import { element } from "./panels.js";

/** What is known of the selected weight. */
export class CellCard {
  /**
   * @param {HTMLElement} root
   * @param {object} cell The LiveCell.
   */
  constructor(root, cell) {
    Object.assign(this, { root, cell, index: undefined });
    root.hidden = true;
    const left = root.appendChild(element("div", "who"));
    const head = left.appendChild(element("div", "top"));
    this.name = head.appendChild(element("h2"));
    const close = head.appendChild(this.button("\u00d7", () => cell.select(null)));
    close.setAttribute("aria-label", "close");
    this.meaning = left.appendChild(element("p", "dim"));
    const numbers = left.appendChild(element("dl"));
    const row = (word, made) => {
      numbers.append(element("dt", "", word), made);
      return made;
    };
    this.value = row("value", element("dd")).appendChild(element("input"));
    this.value.type = "text";
    this.value.inputMode = "decimal";
    this.value.setAttribute("aria-label", "value");
    this.value.addEventListener("keydown", event => this.typed(event));
    this.value.addEventListener("blur", () => this.write());
    this.gradient = row("gradient", element("dd"));
    this.update = row("last update", element("dd"));
    const tools = left.appendChild(element("div", "deeds"));
    this.freeze = tools.appendChild(this.button("freeze", () => cell.act("freeze")));
    tools.append(this.button("to 0", () => cell.act("zero")), this.button("draw anew", () => cell.act("redraw")));
    this.tools = tools;
    this.why = root.appendChild(element("div", "why"));
  }

  button(words, does) {
    const made = element("button", "", words);
    made.type = "button";
    made.addEventListener("click", does);
    return made;
  }

  /** @param {?object} told As view/cell/play.py writes it; null: nothing is selected. */
  show(told) {
    this.told = told;
    this.root.hidden = !told;
    if (!told) {
      this.index = undefined;
      return;
    }
    this.name.textContent = told.name;
    this.meaning.textContent = told.meaning ?? "";
    const other = told.index !== this.index;
    this.index = told.index;
    if (other || this.root.ownerDocument.activeElement !== this.value) this.write();
    this.gradient.textContent = told.gradient || "\u2013";
    this.update.textContent = told.update || "\u2013";
    this.update.previousElementSibling.textContent = told.updates ?? "last update";
    for (const part of [this.gradient, this.update]) part.classList.toggle("old", Boolean(told.old));
    this.value.disabled = this.tools.hidden = !told.edits;
    this.freeze.textContent = told.frozen ? "free" : "freeze";
    this.why.replaceChildren(...this.account(told));
  }

  write() {
    if (this.told) this.value.value = (this.told.value ?? "").replace("\u2212", "-").replace(/^\+/, "");
  }

  /** Type its value, where it has one. */
  type() {
    if (this.root.hidden || this.value.disabled) return;
    this.value.focus();
    this.value.select();
  }

  typed(event) {
    event.stopPropagation();
    if (event.key === "Escape") this.value.blur();
    if (event.key !== "Enter" || !this.told) return;
    const number = Number(this.value.value.trim().replace("\u2212", "-").replace(",", "."));
    if (this.value.value.trim() && Number.isFinite(number)) this.cell.say({ kind: "set", index: this.told.index, value: number });
    this.value.blur();
  }

  /** Why the coming step will move it: terms, their sum, the optimiser's rule. */
  account({ why, said }) {
    if (!why) return (said ?? []).map(line => element("p", "dim", line));
    const table = element("table"), body = table.appendChild(element("tbody"));
    const line = (...texts) => {
      const row = body.appendChild(element("tr"));
      row.append(...texts.map((text, k) => element(k ? "td" : "th", "", text)));
    };
    for (const [sample, delta, x, product] of why.terms) line(`sample ${sample}`, `${delta} \u00d7 ${x}`, product);
    if (why.rest !== null) line(`${why.count - why.terms.length} others`, "", why.rest);
    line("sum", why.unit ? `in ${why.unit}` : "", why.total);
    line("gradient", `sum / ${why.divisor}`, why.gradient);
    const terms = element("div", "terms"), rule = element("div", "rules");
    terms.append(element("h3", "", `why step ${why.step} will move it`), table);
    rule.append(element("h3", "", why.optimizer));
    rule.append(...(why.stays ? [element("p", "", "it stays")] : why.rule.map(text => element("p", "rule", text))));
    return [terms, rule];
  }
}
