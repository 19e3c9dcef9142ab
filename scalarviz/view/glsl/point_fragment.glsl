#version 120
// A disc lit from the front: full colour at the centre, darker towards the edge, so neighbours stay apart.
uniform float u_diameter;
varying vec3 v_colour;
void main() {
    float r = 2.0 * length(gl_PointCoord - 0.5);
    float cover = clamp((1.0 - r) * 0.5 * u_diameter + 0.5, 0.0, 1.0);
    gl_FragColor = vec4(v_colour * (1.0 - 0.13 * r * r) * cover, cover);
}
