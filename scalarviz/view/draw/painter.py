"""`Painter`: draws sketches with four small GL programs (shapes, pictures, discs, text) in the current context.

Plain OpenGL 2 and GLSL 1.20. Coordinates are logical pixels; `scale` device pixels make one. Whatever did not change
since the last frame is not uploaded again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .gl import Viewport, gloo
from .sketch import VERTEX, Colour, Float, ImageItem, PointsItem, Sketch, SpritesItem, rgba
from .text import GlyphAtlas

_PLACE = """
#version 120
uniform vec2 u_size;
vec4 place(vec2 p) { return vec4(2.0 * p.x / u_size.x - 1.0, 1.0 - 2.0 * p.y / u_size.y, 0.0, 1.0); }
"""

_SHAPE_VERTEX = (
    _PLACE
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
_SHAPE_FRAGMENT = """
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

_IMAGE_VERTEX = (
    _PLACE
    + """
attribute vec2 a_position; attribute vec2 a_uv;
varying vec2 v_uv;
void main() { v_uv = a_uv; gl_Position = place(a_position); }
"""
)

_IMAGE_FRAGMENT = """
#version 120
uniform sampler2D u_image;
varying vec2 v_uv;
void main() { gl_FragColor = vec4(texture2D(u_image, v_uv).rgb, 1.0); }
"""

_POINT_VERTEX = (
    _PLACE
    + """
uniform float u_diameter;
attribute vec2 a_centre; attribute vec3 a_colour;
varying vec3 v_colour;
void main() { v_colour = a_colour; gl_Position = place(a_centre); gl_PointSize = u_diameter; }
"""
)

# A disc lit from the front: full colour at the centre, darker towards the edge, so neighbours stay apart. With a rim it
# is flat, with an edge; a hollow one is a ring of its colour between two such edges.
_POINT_FRAGMENT = """
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

_TEXT_VERTEX = (
    _PLACE
    + """
uniform vec2 u_atlas;
attribute vec2 a_position; attribute vec2 a_uv; attribute vec4 a_colour;
varying vec2 v_uv; varying vec4 v_colour;
void main() { v_uv = a_uv / u_atlas; v_colour = a_colour; gl_Position = place(a_position); }
"""
)

_TEXT_FRAGMENT = """
#version 120
uniform sampler2D u_glyphs;
varying vec2 v_uv; varying vec4 v_colour;
void main() {
    float cover = texture2D(u_glyphs, v_uv).r * v_colour.a;
    gl_FragColor = vec4(v_colour.rgb * cover, cover);
}
"""

# The glow falls to exactly the background before the corners; a pixel-wide dither hides the steps between grey levels.
_GLOW_FRAGMENT = """
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

_SHAPE_TYPE = np.dtype(
    [("a_position", "f4", 2), ("a_local", "f4", 2), ("a_box", "f4", 4), ("a_fill", "f4", 4), ("a_stroke", "f4", 4)]
)
_TEXT_TYPE = np.dtype([("a_position", "f4", 2), ("a_uv", "f4", 2), ("a_colour", "f4", 4)])
_SPRITE_TYPE = np.dtype([("a_position", "f4", 2), ("a_uv", "f4", 2)])
_UV = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=np.float32)


class _Batch:
    """A program with one vertex buffer.

    The buffer is longer than the data and its rest is triangles without area: gloo draws whole buffers, and binding a
    new one for every change of length costs more than the few empty triangles.
    """

    def __init__(self, vertex: str, fragment: str, layout: np.dtype[Any]) -> None:
        self.program = gloo.Program(vertex.strip(), fragment.strip())
        self._layout = layout
        self._buffer: Any = None
        self._capacity = 0
        self._count = 0

    def fill(self, data: Float) -> None:
        """Replace what is drawn."""
        self._count = len(data)
        if self._count > self._capacity:
            self._capacity = max(1536, 2 * self._count)
            self._buffer = gloo.VertexBuffer(np.zeros(self._capacity, self._layout))
            self.program.bind(self._buffer)
        if self._count:
            vertices = np.zeros(self._capacity, self._layout)
            vertices[: self._count] = np.ascontiguousarray(data).view(self._layout).reshape(-1)
            self._buffer.set_data(vertices)

    def draw(self) -> None:
        """Draw what was filled in last."""
        if self._count:
            self.program.draw("triangles")


@contextmanager
def clipped(box: tuple[float, float, float, float], size: tuple[float, float], viewport: Viewport) -> Iterator[None]:
    """Draw inside `box` only (logical pixels of a picture of `size`), where the picture has `viewport` for itself."""
    x, y, width, height = box
    if (x, y, width, height) == (0.0, 0.0, *size):
        yield
        return
    from_left, from_foot, wide, high = (0, 0, *viewport) if len(viewport) == 2 else viewport
    across, down = wide / size[0], high / size[1]
    left, top = round(x * across), round(y * down)
    right, bottom = round((x + width) * across), round((y + height) * down)
    gloo.set_state(scissor_test=True)
    gloo.set_scissor(from_left + left, from_foot + high - bottom, right - left, bottom - top)
    yield
    gloo.set_state(scissor_test=False)


class Painter:
    """Draws in pixel coordinates over whatever is in the current framebuffer.

    Parameters
    ----------
    size : tuple of float
        Logical width and height.
    scale : float
        Device pixels per logical pixel.
    """

    def __init__(self, size: tuple[float, float], scale: float = 1.0) -> None:
        self.size = size
        self.scale = scale
        self._shapes = _Batch(_SHAPE_VERTEX, _SHAPE_FRAGMENT, _SHAPE_TYPE)
        self._over = _Batch(_SHAPE_VERTEX, _SHAPE_FRAGMENT, _SHAPE_TYPE)  # those that lie over pictures
        self._glyphs = _Batch(_TEXT_VERTEX, _TEXT_FRAGMENT, _TEXT_TYPE)
        self._atlas = GlyphAtlas()
        self._atlas_texture: Any = None
        self._atlas_version = -1
        self._drawn: tuple[Sketch, ...] = ()
        self._quads: dict[Sketch, Float] = {}
        self._pictures: dict[int, _Picture] = {}
        self._points: dict[tuple[int, int], _Points] = {}
        self._sprites: dict[int, _Sprites] = {}
        self._ground = gloo.Program(_IMAGE_VERTEX.strip(), _GLOW_FRAGMENT.strip())

    def background(self, ground: Colour, glow: Colour) -> None:
        """Fill everything: `ground` at the rim, `glow` behind the cubes."""
        program = self._ground
        program["u_size"] = self.size
        program["a_position"] = _UV * np.array(self.size, np.float32)
        program["a_uv"] = _UV
        program["u_ground"], program["u_glow"] = rgba(ground)[:3], rgba(glow)[:3]
        gloo.set_state(depth_test=False, blend=False, cull_face=False)
        program.draw("triangle_strip")

    def draw(self, sketches: Sequence[Sketch]) -> None:
        """Shapes of all sketches, their pictures, sprites, shapes over those, discs, then text.

        Hand in the same object if unchanged.
        """
        current = tuple(sketches)
        gloo.set_state(depth_test=False, blend=True, cull_face=False, blend_func=("one", "one_minus_src_alpha"))
        if current != self._drawn:
            self._upload(current)
            self._drawn = current
        self._draw_shapes(self._shapes)
        self._draw_images([item for s in current for item in s.images])
        for slot, item in enumerate(item for s in current for item in s.small):
            if slot not in self._sprites:
                self._sprites[slot] = _Sprites()
            self._sprites[slot].draw(item, self.size)
        self._draw_shapes(self._over)
        self._draw_points([item for s in current for item in s.points])
        self._draw_text()

    def _upload(self, sketches: tuple[Sketch, ...]) -> None:
        if self._atlas.full:
            self._atlas, self._atlas_version, self._quads = GlyphAtlas(), -1, {}
        for batch, over in ((self._shapes, False), (self._over, True)):
            shapes = [s.shapes for s in sketches if s.over == over]
            batch.fill(np.concatenate(shapes) if shapes else np.empty((0, VERTEX), np.float32))
        self._quads = {s: self._text_of(s) for s in sketches}
        quads = list(self._quads.values())
        self._glyphs.fill(np.concatenate(quads) if quads else np.empty((0, 8), np.float32))

    def _text_of(self, sketch: Sketch) -> Float:
        known = self._quads.get(sketch)
        return known if known is not None else self._atlas.quads(sketch.texts, self.scale)

    def _draw_shapes(self, batch: _Batch) -> None:
        batch.program["u_size"], batch.program["u_scale"] = self.size, self.scale
        batch.draw()

    def _draw_text(self) -> None:
        if self._atlas_version != self._atlas.version:
            pixels = self._atlas.pixels
            if self._atlas_texture is None or self._atlas_texture.shape[:2] != pixels.shape:
                self._atlas_texture = gloo.Texture2D(pixels, format="luminance", interpolation="nearest")
            else:
                self._atlas_texture.set_data(pixels)
            self._atlas_version = self._atlas.version
            self._glyphs.program["u_glyphs"] = self._atlas_texture
            self._glyphs.program["u_atlas"] = pixels.shape[::-1]
        self._glyphs.program["u_size"] = (self.size[0] * self.scale, self.size[1] * self.scale)
        self._glyphs.draw()

    def _draw_images(self, items: list[ImageItem]) -> None:
        for slot, item in enumerate(items):
            if slot not in self._pictures:
                self._pictures[slot] = _Picture()
            self._pictures[slot].draw(item, self.size)

    def _draw_points(self, items: list[PointsItem]) -> None:
        for slot, item in enumerate(items):
            if not len(item.centres):
                continue
            key = (slot, _Points.room(len(item.centres)))
            if key not in self._points:
                self._points[key] = _Points()
            self._points[key].draw(item, self.size, self.scale)


class _Picture:
    """One textured rectangle."""

    def __init__(self) -> None:
        self._program = gloo.Program(_IMAGE_VERTEX.strip(), _IMAGE_FRAGMENT.strip())
        self._program["a_uv"] = _UV
        self._texture: Any = None
        self._pixels: NDArray[np.uint8] | None = None
        self._rect: tuple[float, float, float, float] | None = None

    def draw(self, item: ImageItem, size: tuple[float, float]) -> None:
        """Draw; what is as last time is not uploaded again."""
        if item.pixels is not self._pixels:
            self._load(item)
        if item.rect != self._rect:
            x, y, width, height = self._rect = item.rect
            self._program["a_position"] = np.array([x, y], np.float32) + _UV * np.array([width, height], np.float32)
        self._program["u_size"] = size
        self._program.draw("triangle_strip")

    def _load(self, item: ImageItem) -> None:
        filter_ = "linear" if item.linear else "nearest"
        pixels = np.ascontiguousarray(item.pixels)
        if self._texture is None or self._texture.shape != pixels.shape or self._texture.interpolation != filter_:
            self._texture = gloo.Texture2D(pixels, interpolation=filter_, wrapping="clamp_to_edge")
            self._program["u_image"] = self._texture
        else:
            self._texture.set_data(pixels)
        self._pixels = item.pixels


class _Sprites:
    """Many parts of one texture in one call."""

    def __init__(self) -> None:
        self._batch = _Batch(_IMAGE_VERTEX, _IMAGE_FRAGMENT, _SPRITE_TYPE)
        self._item: SpritesItem | None = None
        self._texture: Any = None
        self._pixels: NDArray[np.uint8] | None = None

    def draw(self, item: SpritesItem, size: tuple[float, float]) -> None:
        """Draw; what is as last time is not uploaded again."""
        if item.pixels is not self._pixels:
            self._load(item)
        if item is not self._item:
            corners = _UV[[0, 1, 2, 2, 1, 3]]
            high, wide = item.pixels.shape[:2]
            inset = np.array([1 / wide, 1 / high], np.float32) / 64  # a pixel on the edge shows no neighbour
            cells = np.concatenate([item.cells[:, :2] + inset, item.cells[:, 2:] - 2 * inset], axis=1)
            parts = [r[:, None, :2] + corners * r[:, None, 2:] for r in (item.rects, cells)]
            self._batch.fill(np.concatenate(parts, axis=2).reshape(-1, 4).astype(np.float32))
            self._item = item
        self._batch.program["u_size"] = size
        self._batch.draw()

    def _load(self, item: SpritesItem) -> None:
        filter_, pixels = "linear" if item.linear else "nearest", np.ascontiguousarray(item.pixels)
        known = self._texture
        if known is None or known.shape != pixels.shape or known.interpolation != filter_:
            self._texture = gloo.Texture2D(pixels, interpolation=filter_, wrapping="clamp_to_edge")
            self._batch.program["u_image"] = self._texture
        else:
            known.set_data(pixels)
        self._pixels = item.pixels


class _Points:
    """One cloud of discs; centres and colours are uploaded only when they are other arrays than last time.

    Its buffers are as long as the next `room`, the rest of them outside the picture: a point more is no new program.
    """

    def __init__(self) -> None:
        self._program = gloo.Program(_POINT_VERTEX.strip(), _POINT_FRAGMENT.strip())
        self._centres: Float | None = None
        self._colours: Float | None = None

    @staticmethod
    def room(count: int) -> int:
        """How many discs the buffers hold that are made for `count`."""
        return 1 << max(count - 1, 31).bit_length()

    def draw(self, item: PointsItem, size: tuple[float, float], scale: float) -> None:
        """Draw the discs; `scale` device pixels make a logical one."""
        if item.centres is not self._centres:
            self._program["a_centre"] = self._filled(item.centres, -1e4)
            self._centres = item.centres
        if item.colours is not self._colours:
            self._program["a_colour"] = self._filled(item.colours, 0.0)
            self._colours = item.colours
        self._program["u_size"] = size
        self._program["u_diameter"] = item.diameter * scale
        self._program["u_border"] = 0.0 if item.rim is None else item.border * scale
        self._program["u_hollow"] = float(item.hollow)
        self._program["u_rim"] = item.rim or (0.0, 0.0, 0.0)
        self._program.draw("points")

    def _filled(self, rows: Float, rest: float) -> Float:
        full: Float = np.full((self.room(len(rows)), rows.shape[1]), rest, np.float32)
        full[: len(rows)] = rows
        return full
