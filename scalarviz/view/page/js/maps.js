// Colours by position: the tables of view/ink/maps.py, looked up. Which colours there are, Python says.

const TABLE_SIZE = 257;

/** The nearest whole number, the even one of two, as NumPy rounds. */
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

/**
 * A map's own table.
 * @param {{stops?: string[], table?: string}} map of the document: the colours that it is made from, evenly spaced, as
 *   #rrggbb, or in base64 its table
 * @returns {Uint8Array} (257, 3) bytes of sRGB, from the low to the high end
 */
export function entriesOf(map) {
  if (map.table) return Uint8Array.from(atob(map.table), (letter) => letter.charCodeAt(0));
  const channels = [1, 3, 5].map((at) => map.stops.map((stop) => parseInt(stop.slice(at, at + 2), 16) / 255));
  return tableBytes(TABLE_SIZE, 1, (c, x) => interpolated(channels[c], x, 1));
}

/**
 * A map as the shaders' texture has it: fine enough for the nearest texel to be right.
 * @param {object} map as entriesOf takes it
 * @param {number} count of texels
 * @returns {Uint8Array} (count, 3)
 */
export function tableOf(map, count) {
  const entries = entriesOf(map);
  const channels = [0, 1, 2].map((c) => Array.from({ length: TABLE_SIZE }, (_, k) => entries[3 * k + c] / 255));
  return tableBytes(count, TABLE_SIZE - 1, (c, x) => interpolated(channels[c], x, TABLE_SIZE - 1));
}

/**
 * The colour at a fraction of a table's range, as the shaders find it.
 * @param {Uint8Array} table (count, 3)
 * @param {number} unit beyond 0..1 the colours of the ends
 * @returns {[number, number, number]} bytes
 */
export function colourAt(table, unit) {
  const last = table.length / 3 - 1;
  const at = 3 * Math.round(Math.min(Math.max(unit, 0), 1) * last);
  return [table[at], table[at + 1], table[at + 2]];
}
