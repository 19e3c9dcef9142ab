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
#ifdef LIFTED
  vec3 pos = vec3(a_pos.xy, a_pos.z > 0.0 ? 3.0 * a_pos.z : a_pos.z);
#else
  vec3 pos = a_pos;
#endif
  vec3 world = a_origin + a_u * pos.x + a_v * pos.y + a_w * pos.z;
  vec3 ray = world * u_eye.w - u_eye.xyz;
  vec4 clip = u_matrix * vec4(world, 1.0);
  vec4 along = u_matrix * vec4(ray, 0.0);
  gl_Position = clip;
  v_pos = vec4(pos, length(a_u));
  v_ray = vec3(dot(ray, a_u), dot(ray, a_v), dot(ray, a_w)) / dot(a_u, a_u);   // in cells
  v_clip = vec4(clip.zw, along.zw);
  v_dims = a_dims; v_place = a_place; v_strides = a_strides; v_range = a_range;
  v_style = vec4(mix(u_sides.yy, u_sides.xx, a_style.xy), a_style.zw);   // factors of both kinds of side
}
