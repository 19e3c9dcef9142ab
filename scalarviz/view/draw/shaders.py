"""The GL programs of `painter`: their text (plain GLSL 1.20, in logical pixels) and what their vertices hold."""

from __future__ import annotations

import numpy as np

PLACE = """
#version 120
uniform vec2 u_size;
vec4 place(vec2 p) { return vec4(2.0 * p.x / u_size.x - 1.0, 1.0 - 2.0 * p.y / u_size.y, 0.0, 1.0); }
"""

SHAPE_VERTEX = (
    PLACE
    + """
attribute vec2 a_position; attribute vec2 a_local; attribute vec4 a_box; attribute vec4 a_fill; attribute vec4 a_stroke;
varying vec2 v_local; varying vec4 v_box; varying vec4 v_fill; varying vec4 v_stroke;
void main() {
    v_local = a_local; v_box = a_box; v_fill = a_fill; v_stroke = a_stroke;
    gl_Position = place(a_position);
}
"""
)

# Signed distance to a rounded box (Inigo Quilez, "2D distance functions"); one device pixel of smooth edge.
SHAPE_FRAGMENT = """
#version 120
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
"""

IMAGE_VERTEX = (
    PLACE
    + """
attribute vec2 a_position; attribute vec2 a_uv;
varying vec2 v_uv;
void main() { v_uv = a_uv; gl_Position = place(a_position); }
"""
)

IMAGE_FRAGMENT = """
#version 120
uniform sampler2D u_image;
varying vec2 v_uv;
void main() { gl_FragColor = vec4(texture2D(u_image, v_uv).rgb, 1.0); }
"""

POINT_VERTEX = (
    PLACE
    + """
uniform float u_diameter;
attribute vec2 a_centre; attribute vec3 a_colour;
varying vec3 v_colour;
void main() { v_colour = a_colour; gl_Position = place(a_centre); gl_PointSize = u_diameter; }
"""
)

# A disc lit from the front: full colour at the centre, darker towards the edge, so neighbours stay apart. With a rim it
# is flat, with an edge; a hollow one is a ring of its colour between two such edges.
POINT_FRAGMENT = """
#version 120
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
"""

TEXT_VERTEX = (
    PLACE
    + """
uniform vec2 u_atlas;
attribute vec2 a_position; attribute vec2 a_uv; attribute vec4 a_colour;
varying vec2 v_uv; varying vec4 v_colour;
void main() { v_uv = a_uv / u_atlas; v_colour = a_colour; gl_Position = place(a_position); }
"""
)

TEXT_FRAGMENT = """
#version 120
uniform sampler2D u_glyphs;
varying vec2 v_uv; varying vec4 v_colour;
void main() {
    float cover = texture2D(u_glyphs, v_uv).r * v_colour.a;
    gl_FragColor = vec4(v_colour.rgb * cover, cover);
}
"""

# The glow falls to exactly the background before the corners; a pixel-wide dither hides the steps between grey levels.
GLOW_FRAGMENT = """
#version 120
uniform vec3 u_ground; uniform vec3 u_glow;
varying vec2 v_uv;
void main() {
    float r = length((v_uv - vec2(0.42, 0.45)) / vec2(0.58, 0.62));
    float t = clamp(1.0 - r, 0.0, 1.0);
    float noise = fract(sin(dot(gl_FragCoord.xy, vec2(12.9898, 78.233))) * 43758.5453) - 0.5;
    vec3 colour = mix(u_ground, u_glow, t * t * (3.0 - 2.0 * t));
    gl_FragColor = vec4(colour + (t > 0.0 ? noise * 0.9 / 255.0 : 0.0), 1.0);
}
"""

SHAPE_TYPE = np.dtype(
    [("a_position", "f4", 2), ("a_local", "f4", 2), ("a_box", "f4", 4), ("a_fill", "f4", 4), ("a_stroke", "f4", 4)]
)
TEXT_TYPE = np.dtype([("a_position", "f4", 2), ("a_uv", "f4", 2), ("a_colour", "f4", 4)])
SPRITE_TYPE = np.dtype([("a_position", "f4", 2), ("a_uv", "f4", 2)])
