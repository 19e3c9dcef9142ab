"""``scalarviz`` without a command, and the tour: a window of all scenes; where none can open, the help."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..display import WindowProbe
from .console import fail, say
from .scene_files import entry_of, entry_request_of, scene_files
from .window import has_window, run_window

if TYPE_CHECKING:
    from ..view.ink.theme import Theme
    from ..view.walls.scene_wall import SceneWall, Station
    from .flags import Command


def open_wall(help_instead: Callable[[], int]) -> int:
    """Show the wall until its window is closed; if no window can open, the help. Return the exit code."""
    probe = WindowProbe()
    found = make_scene_wall()  # while Qt is tried in another process
    if reason := probe.reason():
        code = help_instead()
        say(f"scalarviz: the window of all scenes cannot open: {reason}")
        return code
    say("scalarviz: opening all scenes; ? shows the keys, Ctrl+Q closes the window. To list commands: scalarviz --help")
    return run_window(found.appear, found.called)


def command() -> Command:
    """Return the flags and the function of the tour."""
    from .flags import model_of

    return model_of("TourOptions", {}, ("theme", "presenter")), open_tour


def open_tour(options: Any) -> int:
    """Show the tour, then the wall, until the window is closed; return the exit code."""
    if not has_window():
        return fail("the tour needs a window, and there is no display (DISPLAY and WAYLAND_DISPLAY are not set)")
    probe = WindowProbe()
    from ..view.ink.theme import presenting
    from ..view.walls.scene_wall import TOUR

    found = make_scene_wall(presenting(options.theme, options.presenter))
    if reason := probe.reason():
        return fail(f"the tour needs a window: {reason}")
    say("scalarviz: Space or Right goes on, Left goes back, Escape leaves the tour for the wall of all scenes")
    return run_window(found.tour, TOUR)


def make_scene_wall(theme: Theme | str = "dark") -> SceneWall:
    """Return the wall of all scenes."""
    from ..view.walls.scene_wall import SceneWall
    from ..view.watch.files import PICTURES, TABLES, WEIGHTS

    doors = [entry_of(name, path) for name, path in scene_files().items()]
    return SceneWall(
        doors, lambda path: entry_request_of(path, doors), (*PICTURES, *TABLES, *WEIGHTS), theme, _stations
    )


def _stations() -> Sequence[Station]:
    """Return the stations of the tour."""
    return importlib.import_module("scalarviz.scenes._tour").STATIONS  # type: ignore[no-any-return]
