// The card of one number, and a table of all numbers: of one run, or of two and their difference.

import { Ink, element } from "./ink.js";
import { countText, shortText } from "./numbers.js";

const WORDS_OF = { weight: "value", gradient: "gradient", update: "last update" };
const BEFORE = "gradient and update: before the change"; // of a weight, after which there was no step
const MOST_ROWS = 400;

/** The card of one number: its name, its recorded quantities at this step, and its history. */
export class NumberCard {
  constructor(root, run, close) {
    Object.assign(this, { root, run, texel: null });
    const words = root.appendChild(element("div", "words")), head = words.appendChild(element("div", "head"));
    this.name = head.appendChild(element("h2"));
    const button = head.appendChild(element("button", "", "\u00d7"));
    button.setAttribute("aria-label", "close");
    button.addEventListener("click", close);
    this.meaning = words.appendChild(element("p", "meaning"));
    this.table = words.appendChild(element("table"));
    const curve = root.appendChild(element("div", "curve"));
    this.since = curve.appendChild(element("p", "since"));
    this.canvas = curve.appendChild(element("canvas", "history"));
    this.canvas.setAttribute("aria-hidden", "true");
    this.ink = new Ink(this.canvas);
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.select(null);
  }

  select(texel) {
    this.texel = texel;
    this.root.hidden = texel === null;
    if (texel !== null) this.name.textContent = this.run.nameOf(texel)[0];
  }

  show(frame, quantity, look) {
    const { run, texel } = this;
    if (texel === null) return;
    const known = run.quantitiesOf(texel), drawn = known.includes(quantity) ? quantity : "weight";
    const head = element("tr"), texts = known.map(name => run.texts(frame, name, texel));
    head.append(element("th"), ...known.map(name => element("th", name === drawn ? "on" : "", WORDS_OF[name])));
    const rows = run.linesAt(frame).map((line, k) => {
      const row = element("tr");
      row.append(element("th", "", line), ...texts.map(some => element("td", "", some[k])));
      return row;
    });
    this.table.replaceChildren(head, ...rows);
    this.meaning.textContent = [run.nameOf(texel)[1], known.length > 1 && run.line?.editedAt(frame) && BEFORE].filter(Boolean).join("  \u00b7  ");
    this.since.textContent = `${WORDS_OF[drawn]} since step ${countText(run.steps[0])}`;
    Object.assign(this, { look, places: run.placesAt(frame), histories: run.histories(drawn, texel) });
    this.draw();
  }

  draw() {
    if (this.texel !== null && this.look) drawHistories(this.ink, this.histories, [this.run.steps[0], this.run.steps.at(-1)], this.places, this.look);
  }
}

// Return points of a curve, at most one a pixel; several in one pixel give their mean. Both ends are exact.
function thinned(places, numbers) {
  const points = [];
  let column = NaN, sum = 0, count = 0, place = 0;
  const finish = () => count && points.push([place, sum / count]);
  for (let k = 0; k < places.length; k++) {
    if (!Number.isFinite(numbers[k])) continue;
    const here = Math.floor(places[k]);
    if (here !== column) {
      finish();
      column = here;
      sum = count = 0;
    }
    sum += numbers[k];
    count += 1;
    place = places[k];
  }
  finish();
  const first = places.findIndex((_, k) => Number.isFinite(numbers[k]));
  if (points.length) points[0] = [places[first], numbers[first]];
  return points;
}

/** The plot of one number by step, or of two, the second dashed: bright up to the current step, with the ends as text. */
function drawHistories(ink, histories, [first, last], places, look) {
  const [wide, high] = ink.fit(look);
  const finite = histories.flatMap(({ numbers }) => Array.from(numbers).filter(Number.isFinite));
  if (!finite.length || wide < 40) return;
  let low = finite.reduce((a, b) => Math.min(a, b)), top = finite.reduce((a, b) => Math.max(a, b));
  if (low === top) [low, top] = [low - 0.5, top + 0.5];
  const ends = [top, low].map(end => shortText(end, true));
  const left = 6 + Math.max(...ends.map(text => ink.measure(text, 13))), right = wide - 8;
  const x = step => left + (right - left) * Math.min(Math.max((step - first) / Math.max(last - first, 1), 0), 1);
  const y = number => high - 8 - (high - 16) * (number - low) / (top - low);
  ends.forEach((text, k) => ink.text(left - 6, (k ? high - 8 : 8) + 4, text, 13, look.text3, { end: "right" }));
  if (low < 0 && top > 0) ink.path([[left, y(0)], [right, y(0)]], look.grid, 1);
  histories.forEach(({ steps, numbers }, k) => {
    const here = x(steps[places[k]]), number = numbers[places[k]], colour = k ? look.text2 : look.text1;
    const points = thinned(steps.map(x), numbers).map(([at, number]) => [at, y(number)]);
    const dash = k ? [6, 4] : [];
    ink.within(here, 0, wide - here, high, () => ink.path(points, look.text3, 1.4, { dash }));
    ink.within(0, 0, here, high, () => ink.path(points, colour, 2, { dash }));
    if (Number.isFinite(number)) ink.disc(here, y(number), 3.5, colour);
  });
}

/** The table of all numbers at the current step, which can be read without seeing the cubes. */
export class NumberTable {
  /** `run` is a RecordedRun or a PairRun; `choose` selects a number, for users without a pointer. */
  constructor(root, run, choose) {
    Object.assign(this, { root, run, choose, count: 0 });
    this.title = root.appendChild(element("h2"));
    const table = root.appendChild(element("table"));
    this.head = table.appendChild(element("thead")).appendChild(element("tr"));
    this.body = table.appendChild(element("tbody"));
    const count = run.document.parameters, units = run.rows.flatMap(([start, end]) => Array.from({ length: end - start }, (_, k) => start + k));
    this.texels = [...Array(Math.min(count, MOST_ROWS)).keys(), ...units.slice(0, MOST_ROWS)];
    const more = [[count, "weights"], [units.length, "activations"]].filter(([all]) => all > MOST_ROWS);
    root.appendChild(element("p", "", more.map(([all, what]) => `the first ${MOST_ROWS} of ${countText(all)} ${what}`).join("; ")));
  }

  /** Write the numbers of a frame if the table is visible. */
  show(frame, quantity = this.quantity) {
    this.quantity = quantity;
    if (this.root.hidden) return;
    const { title, heads, cellsOf } = this.run.tableAt(frame, quantity);
    const texels = this.texels.filter(texel => this.run.quantitiesOf(texel).includes(quantity));
    this.title.textContent = title;
    this.head.replaceChildren(...["name", ...heads].map(name => element("th", "", name)));
    if (texels.length !== this.count) this.body.replaceChildren(...texels.map(texel => this.#row(texel, heads)));
    this.count = texels.length; // rows stay while playing: one of them may have the focus
    texels.forEach((texel, k) => cellsOf(texel).forEach((text, at) => (this.body.rows[k].cells[at + 1].textContent = text)));
  }

  #row(texel, heads) {
    const row = element("tr"), button = row.appendChild(element("th")).appendChild(element("button", "name", this.run.nameOf(texel)[0]));
    button.addEventListener("click", () => this.choose(texel));
    row.append(...heads.map(() => element("td")));
    return row;
  }
}
