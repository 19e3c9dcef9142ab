// Curves: the axis of the losses, and how many points are worth drawing.

import { shortText } from "./numbers.js";

/**
 * A vertical axis without room to spare; logarithmic where every number is above 0. As view/screen/time_curve.py has it.
 * @param {ArrayLike<number>} numbers What is not finite is left out.
 * @returns {?{low: number, high: number, ticks: number[], log: boolean}} null where there is no number.
 */
export function tightAxis(numbers) {
  const finite = Array.from(numbers).filter(Number.isFinite);
  if (!finite.length) return null;
  let low = finite.reduce((a, b) => Math.min(a, b)), high = finite.reduce((a, b) => Math.max(a, b));
  if (low > 0) {
    low /= 1.05;
    high *= 1.05;
    let inside = [];
    for (const mantissas of [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9]]) {
      inside = [];
      for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
        inside.push(...mantissas.map(m => Number(`${m}e${power}`)).filter(tick => low <= tick && tick <= high));
      }
      if (inside.length >= 2) break;
    }
    return { low, high, ticks: inside, log: true };
  }
  if (low === high) {
    low -= 0.5;
    high += 0.5;
  }
  return { low, high, ticks: [low, high], log: false };
}

/** Share of the height at which a number stands on an axis, 0 at the bottom. */
export function placeOn(axis, number) {
  if (axis.log) return Math.log(Math.max(number, 1e-300) / axis.low) / Math.log(axis.high / axis.low);
  return (number - axis.low) / (axis.high - axis.low);
}

/** A number beside an axis, as short as it goes: `0.05`, `0.001`, `1e−4`. */
export function tickText(number) {
  if (number === 0 || (Math.abs(number) >= 1e-3 && Math.abs(number) < 1e4)) {
    return String(Number(number.toPrecision(6))).replace("-", "\u2212");
  }
  return shortText(number).replace(".0e", "e");
}

/**
 * Points for a curve, one for each pixel at most; of several in one pixel their mean. The two ends are their own.
 * @param {number[]} places Pixels from left to right, one for each number.
 */
export function thinned(places, numbers) {
  const points = [];
  let column = NaN, sum = 0, count = 0, place = 0;
  const finish = () => count && points.push([place, sum / count]);
  for (let k = 0; k < places.length; k++) {
    if (!Number.isFinite(numbers[k])) continue;
    const here = Math.floor(places[k]);
    if (here !== column) {
      finish();
      column = here;
      sum = count = 0;
    }
    sum += numbers[k];
    count += 1;
    place = places[k];
  }
  finish();
  const first = places.findIndex((_, k) => Number.isFinite(numbers[k]));
  if (points.length) points[0] = [places[first], numbers[first]];
  return points;
}

/** Cut a curve at a place: what is left of it and what is right of it, which both hold the point between. */
export function cutAt(points, place) {
  const after = points.findIndex(point => point[0] > place);
  if (after === -1) return [points, []];
  if (after === 0) return [[], points];
  const [x, y] = points[after - 1], [right, end] = points[after];
  const between = [place, y + (end - y) * (place - x) / (right - x)];
  return [[...points.slice(0, after), between], [between, ...points.slice(after)]];
}

/** A share of one colour (#rrggbb) over another: opaque, as the window mixes them. */
export function mixedColour(over, ground, share) {
  const part = (colour, k) => parseInt(colour.slice(1 + 2 * k, 3 + 2 * k), 16);
  return `rgb(${[0, 1, 2].map(k => Math.round(share * part(over, k) + (1 - share) * part(ground, k)))})`;
}
