"""The desktop: whether there is one, the Qt application on it, and whether it is still there."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...errors import MissingDependencyError

QT = ("pyside6", "pyqt6")
WITHOUT = (
    "Without one: sv.render(x) draws a picture, sv.Recording(...).save_html(path) writes a run as a page, "
    "sv.live(x) is a notebook's cell; sv.show(x, block=False, required=False) lets a loop go on without a window"
)
"""What to do where there is no display."""
LIBRARIES = (
    "libdbus-1-3 libglib2.0-0 libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-render-util0 "
    "libxcb-shape0 libxcb-xkb1 libxkbcommon-x11-0 libxkbcommon0"
)
"""What Qt's wheels need of a Debian or Ubuntu system."""
INSTALL = 'a window needs Qt; install it with: pip install "scalarviz[desktop]"'


def has_display() -> bool:
    """Whether there is a desktop to open a window on."""
    own_screen = not sys.platform.startswith("linux")  # macOS and Windows always have one
    return own_screen or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def no_display() -> str:
    """Why a window cannot be opened here, as a clause; empty if a desktop answers.

    Qt ends the whole process where none does, and where it has to draw OpenGL without one.
    """
    platform = os.environ.get("QT_QPA_PLATFORM") or "wayland;xcb"
    if platform.startswith(("offscreen", "minimal")):
        return f"QT_QPA_PLATFORM={platform} has none"
    asked = {name: answers for kind, name, answers in _DESKTOPS if kind in platform}
    if not sys.platform.startswith("linux") or not asked:  # macOS and Windows always have one
        return ""
    named = {name: os.environ.get(name, "") for name in asked}
    if any(value and asked[name](value) for name, value in named.items()):
        return ""
    return " and ".join(f"{n}={v} does not answer" if v else f"{n} is not set" for n, v in named.items())


def _x_answers(name: str) -> bool:
    if (library := _xcb()) is None:
        return True  # nobody here can ask
    connection = library.xcb_connect(name.encode(), None)
    failed = library.xcb_connection_has_error(connection)
    library.xcb_disconnect(connection)
    return not failed


def _wayland_answers(name: str) -> bool:
    try:
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect(os.path.join(os.environ.get("XDG_RUNTIME_DIR", ""), name))
    except OSError:
        return False
    return True


_DESKTOPS = (("xcb", "DISPLAY", _x_answers), ("wayland", "WAYLAND_DISPLAY", _wayland_answers))
"""How Qt calls them, the variables that name them, and who asks them."""


def without_library(missing: str) -> str:
    """What to do about a Qt that does not start for a library of the system."""
    library = f" ({missing})" if missing else ""
    hint = f"Debian, Ubuntu: apt-get install {LIBRARIES}" if sys.platform.startswith("linux") else INSTALL
    return f"Qt is installed but does not start{library}; {hint}"


def check_window() -> None:
    """Raise MissingDependencyError, which says what to install, unless windows can be opened.

    Qt's part for X is loaded here, because Qt ends the whole process where a library of the system is missing.
    """
    bindings = [spec for spec in map(find_spec, ("PySide6", "PyQt6")) if spec is not None]
    if not bindings:
        raise MissingDependencyError(INSTALL)
    if not sys.platform.startswith("linux") or os.environ.get("WAYLAND_DISPLAY"):
        return
    try:
        for plugin in Path(bindings[0].origin or "").parent.glob("Qt*/plugins/platforms/libqxcb.so"):
            ctypes.CDLL(str(plugin))
    except OSError as error:
        raise MissingDependencyError(without_library(str(error))) from None


def application() -> Any:
    """The vispy application on Qt."""
    if why := no_display():
        raise MissingDependencyError(f"a window needs a display: {why}. {WITHOUT}")
    check_window()
    # pictures drawn offscreen use EGL; a thread cannot switch between EGL's contexts and GLX's, so Qt uses EGL too
    os.environ.setdefault("QT_XCB_GL_INTEGRATION", "xcb_egl")
    from vispy import app

    reasons = []
    for backend in QT:
        try:
            found = app.Application(backend)
            found.create()
            _leave_painting_to_qt()
            return found
        except Exception as error:  # whatever the binding's loader raises: the other one may work
            reasons.append(f"{backend}: {error}".splitlines()[0])
    raise MissingDependencyError(f"{INSTALL} ({reasons[0]})")


def _leave_painting_to_qt() -> None:
    """Take vispy's `event` from its widgets: it hands gestures of a touchpad on, which no window of ours listens to.

    Qt shows what was painted while a widget handles an event. Called from a method in Python that happens with the
    interpreter's lock held: no other thread runs meanwhile, and when the X server dies in that moment, Mesa's software
    renderer counts the lines of a picture that it cannot send for 20 s. Without the method Qt calls itself.
    """
    from vispy.app.backends import _qt

    if "event" in vars(_qt.QtBaseCanvasBackend):
        del _qt.QtBaseCanvasBackend.event


def qt_core() -> Any:
    """QtCore of the binding that vispy chose."""
    from vispy.app.backends import _qt

    return _qt.QtCore


_stay = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(lambda display, data: None)


def survive_lost_display(native_application: Any) -> None:
    """Keep Xlib from ending the process when the X server goes, so that weights can still be saved.

    Without libX11 1.7 or later nothing changes: the process ends with Xlib's own words.
    """
    ask: Any = getattr(native_application, "nativeInterface", None)
    display: Any = getattr(ask(), "display", None) if ask is not None else None
    if display is None:
        return
    try:
        library = ctypes.CDLL(ctypes.util.find_library("X11") or "libX11.so.6")
        library.XSetIOErrorExitHandler.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        library.XSetIOErrorExitHandler(display(), _stay, None)
    except (OSError, AttributeError):
        return


@cache
def _xcb() -> Any:
    """The X protocol library, or None where there is none."""
    name = ctypes.util.find_library("xcb") or "libxcb.so.1"
    try:
        library = ctypes.CDLL(name)
        library.xcb_connect.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
        library.xcb_connect.restype = ctypes.c_void_p
        library.xcb_disconnect.argtypes = [ctypes.c_void_p]
        library.xcb_connection_has_error.argtypes = [ctypes.c_void_p]
        library.xcb_get_file_descriptor.argtypes = [ctypes.c_void_p]
    except (OSError, AttributeError):
        return None
    return library


def hung_up(descriptor: int) -> bool:
    """Whether the other end of a connection is gone; xcb itself learns that only when it next reads or writes."""
    asked = select.poll()
    asked.register(descriptor, getattr(select, "POLLRDHUP", 0))
    return any(found & ~select.POLLIN for _, found in asked.poll(0))


def connection_lost(native_application: Any) -> bool:
    """Whether the X server behind a Qt application has gone; Qt itself would paint into nothing for ever."""
    try:
        ask: Any = getattr(native_application, "nativeInterface", None)
        connection: Any = getattr(ask(), "connection", None) if ask is not None else None
        library = _xcb() if connection is not None else None
        if library is None:
            return False
        return library.xcb_connection_has_error(connection()) != 0 or hung_up(
            library.xcb_get_file_descriptor(connection())
        )
    except RuntimeError:  # the application ended while another thread looked at it: nobody waits for it any more
        return False


# ---- Whether windows can be opened here, found out by another process.

BINDINGS = {"PySide6": "PySide6-Essentials", "PyQt6": "PyQt6"}
"""Python's bindings of Qt and the packages that they come in."""
SECONDS = 20.0
_CODE = "from {binding}.QtGui import QGuiApplication as A; a = A([]); print(a.platformName())"


class WindowProbe:
    """Starts Qt in another process; :meth:`reason` says how that went."""

    def __init__(self) -> None:
        self.binding = next((name for name in BINDINGS if find_spec(name)), "")
        self.package = BINDINGS.get(self.binding, "")
        self._process: subprocess.Popen[str] | None = None
        self._outcome = INSTALL, ""
        if self.binding:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _CODE.format(binding=self.binding)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                env={**os.environ, "QT_DEBUG_PLUGINS": "0", "QT_FATAL_WARNINGS": "0"},
            )

    def reason(self) -> str:
        """Why no window can be opened, in one line with what to install; empty if it can."""
        return self._answer()[0]

    def platform(self) -> str:
        """Qt's name of the window system, as ``xcb``; empty if it does not start."""
        return self._answer()[1]

    def _answer(self) -> tuple[str, str]:
        if self._process is None:
            return self._outcome
        process, self._process = self._process, None
        try:
            out, err = process.communicate(timeout=SECONDS)
            self._outcome = ("", out.strip()) if process.returncode == 0 else (_explained(err), "")
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self._outcome = f"Qt did not start within {SECONDS:g} s", ""
        return self._outcome


def _explained(said: str) -> str:
    """One line out of what a Qt that does not start has to say."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    display = next((line for line in lines if "could not connect to display" in line.lower()), "")
    if display:
        return (
            f"{display.partition('qt.qpa.xcb: ')[2] or display}; check DISPLAY and its permission (xhost, XAUTHORITY)"
        )
    missing = next((line.split("ImportError: ")[-1] for line in lines if "cannot open shared object" in line), "")
    return without_library(missing)


# ---- `DisplayWatch`: what is done once, whoever notices first, when the display of a window has gone.

LOOKED, PATIENCE = 0.25, 2.0
"""Seconds between two looks at the connection, and for which the window's loop may notice the loss by itself."""


class DisplayWatch:
    """Gets a program out when its display goes while the drawing library waits for it in vain.

    A thread looks at the connection. Once it is lost, the window's loop must take what is to be done (:meth:`first`)
    within `PATIENCE` seconds; else `rescue` is called from the thread and the process ends with code 2.
    """

    def __init__(self, native_application: Any, rescue: Callable[[], None]) -> None:
        self._application, self._rescue = native_application, rescue
        self._over, self._taken = threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._watch, name="scalarviz-display", daemon=True)

    def __enter__(self) -> DisplayWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()  # while it rescues, for ever: the process ends there

    def first(self) -> bool:
        """Whether nobody else has begun to do what is done when the display has gone: then it is the caller's."""
        return self._taken.acquire(blocking=False)

    def _watch(self) -> None:
        while not self._over.wait(LOOKED):
            if connection_lost(self._application) and not self._over.wait(PATIENCE):
                if not self.first():
                    return
                try:
                    self._rescue()
                finally:
                    if sys.stderr is not None:
                        sys.stderr.flush()
                    os._exit(2)
