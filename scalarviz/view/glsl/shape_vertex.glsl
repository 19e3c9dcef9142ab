attribute vec2 a_position; attribute vec2 a_local; attribute vec4 a_box; attribute vec4 a_fill; attribute vec4 a_stroke;
varying vec2 v_local; varying vec4 v_box; varying vec4 v_fill; varying vec4 v_stroke;
void main() {
    v_local = a_local; v_box = a_box; v_fill = a_fill; v_stroke = a_stroke;
    gl_Position = place(a_position);
}
