// From a number to its place on a colour scale, and how ranges are found; as run/ranges.py and
// view/cubes/scale.py. A range is {low, high, scale}, with the scale "linear", "symlog" or "log".

// of the symmetric-log scale: V/10 lies half-way between 0 and V
const KNEE = 80;
// the least V: the shader computes in float32, whose normal numbers end here
const SMALLEST = 2 ** -126;
// the largest end of a range to both sides: 1 by its whole span is the smallest normal number of the shader's
const LARGEST = 2 ** 125;
// a weight so many times as large as this share of all weights is at most is no neighbour of theirs; of more weights so
// many are asked, evenly spread
const FAR = 1e4, SHARE = 0.9, SAMPLED = 2 ** 12;
// V where there is nothing finite or nothing but zeros
const EMPTY = 1;

/** The range on both sides of 0. */
export function symmetricRange(v, scale = "linear") {
  const reach = Math.min(v, LARGEST);
  return { low: -reach, high: reach, scale };
}

/** So many decades up to `v`, logarithmic, as far as float32 reaches. */
export function decadesRange(v, count) {
  const low = Math.max(v * 10 ** -count, SMALLEST);
  return v > low ? { low, high: v, scale: "log" } : { low: 10 ** -count, high: EMPTY, scale: "log" };
}

/**
 * The range of a quantity whose end is `v`.
 * @param {{scale: string, decades: number, range: number[] | null}} quantity of the document
 */
export function rangeOf({ scale, decades, range }, v) {
  if (range) return { low: range[0], high: range[1], scale };
  return decades ? decadesRange(v, decades) : symmetricRange(v, scale);
}

/** Fraction of the way from the low to the high colour: 0..1 inside the range, beyond it when clipped. */
export function unitOf({ low, high, scale }, value) {
  if (scale === "symlog") {
    const x = value / high;
    return ((Math.sign(x) * Math.log1p(KNEE * Math.abs(x))) / Math.log1p(KNEE)) * 0.5 + 0.5;
  }
  if (scale === "log") return Math.log((value < low ? low : value) / low) / Math.log(high / low);
  return (value - low) / (high - low);
}

/**
 * The largest size at which a weight still has neighbours; infinite where there are none, or only zeros.
 * @param {ArrayLike<number>} values
 * @param {number[][]} spans the parts [first, end) of `values` that are weights; default: all
 */
export function weightReach(values, spans = [[0, values.length]]) {
  const count = spans.reduce((sum, [first, end]) => sum + end - first, 0), step = Math.max(1, Math.floor(count / SAMPLED));
  const sizes = [];
  let at = 0;
  for (const [first, end] of spans) {
    for (let k = first; k < end; k++) {
      const x = Math.abs(values[k]);
      if (at++ % step === 0 && x > 0 && x < Infinity) sizes.push(x);
    }
  }
  const sorted = Float64Array.from(sizes).sort();
  return sorted.length ? FAR * sorted[Math.floor(SHARE * (sorted.length - 1))] : Infinity;
}

/**
 * V = min(max|x|, 3 rms) over the finite values up to `most`; 1 where there are none, or only zeros.
 * @param {ArrayLike<number>} values
 * @param {number[][]} spans the parts [first, end) of `values` that count; default: all
 * @param {number} most what is larger does not count
 */
export function extentOf(values, spans = [[0, values.length]], most = Infinity) {
  let top = 0;
  let count = 0;
  for (const [first, end] of spans) {
    for (let k = first; k < end; k++) {
      const x = Math.abs(values[k]);
      if (x < Infinity && x <= most) {
        count++;
        if (x > top) top = x;
      }
    }
  }
  if (top === 0) return EMPTY;
  let squares = 0;
  for (const [first, end] of spans) {
    for (let k = first; k < end; k++) {
      const x = Math.abs(values[k]) / top; // squares of 1e-300 or 1e300 would leave the range of float64
      if (x <= 1) squares += x * x;
    }
  }
  const v = Math.min(top, 3 * top * Math.sqrt(squares / count));
  return v >= SMALLEST ? v : EMPTY;
}

/** Share of all values beyond +-v; infinities count, NaN does not (it has a mark of its own). */
export function clippedShare(values, v, spans = [[0, values.length]]) {
  let beyond = 0;
  let all = 0;
  for (const [first, end] of spans) {
    for (let k = first; k < end; k++) if (Math.abs(values[k]) > v) beyond++;
    all += end - first;
  }
  return all ? beyond / all : 0;
}

/**
 * How large a cube is beside the largest, 0 for one that is not drawn; as view/cubes/atlas.py.
 * @param {number} mark its bits; what carries one other than "frozen" (8) is as large as can be
 */
export function shareOf({ byValue, threshold }, range, value, mark) {
  if (mark & ~8) return 1;
  const unit = Math.min(Math.max(unitOf(range, value), 0), 1);
  const place = range.scale === "log" ? unit : Math.abs(2 * unit - 1);
  if (place < threshold) return 0;
  return byValue ? Math.max(Math.sqrt(place), 0.1) : 1;
}
