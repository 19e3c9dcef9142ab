"""`scalarviz view FILE.svs`: the runs of a sweep on a wall, as a picture of it, or as a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..io import save_picture
from ..io.readable import check_source
from ..run.sources.recording.file import clean
from .console import fail, say
from .interrupt import INTERRUPTED
from .stop import Stop

if TYPE_CHECKING:
    from ..sweep.build import SceneBuild
    from ..view.sweeps.rooms import RunRooms

REPORT = ".html"


def view_runs(options: Any) -> int:
    """Show the runs until the window is closed, or write pictures and reports; returns the exit code.

    Ctrl-C, SIGTERM and SIGHUP end the writing at once; what was there before is untouched.

    Raises
    ------
    InputError, FileFormatError
        The file cannot be read; other files beside it.
    """
    if options.other is not None or options.only:
        raise InputError(f"{options.file}: the runs of a sweep are shown alone; leave the other file and --only out")
    check_source(options.file, "file of results")
    build = _build(options)
    if not options.out:
        return _in_window(options, build)
    with Stop() as stop:
        try:
            with stop.at_once():
                for path in options.out:
                    _write(options, path, build)
        except KeyboardInterrupt:
            say(f"scalarviz: {stop.word}")
            return stop.code or INTERRUPTED
    return 0


def _build(options: Any) -> SceneBuild | None:
    """What builds the runs, where that is a file of its owner's."""
    from ..sweep.results import Results
    from ..view.sweeps.opening import scene_file

    with Results(options.file) as results:
        about, left_out = results.about, results.left_out
    if left_out:
        say(f"{options.file.stem}: {left_out}")
    if options.scene is not None:
        return scene_file(options.scene, about)
    if about.build_text and about.name.endswith(".py"):
        file = clean(Path(about.name).name, 200)
        say(f"{options.file.stem}: only weights are shown: a text in a file is not run; with --scene {file} (the file "
            "that built the runs) they have their panels and train on")  # fmt: skip
    return None


def _write(options: Any, path: Path, build: SceneBuild | None) -> None:
    from ..view.sweeps import report_of_file, wall_picture

    name = options.file.stem
    if path.suffix.lower() == REPORT:
        report_of_file(options.file, path, build=build, theme=options.theme, say=lambda line: say(f"{name}: {line}"))
    else:
        save_picture(path, wall_picture(options.file, options.size, build=build, theme=options.theme))
    say(f"wrote {path}")


def _in_window(options: Any, build: SceneBuild | None) -> int:
    from ..view.window.qt_trial import WindowProbe
    from .rooms import wants_window

    reason = WindowProbe().reason() if wants_window() else "there is no display"
    if reason:
        name = options.file.stem
        return fail(f"{options.file}: no window: {reason}; try --out {name}.png, or --out {name}.html for a report")
    from ..view.sweeps import open_wall

    say(f"{options.file.stem}: ? shows the keys, Ctrl+Q closes the window")
    return open_wall(options.file, build=build, theme=options.theme, presenter=options.presenter,
                     serve=lambda rooms: _walked(rooms, options.size))  # fmt: skip


def _walked(rooms: RunRooms, size: tuple[int, int]) -> int:
    from .rooms import walk

    return walk(rooms, rooms.wall, rooms.called, size)
