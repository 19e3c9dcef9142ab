#version 120
uniform mat4 u_matrix;
attribute vec3 a_pos; attribute vec4 a_colour; attribute vec2 a_place;
varying vec4 v_colour; varying vec2 v_place;
void main() {
  gl_Position = u_matrix * vec4(a_pos, 1.0);
  gl_Position.z = 0.0;   // light reaches beyond the depths that the camera keeps for cubes
  v_colour = a_colour; v_place = a_place;
}
