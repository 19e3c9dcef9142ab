"""`Replay`: a recording that is watched: it plays, goes to recorded steps and to branches, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import ScalarvizError, StateError
from ...run.sources.played import Played, RecordedSource
from ...run.sources.recorded_pair import NAMES, RecordedPair
from ...run.sources.recording.recorded import Following, Recorded
from .actions import inside_line
from .pace import DURATION
from .playback import SpeedKeys
from .reasons import Here
from .replaying import RecordedSteps, Replaying
from .told_record import ToldRecord
from .travels import Travels
from .viewer import Viewer

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...run.core.frame import Frame
    from ...run.looking import AskedCall
    from ...run.run import Run
    from ..workbench import Workbench


NEWS_SECONDS = 12.0
"""How long it is said that nothing more will come."""


class RecordedGuide:
    """Goes to recorded steps, at once.

    Parameters
    ----------
    source : Played
    """

    journey = None
    moving = False
    remark = ""

    def __init__(self, source: Played) -> None:
        self._source = source

    def travel(self, step: int, *, nearest: bool = False) -> None:
        """Stand at the recorded step that is nearest."""
        self._source.to(self._source.past.nearest(step))

    def give_up(self) -> None:
        """It has arrived."""

    def ask(self, function: Callable[[Run], object]) -> AskedCall:
        """There is no run."""
        raise StateError(f"{self._source.what} holds what was shown, not the run itself")


class RecordedTravels(Travels):
    """Going back and forth in a recording: a branch is shown at once."""

    def __init__(self, viewer: Replay, source: Played, playback: Replaying) -> None:
        super().__init__(viewer, viewer._now, RecordedGuide(source), playback)
        self._source = source

    def switch(self, number: int) -> None:
        """Go to the newest recorded step of another branch."""
        branch = next((b for b in self._source.past.branches if b.number == number), None)
        if branch is not None:
            assert self._playback is not None
            self._playback.stand(None)
            self._source.switch(number)
            self._viewer.say(f"another branch, to step {self._source.span[1]:,}")
            self._viewer.refresh()

    def words(self, frame: Frame | None = None) -> str:
        """A recording is always of the past: nothing is to be said of that."""
        return ""

    def _watch_branches(self) -> None:
        """Nobody edits a recording: who goes to another branch, or along with the run, says so itself."""


class Replay(Viewer):
    """A recording in a picture.

    Parameters
    ----------
    bench : Workbench
        Of a :class:`~scalarviz.run.sources.played.Played`.
    duration : float
        Seconds that all of it takes.
    wait : float or None
        Seconds without a touch before it plays by itself; None: until the Space key lets it.
    """

    def __init__(self, bench: Workbench, *, duration: float = DURATION, wait: float | None = None) -> None:
        source = bench.subject.source
        assert isinstance(source, Played)  # who makes it sees to that
        self._source, self._wait = source, wait
        super().__init__(bench)
        self._shown_at: tuple[object, int] | None = None
        self._last: Frame | None = None
        self._trouble = ""
        self._record = ToldRecord(bench, self.say)
        self.playback = Replaying(source, duration)
        self.travels = RecordedTravels(self, source, self.playback)
        self.micro: RecordedSteps | None = None
        names = ("back", "first", "newest")
        self.handlers |= {name: self.travels.handlers[name] for name in names}
        self.handlers |= {"toggle_run": self.toggle_run, "step": self.step}
        self.handlers |= SpeedKeys(self.playback, self.say).handlers
        self._along = GoingAlong(source)
        bench.inside.keys = inside_line(Here(bench.subject, trains=False))
        if isinstance(source, RecordedSource):
            self.micro = RecordedSteps(self, source, self._now)
            self.handlers |= {"find_sign": self.find_sign, **self.micro.handlers}
        if wait == 0:
            self.playback.play()

    # ---- numbers

    def frame(self) -> Frame:
        """The recorded frame where it stands; inside a step as far as that has come."""
        return self._now() if self.micro is None else self.micro.shown(self._now())

    def _now(self) -> Frame:
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
        if self._record.tell(self._now()):
            self.refresh()
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

    # ---- keys

    def toggle_run(self) -> None:
        """Play or pause."""
        self.playback.toggle()

    def step(self, count: int = 1) -> None:
        """Recorded steps by hand."""
        assert self.travels is not None
        if self.micro is not None and self.micro.finish():
            return
        if not self.travels.forward(count):
            self.travels.newest()

    def escape(self) -> None:
        """Close what is open: an opened step before a selected cube."""
        if self.bench.help or self.hands.grip is not None or self.micro is None or not self.micro.leave():
            super().escape()

    def find_sign(self) -> None:
        """Go to the recorded step at which the selected weight last changed its sign."""
        inspector, source = self.bench.touch.inspector, self._source
        assert inspector is not None  # the table says that something has to be selected
        assert isinstance(source, RecordedSource)  # who else has the handler
        if not inspector.single:
            self.say("V asks of one weight: click a cube")
            return
        name, step = inspector.who.name, source.last_sign_change(inspector.index)
        if step is None:
            self.say(f"{name} has not changed its sign before, in what was recorded")
        elif self.travels is not None:
            self.say(f"{name} changed its sign at step {step:,}, or since the recorded step before it")
            self.travels.go(step)


# ---- `GoingAlong`: what is shown of recordings that are still being written grows with them.


@dataclass(slots=True, eq=False)
class _Written:
    """One of the recordings.

    Attributes
    ----------
    name : str
        Its letter where two are compared, else empty.
    source : RecordedSource
    following : Following
    grow : callable
        Takes a newer moment, and whether to go along; returns what is to be said of it.
    """

    name: str
    source: RecordedSource
    following: Following
    grow: Callable[[Recorded, bool], str]


class GoingAlong:
    """Looks whether there is more, of one recording or of the two of a comparison.

    Parameters
    ----------
    source : Played
        What else is played never grows.
    """

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
        """Take over what was written since.

        Returns
        -------
        (bool, list of str, list of str)
            Whether anything is another; what is to be said of that; and why nothing more will come.
        """
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
