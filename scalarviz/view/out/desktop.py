"""`Window`: a viewer on the desktop, through vispy's Qt backend.

This module handles three pitfalls: a Qt loop would never let Python see Ctrl-C (the timer does, 60 times a second); a
window manager may be missing, so the window asks for the keyboard itself; closing must not leave a thread behind.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Self
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from ... import display
from ...errors import MissingDependencyError, StateError
from ...run.core.interrupts import ending_signals
from ..ink.boxes import SMALLEST
from ..ink.painter import gloo, require_vispy
from ..watch.host import TICK, Guest
from .files import Taking

BESIDE = 32
"""Logical pixels between a window and the next one that would be exactly over it."""


class Window:
    """A window around one viewer at a time."""

    def __init__(
        self,
        make: Callable[[tuple[int, int]], Guest],
        name: str,
        size: tuple[int, int] = display.SIZE,
        *,
        look: str = "dark",
        shots: str | Path = "out",
        on_note: Callable[[str], None] = lambda line: None,
    ) -> None:
        require_vispy()
        from vispy import app

        self.application = display.application()
        display.survive_lost_display(self.application.native)
        self.frame = display.frame_of(name, size, look)
        inside = self.frame.size()
        self.canvas = app.Canvas(
            app=self.application, size=(inside.width(), inside.height()), keys=None, show=False, resizable=True,
            config={"alpha_size": 0}, autoswap=False, parent=self.frame,
        )  # fmt: skip
        self.canvas.set_current()
        gloo.gl.use_gl("gl2")
        if not gloo.gl.glGetParameter(gloo.gl.GL_VERSION):
            raise MissingDependencyError("no OpenGL context for a window; update the graphics driver or use --headless")
        renderer, self._asked = str(gloo.gl.glGetParameter(gloo.gl.GL_RENDERER)), False
        self._straight = "llvmpipe" in renderer and self.application.native.platformName() == "xcb"
        self._name, self.tell = name, on_note
        self._taking = Taking(shots, on_note)
        self._calls: list[Callable[[float], None]] = []
        self._last = time.perf_counter()
        self.closed = self.display_lost = False
        self.on_lost: Callable[[], object] | None = None
        self._watch = display.DisplayWatch(self.application.native, self._rescue)
        self._serving = False
        self.timer = app.Timer(TICK, connect=self._tick, start=False, app=self.application)
        self._dialogue: Any = None
        self._next: tuple[Callable[[tuple[int, int]], Guest], str] | None = None
        self.view = make(self.size)
        self._closing = display.hand_over_frame(self.frame)
        self.view.attach(self)
        self._filter = self._watch_widget()
        events = self.canvas.events
        for name in ("draw", "resize", "key_press", "mouse_press", "mouse_release", "mouse_move", "mouse_wheel"):
            getattr(events, name).connect(getattr(self, f"_on_{name}"))
        events.mouse_double_click.connect(self._on_mouse_press)  # Qt's second press of a double click

    def _watch_widget(self) -> object:
        """Return a filter for dropped files, and for the desktop's close button, which in Qt only hides the widget."""
        core, window = display.qt_core(), self
        kinds = core.QEvent.Type

        class Filter(core.QObject):  # type: ignore[name-defined,misc] # which binding is known at run time
            def eventFilter(self, watched: Any, event: Any) -> bool:
                if event.type() == kinds.Close:
                    window._on_close()
                if event.type() == kinds.Expose:  # Qt puts its own picture there, which may be old
                    window.canvas.update()
                if event.type() not in (kinds.DragEnter, kinds.DragMove, kinds.Drop):
                    return False
                files = [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
                if files:
                    event.acceptProposedAction()
                    if event.type() == kinds.Drop:
                        window.view.open(files)
                return bool(files)

        found = Filter()
        self.frame.setAcceptDrops(True)
        self.frame.installEventFilter(found)
        return found  # lives as long as the widget

    def show(self) -> Self:
        """Show the window, not exactly over another one of this process, and take the keyboard."""
        stack, native = self.frame.layout(), self.canvas.native
        if stack.currentWidget() is not native:
            stack.setCurrentIndex(stack.addWidget(native))
        self.frame.show()
        self.frame.windowHandle().installEventFilter(self._filter)
        _open.add(self)
        taken = {other.place for other in _open if other is not self and other.visible}
        x, y = self.place
        while (x, y) in taken:
            x, y = x + BESIDE, y + BESIDE
        if (x, y) != self.place:
            self.frame.move(x, y)  # only a request: some desktops place windows themselves
        for grab in (self.frame.raise_, self.frame.activateWindow, native.setFocus):
            grab()
        return self

    def run(self) -> None:
        """Serve the window until it is closed; Ctrl-C, SIGTERM and SIGHUP close it."""
        if self._closing:  # by the user, while the picture was made
            self.close()
        if self._check_display() or self.closed:  # it was lost meanwhile
            return
        self.show()
        with signals(self.close_soon):
            self._serving = True
            with self._watch:
                self.application.run()
            self._serving = False
            self._check_display()  # Qt leaves its loop when the display goes

    def _rescue(self) -> None:
        """Handle a lost display that the drawing library does not return from: stop training, save, report it."""
        self._lose_display()
        if self.on_lost is not None:
            self.on_lost()

    # ---- requests of the viewer

    @property
    def size(self) -> tuple[int, int]:
        """Device pixels of the inside, at least the smallest size with a layout."""
        width, height = self.canvas.physical_size
        return max(SMALLEST, int(width)), max(SMALLEST, int(height))

    @property
    def pixel_ratio(self) -> float:
        """Device pixels per logical pixel."""
        return float(self.canvas.pixel_scale)

    @property
    def place(self) -> tuple[int, int]:
        """Upper left corner of the inside on the screen, in logical pixels."""
        widget = self.canvas.native
        corner = widget.mapToGlobal(widget.rect().topLeft())
        return int(corner.x()), int(corner.y())

    @property
    def visible(self) -> bool:
        """True if the window is neither hidden nor minimised."""
        return bool(self.frame.isVisible() and not self.frame.isMinimized())

    @property
    def full_screen(self) -> bool:
        """True if the window fills the screen."""
        return bool(self.frame.isFullScreen())

    def show_full_screen(self, on: bool) -> None:
        """Fill the screen, or return to a window."""
        self.frame.showFullScreen() if on else self.frame.showNormal()

    def every(self, seconds: float, call: Callable[[float], None]) -> None:
        """Call a function about every `seconds`, with the seconds that have passed."""
        self._calls.append(call)
        self.timer.interval = seconds
        self.timer.start()

    def repaint(self) -> None:
        """Schedule a repaint."""
        surface = self.frame.windowHandle()
        self._asked = self._straight and surface is not None and surface.isExposed()
        if not self._asked:
            self.canvas.update()

    def ask_file(self, title: str, endings: Sequence[str], then: Callable[[Path], object]) -> None:
        """Open Qt's dialogue for a file with one of the endings; training continues meanwhile."""
        kind = _qt_widgets().QFileDialog
        dialogue = kind(self.canvas.native, title, "", f"{' '.join(f'*{ending}' for ending in endings)};;*")
        dialogue.setFileMode(kind.FileMode.ExistingFile)
        dialogue.fileSelected.connect(lambda name: then(Path(name)))
        dialogue.setAttribute(display.qt_core().Qt.WidgetAttribute.WA_DeleteOnClose)
        self._dialogue = dialogue  # opens when no button is pressed: it would keep the release from the window

    def copy(self, text: str) -> None:
        """Copy a text to the clipboard."""
        self.application.native.clipboard().setText(text)

    def pasted(self) -> str:
        """Return the text of the clipboard."""
        return str(self.application.native.clipboard().text())

    def close_soon(self) -> None:
        """Close at the next tick, because a signal can arrive while the widget paints, a key while it is handled."""
        self._closing = True

    def enter(self, make: Callable[[tuple[int, int]], Guest], name: str) -> None:
        """Show another guest from the next tick on."""
        self._next = make, name

    # ---- life

    def serve(self) -> None:
        """Handle pending events and repaint, once (for loops that are not the window's own)."""
        self._tick()
        self.application.process_events()

    def close(self) -> None:
        """Close the window and stop training; a second call does nothing."""
        if self._end():
            self._destroy()

    def _end(self) -> bool:
        """Close everything but the widget itself; return whether it was open."""
        if self.closed:
            return False
        self.closed = True
        _open.discard(self)
        self.timer.stop()
        self._let_go()
        self.frame.hide()
        self._taking.close()
        if self._serving:
            self.application.quit()
        return True

    def _destroy(self) -> None:
        """Delete the widget now.

        The garbage collector could delete it while another window is drawn, and take that window's context from the
        thread.
        """
        core = display.qt_core()
        self.frame.deleteLater()
        core.QCoreApplication.sendPostedEvents(self.frame, core.QEvent.Type.DeferredDelete.value)

    # ---- events

    def _tick(self, event: Any = None) -> None:
        now = time.perf_counter()
        seconds, self._last = now - self._last, now
        if self.closed or self._check_display():
            return
        self.canvas.set_current()
        for call in self._calls:
            call(seconds)
        if self._taking.pass_time(seconds):
            self.repaint()
        if self._closing:
            self.close()
        elif self._dialogue is not None and not self.application.native.mouseButtons().value:
            self._dialogue.open()
            self._dialogue = None
        elif self._next is not None:
            self._change_guest(*self._next)
        elif self._asked:
            self._paint_straight()

    def _change_guest(self, make: Callable[[tuple[int, int]], Guest], name: str) -> None:
        self._next = None
        self._calls.clear()
        self._let_go()
        self.canvas.set_current()  # the former guest may have left another canvas current
        self.view = make(self.size)
        self._name = name
        self.frame.setWindowTitle(display.titled(name))
        self._last = time.perf_counter()  # the time to make it does not count
        self.view.attach(self)
        self.repaint()

    def _let_go(self) -> None:
        try:
            self.view.close()
        except StateError as busy:  # a long engine call: the window continues
            self.tell(str(busy))

    def _check_display(self) -> bool:
        """Return whether the display is gone; then stop training and leave the widget, which cannot be hidden."""
        if self.closed or not display.connection_lost(self.application.native):
            return False
        self.timer.stop()
        if self._watch.claim_rescue():
            self._lose_display()
        if self._serving:
            self.application.quit()
        return True

    def _lose_display(self) -> None:
        self.closed = self.display_lost = True
        if self.on_lost is None:
            self.tell("the display was closed, and the window with it")
        self._let_go()
        self._taking.close()

    def screenshot(self) -> Path | None:
        """Save the picture as a PNG; return the file, or None with a message if it could not be written."""
        path = self._taking.save_still(self._name, self._picture())
        self.repaint()
        return path

    def film(self) -> None:
        """Begin a film of the window, or end it."""
        self._taking.begin_or_end(self._name, self._picture)
        self.repaint()

    def _picture(self) -> NDArray[np.uint8]:
        """Return the picture as it is written to files."""
        self.canvas.set_current()
        with self.view.for_file():
            return self._painted()

    def _painted(self) -> NDArray[np.uint8]:
        self._paint()
        image: NDArray[np.uint8] = gloo.read_pixels(alpha=False)
        return image

    def _on_draw(self, event: Any = None) -> None:
        again = True
        if self._taking.due():
            with self.view.for_file() as again:
                self._taking.add_picture(self._painted())
        if again:
            self._paint()
        self._taking.draw(self.size, self.pixel_ratio)

    def _paint_straight(self) -> None:
        """Paint into the window itself instead of Qt's picture of the widget.

        Qt copies that picture twice, which takes a software renderer longer than the painting.
        """
        from vispy.gloo.context import set_current_canvas

        native, self._asked = self.canvas.native, False
        context, surface = native.context(), self.frame.windowHandle()
        self._straight = context.makeCurrent(surface)
        if not self._straight or self._taking.due():  # films use the widget's picture, as stills do
            self.canvas.update()
            return
        native._vispy_get_fb_bind_location = lambda: 0
        try:
            set_current_canvas(self.canvas)
            self.canvas.events.draw(region=None)
            display.swap(context, surface)
        finally:
            del native._vispy_get_fb_bind_location

    def _paint(self) -> None:
        """Let the guest paint its picture."""
        width, height = (int(n) for n in self.canvas.physical_size)
        gloo.set_viewport(0, 0, width, height)
        gloo.set_state(depth_mask=True)
        gloo.clear(color=(0.08, 0.08, 0.1, 1.0), depth=True)
        if min(width, height) >= SMALLEST:
            self.view.draw((width, height))

    def _on_resize(self, event: Any) -> None:
        self._taking.resized(self.size)
        if min(self.canvas.physical_size) >= SMALLEST:
            self.canvas.set_current()
            self.view.resize(self.size)

    def _on_key_press(self, event: Any) -> None:
        name = event.key.name if event.key is not None else unnamed(event.native)
        held = modifiers(event)
        if not held & {"Alt", "Meta"}:  # those belong to the desktop
            self.canvas.set_current()
            self.view.key(name, event.text or "", shift="Shift" in held, ctrl="Control" in held)

    def _at(self, event: Any) -> tuple[float, float]:
        scale = self.canvas.pixel_scale
        return event.pos[0] * scale, event.pos[1] * scale

    def _on_mouse_press(self, event: Any) -> None:
        button = "left" if event.button == 1 else "right"
        held = modifiers(event)
        self.view.press(self._at(event), button, shift="Shift" in held, ctrl="Control" in held)

    def _on_mouse_release(self, event: Any) -> None:
        self.canvas.set_current()
        self.view.release(self._at(event))

    def _on_mouse_move(self, event: Any) -> None:
        self.canvas.set_current()
        self.view.move(self._at(event))

    def _on_mouse_wheel(self, event: Any) -> None:
        self.canvas.set_current()
        across, up = (float(notches) for notches in event.delta)
        self.view.scroll(self._at(event), (across, up), shift="Shift" in modifiers(event))

    def _on_close(self) -> None:
        if self._end():  # the widget is inside its own event: delete it after that
            display.qt_core().QTimer.singleShot(0, self._destroy)


_open: WeakSet[Window] = WeakSet()


# ---- Names of keys that differ between Qt and vispy.


def unnamed(event: Any) -> str | None:
    """Return the name of a key that vispy does not know: Shift+Tab is another key in Qt."""
    return "Tab" if event is not None and event.key() == display.qt_core().Qt.Key.Key_Backtab else None


def modifiers(event: Any) -> set[str]:
    """Return the names of the modifier keys that are pressed."""
    return {str(getattr(key, "name", key)) for key in event.modifiers}


# ---- Signals that end the process, and so the window.


@contextmanager
def signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` on Ctrl-C, SIGTERM and SIGHUP while the block runs (only in the main thread, which gets signals)."""
    former = {}
    with suppress(ValueError):
        for number in ending_signals():
            former[number] = signal.signal(number, lambda number, frame: stop())
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _qt_widgets() -> Any:
    """Return QtWidgets of the binding that vispy chose."""
    return import_module(f"{display.qt_core().__name__.rpartition('.')[0]}.QtWidgets")
