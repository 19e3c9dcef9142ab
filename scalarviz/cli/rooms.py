"""``scalarviz`` without a command: a window of all scenes; without a display or a terminal, the help."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..display import GONE, WindowProbe
from ..errors import FileFormatError, InputError, listing
from ..run.scene.scene_file import WRITER, load_scene
from .console import fail, say
from .scene_files import scene_files, summary_of
from .window import has_window

if TYPE_CHECKING:
    from ..view.ink.theme import Theme
    from ..view.walls.scene_wall import EntryRequest, SceneWall, Station
    from ..view.walls.wall import BuiltScene, SceneEntry
    from ..view.watch.host import Guest
    from .flags import Command

SIZE = (1280, 720)
STILLS = Path("pictures") / "stills"
TAKERS = {"picture": ("texture", "rgb"), "csv": ("playground",)}
"""Scenes that take a file by an option: the first available one gets it."""


def wants_wall() -> bool:
    """Return whether there is a terminal for messages and a display for a window."""
    return sys.stdout is not None and sys.stdout.isatty() and has_window()


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


def run_window(first: Callable[[tuple[int, int]], Guest], name: str, size: tuple[int, int] = SIZE) -> int:
    """Open a window on the picture that `first` makes and serve it until it is closed; return the exit code."""
    from ..view.out.desktop import Window
    from .stop import Stop

    with Stop() as stop:
        with stop.while_window_open():
            window = Window(first, name, size, on_note=lambda line: say(f"scalarviz: {line}"))
            window.on_lost = lambda: fail(GONE)
            window.run()
        if window.display_lost:
            return fail(GONE)
        if stop:
            say(f"scalarviz: {stop.word}")
        return stop.code


def make_scene_wall(theme: Theme | str = "dark") -> SceneWall:
    """Return the wall of all scenes."""
    from ..view.walls.scene_wall import SceneWall
    from ..view.watch.viewer import PICTURES, TABLES, WEIGHTS

    doors = [entry_of(name, path) for name, path in scene_files().items()]
    return SceneWall(
        doors, lambda path: entry_request_of(path, doors), (*PICTURES, *TABLES, *WEIGHTS), theme, _stations
    )


def _stations() -> Sequence[Station]:
    """Return the stations of the tour."""
    return importlib.import_module("scalarviz.scenes._tour").STATIONS  # type: ignore[no-any-return]


def entry_of(name: str, path: Path) -> SceneEntry:
    """Return the entry of a scene; its module is not imported."""
    from ..view.walls.wall import SceneEntry

    folder = path.parents[1] if path.name == "__init__.py" else path.parent
    still = folder / STILLS / f"{name}.webp"
    return SceneEntry(
        name, summary_of(path), partial(_build_scene, name), still if still.exists() else None, missing(path)
    )


def missing(path: Path) -> str:
    """Return the command that installs a missing dependency of a scene's defaults, or an empty text."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["NEEDS"]:
            needs = ast.literal_eval(node.value)
            return next((f'pip install "scalarviz[{extra}]"' for extra, module in needs.items()
                         if find_spec(module) is None), "")  # fmt: skip
    return ""


def _build_scene(name: str, given: Mapping[str, object]) -> BuiltScene:
    """Build the scene with its defaults, except for the given options."""
    from ..view.walls.wall import BuiltScene
    from .run import built

    loaded = load_scene(name)
    options = loaded.options(**given)
    return BuiltScene(built(loaded, options), options.steps, options.duration)


def entry_request_of(path: Path, doors: list[SceneEntry]) -> EntryRequest:
    """Return the scene entry for a dropped file, its options, and a description.

    Raises
    ------
    InputError, FileFormatError
        No scene takes the file, or it cannot be read.
    """
    from ..view.watch.viewer import PICTURES, TABLES, WEIGHTS

    ending = path.suffix.lower()
    if ending in WEIGHTS:
        return _weights(path, doors)
    option = "picture" if ending in PICTURES else "csv" if ending in TABLES else ""
    door = next((d for name in TAKERS.get(option, ()) for d in doors if d.name == name), None)
    if door is None:
        raise InputError(
            f"{path.name} cannot be opened; drop a picture, a table or weights "
            f"({listing((*PICTURES[:3], *TABLES, *WEIGHTS))})"
        )
    does = "learns this picture" if option == "picture" else "learns this table"
    return door, {option: path}, f"{path.name}: {door.name} {does}"


def _weights(path: Path, doors: list[SceneEntry]) -> EntryRequest:
    """Return the entry of the scene that wrote a file of weights."""
    from ..run.state import read_checkpoint

    writer = read_checkpoint(path).notes.get(WRITER, "")
    door = next((d for d in doors if d.name == writer), None)
    if door is None:
        said = (
            f"a scene named {writer[:60]!r} wrote these weights, and the package has no such scene"
            if writer
            else "the file does not name the scene of its weights"
        )
        raise FileFormatError(f"{path.name}: {said}; open that scene and drop the file there")
    return door, {"load": path}, f"{path.name}: {door.name} continues from these weights"
