#version 120
// Light around a lit cube, on the ground: it fades with the distance from the middle and lies below every face.
varying vec4 v_colour; varying vec2 v_place;
void main() {
  float t = clamp(1.0 - length(v_place), 0.0, 1.0);
  gl_FragColor = vec4(v_colour.rgb, v_colour.a * t * t);
}
