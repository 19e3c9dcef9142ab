"""A file of results as a window, a picture, or a report. What builds its runs is found here; it is not run itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, shown
from ...io.atomic import StrPath, path_text
from ...run.scene.scene import Scene
from ...sweep.about import About
from ...sweep.build import Build, SceneBuild
from ...sweep.result import Result
from ...sweep.results import Results
from ..ink.places import check_size
from ..ink.theme import Theme, presenting
from ..out.desktop import Window
from ..out.offscreen import offscreen
from ..out.unseen import Unseen
from .run_report import write_report
from .run_rooms import WALL, RunRooms
from .run_wall import RunWall
from .runs import Runs, options_text

MOST = 10_000
"""Results of a file that are shown."""
_NAME = re.compile("[a-z][a-z0-9_]*")


def runs_of(path: StrPath, build: Build | None = None) -> Runs:
    """The runs in a file of results.

    Parameters
    ----------
    path : path
    build : SceneBuild or FunctionBuild, optional
        What built them. Default: the scene of the package that the file names; the text of a scene in it is not run.

    Raises
    ------
    InputError, FileFormatError
        It cannot be read.
    """
    with Results.read(path) as read:
        about, results, growing = read.about, tuple(islice(read.results(), MOST)), read.written

    def weights(number: int) -> dict[str, NDArray[Any]]:
        with Results.read(path) as read:
            return read.weights(number)

    def rule(number: int) -> tuple[dict[str, NDArray[Any]], str]:
        with Results.read(path) as read:
            return read.rule(number)

    found = build or build_of(about)
    making = None if found is None else _making(found, about)
    some = f"the first {MOST:,} results" if len(results) == MOST < about.total else ""
    return Runs(", ".join(filter(None, (title_of(about), some))), results, making, weights, about.total, rule, growing)


def title_of(about: About) -> str:
    """What a sweep is called: the scene, and what its runs have in common."""
    return ", ".join(filter(None, (Path(about.name).stem, options_text(about.fixed))))


def build_of(about: About) -> SceneBuild | None:
    """What builds the runs of a file, if that is a scene of the package: nothing that a file holds is ever run."""
    if about.build_text or not _NAME.fullmatch(about.name) or find_spec(f"scalarviz.scenes.{about.name}") is None:
        return None
    return SceneBuild(about.name)


def scene_file(path: StrPath, about: About) -> SceneBuild:
    """A scene's file as what builds the runs of a file of results: its owner says that it may be run.

    Raises
    ------
    InputError
        It cannot be read, or it is not the text that built them.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read the scene {path_text(path)}: {why}") from None
    if text != about.build_text:
        was = f"another text of {shown(about.name)}" if about.build_text else f"the scene {shown(about.name)}"
        raise InputError(f"{path_text(path)} did not build these runs: {was} did; give the file as it was then")
    return SceneBuild(about.name, text)


def _making(build: Build, about: About) -> Callable[[Result], Scene]:
    def making(result: Result) -> Scene:
        given = {"steps": about.steps, **about.fixed, **result.options}
        if isinstance(build, SceneBuild):
            fields = build.loaded.options.model_fields
            given = {name: value for name, value in given.items() if name in fields and not _writes(fields[name])}
            if given["steps"] == fields["steps"].default:  # nobody gave it: epochs may be given in its place
                del given["steps"]
        else:
            given.pop("steps")
        try:
            built = build.built(given, result.seed)
        except ValueError as error:  # pydantic's, of options that the scene of today has no more
            raise InputError(f"{about.name}, run {result.number:,}: {' '.join(str(error).split())[:300]}") from None
        return built.scene if built.scene is not None else Scene(Path(about.name).stem, built.run)

    return making


def _writes(field: Any) -> bool:
    """Whether an option names a file that is written."""
    extra = field.json_schema_extra
    return isinstance(extra, dict) and bool(extra.get("written"))


def rooms_of(path: StrPath, build: Build | None = None, theme: str | Theme = "dark") -> RunRooms:
    """The way through a window of the runs in a file, which follows the file while it grows."""
    read = [runs_of(path, build), Results.read(path)]

    def newer() -> Runs | None:
        assert isinstance(read[0], Runs)
        assert isinstance(read[1], Results)
        if not read[1].changed and read[0].growing == read[1].written:
            return None
        read[1].close()
        read[:] = [runs_of(path, build), Results.read(path)]
        assert isinstance(read[0], Runs)
        return read[0]

    assert isinstance(read[0], Runs)
    return RunRooms(read[0], newer, theme)


def open_wall(
    path: StrPath,
    *,
    build: Build | None = None,
    size: tuple[int, int] = (1280, 720),
    theme: str = "dark",
    presenter: bool = False,
    serve: Callable[[RunRooms], int] | None = None,
) -> int:
    """Show the runs of a file of results in a window until that is closed.

    Parameters
    ----------
    path : path
        What ``scalarviz sweep`` or ``sv.sweep`` wrote; it may still be growing.
    build : SceneBuild or FunctionBuild, optional
        What built its runs; see :func:`runs_of`.
    size : (int, int)
        Inside of the window in logical pixels.
    theme, presenter : str, bool
        ``"dark"`` or ``"light"``; whether it is for a hall.
    serve : callable, optional
        ``serve(rooms)`` opens the window and returns an exit code; default: here, and 0.

    Raises
    ------
    InputError, FileFormatError
        The file cannot be read.
    MissingDependencyError
        No Qt or no OpenGL; the message says what to install.
    """
    rooms = rooms_of(path, build, presenting(theme, presenter))
    if not (rooms.runs.results or rooms.runs.growing):
        raise InputError(f"{path_text(path)}: none of its {rooms.runs.total:,} runs is done yet; open it again then")
    if serve is not None:
        return serve(rooms)
    try:
        Window(rooms.wall, WALL, size).run()
    finally:
        rooms.close()
    return 0


def wall_picture(
    path: StrPath,
    size: tuple[int, int] = (1280, 720),
    *,
    build: Build | None = None,
    theme: str | Theme = "dark",
    shows: str = "panel",
) -> NDArray[np.uint8]:
    """The wall of the runs of a file as a picture, uint8 (height, width, 3): as many as have room, the best first.

    Parameters
    ----------
    path, build, theme
        As of :func:`open_wall`.
    size : (int, int)
        Pixels.
    shows : {"panel", "cubes", "plots"}
        The panel or the cubes of each run, or the plots of all of them.

    Raises
    ------
    InputError, FileFormatError
        The file cannot be read, a size that no picture has, another word.
    MissingDependencyError
        Nothing can draw here; the message says what to install.
    """
    if shows not in ("panel", "cubes", "plots"):
        raise InputError(f"a wall shows panel, cubes or plots, got {shown(shows)}")
    size, rooms = check_size(size), rooms_of(path, build, theme)
    rooms.plots = shows == "plots"
    try:
        with offscreen():
            host = Unseen(rooms.wall, size)
            if not rooms.plots:
                rooms.faces.shows = shows
                host.view.resize(size)
                _draw_all(rooms, host)
            picture = host.picture()
            host.close_soon()
    finally:
        rooms.close()
    return picture


def _draw_all(rooms: RunRooms, host: Unseen) -> None:
    """Every picture that has room on the wall."""
    wall = host.view
    assert isinstance(wall, RunWall)
    while wall.missing:
        wall.draw_next()
        rooms.wait()


def report_of_file(
    path: StrPath,
    target: StrPath,
    *,
    build: Build | None = None,
    theme: str = "dark",
    say: Callable[[str], object] = lambda line: None,
) -> Path:
    """Write the report of a file of results: one HTML file; see :func:`~.report.write_report`.

    Raises
    ------
    InputError, FileFormatError
        The one cannot be read, the other cannot be written.
    """
    runs = runs_of(path, build)
    if not runs.results:
        raise InputError(f"{path_text(path)}: none of its {runs.total:,} runs is done yet; there is nothing to report")
    with Results.read(path) as read:
        made = read.about.made
    return write_report(runs, target, theme=theme, about=made, say=say)
