#version 120
// A disc lit from the front: full colour at the centre, darker towards the edge, so neighbours stay apart. With a rim it
// is flat, with an edge; a hollow one is a ring of its colour between two such edges.
uniform float u_diameter; uniform float u_border; uniform float u_hollow; uniform vec3 u_rim;
varying vec3 v_colour;
void main() {
    float r = 2.0 * length(gl_PointCoord - 0.5);
    float inside = (1.0 - r) * 0.5 * u_diameter;
    float cover = clamp(inside + 0.5, 0.0, 1.0);
    vec3 colour = v_colour * (1.0 - 0.13 * r * r);
    if (u_border > 0.0) {
        float inner = clamp(inside - u_border + 0.5, 0.0, 1.0);
        if (u_hollow > 0.0) {
            float ring = inner * (1.0 - clamp(inside - 2.5 * u_border + 0.5, 0.0, 1.0));
            cover *= 1.0 - clamp(inside - 3.5 * u_border + 0.5, 0.0, 1.0);
            inner = ring;
        }
        colour = mix(u_rim, v_colour, inner);
    }
    gl_FragColor = vec4(colour * cover, cover);
}
