#version 120
uniform sampler2D u_image;
varying vec2 v_uv;
void main() { gl_FragColor = vec4(texture2D(u_image, v_uv).rgb, 1.0); }
