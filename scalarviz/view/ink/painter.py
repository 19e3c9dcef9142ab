"""`Painter`: draws sketches with four small GL programs (shapes, pictures, discs, text) in the current context.

It uses plain OpenGL 2; the source of the programs is in `view.glsl`. The classes below upload only what has changed
since the last frame. Coordinates are logical pixels; `scale` device pixels make one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import c_int, c_uint
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...errors import MissingDependencyError
from .. import glsl
from .sketch import VERTEX, Cached, Colour, Float, ImageItem, PointsItem, Sketch, SpritesItem, rgba, within
from .text import GlyphAtlas

Viewport = tuple[int, int] | tuple[int, int, int, int]
"""Device pixels of a picture: (width, height) of the framebuffer, or (x, y, width, height) from its lower left
corner, beyond which the picture may reach."""

NO_GL = (
    "OpenGL is missing: install EGL (Debian, Ubuntu: apt-get install libegl1 libgl1 libfontconfig1) "
    'or Qt (pip install "PySide6-Essentials>=6.8,!=6.12.0")'
)


def require_vispy() -> None:
    """Raise MissingDependencyError, with install advice, if vispy cannot be imported (no fontconfig, no libGL)."""
    try:
        from vispy import gloo  # noqa: F401
    except (ImportError, OSError) as error:
        advice = "vispy is missing: pip install vispy" if getattr(error, "name", "") == "vispy" else NO_GL
        raise MissingDependencyError(f"{advice} ({str(error).splitlines()[0]})") from error


class _Unused:
    """An object of a picture that is never painted, where vispy is missing: a page has only its lists."""

    def __init__(self, *data: object, **how: object) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return _Unused

    def __setitem__(self, name: object, value: object) -> None:
        pass


class _Gloo:
    def __getattr__(self, name: str) -> Any:
        try:
            require_vispy()
        except MissingDependencyError:
            if name in ("IndexBuffer", "Program", "Texture2D", "VertexBuffer"):
                return _Unused
            raise
        from vispy import gloo as module

        found = self.__dict__[name] = getattr(module, name)
        return found


gloo: Any = _Gloo()
"""``vispy.gloo``, imported at the first use."""


class Backdrop:
    """A picture of `size` device pixels, drawn once and copied under many frames, which is much faster."""

    def __init__(self, size: tuple[int, int], draw: Callable[[], object]) -> None:
        from vispy.gloo.gl.gl2 import _get_gl_func

        self._area = 0, 0, *size
        self._blit = _get_gl_func("glBlitFramebuffer", None, (c_int,) * 8 + (c_uint, c_uint))
        self._buffer = gloo.FrameBuffer(gloo.Texture2D((size[1], size[0], 4)))
        with self._buffer:
            gloo.set_viewport(*self._area)
            draw()
            self._name = _bound()

    def copy(self) -> None:
        """Fill the bound framebuffer, which has the same size."""
        target = _bound()
        gloo.gl.glBindFramebuffer(_READ, self._name)
        self._blit(*self._area, *self._area, gloo.gl.GL_COLOR_BUFFER_BIT, gloo.gl.GL_NEAREST)
        gloo.gl.glBindFramebuffer(_READ, target)


_READ = 0x8CA8  # GL_READ_FRAMEBUFFER, which vispy lacks as it lacks the copy; both come with framebuffers themselves


def _bound() -> int:
    """Return the framebuffer that is drawn to, after pending commands are done."""
    gloo.get_current_canvas().context.flush_commands()
    return int(gloo.gl.glGetParameter(gloo.gl.GL_FRAMEBUFFER_BINDING))


Draws = TypeVar("Draws")
Item = TypeVar("Item")


@contextmanager
def clipped(box: tuple[float, float, float, float], size: tuple[float, float], viewport: Viewport) -> Iterator[None]:
    """Draw only inside `box` (logical pixels of a picture of `size`), which has `viewport` to itself."""
    x, y, width, height = box
    from_left, from_foot, wide, high = (0, 0, *viewport) if len(viewport) == 2 else viewport
    across, down = wide / size[0], high / size[1]
    left, top = round(x * across), round(y * down)
    right, bottom = round((x + width) * across), round((y + height) * down)
    gloo.set_state(scissor_test=True)
    gloo.set_scissor(from_left + left, from_foot + high - bottom, right - left, bottom - top)
    yield
    gloo.set_state(scissor_test=False)


class Painter:
    """Draws in pixel coordinates over the current framebuffer."""

    def __init__(self, size: tuple[float, float], scale: float = 1.0) -> None:
        self.size = size
        self.scale = scale
        self._shapes = Batch("shape", SHAPE_TYPE)
        self._over = Batch("shape", SHAPE_TYPE)  # shapes over pictures
        self._glyphs = Batch("text", TEXT_TYPE)
        self._atlas = GlyphAtlas()
        self._atlas_texture: Any = None
        self._atlas_version = -1
        self._drawn: tuple[Sketch, ...] = ()
        self._quads: dict[Sketch, Float] = {}
        self._pictures: list[Pictures] = []
        self._points: list[Points] = []
        self._shared = gloo.Program(*glsl.program("glow"))
        self._backdrop = Cached[Backdrop]()

    def background(self, ground: Colour, glow: Colour, viewport: Viewport = (0, 0, 0, 0)) -> None:
        """Fill everything: `ground` at the rim, `glow` behind the cubes; cached if `viewport` is the framebuffer."""
        if len(viewport) == 2:
            size = viewport
            make = lambda: Backdrop(size, lambda: self.background(ground, glow))  # noqa: E731
            return self._backdrop.get((ground, glow, size), make).copy()
        program = self._shared
        program["u_size"] = self.size
        program["a_position"] = UV * np.array(self.size, np.float32)
        program["a_uv"] = UV
        program["u_ground"], program["u_glow"] = rgba(ground)[:3], rgba(glow)[:3]
        gloo.set_state(depth_test=False, blend=False, cull_face=False)
        program.draw("triangle_strip")

    def draw(self, sketches: Sequence[Sketch]) -> None:
        """Draw the shapes of all sketches, their pictures, sprites, shapes over those, discs, then text.

        Pass the same object if unchanged.
        """
        current = tuple(sketches)
        gloo.set_state(depth_test=False, blend=True, cull_face=False, blend_func=("one", "one_minus_src_alpha"))
        if current != self._drawn:
            self._upload(current)
            self._drawn = current
        self._draw_shapes(self._shapes)
        images: list[ImageItem | SpritesItem] = [item for s in current for item in s.images]
        images += [item for s in current for item in s.small]
        for picture, image in _with_draws(self._pictures, Pictures, images):
            picture.draw(image, self.size)
        self._draw_shapes(self._over)
        for cloud, discs in _with_draws(self._points, Points, [item for s in current for item in s.points]):
            cloud.draw(discs, self.size, self.scale)
        self._draw_text()

    def _upload(self, sketches: tuple[Sketch, ...]) -> None:
        if self._atlas.full:
            self._atlas, self._atlas_version, self._quads = GlyphAtlas(), -1, {}
        for batch, over in ((self._shapes, False), (self._over, True)):
            shapes = [s.triangles(top=over) for s in sketches if over or not s.over]
            batch.fill(np.concatenate([np.empty((0, VERTEX), np.float32), *shapes]))
        known = self._quads
        self._quads = {s: known[s] if s in known else self._letters(s) for s in sketches}
        quads = list(self._quads.values())
        self._glyphs.fill(np.concatenate(quads) if quads else np.empty((0, 8), np.float32))

    def _letters(self, sketch: Sketch) -> Float:
        quads = self._atlas.quads(sketch.texts, self.scale)
        if sketch.clip is None:
            return quads
        x, y, width, height = sketch.clip
        return within(quads, (x * self.scale, y * self.scale, width * self.scale, height * self.scale))

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


# ---- Programs that store their last data, and upload only changes.

UV = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=np.float32)
"""The corners of a picture, in its own coordinates."""
WHOLE = np.array([[0.0, 0.0, 1.0, 1.0]], np.float32)

# vertex layout by name of program
SHAPE_TYPE = np.dtype(
    [("a_position", "f4", 2), ("a_local", "f4", 2), ("a_box", "f4", 4), ("a_fill", "f4", 4), ("a_stroke", "f4", 4)]
)
TEXT_TYPE = np.dtype([("a_position", "f4", 2), ("a_uv", "f4", 2), ("a_colour", "f4", 4)])
SPRITE_TYPE = np.dtype([("a_position", "f4", 2), ("a_uv", "f4", 2)])
POINT_TYPE = np.dtype([("a_centre", "f4", 2), ("a_colour", "f4", 3)])


def _with_draws(kept: list[Draws], kind: Callable[[], Draws], items: Sequence[Item]) -> Iterator[tuple[Draws, Item]]:
    """Return items, each with the object that drew the one in its place last time, or a new one."""
    kept += [kind() for _ in items[len(kept) :]]
    return zip(kept, items, strict=False)


class Batch:
    """A program with one vertex buffer, longer than the data: a new buffer for every length costs more."""

    def __init__(self, name: str, layout: np.dtype[Any]) -> None:
        self.program = gloo.Program(*glsl.program(name))
        self._layout = layout
        self._buffer: Any = None
        self._count = 0

    def fill(self, data: Float) -> None:
        """Replace the vertices."""
        self._count = len(data)
        if self._buffer is None or self._count > self._buffer.size:
            self._buffer = gloo.VertexBuffer(np.zeros(max(1536, 2 * self._count), self._layout))
            self.program.bind(self._buffer)
        if self._count:
            self._buffer.set_subdata(np.ascontiguousarray(data).view(self._layout).reshape(-1))

    def draw(self, mode: str = "triangles") -> None:
        """Draw the filled part of the buffer; `gloo.Program.draw` would draw all of it."""
        if self._count:
            queue = gloo.get_current_canvas().context.glir
            queue.associate(self.program.glir)
            queue.command("DRAW", self.program.id, mode, (0, self._count))


class Pictures:
    """Parts of one texture at one or many places, in one call."""

    def __init__(self) -> None:
        self._batch = Batch("image", SPRITE_TYPE)
        self._item: object = None
        self._texture: Any = None
        self._pixels: NDArray[np.uint8] | None = None

    def draw(self, item: ImageItem | SpritesItem, size: tuple[float, float]) -> None:
        """Draw; unchanged data is not uploaded again."""
        if item.pixels is not self._pixels:
            self._load(item)
        one = item.rect if isinstance(item, ImageItem) else item
        if one != self._item:
            rects, cells = (np.array([one]), WHOLE) if isinstance(one, tuple) else (one.rects, self._inner(one))
            corners = UV[[0, 1, 2, 2, 1, 3]]
            parts = [r[:, None, :2] + corners * r[:, None, 2:] for r in (rects, cells)]
            self._batch.fill(np.concatenate(parts, axis=2).reshape(-1, 4).astype(np.float32))
            self._item = one
        self._batch.program["u_size"] = size
        self._batch.draw()

    @staticmethod
    def _inner(item: SpritesItem) -> Float:
        """Return the cells with a tiny inset, so that no pixel shows a neighbour."""
        high, wide = item.pixels.shape[:2]
        inset = np.array([1 / wide, 1 / high], np.float32) / 64
        return np.concatenate([item.cells[:, :2] + inset, item.cells[:, 2:] - 2 * inset], axis=1)

    def _load(self, item: ImageItem | SpritesItem) -> None:
        filter_, pixels = "linear" if item.linear else "nearest", np.ascontiguousarray(item.pixels)
        known = self._texture
        if known is None or known.shape != pixels.shape or known.interpolation != filter_:
            self._texture = gloo.Texture2D(pixels, interpolation=filter_, wrapping="clamp_to_edge")
            self._batch.program["u_image"] = self._texture
        else:
            known.set_data(pixels)
        self._pixels = item.pixels


class Points:
    """One cloud of discs; unchanged data is not uploaded again."""

    def __init__(self) -> None:
        self._batch = Batch("point", POINT_TYPE)
        self._item: PointsItem | None = None

    def draw(self, item: PointsItem, size: tuple[float, float], scale: float) -> None:
        """Draw the discs; `scale` device pixels make a logical one."""
        if item is not self._item:
            self._batch.fill(np.concatenate([item.centres, item.colours], axis=1, dtype=np.float32))
            self._item = item
        self._batch.program["u_size"] = size
        self._batch.program["u_diameter"] = item.diameter * scale
        self._batch.draw("points")
