"""Drawing without a window: one OpenGL context, made for the first picture, whose pixels are read from a framebuffer.

On Linux the context comes from EGL without a display (Mesa's software renderer is enough). Without EGL, as on macOS and
Windows, it is that of a hidden Qt canvas, if Qt is installed.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, MissingDependencyError
from ...run.scene.scene import SIDES
from ..ink.painter import NO_GL, Viewport, gloo

Image = NDArray[np.uint8]
Draw = Callable[[Any], None]
"""Draws into the viewport that it gets (:data:`~scalarviz.view.ink.painter.Viewport`)."""

MAX_SIDE = SIDES[1]
"""Most pixels of a picture's side."""
FRAMEBUFFER = 8192
"""Most pixels of a framebuffer's side, on OpenGL 2 hardware and Mesa. A larger picture is drawn in tiles."""
DEPTH = 0x81A6  # GL_DEPTH_COMPONENT24, which vispy has no name for
"""As fine as that of windows: with vispy's own 16 bits a wrong cube may be in front at an edge."""
TILE = 4000
"""Pixels of a tile's side: a multiple of the period of every pattern drawn by pixel."""

_FORKED = (
    "a forked process cannot draw after its parent has drawn, because OpenGL does not survive a fork; start it "
    'with multiprocessing.get_context("spawn")'
)
_QT = ("pyside6", "pyqt6", "pyqt5")


class Offscreen:
    """A context with framebuffers of the requested sizes. Use :func:`offscreen`, which keeps one.

    Any thread may use it, one at a time; the others wait. An EGL context belongs to a thread only while that is inside;
    a hidden Qt canvas stays with the thread that made it.
    """

    def __init__(self) -> None:
        self._turn, self._depth = threading.RLock(), 0
        self._canvas: Any = None
        self._framebuffers: dict[tuple[int, int], Any] = {}

    def start(self) -> Any:
        """Return the canvas with the context, which is made at the first call: what is only built needs none."""
        with self._turn:
            if not self.started:
                self._canvas, self._made_by, self.process = _canvas(), threading.get_ident(), os.getpid()
                _let_go(self._canvas)
            if self.process != os.getpid():  # the driver's threads stay in the parent: it would hang
                raise MissingDependencyError(_FORKED)
            return self._canvas

    @property
    def started(self) -> bool:
        """Whether this process has the context."""
        return self._canvas is not None

    def __enter__(self) -> Offscreen:
        """Take the turn, for building visuals or drawing, and make a context that there is current."""
        self._turn.acquire()
        self._depth += 1
        if self.started:
            self._canvas.set_current()
        return self

    def __exit__(self, *_: object) -> None:
        """Send the built visuals to the context."""
        try:
            if self.started:
                self._canvas.context.flush_commands()
        finally:
            self._depth -= 1
            if not self._depth and self.started:
                _let_go(self._canvas)
            self._turn.release()

    @property
    def is_usable_here(self) -> bool:
        """True if this thread may draw with the canvas."""
        return _is_egl(self.start()) or threading.get_ident() == self._made_by

    def render(self, draw: Draw, size: tuple[int, int], *, supersample: int = 1) -> Image:
        """Return the picture that `draw` makes, uint8 (H, W, 3)."""
        width, height = size[0] * supersample, size[1] * supersample
        with self:
            longest = self.longest  # starts the context
            if min(size) < 1 or supersample < 1 or max(size) > MAX_SIDE or max(width, height) > longest:
                said = f"picture size {size[0]}x{size[1]} (x{supersample})"
                raise InputError(f"{said} must be 1 to {min(MAX_SIDE, longest)} pixels a side")
            if max(width, height) <= FRAMEBUFFER:
                return shrink(self._drawn(draw, (width, height), (width, height)), supersample)
            side = TILE - TILE % supersample
            picture = np.empty((size[1], size[0], 3), np.uint8)
            for top, left in product(range(0, height, side), range(0, width, side)):
                place = (-left, side - height + top, width, height)  # from the lower left corner of the tile
                tile = shrink(self._drawn(draw, (side, side), place), supersample)
                part = picture[top // supersample :, left // supersample :][: len(tile), : len(tile)]
                part[:] = tile[: part.shape[0], : part.shape[1]]
            return picture

    @property
    def longest(self) -> int:
        """Device pixels of the longest side that can be drawn, in tiles if necessary."""
        with self:
            self.start().set_current()
            found = gloo.gl.glGetParameter(gloo.gl.GL_MAX_VIEWPORT_DIMS)
            return int(min(found)) if found else FRAMEBUFFER

    def _drawn(self, draw: Draw, size: tuple[int, int], viewport: Viewport) -> Image:
        """Return a framebuffer of `size`, black at first, after `draw(viewport)`."""
        self.start().set_current()
        with self._framebuffer(*size) as target:
            gloo.set_viewport(0, 0, *viewport) if len(viewport) == 2 else gloo.set_viewport(*viewport)
            gloo.set_state(depth_mask=True)
            gloo.clear(color=(0.0, 0.0, 0.0, 1.0), depth=True)
            draw(viewport)
            image: Image = target.read("color", alpha=False)
        return image

    def _framebuffer(self, width: int, height: int) -> Any:
        """Return the framebuffer of a size; the last two are cached (a film and its picture)."""
        if (width, height) not in self._framebuffers:
            while len(self._framebuffers) > 1:
                self._framebuffers.pop(next(iter(self._framebuffers))).delete()
            colour, depth = gloo.RenderBuffer((height, width)), gloo.RenderBuffer((height, width), DEPTH)
            self._framebuffers[width, height] = gloo.FrameBuffer(color=colour, depth=depth)
        return self._framebuffers[width, height]


def shrink(image: Image, factor: int) -> Image:
    """Return the mean of blocks of factor x factor pixels: (H*f, W*f, 3) -> (H, W, 3)."""
    if factor == 1:
        return np.ascontiguousarray(image)
    height, width = image.shape[0] // factor, image.shape[1] // factor
    total = np.zeros((height, width, 3), np.uint16)
    for row, col in product(range(factor), repeat=2):
        total += image[row::factor, col::factor][:height, :width]
    return ((total + factor * factor // 2) // (factor * factor)).astype(np.uint8)


_shared = Offscreen()


def offscreen() -> Offscreen:
    """Return the one offscreen context of this process (contexts leak, and visuals belong to their context)."""
    return _shared


def available() -> str:
    """Return why nothing can be drawn here, in one line; empty if drawing works."""
    try:
        offscreen().start()
    except MissingDependencyError as error:
        return str(error)
    return ""


def _canvas() -> Any:
    """Return a hidden canvas with a current context: EGL's, else Qt's."""
    reasons = []
    for backend in ("egl", *_QT):
        try:
            with _no_display() if backend == "egl" else nullcontext():
                return _open(backend)
        except Exception as error:  # the platform's loader can raise anything; the next backend may work
            reasons.append(f"{backend}: {str(error).splitlines()[0] if str(error) else type(error).__name__}")
    raise MissingDependencyError(f"{NO_GL} ({reasons[0]})")


def _is_egl(canvas: Any) -> bool:
    return type(canvas.native).__module__.endswith("_egl")


def _let_go(canvas: Any) -> None:
    """Release EGL's context, so that the next thread can use it."""
    if _is_egl(canvas):
        from vispy.app.backends import _egl

        _egl.egl.eglMakeCurrent(_egl._EGL_DISPLAY, None, None, None)


@contextmanager
def _no_display() -> Iterator[None]:
    """Use EGL without a display on Linux while vispy's backend is imported; restore the variable for windows."""
    if not sys.platform.startswith("linux") or "EGL_PLATFORM" in os.environ:
        yield
        return
    os.environ["EGL_PLATFORM"] = "surfaceless"
    try:
        yield
    finally:
        del os.environ["EGL_PLATFORM"]


def _open(backend: str) -> Any:
    from vispy import app

    # without dpi vispy asks the display, and prints to stdout if DISPLAY is invalid
    canvas = app.Canvas(app=app.Application(backend), size=(16, 16), show=False, autoswap=False, dpi=96.0)
    canvas.set_current()
    gloo.gl.use_gl("gl2")
    if not gloo.gl.glGetParameter(gloo.gl.GL_VERSION):
        raise RuntimeError("OpenGL could not start without a window; run `scalarviz doctor`")
    return canvas
