// Equations of an opened step by the rules of the window (run/opened/digits.py and equations.py): each has the fewest
// digits for which the printed numbers give the printed result. An equation is a list of pieces.

import { MINUS_SIGN, chipText, deltaText, fixed, numberText, scientific } from "./numbers.js";

const SURE = 7, ENOUGH = 16; // significant digits of float32, and of any number
const MOST_TERMS = 8, LARGEST_TERMS = 3; // a sum of more terms shows the largest
const FACTOR_DIGITS = [2, 3, 4, 5, 6, 7, 8].flatMap((a) => [2, 3, 4, 5, 6, 7, 8].flatMap((b) => [[a, b, 2], [a, b, 3]])); // of two factors and their product
FACTOR_DIGITS.sort((p, q) => effortOf(p) - effortOf(q) || p[0] - q[0] || p[1] - q[1] || p[2] - q[2]);

function effortOf([a, b, c]) {
  return a + b + (c === 2 ? 2 : 0);
}

// ---- exact decimals: a whole number, and how many of its digits stand behind the point

function decimalOf(text) {
  const [, sign, whole, part = "", power = "0"] = /^([+\u2212]?)(\d+)(?:\.(\d+))?(?:e([-+]?\d+))?$/.exec(text.replace("e\u2212", "e-").replaceAll(",", "")) ?? [];
  if (whole === undefined) return { digits: null, places: 0, lost: text };
  const places = part.length - Number(power), digits = BigInt(whole + part) * (sign === MINUS_SIGN ? -1n : 1n);
  return places < 0 ? { digits: digits * 10n ** BigInt(-places), places: 0, coarse: -places } : { digits, places };
}

const ONE = decimalOf("1");
const finite = (...all) => all.every(({ digits }) => digits !== null);
const alike = (one, places) => one.digits * 10n ** BigInt(places - one.places);

function plusOf(a, b) {
  if (!finite(a, b)) return { digits: null, places: 0, lost: "NaN" };
  const places = Math.max(a.places, b.places);
  return { digits: alike(a, places) + alike(b, places), places };
}

function timesOf(a, b, sign = 1n) {
  return finite(a, b) ? { digits: sign * a.digits * b.digits, places: a.places + b.places } : { digits: null, places: 0, lost: "NaN" };
}

/** Return whether a decimal rounds to a printed number in its last digit; a zero without decimals is exact. */
function roundsTo(found, { value, exact }) {
  if (!finite(found, value)) return !finite(found) && !finite(value) && found.lost === value.lost;
  const places = Math.max(found.places, value.places), apart = alike(found, places) - alike(value, places), size = apart < 0n ? -apart : apart;
  return exact ? apart === 0n : 2n * size <= 10n ** BigInt(places - value.places + (value.coarse ?? 0));
}

// ---- printed numbers

const printed = (text, exact = false) => ({ text, exact, value: decimalOf(text) });
export const withDecimals = (value, digits) => printed(numberText(value, digits));

/** Return a number with significant digits: plain between 0.001 and 10,000, else with an exponent. */
export function significant(value, digits) {
  if (value === 0 || !Number.isFinite(value)) return printed(value === 0 ? "0" : numberText(value), true);
  const [mantissa, power] = scientific(Math.abs(value), digits - 1), sign = value < 0 ? MINUS_SIGN : "";
  if (power >= -3 && power < 4) return printed(sign + fixed(Math.abs(value), Math.max(0, digits - 1 - power)));
  return printed(`${sign}${mantissa}e${power < 0 ? MINUS_SIGN : ""}${Math.abs(power)}`);
}

/** Return at most so many significant digits, as Python's format "g" does. */
function digitsOf(value, digits) {
  if (value === 0 || !Number.isFinite(value)) return value === 0 ? "0" : Number.isNaN(value) ? "nan" : value > 0 ? "inf" : `${MINUS_SIGN}inf`;
  const [mantissa, power] = scientific(Math.abs(value), digits - 1), sign = value < 0 ? MINUS_SIGN : "", bare = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (power >= -4 && power < digits) return sign + bare(fixed(Math.abs(value), Math.max(0, digits - 1 - power)));
  return `${sign}${bare(mantissa)}e${power < 0 ? MINUS_SIGN : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

function roundedTo(value, digits) {
  return value === 0 || !Number.isFinite(value) ? value : Math.sign(value) * Number(scientific(Math.abs(value), digits - 1).join("e"));
}

const factorText = (text) => (/^\d/.test(text) || text === "NaN" ? text : `(${text})`);
const chipDigits = (value, digits = 2) => (Math.abs(value) < 9.995 ? digits : Math.max(0, digits - (Math.abs(value) < 99.95 ? 1 : 2)));

// ---- products, sums, descent

function productOf(a, b, result = a * b) {
  const words = (left, right, sign, made) => [left.text, " \u00d7 ", factorText(right.text), sign, made.text];
  for (const [ofA, ofB, ofResult] of FACTOR_DIGITS) {
    const left = significant(a, ofA), right = significant(b, ofB), made = significant(result, ofResult);
    if (roundsTo(timesOf(left.value, right.value), made)) return words(left, right, " = ", made);
  }
  return words(significant(a, 3), significant(b, 3), " \u2248 ", significant(result, 3));
}

/** Return a number with the decimals of a chip, and more while they are not zero. */
function trimmed(value, digits) {
  const least = chipDigits(value);
  let shown = withDecimals(value, chipDigits(value, digits)).text;
  while (shown.includes(".") && shown.endsWith("0") && shown.split(".")[1].length > least) shown = shown.slice(0, -1).replace(/\.$/, "");
  return shown;
}

function addedOf(terms, wanted) {
  const digits = terms.every(([weight]) => chipDigits(weight)) ? wanted : 0;
  const places = Math.max(0, ...terms.filter(([, x]) => x !== null).map(([, x]) => (trimmed(x, Math.max(digits, 2)).split(".")[1] ?? "").length));
  let text = "", found = { digits: 0n, places: 0 };
  for (const [weight, given] of terms) {
    const left = withDecimals(weight, digits), right = given === null ? null : withDecimals(given, places), minus = left.text.startsWith(MINUS_SIGN);
    found = plusOf(found, right ? timesOf(left.value, right.value) : left.value);
    const rest = right ? `\u00b7${factorText(right.text)}` : "";
    text += text ? ` ${minus ? MINUS_SIGN : "+"} ${left.text.slice(Number(minus))}${rest}` : left.text + rest;
  }
  return [text, found];
}

/** Return the sum of a neuron's products, and perhaps a bias. */
function neuronOf(total, ...numbers) {
  const terms = [];
  for (let k = 0; k < numbers.length; k += 2) terms.push([numbers[k], numbers[k + 1] ?? null]);
  const line = (digits, ofTotal) => {
    const [text, found] = addedOf(terms, digits), made = withDecimals(total, chipDigits(total, ofTotal));
    return [text, roundsTo(found, made) ? " = " : " \u2248 ", made.text];
  };
  for (const digits of [3, 4, 5, 2]) {
    for (let ofTotal = 2; ofTotal <= digits; ofTotal++) {
      const found = line(digits, ofTotal);
      if (found[1] === " = " && !found[0].includes("\u2248")) return found;
    }
  }
  return line(2, 2);
}

/** Return one step of plain gradient descent. */
function descentOf(before, lr, gradient, after) {
  const rate = printed(digitsOf(lr, 6)), sure = Math.abs(before) < 0.1 || !Number.isFinite(before) ? 8 : SURE - 1 - Math.floor(Math.log10(Math.abs(before)));
  const words = (old, slope, sign, made) => [`${old.text} ${MINUS_SIGN} ${rate.text}`, " \u00d7 ", factorText(slope.text), sign, made.text];
  let fallback = null, last = null;
  for (let digits = 4; digits <= Math.max(sure, 4); digits++) {
    const old = withDecimals(before, digits), made = withDecimals(after, digits);
    for (let of = 2; of < 7; of++) {
      const slope = significant(gradient, of);
      last = words(old, slope, " \u2248 ", made);
      if (!roundsTo(plusOf(old.value, timesOf(rate.value, slope.value, -1n)), made)) continue;
      const found = words(old, slope, " = ", made);
      if (old.text !== made.text || before === after) return found;
      fallback ??= found;
      break;
    }
  }
  return fallback ?? last;
}

/** Return a weight before and after its step, with the fewest decimals from which two digits of the move follow. */
function moveOf(before, after) {
  const apart = after - before, rounded = (x, digits) => Math.sign(x) * Number(fixed(Math.abs(x), digits));
  const close = digits => Math.abs(rounded(after, digits) - rounded(before, digits) - apart) < 0.05 * Math.abs(apart);
  const digits = [2, 3, 4, 5, 6, 7, 8].find(close) ?? 3;
  return [numberText(before, digits), " to ", numberText(after, digits)];
}

/** Return the sum of a weight and its change. */
function movedOf(before, after) {
  const apart = after - before, digits = [4, 5, 6, SURE].find(k => digitsOf(before, k) !== digitsOf(after, k)) ?? 4, minus = apart < 0;
  const written = say => `${say(before)} ${minus ? MINUS_SIGN : "+"} ${inBrackets(say(minus ? -apart : apart))}`;
  const found = equationOf(written, round => round(before) + round(apart), after, digits);
  return [found.slice(0, -2).join(""), ...found.slice(-2)];
}

// ---- equations with significant digits

/** Return an equation: `written` writes its numbers by a function, `again` computes it with rounded ones. */
function equationOf(written, again, result, digits = 4) {
  const wanted = digitsOf(result, digits);
  let enough = digits;
  while (enough <= ENOUGH && digitsOf(again((x) => roundedTo(x, enough)), digits) !== wanted) enough++;
  const left = written((x) => digitsOf(x, enough > ENOUGH ? digits : enough));
  return [...left.split(/(?= [+\u2212/] )/), enough > ENOUGH ? " \u2248 " : " = ", wanted];
}

const inBrackets = (text) => (text.startsWith(MINUS_SIGN) ? `(${text})` : text);
const joinedBy = (numbers, sign, say) => numbers.map((x, k) => (k ? inBrackets(say(x)) : say(x))).join(sign);

function timesEquation(result, ...factors) {
  return equationOf((say) => joinedBy(factors, " \u00b7 ", say), (round) => factors.reduce((all, x) => all * round(x), 1), result);
}

const OPERATIONS = { add: ["+", (a, b) => a + b], sub: [MINUS_SIGN, (a, b) => a - b], mul: ["\u00b7", (a, b) => a * b], div: ["/", (a, b) => a / b] };
const operatedOf = (sign, again) => (made, a, b) => equationOf(say => joinedBy([a, b], ` ${sign} `, say), round => again(round(a), round(b)), made);

/** Return the largest terms of a long sum and the sum of the others. */
function condensedTerms(parts, count) {
  if (parts.length <= count + 1) return parts;
  const found = parts.filter(Boolean).sort((a, b) => Math.abs(b) - Math.abs(a));
  return found.length > count + 1 ? [...found.slice(0, count), found.slice(count).reduce((sum, x) => sum + x, 0)] : found.length ? found : [0];
}

function sumText(parts, shown, most, largest, say) {
  return shown.map((part, k) => {
    const rest = parts.length > most && k === largest, minus = part < 0 && k > 0 && !rest;
    return k ? (rest ? " + rest " : minus ? ` ${MINUS_SIGN} ` : " + ") + inBrackets(say(minus ? -part : part)) : say(part);
  }).join("");
}

/** Return a sum times slopes, such as deltas through an activation. */
function passedOf(result, slope, ...pairs) {
  const products = [];
  for (let k = 0; k < pairs.length; k += 2) if (pairs[k] * pairs[k + 1]) products.push(pairs[k] * pairs[k + 1]);
  const parts = condensedTerms(products, MOST_TERMS), shown = parts.length > LARGEST_TERMS ? condensedTerms(parts, LARGEST_TERMS - 1) : parts;
  const written = (say) => `(${sumText(parts, shown, LARGEST_TERMS, LARGEST_TERMS - 1, say)}) \u00b7 ${inBrackets(say(slope))}`;
  return equationOf(written, (round) => shown.reduce((sum, x) => sum + round(x), 0) * round(slope), result);
}

/** Return a number less its target, times a fraction. */
function gapOf(result, y, t, above, below) {
  const inner = (say) => `${say(y)} ${MINUS_SIGN} ${inBrackets(say(t))}`;
  const written = (say) => (above === below ? inner(say) : above === 1 ? `(${inner(say)}) / ${below}` : `${below === 1 ? above : `${above}/${below}`} \u00b7 (${inner(say)})`);
  return equationOf(written, (round) => (round(y) - round(t)) * (above / below), result);
}

/** Return a squared loss over all outputs. */
function squaresOf(loss, ...numbers) {
  const pairs = [];
  for (let k = 0; k < numbers.length; k += 2) pairs.push([numbers[k], numbers[k + 1]]);
  const parts = Math.round(pairs.reduce((sum, [y, t]) => sum + (y - t) ** 2, 0) / loss), over = parts > 1 ? ` / ${parts}` : "";
  const written = (say) => {
    const terms = pairs.map(([y, t]) => `(${say(y)} ${t < 0 ? "+" : MINUS_SIGN} ${say(Math.abs(t))})\u00b2`).join(" + ");
    return pairs.length > 1 && over ? `(${terms})${over}` : terms + over;
  };
  return equationOf(written, (round) => pairs.reduce((sum, [y, t]) => sum + (round(y) - round(t)) ** 2, 0) / parts, loss);
}

// ---- two lines on a cube, and the table of deltas

function faceOf(left, right, made) {
  const result = printed(made), sign = roundsTo(timesOf(decimalOf(left), decimalOf(right)), result) || !finite(decimalOf(left), decimalOf(right), result.value) ? "=" : "\u2248";
  return [`${left} \u00d7 ${right}`, `${sign} ${made}`];
}

function gradientFace(gradient, delta, x) {
  if (x === 1) return faceOf(deltaText(delta), "1", deltaText(gradient));
  const left = Math.abs(delta) >= 0.005 && Math.abs(delta) < 10 ? numberText(delta, 3, true) : deltaText(delta);
  return faceOf(left, chipText(x), deltaText(gradient));
}

/** Return output, target, their difference times a fraction, and slope, as they give the printed delta. */
function columnOf(delta, y, t, outer, above, below) {
  const slope = outer ? delta / outer : NaN, shown = printed(deltaText(delta)), signed = (text) => (text[0] === MINUS_SIGN || text === "0" || text === "NaN" ? text : `+${text}`);
  const ways = [...[4, 5, 6].map((k) => (x) => withDecimals(x, k)), ...[4, 5, 6, SURE].map((k) => (x) => significant(x, k))];
  for (const way of ways) {
    const d = way(outer), s = way(slope);
    if (!roundsTo(timesOf(d.value, s.value), shown)) continue;
    const least = d.exact ? 4 : Math.max(4, d.value.places - (d.value.coarse ?? 0));
    for (let k = least; k < least + 4; k++) {
      const [a, b] = [y, t].map((x) => withDecimals(x, k)), apart = timesOf(plusOf(a.value, timesOf(b.value, ONE, -1n)), decimalOf(String(above)));
      if (roundsOver(apart, below, d)) return [a.text, b.text, signed(d.text), s.text];
    }
  }
  return [numberText(y, 4), numberText(t, 4), signed(numberText(outer, 4)), numberText(slope, 4)];
}

/** Return whether a decimal over a whole number rounds to a printed one. */
function roundsOver(found, below, { value, exact }) {
  if (!finite(found, value)) return false;
  const places = Math.max(found.places, value.places), apart = alike(found, places) - BigInt(below) * alike(value, places), size = apart < 0n ? -apart : apart;
  return exact ? apart === 0n : 2n * size <= BigInt(below) * 10n ** BigInt(places - value.places + (value.coarse ?? 0));
}

const BENT = { sigmoid: (x) => 1 / (1 + Math.exp(-x)), tanh: Math.tanh, relu: (x) => Math.max(x, 0) };
const SLOPES = { sigmoid: (y) => y * (1 - y), tanh: (y) => 1 - y * y, relu: (y) => Number(y > 0) };

/** Equations by the name of their form, from their numbers: see EQUATIONS in view/micro/equations.py. */
const EQUATIONS = {
  product: productOf,
  sum: neuronOf,
  descent: descentOf,
  move: moveOf,
  moved: movedOf,
  squares: squaresOf,
  gap: gapOf,
  "product face": (w, x) => faceOf(chipText(w, true), chipText(x), chipText(w * x, true)),
  "gradient face": gradientFace,
  column: columnOf,
  ...Object.fromEntries(Object.entries(OPERATIONS).map(([name, one]) => [name, operatedOf(...one)])),
  ...Object.fromEntries([4, 3, 2].map((digits) => [`${digits} digits`, (value) => [digitsOf(value, digits)]])),
  ...Object.fromEntries(Object.entries(BENT).flatMap(([name, bend]) => [
    [name, (made, x) => equationOf((say) => `${name === "sigmoid" ? "\u03c3" : name}(${say(x)})`, (round) => bend(round(x)), made)],
    [`through ${name}`, (delta, outer, y) => productOf(outer, SLOPES[name](y), delta)],
    [`times ${name}`, (delta, w, upper, y) => timesEquation(delta, w, upper, SLOPES[name](y))],
    [`passed ${name}`, (delta, y, ...pairs) => passedOf(delta, SLOPES[name](y), ...pairs)],
  ])),
};

/** Return a piece of an equation; its form is a name and a number, such as `product:2`. */
export function pieceOf(form, numbers) {
  const [name, piece] = form.split(":");
  return EQUATIONS[name](...numbers)[piece] ?? "";
}

/** Return the form of an equation with another activation in place of one; "": it is unknown. */
export function formWith(form, one, other) {
  const [name, piece] = form.split(":"), found = name.endsWith(one) ? name.slice(0, name.length - one.length) + other : name;
  return found in EQUATIONS ? `${found}:${piece}` : "";
}
