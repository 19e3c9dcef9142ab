uniform float u_diameter;
attribute vec2 a_centre; attribute vec3 a_colour;
varying vec3 v_colour;
void main() { v_colour = a_colour; gl_Position = place(a_centre); gl_PointSize = u_diameter; }
