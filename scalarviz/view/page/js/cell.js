// A live cell: the window's picture. Python sends the numbers of the cubes, the camera and the display list; the
// browser draws them and sends input.

import { element } from "./ink.js";
import { watchTheme } from "./notebook.js";
import { Picture } from "./picture.js";
import { placeSpots } from "./spots.js";

const SILENCE = 2000; // milliseconds without a frame after which a place reports that it is still there
const HAND = 25; // milliseconds between two pointer positions that are sent
const WHEEL_NOTCH = 100; // the value of most browsers for one notch of the wheel
const THEIRS = new Set(["Tab", "F5", "F12", "Shift", "Control", "Alt", "Meta", "AltGraph"]); // keys of the browser
const OURS = new Set(["z", "y", "b"]); // and of the cell, with Ctrl; Ctrl+S saves the notebook

export class LiveCell {
  /** `model` is anywidget's: `get`, `send`, `on`, `off`. */
  constructor(model, root) {
    Object.assign(this, { model, root, known: {}, frame: null, answered: 0, over: "", moved: 0, wheel: 0, waiting: null });
    this.about = model.get("about");
    this.place = Array.from(crypto.getRandomValues(new Uint32Array(3)), (part) => part.toString(36)).join("-");
    this.build();
    this.hear = (message, buffers) => this.take(message, buffers ?? []);
    model.on("msg:custom", this.hear);
    this.theme = "light";
    this.endTheme = watchTheme((theme) => this.light(theme));
    this.listen();
    this.resize(); // before the greeting: the first picture has the right size
    this.say(this.greeting);
    this.beat = setInterval(() => this.remind(), SILENCE);
    this.heard = performance.now();
  }

  say(message) {
    if (this.over && message.kind !== "gone") return;
    try {
      this.model.send({ ...message, place: this.place });
    } catch {
      // the notebook throws this with another kernel, which does not know the cell
      if (!this.over) this.end("the kernel was restarted or has stopped");
    }
  }

  get greeting() {
    return { kind: "ready", theme: this.theme };
  }

  // ---- elements

  build() {
    const { root, about } = this;
    root.replaceChildren();
    this.box = root.appendChild(element("div", "scalarviz-cell"));
    this.box.style.maxWidth = `${about.size[0]}px`;
    this.stage = this.box.appendChild(element("div", "stage"));
    Object.assign(this.stage, { tabIndex: 0, role: "application", ariaLabel: `${about.title}, live` });
    this.spotted = this.stage.appendChild(element("div", "spots"));
    this.stage.style.aspectRatio = `${about.size[0]} / ${about.size[1]}`;
    this.news = this.box.appendChild(element("p", "news"));
    this.news.setAttribute("role", "status");
    this.hidden = document.head.appendChild(element("style"));
    try {
      this.picture = new Picture(this.stage, (known) => this.answer(known.frame.number));
    } catch (error) {
      this.picture = null;
      this.write(`${error.message}: try sv.live(..., display="pictures")`);
    }
    this.room = new ResizeObserver(() => this.resize());
    this.room.observe(this.box);
  }

  /** The line below the picture, for messages that it cannot show. */
  write(text) {
    this.news.textContent = text;
  }

  /** Ask for a layout with the available width. */
  resize() {
    const [wide, high] = this.about.size, width = Math.round(Math.min(this.box.clientWidth, wide));
    const full = this.stage.matches(":fullscreen");
    if (full) this.event("resize", { width: window.innerWidth, height: window.innerHeight });
    else if (width > 0 && width !== this.width) this.event("resize", { width, height: high });
    this.width = full ? 0 : width;
    this.picture?.resized();
  }

  // ---- input

  listen() {
    const { stage } = this, on = (name, listener) => stage.addEventListener(name, listener, { passive: false });
    on("pointerdown", (event) => this.press(event));
    on("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) on(end, (event) => this.release(event));
    on("pointerleave", () => this.event("pointer_leave", {}));
    on("contextmenu", (event) => event.preventDefault());
    on("wheel", (event) => this.turn(event));
    on("keydown", (event) => this.key(event));
    on("fullscreenchange", () => {
      if (!stage.matches(":fullscreen")) this.say({ kind: "left full" });
      this.resize();
    });
    window.addEventListener("keydown", this.keep = (event) => stage.contains(event.target) && this.guard(event), true);
    this.seen = () => !document.hidden && this.say({ kind: "here" });
    document.addEventListener("visibilitychange", this.seen);
    this.paste = (event) => this.pasted(event);
    document.addEventListener("paste", this.paste); // without a text field the browser sends it to the whole page
  }

  /** Send an input event; positions are in pixels of Python's layout. */
  event(type, more, event = null) {
    const held = event ? ["Shift", "Control", "Alt", "Meta"].filter((name) => event.getModifierState(name)) : [];
    this.say({ kind: "event", type, modifiers: held, ...more });
  }

  at(event) {
    const box = this.stage.getBoundingClientRect(), [wide, high] = this.picture?.size ?? [box.width, box.height];
    return { x: ((event.clientX - box.left) * wide) / box.width, y: ((event.clientY - box.top) * high) / box.height };
  }

  press(event) {
    this.stage.focus({ preventScroll: true });
    try {
      this.stage.setPointerCapture(event.pointerId);
    } catch {
      // the pointer is gone, or a test invented it
    }
    if (this.waiting) this.flush(); // send the last position first
    this.event("pointer_down", { ...this.at(event), button: event.button, time: event.timeStamp }, event); // Python is slower than two clicks
  }

  /** Send the newest position, at a limited rate. */
  move(event) {
    const last = this.waiting, tell = () => {
      clearTimeout(this.timer);
      const newest = this.waiting;
      this.waiting = this.timer = null;
      this.moved = performance.now();
      if (newest) this.event("pointer_move", this.at(newest), newest);
    };
    this.waiting = event;
    this.flush = tell;
    if (performance.now() - this.moved >= HAND) tell();
    else if (!last) this.timer = setTimeout(tell, HAND);
  }

  release(event) {
    if (this.waiting) this.flush();
    this.event("pointer_up", { ...this.at(event), button: event.button }, event);
  }

  /** The wheel scrolls the notebook until the cell has been clicked. */
  turn(event) {
    if (!this.focused) return;
    event.preventDefault();
    const step = event.deltaMode === 0 ? WHEEL_NOTCH : 3;
    this.wheel += (event.deltaY || event.deltaX) / step;
    const notches = Math.trunc(this.wheel) || (Math.abs(event.deltaY) >= step ? Math.sign(event.deltaY) : 0);
    this.wheel -= notches;
    for (let k = 0; k < Math.min(Math.abs(notches), 5); k++) {
      this.event("wheel", { ...this.at(event), dx: 0, dy: notches * WHEEL_NOTCH }, event);
    }
  }

  /** Return whether the cell has the focus; a notebook may keep it in a shadow tree. */
  get focused() {
    return this.stage.matches(":focus");
  }

  pasted(event) {
    if (this.focused) this.say({ kind: "paste", text: event.clipboardData.getData("text").slice(0, 100000) });
  }

  /** Handle a key while the cell has the focus; keys of the browser stay with it. */
  key(event) {
    const pressed = event.target !== this.stage && ["Enter", " "].includes(event.key); // a button, which handles it itself
    if (pressed || this.foreign(event)) return;
    event.preventDefault();
    event.stopPropagation();
    this.event("key_down", { key: event.key }, event);
  }

  foreign(event) {
    const ctrl = event.ctrlKey || event.metaKey;
    return event.altKey || THEIRS.has(event.key) || event.isComposing || (ctrl && !OURS.has(event.key.toLowerCase()));
  }

  /** Keep JupyterLab's shortcuts from the focused cell, but for those like Ctrl+C that mean nothing here. */
  guard(event) {
    this.stage.toggleAttribute("data-lm-suppress-shortcuts", event.target !== this.stage || !this.foreign(event));
  }

  // ---- messages of Python

  take(message, buffers) {
    if (message.kind === "frame" && !this.known.cubes && !message.cubes) return; // sent before our greeting arrived
    this.heard = performance.now();
    if (message.kind === "over") this.end(message.why);
    else if (message.kind === "trouble") this.write(message.why);
    else if (message.kind === "copy") this.copy(message.text);
    else if (message.kind === "save") this.picture?.save(message.name);
    else if (message.kind === "full") this.fill(message.on);
    else if (message.kind === "frame") this.show(message, buffers);
  }

  /** Handle a frame with the changed parts of the picture. */
  show({ kind, number, step, running, buffers: names, ...parts }, buffers) {
    const blocks = names.map((name, k) => {
      const { buffer, byteOffset, byteLength } = buffers[k];
      return [name, new Uint8Array(buffer.slice(byteOffset, byteOffset + byteLength))]; // a view may start at any byte
    });
    const news = { ...parts, ...Object.fromEntries(blocks) }, { thinned } = this.known;
    this.known = { ...this.known, ...news };
    this.frame = { number, step, running };
    this.known.frame = this.frame;
    if (news.look) this.paint(news.look);
    if (news.page) this.stage.style.aspectRatio = news.page[1].join(" / ");
    if (news.words) this.stage.ariaLabel = news.words;
    if (news.spots) this.name(news.spots);
    if (!this.picture) return this.answer(number);
    if (this.known.thinned !== thinned) this.write(news.thinned);
    this.hidden.textContent ||= `.${this.about.still} { display: none !important; }`; // hides the still
    this.picture.take(this.known, news);
  }

  answer(number) {
    if (number <= this.answered) return;
    this.answered = number;
    this.say({ kind: "drawn", number });
  }

  /** Report this place if nothing arrived for a while: messages may be lost. */
  remind() {
    if (document.hidden || this.over || performance.now() - this.heard < SILENCE) return;
    const waits = this.picture && this.frame && this.frame.number > this.answered; // it draws more slowly than that
    if (!waits) this.say(this.frame ? { kind: "here" } : this.greeting);
  }

  /** Place buttons for users without a pointer over the spots; a pointer ignores them. */
  name(spots) {
    const kept = placeSpots(this.spotted, this.known.page[0], spots, (name, value) => {
      this.say({ kind: "spot", name, value });
      if (value === "typed") this.stage.focus({ preventScroll: true }); // Enter sets what is typed
    });
    if (!kept) this.stage.focus({ preventScroll: true });
  }

  /** Copy a text to the clipboard; if the page may not, show it below the picture. */
  async copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      this.write(text);
    }
  }

  /** Enter or leave full screen; a browser may refuse it. */
  fill(on) {
    const done = on ? this.stage.requestFullscreen?.() : this.stage.matches(":fullscreen") && document.exitFullscreen();
    done?.catch?.(() => this.say({ kind: "left full" }));
  }

  // ---- looks

  light(theme) {
    if (theme !== this.theme && this.heard) this.say({ kind: "look", theme });
    this.theme = theme;
  }

  paint(look) {
    for (const [name, colour] of Object.entries(look)) {
      if (typeof colour === "string") this.box.style.setProperty(`--${name}`, colour);
    }
  }

  /** Python has closed the cell: keep the last picture, and say so. */
  end(why) {
    this.over = why || "closed";
    this.write(`${this.over}; run the cell again`);
    this.box.classList.add("over");
  }

  dispose() {
    clearInterval(this.beat);
    clearTimeout(this.timer);
    this.say({ kind: "gone" });
    this.model.off("msg:custom", this.hear);
    document.removeEventListener("visibilitychange", this.seen);
    document.removeEventListener("paste", this.paste);
    window.removeEventListener("keydown", this.keep, true);
    this.endTheme();
    this.room.disconnect();
    this.picture?.dispose();
    this.picture = null;
    this.hidden.remove();
    this.root.replaceChildren();
  }
}

/** Called by anywidget for each place that shows the cell; returns the function that ends it. */
export function renderCell({ model, el }) {
  const cell = new LiveCell(model, el);
  el.scalarviz = cell;
  return () => cell.dispose();
}
