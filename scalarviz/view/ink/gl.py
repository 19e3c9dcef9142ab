"""`gloo`: vispy's OpenGL, loaded when something is drawn. Geometry, colours and the text of shaders do without."""

from __future__ import annotations

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
