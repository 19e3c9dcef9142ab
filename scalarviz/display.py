"""The desktop: whether there is one, the frame of a window, the Qt application, and the loss of the display.

This module loads nothing heavy: a command shows the frame of its window before it loads what draws in it.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import html
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

from .errors import MissingDependencyError

WITHOUT = (
    "Without a window: sv.render(x) draws a picture, sv.Recording(...).save_html(path) writes a page, sv.live(x) "
    "opens a notebook cell; sv.show(x, block=False, required=False) lets a loop go on"
)
"""What to do where there is no display."""
LIBRARIES = (
    "libdbus-1-3 libglib2.0-0 libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-render-util0 "
    "libxcb-shape0 libxcb-xkb1 libxkbcommon-x11-0 libxkbcommon0"
)
"""Debian and Ubuntu packages that Qt's wheels need."""
INSTALL = 'a window needs Qt; install it with: pip install "scalarviz[desktop]"'


GONE = "the connection to the display was lost"


def has_display() -> bool:
    """Return whether there is a desktop to open a window on."""
    own_screen = not sys.platform.startswith("linux")  # macOS and Windows always have one
    return own_screen or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def application() -> Any:
    """Return the vispy application on Qt; MissingDependencyError with advice if no window can be opened."""
    probe = WindowProbe()
    from vispy import app

    if reason := _loaded(probe):
        raise MissingDependencyError(f"no window can be opened: {reason}. {WITHOUT}")
    found = app.Application(probe.binding.lower())
    found.create()
    if connection_lost(found.native):  # since its frame was opened
        raise MissingDependencyError(f"no window can be opened: {GONE}. {WITHOUT}")
    _leave_painting_to_qt()
    return found


def _loaded(probe: WindowProbe) -> str:
    """Load Qt while a probe tries it out; return why no window can be opened, or an empty text."""
    # pictures drawn offscreen use EGL; a thread cannot switch between EGL's contexts and GLX's, so Qt uses EGL too
    os.environ.setdefault("QT_XCB_GL_INTEGRATION", "xcb_egl")
    if probe.binding:
        import_module(f"{probe.binding}.QtOpenGLWidgets")
    return probe.reason()


def _leave_painting_to_qt() -> None:
    """Remove vispy's method `event` from its widgets: it passes on touchpad gestures, which we ignore.

    Qt shows what was painted while a widget handles an event. If a Python method handles it, the interpreter's lock
    is held and no other thread runs. If the X server dies in that moment, Mesa's software renderer counts the lines
    of a picture that it cannot send for 20 s. Without the method Qt handles the event itself.
    """
    from vispy.app.backends import _qt

    if "event" in vars(_qt.QtBaseCanvasBackend):
        del _qt.QtBaseCanvasBackend.event


# ---- The frame of a window: it is on the screen before there is anything to draw in it.

SIZE = (1280, 720)
"""Default size inside a frame, in logical pixels."""
GROUND = {"dark": ("#14161a", "#b4bbc6"), "light": ("#fafaf8", "#4a515b")}
"""The background of each look, and its text colour."""
EXPOSED = 0.15
"""Seconds in which a desktop must put a frame on its screen."""
LISTENS = 0.05
"""Seconds between two checks for the user's input while the window of a frame is made."""
_early: list[tuple[Any, Any]] = []  # an application, and the frame that waits for its window


def frame_of(name: str, size: tuple[int, int], look: str) -> Any:
    """Return a frame that says its name: the one that was opened early, or a new one, not yet shown."""
    found = _early.pop()[1] if _early else _framed(name, size, look)
    found.setWindowTitle(titled(name))
    return found


def titled(name: str) -> str:
    """Return the title of a window."""
    return f"scalarviz: {name}"


def open_early(name: str, size: tuple[int, int] = SIZE, look: str = "", *, about: str = "") -> None:
    """Show the frame of the window that this process will open, with its name and what it is `about`.

    Do nothing if it cannot open one.
    """
    probe = WindowProbe()
    if _loaded(probe):
        return
    kind = import_module(f"{probe.binding}.QtWidgets").QApplication
    application = kind.instance() or kind([""])
    survive_lost_display(application)
    frame, start = _framed(name, size, look, about), time.perf_counter()
    frame.show()
    _early.append((application, frame))
    _listen(application)
    while time.perf_counter() - start < EXPOSED and not frame.windowHandle().isExposed():
        application.processEvents()
    application.processEvents()


def _listen(application: Any) -> None:
    """Let a user close a frame while everything loads: a timer's signal interrupts Python, imports included.

    Only Qt handles the frame's events then; none of our code answers before :func:`hand_over_frame`.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return

    def look(number: int, stack: object) -> None:
        if not connection_lost(application):
            application.processEvents()

    signal.signal(signal.SIGALRM, look)
    signal.siginterrupt(signal.SIGALRM, False)
    signal.setitimer(signal.ITIMER_REAL, LISTENS, LISTENS)


def hand_over_frame(frame: Any) -> bool:
    """Let the window answer from now on; return whether the user has closed its frame meanwhile."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)
    frame.escape.setEnabled(False)  # in a window, Escape first closes something else
    return frame.windowHandle() is not None and not frame.isVisible()


def close_early() -> None:
    """Hide a frame that was opened early and got no window."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)
    while _early:
        application, frame = _early.pop()
        if not connection_lost(application):
            frame.hide()


def _framed(name: str, size: tuple[int, int], look: str, about: str = "") -> Any:
    binding = WindowProbe().binding
    gui, widgets = (import_module(f"{binding}.{part}") for part in ("QtGui", "QtWidgets"))
    form = gui.QSurfaceFormat()  # a context only paints into windows of its own format
    form.setDepthBufferSize(24)
    for colour, bits in (("Red", 8), ("Green", 8), ("Blue", 8), ("Alpha", 0)):
        getattr(form, f"set{colour}BufferSize")(bits)
    gui.QSurfaceFormat.setDefaultFormat(form)
    frame, palette, kinds = widgets.QWidget(), gui.QPalette(), gui.QPalette.ColorRole
    for kind, colour in zip((kinds.Window, kinds.WindowText), GROUND.get(look, GROUND["dark"]), strict=True):
        palette.setColor(kind, gui.QColor(colour))
    frame.setPalette(palette)
    frame.setWindowTitle(titled(name))
    frame.resize(*size)
    frame.escape = gui.QShortcut(gui.QKeySequence("Escape"), frame, frame.close)
    frame.escape.setKeys([gui.QKeySequence(keys) for keys in ("Escape", "Ctrl+Q")])
    # without a widget of this kind, a desktop would make the window anew for the one that will draw
    import_module(f"{binding}.QtOpenGLWidgets").QOpenGLWidget(frame).hide()
    words = f'<p>{html.escape(name)}</p><p style="font-size: 18px">{html.escape(about)}</p>'
    label, stack = widgets.QLabel(words), widgets.QStackedLayout(frame)
    label.setWordWrap(True)
    font = label.font()
    font.setPixelSize(28)
    label.setFont(font)
    label.setAlignment(import_module(f"{binding}.QtCore").Qt.AlignmentFlag.AlignCenter)
    stack.setSizeConstraint(stack.SizeConstraint.SetNoConstraint)  # a long name is cut in a small window
    stack.setStackingMode(stack.StackingMode.StackAll)
    stack.addWidget(label)
    return frame


@cache
def _egl() -> Any:
    """Return EGL if the system has it, or None."""
    try:
        library = ctypes.CDLL(ctypes.util.find_library("EGL") or "libEGL.so.1")
        library.eglGetCurrentDisplay.restype = library.eglGetCurrentSurface.restype = ctypes.c_void_p
        library.eglSwapBuffers.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    except (OSError, AttributeError):
        return None
    return library


_DRAWN_TO = 0x3059  # EGL_DRAW


def swap(context: Any, surface: Any) -> None:
    """Show what was painted into a surface: through EGL if the surface is EGL's.

    Qt's own call holds the interpreter's lock while it lasts; see :func:`_leave_painting_to_qt`.
    """
    egl = _egl()
    shown = egl.eglGetCurrentSurface(_DRAWN_TO) if egl is not None else None
    if shown:
        egl.eglSwapBuffers(egl.eglGetCurrentDisplay(), shown)
    else:
        context.swapBuffers(surface)


def qt_core() -> Any:
    """Return QtCore of the binding that vispy chose."""
    from vispy.app.backends import _qt

    return _qt.QtCore


def _of_server(native_application: Any, name: str) -> Any:
    """Return Qt's handle of the X server with that name; None if Qt draws elsewhere."""
    ask = getattr(native_application, "nativeInterface", None)
    found = getattr(ask(), name, None) if ask is not None else None
    return None if found is None else found()


_stay = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(lambda display, data: None)


def survive_lost_display(native_application: Any) -> None:
    """Keep Xlib from ending the process when the X server dies, so that weights can still be saved.

    Without libX11 1.7 or later nothing changes: the process ends with Xlib's own message.
    """
    display = _of_server(native_application, "display")
    if display is None:
        return
    try:
        library = ctypes.CDLL(ctypes.util.find_library("X11") or "libX11.so.6")
        library.XSetIOErrorExitHandler.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        library.XSetIOErrorExitHandler(display, _stay, None)
    except (OSError, AttributeError):
        return


@cache
def _xcb() -> Any:
    """Return the X protocol library, or None."""
    name = ctypes.util.find_library("xcb") or "libxcb.so.1"
    try:
        library = ctypes.CDLL(name)
        library.xcb_get_file_descriptor.argtypes = [ctypes.c_void_p]
    except (OSError, AttributeError):
        return None
    return library


def hung_up(descriptor: int) -> bool:
    """Return whether the other end of a connection is gone; xcb notices only when it next reads or writes."""
    asked = select.poll()
    asked.register(descriptor, getattr(select, "POLLRDHUP", 0))
    return any(found & ~select.POLLIN for _, found in asked.poll(0))


def connection_lost(native_application: Any) -> bool:
    """Return whether the X server behind a Qt application is gone; Qt itself would go on painting."""
    try:
        connection = _of_server(native_application, "connection")
        library = _xcb() if connection is not None else None
        if library is None:
            return False
        descriptor = library.xcb_get_file_descriptor(connection)
        return descriptor < 0 or hung_up(descriptor)
    except RuntimeError:  # the application ended meanwhile: it needs no display any more
        return False


# ---- A probe for windows runs in another process: Qt ends a process in which it cannot start.

BINDINGS = {"PySide6": "PySide6-Essentials", "PyQt6": "PyQt6"}
"""Python's bindings of Qt, and the packages that contain them."""
SECONDS = 20.0
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")
PLATFORM = "QT_QPA_PLATFORM"
_CODE = (
    "import os; from {binding}.QtGui import QGuiApplication as A; a = A([]); "
    "os.write(1, a.platformName().encode()); os._exit(0)"  # Qt's own exit takes a while
)


class WindowProbe:
    """Starts Qt in another process, once for each display; :meth:`reason` returns the result."""

    _started: ClassVar[dict[tuple[str, ...], str]] = {}  # names of window systems, by the environment

    def __init__(self) -> None:
        self.binding = next((name for name in BINDINGS if find_spec(name)), "")
        self.package = BINDINGS.get(self.binding, "")
        self._process: subprocess.Popen[str] | None = None
        self._asked = tuple(os.environ.get(name, "") for name in (*DISPLAYS, PLATFORM))
        self._outcome = "", self._started.get(self._asked, "")
        if not self.binding:
            self._outcome = INSTALL, ""
        elif not (has_display() or os.environ.get(PLATFORM)):
            self._outcome = " and ".join(f"{name} is not set" for name in DISPLAYS), ""
        elif self._asked not in self._started:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _CODE.format(binding=self.binding)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                env={**os.environ, "QT_DEBUG_PLUGINS": "1", "QT_FATAL_WARNINGS": "0"},
            )

    def reason(self) -> str:
        """Return why no window can be opened, in one line with what to do or to install; empty if it can."""
        return self._answer()[0]

    def platform(self) -> str:
        """Return Qt's name of the window system, such as ``xcb``; empty if it does not start."""
        return self._answer()[1]

    def _answer(self) -> tuple[str, str]:
        if self._process is None:
            return self._outcome
        process, self._process = self._process, None
        try:
            out, err = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self._outcome = f"{_variable_words(DISPLAYS)} does not answer within {SECONDS:g} s", ""
            return self._outcome
        name = out.strip()
        if process.returncode != 0:
            self._outcome = _explained(err), ""
        elif name.startswith(("offscreen", "minimal")):
            self._outcome = f"{PLATFORM}={name} has no windows", ""
        else:
            self._outcome, self._started[self._asked] = ("", name), name
        return self._outcome


def _variable_words(names: Sequence[str]) -> str:
    """Return the environment variables that are set, as in a shell."""
    return " and ".join(f"{name}={value}" for name in names if (value := os.environ.get(name)))


def _explained(said: str) -> str:
    """Return one line that explains the messages of a Qt that does not start."""
    lines = [line.strip() for line in said.splitlines()]
    if any("could not find the qt platform plugin" in line.lower() for line in lines):
        return f"{_variable_words([PLATFORM])} is no window system that Qt knows"
    missing = next((line for line in lines if "annot load library" in line or "cannot open shared object" in line), "")
    if not missing and any("could not connect to display" in line for line in lines):
        return f"{_variable_words(DISPLAYS)} does not answer; check its name and its permission (xhost, XAUTHORITY)"
    library = f" ({': '.join(missing.rstrip('.').split(': ')[-2:])})" if missing else ""
    hint = f"Debian, Ubuntu: apt-get install {LIBRARIES}" if sys.platform.startswith("linux") else INSTALL
    return f"Qt is installed but does not start{library}; {hint}"


# ---- `DisplayWatch`: a rescue that runs once when the display of a window is lost, whoever notices it first.

LOOKED, PATIENCE = 0.25, 0.7
"""Seconds between two checks of the connection, and for which the window's loop may notice the loss itself."""


class DisplayWatch:
    """Ends a program whose display is lost while the drawing library waits for it in vain.

    A thread checks the connection. Once it is lost, the window's loop must call :meth:`claim_rescue` within
    `PATIENCE` seconds; else the thread calls `rescue` and ends the process with code 2.
    """

    def __init__(self, native_application: Any, rescue: Callable[[], None]) -> None:
        self._application, self._rescue = native_application, rescue
        self._ended, self._rescue_lock = threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._watch, name="scalarviz-display", daemon=True)

    def __enter__(self) -> DisplayWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()  # for ever while it rescues: it ends the process

    def claim_rescue(self) -> bool:
        """Return True to the first caller, who must then run the rescue; False to later ones."""
        return self._rescue_lock.acquire(blocking=False)

    def _watch(self) -> None:
        while not self._ended.wait(LOOKED):
            if connection_lost(self._application) and not self._ended.wait(PATIENCE):
                if not self.claim_rescue():
                    return
                try:
                    self._rescue()
                finally:
                    if sys.stderr is not None:
                        sys.stderr.flush()
                    os._exit(2)
