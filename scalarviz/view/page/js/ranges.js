// Places of numbers on a colour scale, the colours there, and the choice of ranges; as run/questions/ranges.py,
// view/cubes/scale.py and view/ink/theme.py. A range is {low, high, scale}, with the scale "linear", "symlog" or "log".

// of the symmetric-log scale: V/10 is half-way between 0 and V
const KNEE = 80;
// the least V: the smallest normal float32 of the shader
const SMALLEST = 2 ** -126;
// the largest end of a range to both sides: 1 by its whole span is the smallest normal number of the shader's
const LARGEST = 2 ** 125;
// a weight so many times as large as this share of all weights is at most is no neighbour of theirs; of more weights so
// many are asked, evenly spread
const FAR = 1e4, SHARE = 0.9, SAMPLED = 2 ** 12;
// V if there is no finite number but zeros
const EMPTY = 1;

/** Return the range on both sides of 0. */
export function symmetricRange(v, scale = "linear") {
  const reach = Math.min(v, LARGEST);
  return { low: -reach, high: reach, scale };
}

/** Return a logarithmic range of some decades up to `v`, as far as float32 reaches. */
export function decadesRange(v, count) {
  const low = Math.max(v * 10 ** -count, SMALLEST);
  return v > low ? { low, high: v, scale: "log" } : { low: 10 ** -count, high: EMPTY, scale: "log" };
}

/** Return the range of a quantity with the end `v`; `quantity` is of the document. */
export function rangeOf({ scale, decades, range }, v) {
  if (range) return { low: range[0], high: range[1], scale };
  return decades ? decadesRange(v, decades) : symmetricRange(v, scale);
}

/** Return the fraction of the way from the low to the high colour: 0..1 inside the range, beyond it when clipped. */
export function unitOf({ low, high, scale }, value) {
  if (scale === "symlog") {
    const x = value / high;
    return ((Math.sign(x) * Math.log1p(KNEE * Math.abs(x))) / Math.log1p(KNEE)) * 0.5 + 0.5;
  }
  if (scale === "log") return Math.log((value < low ? low : value) / low) / Math.log(high / low);
  return (value - low) / (high - low);
}

/** Return the largest size at which a weight still has neighbours, in parts [first, end); infinite without any. */
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

/** Return the range of weights that are shown in place of other numbers. */
export function weightRange(weights, count) {
  const every = [[0, count]];
  return symmetricRange(extentOf(weights, every, weightReach(weights, every)));
}

/** V = min(max|x|, 3 rms), or `whole` max|x|, over the finite values up to `most` in parts [first, end); 1 without any but zeros. */
export function extentOf(values, spans = [[0, values.length]], most = Infinity, whole = false) {
  let [top, count] = [0, 0];
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
  const v = whole ? top : Math.min(top, 3 * top * Math.sqrt(squares / count));
  return v >= SMALLEST ? v : EMPTY;
}

/** Return a map of a document by its name: as stops, or as a table. */
export function mapIn({ maps, themes }, name, look) {
  return maps[name]?.[look] ?? { stops: themes[look].maps[name] };
}

const TABLE_SIZE = 257;

/** Return the nearest whole number; ties go to the even one, as in NumPy. */
export function roundHalfToEven(x) {
  const near = Math.round(x);
  return near - x === 0.5 && near % 2 !== 0 ? near - 1 : near;
}

// y at x between knots (i / (n - 1), ys[i]), in the operations of NumPy's interp: bytes must come out the same.
function interpolated(ys, x, span) {
  const knots = ys.length - 1;
  const low = Math.min(Math.floor((x / span) * knots), knots - 1);
  const [from, to] = [(low / knots) * span, ((low + 1) / knots) * span];
  if (x === to) return ys[low + 1];
  return ((ys[low + 1] - ys[low]) / (to - from)) * (x - from) + ys[low];
}

// (count, 3) bytes from a function of channel and position 0..span.
function tableBytes(count, span, colour) {
  const found = new Uint8Array(3 * count);
  for (let k = 0; k < count; k++) {
    for (let c = 0; c < 3; c++) found[3 * k + c] = roundHalfToEven(255 * colour(c, (k / (count - 1)) * span));
  }
  return found;
}

/** Return a map's table of 257 colours: from evenly spaced `stops` (#rrggbb), or from base64. */
export function entriesOf(map) {
  if (map.table) return Uint8Array.from(atob(map.table), (letter) => letter.charCodeAt(0));
  const channels = [1, 3, 5].map((at) => map.stops.map((stop) => parseInt(stop.slice(at, at + 2), 16) / 255));
  return tableBytes(TABLE_SIZE, 1, (c, x) => interpolated(channels[c], x, 1));
}

/** Return a map as a texture for the shaders, so fine that the nearest of `count` texels is right. */
export function tableOf(map, count) {
  const entries = entriesOf(map);
  const channels = [0, 1, 2].map((c) => Array.from({ length: TABLE_SIZE }, (_, k) => entries[3 * k + c] / 255));
  return tableBytes(count, TABLE_SIZE - 1, (c, x) => interpolated(channels[c], x, TABLE_SIZE - 1));
}

/** Return the colour, in bytes, at a fraction of a table's range, as in the shaders. */
export function colourAt(table, unit) {
  const last = table.length / 3 - 1;
  const at = 3 * Math.round(Math.min(Math.max(unit, 0), 1) * last);
  return [table[at], table[at + 1], table[at + 2]];
}
