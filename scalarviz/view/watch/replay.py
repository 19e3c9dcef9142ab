"""`Replay`: a recording that is watched: it plays, goes to recorded steps and to branches, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ...errors import ScalarvizError
from ...run.sources.played import Played, RecordedSource
from ...run.sources.recorded_pair import NAMES, RecordedPair
from ...run.sources.recording.recorded import Following
from .pace import DURATION
from .playback import Guide, Pacing
from .viewer import Viewer

if TYPE_CHECKING:
    from ...run.core.frame import Frame
    from ..workbench import Workbench


NEWS_SECONDS = 12.0
"""How long it is said that nothing more will come."""


@dataclass(slots=True, eq=False)
class _Written:
    """A recording that is still being written: what is shown grows with it."""

    name: str  # its letter where two are compared, else empty
    source: RecordedSource
    following: Following
    grow: Callable[..., str]  # takes a newer moment, and whether to go along; returns what is said of it


class Replay(Viewer):
    """A recording in a picture: `bench` is of a `Played`, and all of it takes `duration` seconds.

    It plays by itself after `wait` seconds without a touch; None: not before the Space key lets it.
    """

    def __init__(self, bench: Workbench, *, duration: float = DURATION, wait: float | None = None) -> None:
        source = bench.subject.source
        assert isinstance(source, Played)  # who makes it sees to that
        self._source, self._wait = source, wait
        self._shown_at: tuple[object, int] | None = None
        self._last: Frame | None = None
        self._trouble = ""
        super().__init__(bench, Pacing(Guide(source), duration))
        self._written: list[_Written] = []
        halves = zip(NAMES, source.pair, strict=True) if isinstance(source, RecordedPair) else [("", source)]
        for which, (name, one) in enumerate(halves):
            if isinstance(one, RecordedSource) and one.record.growing:
                grow = partial(source.grow, which) if isinstance(source, RecordedPair) else one.grow
                self._written.append(_Written(name, one, Following(one.record), grow))
        if wait == 0:
            self.playback.play()

    # ---- numbers

    def now(self) -> Frame:
        """The recorded frame where it stands."""
        at = (self._source.past, self._source.place)
        if self._last is None or self._shown_at != at:
            self._shown_at = at
            try:
                self._last, self._trouble = self._source.frame(), ""
            except ScalarvizError as error:  # the file was cut or changed meanwhile
                if self._last is None:
                    raise
                self._trouble = str(error)
                self.playback.stand(None)
        return self._last

    def message(self) -> str:
        """Why the step that was asked for cannot be shown: the picture is that of another."""
        step = self._source.steps[self._source.place]
        return f"step {step:,} cannot be read: {self._trouble}" if self._trouble else ""

    def close(self) -> None:
        """Look no further whether there is more."""
        for one in self._written:
            one.following.close()
        self._written.clear()

    def _go_along(self) -> None:
        """Show what was written since, of a file that still is; and say when nothing more will come."""
        ends = []
        for one in list(self._written):
            ended, newer = one.following.ended, one.following.take()  # in this order: then what was last is taken, too
            before = f"{one.name}: " if one.name else ""
            if newer is None and not ended:
                continue
            self.refresh()
            if newer is not None:
                if words := one.grow(newer, along=self.micro.walk is None):
                    self.say(before + words)
            else:
                one.following.close()
                self._written.remove(one)
                ends.append(f"{before}{ended}: it ends at step {one.source.span[1]:,}")
        if ends:
            self.say("; ".join(ends), NEWS_SECONDS)

    def advance(self, seconds: float) -> None:
        """The recording plays on, seen or not, and grows where it is still written."""
        super().advance(seconds)
        self._go_along()
        if self._wait is not None and (self.touches or self.clock >= self._wait):
            self._wait = None
            if not self.touches and self._source.place == 0:
                self.playback.play()

    @property
    def rests(self) -> bool:
        """Whether it stands still."""
        return not self.playback.running

    def pace(self, frame: Frame) -> list[str]:
        """Whether it plays, which steps there are, what computed them."""
        facts = self._source.facts
        names = [one.name for one in self._written if one.name]
        who = "" if not names else "both are " if len(names) > 1 else f"{names[0]} is "
        grows = f"{who}still being recorded: at its end it goes along" if self._written else ""
        engine = "" if facts is None else facts.engine
        return ["recording", self.playback.text(), grows, self._source.spread, engine]
