"""`scalarviz view`: the numbers of one ONNX or safetensors file, of two with their difference, or a sweep's results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from ..display import GONE, WindowProbe
from ..errors import InputError, listing
from ..io import check_target, save_picture
from ..io.atomic import check_source
from ..io.pictures import FORMATS
from ..run.sources.recording.tables import clean
from .console import fail, say
from .flags import Command, argument, model_of
from .interrupt import INTERRUPTED
from .pictures import FOLDER, STILLS, canvas_of, check_look
from .stop import StopSignals
from .window import has_window, show_file, wants_window

if TYPE_CHECKING:
    from ..sweep.job import SceneBuild
    from ..view.shown.subject import Subject


RESULTS = ".svs"
_LISTED = 40
"""Most names of renamed tensors, and of tensors that cannot be compared, in messages."""


def command() -> Command:
    """Return the flags and the function of the command."""
    flags = {
        "file": (Path, Field(description="file of weights (.onnx, .safetensors) or results of a sweep (.svs)",
                             json_schema_extra={"argument": True})),
        "other": (Path | None, argument("a second file, to compare side by side")),
        "only": (list[str], Field([], json_schema_extra={"metavar": "PATTERN"},
                                  description='show only tensors of this name, such as "layers.0.*"; may be repeated')),
        "out": (list[Path], Field([], json_schema_extra={"metavar": "FILE", "written": True},
                                  description="write this picture (.png) instead of opening a window, or a report "
                                  "(.html) for a sweep; may be repeated")),
        "scene": (Path | None, Field(None, json_schema_extra={"metavar": "FILE"},
                  description="for a sweep: the scene's file (.py) that built the runs; scalarviz runs it")),
    }  # fmt: skip
    return model_of("ViewOptions", flags, ("headless", "size", "theme", "presenter", "cmap")), view


def view(options: Any) -> int:
    """Show the files until the window is closed, or write the pictures; return the exit code."""
    check_look(options)
    _check_targets(options)
    if options.file.suffix.lower() == RESULTS:
        return view_runs(options)
    if options.scene is not None:
        raise InputError(
            f"--scene needs the results of a sweep (.svs); {options.file} holds weights or arrays, so leave out --scene"
        )
    from ..view.walls.stored import stored_subject

    paths = [path for path in (options.file, options.other) if path is not None]
    with StopSignals() as stop:
        subject = stored_subject(paths, options.only)
        name = " and ".join(path.stem for path in paths)
        _tell(name, subject)
        seen = wants_window(options) and show_file(name, subject, options, stop, instead="a picture")
        code = 0 if seen else _pictures(name, subject, options)
        if getattr(seen, "display_lost", False):
            return fail(GONE)
        if stop:
            say(f"scalarviz: {stop.word}")
        return code or stop.code


def _check_targets(options: Any) -> None:
    if options.headless and not options.out:
        raise InputError("--headless shows nothing; add --out FILE")
    for path in options.out:
        runs = options.file.suffix.lower() == RESULTS
        kinds, page = (FORMATS, f" or a report ({REPORT})") if runs else (STILLS, "")
        if path.suffix.lower() not in kinds and not (runs and path.suffix.lower() == REPORT):
            raise InputError(f"--out {path}: give a picture ({listing(kinds)}){page}; a file of numbers makes no film")
        check_target(path)
        for given in (options.file, options.other):
            if given is not None and path.exists() and given.exists() and path.samefile(given):
                raise InputError(f"--out {path} is the file to show; give another name")


def _tell(name: str, subject: Subject) -> None:
    """Print the amount of numbers, and the tensors of two files that cannot be compared."""
    from ..view.walls.stored import amount

    source = subject.source
    say(f"{name}: {amount(subject.tensors)}")
    for lines, what in ((getattr(source, "renamed", ()), ""), (getattr(source, "left_out", ()), " (left out)")):
        for line in lines[:_LISTED]:
            say(f"{name}: {line}{what}")
        if len(lines) > _LISTED:
            say(f"{name}: and {len(lines) - _LISTED:,} more{what}")


def _pictures(name: str, subject: Subject, options: Any) -> int:
    """Write the pictures that were asked for, or one into the default folder."""
    paths = options.out or [FOLDER / f"{name.replace(' ', '-')}.png"]
    canvas = canvas_of(name, options, subject)
    for path in paths:
        say(f"wrote {canvas.write(path, '')}")
    return 0


REPORT = ".html"


def view_runs(options: Any) -> int:
    """Show the runs until the window is closed, or write pictures and reports; return the exit code.

    Ctrl-C, SIGTERM and SIGHUP end the writing at once; files that existed before are unchanged.
    """
    if options.other is not None or options.only:
        raise InputError(f"{options.file}: a sweep is shown alone; leave out the second file and --only")
    check_source(options.file, "file of results")
    build = _build_of(options)
    if not options.out:
        return _runs_window(options, build)
    with StopSignals() as stop:
        try:
            with stop.interrupt_at_once():
                for path in options.out:
                    _write(options, path, build)
        except KeyboardInterrupt:
            say(f"scalarviz: {stop.word}")
            return stop.code or INTERRUPTED
    return 0


def _build_of(options: Any) -> SceneBuild | None:
    """Return the builder of the runs if ``--scene`` names its file; otherwise None."""
    from ..sweep.results import Results
    from ..view.walls.runs import scene_file

    with Results(options.file) as results:
        about, left_out = results.about, results.left_out
    if left_out:
        say(f"{options.file.stem}: {left_out}")
    if options.scene is not None:
        return scene_file(options.scene, about)
    if about.build_text and about.name.endswith(".py"):
        file = clean(Path(about.name).name, 200)
        say(
            f"{options.file.stem}: only weights are shown, because code inside a file is never run; give --scene "
            f"{file} (the file that built the runs) to see panels and to continue training"
        )  # fmt: skip
    return None


def _write(options: Any, path: Path, build: SceneBuild | None) -> None:
    from ..view.walls.run_report import report_of_file
    from ..view.walls.run_wall import wall_picture

    name = options.file.stem
    if path.suffix.lower() == REPORT:
        report_of_file(options.file, path, build=build, theme=options.theme, say=lambda line: say(f"{name}: {line}"))
    else:
        save_picture(path, wall_picture(options.file, options.size, build=build, theme=options.theme))
    say(f"wrote {path}")


def _runs_window(options: Any, build: SceneBuild | None) -> int:
    reason = WindowProbe().reason() if has_window() else "there is no display"
    if reason:
        name = options.file.stem
        return fail(f"{options.file}: no window: {reason}; try --out {name}.png, or --out {name}.html for a report")
    from ..view.ink.theme import presenting
    from ..view.walls.run_wall import wall_of
    from .window import run_window

    wall = wall_of(options.file, build, presenting(options.theme, options.presenter))
    say(f"{options.file.stem}: ? shows the keys, Ctrl+Q closes the window")
    return run_window(wall.appear, wall.called, options.size)
