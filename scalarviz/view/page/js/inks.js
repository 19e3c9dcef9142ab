// Colours by their names in display lists, as `resolved` in view/ink/theme.py: a list is the same in every theme.

import { rgbOf } from "./gl.js";
import { entriesOf } from "./ranges.js";

const resolvedInks = new WeakMap(); // colours by name, and tables by map, of each theme

/** Return a colour in 0..1 as `#rrggbb`. */
export const hexOf = (parts) => `#${parts.map((part) => Math.round(255 * part).toString(16).padStart(2, "0")).join("")}`;

/** Return the colour of a name in a theme, as `#rrggbb` or `#rrggbbaa`; null stays null. */
export function inkOf(theme, name) {
  if (name === null || name[0] === "#") return name;
  if (!resolvedInks.has(theme)) resolvedInks.set(theme, new Map());
  const known = resolvedInks.get(theme);
  if (!known.has(name)) known.set(name, madeInk(theme, name, known));
  return known.get(name);
}

function madeInk(theme, name, known) {
  const [said, alpha] = name.split("/"), parts = (one) => rgbOf(inkOf(theme, one));
  if (alpha) return inkOf(theme, said) + alpha;
  if (said.startsWith("on ")) return inkOn(parts(said.slice(3)));
  if (said.includes(":")) {
    const [over, ground, share] = said.split(":"), below = parts(ground);
    return hexOf(parts(over).map((part, k) => share * part + (1 - share) * below[k]));
  }
  const [map, place] = said.split("@");
  if (!place) return theme[said];
  if (!known.has(`map ${map}`)) known.set(`map ${map}`, entriesOf({ stops: theme.maps[map] }));
  const table = known.get(`map ${map}`);
  return hexOf([0, 1, 2].map((k) => table[3 * place + k] / 255));
}

function luminanceOf(colour) {
  const linear = colour.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

/** Return the colour of text on a cube of this colour, in 0..1. */
export function inkOn(colour) {
  return luminanceOf(colour) > 0.22 ? "#0c0e11" : "#ffffff";
}
