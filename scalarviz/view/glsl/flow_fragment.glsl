#version 120
uniform vec4 u_colour; uniform float u_width;
varying float v_side;
void main() { gl_FragColor = vec4(u_colour.rgb, u_colour.a * clamp(0.5 * u_width + 0.5 - abs(v_side), 0.0, 1.0)); }
