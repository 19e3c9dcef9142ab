// All numbers of a step of a comparison, as a table that can be read without seeing the cubes.

import { countText } from "./numbers.js";
import { element } from "./panels.js";

const MOST_LINES = 400;

/** Names and three numbers each, of what the cubes show. */
export class PairTable {
  /**
   * @param {HTMLElement} root
   * @param {PairRun} run
   */
  constructor(root, run) {
    Object.assign(this, { root, run });
    this.title = root.appendChild(element("h2"));
    const table = root.appendChild(element("table"));
    this.head = table.appendChild(element("thead")).appendChild(element("tr"));
    this.body = table.appendChild(element("tbody"));
    const count = run.document.parameters;
    const numbers = Array.from({ length: Math.min(count, MOST_LINES) }, (_, index) => index);
    const units = run.rows.flatMap(([start, end]) => Array.from({ length: end - start }, (_, k) => start + k));
    this.texels = { all: [...numbers, ...units.slice(0, MOST_LINES)], numbers };
    const left = [[count, "weights"], [units.length, "activations"]].filter(([all]) => all > MOST_LINES);
    root.appendChild(element("p", "", left.map(([all, what]) => `the first ${MOST_LINES} of ${countText(all)} ${what}`).join("; ")));
  }

  /** Write the numbers of a frame, where the table is to be seen. */
  show(frame, quantity = this.quantity) {
    this.quantity = quantity;
    if (this.root.hidden) return;
    const { run } = this, steps = run.stepsAt(frame);
    this.title.textContent = `every ${quantity === "weight" ? "value" : quantity} at step ${countText(run.steps[frame])}`;
    const heads = run.letters.map((letter, k) => (steps[k] === run.steps[frame] ? letter : `${letter} at step ${countText(steps[k])}`));
    this.head.replaceChildren(...["name", ...heads, run.of].map(name => element("th", "", name)));
    const texels = quantity === "weight" ? this.texels.all : this.texels.numbers;
    this.body.replaceChildren(...texels.map(texel => {
      const row = element("tr");
      row.append(element("th", "", run.nameOf(texel)[0]), ...run.texts(frame, quantity, texel).map(text => element("td", "", text)));
      return row;
    }));
  }
}
