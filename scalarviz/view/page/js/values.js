// The number printed on each cube of a small network, in a readable colour.

import { cubeCorners, pointOf } from "./boxes.js";
import { beforeEye, dot3, project, towardsEye } from "./camera.js";
import { inkOn } from "./inks.js";
import { chipText, errorOf, exponentText, numberText, shortText, sureChip, sureText } from "./numbers.js";

const VALUE_SIZES = [20, 18, 16, 15, 14, 13];
const ENLARGED_SIZES = [...VALUE_SIZES, 12, 11, 10]; // for screens that enlarge the picture
const LEAST_SEEN = 11; // for small screens, which shrink it
const BRIEF = 0.00995; // a smaller number has an exponent, even with little room
const MIDDLE = 0.357; // from the baseline to half the height of a digit, as a share of the type size

function topsOf(plate) {
  return Array.from({ length: plate.size }, (_, element) => pointOf(plate, element, [0, 0, plate.depth]));
}

/** Return the width and height for a text on the main face of every cube of a plate. */
export function roomOn(plate, camera) {
  const spans = [0, 1].map((k) =>
    Array.from({ length: plate.size }, (_, element) => {
      const [near, far] = [-plate.half, plate.half].map((side) => {
        const at = [0, 0, plate.depth];
        at[k] = side;
        return project(camera, pointOf(plate, element, at));
      });
      return [Math.abs(far[0] - near[0]), Math.abs(far[1] - near[1])];
    }),
  );
  const [first, second] = spans.map((span) => span.reduce((sum, [x]) => sum + x, 0)), flat = first >= second ? 0 : 1;
  return [Math.min(...spans[flat].map(([x]) => x)), Math.min(...spans[1 - flat].map(([, y]) => y))];
}

// Return the largest size at which the widest usual number fits every cube of a plate, seen from its layout's camera.
function fittingSize(plate, camera, wide, type) {
  const [room, high] = roomOn(plate, camera);
  const least = type < 1 ? LEAST_SEEN : VALUE_SIZES.at(-1), air = (size) => (size > 13 && size * type > 13 ? 8 : 3.5);
  const sizes = ENLARGED_SIZES.filter((size) => size * type >= least);
  return sizes.find((size) => wide * size + air(size) <= room && size + 6 <= high) ?? 0;
}

// Return the largest type size at which the widest usual number fits a main face from every direction.
function sizeInFace(plate, element, camera, wide) {
  const ring = [[-1, -1], [1, -1], [1, 1], [-1, 1]], middle = project(camera, pointOf(plate, element, [0, 0, plate.depth]));
  const quad = ring.map(([x, y]) => project(camera, pointOf(plate, element, [x * plate.half, y * plate.half, plate.depth])));
  const edges = quad.map((p, k) => [quad[(k + 1) % 4][0] - p[0], quad[(k + 1) % 4][1] - p[1]]);
  const turn = Math.sign(edges[0][0] * edges[1][1] - edges[0][1] * edges[1][0]);
  const inside = (size) => {
    const half = [(wide * size + 6) / 2, (size + 2) / 2];
    return ring.every(([x, y]) =>
      edges.every(([ex, ey], k) => {
        const to = [middle[0] + half[0] * x - quad[k][0], middle[1] + half[1] * y - quad[k][1]];
        return (ex * to[1] - ey * to[0]) * turn > 0;
      }),
    );
  };
  return VALUE_SIZES.find(inside) ?? 0;
}

function within([x, y], across, down, [left, top, right, foot]) {
  return x - across >= left && x + across <= right && y - down >= top && y + down <= foot;
}

/** Places and sizes of the numbers; they depend on the camera only. */
export class ValuePlaces {
  /**
   * `type` is the enlargement of the screen, `form` the number format; numbers that would leave the `window` are
   * left out if cubes have moved.
   */
  constructor(document, camera, { turned, type }, form, picked, window) {
    const wide = document.widest[form]; // in multiples of the size
    Object.assign(this, { size: 0, places: [] });
    if (!document.numbered) return;
    if (!turned) {
      const sizes = document.plates.map((plate) => fittingSize(plate, camera, wide, type));
      const weights = sizes.filter((_, k) => document.plates[k].kind !== "activation"); // all or none; rows if they fit
      this.size = weights.length && Math.min(...weights) ? Math.min(...sizes.filter((size) => size > 0)) : 0;
      if (this.size) {
        this.places = document.plates.map((plate, k) => topsOf(plate).map((top) => (sizes[k] ? project(camera, top) : null)));
      }
      return;
    }
    const found = document.plates.map((plate) => {
      const places = topsOf(plate).map((top, element) => {
        const facing = dot3(towardsEye(camera, top), plate.axes[2]) > 1e-6;
        if (!facing || !beforeEye(camera, cubeCorners(plate, element))) return null;
        const at = project(camera, top);
        return { at, size: sizeInFace(plate, element, camera, wide) };
      });
      // a plate has numbers on all its cubes or on none
      return places.some((place) => place && !place.size) ? places.map(() => null) : places;
    });
    const sizes = found.flat().flatMap((place) => (place?.size ? [place.size] : []));
    this.size = sizes.length ? Math.min(...sizes) : 0;
    if (!this.size) return;
    const heights = document.plates.map((p) => (p.axes[2][2] > 0.99 * Math.hypot(...p.axes[2]) ? p.origin[2] + p.depth * p.axes[2][2] : -Infinity));
    const highest = Math.max(...heights);
    this.places = found.map((places, index) =>
      places.map((place, element) => {
        if (!place?.size || !within(place.at, (wide * this.size) / 2, this.size / 2, window)) return null;
        if (heights[index] > -Infinity && heights[index] === highest) return place.at; // nothing is higher
        const reach = (wide * this.size) / 2;
        const clear = [0, -reach, reach].every((aside) => {
          const hit = picked([place.at[0] + aside, place.at[1]]);
          return hit !== null && hit.plate === index && hit.element === element;
        });
        return clear ? place.at : null;
      }),
    );
  }
}

/** Print the numbers of a frame; `small` says that cubes may be smaller. */
export function drawValues(ink, places, shown, frame, colourOf, small) {
  const { document, quantity } = shown;
  const onFace = (value, signed) => (places.form !== "tenths" ? chipText(value, signed) : value === 0 ? "0" : numberText(value, Math.abs(value) < 9.95 ? 1 : 0, signed));
  if (!places.size) return;
  document.plates.forEach((plate, index) => {
    const row = plate.kind === "activation";
    places.places[index].forEach((found, element) => {
      if (!found) return;
      const [at, size] = small && !row ? onSmall(small, plate, index, element, places.size) : [found, places.size];
      if (!size) return;
      const texel = plate.texel + element;
      const value = shown.numbers[texel], mark = shown.flags[texel];
      if (row) {
        if (!(mark & (16 | 32))) onCube(ink, at, places.form === "tenths" ? onFace(value) : sureChip(value, errorOf(frame, "weight", texel)), size, colourOf(index, element));
        return;
      }
      if (mark & 32) {
        const weight = frame.texels.weight[texel], least = Math.min(size, 15);
        ink.text(at[0], at[1] + MIDDLE * least, `w ${places.form === "tenths" ? onFace(weight, true) : sureChip(weight, errorOf(frame, "weight", texel), true)}`, least, ink.theme.text2, { end: "middle" });
        return;
      }
      const decades = !quantity.plain && (places.form === "brief" ? Math.abs(value) < BRIEF : Number.isFinite(value)), signed = quantity.scale !== "log";
      const error = errorOf(frame, quantity.name, texel);
      const exact = value === 0 ? "0" : !decades ? onFace(value, signed) : places.form === "brief" ? exponentText(value, 0, signed) : shortText(value, signed);
      const text = !(error > 0) || places.form === "tenths" ? exact : decades ? sureText(value, error) : sureChip(value, error, signed);
      onCube(ink, at, text, size, colourOf(index, element));
    });
  });
}

// Return the middle of a cube's main face, and its type size; 0 if none fits or something covers it.
function onSmall({ shares, camera, picked }, plate, index, element, most) {
  const share = shares(index, element);
  const at = project(camera, pointOf(plate, element, [0, 0, plate.depth * (2 * share - 1)]));
  const size = VALUE_SIZES.find((one) => one <= most * share) ?? 0, hit = size ? picked(at) : null;
  return [at, hit?.plate === index && hit.element === element ? size : 0];
}

function onCube(ink, [x, y], text, size, ground) {
  let colour = inkOn(ground);
  if (text === "NaN") { // the mark below is a checkerboard: a background keeps the word readable
    const wide = ink.measure(text, size, true) + 10;
    ink.box(x - wide / 2, y - size * 0.62, wide, size * 1.24, { fill: ink.theme.ink });
    colour = ink.theme.paper;
  }
  ink.text(x, y + MIDDLE * size, text, size, colour, { bold: true, end: "middle" });
}
