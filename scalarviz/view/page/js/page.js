// The page of a recorded run: its pointer, keys and clock. The picture is the window's, lying or standing.

import { NumberCard, NumberTable } from "./card.js";
import { putUnder } from "./ink.js";
import { layersIn, layersShown, takeLayers, textOf } from "./layers.js";
import { whenLoaded } from "./list.js";
import { countText, lossText } from "./numbers.js";
import { PanelPictures } from "./panels.js";
import { Player } from "./player.js";
import { RECORDED, readRun } from "./recorded.js";
import { placeSpots } from "./spots.js";
import { TimeBar, nearestIn } from "./timebar.js";
import { rowAt } from "./tip.js";
import { SPEEDS, USUAL_SPEED, actionsByKey, keyName, makeButtons, makeQuantities, makeTools } from "./tools.js";

export const part = id => document.getElementById(id);

/** Called with the finished page, for the additions of other scripts. */
export const pageExtras = [];

export class Page {
  constructor(run) {
    Object.assign(this, { run, frame: run.frames - 1, quantity: "weight", playing: false, speed: USUAL_SPEED, due: 0, clock: null });
    Object.assign(this, { player: null, layout: null, shape: 0, letter: undefined, spots: "", training: null }); // the letter that a panel looks at; a TrainOn
    this.theme = document.documentElement.dataset.theme;
    this.byKey = actionsByKey(run.keys);
    this.actions = this.actionsOf();
    this.make();
    this.lay();
    new ResizeObserver(() => this.lay()).observe(part("room"));
    document.addEventListener("keydown", event => this.press(event));
    for (const name of ["beforeprint", "afterprint"]) window.addEventListener(name, () => this.paper(name === "beforeprint"));
    for (const extra of pageExtras) extra(this);
  }

  make() {
    const { run } = this;
    this.bar = this.barOf(part("bar"), frame => this.stop() || this.go(frame));
    this.pictures = new PanelPictures(part("pictures"), run);
    this.card = new NumberCard(part("card"), run, () => this.select(null));
    this.table = new NumberTable(part("table"), run, texel => this.choose(texel));
    this.controls = makeButtons(part("buttons"), part("speed"), this);
    this.quantities = makeQuantities(part("quantities"), this);
    makeTools(this, { line: part("keyline"), tools: part("tools"), help: part("help"), table: part("table") });
    const rounded = run.exact ? "" : "  \u00b7  numbers of 16 bits: only certain digits are shown";
    const around = new URLSearchParams(window.location.hash.slice(1)).get("about") === "none"; // the page around it says what it is
    this.origin = part("about").textContent = (around ? "" : run.about.line) + rounded;
  }

  barOf(root, go) {
    return new TimeBar(root, this.run, go);
  }

  // ---- the picture

  /** The layout of the picture in a shape: 0 lies, 1 stands. */
  layoutIn(shape) {
    const { shapes } = this.run.lists;
    return shapes[Math.min(shape, shapes.length - 1)];
  }

  /** Choose the lying or the standing picture, as large as there is room. */
  lay() {
    const room = part("room"), [wide, high] = [room.clientWidth, room.clientHeight];
    this.shape = Number(high > wide && this.run.lists.shapes.length > 1);
    const layout = this.layoutIn(this.shape);
    if (this.layout !== layout) this.stand(layout);
    const { size: own, picture: size = own, time } = this.player.document, scale = Math.min(wide / size[0], high / size[1]);
    const [left, top] = [(wide - scale * size[0]) / 2, (high - scale * size[1]) / 2];
    const place = (box, [x, y, across, down]) => Object.assign(box.style, { left: `${left + scale * x}px`, top: `${top + scale * y}px`, width: `${scale * across}px`, height: `${scale * down}px` });
    for (const box of [part("stage"), part("spots")]) place(box, [0, 0, ...size]);
    part("bar").hidden = !time;
    part("scene").style.setProperty("--foot", `${time ? high - top - scale * time[1] : 0}px`); // below it an open card leaves time free
    part("bar").style.setProperty("--type", scale);
    if (time) place(part("bar"), time);
  }

  /** Begin with another layout. */
  stand(layout) {
    const old = this.player;
    this.layout = layout;
    this.player = this.playerOf(part("stage"), this.documentOf(layout), { theme: this.theme, quantity: this.quantity });
    this.player.on("select", which => this.select(which));
    this.player.on("drawn", () => this.drawn());
    if (!old) return;
    this.player.selected = old.selected;
    old.dispose();
    this.paint();
  }

  documentOf(layout) {
    return { ...this.run.document, ...layout };
  }

  playerOf(root, document, options) {
    const player = new Player(root, document, options);
    player.overlay.ink.filmOf = name => this.pictures.listOf(name, this.frame, this.theme);
    return player;
  }

  get look() {
    return this.run.document.themes[this.theme];
  }

  /** The frame for the player, with its list. */
  shown() {
    const { run, frame, quantity, shape, player } = this;
    return { ...run.shown(frame, player.document), list: run.listAt(frame, quantity, shape, this.letter), stepOf: name => this.pictures.stepAt(name, frame) };
  }

  /** Show the current frame, and again once its pictures are loaded. */
  paint() {
    const { player } = this, shown = this.shown();
    player.show(shown);
    const records = shown.list.flatMap(record => (record[0] === "film" ? this.pictures.listOf(record[5], this.frame, this.theme) : [record]));
    whenLoaded(records, () => player.disposed || player.pace.ask());
    this.offer(shown.list.filter(([kind]) => kind === "spot"));
  }

  /** Put a button over each place of the picture that can be pressed. */
  offer(spots) {
    const { size } = this.player.document, all = JSON.stringify([size, spots]);
    if (this.spots === all) return;
    this.spots = all;
    placeSpots(part("spots"), size, spots.map(([, x, y, wide, high, name, value, words]) => [name, value, words, "", x, y, wide, high]), (name, value) => this.pressSpot(name, value));
  }

  pressSpot(name, value) {
    if (name === "more panels") return part("pictures").scrollIntoView();
    this.letter = value;
    this.paint();
  }

  /** The functions of the page's actions by name. */
  actionsOf() {
    const show = (...names) => () => this.show(names[(names.indexOf(this.quantity) + 1) % names.length]);
    return {
      toggle_run: () => (this.playing ? this.stop() : this.training?.toggles() || this.play()),
      step: by => this.stop() || (this.training?.atEnd ? this.training.one(by) : this.go(this.frame + by)),
      back: by => this.stop() || this.go(this.frame - by),
      first: () => this.stop() || this.go(0),
      newest: () => this.stop() || this.go(this.run.frames - 1),
      slower: () => this.pace(SPEEDS[Math.max(SPEEDS.indexOf(this.speed) - 1, 0)]),
      faster: () => this.pace(SPEEDS[Math.min(SPEEDS.indexOf(this.speed) + 1, SPEEDS.length - 1)]),
      normal_speed: () => this.pace(USUAL_SPEED),
      show_weights: show("weight"),
      show_gradients: show("gradient", "|gradient|"),
      show_updates: show("update"),
      show_ratio: show("update/value"),
      fit: () => this.player.fit(),
      toggle_theme: () => this.light(this.theme === "dark" ? "light" : "dark"),
      toggle_help: () => this.open("help"),
      escape: () => this.close() || (part("card").hidden ? this.leave("Escape") : this.select(null)),
    };
  }

  // ---- time

  /** Go to the last step of another run of this recording: a branch. */
  take(run) {
    this.stop();
    if (this.training) this.training.wish = null; // no longer the line that it computes
    this.run = this.pictures.run = this.card.run = this.table.run = run;
    this.bar.take(run);
    this.go(run.frames - 1);
    this.select(this.player.selected);
  }

  go(frame) {
    this.frame = Math.min(Math.max(frame, 0), this.run.frames - 1);
    this.paint();
    this.late = this.playing || Boolean(this.training?.running); // while numbers change, words wait for the cubes, so that both show one step
    if (!this.late) this.write();
    this.training?.look();
  }

  /** For printing: put a background below the cubes, which paper would not show; remove it afterwards. */
  paper(flat) {
    this.player.draw();
    if (!flat) return this.write();
    this.player.flatten();
    const ground = context => Object.assign(context, { fillStyle: this.look.background }).fillRect(0, 0, 1e5, 1e5);
    for (const canvas of document.querySelectorAll("canvas")) putUnder(canvas, ground);
  }

  drawn() {
    if (!this.late || this.player.outdated) return;
    this.late = false;
    this.write();
  }

  /** Play; from the last frame, start at the first. */
  play() {
    if (this.frame === this.run.frames - 1) this.go(0);
    Object.assign(this, { playing: true, due: 0, clock: null });
    this.controls.playing(true);
    requestAnimationFrame(now => this.tick(now));
  }

  stop() {
    this.playing = false;
    this.controls.playing(false);
    this.training?.look();
  }

  pace(speed) {
    this.speed = speed;
    this.controls.pace(speed);
  }

  tick(now) {
    if (!this.playing) return;
    this.due += this.clock === null ? 0 : Math.min(now - this.clock, 250) * this.speed / 1000;
    this.clock = now;
    const whole = Math.floor(this.due);
    this.due -= whole;
    if (whole) this.go(this.frame + whole);
    if (this.frame === this.run.frames - 1) this.stop();
    else requestAnimationFrame(later => this.tick(later));
  }

  // ---- content

  show(quantity) {
    if (!this.run.has(quantity)) return;
    this.quantity = this.player.quantity = quantity;
    this.paint();
    this.write();
  }

  light(theme) {
    this.theme = this.player.theme = document.documentElement.dataset.theme = theme;
    this.paint(); // panels have other pictures
    this.write();
  }

  /** Select a number: a flat index, `{row, unit}` of activations, or null for none. */
  select(which) {
    const row = which !== null && typeof which === "object";
    if (this.player.selected !== which && !row) this.player.selected = which;
    const plate = row && this.run.document.plates.find(one => one.kind === "activation" && one.name === which.row);
    if (row && this.run.missing(this.frame, plate.texel + which.unit)) return this.select(null); // its number is unknown
    this.card.select(row ? plate.texel + which.unit : which);
    this.write();
  }

  /** Select a number of the table, and keep reading there. */
  choose(texel) {
    const row = rowAt(this.run.document, texel);
    this.close();
    this.select(row ? { row: row.name, unit: texel - row.texel } : texel);
    part("card").querySelector("button").focus();
  }

  open(id) {
    const sheet = part(id), wanted = sheet.hidden;
    this.close();
    sheet.hidden = !wanted;
    if (!wanted) return;
    this.back = document.activeElement;
    this.table.show(this.frame);
    sheet.focus();
  }

  /** Close what is open; return whether there was something. */
  close() {
    const open = ["help", "table"].map(part).filter(sheet => !sheet.hidden);
    for (const sheet of open) sheet.hidden = true;
    if (open.length) this.back?.focus();
    return open.length > 0;
  }

  write() {
    const { run, frame, look } = this, last = run.steps[run.frames - 1], recorded = RECORDED.find(name => this.quantity.includes(name));
    part("step").textContent = countText(run.steps[frame]);
    part("beyond").textContent = frame < run.frames - 1 ? `of ${countText(last)}` : "";
    part("loss").textContent = this.lossWords();
    part("shows").textContent = run.document.quantities.find(one => one.name === this.quantity).words;
    this.bar.show(frame, look);
    this.pictures.show(frame, this.theme, this.player.frame.list);
    this.card.show(frame, recorded, look);
    this.table.show(frame, recorded);
    this.quantities.show(this.quantity);
    this.training?.write();
  }

  lossWords() {
    return lossText(this.run.loss[this.frame]);
  }

  // ---- input

  /** Tell the page around this one of a key that this one has no use for: slides go on then. */
  leave(key) {
    if (window.parent !== window) window.parent.postMessage({ scalarviz: key }, "*");
  }

  press(event) {
    const at = event.target, name = keyName(event), action = this.byKey.get(name);
    const own = at instanceof HTMLElement && at.closest("button, select, input, .sheet");
    if (["PageUp", "PageDown"].includes(name) && !(own && own.matches("select, .sheet"))) this.leave(name);
    // a button keeps the keys that press it; choices and sheets keep the keys that move in them
    const taken = own && (own.tagName !== "BUTTON" || name === "Space") && !["Escape", "?"].includes(name);
    if (!action || event.altKey || taken) return;
    event.preventDefault();
    this.actions[action](event.shiftKey ? 10 : 1);
  }

  /** Apply the end of an address: `#frame=200&az=30&el=40`, `step=`, `quantity=`, `theme=`; `about=none` is read once. */
  follow(hash) {
    const wanted = new URLSearchParams(hash.slice(1)), pose = this.player.pose;
    const number = name => (wanted.has(name) && wanted.get(name) !== "" ? Number(wanted.get(name)) : NaN);
    const frame = number("step") >= 0 ? nearestIn(this.run.steps, number("step")) : number("frame");
    if (["dark", "light"].includes(wanted.get("theme"))) this.light(wanted.get("theme"));
    if (wanted.has("quantity")) this.show(wanted.get("quantity"));
    if (Number.isFinite(number("az")) || Number.isFinite(number("el"))) {
      const az = Number.isFinite(number("az")) ? number("az") : pose.az, el = Number.isFinite(number("el")) ? number("el") : pose.el;
      this.player.pose = { ...pose, az: az % 360, el: Math.min(Math.max(el, -89), 89) };
    }
    if (this.training?.address.follow(wanted)) return true;
    if (!Number.isFinite(frame)) return false;
    this.stop();
    this.go(Math.round(frame));
    return true;
  }
}

/** Show a run instead of the still, at the place in the address; otherwise play it if wanted. */
export async function startPage(run, hash, Kind = Page) {
  part("app").hidden = false;
  part("still").hidden = true;
  try {
    const page = window.scalarviz = new Kind(run);
    page.go(run.frames - 1);
    const there = page.follow(hash);
    page.player.draw();
    if (!there && !window.matchMedia("(prefers-reduced-motion: reduce)").matches) page.play();
  } catch (error) {
    part("app").hidden = true;
    part("still").hidden = false;
    throw error;
  }
}

/** Make the page live, or say in one sentence why it cannot play; `read` creates the run. */
export async function openPage(read = readRun, Kind = Page) {
  try {
    if (!("DecompressionStream" in window)) throw new Error("it has no DecompressionStream");
    await takeLayers(window.location.hash);
    const run = await read(textOf);
    await startPage(run, window.location.hash, Kind);
    window.addEventListener("hashchange", () => {
      const { hash } = window.location;
      if (layersIn(hash) !== layersShown()) window.location.reload();
      else window.scalarviz.follow(hash);
    });
  } catch (error) {
    part("sentence").textContent = `${part("sentence").textContent} This browser cannot play it: ${error.message}.`;
    console.warn(error);
  }
}
