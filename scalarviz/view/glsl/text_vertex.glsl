uniform vec2 u_atlas;
attribute vec2 a_position; attribute vec2 a_uv; attribute vec4 a_colour;
varying vec2 v_uv; varying vec4 v_colour;
void main() { v_uv = a_uv / u_atlas; v_colour = a_colour; gl_Position = place(a_position); }
