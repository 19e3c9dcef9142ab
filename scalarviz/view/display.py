"""The desktop: whether there is one, the Qt application on it, and whether it is still there."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import sys
from functools import cache
from typing import Any

from ..errors import MissingDependencyError

QT = ("pyside6", "pyqt6")
INSTALL = 'a window needs Qt; install it with: pip install "scalarviz[desktop]"'


def has_display() -> bool:
    """Whether there is a desktop to open a window on."""
    own_screen = not sys.platform.startswith("linux")  # macOS and Windows always have one
    return own_screen or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def check_window() -> None:
    """Raise MissingDependencyError, which says what to install, unless windows can be opened."""
    from importlib.util import find_spec

    if not any(find_spec(name) for name in ("PySide6", "PyQt6")):
        raise MissingDependencyError(INSTALL)


def application() -> Any:
    """The vispy application on Qt.

    Raises
    ------
    MissingDependencyError
        No Qt, or one that does not start here; the message says why.
    """
    check_window()
    # pictures drawn offscreen use EGL; a thread cannot switch between EGL's contexts and GLX's, so Qt uses EGL too
    os.environ.setdefault("QT_XCB_GL_INTEGRATION", "xcb_egl")
    from vispy import app

    reasons = []
    for backend in QT:
        try:
            found = app.Application(backend)
            found.create()
            return found
        except Exception as error:  # whatever the binding's loader raises: the other one may work
            reasons.append(f"{backend}: {error}".splitlines()[0])
    raise MissingDependencyError(f"{INSTALL} ({reasons[0]})")


def qt_core() -> Any:
    """QtCore of the binding that vispy chose."""
    from vispy.app.backends import _qt

    return _qt.QtCore


@cache
def _xcb() -> Any:
    """The X protocol library, or None where there is none."""
    name = ctypes.util.find_library("xcb") or "libxcb.so.1"
    try:
        library = ctypes.CDLL(name)
        library.xcb_connection_has_error.argtypes = [ctypes.c_void_p]
    except (OSError, AttributeError):
        return None
    return library


def connection_lost(native_application: Any) -> bool:
    """Whether the X server behind a Qt application has gone; Qt itself would paint into nothing for ever."""
    ask: Any = getattr(native_application, "nativeInterface", None)
    connection: Any = getattr(ask(), "connection", None) if ask is not None else None
    library = _xcb() if connection is not None else None
    return library is not None and library.xcb_connection_has_error(connection()) != 0
