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
#ifdef LIFTED
  return 1.0;
#endif
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
// Its height, of that of its plate: up to twice as high where a step moves it.
float tall(vec2 uv, float s) {
#ifdef LIFTED
  return max(mod(floor(texture2D(u_own, uv).a * 255.0 + 0.5), 128.0) * (1.0 / 63.0), 0.04);
#else
  return s;
#endif
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
