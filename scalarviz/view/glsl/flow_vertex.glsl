#version 120
uniform mat4 u_matrix; uniform vec2 u_viewport; uniform float u_width;
attribute vec3 a_from; attribute vec3 a_to; attribute vec2 a_end;   // end 0..1, side -1..1
varying float v_side;
void main() {
  vec4 p = u_matrix * vec4(a_from, 1.0); vec4 q = u_matrix * vec4(a_to, 1.0);
  vec2 along = (q.xy / q.w - p.xy / p.w) * u_viewport;
  vec2 normal = normalize(vec2(-along.y, along.x) + vec2(1e-6, 0.0));
  float reach = 0.5 * u_width + 1.0;        // a pixel more than the line, for its soft edge
  vec4 at = mix(p, q, a_end.x);
  gl_Position = at + vec4(normal * a_end.y * reach / u_viewport * 2.0 * at.w, 0.0, 0.0);
  v_side = a_end.y * reach;
}
