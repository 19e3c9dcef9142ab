// Names beside rows of cubes, at the height of their main faces, each nearest to its own row from every camera; as
// view/notes/placer.py. A name at the height of the floor would be read as that of the row in front.

import { cubeCorners, pointOf } from "./boxes.js";

const CAPITALS = 0.714; // height of a capital, of the size
const ROW_GAP = 12; // pixels from the first cube's edge to its name, and from the tray where that reaches further
const TRAY_GAP = 7;
const ACROSS_GAP = 11; // above or below a cube
const LEVEL = 0.5; // rows flatter than this on screen (a cosine) have their names above or below their ends
const FURTHER = [0, 14, 30]; // pixels along the row, where cubes of the next one are in the way
const TOO_FAR = 55; // pixels from its row at which a name no longer seems to belong to it
const CLEARLY = 2; // pixels by which a name is nearer to its own row than to any other
const ROW_TYPES = [15, 13];

/**
 * A name for each row of a plate beside the first (`side` -1) or the last (+1) of its cubes, or none at all.
 * @param {object} plate not folded
 * @param {string[]} names one for each row
 * @param {number} side -1 or 1
 * @param {(xyz: number[]) => number[]} project world points to logical pixels
 * @param {Taken} taken where cubes and other texts are; the names are marked in it
 * @param {(text: string, size: number) => number} measure
 * @param {number[][] | null} tray its corners on screen
 * @returns {{text: string, x: number, y: number, size: number, end: string}[]}
 */
export function rowNames(plate, names, side, project, taken, measure, tray = null) {
  if (names.length !== plate.shape[0] || plate.folded || plate.tile[0]) return [];
  const faces = facesOf(plate, side < 0 ? 0 : plate.shape[1] - 1, project);
  const middles = faces.map((face) => [0, 1].map((k) => face.reduce((sum, p) => sum + p[k], 0) / 4));
  const edges = faces.map((face) => [0, 1].map((k) => (side < 0 ? face[0][k] + face[2][k] : face[1][k] + face[3][k]) / 2));
  const steps = edges.slice(1).map((edge, k) => Math.max(Math.abs(edge[0] - edges[k][0]), Math.abs(edge[1] - edges[k][1])));
  if (steps.length && Math.min(...steps) < CAPITALS * 13) return []; // closer than letters are high
  const ways = edges.map((edge, k) => {
    const way = [edge[0] - middles[k][0], edge[1] - middles[k][1]];
    const long = Math.max(Math.hypot(...way), 1e-9);
    return way.map((x) => x / long);
  });
  for (const size of ROW_TYPES) {
    for (const further of FURTHER) {
      for (const upright of [false, true]) {
        const placed = names.map((name, k) => {
          const edge = edges[k].map((x, n) => x + further * ways[k][n]);
          return besideRow(edge, ways[k], size, name, tray, upright, measure);
        });
        const boxes = placed.map((name) => nameBox(name, measure));
        if (namesFit(boxes, faces, taken)) {
          for (const [x, y, wide, high] of boxes) taken.addBox([x - 2, y - 2, wide + 4, high + 4]);
          return placed;
        }
      }
    }
  }
  return [];
}

/**
 * A name over the back edge of each column of a plate, or none at all.
 * @param {object} plate
 * @param {string[]} names one for each column
 * @param {(xyz: number[]) => number[]} project world points to logical pixels
 * @param {(text: string, size: number, bold?: boolean) => number} measure
 * @param {number} top what the names stay below
 * @param {(x: number, y: number, width: number, height: number) => boolean} free whether a box around (x, y) has room;
 *     it is taken then
 * @returns {{text: string, x: number, y: number, size: number, end: string}[]}
 */
export function columnNames(plate, names, project, measure, top, free) {
  if (plate.folded || names.length !== plate.shape[1]) return [];
  const backs = names.map((_, j) => project(pointOf(plate, j, [0, -plate.half, plate.depth])));
  const widths = names.map((name) => measure(name, 13, true));
  const apart = backs.slice(1).every(([x], k) => (widths[k] + widths[k + 1]) / 2 + 5 < Math.abs(x - backs[k][0]));
  const high = Math.min(...backs.map(([, y]) => y)) - 18 > top;
  if (!apart || !high || !backs.every(([x, y], k) => free(x, y - 12, widths[k], 20))) return [];
  return backs.map(([x, y], k) => ({ text: names[k], x, y: y - 7, size: 13, end: "middle" }));
}

/** Left, top, width and height of a name's capitals. */
function nameBox({ text, x, y, size, end }, measure) {
  const [wide, high] = [measure(text, size), CAPITALS * size];
  return [x - { left: 0, middle: 0.5, right: 1 }[end] * wide, y - high, wide, high];
}

// The main faces of the cubes in a column, four corners each; their backs where those are seen.
function facesOf(plate, column, project) {
  const cubes = Array.from({ length: plate.shape[0] }, (_, row) => cubeCorners(plate, row * plate.shape[1] + column).map(project));
  const [origin, across, down] = cubes[0];
  const turn = (across[0] - origin[0]) * (down[1] - origin[1]) - (across[1] - origin[1]) * (down[0] - origin[0]);
  const [u, v, w] = plate.axes;
  const handed = u[0] * (v[1] * w[2] - v[2] * w[1]) - u[1] * (v[0] * w[2] - v[2] * w[0]) + u[2] * (v[0] * w[1] - v[1] * w[0]);
  return cubes.map((corners) => (turn * handed > 0 ? corners.slice(0, 4) : corners.slice(4)));
}

// A name outside of the edge of a face; `way` leads out of the row.
function besideRow([x, y], way, size, text, tray, upright, measure) {
  const half = (CAPITALS * size) / 2;
  if (Math.abs(way[0]) < LEVEL !== upright) { // the row runs up and down on screen
    const wide = measure(text, size) / 2;
    if (way[1] < 0) {
      const foot = Math.min(y - ACROSS_GAP, trayReach(tray, x - wide, x + wide, 1, -1) - TRAY_GAP);
      return { text, x, y: foot, size, end: "middle" };
    }
    const top = Math.max(y + ACROSS_GAP, trayReach(tray, x - wide, x + wide, 1, 1) + TRAY_GAP);
    return { text, x, y: top + 2 * half, size, end: "middle" };
  }
  if (way[0] < 0) {
    const right = Math.min(x - ROW_GAP, trayReach(tray, y - half, y + half, 0, -1) - TRAY_GAP);
    return { text, x: right, y: y + half, size, end: "right" };
  }
  const left = Math.max(x + ROW_GAP, trayReach(tray, y - half, y + half, 0, 1) + TRAY_GAP);
  return { text, x: left, y: y + half, size, end: "left" };
}

// How far a tray reaches along an axis (0 x, 1 y; `sign` says which way) within a band of the other axis.
function trayReach(tray, low, high, axis, sign) {
  let far = -Infinity;
  (tray ?? []).forEach((p, k) => {
    const q = tray[(k + 1) % tray.length];
    const [a, b] = p[1 - axis] <= q[1 - axis] ? [p, q] : [q, p];
    const [start, end] = [Math.max(low, a[1 - axis]), Math.min(high, b[1 - axis])];
    if (start > end) return;
    const span = Math.max(b[1 - axis] - a[1 - axis], 1e-9);
    for (const at of [start, end]) far = Math.max(far, sign * (a[axis] + ((b[axis] - a[axis]) * (at - a[1 - axis])) / span));
  });
  return sign * far;
}

// Whether the names have room, touch no other, and each is nearest to its own row.
function namesFit(boxes, faces, taken) {
  if (boxes.some(([x, y, wide, high]) => taken.cost([x - 2, y - 2, wide + 4, high + 4]) > 0.5)) return false;
  for (const [k, [x, y, wide, high]] of boxes.entries()) {
    for (const [left, top, across, down] of boxes.slice(0, k)) {
      if (x < left + across + 6 && left < x + wide + 6 && y < top + down + 4 && top < y + high + 4) return false;
    }
  }
  return boxes.every((box, k) => {
    const away = faces.map((face) => boxToFace(box, face));
    const own = away[k];
    away[k] = Infinity;
    return own <= TOO_FAR && Math.min(...away) >= own + CLEARLY;
  });
}

// Distance of a box from a face, corners in the order of `cubeCorners`.
function boxToFace([x, y, wide, high], face) {
  const mine = [[x, y], [x + wide, y], [x + wide, y + high], [x, y + high]];
  const theirs = [face[0], face[1], face[3], face[2]];
  return Math.min(toEdges(mine, theirs), toEdges(theirs, mine));
}

function toEdges(points, ring) {
  let least = Infinity;
  ring.forEach((p, k) => {
    const q = ring[(k + 1) % ring.length];
    const way = [q[0] - p[0], q[1] - p[1]];
    const long = Math.max(way[0] ** 2 + way[1] ** 2, 1e-12);
    for (const point of points) {
      const to = [point[0] - p[0], point[1] - p[1]];
      const along = Math.min(Math.max((to[0] * way[0] + to[1] * way[1]) / long, 0), 1);
      least = Math.min(least, Math.hypot(to[0] - along * way[0], to[1] - along * way[1]));
    }
  });
  return least;
}
