// Flat drawings: texts, curves and legends on canvases of their own.

let bySoftware = false;

/** Whether a processor draws everything here: known when the first cubes have their context. */
export function drawFlatBySoftware(software) {
  bySoftware = software;
}

/**
 * What draws on a canvas. Where there is no graphics card a browser may still play one, also for flat drawings: then the
 * same processor draws them by itself in half of the time.
 */
export function flatContext(canvas) {
  return canvas.getContext("2d", { willReadFrequently: bySoftware });
}
