// The page of a run with recorded micro-steps: the page of any run, and a walk through the step after a frame.

import { pointOf } from "./boxes.js";
import { project } from "./camera.js";
import { element } from "./ink.js";
import { chipText, countText, deltaText } from "./numbers.js";
import { Page, openPage, part } from "./page.js";
import { colourAt, tableOf, unitOf } from "./ranges.js";
import { readRun } from "./recorded.js";
import { actionButton } from "./tools.js";
import { inkOn, roomOn } from "./values.js";
import { LIGHT, PHASE, SECOND, rangeOfDeltas, readWalks } from "./walks.js";

/** Return the nearest number; null if there are none. */
function nearestOf(numbers, wanted) {
  const nearer = (best, one) => (best === null || Math.abs(one - wanted) < Math.abs(best - wanted) ? one : best);
  return numbers.reduce(nearer, null);
}

export class WalkedPage extends Page {
  constructor(run) {
    super(run);
    Object.assign(this, { walks: run.walks, walk: null, at: 0, alone: true, before: null, remark: "" });
  }

  make() {
    this.root = part("time").appendChild(element("div", "walk"));
    this.root.hidden = true;
    this.root.setAttribute("aria-live", "polite");
    this.beside = element("section", "comes");
    part("column").insertBefore(this.beside, part("pictures"));
    this.beside.hidden = true;
    this.root.addEventListener("click", event => this.clicked(event));
    super.make();
  }

  makeControls() {
    super.makeControls();
    const box = part("buttons");
    for (const [name, sign, words] of [["micro_back", ",", "\u2039 micro-step"], ["micro_next", ".", "micro-step \u203a"]]) {
      const button = box.appendChild(actionButton(this, name, sign));
      button.classList.add("micro");
      button.dataset.words = words; // for devices without a keyboard
      button.setAttribute("aria-label", this.run.keys.find(action => action.name === name).does);
    }
    this.whose = actionButton(this, "whose", "");
    part("keyline").prepend(element("b", "", "."), "\u00a0micro-step\u2003");
  }

  actionsOf() {
    const actions = super.actionsOf(), { step, back, escape } = actions;
    return {
      ...actions,
      step: by => (this.walk ? this.go(this.frame + 1) : step(by)),
      back: by => (this.walk ? this.go(this.frame) : back(by)),
      escape: () => (this.walk && !document.querySelector(".sheet:not([hidden])") ? this.go(this.frame) : escape()),
      micro_next: () => this.next(),
      micro_back: () => this.previous(),
      whose: () => this.other(),
    };
  }

  // ---- the walk

  /** The frames of the opening branch that have micro-steps after them. */
  get held() {
    const { frames } = this.walks, { places } = this.run.head;
    return places ? places.flatMap((place, frame) => (frames.includes(place) ? [frame] : [])) : frames;
  }

  /** Return the step after a frame, of one sample or of the batch. */
  walkAt(frame, alone) {
    return this.walks.at(this.run.head.places?.[frame] ?? frame, alone);
  }

  /** Show the next micro-step; the first call opens the next step that has any, after the last comes the next frame. */
  next() {
    this.stop();
    if (this.walk && this.at < this.walk.count) return this.stand(this.at + 1);
    if (this.walk && this.frame < this.run.frames - 1) return this.go(this.frame + 1);
    const later = this.walk ? undefined : this.held.find(frame => frame >= this.frame);
    if (later === undefined) return this.say("no micro-steps are stored after this step");
    return this.enter(later, false, "next");
  }

  /** Show the previous micro-step; at the first, the end of the step before. */
  previous() {
    this.stop();
    if (this.walk && this.at > 1) return this.stand(this.at - 1);
    const earlier = this.held.filter(frame => frame < this.frame);
    if (earlier.length) return this.enter(earlier.at(-1), true);
    return this.say("no micro-steps are stored before this step");
  }

  say(words) {
    this.remark = words;
    this.write();
  }

  /** Switch between one sample and the whole batch. */
  other() {
    this.alone = !(this.walk?.told.alone ?? this.alone);
    if (!this.walk) return;
    const walk = this.walkAt(this.frame, this.alone);
    this.remark = walk.told.alone === this.alone ? "" : "the other view of this step was not recorded";
    this.walk = walk;
    this.stand(Math.min(this.at, walk.count));
  }

  enter(frame, atEnd, which = "nearest") {
    if (frame === null) return this.say("no micro-steps are stored for this branch");
    const moved = frame !== this.frame;
    this.go(frame);
    this.before = this.player.quantity;
    this.walk = this.walkAt(frame, this.alone);
    this.remark = moved && !atEnd ? `micro-steps are held of ${countText(this.held.length)} steps: this is the ${which}` : "";
    this.stand(atEnd ? this.walk.count : 1);
  }

  stand(at) {
    const phase = this.walk.phaseAt(at), other = this.at === 0 || this.walk.phaseAt(Math.min(this.at, this.walk.count)) !== phase;
    this.at = at;
    if (other) this.player.quantity = this.walk.quantityAt(at);
    this.player.show(this.shown());
    this.write();
  }

  shown() {
    const { walk, at } = this;
    if (!walk) return super.shown();
    const ink = inkOf(walk, at, this.player), above = (...given) => [this.above, ink.above].forEach(write => write?.(...given));
    return { ...walk.shownAt(at), ...ink, above };
  }

  go(frame) {
    if (this.walk && this.before) this.player.quantity = this.before;
    Object.assign(this, { walk: null, at: 0, remark: "" });
    super.go(frame);
  }

  play() {
    if (this.walk) this.go(this.frame);
    super.play();
  }

  place() {
    const { player, walk, at } = this;
    super.place();
    if (!walk || this.player === player) return;
    this.walk = walk;
    this.stand(at);
  }

  /** Apply a micro-step in the address: `#frame=20&micro=32`, with `&whole=1` for the whole batch. */
  follow(hash) {
    const there = super.follow(hash), wanted = new URLSearchParams(hash.slice(1)), at = Math.round(Number(wanted.get("micro")));
    if (!(at >= 1)) return there;
    this.stop();
    this.alone = wanted.get("whole") !== "1";
    this.enter(nearestOf(this.held, this.frame), false);
    if (this.walk) this.stand(Math.min(at, this.walk.count));
    return true;
  }

  clicked(event) {
    const items = [...this.root.querySelectorAll(".phases li")], chosen = items.indexOf(event.target.closest("li"));
    if (this.walk && chosen >= 0) this.stand(this.walk.firstOf(chosen));
  }

  // ---- texts

  /** A batch of one sample is that sample. */
  parts() {
    return super.parts().map(words => (this.walk?.told.alone ? words.replace(/^batch .*/, "batch 1") : words));
  }

  write() {
    super.write();
    const { walk, run } = this, { classList } = part("app");
    classList.toggle("inside", Boolean(walk));
    classList.toggle("remarked", Boolean(this.remark));
    classList.toggle("alone", !this.pictures.beside && !run.head.letters && !walk?.told.table.length); // the table has its own column
    part("bar").hidden = Boolean(walk);
    this.beside.hidden = !walk;
    part("about").textContent = this.remark || this.origin;
    this.root.hidden = !walk;
    if (!walk) return this.root.replaceChildren();
    this.writeLine();
    const { told } = walk, phase = walk.phaseAt(this.at), other = this.walkAt(this.frame, !told.alone);
    this.whose.hidden = other === walk;
    this.whose.textContent = other.told.alone ? other.told.samples : "whole batch";
    part("step").textContent = countText(told.step);
    part("beyond").textContent = "";
    part("loss").textContent = phase >= PHASE.loss ? told.loss : "\u2013";
    part("summed").textContent = told.samples; // the samples of this loss
    const said = `inside step ${countText(told.step)}  \u00b7  micro-step ${this.at} of ${walk.count}  \u00b7  ${told.about}`;
    part("about").textContent = this.remark ? `${this.remark}  \u00b7  ${said}` : said;
    this.writeBeside();
  }

  /** Write the line below the cubes: the phases with their progress, and the micro-step. */
  told() {
    const { walk, at } = this, { plan, told } = walk, [name, meaning, formulas, , , caption] = told.lines[at - 1];
    const phases = plan.phases.map(([phase, start, count, words], k) => {
      const done = Math.min(Math.max(at - start, 0), count);
      return [phase, k === PHASE.loss ? (done ? told.loss : "") : words, done, count];
    });
    return { phases, phase: walk.phaseAt(at), name, meaning, formulas, caption };
  }

  writeLine() {
    const { phases: all, phase: now, name, meaning, formulas: [formula], caption } = this.told();
    const phases = element("ol", "phases"), line = element("p", "formula");
    all.forEach(([phase, words, done, count], k) => {
      const part = phases.appendChild(element("li", k === now ? "now" : k < now ? "done" : "", phase));
      part.title = words;
      if (k === now && count > 1) part.append(` ${done} of ${count}`);
    });
    line.append(element("b", "", name), meaning ? ` ${meaning}  ` : "  ");
    if (formula) {
      line.append(element("span", "letters", `${formula[0]}  `));
      for (const [text, tone, bold] of formula[1]) line.append(element(bold ? "b" : "span", tone, text));
    }
    line.append(this.whose);
    this.root.replaceChildren(phases, line, element("p", "caption", caption));
  }

  /** Return where the known deltas come from. */
  writeBeside() {
    const { walk, at } = this, { told, lengths } = walk, sums = walk.run.document.words.single?.sums;
    const [last] = lengths.at(-1), reached = walk.reachedAt(at)[last], deltas = sums ? walk.deltasAt(at).get(sums) : walk.deltasAt(at).get(last);
    this.beside.replaceChildren();
    if (!told.table.length) return;
    const table = this.beside.appendChild(element("table")), head = table.appendChild(element("tr"));
    head.append(element("th", "", "where \u03b4 comes from"), ...this.run.document.names.outputs.map(name => element("th", "", name)));
    for (const [words, cells] of told.table) {
      const row = table.appendChild(element("tr")), shown = k => words.startsWith("target") || (words.startsWith("output") ? reached[k] : !Number.isNaN(deltas[k]));
      row.append(element("td", "", words), ...cells.map((cell, k) => element("td", "", shown(k) ? cell : "")));
    }
  }
}

export const openWalked = () => openPage(async textOf => {
  const run = await readRun(textOf);
  run.walks = await readWalks(textOf, run);
  return run;
}, WalkedPage);

const SMALLEST_BELOW = 13, BELOW_SIZES = [20, 18, 17, 16, 15, 14, SMALLEST_BELOW], FACE_AIR = 6, FACE_CLOSE = 3;
const aboveSize = size => Math.max(SMALLEST_BELOW, size - 4);
const FACES_UP_TO = 64; // most weights with texts on their faces

function bareFace(text) {
  return text.replace(/^(= |\u2248 |w' )/, "");
}

// Return whether there are two lines (not with `one`), the size of the number, whether it is bold; null without room.
function formOf(ink, [wide, high], faces, one) {
  const widest = (texts, size, bold) => Math.max(...texts.map(text => ink.measure(text, size, bold)));
  const above = faces.map(face => face[0]), below = faces.map(face => face[1]);
  const two = BELOW_SIZES.find(size => Math.max(2.6 * size, 40) <= high &&
    Math.max(widest(above, aboveSize(size), false), widest(below, size, true)) + FACE_AIR <= wide);
  if (two && !one) return [true, two, true];
  const bare = below.map(bareFace), sizes = [...BELOW_SIZES.map(size => [size, true]), [SMALLEST_BELOW, false]];
  const fitting = sizes.find(([size, bold]) => widest(bare, size, bold) + FACE_CLOSE <= wide && size + 4 <= high);
  return fitting ? [false, ...fitting] : null;
}

/** Return for each plate its number, texts by element and their style; plain numbers leave these cubes out. */
function facesOn(overlay, walk, at) {
  const { document, view, ink } = overlay, faces = walk.facesAt(at);
  const weights = document.plates.filter(plate => plate.kind !== "activation").reduce((sum, plate) => sum + plate.size, 0);
  if (!faces.size || weights > FACES_UP_TO) return [];
  return document.plates.flatMap((plate, index) => {
    if (plate.kind === "activation") return [];
    const own = new Map([...faces].filter(([k]) => k >= plate.start && k < plate.start + plate.size).map(([k, face]) => [k - plate.start, face]));
    const form = own.size ? formOf(ink, roomOn(plate, view.camera), [...own.values()], walk.phaseAt(at) === PHASE.update) : null;
    return form ? [[plate, index, own, form]] : [];
  });
}

/** Return the overlay's data of a micro-step: hidden numbers, and texts on cubes and beside rows. */
export function inkOf(walk, at, player) {
  const agrees = () => player.quantity === walk.quantityAt(at);
  return {
    covers: overlay => new Set(agrees() ? facesOn(overlay, walk, at).flatMap(([plate, , own]) => [...own.keys()].map(k => plate.texel + k)) : []),
    above: (overlay, colourOf) => {
      if (agrees()) for (const one of facesOn(overlay, walk, at)) writeFaces(overlay, one, colourOf, player.frame.rise);
      markCube(overlay, walk.told.lines[at - 1][4], player.frame.rise);
      writeSums(overlay, walk, at, player.document.maps.weight[player.look].stops);
      writeDeltas(overlay, walk.rowDeltasAt(at), tableOf(player.document.maps.gradient[player.look], player.document.colours));
    },
  };
}

function writeFaces({ ink, places }, [plate, index, own, [two, size, bold]], colourOf, rise) {
  for (const [element, [above, below]] of own) {
    if (places.size && !places.places[index][element]) continue;
    const [x, y] = places.top(plate, element, rise?.get(plate.texel + element)), colour = inkOn(colourOf(index, element));
    if (two) {
      ink.text(x, y - 0.2 * size, above, aboveSize(size), colour, { end: "middle" });
      ink.text(x, y + 0.88 * size, below, size, colour, { bold: true, end: "middle" });
    } else ink.text(x, y + 0.357 * size, bareFace(below), size, colour, { bold, end: "middle" });
  }
}

/** Draw a bright edge around the cube that the line below describes. */
function markCube({ document, view: { camera }, ink }, index, rise) {
  const plate = document.plates.find(({ start, size }) => start >= 0 && index >= start && index < start + size);
  if (!plate) return;
  const high = plate.depth * (1 + 2 * (rise?.get(index) ?? 0)), ends = [[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]];
  const ring = ends.map(([x, y]) => project(camera, pointOf(plate, index - plate.start, [x * plate.half, y * plate.half, high])));
  if ([0, 1].every(axis => Math.max(...ring.map(at => at[axis])) - Math.min(...ring.map(at => at[axis])) > MARKED)) ink.path(ring, ink.theme.selection, 2);
}

const MARKED = 9; // least pixels of a face with a bright edge
const LEAST_FACE = 20; // least pixels of a cube with a number beside it
const LABEL_SIZE = 13, CHIP_HIGH = 18, STRIP = 0.4; // size of a delta without room for its number, in sides of its cube

// Return whether a number fits beside a cube of a row without covering it.
function roomFor(ink, plate, camera, text) {
  const at = k => project(camera, pointOf(plate, k, [0, 0, plate.depth])), apart = plate.size < 2 ? [Infinity] : [0, 1].map(axis => Math.abs(at(1)[axis] - at(0)[axis]));
  return Math.min(...roomOn(plate, camera)) >= LEAST_FACE && (ink.measure(text, LABEL_SIZE, true) + 8 <= apart[0] || apart[1] >= CHIP_HIGH + 2);
}

function onChip(ink, [x, y], text, colour) {
  const wide = ink.measure(text, LABEL_SIZE, true) + 6;
  ink.box(x - wide / 2, y - CHIP_HIGH / 2, wide, CHIP_HIGH, { radius: 5, fill: ink.theme.chip, stroke: colour, border: 1.4 });
  ink.text(x, y + 4.7, text, LABEL_SIZE, ink.theme.text1, { bold: true, end: "middle" });
}

/** Draw a layer's current sums at the place of its row. */
function writeSums({ document, view: { camera }, ink }, walk, at, stops) {
  const [row, first, count, wide, bias] = walk.plan.lights[at - 1][LIGHT.sums] ?? [], plate = document.plates.find(({ kind, name, size }) => kind === "activation" && name === row && size <= SECOND);
  const lit = walk.lightAt(at, LIGHT.lit), reached = walk.reachedAt(at)[row];
  for (let k = 0; plate && k < count; k++) {
    const all = [...Array(wide).keys()].map(j => first + k * wide + j).concat(bias < 0 ? [] : [bias + k]), there = all.filter(one => lit[one]);
    const sum = there.reduce((total, one) => total + walk.numbers.product[one], 0), text = chipText(sum, true) + (there.length < all.length ? "\u2026" : "");
    if (!reached[k] && there.length && roomFor(ink, plate, camera, text)) onChip(ink, project(camera, pointOf(plate, k, [0, 0, plate.depth])), text, stops[sum > 0 ? 3 : 1]);
  }
}

/** Draw the known deltas at the near edges of their rows of cubes: numbers on chips, or coloured strips. */
function writeDeltas({ document, view: { camera }, ink, shown }, rows, table) {
  const range = rangeOfDeltas(shown, rows);
  for (const plate of document.plates.filter(({ kind, name, size }) => kind === "activation" && size <= SECOND && rows.has(name))) {
    const at = (k, x, y) => project(camera, pointOf(plate, k, [x * plate.half, y * plate.half, plate.depth]));
    const [x, y] = [[-1, 0], [1, 0], [0, -1], [0, 1]].sort((a, b) => at(0, ...b)[1] - at(0, ...a)[1])[0];
    rows.get(plate.name).forEach((delta, k) => {
      if (Number.isNaN(delta)) return;
      const text = deltaText(delta), [left, top] = at(k, x, y), colour = `rgb(${colourAt(table, unitOf(range, delta))})`;
      if (!roomFor(ink, plate, camera, text)) {
        return ink.shape([[1, -1], [1, 1], [1 + 2 * STRIP, 1], [1 + 2 * STRIP, -1]].map(([out, aside]) => at(k, x * out + y * aside, y * out + x * aside)), colour);
      }
      return onChip(ink, [left, top + 3], text, colour);
    });
  }
}
