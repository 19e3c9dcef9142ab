// Numbers of which not every bit was kept: no digit is written that rounding does not support.

import { chipText, exponentText, figureText, numberText } from "./numbers.js";

/**
 * A number as `figureText` writes it, with no more digits than are sure.
 * @param {number} error By how much it may be off; 0 where it is exact.
 */
export function sureText(number, error) {
  if (!(error > 0) || !Number.isFinite(number)) return figureText(number);
  if (!Number.isFinite(error)) return "?";   // a ratio to what may be 0
  const size = Math.abs(number), sure = Math.floor(-Math.log10(2 * error));   // decimals
  if (size <= error) return `0 \u00b1 ${exponentText(size + error)}`;
  const power = Math.floor(Math.log10(size)), usual = size >= 1e-3 && size < 1e4;
  if (power + sure < 0) return `${exponentText(number, 0, true)} \u00b1 ${exponentText(error)}`;   // not even the first digit
  if (usual && sure >= 0) return numberText(number, Math.min(size < 100 ? 4 : 1, sure), true);
  return exponentText(number, Math.max(Math.min(usual ? 3 : 1, power + sure), 0), true);
}

/**
 * A number as `chipText` writes it, for a cube or a chip, with no more digits than are sure; "?" where none is.
 * @param {number} [error] By how much it may be off; 0 where it is exact.
 */
export function sureChip(number, error = 0, signed = false) {
  const text = chipText(number, signed);
  if (!(error > 0) || !Number.isFinite(number)) return text;
  const size = Math.abs(number), sure = Math.floor(-Math.log10(2 * error)), power = Math.floor(Math.log10(size || 1e-45));
  const decimals = text.includes("e") ? -power : (text.split(".")[1] ?? "").length;
  if (sure >= decimals) return text;
  if (sure >= 0) return numberText(number, sure, signed);
  return power + sure < 0 ? "?" : exponentText(number, power + sure, signed);
}

/**
 * By how much what is shown of a parameter may be off.
 * @param {{texels: object, errors?: Object<string, ?Float32Array>}} frame As `Player.show` takes it.
 */
export function errorOf({ texels, errors }, quantity, index) {
  const of = (name) => errors?.[name]?.[index] ?? 0;
  if (quantity === "|gradient|") return of("gradient");
  if (quantity !== "update/value") return of(quantity);
  const [update, weight] = [Math.abs(texels.update[index]), Math.abs(texels.weight[index])];
  const least = weight - of("weight");   // the value may be as small as this
  if (!(least > 0)) return of("update") || of("weight") ? Infinity : 0;
  return (of("update") + (of("weight") * update) / weight) / least;
}
