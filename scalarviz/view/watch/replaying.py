"""`Replaying`: how fast a recording goes by. No drawing and no clock of its own.

As in a film of the run, its frames are spread over the duration by what there is to see in them (see `pace`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import ScalarvizError
from ...run.core.frame import Past
from ...run.sources.played import Played, RecordedSource
from ..micro.walk import Walk
from ..panels.wording import noun
from .microsteps import LEAST, MOST, STEP_SECONDS
from .pace import DURATION, pace
from .playback import RATE, SPEEDS, speed_text

if TYPE_CHECKING:
    from ...run.core.frame import Frame
    from .replay import Replay


class Replaying:
    """Play, pause and speed of one recording.

    Parameters
    ----------
    source : Played
    duration : float
        Seconds that all of it takes.

    Attributes
    ----------
    running : bool
        Whether time goes on; at the last frame it no longer does.
    limit : int or None
        The step at which it waits, where there is one.
    """

    aim = None

    def __init__(self, source: Played, duration: float = DURATION) -> None:
        self._source, self._duration = source, duration
        self.running = False
        self.limit: int | None = None
        self._speed = SPEEDS.index(1.0)
        self._time = 0.0
        self._past: Past | None = None
        self._table: NDArray[np.int64] = np.zeros(2, np.int64)

    @property
    def speed(self) -> float:
        """1 is the paced normal."""
        return SPEEDS[self._speed]

    @property
    def slowest(self) -> bool:
        """Whether the speed is the least there is: recorded micro-steps are walked through then."""
        return self._speed == 0

    def change_speed(self, by: int) -> None:
        """Go `by` places up or down; 0 is back to normal. There is always a limit: what is left out is not seen."""
        most = len(SPEEDS) - 2
        self._speed = max(0, min(most, self._speed + by)) if by else SPEEDS.index(1.0)

    def toggle(self) -> None:
        """Play, from the first step where it stands at the last one, or pause."""
        if self.running:
            self.stand(None)
            return
        if self._source.place == self._last:
            self._source.stand(0)
        self.play()

    def play(self) -> None:
        """Go on from here."""
        self._follow()
        self.running = self._source.place < self._last
        self._time = self._time_of(self._source.place)

    def resume_here(self) -> None:
        """Set the clock to where the recording stands: somebody else has moved it."""
        self._time = self._time_of(self._source.place)

    def stand(self, step: int | None) -> None:
        """Time stands still; who asks goes to `step` himself."""
        self.running = False

    def again(self) -> None:
        """A recording begins nothing anew."""

    def tick(self, seconds: float) -> bool:
        """`seconds` have passed; returns whether another frame is to be shown."""
        if not self.running:
            return False
        self._follow()
        self._time += min(seconds, 0.25) * self.speed  # a hidden or stalled window does not jump ahead
        at = self._time * RATE
        place = int(np.interp(at, np.arange(len(self._table)), self._table) + 1e-6)
        if self.limit is not None:
            place = min(place, int(np.searchsorted(self._source.steps, self.limit)))
        moved = place != self._source.place
        self._source.stand(place)
        if self._source.place >= self._last:
            self.running = False
        return moved

    def text(self) -> str:
        """How fast it goes, for the HUD."""
        if self.running:
            return "plays" if self.speed == 1 else f"plays, speed {speed_text(self.speed)}"
        paused = "at the end" if self._source.place == self._last and self._last else "paused"
        return paused if self.speed == 1 else f"{paused}, speed {speed_text(self.speed)}"

    @property
    def _last(self) -> int:
        return len(self._source.steps) - 1

    def _time_of(self, place: int) -> float:
        """When a frame is shown, in seconds."""
        return float(np.searchsorted(self._table, place)) / RATE

    def _follow(self) -> None:
        """The frames of another branch, or of one that has grown, are spread anew, and it goes on from where it is."""
        past = self._source.past
        if past is not self._past:
            self._past = past
            try:
                seen = self._source.seen()
            except ScalarvizError:  # a frame cannot be read: who shows it says so
                seen = None
            self._table = pace(self._last, self._duration, RATE, seen, rest=0.0)
            self._time = self._time_of(self._source.place)


# ---- `RecordedSteps`: walking through the micro-steps of a recording, where it holds them, with the keys of a run.


class RecordedSteps:
    """The walk of one replay.

    Parameters
    ----------
    view : Replay
    source : RecordedSource
    look : callable
        The recorded frame that is shown.

    Attributes
    ----------
    walk : Walk or None
        The opened step.
    at : int
        The micro-step shown, from 1.
    trial : bool
        Whether a step with the probe alone is wanted; else the run's own.
    """

    def __init__(self, view: Replay, source: RecordedSource, look: Callable[[], Frame]) -> None:
        self._view, self._source, self._look = view, source, look
        self.walk: Walk | None = None
        self.at, self.trial = 0, True
        self._since = 0.0
        self._about: int | None = None
        view.bench.inside.asked = self._clicked
        self.handlers: dict[str, Callable[..., None]] = {
            "micro_next": self.next, "micro_back": self.back, "whose": self.toggle_whose,
        }  # fmt: skip

    # ---- by hand

    def next(self) -> None:
        """The next micro-step; the first opens the step after the frame shown, after the last comes the next frame."""
        self._view.playback.stand(None)
        if self.walk is None:
            self._open(1)
        elif self.at < len(self.walk):
            self._show(self.at + 1)
        else:
            self.finish()

    def back(self) -> None:
        """The micro-step before; at the first one, the end of the recorded step before."""
        self._view.playback.stand(None)
        if self.walk is not None and self.at > 1:
            self._show(self.at - 1, runs=False)
        elif self._source.place == 0:
            self._view.say(f"step {self._look().step + 1:,} is the first that was recorded")
        else:
            self._source.stand(self._source.place - 1)
            self.walk = None
            self._open(-1)

    def toggle_whose(self) -> None:
        """One sample's numbers, or those of the whole batch."""
        one = noun(self._view.bench.subject)
        trial = not (self.trial if self.walk is None else self.walk.opened.trial)
        if trial not in self._source.sides():
            self._view.say(f"of this step {f'this {one} alone' if trial else 'the whole batch'} was not recorded")
            return
        self.trial = trial
        if self.walk is not None:
            self._open(self.at, runs=False)
        else:
            self._view.say(f"{'this ' + one if trial else 'the whole batch'}: so . opens the recorded step")

    def finish(self) -> bool:
        """Go on to the next recorded frame; returns whether a step was open."""
        walk, source = self.walk, self._source
        if walk is None:
            return False
        self.leave()
        if source.place + 1 >= len(source.steps):
            self._view.say(f"step {source.span[1]:,} is the last that was recorded")
            return True
        source.stand(source.place + 1)
        now = int(source.steps[source.place])
        if left := now - walk.opened.step:
            missing = "the one before it was" if left == 1 else f"the {left:,} before it were"
            self._view.say(f"step {now:,}: {missing} not recorded")
        self._view.refresh()
        return True

    def leave(self) -> bool:
        """Close the opened step; returns whether there was one."""
        there = self.walk is not None
        self.walk = None
        self._view.bench.inside.show(None)
        self._view.refresh()
        return there

    def _clicked(self, what: str, number: int) -> None:
        """A click on the ribbon or the switch."""
        if what == "switch":
            self.toggle_whose()
        elif self.walk is not None:
            self._show(self.walk.first_of(number))

    # ---- opening

    def _open(self, at: int, *, runs: bool = True) -> None:
        """Open the step after the frame shown at a micro-step; -1 is the last one."""
        source, frame = self._source, self._look()
        self._view.follow(frame)
        alone = self.trial if self.trial in source.sides() else not self.trial
        try:
            walk = Walk(source.opened(alone=alone), self._view.bench.subject, frame)
        except ScalarvizError as error:
            self.leave()
            self._view.say(str(error))
            return
        self.walk = walk
        self._show(len(walk) if at < 0 else min(at, len(walk)), runs=runs and at > 0)

    def _show(self, at: int, *, runs: bool = True) -> None:
        assert self.walk is not None
        self.at, self._since, self._about = at, 0.0, self._view.bench.selected
        self._view.bench.inside.show(self.walk.told(at, self._about), runs=runs)
        self._view.refresh()

    # ---- time

    @property
    def slow(self) -> bool:
        """Whether the recording plays so slowly that its steps are opened by themselves."""
        return self._view.playback.running and self._view.playback.slowest

    def pass_time(self, seconds: float) -> bool:
        """`seconds` have passed; returns whether an opened step plays, so that the recording may not.

        A step is closed where another frame is shown now; another weight is told of where one was selected.
        """
        self._since = self._since + seconds if self.slow else 0.0
        if self.walk is not None and self._look().step != self.walk.frame.step:
            self.leave()
        if self.slow and self._play():
            return True
        if self.walk is not None and self._view.playback.running:
            self.leave()
            self._view.playback.resume_here()
        elif self.walk is not None and self._about != self._view.bench.selected:
            self._show(self.at, runs=False)
        return False

    def _play(self) -> bool:
        """Slow motion: micro-step by micro-step, and at the end the next frame; whether there is a step to walk in."""
        if self.walk is None:
            return self._enter()
        if self._since >= min(MOST, max(LEAST, STEP_SECONDS / len(self.walk))):
            if self.at < len(self.walk):
                self._show(self.at + 1)
            else:
                self.walk = None  # the next one follows, without a gap
                self._source.stand(self._source.place + 1)
                if not self._enter():
                    self.leave()
                    self._view.playback.resume_here()
                    return False
        elif self._about != self._view.bench.selected:
            self._show(self.at, runs=False)
        return True

    def _enter(self) -> bool:
        """Open the step after the frame shown; whether it was recorded, can be read and leads to another frame."""
        if self._source.at_end or not self._source.sides():
            return False
        self._open(1)
        return self.walk is not None

    @property
    def headline(self) -> str:
        """The HUD's second line; empty while no step is open."""
        told = self._view.bench.inside.told
        if told is None:
            return ""
        said = told.headline.removeprefix("paused ") + "  \N{MIDDLE DOT}  slow motion" if self.slow else told.headline
        return f"recording  \N{MIDDLE DOT}  {said}"

    def shown(self, frame: Frame) -> Frame:
        """A frame as it is to be shown: inside a step with the numbers of the micro-step."""
        told = self._view.bench.inside.told
        return frame if told is None else told.frame
