#version 120
// Signed distance to a rounded box (Inigo Quilez, "2D distance functions"); one device pixel of smooth edge.
uniform float u_scale;
varying vec2 v_local; varying vec4 v_box; varying vec4 v_fill; varying vec4 v_stroke;
void main() {
    vec2 q = abs(v_local) - v_box.xy + v_box.z;
    float d = length(max(q, 0.0)) + min(max(q.x, q.y), 0.0) - v_box.z;
    float outer = clamp(0.5 - d * u_scale, 0.0, 1.0);
    float inner = v_box.w > 0.0 ? clamp(0.5 - (d + v_box.w) * u_scale, 0.0, 1.0) : outer;
    float fill = v_fill.a * inner;
    float stroke = v_stroke.a * (outer - inner);
    gl_FragColor = vec4(v_fill.rgb * fill + v_stroke.rgb * stroke, fill + stroke);
}
