// The mathematics of the picture, until each part of it has its own file.
export function earlyBasis(az, el) {
  const a = (az * Math.PI) / 180, e = (el * Math.PI) / 180;
  const right = [Math.cos(a), Math.sin(a), 0];
  const back = [Math.sin(a) * Math.cos(e), -Math.cos(a) * Math.cos(e), Math.sin(e)];
  const up = [back[1] * right[2] - back[2] * right[1], back[2] * right[0] - back[0] * right[2], back[0] * right[1] - back[1] * right[0]];
  return [right, up, back];
}
export const earlyDot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export function earlyCameraOf(pose, size, points) {
  const axes = earlyBasis(pose.az, pose.el);
  const persp = pose.eye !== null;
  const eye = persp ? pose.centre.map((c, k) => c + axes[0][k] * pose.eye[0] + axes[1][k] * pose.eye[1] + axes[2][k] * pose.eye[2]) : pose.centre;
  let low = Infinity, high = -Infinity;
  for (const p of points) { const z = -earlyDot([p[0] - eye[0], p[1] - eye[1], p[2] - eye[2]], axes[2]); low = Math.min(low, z); high = Math.max(high, z); }
  const margin = 0.02 * (high - low + 1);
  let near = low - margin, far = high + margin;
  if (persp) { far = Math.max(far, 1e-3); near = Math.max(near, 0.5 * low, 0.01 * far); }
  const shift = persp ? [pose.place[0] + (pose.scale * pose.eye[0]) / pose.eye[2], pose.place[1] - (pose.scale * pose.eye[1]) / pose.eye[2]] : pose.place;
  const form = axes.map((v) => [...v, -earlyDot(v, eye)]), one = [0, 0, 0, 1];
  const depth = form[2].map((x) => -x), w = persp ? depth : one;
  const z = one.map((o, k) => (persp ? (near + far) * depth[k] - 2 * near * far * o : 2 * depth[k] - (near + far) * o));
  const matrix = [
    one.map((_, k) => (2 * (pose.scale * form[0][k] + shift[0] * w[k])) / size[0] - w[k]),
    one.map((_, k) => w[k] - (2 * (-pose.scale * form[1][k] + shift[1] * w[k])) / size[1]),
    z.map((x) => x / (far - near)), w];
  return { size, matrix, eye: persp ? [...eye, 1] : [...axes[2], 0], scale: pose.scale, axes, shift, middle: pose.centre, columns: new Float32Array([0, 1, 2, 3].flatMap((k) => matrix.map((r) => r[k]))) };
}
export function earlyProject(camera, p) {
  const [x, y, , w] = camera.matrix.map((r) => r[0] * p[0] + r[1] * p[1] + r[2] * p[2] + r[3]);
  return [((x / w + 1) / 2) * camera.size[0], ((1 - y / w) / 2) * camera.size[1], w];
}
export const earlyTurned = (pose, dx, dy) => ({ ...pose, az: pose.az - 0.4 * dx, el: Math.max(-89, Math.min(89, pose.el + 0.4 * dy)) });
export const earlyShifted = (pose, dx, dy) => ({ ...pose, place: [pose.place[0] + dx, pose.place[1] + dy] });
export const earlyZoomed = (pose, f, at) => ({ ...pose, scale: pose.scale * f, place: pose.place.map((x, k) => at[k] + f * (x - at[k])) });
export const earlySizeOf = (pose) => (pose.eye ? pose.scale / pose.eye[2] : pose.scale);
export function earlyBetween(start, end, share) {
  const turn = ((end.az - start.az + 540) % 360) - 180;
  const mix = (a, b) => a.map((x, k) => x + share * (b[k] - x));
  return { az: end.az - (1 - share) * turn, el: start.el + share * (end.el - start.el), centre: end.centre, place: mix(start.place, end.place), scale: start.scale * (end.scale / start.scale) ** share, eye: end.eye && start.eye ? mix(start.eye, end.eye) : end.eye };
}
function earlyRay(c, x, y) {
  const a = (x - c.shift[0]) / c.scale, b = -(y - c.shift[1]) / c.scale, [r, u, k] = c.axes;
  if (c.eye[3]) return [c.eye.slice(0, 3), r.map((_, i) => a * r[i] + b * u[i] - k[i])];
  return [r.map((_, i) => c.middle[i] + a * r[i] + b * u[i] + 1e3 * k[i]), k.map((v) => -v)];
}
function earlyElement(p, row, col) {
  const ir = row % p.period[0], ic = col % p.period[1];
  if (ir === p.period[0] - 1 || ic === p.period[1] - 1 || (row === p.cells[0] - 1 && col >= p.style[2])) return -1;
  const [a, b, c, d] = p.strides;
  return Math.floor(row / p.period[0]) * a + ir * b + Math.floor(col / p.period[1]) * c + ic * d;
}
function earlyWalk(p, o, d) {
  const rel = [0, 1, 2].map((k) => o[k] - p.origin[k] + 0.5 * (p.axes[0][k] + p.axes[1][k])), pp = earlyDot(p.axes[0], p.axes[0]);
  const q = p.axes.map((v) => earlyDot(v, rel) / pp), s = p.axes.map((v) => earlyDot(v, d) / pp);
  for (let k = 0; k < 3; k++) if (Math.abs(s[k]) < 1e-9) s[k] = 1e-9;
  const g = s.map(Math.sign), [rows, cols] = p.cells, edge = 0.5 - p.half, reach = p.depth * g[2];
  const zin = (-reach - q[2]) / s[2], zout = (reach - q[2]) / s[2];
  const xa = (edge - q[0]) / s[0], xb = (cols - edge - q[0]) / s[0], ya = (edge - q[1]) / s[1], yb = (rows - edge - q[1]) / s[1];
  const t = Math.max(Math.min(xa, xb), Math.min(ya, yb), zin, 1e-4), end = Math.min(Math.max(xa, xb), Math.max(ya, yb), zout);
  if (t > end) return null;
  let col = Math.min(Math.max(Math.floor(q[0] + s[0] * t), 0), cols - 1), row = Math.min(Math.max(Math.floor(q[1] + s[1] * t), 0), rows - 1);
  for (let k = 0; k < 128; k++) {
    const x = col + 0.5 - q[0], y = row + 0.5 - q[1];
    const tin = Math.max((x - p.half * g[0]) / s[0], (y - p.half * g[1]) / s[1], zin);
    if (tin <= Math.min((x + p.half * g[0]) / s[0], (y + p.half * g[1]) / s[1], zout)) {
      const e = earlyElement(p, row, col);
      if (e >= 0) return { t: tin, element: e };
    }
    const nx = (x + 0.5 * g[0]) / s[0], ny = (y + 0.5 * g[1]) / s[1];
    if (Math.min(nx, ny) > end) return null;
    if (nx < ny) col += g[0]; else row += g[1];
    if (col < 0 || row < 0 || col >= cols || row >= rows) return null;
  }
  return null;
}
export function earlyPick(plates, camera, at) {
  const [o, dir] = earlyRay(camera, at[0], at[1]); let best = null;
  plates.forEach((p, plate) => { const hit = earlyWalk(p, o, dir); if (hit && (!best || hit.t < best.t)) best = { ...hit, plate, flat: p.start >= 0 ? p.start + hit.element : null }; });
  return best;
}
const EARLY_KNEE = 80;
export function earlyUnit(range, value) {
  if (range.scale === "symlog") { const x = value / range.high; return (Math.sign(x) * Math.log1p(EARLY_KNEE * Math.abs(x))) / Math.log1p(EARLY_KNEE) * 0.5 + 0.5; }
  if (range.scale === "log") return Math.log(Math.max(value, range.low) / range.low) / Math.log(range.high / range.low);
  return (value - range.low) / (range.high - range.low);
}
export function earlyExtent(values) {
  let top = 0, count = 0;
  for (const v of values) { const x = Math.abs(v); if (x < Infinity) { count++; if (x > top) top = x; } }
  if (!top) return 1;
  let sum = 0;
  for (const v of values) { const x = Math.abs(v); if (x < Infinity) sum += (x / top) * (x / top); }
  const v = Math.min(top, 3 * top * Math.sqrt(sum / count));
  return v >= 2 ** -126 ? v : 1;
}
const earlyHexes = (c) => [1, 3, 5].map((k) => parseInt(c.slice(k, k + 2), 16) / 255);
/** entries (257,3) bytes */
export function earlyEntries(map) {
  if (map.table) return Uint8Array.from(atob(map.table), (c) => c.charCodeAt(0));
  const stops = map.stops.map(earlyHexes), out = new Uint8Array(257 * 3);
  for (let i = 0; i < 257; i++) { const at = (i / 256) * (stops.length - 1), low = Math.min(Math.floor(at), stops.length - 2); for (let k = 0; k < 3; k++) out[3 * i + k] = earlyRound(255 * (stops[low][k] + (at - low) * (stops[low + 1][k] - stops[low][k]))); }
  return out;
}
export function earlyTable(map, count) {
  const e = earlyEntries(map), out = new Uint8Array(3 * count);
  for (let i = 0; i < count; i++) { const at = (i / (count - 1)) * 256, low = Math.min(Math.floor(at), 255); for (let k = 0; k < 3; k++) out[3 * i + k] = earlyRound(255 * (e[3 * low + k] / 255 + (at - low) * (e[3 * low + 3 + k] - e[3 * low + k]) / 255)); }
  return out;
}
export function earlyRound(x) { const n = Math.round(x); return n - x === 0.5 && n % 2 ? n - 1 : n; }
