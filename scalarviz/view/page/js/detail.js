// How a plate is drawn by the size of its cubes: once for the shaders and for what is under the pointer.

import { dot3, pixelsPerUnit, towardsEye } from "./camera.js";

/** Samples along each of a pixel's axes; where that is fewer than the cubes that it covers, blocks are averaged. */
export const SAMPLES = 4;

/** World units from one cube of a plate to the next. */
export function pitchOf(plate) {
  return Math.sqrt(dot3(plate.axes[0], plate.axes[0]));
}

/** The middle of the box around a plate, in the world. */
export function middleOf({ origin, axes, cells: [rows, columns] }) {
  return origin.map((x, k) => x + (axes[0][k] * (columns - 1)) / 2 + (axes[1][k] * (rows - 1)) / 2);
}

/**
 * How many rows or columns of a plate, whichever are denser, one device pixel covers at its middle.
 * @param {number} density device pixels of one of the camera's
 */
export function cellsPerPixel(plate, camera, density) {
  const middle = middleOf(plate);
  const ray = towardsEye(camera, middle);
  const far = Math.sqrt(dot3(ray, ray));
  const pitch = pitchOf(plate);
  const [across, down, out] = plate.axes.map((axis) => dot3(axis, ray) / far / pitch);
  const size = pixelsPerUnit(camera, middle) * density * pitch;
  const flat = Math.sqrt(Math.max(1 - Math.min(across * across, down * down), 1e-9));
  return flat / (size * Math.max(Math.abs(out), 1e-3));
}

/** Whether blocks of a plate can be averaged: its cubes are one matrix without gaps. */
export function averagesBlocks(plate) {
  return !(plate.folded || plate.tile[0]);
}

/**
 * How a plate is drawn: in detail, as flat cells, or as the mean colour of samples.
 * @param {number} detailPixels from this size on, in device pixels, cubes have gaps, rims and marks
 * @returns {{detail: boolean, samples: number, means: boolean}}
 */
export function variantFor(plate, camera, density, detailPixels) {
  const dense = cellsPerPixel(plate, camera, density);
  if (dense <= 1 / detailPixels) return { detail: true, samples: 0, means: false };
  const samples = dense <= 1 ? 0 : Math.min(Math.ceil(dense), SAMPLES);
  return { detail: false, samples, means: dense > SAMPLES && averagesBlocks(plate) };
}
