// The page of a network that reads a word: letters and attention among its cubes, new words and the next letter beside
// them, for the shown frame. Another word would need the network, which a page does not have.

import { element } from "./ink.js";
import { ScaleBar } from "./legend.js";
import { changedList, paint } from "./list.js";
import { pageExtras, part } from "./page.js";
import { mapIn, tableOf } from "./ranges.js";
import { bytesOf, inflated } from "./unpack.js";

const DIM = 0.42; // opacity of a letter with probability 0
const BRIGHTNESS = 255;

/** The letters, attention and new words of a page whose head has `letters`. */
export class LetteredPage {
  constructor(page) {
    Object.assign(this, { page, told: page.run.head.letters, all: null, written: "" });
    this.chosen = this.told.word.length;
    this.root = element("section", "words");
    part("column").insertBefore(this.root, part("pictures"));
    this.#make();
    page.above = (overlay) => this.draw(overlay);
    part("cubes").addEventListener("click", (event) => this.clicked(event));
    this.#unpack();
  }

  async #unpack() {
    const bytes = await inflated(bytesOf(part("letters").textContent));
    this.all = JSON.parse(new TextDecoder().decode(bytes));
    let last = null;
    for (const lists of this.all.lists) for (const both of lists) both[0] = last = changedList(last, both[0]);
    this.page.player.show(this.page.shown());
  }

  #make() {
    const { told, root } = this, head = (title, note) => {
      const line = root.appendChild(element("p", "head"));
      line.append(element("b", "", title), element("span", "", note));
    };
    head("new names", `temperature ${told.temperature.toFixed(1)} \u00b7 stronger: more certain`);
    this.names = root.appendChild(element("ul", "names"));
    head("next letter", "strong: the word's own letter");
    this.note = root.appendChild(element("p", "note"));
    this.keys = root.appendChild(element("div", "next"));
    this.keys.setAttribute("role", "group");
    this.keys.setAttribute("aria-label", `the letters of ${told.word}: look at one`);
    this.cells = ["start", ...told.word].map((token, k) => {
      const cell = this.keys.appendChild(element("div")), key = cell.appendChild(element("button", "", token));
      key.setAttribute("aria-label", k ? `letter ${k}: ${token}` : "the beginning");
      key.addEventListener("click", () => this.choose(k));
      return { key, list: cell.appendChild(element("ol")) };
    });
    this.canvas = root.appendChild(element("canvas", "legend"));
    this.canvas.setAttribute("aria-hidden", "true");
    this.bar = new ScaleBar(this.canvas, this.page.run.document);
  }

  /** Select a letter: its row of attention, its numbers, the letters after it. */
  choose(place) {
    this.chosen = place;
    this.page.player.show(this.page.shown());
  }

  clicked(event) {
    const box = part("cubes").getBoundingClientRect(), { view, overlay } = this.page.player, { plan } = overlay.around ?? {};
    if (!this.all || !plan?.seen) return;
    const at = [(event.clientX - box.left) / view.type, (event.clientY - box.top) / view.type].map((x, k) => (x - plan.shift[k]) / plan.size);
    const hit = this.all.spots.find(([x, y, wide, high]) => at[0] >= x && at[0] < x + wide && at[1] >= y && at[1] < y + high);
    if (hit) this.choose(hit[4]);
  }

  draw(overlay) {
    const { page } = this, { ink } = overlay, { plan } = overlay.around, seen = plan?.seen && !page.upright;
    const shows = overlay.shown.quantity.name, about = page.player.frame.about?.[shows.includes("gradient") ? 0 : 1];
    this.bar.draw([page.player], overlay.ink.theme, shows === "weight" ? "" : about ?? "");
    if (!this.all) return;
    const frame = page.run.head.places?.[page.frame] ?? page.frame, { document } = page.run;
    ink.shades = Object.fromEntries(["attention", "weight"].map((name) => [name, tableOf(mapIn(document, name, page.theme), 257)]));
    ink.context.save();
    ink.context.transform(plan?.size ?? 1, 0, 0, plan?.size ?? 1, ...(plan?.shift ?? [0, 0]));
    for (const record of (seen && this.all.lists[frame][this.chosen]?.flat()) || []) paint(ink, record);
    ink.context.restore();
    const wanted = `${frame} ${this.chosen} ${page.theme} ${seen}`;
    if (wanted !== this.written) this.write(frame, seen);
    this.written = wanted;
  }

  // ---- words

  write(frame, seen) {
    const theme = this.page.look, names = this.all.names[frame];
    const elsewhere = seen ? "" : " A wider page, seen from the front (fit), shows attention among the cubes.";
    this.note.textContent = `after each letter of ${this.told.word}, the word of this recording.${elsewhere}`;
    this.names.replaceChildren(...names.map(([word, bright]) => {
      const line = element("li");
      for (const [k, letter] of [...(word || "-")].entries()) {
        const span = line.appendChild(element("span", "", letter));
        const share = DIM + (1 - DIM) * ((bright[k] ?? 0) / BRIGHTNESS);
        span.style.color = `color-mix(in srgb, ${theme.text1} ${100 * share}%, ${theme.background})`;
      }
      return line;
    }));
    if (!names.length) this.names.append(element("li", "none", "the network's numbers are not finite"));
    this.cells.forEach(({ key, list }, k) => {
      key.setAttribute("aria-pressed", String(k === this.chosen));
      list.replaceChildren(...(this.all.next[frame][k] ?? []).map(([name, share, wide, follows]) => {
        const line = element("li", follows ? "follows" : ""), bar = element("i");
        bar.style.width = `${wide}px`;
        line.append(element("span", "", name), bar, element("span", "", share));
        return line;
      }));
    });
  }
}

pageExtras.push((page) => new LetteredPage(page));
