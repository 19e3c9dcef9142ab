"""GLSL 1.20 of the cubes: a box per plate, whose fragment shader walks the plate's grid.

A plate's own coordinates are cells: x counts columns (cell c spans c..c+1), y rows, z is 0 in the middle of its
thickness. The eye's ray is stepped from cell to cell until it meets a cube (Amanatides and Woo, "A fast voxel traversal
algorithm", 1987). The same text is compiled in variants, since a software renderer executes both sides of every `if`:

``DETAIL``  cubes of 6 px and more: gaps, rims, marks.
(none)      cubes of 1 to 6 px: flat cells without gaps, marks as patterns.
``AVERAGE`` cubes below a pixel: the mean colour of NU x NV samples of the pixel's footprint.
``MEANS``   there are more cubes in a pixel than samples: of blocks that were averaged before, see `means`.
``FLAGS``   some cell carries a mark other than "clipped".
``TILED``   some plate has gaps between convolution tiles or a last row that is not full.
``CURVED``  some plate has a logarithmic scale.
``OWN``     some cube has a look that was given by hand: see `own`; with it goes
``SIZED``   cubes are as large as their numbers, or small ones are hidden: see `sizes`.
"""

from __future__ import annotations

from dataclasses import dataclass

from .mean_shader import AVERAGE
from .sizes import LEAST

VERTEX = """
#version 120
uniform mat4 u_matrix;
uniform vec4 u_eye;          // position and 1, or direction towards the eye and 0
uniform vec2 u_sides;        // factor of a side that looks at the viewer, and of the others
attribute vec3 a_pos;        // corner of the box in cells
attribute vec3 a_origin;     // world position of cell coordinates (0, 0, 0)
attribute vec3 a_u; attribute vec3 a_v; attribute vec3 a_w;
attribute vec4 a_dims;       // columns, rows, half side, half thickness
attribute vec4 a_place;      // cells per tile and its gap (x, y), first texel (x, y)
attribute vec4 a_strides;    // tile row, row, tile column, column
attribute vec4 a_range;      // low, high, 1 for symmetric log and 2 for log, row of the colour table
// Whether the u sides look at the viewer, the v sides, cells in the last row, and what is down for marks:
// 0 v (lying plate), 1 v (standing), 2 u (standing), 3 u (lying).
attribute vec4 a_style;
varying vec4 v_pos; varying vec3 v_ray; varying vec4 v_clip;   // v_pos.w: world units from cell to cell
varying vec4 v_dims; varying vec4 v_place; varying vec4 v_strides; varying vec4 v_range; varying vec4 v_style;
void main() {
  vec3 world = a_origin + a_u * a_pos.x + a_v * a_pos.y + a_w * a_pos.z;
  vec3 ray = world * u_eye.w - u_eye.xyz;
  vec4 clip = u_matrix * vec4(world, 1.0);
  vec4 along = u_matrix * vec4(ray, 0.0);
  gl_Position = clip;
  v_pos = vec4(a_pos, length(a_u));
  v_ray = vec3(dot(ray, a_u), dot(ray, a_v), dot(ray, a_w)) / dot(a_u, a_u);   // in cells
  v_clip = vec4(clip.zw, along.zw);
  v_dims = a_dims; v_place = a_place; v_strides = a_strides; v_range = a_range;
  v_style = vec4(mix(u_sides.yy, u_sides.xx, a_style.xy), a_style.zw);   // factors of both kinds of side
}
"""

_COMMON = """
uniform sampler2D u_values; uniform sampler2D u_flags; uniform sampler2D u_colours;
uniform vec4 u_eye;          // as in the vertex shader
uniform vec2 u_atlas; uniform vec2 u_texel;   // width and height in texels, and their reciprocals
uniform float u_scale;       // device pixels of a world unit at w = 1
uniform vec4 u_shading;      // factors: rim of the main face, rim of a side, foot of a side, rim width / half
uniform vec3 u_ink; uniform vec3 u_paper; uniform vec3 u_blank; uniform vec3 u_line;
varying vec4 v_pos; varying vec3 v_ray; varying vec4 v_clip;
varying vec4 v_dims; varying vec4 v_place; varying vec4 v_strides; varying vec4 v_range; varying vec4 v_style;

// Constants of a plate travel as varyings; interpolation may disturb their last bits.
vec4 whole(vec4 x) { return floor(x + 0.5); }

// Texture coordinates of a cell; x < 0: there is nothing in it.
vec2 texel(vec2 cell) {
  vec4 place = whole(v_place); vec4 stride = whole(v_strides);
#ifdef TILED
  vec2 size = floor(v_dims.xy + 0.5);
  vec2 tile = floor((cell + 0.5) / place.xy);
  vec2 inner = cell - tile * place.xy;
  float index = tile.y * stride.x + inner.y * stride.y + tile.x * stride.z + inner.x * stride.w + place.z;
  bool gap = inner.x > place.x - 1.5 || inner.y > place.y - 1.5;
  bool past = cell.y > size.y - 1.5 && cell.x > v_style.z - 0.5;
  if (gap || past) return vec2(-1.0);
#else
  float index = cell.y * stride.y + cell.x * stride.w + place.z;
#endif
  float row = floor((index + 0.5) * u_texel.x);   // exact: an atlas of several rows is 4096 wide
  return (vec2(index - row * u_atlas.x, place.w + row) + 0.5) * u_texel;
}

// Fraction of the colour table at which a value lies: below 0 and above 1 it is clipped.
float unit(float value) {
  float linear = (value - v_range.x) * (1.0 / (v_range.y - v_range.x));
#ifdef CURVED
  float x = value / v_range.y;
  float curved = sign(x) * log(1.0 + KNEE * abs(x)) / log(1.0 + KNEE) * 0.5 + 0.5;
  float decades = log(max(value, v_range.x) / v_range.x) / log(v_range.y / v_range.x);
  return v_range.z > 1.5 ? decades : (v_range.z > 0.5 ? curved : linear);
#else
  return linear;
#endif
}

float bit(float flags, float weight) { return step(1.0, mod(floor(flags / weight), 2.0)); }

#ifdef OWN
uniform sampler2D u_own;     // looks given by hand: a colour, and 128 for one + 126 times a side (127: none)
vec3 given(vec2 uv, vec3 c) { vec4 own = texture2D(u_own, uv); return own.a * 255.0 > 127.5 ? own.rgb : c; }
#else
vec3 given(vec2 uv, vec3 c) { return c; }
#endif

#ifdef SIZED
uniform vec2 u_sizing;       // 1 if a face is as large as its number; the share of the range below which it is hidden
// Side of the cube of a texel, as a share of the largest; 0: not drawn. What carries a mark is as large as can be.
float share(vec2 uv) {
#ifdef OWN
  float side = mod(floor(texture2D(u_own, uv).a * 255.0 + 0.5), 128.0);
  if (side < 126.5) return side / 126.0;
#endif
#ifdef FLAGS
  float flags = floor(texture2D(u_flags, uv).r * 255.0 + 0.5);
  if (flags - 8.0 * bit(flags, 8.0) > 0.5) return 1.0;
#endif
  float u = clamp(unit(texture2D(u_values, uv).r), 0.0, 1.0);
  float place = v_range.z > 1.5 ? u : abs(2.0 * u - 1.0);
  if (place < u_sizing.y) return 0.0;
  return u_sizing.x > 0.5 ? max(sqrt(place), LEAST) : 1.0;
}
#endif

vec3 colour(float u) {
  float x = (clamp(u, 0.0, 1.0) * (TABLE - 1.0) + 0.5) * (1.0 / TABLE);
  return texture2D(u_colours, vec2(x, v_range.w < 0.5 ? 0.25 : 0.75)).rgb;
}

float on(float inside) { return clamp(inside + 0.5, 0.0, 1.0); }   // inside: px within an edge

// Patterns that still read when a cube is a few pixels: a checkerboard, a half, a hatch, fixed to the screen.
vec3 pattern(vec3 base, float flags, float up) {
  vec2 px = floor(gl_FragCoord.xy / 2.0);
  float checker = mod(px.x + px.y, 2.0);
  float hatch = step(mod(gl_FragCoord.x + gl_FragCoord.y, 5.0), 1.5);
  base = mix(base, mix(u_blank, u_line, hatch), bit(flags, 32.0));
  base = mix(base, u_ink, bit(flags, 2.0) * step(up, 0.0));
  base = mix(base, u_ink, bit(flags, 4.0) * step(0.0, up));
  return mix(base, mix(u_ink, u_paper, checker), bit(flags, 1.0));
}
"""

_MARKS = """
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
"""

_WALK = """
void main() {
  float dim = length(v_ray);
  vec3 d = v_ray; vec3 tiny = vec3(1e-6) * dim;
  d = mix(d, tiny, vec3(lessThan(abs(d), tiny)));
  vec3 p = v_pos.xyz; vec3 iv = 1.0 / d; vec3 sg = sign(d);
  vec2 size = floor(v_dims.xy + 0.5); float depth = v_dims.w;
#ifdef DETAIL
  float half_side = v_dims.z;
#else
  float half_side = 0.5;
#endif
  vec3 low = vec3(vec2(0.5 - v_dims.z), -depth); vec3 high = vec3(size - 0.5 + v_dims.z, depth);
  vec3 ta = (low - p) * iv; vec3 tb = (high - p) * iv;
  vec3 tmin = min(ta, tb); vec3 tmax = max(ta, tb);
  float start = u_eye.w > 0.5 ? -0.9999 : -1e30;   // just before the eye, which may be inside the box
  float t = max(max(tmin.x, start), max(tmin.y, tmin.z)); float tend = min(tmax.x, min(tmax.y, tmax.z));
  float zin = (-depth * sg.z - p.z) * iv.z; float zout = (depth * sg.z - p.z) * iv.z;
  vec2 cell = clamp(floor(p.xy + d.xy * t), vec2(0.0), size - 1.0);
  vec2 uv = vec2(-1.0); vec2 side = vec2(0.0); float hit = 0.0; bool found = false;
#ifdef SIZED
  float largest = half_side; float thick = depth; float middle = 0.0;
#endif
  for (int k = 0; k < 128; k++) {
    vec2 c = cell + 0.5;
#ifdef SIZED
    uv = texel(cell); float s = uv.x < 0.0 ? 0.0 : share(uv);
#ifndef DETAIL
    s = step(1e-6, s);   // less than a pixel would sparkle: below six pixels a smaller cube is a darker cell
#endif
    half_side = largest * s; thick = depth * s; middle = thick - depth;   // it stands on the foot of its plate
    float zin = (middle - thick * sg.z - p.z) * iv.z; float zfar = (middle + thick * sg.z - p.z) * iv.z;
#endif
    vec2 e = (c - half_side * sg.xy - p.xy) * iv.xy; vec2 x = (c + half_side * sg.xy - p.xy) * iv.xy;
    float tin = max(max(e.x, e.y), max(zin, start));
#ifdef SIZED
    float tout = s > 0.0 ? min(min(x.x, x.y), zfar) : -3e38;
#else
    float tout = min(min(x.x, x.y), zout);
#endif
    if (tin <= tout) {
      uv = texel(cell);
      if (uv.x >= 0.0) {
        found = true; hit = tin; side = vec2(e.x == tin, e.y == tin && e.x != tin); break;
      }
    }
    vec2 next = (c + 0.5 * sg.xy - p.xy) * iv.xy;
    if (min(next.x, next.y) > min(tend, zout)) break;
    if (next.x < next.y) cell.x += sg.x; else cell.y += sg.y;
    if (cell.x < 0.0 || cell.y < 0.0 || cell.x >= size.x || cell.y >= size.y) break;
  }
  if (!found) discard;
  vec2 zw = v_clip.xy + v_clip.zw * hit;
  gl_FragDepth = clamp(zw.x / zw.y * 0.5 + 0.5, 0.0, 1.0);
  vec3 q = p + d * hit;
#ifdef SIZED
  q.z -= middle; depth = thick;
#endif
  vec2 f = (q.xy - cell - 0.5) / half_side;
  float g = q.z / depth * -sg.z;             // 1 on the main face, -1 at the foot
  bool front = side.x + side.y < 0.5;
  float shade = front ? 1.0 : (side.x > 0.5 ? v_style.x : v_style.y);
  float foot = front ? 1.0 : mix(u_shading.z, 1.0, g * 0.5 + 0.5);
  float value = texture2D(u_values, uv).r;
#ifdef FLAGS
  float flags = floor(texture2D(u_flags, uv).r * 255.0 + 0.5);
  if (bit(flags, 1.0) + bit(flags, 2.0) + bit(flags, 4.0) > 0.5) {
    value = bit(flags, 2.0) > 0.5 ? v_range.y : (bit(flags, 4.0) > 0.5 ? v_range.x : 0.5 * (v_range.x + v_range.y));
  }
#else
  float flags = 0.0;
#endif
  float u = unit(value);
  vec3 c = given(uv, colour(u));
  vec2 a = v_style.w > 1.5 ? f.yx : f;
#ifdef DETAIL
  // Pixels per unit across the lines x = const and y = const of this face: its area on screen over the other side.
  vec3 n = d / dim; vec3 o = sqrt(max(1.0 - n * n, 1e-4)); float ppu = u_scale * v_pos.w / zw.y;
  vec2 across = front ? abs(n.z) / o.yx : (side.x > 0.5 ? abs(n.x) / o.zy : abs(n.y) / o.zx);
  vec2 extent = front ? vec2(half_side) : vec2(half_side, depth);
  vec2 px = max(across * ppu * extent, 1e-3);
  vec2 b = front ? f : (side.x > 0.5 ? vec2(f.y, -g) : vec2(f.x, -g));
  vec2 inside = (1.0 - abs(b)) * px;         // px from the edges of the face
  float rim = u_shading.w * ppu * half_side;
  float edge = max(on(rim - inside.x), on(rim - inside.y)) * min(rim, 1.0);
  float outline = max(on(1.2 - inside.x), on(1.2 - inside.y));
  // On a lying plate up is towards the main face; on a standing one marks stand upright on the sides as well.
  bool upright = abs(v_style.w - (side.x > 0.5 ? 1.0 : 2.0)) < 0.5;
  vec2 place = front ? a : (upright ? b.yx : b);
  float clip = v_range.w > 0.5 ? 0.0 : step(1.0 + 1e-5, u) - step(u, -1e-5);
  float size_px = min(px.x, px.y);
  vec3 marked = mark(c, place, front, flags, clip, size_px);
  c = size_px < 4.0 ? pattern(c, flags, -a.y) : marked;
  float dark = front ? u_shading.x : min(u_shading.y, shade);
  c *= mix(shade, dark, edge) * foot;
#ifdef FLAGS
  if (size_px >= 4.0) c = hollow(c, place, front, flags, outline, size_px);
#endif
#else
#ifdef SIZED
  float s = share(uv); c = mix(u_blank, c, s * s);
#endif
  c = pattern(c, flags, -a.y) * shade * foot;
#endif
  gl_FragColor = vec4(c, 1.0);
}
"""


@dataclass(frozen=True, slots=True)
class Variant:
    """Which of the shaders: see the module's text.

    Attributes
    ----------
    detail, flags, tiled, curved, sized, own, means : bool
        The names above.
    samples : int
        Samples of a pixel's footprint along each of the screen's axes; 0 walks the grid.
    """

    detail: bool = False
    samples: int = 0
    flags: bool = False
    tiled: bool = False
    curved: bool = False
    sized: bool = False
    own: bool = False
    means: bool = False


def fragment(variant: Variant, *, knee: float, table: int) -> str:
    """The fragment shader of one variant.

    Parameters
    ----------
    variant : Variant
        What it can do.
    knee : float
        Of the symmetric-log scale.
    table : int
        Texels of a colour map.
    """
    head = f"#version 120\n#define KNEE {knee:.1f}\n#define TABLE {table:.1f}\n#define LEAST {LEAST:g}\n"
    head += "".join(
        f"#define {name.upper()}\n"
        for name in ("flags", "tiled", "curved", "sized", "own", "means")
        if getattr(variant, name)
    )
    if variant.samples:
        return head + f"#define NU {variant.samples}\n#define NV {variant.samples}\n" + _COMMON + AVERAGE
    return head + ("#define DETAIL\n" + _COMMON + _MARKS if variant.detail else _COMMON) + _WALK
