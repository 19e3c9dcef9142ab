// A live cell: what Python sends is shown, what hands do is told to Python. The cubes themselves are the player's.

import { CellCard } from "./cellcard.js";
import { CellButtons } from "./buttons.js";
import { CellFormulas } from "./cellformulas.js";
import { CellPanels } from "./cellpanels.js";
import { CellTime } from "./celltime.js";
import { actionsByKey, keyName } from "./keys.js";
import { element } from "./panels.js";
import { Player } from "./player.js";
import { MicroLine } from "./microline.js";
import { openedIn } from "./opened.js";
import { watchTheme } from "./notebook.js";

const SILENCE = 2000;   // milliseconds without a frame after which a place says that it is still there
const COLUMN = 340;     // pixels that panels beside the cubes take
const OF_HANDS = new Set(["do", "select", "set", "branch", "control", "release", "panel"]);

/** One place in a notebook that shows a live cell. */
export class LiveCell {
  /**
   * @param {object} model Of anywidget: `get`, `send`, `on`, `off`.
   * @param {HTMLElement} root
   */
  constructor(model, root) {
    Object.assign(this, { model, root, player: null, document: null, frame: null, known: {}, coming: null, answered: 0, over: "" });
    this.about = model.get("about");
    this.place = Array.from(crypto.getRandomValues(new Uint32Array(3)), part => part.toString(36)).join("-");
    this.byKey = actionsByKey(this.about.keys);
    this.build();
    this.hear = (message, buffers) => this.take(message, buffers ?? []);
    model.on("msg:custom", this.hear);
    this.theme = "light";
    this.endTheme = watchTheme(theme => this.light(theme));
    this.listen();
    this.say(this.greeting);
    this.beat = setInterval(() => this.remind(), SILENCE);
    this.heard = performance.now();
  }

  /** Tell Python something. */
  say(message) {
    if (this.over && message.kind !== "gone") return;
    if (OF_HANDS.has(message.kind)) this.time?.settle();   // what is asked for now comes after where the bar was left
    try {
      this.model.send({ ...message, place: this.place });
    } catch {   // what the notebook throws when the kernel is another one: nobody is there who knows this cell
      if (!this.over) this.end("the kernel was restarted, or is gone");
    }
  }

  /** That somebody looks, and how. */
  get greeting() {
    return { kind: "ready", theme: this.theme };
  }

  /** Do an action of the table, or what is the browser's own. */
  act(name, value) {
    const told = this.about.keys.find(action => action.name === name);
    if (told?.own) this.own(name);
    else if (told?.takes && value !== undefined) this.say({ kind: "do", name, value });
    else this.say({ kind: "do", name });
  }

  /** Do what the browser does by itself. */
  own(name) {
    if (name === "toggle_theme") this.light(this.theme === "dark" ? "light" : "dark");
    else if (name === "toggle_help") this.buttons.keys.open = !this.buttons.keys.open;
    else if (name === "type_value") this.card.type();
    else if (name === "break_on" && this.known.breaks) {
      this.buttons.more.open = true;
      this.buttons.breaks.input.focus();
    }
    else if (name === "fit") this.player?.fit();
    else if (name === "toggle_parallel" && this.player) this.player.parallel = !this.player.parallel;
    else if (name === "refit_range" && this.player) {
      this.player.shown.refit();
      this.player.quantity = this.player.quantity;   // with the range of what it shows now
    }
  }

  // ---- elements

  build() {
    const { root, about } = this, make = (parent, tag, name) => parent.appendChild(element(tag, name));
    root.replaceChildren();
    this.around = make(root, "div", "scalarviz-around");
    this.box = make(this.around, "section", "scalarviz-cell");
    this.box.tabIndex = 0;
    this.box.setAttribute("aria-label", `${about.title}, live`);
    this.box.style.setProperty("--wide", `${about.size[0]}px`);
    this.box.style.setProperty("--high", `${Math.max(about.size[1] - 64, 160)}px`);
    this.head = make(this.box, "header", "head");
    const stage = make(this.box, "div", "stage");
    this.scene = make(stage, "div", "scene");
    this.cubes = make(this.scene, "div", "cubes");
    this.news = make(stage, "p", "news");
    this.news.setAttribute("role", "status");
    this.formulas = new CellFormulas(make(stage, "div", "formulas"));
    this.panels = new CellPanels(make(stage, "div", "panels"), make(stage, "div", "broad"), this);
    this.card = new CellCard(make(this.box, "aside", "card"), this);
    this.micro = new MicroLine(make(this.box, "div", "micro"));
    this.time = new CellTime(make(this.box, "div", "time"), this);
    this.buttons = new CellButtons(make(this.box, "div", "controls"), this);
    this.room = new ResizeObserver(() => this.arrange());
    this.room.observe(this.around);
    this.hidden = document.head.appendChild(element("style"));
  }

  /** Panels stand beside the cubes where both have room, else below. */
  arrange() {
    const beside = !this.panels.root.hidden && this.around.clientWidth >= this.about.size[0] + COLUMN;
    this.box.classList.toggle("beside", beside);
    this.formulas.arrange();
  }

  listen() {
    this.box.addEventListener("keydown", event => this.press(event));
    this.cubes.addEventListener("pointerdown", () => this.box.focus({ preventScroll: true }));
    window.addEventListener("keydown", this.keep = event => this.box.contains(event.target) && this.guard(event), true);
    this.seen = () => !document.hidden && this.say({ kind: "here" });
    document.addEventListener("visibilitychange", this.seen);
  }

  /** JupyterLab's own keys are not for what has the focus here, but for those like Ctrl+S that mean nothing here. */
  guard(event) {
    const theirs = (event.ctrlKey || event.metaKey) && !this.byKey.has(keyName(event));
    this.box.toggleAttribute("data-lm-suppress-shortcuts", !theirs);
  }

  /** A key of the table of actions, while the cell has the focus. */
  press(event) {
    const at = event.target, key = keyName(event), shifted = event.shiftKey ? this.byKey.get(`Shift+${key}`) : null;
    const name = shifted ?? this.byKey.get(key);
    const own = at instanceof HTMLElement && at.closest("input, select, button, summary");
    const typing = own && (own.tagName !== "BUTTON" && own.tagName !== "SUMMARY" || keyName(event) === "Space" || keyName(event) === "Enter");
    if (event.key === "Escape") this.select(null);
    if (event.altKey || typing || !(name || this.panels.key(event))) return;
    event.preventDefault();
    event.stopPropagation();
    if (name) this.act(name, event.shiftKey && !shifted && this.about.keys.find(one => one.name === name).takes ? 10 : undefined);
  }

  // ---- what comes

  take(message, buffers) {
    const others = message.kind === "frame" && !this.document && !message.document;
    if (others) return;   // sent before our greeting was heard, for places that know the network already
    this.heard = performance.now();
    if (message.kind === "over") this.end(message.why);
    else if (message.kind === "trouble") this.write({ notice: message.why });
    else if (message.kind === "frame") this.show(message, buffers);
  }

  /** A frame: its numbers go to the player; its words are written when these are drawn, in the same picture of the page. */
  show(message, buffers) {
    const { kind, number, step, loss, buffers: names, known, past, rows, inside, formulas, ...parts } = message;
    const arrays = {};
    names.forEach((name, k) => {
      const { buffer, byteOffset, byteLength } = buffers[k];
      const own = buffer.slice(byteOffset, byteOffset + byteLength);   // a view may begin anywhere
      arrays[name] = name === "flags" ? new Uint8Array(own) : new Float32Array(own);
    });
    const { flags, ...texels } = arrays, value = typeof loss === "number" ? loss : NaN;
    this.frame = { number, texels, step, loss: value, past, known, formulas,
      rows: Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, Float32Array.from(row, Number)])),
      flags: flags ?? new Uint8Array(texels.weight.length) };
    this.coming = { ...this.coming, ...parts };   // of several between two pictures the last words count
    this.time.add(step, value);
    if (parts.document) this.stand(parts.document);
    if (inside) openedIn(this.frame, inside, this.document);
    const { whose } = this.coming.head ?? this.known.head;
    this.frame.about = [whose, whose];
    if (parts.document || !this.player || this.player.lost) this.writeComing();
    if (!this.player) return this.answer();
    this.player.show(this.frame);
  }

  /** Write what came with the frame that is about to be drawn. */
  writeComing() {
    const parts = this.coming;
    if (!parts) return;
    this.coming = null;
    this.write(parts);
    this.formulas.show(this.frame);
    this.panels.date(this.frame.step);
  }

  /** Another network stands there: another player. */
  stand(wanted) {
    this.document = wanted;
    const pose = this.player && this.samePlates(this.player.document, wanted) ? this.player.pose : null;
    this.player?.dispose();
    try {
      this.player = new Player(this.cubes, wanted, { theme: this.theme, legends: "scales", card: false, live: true });
    } catch (error) {
      this.player = null;
      this.write({ notice: `${error.message}: try sv.live(..., display="pictures")` });
      return;
    }
    if (pose) this.player.pose = pose;
    if (this.known.showing) this.quantify(this.known.showing);
    this.hidden.textContent = `.${this.about.still} { display: none !important; }`;   // the last picture, while this one lives
    this.player.on("drawing", () => this.writeComing());
    this.player.on("drawn", frame => frame && this.answer());
    this.player.on("select", which => this.select(typeof which === "number" ? which : null));
    this.paint();
  }

  samePlates(one, other) {
    return JSON.stringify(one.plates) === JSON.stringify(other.plates);
  }

  answer() {
    if (!this.frame || this.frame.number <= this.answered) return;
    this.answered = this.frame.number;
    this.say({ kind: "drawn", number: this.answered });
  }

  /** Say that somebody looks, where nothing has come for a while: what was on its way may be lost. */
  remind() {
    if (document.hidden || this.over || performance.now() - this.heard < SILENCE) return;
    const waits = this.player && this.frame && this.frame.number > this.answered;   // it draws slower than that
    if (!waits) this.say(this.frame ? { kind: "here" } : this.greeting);
  }

  // ---- what is written

  write(parts) {
    const news = this.known = { ...this.known, ...parts };
    if ("head" in parts) this.writeHead(news.head);
    if ("showing" in parts && this.player) this.quantify(news.showing);
    if ("notice" in parts || "thinned" in parts || "story" in parts) this.writeNews();
    if ("micro" in parts) this.micro.show(news.micro);
    if ("inspector" in parts) this.card.show(news.inspector);
    if ("time" in parts || "curve" in parts) this.time.take(news.time, news.curve);
    this.buttons.show(news, parts);
    this.panels.take(parts);
    if ("panels" in parts) this.arrange();
    this.time.stand(this.look);
  }

  /** Show another number of each weight, by another map, or on cubes of other sizes. */
  quantify({ quantity, map, sizing }) {
    const { quantities, maps } = this.document;
    if (map) maps[quantity.map] = map;
    const others = quantities.filter(one => one.name !== quantity.name);
    quantities.splice(0, quantities.length, ...others, quantity);
    this.player.quantity = quantity.name;
    const { byValue, threshold } = this.player.sizing;
    if (byValue !== sizing.byValue || threshold !== sizing.threshold) this.player.sizing = sizing;
  }

  writeHead(head) {
    const pair = (word, text, more = "") => {
      const span = element("span", "pair", `${word} `);
      span.append(element("b", "", text));
      if (more) span.append(` ${more}`);
      return span;
    };
    const first = element("div", "numbers");
    if (head.step) first.append(pair("step", head.step, head.of), pair("loss", head.loss, head.old));
    first.append(...head.more.map(([word, text]) => pair(word, text)));
    const shows = element("span", "shows");
    shows.append(element("span", "", "cubes show "), element("b", "", head.shows));
    first.append(shows);
    const about = element("div", "about", [head.set, head.pace, head.about].filter(Boolean).join("  \u00b7  "));
    about.title = about.textContent; // where it is cut
    this.head.replaceChildren(first, about);
  }

  writeNews() {
    const { notice, thinned, story, running } = this.known;
    const told = story && !running ? [story.headline, story.sentence].filter(Boolean).join(" ") : "";
    this.news.textContent = notice || thinned || told || "";
  }

  get look() {
    return this.document?.themes[this.theme] ?? null;
  }

  /** Another theme: the notebook's, or what a hand wants. */
  light(theme) {
    if (theme !== this.theme && this.heard) this.say({ kind: "look", theme });
    this.theme = theme;
    if (this.player) this.player.theme = theme;
    this.panels?.paint();
    this.paint();
  }

  /** The theme's colours, for the style sheet. */
  paint() {
    const look = this.look;
    if (!look) return;
    for (const [name, colour] of Object.entries(look)) {
      if (typeof colour === "string") this.box.style.setProperty(`--${name}`, colour);
    }
    this.time.stand(look);
  }

  // ---- hands

  /** Look into a weight, null for none. */
  select(index) {
    if (this.player && this.player.selected !== index && (index === null || this.player.selected === null)) this.player.selected = index;
    this.say({ kind: "select", index });
  }

  /** Python lets go of it: the last picture stays, and says so. */
  end(why) {
    this.over = why || "closed";
    this.writeComing();
    this.write({ notice: `${this.over}; run the cell again`, running: false });
    this.box.classList.add("over");
  }

  dispose() {
    clearInterval(this.beat);
    this.say({ kind: "gone" });
    this.model.off("msg:custom", this.hear);
    document.removeEventListener("visibilitychange", this.seen);
    window.removeEventListener("keydown", this.keep, true);
    this.endTheme();
    this.room.disconnect();
    this.time.dispose();
    this.player?.dispose();
    this.player = null;
    this.hidden.remove();
    this.root.replaceChildren();
  }
}

/**
 * What anywidget calls for each place that shows the cell.
 * @param {{model: object, el: HTMLElement}} place
 * @returns {function(): void} Ends it.
 */
export function renderCell({ model, el }) {
  const cell = new LiveCell(model, el);
  el.scalarviz = cell;
  return () => cell.dispose();
}
