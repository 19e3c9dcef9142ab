"""Windows: check whether one can open, show a picture or a file in it, and train in it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .. import display
from ..display import GONE, WindowProbe
from ..errors import MissingDependencyError, StateError
from .console import fail, say
from .stop import StopSignals

if TYPE_CHECKING:
    from ..run.run import Run
    from ..run.scene.scene import Scene
    from ..view.show import Handle
    from ..view.watch.host import Guest

SIZE = (1280, 720)
PATIENCE = 60.0  # seconds for the engine to return from its current call; larger networks take long calls


def has_window() -> bool:
    """Return whether there is a display and vispy. Callers that draw pictures instead say what is missing."""
    return display.has_display() and find_spec("vispy") is not None


def wants_window(options: Any) -> bool:
    """Return whether the options ask for a window and there is a display; ``--out`` writes files without one."""
    return not (options.headless or options.out) and has_window()


def show_file(
    name: str, source: Any, options: Any, stop: StopSignals, *, keys: str = "", instead: str, **more: Any
) -> Handle | bool:
    """Show a file's content until the window is closed; False, after a line with the reason, if none can open."""
    reason = WindowProbe().reason()
    if stop:
        return True
    if not reason:
        say(f"{name}: {keys}? shows the keys, Ctrl+Q closes the window")
        try:
            with stop.while_window_open():
                return show_in_window(name, source, options, on_lost=lambda: fail(GONE), **more)
        except MissingDependencyError as missing:
            reason = str(missing)
    say(f"{name}: writing {instead} instead of a window: {reason}")
    return False


def show_in_window(name: str, source: Any, options: Any, **more: Any) -> Handle:
    """Show something with the look that the options ask for; `more` are further arguments of ``sv.show``."""
    from ..view.show import show

    return show(
        source,
        size=options.size,
        theme=options.theme,
        cmap=options.cmap if options.given("cmap") else None,
        presenter=options.presenter,
        on_note=lambda line: say(f"{name}: {line}"),
        **more,
    )


class InWindow:
    """A run that trains in a window. Create it early: another process tries Qt meanwhile."""

    def __init__(self, options: Any) -> None:
        self.options, self.probe = options, WindowProbe()

    def train(self, scene: Scene, stop: StopSignals, rescue: Callable[[Exception], object]) -> Exception | None:
        """Show the scene until the window is closed; return the error that stopped the training, or None.

        `rescue` saves and reports if the process has to end with its display. MissingDependencyError:
        there is no window after all (no OpenGL), and nothing was trained.
        """
        if stop:
            return None
        with stop.while_window_open():
            options = self.options
            say(f"{scene.name}: Space starts and pauses, ? shows the keys, Ctrl+Q closes the window")
            handle = show_in_window(
                scene.name, scene, options, steps=options.steps, duration=options.duration, paused=options.paused,
                on_lost=lambda: rescue(StateError(GONE)),
            )  # fmt: skip
        with stop.protect_step():
            error = _stop_training(scene.run, handle)
        _say_newest(scene, handle)
        if error is None and not stop and (handle.display_lost or not handle.closed):
            return StateError(GONE)
        return error


def _say_newest(scene: Scene, handle: Handle) -> None:
    """Print a note if the window stood at another step than the newest, which the files hold."""
    stood, newest = getattr(handle.viewer, "left_at", None), scene.run.steps
    if stood is not None and stood != newest:
        say(f"{scene.name}: the window showed step {stood:,}; the files hold the newest step of its branch, {newest:,}")


def _stop_training(run: Run, handle: Handle) -> Exception | None:
    """Wait until no thread trains the run; return the error that had stopped it, or None."""
    from ..view.watch.live import LiveView

    assert isinstance(handle.viewer, LiveView)  # a scene's window has one
    worker = handle.viewer.worker
    if run._store.gate is worker:  # the window had no time for it
        worker.close(PATIENCE)
    return worker.error


def wants_wall() -> bool:
    """Return whether there is a terminal for messages and a display for a window."""
    return sys.stdout is not None and sys.stdout.isatty() and has_window()


def run_window(first: Callable[[tuple[int, int]], Guest], name: str, size: tuple[int, int] = SIZE) -> int:
    """Open a window on the picture that `first` makes and serve it until it is closed; return the exit code."""
    from ..view.out.desktop import Window

    with StopSignals() as stop:
        with stop.while_window_open():
            window = Window(first, name, size, on_note=lambda line: say(f"scalarviz: {line}"))
            window.on_lost = lambda: fail(GONE)
            window.run()
        if window.display_lost:
            return fail(GONE)
        if stop:
            say(f"scalarviz: {stop.word}")
        return stop.code
