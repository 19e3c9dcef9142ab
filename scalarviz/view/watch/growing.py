"""`Growing`: recordings that are still being written while they are watched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ...run.sources.played import RecordedSource
from ...run.sources.recorded_pair import NAMES, RecordedPair
from ...run.sources.recording.recorded import Following

if TYPE_CHECKING:
    from .viewer import Viewer


NEWS_SECONDS = 12.0
"""How long it is said that nothing more will come."""


@dataclass(slots=True, eq=False)
class _Written:
    """One of them: what is shown grows with it."""

    name: str  # its letter where two are compared, else empty
    source: RecordedSource
    following: Following
    grow: Callable[..., str]  # takes a newer moment, and whether to go along; returns what is said of it


class Growing:
    """Those of what a viewer shows; none where that is no recording, or one that has ended."""

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
        """What the second line says of them."""
        names = [one.name for one in self._written if one.name]
        who = "" if not names else "both are " if len(names) > 1 else f"{names[0]} is "
        return f"{who}still being recorded: at its end it goes along" if self._written else ""

    def pass_time(self) -> None:
        """Show what was written since, of a file that still is; and say when nothing more will come."""
        ends = []
        for one in list(self._written):
            ended, newer = one.following.ended, one.following.take()  # in this order: then what was last is taken, too
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
        """Look no further whether there is more."""
        for one in self._written:
            one.following.close()
        self._written.clear()
