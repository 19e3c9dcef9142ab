// What stands on the cubes of an opened step; as view/micro/on_cubes.py.

import { pointOf } from "./boxes.js";
import { project } from "./camera.js";
import { inkOn, roomOn } from "./values.js";
import { PHASE } from "./walks.js";

const ABOVE_SIZE = 13, BELOW_SIZES = [17, 16, 15, 14, 13];
const TWO_LINES = 44; // pixels of a face from top to bottom that hold two lines
const FACE_AIR = 6, FACE_CLOSE = 3;
const FACES_UP_TO = 64; // weights that have faces

function bareFace(text) {
  return text.replace(/^(= |\u2248 |w' )/, "");
}

// Whether there are two lines, the size of the number, whether it is bold; null where nothing has room.
function formOf(ink, [wide, high], faces, alone) {
  const widest = (texts, size, bold) => Math.max(...texts.map(text => ink.measure(text, size, bold)));
  const above = widest(faces.map(face => face[0]), ABOVE_SIZE, false), below = faces.map(face => face[1]);
  if (high >= TWO_LINES && above + FACE_AIR <= wide) {
    const size = BELOW_SIZES.find(one => widest(below, one, true) + FACE_AIR <= wide);
    if (size) return [true, size, true];
  }
  const bare = below.map(bareFace), sizes = [...BELOW_SIZES.map(size => [size, true]), [ABOVE_SIZE, false]];
  const fitting = sizes.find(([size, bold]) => widest(bare, size, bold) + FACE_CLOSE <= wide && size + 4 <= high);
  return alone && fitting ? [false, ...fitting] : null;
}

/**
 * The faces of a micro-step, by plate, and how they are written; the cubes that have one are left to them.
 * @returns {Array} For each plate: its number, its faces by element, and how they are written.
 */
function facesOn(overlay, walk, at) {
  const { document, view, ink } = overlay, faces = walk.facesAt(at);
  const weights = document.plates.filter(plate => plate.kind !== "activation").reduce((sum, plate) => sum + plate.size, 0);
  if (!faces.size || weights > FACES_UP_TO) return [];
  return document.plates.flatMap((plate, index) => {
    if (plate.kind === "activation") return [];
    const own = new Map([...faces].filter(([k]) => k >= plate.start && k < plate.start + plate.size).map(([k, face]) => [k - plate.start, face]));
    const form = own.size ? formOf(ink, roomOn(plate, view.camera), [...own.values()], walk.phaseAt(at) !== PHASE.forward) : null;
    return form ? [[plate, index, own, form]] : [];
  });
}

/**
 * What a frame of a micro-step brings along for the overlay: which numbers it hides, and what is written above the cubes.
 * @param {function(): string} quantity What the cubes show now.
 */
export function inkOf(walk, at, quantity) {
  const agrees = () => quantity() === walk.quantityAt(at);
  return {
    covers: overlay => new Set(agrees() ? facesOn(overlay, walk, at).flatMap(([plate, , own]) => [...own.keys()].map(k => plate.texel + k)) : []),
    above: (overlay, colourOf) => {
      if (agrees()) for (const one of facesOn(overlay, walk, at)) writeFaces(overlay, one, colourOf);
    },
  };
}

function writeFaces({ ink, view, places }, [plate, index, own, [two, size, bold]], colourOf) {
  for (const [element, [above, below]] of own) {
    const top = project(view.camera, pointOf(plate, element, [0, 0, plate.depth]));
    const place = places.size ? places.places[index][element] : top;
    if (!place) continue;
    const [x, y] = place, colour = inkOn(colourOf(index, element));
    if (two) {
      ink.text(x, y - 3, above, ABOVE_SIZE, colour, { end: "middle" });
      ink.text(x, y + 15, below, size, colour, { bold: true, end: "middle" });
    } else ink.text(x, y + 0.357 * size, bareFace(below), size, colour, { bold, end: "middle" });
  }
}
