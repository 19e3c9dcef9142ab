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
#ifdef LIFTED
  float top = 3.0 * depth;
#else
  float top = depth;
#endif
  vec3 low = vec3(vec2(0.5 - v_dims.z), -depth); vec3 high = vec3(size - 0.5 + v_dims.z, top);
  vec3 ta = (low - p) * iv; vec3 tb = (high - p) * iv;
  vec3 tmin = min(ta, tb); vec3 tmax = max(ta, tb);
  float start = u_eye.w > 0.5 ? -0.9999 : -1e30;   // just before the eye, which may be inside the box
  float t = max(max(tmin.x, start), max(tmin.y, tmin.z)); float tend = min(tmax.x, min(tmax.y, tmax.z));
  float zin = ((sg.z < 0.0 ? top : -depth) - p.z) * iv.z; float zout = ((sg.z < 0.0 ? -depth : top) - p.z) * iv.z;
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
    half_side = largest * s; thick = depth * tall(uv, s); middle = thick - depth;   // it stands on the foot of its plate
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
  if (size_px >= 3.0) c = hollow(c, place, front, flags, outline, size_px);
#endif
#else
#ifdef SIZED
  float s = share(uv); c = mix(u_blank, c, s * s);
#endif
  c = pattern(c, flags, -a.y) * shade * foot;
#endif
  gl_FragColor = vec4(c, 1.0);
}
