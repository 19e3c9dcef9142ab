#version 120
uniform mat4 u_matrix;
attribute vec3 a_pos; attribute vec2 a_cell; attribute vec4 a_dims;
varying vec2 v_cell; varying vec4 v_dims;
void main() { gl_Position = u_matrix * vec4(a_pos, 1.0); v_cell = a_cell; v_dims = a_dims; }
