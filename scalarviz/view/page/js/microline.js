// The line below the cubes inside of a training step: which of its phases it is in, and its formula.

import { element } from "./panels.js";

/** The words of a micro-step. */
export class MicroLine {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    root.hidden = true;
    root.setAttribute("aria-live", "polite");
  }

  /** @param {?object} told Its words, and how far it is; null: no step is open. */
  show(told) {
    this.root.hidden = !told;
    if (!told) return this.root.replaceChildren();
    const phases = element("ol", "phases");
    told.phases.forEach(([name, words, done, count], k) => {
      const part = phases.appendChild(element("li", k === told.phase ? "now" : k < told.phase ? "done" : "", name));
      part.title = words;
      if (k === told.phase && count > 1) part.append(` ${done} of ${count}`);
    });
    const line = element("p", "formula");
    line.append(element("b", "", told.name), told.meaning ? ` ${told.meaning}  ` : "  ");
    const formula = told.formulas[0];
    if (formula) {
      line.append(element("span", "letters", `${formula[0]}  `));
      for (const [text, tone, bold] of formula[1]) line.append(element(bold ? "b" : "span", tone, text));
    }
    this.root.replaceChildren(phases, line);
  }
}
