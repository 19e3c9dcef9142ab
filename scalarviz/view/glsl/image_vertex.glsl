attribute vec2 a_position; attribute vec2 a_uv;
varying vec2 v_uv;
void main() { v_uv = a_uv; gl_Position = place(a_position); }
