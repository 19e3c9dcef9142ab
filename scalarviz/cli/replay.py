"""`scalarviz replay`: one recording, or two side by side, in a window or as a film and a picture."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from ..display import GONE
from ..errors import InputError
from ..run.sources.recording.file import check_apart
from .console import Progress, fail, number_of, say, tell
from .flags import Command, argument, model_of
from .pictures import STILLS, Outputs, canvas_of, check_look, check_unused_flags, plan_outputs
from .recording import check_page, held_data, write_page
from .stop import StopSignals
from .window import show_file, wants_window

if TYPE_CHECKING:
    from ..run.sources.played import Played
    from ..view.out.canvas import Canvas
    from ..view.page.recording import Recorded

_SHARED = (
    "headless", "out", "at", "duration", "fps", "paused", "size", "theme", "presenter", "cmap", "html", "html_data",
    "open", "json_line",
)  # fmt: skip
"""Flags that mean the same as for scenes."""


def command() -> Command:
    """Return the flags and the function of the command."""
    flags = {
        "recording": (Path, Field(description="recording (.svz) that --recording wrote",
                      json_schema_extra={"argument": True})),
        "other": (Path | None, argument("a second recording, to compare side by side")),
        "steps": (int | None, Field(None, ge=0, le=10**15, json_schema_extra={"shown": "the last one"},
                                    description="the recorded step at which the window opens, or the film ends")),
    }  # fmt: skip
    return model_of("ReplayOptions", flags, _SHARED), replay


@dataclass(slots=True)
class Replayed:
    """The shown recordings, and the files written from them."""

    name: str
    source: Played
    records: list[Recorded]
    written: list[Path] = field(default_factory=list)


def replay(options: Any) -> int:
    """Show recordings until the window is closed or the files are written; return the exit code."""
    check_unused_flags(options)
    check_look(options)
    _check_page(options)
    with ExitStack() as open_files, StopSignals() as stop:
        shown = _opened(options, open_files)
        for path in filter(None, (*options.out, options.html)):
            check_apart(path, *(record.path for record in shown.records))
        for record in shown.records:
            if said := "; ".join(filter(None, (record.remark, held_data(record)[2:]))):
                say(f"{record.path.name}: {said}")
            if not (record.complete or record.growing):
                say(
                    f"{record.path.name}: the recording was not closed properly; only frames that were not yet on "
                    "disk are lost"
                )  # fmt: skip
        for line in getattr(shown.source, "left_out", ()):
            say(f"{shown.name}: {line} (left out)")
        if options.at is not None:
            _check_at(shown.source, options)
        whole = not options.html or _page(shown, options)
        window = not (options.out or options.html) and wants_window(options)
        watched = window and show_file(
            shown.name, shown.source, options, stop, keys="Space plays and pauses, ", instead="a film and a picture",
            duration=options.duration, paused=options.paused or options.steps is not None,
        )  # fmt: skip
        failures = [GONE] if getattr(watched, "display_lost", False) else []
        if not watched and options.steps is None:
            shown.source.show_frame(len(shown.source.steps) - 1)
        figures = options.json_line and not window  # needs no picture
        if options.out or not (options.html or watched or figures):
            failures += _files(shown, options, stop).failures
        if stop:
            say(f"scalarviz: {stop.word}{'; the files are written' if shown.written else ''}")
        _report(shown, options.json_line)
        for line in failures:
            fail(line)
        return 2 if failures or not whole else stop.code


def _check_page(options: Any) -> None:
    """Refuse a page that cannot be written, or of a part of a recording."""
    check_page(options, alone=not options.out)
    if options.html and options.steps is not None:
        raise InputError(f"--html {options.html}: a page holds all steps; leave out --steps")
    if options.other is not None:
        options.refuse(["html_data"], "a page of two recordings holds no training data")
    if options.headless and not (options.html or options.out or options.json_line):
        raise InputError("--headless shows nothing; add --out FILE, --html FILE or --json")


def _page(shown: Replayed, options: Any) -> bool:
    """Write the recording, or the comparison, as a page; return whether that succeeded."""
    from ..view.page.recording import Comparison

    if isinstance(shown.source, Comparison):
        return write_page(shown.source, options, shown.name, 2 * sum(tensor.size for tensor in shown.source.tensors))
    (record,) = shown.records
    return write_page(record, options, record.about.name, record.shapes(-1).size, len(record))


def _opened(options: Any, open_files: ExitStack) -> Replayed:
    """Open the recordings at the moment to show first."""
    from ..run.sources.played import RecordedSource
    from ..view.page.recording import Comparison, load_recording, names_of

    paths = [path for path in (options.recording, options.other) if path is not None]
    records = [open_files.enter_context(load_recording(path)) for path in paths]
    sources = [open_files.enter_context(closing(RecordedSource(record, path.name)))
               for record, path in zip(records, paths, strict=True)]  # fmt: skip
    names = names_of(paths)
    source: Played = sources[0] if len(sources) == 1 else Comparison(sources[0], sources[1], (names[0], names[1]))
    if options.steps is not None:
        source.to(options.steps)
    return Replayed(" and ".join(names), source, records)


def _check_at(source: Played, options: Any) -> None:
    """Refuse ``--at`` without a picture, or at a step that was not recorded."""
    if not any(path.suffix.lower() in STILLS for path in options.out):
        raise InputError(f"--at needs a picture; add --out step-{options.at}.png")
    here = source.place
    source.to(options.at)
    source.show_frame(here)


# ---- files


def _files(shown: Replayed, options: Any, stop: StopSignals) -> Outputs:
    """Write the films and pictures that were asked for, or the usual ones."""
    from ..view.render import words_of_record

    outputs = plan_outputs(shown.name.replace("/", "-").replace(" ", "-"), options)
    for line in outputs.notes:
        say(line)
    if not (outputs.films or outputs.stills):
        return outputs
    source = shown.source
    last = source.place
    canvas = canvas_of(shown.name, options, source)
    if outputs.films:
        _film(shown, options, outputs, canvas, last, stop)
    source.show_frame(last)
    shown.written += outputs.drawn(canvas, words_of_record(source))
    return outputs


def _film(shown: Replayed, options: Any, outputs: Outputs, canvas: Canvas, last: int, stop: StopSignals) -> None:
    """Write the films up to the frame `last`; the pace follows the visible changes."""
    from ..view.render import Reel, frames_of_record
    from ..view.watch.playback import pace

    source = shown.source
    stops = pace(last, options.duration, options.fps, source.recorded_rehearsal(last))
    with Progress(shown.name, 0, len(stops)) as bar, Reel(outputs.films, canvas, options.fps) as reel:
        for done in frames_of_record(source, stops, reel):
            bar.update(done, f"step {source.steps[source.place]:,}")
            if stop:
                break
    outputs.failures += reel.failures
    shown.written += reel.written


def _report(shown: Replayed, as_json: bool) -> None:
    """Print the written files and, if asked for, one line of JSON."""
    for path in shown.written:
        say(f"wrote {path}")
    if not as_json:
        return
    lines = [
        {
            "recording": str(record.path),
            "scene": record.about.name,
            "steps": int(record.steps[-1]),
            "frames": len(record),
            "loss": number_of(record.frame(-1).display_loss),
            "weights": sum(tensor.size for tensor in record.tensors if not tensor.buffer),
            "engine": record.about.engine,
            "branches": len(record.branches),
        }
        for record in shown.records
    ]
    source = shown.source
    line: dict[str, Any] = lines[0] if len(lines) == 1 else {"a": lines[0], "b": lines[1]}
    tell(json.dumps({**line, "step": int(source.steps[source.place])}, allow_nan=False))
