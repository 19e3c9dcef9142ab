"""The files of a viewer: dropped, chosen or pasted ones, and recordings that are still being written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...io import CsvTable, load_picture, parse_csv, read_csv
from ...run.sources.played import RecordedSource
from ...run.sources.recorded_pair import NAMES, RecordedPair
from ...run.sources.recording.recorded import Following

if TYPE_CHECKING:
    from .viewer import Viewer


WEIGHTS = (".safetensors",)
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".avif", ".ppm")
TABLES = (".csv", ".tsv", ".txt")


def paste(viewer: Viewer) -> None:
    """Train on the table in the clipboard; a notice reports the result."""
    text = "" if viewer.host is None else viewer.host.pasted()
    if not text.strip():
        viewer.say("the clipboard has no text: copy a table first, with column names in its first line")
    else:
        viewer.say(_learnt(viewer, parse_csv(text, "the pasted table")))


def _learnt(viewer: Viewer, table: CsvTable) -> str:
    """Train on a table from now on, as the scene defines it; return the result in words."""
    learn = viewer.bench.subject.table
    if learn is None:
        return f"{table.what}: this scene takes no table"
    edit = learn(table)
    viewer.change(edit)
    return f"{table.what}: {edit.words()}"


def open_file(viewer: Viewer, path: Path) -> str:
    """Open a file; return the result in one line."""
    ending = path.suffix.lower()
    if ending in WEIGHTS:
        return f"{path.name}: {viewer.load(path)}"
    if ending in TABLES:
        return _learnt(viewer, read_csv(path))
    if ending not in PICTURES:
        known = f"a picture, a table ({', '.join(TABLES)}) or weights ({', '.join(WEIGHTS)})"
        return f"{path.name} cannot be opened; allowed: {known}"
    done = viewer.bench.side.open_picture(load_picture(path).rgb)
    return f"{path.name}: {done or 'this scene has no panel for your picture'}"


NEWS_SECONDS = 12.0
"""Seconds for which the end of a recording is reported."""


@dataclass(slots=True, eq=False)
class _Written:
    """A recording that is still being written."""

    name: str  # "a" or "b" in a comparison, otherwise empty
    source: RecordedSource
    following: Following
    grow: Callable[..., str]  # takes a newer moment, and whether to move to it; returns a message


class Growing:
    """The shown recordings that are still being written; none for anything else."""

    def __init__(self, viewer: Viewer) -> None:
        source, self._viewer = viewer.bench.subject.source, viewer
        halves = zip(NAMES, source.pair, strict=True) if isinstance(source, RecordedPair) else [("", source)]
        self._written: list[_Written] = []
        for which, (name, one) in enumerate(halves):
            if isinstance(one, RecordedSource) and one.record.growing:
                grow = partial(source.grow, which) if isinstance(source, RecordedPair) else one.grow
                self._written.append(_Written(name, one, Following(one.record), grow))

    @property
    def words(self) -> str:
        """The HUD's words about growing recordings."""
        names = [one.name for one in self._written if one.name]
        who = "" if not names else "both are " if len(names) > 1 else f"{names[0]} is "
        return f"{who}still being recorded: new steps are shown as they come" if self._written else ""

    def pass_time(self) -> None:
        """Show newly written steps, and report when a recording ends."""
        ends = []
        for one in list(self._written):
            ended = one.following.ended  # before the newest: then what was last is taken, too
            newer = one.following.take_newest()
            before = f"{one.name}: " if one.name else ""
            if newer is None and not ended:
                continue
            self._viewer.refresh()
            if newer is not None:
                if words := one.grow(newer, along=self._viewer.micro.walk is None):
                    self._viewer.say(before + words)
            else:
                one.following.close()
                self._written.remove(one)
                ends.append(f"{before}{ended}: it ends at step {one.source.span[1]:,}")
        if ends:
            self._viewer.say("; ".join(ends), NEWS_SECONDS)

    def close(self) -> None:
        """Stop checking for new steps."""
        for one in self._written:
            one.following.close()
        self._written.clear()
