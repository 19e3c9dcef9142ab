// Convex outlines of points on screen.

/** Corners of the hull of points, in order around it. */
export function convexHull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const turn = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
  const half = (along) => {
    const chain = [];
    for (const p of along) {
      while (chain.length > 1 && turn(chain[chain.length - 2], chain[chain.length - 1], p) <= 0) chain.pop();
      chain.push([p[0], p[1]]);
    }
    chain.pop();
    return chain;
  };
  if (sorted.length < 3) return sorted.map(([x, y]) => [x, y]);
  return [...half(sorted), ...half(sorted.reverse())];
}

/** A convex ring moved outward by so many pixels on every side; a sharp corner is cut off at twice the distance. */
export function grownRing(ring, air) {
  if (ring.length < 3) return ring;
  const count = ring.length;
  const middle = [0, 1].map((k) => ring.reduce((sum, p) => sum + p[k], 0) / count);
  let outward = ring.map((p, k) => {
    const q = ring[(k + 1) % count];
    const long = Math.max(Math.hypot(q[0] - p[0], q[1] - p[1]), 1e-9);
    return [(q[1] - p[1]) / long, (p[0] - q[0]) / long];
  });
  const side = outward.reduce((sum, n, k) => {
    const q = ring[(k + 1) % count];
    const half = [(ring[k][0] + q[0]) / 2 - middle[0], (ring[k][1] + q[1]) / 2 - middle[1]];
    return sum + n[0] * half[0] + n[1] * half[1];
  }, 0);
  if (side < 0) outward = outward.map(([x, y]) => [-x, -y]);
  return ring.map((p, k) => {
    const before = outward[(k + count - 1) % count];
    const both = [before[0] + outward[k][0], before[1] + outward[k][1]];
    const reach = Math.min(2 / Math.max(both[0] ** 2 + both[1] ** 2, 1e-9), 2);
    return [p[0] + air * both[0] * reach, p[1] + air * both[1] * reach];
  });
}
