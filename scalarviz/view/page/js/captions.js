// The sentence about the outputs of the sample that is drawn, by the rules of the window: run/opened/captions.py says it,
// and view/ink/widgets.py breaks it into lines.

import { significant, withDecimals } from "./equations.js";
import { numberText } from "./numbers.js";

const LOST = "A number of this step is infinite or no number: the run has diverged.";
const NEAR = 5e-7; // below this difference, an output and its target are alike in all decimals that can be read

/** Return output, target and the size of their difference, which is true as printed. */
function missedBy(output, target) {
  const apart = Math.abs(output - target);
  if (apart < NEAR) return [significant(output, 3), significant(target, 3), significant(apart, 2)];
  for (let places = 2; ; places++) {
    const found = [output, target, apart].map(value => withDecimals(value, places)), [y, t, gap] = found.map(({ value }) => value.digits);
    if (places === 13 || (gap && (y - t === gap || t - y === gap))) return found;
  }
}

function percentText(share) {
  if (share > 0 && share < 0.005) return "less than 1 %";
  return share >= 0.995 && share < 1 ? "more than 99 %" : `${numberText(100 * share, 0)} %`;
}

/**
 * Return ways to say what is wrong with the outputs of a sample, the longest first.
 *
 * `names` are those of the outputs, `numbers` the outputs and then a target for each, or the number of the right one.
 */
export function sentencesOf(names, numbers) {
  const outputs = numbers.slice(0, names.length), targets = numbers.slice(names.length);
  if (targets.length < outputs.length) {
    const most = Math.max(...outputs), votes = outputs.map(output => Math.exp(output - most));
    const share = votes[targets[0]] / votes.reduce((sum, vote) => sum + vote, 0);
    return [Number.isFinite(share) ? `${names[targets[0]]} is the right answer and got ${percentText(share)} of the votes; it should get 100 %.` : LOST];
  }
  const gaps = outputs.map((output, k) => Math.abs(output - targets[k])), lost = gaps.findIndex(Number.isNaN);
  const worst = lost >= 0 ? lost : gaps.indexOf(Math.max(...gaps)), [output, target, name] = [outputs[worst], targets[worst], names[worst]];
  if (!Number.isFinite(output) || !Number.isFinite(target)) return [LOST];
  if (output === target) return [`${name} is exactly its target: no loss.`];
  const [y, t, gap] = missedBy(output, target).map(({ text }) => text), way = output > target ? "high" : "low";
  if (gaps[worst] < NEAR) return [`${name} is too ${way} by only ${gap}; its target is ${t}.`];
  const most = gaps.filter(one => one >= gaps[worst]).length === 1 && gaps.length > 1 ? ", the farthest of all outputs" : "";
  return [`${name} is ${y}; its target is ${t}. It is too ${way} by ${gap}${most}.`, `${name} is too ${way} by ${gap}.`];
}

/** Return whether each of so many outputs is as near to its target as numbers of 32 bits can tell. */
export function alikeIn32(numbers, count) {
  const apart = (y, t) => Math.abs(y - t) > 2 ** -22 * Math.max(Math.abs(y), Math.abs(t));
  return numbers.length === 2 * count && !numbers.slice(0, count).some((y, k) => !Number.isFinite(y) || apart(y, numbers[count + k]));
}

function wrapped(text, width, wide) {
  const lines = [""];
  for (const word of text.match(/\S+(?: %\S*)?/g) ?? []) {
    const joined = `${lines.at(-1)} ${word}`.trim();
    if (wide(joined) <= width) {
      lines[lines.length - 1] = joined;
      continue;
    }
    if (lines.at(-1)) lines.push("");
    for (const letter of word) {
      if (lines.at(-1) && wide(lines.at(-1) + letter) > width) lines.push("");
      lines[lines.length - 1] += letter;
    }
  }
  return lines;
}

/** Return a text in lines of about one length. */
function balanced(text, width, wide) {
  const lines = wrapped(text, width, wide), even = wide(text) / lines.length;
  for (let k = 0, within; (within = 1.02 * even + 0.05 * width * k) < width; k++) {
    const narrower = wrapped(text, within, wide);
    if (narrower.length === lines.length) return narrower;
  }
  return lines;
}

/** Return one of at most `count` lines of the first way that has not more. */
export function lineOf(ways, number, count, width, wide) {
  const lines = ways.map(way => balanced(way, width, wide));
  return (lines.find(one => one.length <= count) ?? lines.at(-1))[number] ?? "";
}
