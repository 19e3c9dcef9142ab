// Colours by position: the tables of view/ink/maps.py, looked up. Which colours there are, Python says.

/**
 * A map as a texture has it: fine enough for the nearest texel to be right.
 * @param {{stops?: string[], table?: string}} map of the document: the colours that it is made from, evenly spaced, as
 *   #rrggbb, or in base64 its table
 * @returns {Uint8Array} (count, 3) bytes of sRGB, from the low to the high end
 */
export function tableOf({ stops, table }, count) {
  const bytes = table ? [...atob(table)].map((letter) => letter.charCodeAt(0)) : stops.flatMap((stop) => [1, 3, 5].map((at) => parseInt(stop.slice(at, at + 2), 16)));
  const found = new Uint8Array(3 * count), last = bytes.length / 3 - 1;
  for (let k = 0; k < count; k++) {
    const place = (k / (count - 1)) * last, low = Math.min(Math.floor(place), last - 1), share = place - low;
    for (let c = 0; c < 3; c++) found[3 * k + c] = Math.round((1 - share) * bytes[3 * low + c] + share * bytes[3 * low + 3 + c]);
  }
  return found;
}

/**
 * The colour at a fraction of a table's range, as the shaders find it.
 * @param {number} unit beyond 0..1 the colours of the ends
 */
export function colourAt(table, unit) {
  const last = table.length / 3 - 1;
  const at = 3 * Math.round(Math.min(Math.max(unit, 0), 1) * last);
  return [table[at], table[at + 1], table[at + 2]];
}
