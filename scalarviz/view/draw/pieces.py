"""What a `Painter` draws with: programs that remember what they were given last, and upload only what is new."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import glsl
from .gl import gloo
from .sketch import Float, ImageItem, PointsItem, SpritesItem

UV = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=np.float32)
"""The corners of a picture, in its own measure."""

# what the vertices of programs of that name hold
SHAPE_TYPE = np.dtype(
    [("a_position", "f4", 2), ("a_local", "f4", 2), ("a_box", "f4", 4), ("a_fill", "f4", 4), ("a_stroke", "f4", 4)]
)
TEXT_TYPE = np.dtype([("a_position", "f4", 2), ("a_uv", "f4", 2), ("a_colour", "f4", 4)])
SPRITE_TYPE = np.dtype([("a_position", "f4", 2), ("a_uv", "f4", 2)])


class Batch:
    """A program with one vertex buffer.

    The buffer is longer than the data and its rest is triangles without area: gloo draws whole buffers, and binding a
    new one for every change of length costs more than the few empty triangles.

    Parameters
    ----------
    name : str
        Of the program in `view.glsl`.
    layout : dtype
        Of its vertices.
    """

    def __init__(self, name: str, layout: np.dtype[Any]) -> None:
        self.program = gloo.Program(*glsl.program(name))
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


class Picture:
    """One textured rectangle."""

    def __init__(self) -> None:
        self._program = gloo.Program(*glsl.program("image"))
        self._program["a_uv"] = UV
        self._texture: Any = None
        self._pixels: NDArray[np.uint8] | None = None
        self._rect: tuple[float, float, float, float] | None = None

    def draw(self, item: ImageItem, size: tuple[float, float]) -> None:
        """Draw; what is as last time is not uploaded again."""
        if item.pixels is not self._pixels:
            self._load(item)
        if item.rect != self._rect:
            x, y, width, height = self._rect = item.rect
            self._program["a_position"] = np.array([x, y], np.float32) + UV * np.array([width, height], np.float32)
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


class Sprites:
    """Many parts of one texture in one call."""

    def __init__(self) -> None:
        self._batch = Batch("image", SPRITE_TYPE)
        self._item: SpritesItem | None = None
        self._texture: Any = None
        self._pixels: NDArray[np.uint8] | None = None

    def draw(self, item: SpritesItem, size: tuple[float, float]) -> None:
        """Draw; what is as last time is not uploaded again."""
        if item.pixels is not self._pixels:
            self._load(item)
        if item is not self._item:
            corners = UV[[0, 1, 2, 2, 1, 3]]
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


class Points:
    """One cloud of discs; centres and colours are uploaded only when they are other arrays than last time.

    Its buffers are as long as the next `room`, the rest of them outside the picture: a point more is no new program.
    """

    def __init__(self) -> None:
        self._program = gloo.Program(*glsl.program("point"))
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
