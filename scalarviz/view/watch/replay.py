"""`Replay`: a recording that is watched: it plays, goes to recorded steps and to branches, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import ScalarvizError
from ...run.sources.played import Played, RecordedSource
from ...run.sources.recorded_pair import NAMES, RecordedPair
from ...run.sources.recording.recorded import Following, Recorded
from .microsteps import RecordedSteps
from .pace import DURATION
from .playback import Replaying
from .viewer import Viewer

if TYPE_CHECKING:
    from ...run.core.frame import Frame
    from ..workbench import Workbench


NEWS_SECONDS = 12.0
"""How long it is said that nothing more will come."""


class Replay(Viewer):
    """A recording in a picture: `bench` is of a `Played`, and all of it takes `duration` seconds.

    It plays by itself after `wait` seconds without a touch; None: not before the Space key lets it.
    """

    playback: Replaying

    def __init__(self, bench: Workbench, *, duration: float = DURATION, wait: float | None = None) -> None:
        source = bench.subject.source
        assert isinstance(source, Played)  # who makes it sees to that
        self._source, self._wait = source, wait
        super().__init__(bench, Replaying(source, duration))
        self._shown_at: tuple[object, int] | None = None
        self._last: Frame | None = None
        self._trouble = ""
        self._along = GoingAlong(source)
        if isinstance(source, RecordedSource):
            self._walks(RecordedSteps(self, source, self.playback, self.now))
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
        self._along.close()

    def _go_along(self) -> None:
        """Show what was written since, of a file that still is; and say when nothing more will come."""
        changed, said, ends = self._along.look(self.micro is None or self.micro.walk is None)
        for line in said:
            self.say(line)
        if ends:
            self.say("; ".join(ends), NEWS_SECONDS)
        if changed:
            self.refresh()

    def advance(self, seconds: float) -> None:
        """The recording plays on, seen or not, and grows where it is still written."""
        super().advance(seconds)
        self._go_along()
        running = self.playback.running
        if self._wait is not None and (self.touches or self.clock >= self._wait):
            self._wait = None
            if not self.touches and self._source.place == 0:
                self.playback.play()
        if self.micro is None or not self.micro.pass_time(seconds):
            self.playback.tick(seconds)
        if self.playback.running != running:
            self.refresh()

    def tick(self, seconds: float) -> bool:
        """`seconds` have passed; returns whether the picture has to be drawn again."""
        self.bench.bar.running = self.playback.running
        return super().tick(seconds)

    @property
    def rests(self) -> bool:
        """Whether it stands still."""
        return not self.playback.running

    def pace_text(self, frame: Frame | None = None) -> str:
        """Whether it plays, which steps there are, what computed them."""
        if self.micro is not None and (inside := self.micro.headline):
            return inside
        parts = ["recording", self.playback.text(), self._along.words, self._source.spread]
        facts = self._source.facts
        return "  ·  ".join(filter(None, [*parts, "" if facts is None else facts.engine]))


# ---- `GoingAlong`: what is shown of recordings that are still being written grows with them.


@dataclass(slots=True, eq=False)
class _Written:
    """One of the recordings that grow."""

    name: str  # its letter where two are compared, else empty
    source: RecordedSource
    following: Following
    grow: Callable[[Recorded, bool], str]  # takes a newer moment, and whether to go along; returns what is said of it


class GoingAlong:
    """Looks whether there is more, of one recording or of the two of a comparison; what else is played never grows."""

    def __init__(self, source: Played) -> None:
        self._written: list[_Written] = []
        if isinstance(source, RecordedSource):
            self._follow("", source, lambda record, along: source.grow(record, along=along))
        elif isinstance(source, RecordedPair):
            for which, one in enumerate(source.pair):
                if isinstance(one, RecordedSource):
                    self._follow(NAMES[which], one, _half(source, which))

    def _follow(self, name: str, source: RecordedSource, grow: Callable[[Recorded, bool], str]) -> None:
        if source.record.growing:
            self._written.append(_Written(name, source, Following(source.record), grow))

    @property
    def words(self) -> str:
        """That it is still written; empty where nothing more comes."""
        if not self._written:
            return ""
        names = [one.name for one in self._written if one.name]
        who = "" if not names else "both are " if len(names) > 1 else f"{names[0]} is "
        return f"{who}still being recorded: at its end it goes along"

    def look(self, along: bool) -> tuple[bool, list[str], list[str]]:
        """Take over what was written since: whether anything changed, what is said of it, why nothing more comes."""
        changed, said, ends = False, list[str](), list[str]()
        for one in list(self._written):
            ended, newer = one.following.ended, one.following.take()  # in this order: then what was last is taken, too
            before = f"{one.name}: " if one.name else ""
            if newer is not None:
                changed = True
                if words := one.grow(newer, along):
                    said.append(before + words)
            elif ended:
                changed = True
                one.following.close()
                self._written.remove(one)
                ends.append(f"{before}{ended}: it ends at step {one.source.span[1]:,}")
        return changed, said, ends

    def close(self) -> None:
        """Look no further."""
        for one in self._written:
            one.following.close()
        self._written.clear()


def _half(pair: RecordedPair, which: int) -> Callable[[Recorded, bool], str]:
    return lambda record, along: pair.grow(which, record, along=along)
