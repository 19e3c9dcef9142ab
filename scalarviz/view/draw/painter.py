"""`Painter`: draws sketches with four small GL programs (shapes, pictures, discs, text) in the current context.

Plain OpenGL 2: the text of the programs is in `view.glsl`, what knows what is new in `pieces`. Coordinates are logical
pixels; `scale` device pixels make one. Whatever did not change since the last frame is not uploaded again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import glsl
from .gl import Viewport, gloo
from .pieces import SHAPE_TYPE, TEXT_TYPE, UV, Batch, Picture, Points, Sprites
from .sketch import VERTEX, Colour, Float, ImageItem, PointsItem, Sketch, rgba
from .text import GlyphAtlas


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
        self._shapes = Batch("shape", SHAPE_TYPE)
        self._over = Batch("shape", SHAPE_TYPE)  # those that lie over pictures
        self._glyphs = Batch("text", TEXT_TYPE)
        self._atlas = GlyphAtlas()
        self._atlas_texture: Any = None
        self._atlas_version = -1
        self._drawn: tuple[Sketch, ...] = ()
        self._quads: dict[Sketch, Float] = {}
        self._pictures: dict[int, Picture] = {}
        self._points: dict[tuple[int, int], Points] = {}
        self._sprites: dict[int, Sprites] = {}
        self._ground = gloo.Program(*glsl.program("glow"))

    def background(self, ground: Colour, glow: Colour) -> None:
        """Fill everything: `ground` at the rim, `glow` behind the cubes."""
        program = self._ground
        program["u_size"] = self.size
        program["a_position"] = UV * np.array(self.size, np.float32)
        program["a_uv"] = UV
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
                self._sprites[slot] = Sprites()
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

    def _draw_shapes(self, batch: Batch) -> None:
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
                self._pictures[slot] = Picture()
            self._pictures[slot].draw(item, self.size)

    def _draw_points(self, items: list[PointsItem]) -> None:
        for slot, item in enumerate(items):
            if not len(item.centres):
                continue
            key = (slot, Points.room(len(item.centres)))
            if key not in self._points:
                self._points[key] = Points()
            self._points[key].draw(item, self.size, self.scale)
