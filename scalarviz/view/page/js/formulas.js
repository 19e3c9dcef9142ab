// The outputs of a single layer written out with their numbers: r = σ(−1.991·0.92 + 0.692) = σ(−1.14) = 0.24; as
// view/notes/layer.py and view/ink/equation.py. Every line is true as printed: what the printed numbers give,
// rounded, is the printed result; where no room is left for the digits, ≈ stands in place of =.

import { MINUS_SIGN, numberText } from "./numbers.js";

const TERM_DECIMALS = [3, 4, 5, 2]; // in the order in which they are tried: three are mostly enough
const SUM_SCALE = 10; // decimals of the whole numbers in which printed numbers are multiplied and added
const FUNCTIONS = { sigmoid: (x) => 1 / (1 + Math.exp(-x)), tanh: Math.tanh, relu: (x) => Math.max(x, 0) };

// Decimals of a number on a chip: one fewer from 10 on, two fewer from 100 on.
function chipDecimals(value, digits) {
  const size = Math.abs(value);
  return size < 9.995 ? digits : Math.max(0, digits - (size < 99.95 ? 1 : 2));
}

// A number as it stands there: its text, what that says in units of 10^-digits (null for what is not finite), digits.
function printed(value, digits) {
  const text = numberText(value, digits);
  if (!Number.isFinite(value)) return { text, value, units: null, digits };
  const units = BigInt(text.replace(/[^0-9]/g, ""));
  return { text, value: Number(text.replace(MINUS_SIGN, "-")), units: text.startsWith(MINUS_SIGN) ? -units : units, digits };
}

// With as many decimals as on a chip, and more up to `digits` while they are not zero.
function trimmed(value, digits) {
  const least = chipDecimals(value, 2), shown = printed(value, chipDecimals(value, digits));
  while (shown.digits > least && shown.text.includes(".") && shown.text.endsWith("0")) {
    shown.text = shown.text.slice(0, -1);
    shown.digits -= 1;
    shown.units = shown.units === null ? null : shown.units / 10n;
  }
  return shown;
}

// A number after a sign of multiplication: in brackets if it brings a sign with it.
function asFactor(text) {
  return /^\d/.test(text) || text === "NaN" ? text : `(${text})`;
}

// The terms as they are printed, and what they give: in units of 10^-SUM_SCALE, or a number that is not finite.
function added(terms, digits) {
  let text = "", sum = 0n, loose = 0;
  for (const [weight, given] of terms) {
    const left = printed(weight, chipDecimals(weight, digits)), right = given === null ? null : trimmed(given, digits);
    const known = left.units !== null && (!right || right.units !== null);
    if (known) sum += left.units * (right?.units ?? 1n) * 10n ** BigInt(SUM_SCALE - left.digits - (right?.digits ?? 0));
    else loose += left.value * (right?.value ?? 1);
    const rest = right ? `\u00b7${asFactor(right.text)}` : "", bare = left.text.replace(/^[+\u2212]+/, "");
    if (!text) text = left.text.replace(/^\+/, "") + rest;
    else text += ` ${left.text.startsWith(MINUS_SIGN) ? MINUS_SIGN : "+"} ${bare}${rest}`;
  }
  return [text, loose === 0 ? sum : loose];
}

// Whether what the printed numbers give is the shown one when it is rounded to the same digit.
function roundsTo(found, shown) {
  if (typeof found !== "bigint" || shown.units === null) return Object.is(found, shown.value);
  const scale = 10n ** BigInt(SUM_SCALE - shown.digits), away = found - shown.units * scale;
  return (away < 0n ? -away : away) * 2n <= scale;
}

function oneLine(name, terms, total, { symbol, output, apply }, digits, ofTotal) {
  const [written, found] = added(terms, digits), made = printed(total, chipDecimals(total, ofTotal));
  const equal = roundsTo(found, made) ? "=" : "\u2248";
  if (output === null) return `${name} = ${written} ${equal} ${made.text}`;
  let shown = null, exact = false;
  for (const places of [2, 3, 4]) {
    shown = printed(output, chipDecimals(output, places));
    exact = apply !== null && numberText(apply(made.value), shown.digits) === shown.text;
    if (exact) break;
  }
  if (!exact) shown = printed(output, chipDecimals(output, 2));
  return `${name} = ${symbol}(${written}) ${equal} ${symbol}(${made.text}) ${exact ? "=" : "\u2248"} ${shown.text}`;
}

// Ways to write the formula of one neuron, the best first.
function waysOf(name, terms, total, activation) {
  const found = TERM_DECIMALS.map((digits) => {
    const tried = Array.from({ length: digits - 1 }, (_, k) => oneLine(name, terms, total, activation, digits, k + 2));
    return tried.find((line) => !line.includes("\u2248"));
  });
  return [...found.filter(Boolean), oneLine(name, terms, total, activation, 2, 2)];
}

/**
 * For each output the ways to write its formula, the best first, and a line as long as those of this layer usually are.
 * @param {object} document of `document_of`, whose `words.single` is there
 * @param {Float32Array} values of all parameters
 * @param {(stage: string) => ArrayLike<number> | null} rowOf activations of a stage
 * @returns {{lines: string[][], longest: string}} none where a row is missing
 */
export function formulasOf({ words, plates, names }, values, rowOf) {
  const { weight, bias, sums, last, kind, symbol } = words.single;
  const [inputs, totals, outputs] = [rowOf("input"), rowOf(sums), kind === null ? null : rowOf(last)];
  if (!inputs || !totals || (kind !== null && !outputs)) return { lines: [], longest: "" };
  const { start, shape: [rows, columns] } = plates[weight];
  const termsOf = (row) => {
    const found = Array.from({ length: columns }, (_, k) => [values[start + row * columns + k], inputs[k]]);
    return bias === null ? found : [...found, [values[plates[bias].start + row], null]];
  };
  const lines = Array.from({ length: rows }, (_, row) => {
    const own = names.outputs[row] ?? String(row), name = kind !== null || last === sums ? own : `sum ${own}`;
    const activation = { symbol, output: outputs ? outputs[row] : null, apply: FUNCTIONS[kind] ?? null };
    return waysOf(name, termsOf(row), totals[row], activation);
  });
  const widest = names.outputs.reduce((long, name) => (name.length > long.length ? name : long), "");
  const usual = termsOf(0).map(([, given]) => [-0.125, given]), activation = { symbol, output: kind === null ? null : 0.25, apply: null };
  return { lines, longest: names.outputs.length ? oneLine(widest, usual, -0.25, activation, 3, 2) : "" };
}

/**
 * Write them in the largest type that holds formulas of this kind; nothing where none fits.
 * @param {Ink} ink
 * @param {number[]} box x, y, width, height in logical pixels
 */
export function drawFormulas(ink, [x, y, width, height], { lines: written, longest }) {
  let [size, step] = ink.measure(longest, 15) <= width ? [15, 23] : [13, 20];
  if (written.length * step > height) [size, step] = [13, 20];
  const lines = written.map((ways) => ways.find((line) => ink.measure(line, size) <= width) ?? "");
  if (!lines.every(Boolean) || lines.length * step > height) return;
  lines.forEach((line, row) => ink.text(x, y + 16 + step * row, line, size, ink.theme.text2));
}
