// One number of a comparison: in a, in b, how far they are apart, and how both came there.

import { TYPE, cutAt, drawLine, sharpCanvas, thinned } from "./curve.js";
import { countText, shortText } from "./numbers.js";
import { element } from "./panels.js";

const WORDS_OF = { weight: "value", gradient: "gradient", update: "last update" };
const HINT = "Click a cube: its numbers in both, and how they came there.";

/** The card of one number, or a line that says how to get it. */
export class PairCard {
  /**
   * @param {HTMLElement} root
   * @param {PairRun} run
   * @param {function(): void} close
   */
  constructor(root, run, close) {
    Object.assign(this, { root, run, index: null });
    this.hint = root.appendChild(element("div", "hint"));
    this.rows = run.rows.length ? ["both", "difference"].map(name => this.#scale(name)) : []; // legends of the rows
    this.hint.appendChild(element("p", "", HINT));
    this.body = root.appendChild(element("div", "body"));
    const words = this.body.appendChild(element("div", "words")), head = words.appendChild(element("div", "head"));
    this.name = head.appendChild(element("h2"));
    this.meaning = head.appendChild(element("span", "meaning"));
    this.table = words.appendChild(element("table"));
    const curve = this.body.appendChild(element("div", "curve")), top = curve.appendChild(element("div", "head"));
    this.since = top.appendChild(element("span", "since"));
    const button = top.appendChild(element("button", "", "\u00d7"));
    button.type = "button";
    button.setAttribute("aria-label", "close");
    button.addEventListener("click", close);
    this.canvas = curve.appendChild(element("canvas", "history"));
    this.canvas.setAttribute("aria-hidden", "true");
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.select(null);
  }

  #scale(name) {
    const canvas = this.hint.appendChild(element("canvas", "rows"));
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `the colours of the activations of ${name === "both" ? "a and b" : "the difference"}`);
    return canvas;
  }

  /** Show a number by its texel, null: none. */
  select(index) {
    this.index = index;
    this.body.hidden = index === null;
    this.hint.hidden = index !== null;
    if (index === null) return;
    [this.name.textContent, this.meaning.textContent] = this.run.nameOf(index);
  }

  /** Stand at a frame, with the history of a quantity. */
  show(frame, quantity, look) {
    const { run, index } = this;
    if (index === null) return;
    const asked = run.steps[frame], steps = run.stepsAt(frame);
    const known = run.quantitiesOf(index), drawn = known.includes(quantity) ? quantity : "weight";
    const texts = known.map(name => run.texts(frame, name, index));
    const head = element("tr");
    head.append(element("th"), ...known.map(name => element("th", name === drawn ? "on" : "", WORDS_OF[name])));
    const rows = [...run.letters, run.of].map((letter, k) => {
      const row = element("tr"), there = k === 2 || steps[k] === asked ? "" : ` at ${countText(steps[k])}`;
      row.append(element("th", "", `${letter}${there}`), ...texts.map(three => element("td", "", three[k])));
      return row;
    });
    this.table.replaceChildren(head, ...rows);
    this.since.textContent = `${WORDS_OF[drawn]} since step ${countText(run.steps[0])}`;
    Object.assign(this, { look, places: run.places[frame], histories: run.histories(drawn, index) });
    this.draw();
  }

  draw() {
    if (this.index !== null && this.look) drawHistories(this.canvas, this.histories, [this.run.steps[0], this.run.steps.at(-1)], this.places, this.look);
  }
}

/** Two numbers over the steps: a as a line, b dashed, both bright as far as where they stand. */
function drawHistories(canvas, histories, [first, last], places, look) {
  const { context, wide, high } = sharpCanvas(canvas);
  const finite = histories.flatMap(({ numbers }) => Array.from(numbers).filter(Number.isFinite));
  if (!finite.length || wide < 40) return;
  let low = finite.reduce((a, b) => Math.min(a, b)), top = finite.reduce((a, b) => Math.max(a, b));
  if (low === top) [low, top] = [low - 0.5, top + 0.5];
  context.font = `13px ${TYPE}`;
  const ends = [top, low].map(end => shortText(end, true));
  const left = 6 + Math.max(...ends.map(text => context.measureText(text).width)), right = wide - 8;
  const x = step => left + (right - left) * Math.min(Math.max((step - first) / Math.max(last - first, 1), 0), 1);
  const y = number => high - 8 - (high - 16) * (number - low) / (top - low);
  context.fillStyle = look.text3;
  context.textAlign = "right";
  ends.forEach((text, k) => context.fillText(text, left - 6, (k ? high - 8 : 8) + 4));
  if (low < 0 && top > 0) drawLine(context, [[left, y(0)], [right, y(0)]], look.grid, 1);
  histories.forEach(({ steps, numbers }, k) => {
    const here = x(steps[places[k]]), number = numbers[places[k]];
    const points = thinned(steps.map(x), numbers).map(([at, number]) => [at, y(number)]);
    const [before, after] = cutAt(points, here), dash = k ? [6, 4] : [];
    drawLine(context, after, look.text3, 1.4, dash);
    drawLine(context, before, k ? look.text2 : look.text1, 2, dash);
    if (!Number.isFinite(number)) return;
    context.fillStyle = k ? look.text2 : look.text1;
    context.beginPath();
    context.arc(here, y(number), 3.5, 0, 2 * Math.PI);
    context.fill();
  });
}
