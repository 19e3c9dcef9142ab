// Of cubes below a pixel: the mean colour of samples of its footprint.
#ifdef MEANS
uniform sampler2D u_means;   // mean colours of blocks of cubes, and their marks
uniform vec3 u_blocks;       // side of a block, one over their number across and down
#endif
void main() {
  vec3 d = v_ray; float dim = length(v_ray);
  float floor_z = 1e-4 * dim; d.z = abs(d.z) < floor_z ? (d.z < 0.0 ? -floor_z : floor_z) : d.z;
  vec2 size = floor(v_dims.xy + 0.5); float depth = v_dims.w;
  float sz = sign(d.z);
  // Where the ray meets the plane of the main face: smooth over the whole box, so that derivatives are right.
  float hit = max((-depth * sz - v_pos.z) / d.z, u_eye.w > 0.5 ? -0.9999 : -1e30);
  vec2 q = v_pos.xy + d.xy * hit;
  vec2 dx = dFdx(q); vec2 dy = dFdy(q);
  vec2 off = max(max(-q, q - size), 0.0);
  float shade = off.x + off.y <= 0.0 ? 1.0 : (off.x > off.y ? v_style.x : v_style.y);
  vec2 zw = v_clip.xy + v_clip.zw * hit;
  gl_FragDepth = clamp(zw.x / zw.y * 0.5 + 0.5, 0.0, 1.0);
  vec3 sum = vec3(0.0); float count = 0.0; float nan = 0.0; float above = 0.0; float below = 0.0; float missing = 0.0;
#ifdef SIZED
  float drawn = 0.0;
#endif
  for (int i = 0; i < NU; i++) for (int j = 0; j < NV; j++) {
    vec2 s = q + dx * ((float(i) + 0.5) / float(NU) - 0.5) + dy * ((float(j) + 0.5) / float(NV) - 0.5);
#ifdef MEANS
    vec2 block = floor((clamp(floor(s), vec2(0.0), size - 1.0) + 0.5) / u_blocks.x);
    vec4 mean = texture2D(u_means, (block + 0.5) * u_blocks.yz);
    float mark = floor(mean.a * 255.0 + 0.5);
    nan = max(nan, step(212.0, mark)); above = max(above, step(128.0, mark) * step(mark, 211.0));
    below = max(below, step(62.0, mark) * step(mark, 127.0)); missing += step(20.0, mark) * step(mark, 61.0);
    sum += mean.rgb; count += 1.0;
#else
    vec2 uv = texel(clamp(floor(s), vec2(0.0), size - 1.0));
    float there = step(0.0, uv.x);
    float value = texture2D(u_values, uv).r;
#ifdef FLAGS
    float flags = floor(texture2D(u_flags, uv).r * 255.0 + 0.5) * there;
    nan = max(nan, bit(flags, 1.0)); above = max(above, bit(flags, 2.0)); below = max(below, bit(flags, 4.0));
    missing += bit(flags, 32.0) + bit(flags, 16.0);
    if (flags > 0.5 && bit(flags, 8.0) < 0.5) value = 0.5 * (v_range.x + v_range.y);
#endif
#ifdef SIZED
    float side = there > 0.5 ? share(uv) : 0.0; float area = side * side;
    sum += given(uv, colour(unit(value))) * area; drawn += area; count += there;
#else
    sum += given(uv, colour(unit(value))) * there; count += there;
#endif
#endif
  }
  if (count < 0.5) discard;
  vec3 c = sum / count;
#ifdef SIZED
  if (drawn <= 0.0) discard;
  c += u_blank * (1.0 - drawn / count);
#endif
  float flags = nan > 0.5 ? 1.0 : (above > 0.5 ? 2.0 : (below > 0.5 ? 4.0 : (missing > 0.5 * count ? 32.0 : 0.0)));
  c = flags > 0.5 ? pattern(c, flags, mod(floor(gl_FragCoord.y / 2.0), 2.0) - 0.5) : c;
  gl_FragColor = vec4(c * shade, 1.0);
}
