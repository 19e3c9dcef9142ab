// Panels of a step that no list shows: the list of the last recorded one, with what the network makes then in its slot.

import { Moment } from "./bound.js";
import { pictureOfBytes } from "./list.js";
import { lossText } from "./numbers.js";
import { pilesOf } from "./piles.js";
import { withSamples } from "./samples.js";

const MOST_PAINTED = 64; // moments of a panel
const REACH = 0.22, TANGENT_AIR = 10, LETTER = 8; // of a tangent: share of the width to a side; pixels to its words, and at most of a letter

/** Keep, for a while, what the network `painted` into the slots at a frame of a run; `did` are the changes of its line. */
export function keepPainted(slots, pictures, run, frame, painted, did = []) {
  const before = did.slice(); // later ones are of later frames
  for (const [k, slot] of slots.entries()) {
    const panel = pictures.shown.find(({ name }) => name === slot.panel), film = run.films.get(slot.panel) ?? [], lists = {};
    if (!panel || !painted[k]) continue;
    const listIn = theme => (lists[theme] ??= listOfSlot(slot, withSamples(slot, panel.looks[Number(theme !== run.document.theme)].at(-1), before, theme), painted[k], theme, run, frame));
    const others = film.filter(({ frame: at }, place) => at !== frame && (film.length < MOST_PAINTED || place % 2)); // of many every second one
    run.films.set(slot.panel, [...others, { frame, step: run.steps[frame], listIn }].sort((a, b) => a.frame - b.frame));
  }
}

// Return a panel's list with what was `made` in its slot.
function listOfSlot(slot, list, made, theme, run, frame) {
  const { kind, number, size: [high, wide], output, span: [low, end], tables, line } = slot;
  if (kind === "curve") return curveOf(slot, list, made);
  if (kind === "text") return textsOf(number, list, made);
  if (kind === "sprites") return pilesOf(slot, list, made);
  if (kind === "losses") return [list[0], ...filledIn(lossesOf(slot, list[0], made, run, frame), run, frame)];
  if (kind === "numbers") return [list[0], ...filledIn(slot.lists[run.steps[frame] ? Number(run.line.editedAt(frame)) : 2], run, frame)];
  const hex = byte => byte.toString(16).padStart(2, "0"), place = value => Math.round(255 * Math.min(Math.max((value - low) / (end - low), 0), 1)) || 0;
  const byteAt = (value, at) => parseInt(tables[theme].substr(6 * place(value) + at, 2), 16);
  const bytes = output < 0 ? made : Array.from(made).flatMap(value => [0, 2, 4].map(at => byteAt(value, at)));
  const now = kind === "points" ? [3, Array.from(bytes, hex).join("")] : [5, pictureOfBytes(bytes, wide, high)];
  const record = list.filter(([name]) => name === kind)[number];
  const ways = line.length ? middleLineOf(slot, record, made) : [], strokes = ways.length ? line.map(look => ["strokes", ways, ...look]) : [];
  return list.flatMap(one => (one === record ? [one.with(...now), ...strokes] : line.length && one[0] === "strokes" ? [] : [one]));
}

// Numbers of samples in the last texts, as many of each as the table has columns for.
function textsOf(number, list, made) {
  const texts = list.filter(([name]) => name === "text").slice(number), columns = (3 * texts.length) / made.length;
  const textOf = k => lossText(made[3 * Math.floor(k / columns) + (k % columns)]);
  return list.map(one => (texts.includes(one) ? one.with(3, textOf(texts.indexOf(one))) : one));
}

// Where an output is in the middle of its span: straight pieces through the cells of its grid, as in the window.
function middleLineOf({ size: [high, wide], span: [low, end] }, [, left, top, across, down], made) {
  const ways = [], middle = (low + end) / 2;
  for (let y = 0; y < high - 1; y++) for (let x = 0; x < wide - 1; x++) {
    const corners = [[x, y], [x + 1, y], [x + 1, y + 1], [x, y + 1]], values = corners.map(([i, j]) => made[j * wide + i] - middle);
    if (!values.every(Number.isFinite)) continue;
    for (const [k, a] of values.entries()) {
      const next = (k + 1) % 4, b = values[next], part = a / (a - b), at = side => (1 - part) * corners[k][side] + part * corners[next][side] + 0.5;
      if (a > 0 !== b > 0) ways.push(left + (across * at(0)) / wide, top + (down * at(1)) / high);
    }
  }
  return ways;
}

// A curve over one input, cut at the edges of its box, and the lines from it to the samples.
function curveOf({ box: [left, top, wide, high], span: [low, end], spots }, list, made) {
  const many = made.length - spots.length / 2, curve = [], errors = [];
  const across = k => left + (wide * k) / (many - 1), within = value => Math.min(Math.max(value, low), end), up = value => top + (high * (end - value)) / (end - low);
  for (let k = 1; k < many; k++) {
    const [a, b] = [made[k - 1], made[k]];
    if (!Number.isFinite(a) || !Number.isFinite(b) || Math.max(a, b) < low || Math.min(a, b) > end) continue;
    for (const [value, whole] of [[a, 0], [b, 1]]) curve.push(across(k - 1 + (a === b ? whole : (within(value) - a) / (b - a))), up(within(value)));
  }
  for (let k = 0; k < spots.length; k += 2) {
    const value = made[many + k / 2];
    if (!Number.isNaN(value)) errors.push(spots[k], spots[k + 1], spots[k], up(within(value)));
  }
  const last = list.findLast(([name]) => name === "lines");
  return list.map(record => (record[0] === "strokes" ? record.with(1, curve) : record === last && errors.length ? record.with(1, errors) : record));
}

// Return the weights, gradients and changes of the last step at a frame, and the weights and the loss before it.
function numbersAt(run, frame) {
  const { texels: { weight, gradient, update } } = run.shown(frame), trained = run.trained[frame - run.frames + run.computed];
  return { weight, gradient, update, "weight before": weight.map((w, k) => w - update[k]), "step loss": Number.isNaN(trained) ? [] : [trained] };
}

// Texts instead of bound numbers, as they are at a frame.
function filledIn(list, run, frame) {
  const moment = new Moment({ quantity: {}, document: run.document }, { ...run.shown(frame), written: numbersAt(run, frame) });
  return list.map(record => {
    const [kind, x, y, size, ink, bold, end, name, index, ...said] = record, text = kind.endsWith("number") && moment.textOf(name, index, ...said);
    return text === false ? record : [kind.replace("number", "text"), x, y, text, size, moment.inkOf(ink, name, index, text), bold, end];
  });
}

// The loss over a weight where it is now, with the places before, the tangent and the result of the last step.
function lossesOf({ number, levels, lists: [moves] }, [, aside, , all], [level, ...made], run, frame) {
  const { box: [left, top, wide, high], across: [from, to], up: [low, end], stays } = levels[level];
  const [curve, tangent, way, dot, begun, ball, name, slope, moved, down, rises] = moves, many = made.length - 1, places = run.history("weight", number).slice(0, frame + 1);
  const within = (value, least, most) => Math.min(Math.max(value, least), most), over = w => left + wide * within((w - from) / (to - from), 0, 1), up = loss => top + high * (1 - within((loss - low) / (end - low), 0, 1));
  const lossAt = w => {
    const place = within(((w - from) / (to - from)) * many, 0, many), k = Math.min(Math.floor(place), many - 1);
    return made[k] + (place - k) * (made[k + 1] - made[k]);
  };
  const disc = (record, x, y) => record.with(1, x - record[3] / 2).with(2, y - record[4] / 2);
  const found = [...stays, curve.with(1, made.flatMap((loss, k) => (Number.isFinite(loss) ? [left + (wide * k) / many, up(loss)] : [])))];
  const now = numbersAt(run, frame), here = places[frame], before = now["weight before"][number], steep = now.gradient[number], loss = lossAt(before), words = [];
  for (const x of new Set(Array.from(places).flatMap(w => (w >= from && w <= to ? [w] : [])))) found.push(disc(dot, over(x), up(lossAt(x))));
  if (run.steps[frame] && !run.line.editedAt(frame) && [here, before].every(w => w >= from && w <= to) && [steep, loss].every(Number.isFinite)) {
    const ends = [-1, 1].flatMap(side => {
      const edge = side * steep > 0 ? end : low, room = Math.max(0, Math.min(REACH * (to - from), side > 0 ? to - before : before - from, steep ? Math.max(0, (edge - loss) / (side * steep)) : Infinity));
      return [over(before + side * room), up(loss + side * room * steep)];
    });
    let [x, y] = [over(before), up(loss)];
    const [said] = filledIn([slope], run, frame);
    found.push(tangent.with(1, ends).with(2, said[5]), way.with(1, [x, y, over(here), y, over(here), up(lossAt(here))]), disc(begun, x, y));
    if (y + 22 > top + high) [x, y] = ends[1] < ends[3] ? [ends[0], ends[1] - 15] : [ends[2], ends[3] - 15]; // it is flat: beside its upper end
    const side = steep > 0 ? 1 : -1, room = LETTER * said[3].length;
    if (side > 0 ? x + room < left + wide : x - room > left) words.push(said.with(1, x + side * TANGENT_AIR).with(2, y + 20).with(7, side > 0 ? "left" : "right"));
    const after = lossAt(here), little = 1e-6 * Math.max(Math.abs(loss), Math.abs(after));
    words.push(moved, ...(Math.abs(after - loss) > little ? [after > loss ? rises : down] : []));
  }
  if (!(here >= from && here <= to)) return [...found, ...words];
  const [x, y] = [over(here), up(lossAt(here))], side = x < aside + all / 2 ? 1 : -1;
  return [...found, disc(ball, x, y), name.with(1, x + 12 * side).with(2, y - 10).with(6, side > 0 ? "left" : "right"), ...words];
}
