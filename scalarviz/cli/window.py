"""Training in a window: whether there is one, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import MissingDependencyError, StateError
from .console import say
from .stop import Stop

if TYPE_CHECKING:
    from ..run.run import Run
    from ..run.scene.scene import Scene
    from ..view.show import Handle

GONE = "the display went away"
PATIENCE = 60.0  # seconds for the engine to come back from the call it is in; larger networks take long calls


def wants_window(options: Any) -> bool:
    """Whether these options ask for a window and there is a display: files named by ``--out`` are made without one."""
    if options.headless or options.out:
        return False
    try:
        from ..view.window.display import has_display
    except MissingDependencyError:
        return False  # plan_outputs says what is missing
    return has_display()


class InWindow:
    """A run that trains in a window. Make it early: Qt is tried out in another process meanwhile.

    Attributes
    ----------
    options : SceneOptions
        Steps, size and look; those of the scene, once it is built.
    """

    def __init__(self, options: Any) -> None:
        from ..view.window.qt_trial import WindowProbe

        self.options, self._probe = options, WindowProbe()

    def refusal(self) -> str:
        """Why no window can be opened, in one line that says what to install; empty if it can."""
        return self._probe.reason()

    def train(self, scene: Scene, stop: Stop, rescue: Callable[[Exception], object]) -> Exception | None:
        """Show the scene until the window is closed; returns what stopped the training, if something did.

        Parameters
        ----------
        scene : Scene
        stop : Stop
        rescue : callable
            Saves and says what happened where the process has to end with its display.

        Raises
        ------
        MissingDependencyError
            No window after all (no OpenGL); nothing was trained.
        """
        if stop:
            return None
        with stop.beside_a_window():
            handle = self._show(scene, rescue)
        with stop.whole():
            error = _taken_back(scene.run, handle)
        _say_newest(scene, handle)
        if error is None and not stop and (handle.display_lost or not handle.closed):
            return StateError(GONE)
        return error

    def _show(self, scene: Scene, rescue: Callable[[Exception], object]) -> Handle:
        from ..view.show import show

        options = self.options
        say(f"{scene.name}: Space begins and pauses, ? shows the keys, Ctrl+Q closes the window")
        return show(
            scene,
            size=options.size,
            steps=options.steps,
            duration=options.duration,
            theme=options.theme,
            cmap=options.cmap if options.given("cmap") else None,
            paused=options.paused,
            presenter=options.presenter,
            on_note=lambda line: say(f"{scene.name}: {line}"),
            on_lost=lambda: rescue(StateError(GONE)),
        )


def _say_newest(scene: Scene, handle: Handle) -> None:
    """What is written is of the newest step, wherever the window stood."""
    stood, newest = getattr(handle.viewer, "left_at", None), scene.run.steps
    if stood is not None and stood != newest:
        say(f"{scene.name}: the window stood at step {stood:,}; it went to the newest of its branch, {newest:,}")


def _taken_back(run: Run, handle: Handle) -> Exception | None:
    """Make sure that no thread trains the run any more; returns what had stopped it, if something did."""
    from ..view.watch.live import LiveView

    assert isinstance(handle.viewer, LiveView)  # what a scene's window has
    worker = handle.viewer.worker
    if run._store.gate is worker:  # the window had no time for it
        worker.close(PATIENCE)
    return worker.error
