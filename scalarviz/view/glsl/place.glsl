#version 120
uniform vec2 u_size;
vec4 place(vec2 p) { return vec4(2.0 * p.x / u_size.x - 1.0, 1.0 - 2.0 * p.y / u_size.y, 0.0, 1.0); }
