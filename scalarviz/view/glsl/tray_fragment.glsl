#version 120
uniform vec3 u_tray; uniform vec3 u_border; uniform float u_shadow; uniform vec2 u_margin; uniform float u_density;
varying vec2 v_cell; varying vec4 v_dims;   // columns, rows, half side, cells in the last row

// Distance from a point of the tray to the nearest foot of a cube, in cells.
float away(vec2 p) {
  vec2 size = floor(v_dims.xy + 0.5);
  vec2 cell = clamp(floor(p), vec2(0.0), size - 1.0);
  if (cell.y > size.y - 1.5) cell.x = min(cell.x, floor(v_dims.w + 0.5) - 1.0);
  return length(max(abs(p - cell - 0.5) - v_dims.z, 0.0));
}

void main() {
  vec2 size = floor(v_dims.xy + 0.5);
  // The light comes from the upper left: a narrow contact shadow all round and a wide one to the lower right.
  float contact = 1.0 - smoothstep(0.0, 0.12, away(v_cell));
  float thrown = 1.0 - smoothstep(0.0, 0.34, away(v_cell - vec2(0.10, 0.13)));
  float shade = 1.0 - u_shadow * clamp(0.4 * contact + 0.8 * thrown * thrown, 0.0, 1.0);
  vec2 edge = min(v_cell + u_margin - 0.5, size + u_margin - 0.5 - v_cell) / max(fwidth(v_cell), 1e-6);
  float border = clamp(u_density + 0.5 - min(edge.x, edge.y), 0.0, 1.0);
  gl_FragColor = vec4(mix(u_tray * shade, u_border, border), 1.0);
}
