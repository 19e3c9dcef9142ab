// A chevron: |y - (y0 +- 0.4|x|)| < t, apex up for dir = 1; y counts downwards.
float chevron(vec2 a, float y0, float dir, float px) {
  float d = abs(a.y - y0 - dir * 0.36 * (abs(a.x) - 0.25));
  return on((0.085 - d) * px) * on((0.5 - abs(a.x)) * px);
}

// The colour of a face with its marks. a: place on the face, -1..1, y down; px: device pixels per unit of a.
vec3 mark(vec3 c, vec2 a, bool front, float flags, float clip, float px) {
  float large = step(30.0, px);             // room for a number in the middle
  float m = 0.0;
  float nan = bit(flags, 1.0); float above = bit(flags, 2.0); float below = bit(flags, 4.0);
  float dir = above - below;
  if (front) {
    float y0 = mix(-0.22, -0.62, large);
    m = max(chevron(a, y0 * (large > 0.5 ? dir : 1.0), dir, px), (1.0 - large) * chevron(a, y0 + 0.5, dir, px));
    c = mix(c, u_ink, m * abs(dir));
    // clipped: teeth along the far edge (+) or the near one (-)
    float y = clip * a.y;                   // -1 at the far edge of +, and at the near edge of -
    float tooth = 1.0 - 2.0 * abs(fract(a.x * 3.6 + 0.5) - 0.5);
    float bar = on((y + 0.91) * px) * on((-0.68 - y) * px) * on((0.9 - abs(a.x)) * px) * abs(clip);
    c = mix(c, u_ink, bar);
    c = mix(c, u_paper, bar * on((-0.70 - y) * px) * on((y + 0.70 + 0.19 * tooth) * px));
    // frozen: four bolts
    float r = length(abs(a) - vec2(0.76, 0.72));
    c = mix(c, u_ink, bit(flags, 8.0) * on((0.135 - r) * px));
    c = mix(c, u_paper, bit(flags, 8.0) * on((0.075 - r) * px));
  } else {
    m = max(chevron(a, -0.25, dir, px), chevron(a, 0.2, dir, px));
    c = mix(c, c * 0.45, m * abs(dir));
  }
  float checks = mod(floor(a.x * 2.0 + 8.0) + floor(a.y * 2.0 + 8.0), 2.0);
  return mix(c, mix(u_ink, u_paper, checks), nan);
}

// Not computed and dead replace the colour altogether. edge: 1 on the face's outline.
vec3 hollow(vec3 c, vec2 a, bool front, float flags, float edge, float px) {
  float f = front ? 1.0 : 0.0;
  float stripe = abs(fract((a.y - 0.7 * a.x) * 1.9) - 0.5) / 1.9 / 1.2;   // distance from a line, in units of a
  float clear = step(30.0, px) * step(abs(a.x), 0.66) * step(abs(a.y), 0.25);
  float line = on((0.028 - stripe) * px) * step(max(abs(a.x), abs(a.y)), 0.86) * (1.0 - clear);
  vec3 hatched = mix(u_blank * mix(0.75, 1.0, f), u_line, f * max(line, edge * 0.8) * 0.75);
  float cross = on((0.045 - abs(abs(a.x) - abs(a.y)) * 0.7) * px) * step(max(abs(a.x), abs(a.y)), 0.5);
  vec3 dead = mix(u_blank * 0.72, u_line, max(f * cross, edge));
  c = mix(c, dead, bit(flags, 16.0));
  return mix(c, hatched, bit(flags, 32.0));
}
