// What stands above each picture of a comparison: whose it is, at which step, and how large the difference is.

import { countText, lossText, rateText } from "./numbers.js";
import { element } from "./panels.js";
import { MARK_BITS } from "./quantity.js";
import { sureText } from "./rounded.js";
import { parameterName } from "./tip.js";

/**
 * Where a difference is largest, or that there is none; as the window says it.
 * @param {?ArrayLike<number>} errors by how much each may be off; null: by nothing
 * @param {boolean} same whether all were alike before they were rounded
 */
export function largestText(numbers, flags, errors, same, nameOf) {
  let [index, known, finite] = [-1, 0, 0];
  for (let k = 0; k < numbers.length; k++) {
    if (flags[k] & MARK_BITS.missing) continue;
    known++;
    if (!Number.isFinite(numbers[k])) continue;
    finite++;
    if (index < 0 || Math.abs(numbers[k]) > Math.abs(numbers[index])) index = k;
  }
  if (!known) return "not computed yet";
  const beside = known > finite ? `${countText(known - finite)} NaN or infinite` : "";
  if (!finite) return `no number to compare: ${beside}`;
  if (same) return beside ? `no difference between numbers; ${beside}` : "no difference: every number is the same";
  const said = `largest ${sureText(numbers[index], errors?.[index] ?? 0)}  \u00b7  ${nameOf(index)}`;
  return beside ? `${said}  \u00b7  ${beside}` : said;
}

/** The three heads of a page. */
export class Heads {
  /** @param {HTMLElement[]} roots of a, of b and of the difference; what stays in them, Python has written */
  constructor(roots, run) {
    this.run = run;
    this.lines = roots.map(root => ({ name: root.querySelector(".name"), moment: root.querySelector(".moment") }));
  }

  /** Stand at a frame. */
  show(frame, quantity, words, shown) {
    const { run } = this, asked = run.steps[frame];
    run.halves.forEach((half, k) => {
      const at = run.places[frame][k], step = half.steps[at], { moment } = this.lines[k];
      moment.replaceChildren("step ", element("b", "", countText(step)), " loss ", element("b", "", lossText(half.loss[at])), " ");
      const other = step < asked ? `its last before ${countText(asked)}` : step > asked ? `its first, after ${countText(asked)}` : "";
      const rate = Number.isNaN(half.lr[at]) ? "" : `lr ${rateText(half.lr[at])}`;
      moment.append(element("span", other ? "other" : "rate", other || rate));
    });
    const third = shown[2], { parameters } = run.document;
    const same = run.exact ? !third.texels[quantity].subarray(0, parameters).some(x => x !== 0 && Number.isFinite(x)) : run.same[quantity][frame];
    this.lines[2].name.textContent = `difference of ${words}s`;
    const nameOf = index => parameterName(run.document, index);
    const text = largestText(third.texels[quantity].subarray(0, parameters), quantity === "weight" ? new Uint8Array(parameters) : third.flags,
      third.errors[quantity], Boolean(same), nameOf);
    this.lines[2].moment.textContent = text;
    this.lines[2].moment.title = text;
  }
}
