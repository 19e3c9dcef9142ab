// Texts of numbers by the rules of the window: both write a number alike.

export const MINUS_SIGN = "\u2212";
const MANY = 30; // decimals beyond which a tie is exact

/** Return the digits of `x` >= 0 with this many decimals; ties go to the even digit, as in Python. */
export function fixed(x, decimals) {
  if (x >= 1e21) return `${BigInt(x)}${decimals ? `.${"0".repeat(decimals)}` : ""}`; // beyond the range of toFixed
  const body = x.toFixed(decimals), long = x.toFixed(Math.min(100, decimals + MANY));
  const tie = /^50*$/.test(long.slice(long.length - MANY)) && long.length > MANY;
  if (!tie || (body.charCodeAt(body.length - 1) - 48) % 2 === 0) return body;
  const below = long.slice(0, long.length - MANY).replace(/\.$/, "");
  return below === body ? body : below;
}

/** Return the digits and the power of ten of `x` > 0 with this many decimals; ties as in `fixed`. */
export function scientific(x, decimals) {
  const [mantissa, power] = x.toExponential(decimals).split("e");
  const long = x.toExponential(Math.min(100, decimals + MANY)).split("e");
  const tie = long[1] === power && /^50*$/.test(long[0].slice(long[0].length - MANY));
  const odd = (mantissa.charCodeAt(mantissa.length - 1) - 48) % 2 === 1;
  const digits = tie && odd ? long[0].slice(0, long[0].length - MANY).replace(/\.$/, "") : mantissa;
  return [digits, Number(power)];
}

/** Return fixed decimals, with a true minus sign, "+" if `signed`, no "-0.00"; NaN and infinities as words. */
export function numberText(value, decimals = 2, signed = false) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+\u221e" : `${MINUS_SIGN}\u221e`;
  const body = fixed(Math.abs(value), decimals);
  if (Number(body) === 0) return body;
  return (value < 0 ? MINUS_SIGN : signed ? "+" : "") + body;
}

/** Return `-4.2e-4` with this many decimals; zero is `0`, NaN and infinities as in `numberText`. */
export function exponentText(value, decimals = 1, signed = false) {
  if (value === 0 || !Number.isFinite(value)) return numberText(value, 0, signed);
  const [digits, power] = scientific(Math.abs(value), decimals), sign = value < 0 ? MINUS_SIGN : signed ? "+" : "";
  return `${sign}${digits}e${power < 0 ? MINUS_SIGN : ""}${Math.abs(power)}`;
}

/** Return two or three significant digits, with an exponent for very small and very large numbers. */
export function shortText(value, signed = false) {
  const size = Math.abs(value);
  if (!Number.isFinite(value) || size === 0) return size === 0 ? "0" : numberText(value, 2, signed);
  if (size < 1e-2 || size >= 1e4) return exponentText(value, 1, signed);
  return numberText(value, size < 0.1 ? 3 : size < 10 ? 2 : size < 100 ? 1 : 0, signed);
}

/** Return a learning rate, 0 or larger, as people write it: `1.0`, `0.01`, `3e-4` with a true minus sign, `4,096`. */
export function rateText(rate) {
  if (rate === 0 || !Number.isFinite(rate)) return rate === 0 ? "0" : numberText(rate);
  const whole = rate >= 1e3 && rate < 1e6, [digits, power] = scientific(rate, whole ? 5 : 3), short = Number(`${digits}e${power}`);
  if (whole && short < 1e6) return short.toLocaleString("en", { maximumFractionDigits: 6 });
  if (power < -4 || power >= 4) return `${Number(digits)}e${power < 0 ? MINUS_SIGN : power < 10 ? "+0" : "+"}${Math.abs(power)}`;
  return Number.isInteger(short) ? `${short}.0` : String(short);
}

/** Return four decimals while they are useful, otherwise the exponent form. */
export function figureText(value) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if ((size >= 1e-3 && size < 1e4) || !Number.isFinite(size)) return numberText(value, size < 100 ? 4 : 1, true);
  return exponentText(value, 1, true);
}

/** Return a number for a chip or a cube: four characters and a sign, a fifth from 1e100 on. */
export function chipText(value, signed = false) {
  const size = Math.abs(value);
  if (size >= 9999.5 && size < Infinity) return exponentText(value, 0, signed);
  return numberText(value, size < 9.995 ? 2 : Math.max(0, 2 - (size < 99.95 ? 1 : 2)), signed);
}

/** Return a delta for its chip: four decimals, from 10 on three digits; or an exponent. */
export function deltaText(value) {
  const size = Math.abs(value);
  if (size === 0 || !Number.isFinite(size)) return numberText(value, 4);
  return size >= 1e-3 && size < 99999.5 ? numberText(value, size < 10 ? 4 : size < 99.95 ? 1 : 0, true) : exponentText(value, 1, true);
}

/** Return four decimals while they are useful, then five, then the exponent form; a dash before the first step. */
export function lossText(loss) {
  if (Number.isNaN(loss)) return "\u2013";
  const size = Math.abs(loss);
  if (size >= 1000) return shortText(loss);
  if (size >= 1e-3 || loss === 0) return numberText(loss, size < 10 ? 4 : 2);
  return size >= 1e-4 ? numberText(loss, 5) : shortText(loss);
}

/** Return a whole number with separated thousands, for counts and steps. */
export function countText(count) {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Return a number like `figureText`, with reliable digits only; the error is 0 for exact numbers. */
export function sureText(number, error) {
  if (!(error > 0) || !Number.isFinite(number)) return figureText(number);
  if (!Number.isFinite(error)) return "?";   // a ratio to a number that may be 0
  const size = Math.abs(number), sure = Math.floor(-Math.log10(2 * error));   // decimals
  if (size <= error) return `0 \u00b1 ${exponentText(size + error)}`;
  const power = Math.floor(Math.log10(size)), usual = size >= 1e-3 && size < 1e4;
  if (power + sure < 0) return `${exponentText(number, 0, true)} \u00b1 ${exponentText(error)}`;   // not even the first digit is reliable
  if (usual && sure >= 0) return numberText(number, Math.min(size < 100 ? 4 : 1, sure), true);
  return exponentText(number, Math.max(Math.min(usual ? 3 : 1, power + sure), 0), true);
}

/** Return a `text` of a number, for a cube or a chip, with its reliable digits only; "?" if there are none. */
export function sureChip(number, error = 0, signed = false, text = chipText(number, signed)) {
  if (!(error > 0) || !Number.isFinite(number)) return text;
  const size = Math.abs(number), sure = Math.floor(-Math.log10(2 * error)), power = Math.floor(Math.log10(size || 1e-45));
  const [digits, long] = text.split("e"), decimals = (digits.split(".")[1] ?? "").length - (long ? power : 0);
  if (sure >= decimals) return text;
  if (sure >= 0 && !long) return numberText(number, sure, signed);
  if (power + sure < 0) return "?";
  const said = exponentText(number, power + sure, signed);
  return said.length > text.length ? exponentText(number, 0, signed) : said; // there is room for the text
}

/** Return the largest error of a parameter's shown number; `frame` is as in `Player.show`. */
export function errorOf({ texels, errors }, quantity, index) {
  const of = (name) => errors?.[name]?.[index] ?? 0;
  if (quantity === "|gradient|") return of("gradient");
  if (quantity !== "update/value") return of(quantity);
  const [update, weight] = [Math.abs(texels.update[index]), Math.abs(texels.weight[index])];
  const least = weight - of("weight");   // the smallest possible value
  if (!(least > 0)) return of("update") || of("weight") ? Infinity : 0;
  return (of("update") + (of("weight") * update) / weight) / least;
}

/** Return a share as "0 %", "2.6 %", "100 %"; a small share that is not zero is "<0.1 %". */
export function shareText(share) {
  const percent = 100 * share;
  if (percent > 0 && percent < 0.1) return "<0.1 %";
  return `${percent >= 10 ? fixed(percent, 0) : percent && Number(scientific(percent, 1).join("e"))} %`;
}
