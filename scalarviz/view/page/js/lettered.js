// The page of a network that reads a word: letters and attention among its cubes, new words and what comes next beside
// them, of the frame that is shown. Another word would have to be read by the network, which a page has not got.

import { Ink } from "./ink.js";
import { drawMarks, drawScale, marksOn } from "./legend.js";
import { LettersAmong, ReadAt, likeliest, percentText } from "./letters.js";
import { pageExtras, part } from "./page.js";
import { element } from "./panels.js";
import { rowOf, unpackTable } from "./unpack.js";

const LIKELIEST = 5;
const LEGEND_HIGH = 88;
const DIM = 0.42; // of the text's colour: a letter of probability 0
const BRIGHTNESS = 255;

/** Colours `#rrggbb` mixed: `share` of the first. */
function mixedColours(first, second, share) {
  const parts = [first, second].map((colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)));
  return `rgb(${[0, 1, 2].map((k) => Math.round(share * parts[0][k] + (1 - share) * parts[1][k])).join(", ")})`;
}

/** Letters, attention and new words of a page whose head has `letters`. */
export class LetteredPage {
  /** @param {Page} page */
  constructor(page) {
    Object.assign(this, { page, told: page.run.head.letters, tables: null, read: null, written: "", places: [] });
    this.chosen = this.told.word.length;
    this.root = element("section", "words");
    part("column").insertBefore(this.root, part("pictures"));
    this.#make();
    page.above = (overlay, colourOf, tables, detailed) => this.draw(overlay, tables, detailed);
    part("cubes").addEventListener("click", (event) => this.clicked(event));
    this.#unpack();
  }

  async #unpack() {
    const [parts, likely] = await Promise.all(["letters", "likely"].map((name) => unpackTable(JSON.parse(part(name).textContent))));
    this.tables = { parts, likely };
    this.page.player.show(this.page.shown());
  }

  #make() {
    const { told, root } = this, head = (title, note) => {
      const line = root.appendChild(element("p", "head"));
      line.append(element("b", "", title), element("span", "", note));
    };
    head("new names", `temperature ${told.temperature.toFixed(1)} \u00b7 brighter: surer`);
    this.names = root.appendChild(element("ul", "names"));
    head("what comes next", "bright: what follows");
    this.note = root.appendChild(element("p", "note"));
    this.keys = root.appendChild(element("div", "next"));
    this.keys.setAttribute("role", "group");
    this.keys.setAttribute("aria-label", `the letters of ${told.word}: look at one`);
    this.cells = ["start", ...told.word].map((token, k) => {
      const cell = this.keys.appendChild(element("div")), key = cell.appendChild(element("button", "", token));
      key.type = "button";
      key.setAttribute("aria-label", k ? `letter ${k}: ${token}` : "the beginning");
      key.addEventListener("click", () => this.choose(k));
      return { key, list: cell.appendChild(element("ol")) };
    });
    this.canvas = root.appendChild(element("canvas", "legend"));
    this.canvas.setAttribute("aria-hidden", "true");
    this.ink = new Ink(this.canvas, this.page.run.document.words.advances);
  }

  /** Look at a letter: its row of attention, its numbers, what comes after it. */
  choose(place) {
    this.chosen = place;
    this.page.player.show(this.page.shown());
  }

  /** A click into the cubes may be on a letter of the maps. */
  clicked(event) {
    const box = part("cubes").getBoundingClientRect(), { type } = this.page.player.view;
    const at = [(event.clientX - box.left) / type, (event.clientY - box.top) / type];
    const hit = this.places.find(([[x, y, wide, high]]) => at[0] >= x && at[0] < x + wide && at[1] >= y && at[1] < y + high);
    if (hit) this.choose(hit[1]);
  }

  /** What lies over the cubes, and beside them where something changed. */
  draw(overlay, tables, detailed) {
    const { page, told } = this;
    this.drawLegend(overlay, tables, detailed);
    if (!this.tables) return;
    const frame = page.run.head.places?.[page.frame] ?? page.frame;
    if (this.read?.frame !== frame) this.read = new ReadAt(told, rowOf(this.tables.parts, frame), rowOf(this.tables.likely, frame), frame);
    this.places = [];
    const seen = Boolean(overlay.around?.plan?.seen);
    if (this.read.finite && seen) {
      const among = new LettersAmong(overlay, this.read, this.chosen, page.theme);
      among.draw();
      this.places = among.places;
    }
    const wanted = `${frame} ${this.chosen} ${page.theme} ${seen}`;
    if (wanted !== this.written) this.write(seen);
    this.written = wanted;
  }

  // The legend of the cubes, below what is said of words.
  drawLegend(overlay, tables, detailed) {
    const wide = this.canvas.clientWidth, { ink } = this, { theme } = overlay.ink;
    if (!wide || !overlay.shown.range) return;
    const { shown } = overlay, about = this.page.run.saidOf(this.page.frame).about[shown.quantity.name.includes("gradient") ? 0 : 1];
    ink.begin(wide, LEGEND_HIGH, Math.max(1, window.devicePixelRatio || 1), theme);
    drawScale(ink, [0, 0, wide], shown, tables[0], shown.quantity.name === "weight" ? "" : about ?? "");
    drawMarks(ink, [0, LEGEND_HIGH - 6, wide], marksOn(shown, detailed), shown.document);
  }

  // ---- words

  write(seen) {
    const { read, page } = this, theme = page.look;
    const elsewhere = seen ? "" : " Who looks at whom stands among the cubes where they are seen from the front (fit), on a wider page.";
    this.note.textContent = `after each letter of ${read.told.word}, the word of this recording.${elsewhere}`;
    this.names.replaceChildren(...read.told.names[read.frame].map(([word, bright]) => {
      const line = element("li");
      for (const [k, letter] of [...(word || "-")].entries()) {
        const span = line.appendChild(element("span", "", letter));
        span.style.color = mixedColours(theme.text1, theme.background, DIM + (1 - DIM) * ((bright[k] ?? 0) / BRIGHTNESS));
      }
      return line;
    }));
    if (!read.finite) this.names.append(element("li", "none", "what it says is no longer finite"));
    const largest = Math.max(...read.likely.map((shares) => Math.max(...shares)));
    this.cells.forEach(({ key, list }, k) => {
      key.setAttribute("aria-pressed", String(k === this.chosen));
      list.replaceChildren(...(read.finite ? this.linesOf(k, largest) : []));
    });
  }

  // The likeliest letters after a place, and the one that follows with its own figure, in the last place if nowhere else.
  linesOf(place, largest) {
    const shares = this.read.likely[place], follows = this.read.follows(place), order = likeliest(shares, LIKELIEST);
    if (!order.includes(follows)) order[order.length - 1] = follows;
    return order.map((number) => {
      const line = element("li", number === follows ? "follows" : "");
      const bar = element("i");
      bar.style.width = `${Math.max(26 * (shares[number] / largest), 1.5)}px`;
      line.append(element("span", "", this.read.nameOf(number)), bar, element("span", "", percentText(shares[number])));
      return line;
    });
  }
}

pageExtras.push((page) => new LetteredPage(page));
