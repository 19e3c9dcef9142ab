"""`gloo`: vispy's OpenGL, loaded when something is drawn. Geometry, colours and the text of shaders do without."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import c_int, c_uint
from typing import Any

from ...errors import MissingDependencyError

Viewport = tuple[int, int] | tuple[int, int, int, int]
"""Device pixels that a picture has: (width, height) of the framebuffer, or (x, y, width, height) from its lower left
corner, beyond which the picture may reach."""

NO_GL = (
    "no OpenGL to draw with: install EGL (Debian, Ubuntu: apt-get install libegl1 libgl1 libfontconfig1) "
    'or Qt (pip install "PySide6-Essentials>=6.8,!=6.12.0")'
)


def require_vispy() -> None:
    """Raise MissingDependencyError, with what to install, where vispy cannot be imported (no fontconfig, no libGL)."""
    try:
        from vispy import gloo  # noqa: F401
    except (ImportError, OSError) as error:
        raise MissingDependencyError(f"{NO_GL} ({str(error).splitlines()[0]})") from error


class _Gloo:
    def __getattr__(self, name: str) -> Any:
        require_vispy()
        from vispy import gloo as module

        found = getattr(module, name)
        setattr(self, name, found)
        return found


gloo: Any = _Gloo()
"""``vispy.gloo``, whose functions and classes are looked up when they are first used."""


class Backdrop:
    """A picture of `size` device pixels that is drawn once and copied under many frames: a fraction of drawing it."""

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
        """Fill the bound framebuffer, which has that size."""
        target = _bound()
        gloo.gl.glBindFramebuffer(_READ, self._name)
        self._blit(*self._area, *self._area, gloo.gl.GL_COLOR_BUFFER_BIT, gloo.gl.GL_NEAREST)
        gloo.gl.glBindFramebuffer(_READ, target)


_READ = 0x8CA8  # GL_READ_FRAMEBUFFER, which vispy lacks as it lacks the copy; both come with framebuffers themselves


def _bound() -> int:
    """The framebuffer that is drawn to, once all that was asked for is done."""
    gloo.get_current_canvas().context.flush_commands()
    return int(gloo.gl.glGetParameter(gloo.gl.GL_FRAMEBUFFER_BINDING))
