"""`MicroSteps`: walking through one training step by hand or in slow motion, of a run or of a recording.

`RunSteps` opens the coming step of a run on copies: nothing of it changes the run. The engine does the step, as every
other, when the walk has come to its end or is left for it. `RecordedSteps` walks through what a recording holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ScalarvizError
from ..micro.told import GRADIENTS, LOSS, UPDATE
from ..micro.walk import Walk
from ..panels.wording import noun
from .actions import inside_line
from .playback import Pacing, Playback

if TYPE_CHECKING:
    from ...run.core.frame import Frame
    from ...run.opened.opened import Opened
    from ...run.questions.breakpoints import Stop
    from ...run.sources.played import RecordedSource
    from ...run.worker import Worker
    from .viewer import Viewer

STEP_SECONDS = 9.0
"""What one training step takes in slow motion, about."""
LEAST, MOST = 0.16, 0.6
"""Seconds that a micro-step is shown then."""
SUM_SECONDS = 6.0
"""In which the samples of a batch are added up."""


class MicroSteps:
    """The walk of one view: `walk` is the opened step, `at` the micro-step shown, from 1.

    `trial` tells whether a step with the probe alone is wanted; else it is the real one.
    This one is of a view that has no steps to be opened.
    """

    opens = ""  # what the key of the next micro-step does

    def __init__(self, view: Viewer, playback: Pacing, look: Callable[[], Frame]) -> None:
        self._view, self._playback, self._look = view, playback, look
        self.walk: Walk | None = None
        self.at, self.trial = 0, True
        self._since = 0.0
        self._about: int | None = None  # the weight that is selected
        self._added: float | None = None  # seconds since samples are being added up
        view.bench.inside.asked = self._clicked
        view.bench.inside.keys = inside_line(view.here(in_general=True))
        self.handlers: dict[str, Callable[..., object]] = {
            "micro_next": self.next, "micro_back": self.back, "whose": self.toggle_whose,
        }  # fmt: skip

    # ---- by hand

    def next(self) -> None:
        """The next micro-step; the first opens the step that follows, after the last that is done."""
        self._by_hand()
        if self.walk is None:
            self._open(1)
        elif self._added is not None:
            self._show(self.at)
        elif self.at < len(self.walk):
            self._show(self.at + 1)
        else:
            self.finish()

    def back(self) -> None:
        """The micro-step before; at the first one, the end of the step before."""
        self._by_hand()
        if self.walk is not None and self._added is not None:
            self._show(self.at)
        elif self.walk is not None and self.at > 1:
            self._show(self.at - 1, runs=False)
        else:
            self._enter_before()

    def _by_hand(self) -> None:
        """What runs by itself stands still."""
        if self._playback.running:
            self._playback.pause()

    def toggle_whose(self) -> None:
        """One sample's numbers, or those of the whole batch."""
        view, one = self._view, noun(self._view.bench.subject)
        trial = not (self.trial if self.walk is None else self.walk.opened.trial)
        if reason := self._lacks(trial=trial):
            view.say(reason)
            return
        self.trial = trial
        if self.walk is not None:
            self._reopen()
        else:
            view.say(f"{'this ' + one if trial else 'the whole batch'}: so . {self.opens}")

    def leave(self) -> bool:
        """Close the opened step; returns whether there was one. The run is as it was."""
        there = self.walk is not None
        self.walk = self._added = None
        self._view.bench.inside.show(None)
        self._view.refresh()
        return there

    def _clicked(self, what: str, number: int) -> None:
        """A click on the ribbon or the switch."""
        if what == "switch":
            self.toggle_whose()
        elif self.walk is not None:
            self._by_hand()
            self._show(self.walk.first_of(number))

    def finish(self) -> bool:
        """Let the opened step be done; returns whether there was one."""
        return False

    def _lacks(self, *, trial: bool) -> str:
        """Why one sample's step (or the whole batch's) cannot be shown; empty where it can."""
        return ""

    def _enter_before(self) -> None:
        """Open the step before, at its end."""

    def _walk(self, frame: Frame) -> Walk | None:
        """The step after a frame, opened; None where it cannot be, which is said."""
        return None

    def _open(self, at: int, *, runs: bool = True) -> None:
        """Open the step that follows at a micro-step; -1 is the last one."""
        walk = self._walk(self._look())
        if walk is None:
            self.leave()
        else:
            self.walk = walk
            self._show(min(at, len(walk)) if at > 0 else len(walk), runs=runs and at > 0)

    def _reopen(self) -> None:
        """The same step with the numbers that are wanted now."""
        MicroSteps._open(self, self.at, runs=False)

    # ---- time

    @property
    def slow(self) -> bool:
        """Whether time goes so slowly that steps are opened by themselves."""
        return self._playback.running and self._playback.slowest

    def pass_time(self, seconds: float) -> bool:
        """`seconds` have passed; returns whether the walk lets time go on, so that nothing else may."""
        return False

    def _goes_on(self, walk: Walk) -> bool:
        """Slow motion: the next micro-step when it is due; returns whether the step is due to end."""
        due = self._since >= min(MOST, max(LEAST, STEP_SECONDS / len(walk)))
        if due and self.at < len(walk):
            self._show(self.at + 1)
            return False
        return due

    def _show(self, at: int, *, runs: bool = True, adding: int = 0) -> None:
        assert self.walk is not None
        self.at, self._since, self._about = at, 0.0, self._view.bench.selected
        if not adding:
            self._added = None
        self._view.bench.inside.show(self.walk.told(at, self._about, adding), runs=runs)
        self._view.refresh()

    def _look_again(self) -> None:
        """Another weight is told of where one was selected."""
        if self._about != self._view.bench.selected:
            self._show(self.at, runs=False)

    # ---- what is said

    @property
    def headline(self) -> str:
        """The HUD's second line; empty while no step is open."""
        told = self._view.bench.inside.told
        if told is None:
            return ""
        return told.headline.removeprefix("paused ") + "  ·  slow motion" if self.slow else told.headline

    def shown(self, frame: Frame) -> Frame:
        """A frame as it is to be shown: inside a step with the numbers of the micro-step."""
        told = self._view.bench.inside.told
        return frame if told is None else told.frame


# ---- of a run


class RunSteps(MicroSteps):
    """The walk of a view that trains."""

    opens = "opens the coming step"
    _playback: Playback

    def __init__(self, view: Viewer, worker: Worker, playback: Playback, look: Callable[[], Frame]) -> None:
        super().__init__(view, playback, look)
        self._worker = worker
        self._wanted: int | None = None  # where to open the coming step as soon as the run rests; -1: at its end
        self._awaited: int | None = None  # the step that has to be reached before that, or for the walk to be over
        self._stop: Stop | None = None  # the breakpoint because of which it is entered
        self._plays = False  # whether slow motion has opened the step
        self._adds_then = False
        self.handlers["add_samples"] = self.add

    def _by_hand(self) -> None:
        self._plays = False
        super()._by_hand()

    def _lacks(self, *, trial: bool) -> str:
        subject = self._view.bench.subject
        if trial and (subject.probe is None or subject.target is None):
            return f"nobody knows what this {noun(subject)} should become: the whole batch is shown"
        return ""

    def add(self) -> None:
        """Add the samples of the batch one after another: the gradient of a layer as a sum of outer products."""
        self._by_hand()
        if self.trial or self.walk is None:
            self.trial = False
            if self.walk is None:
                self._adds_then = True
                self._open(1)
                return
            self._reopen()
        if self.walk is not None:
            self._add(self.walk)

    def _add(self, walk: Walk) -> None:
        layers = [k for k, step in enumerate(walk.steps, start=1) if walk.layer_of(step) is not None]
        if not layers:
            self._view.say("no layer here whose gradient is a sum of outer products of what is shown")
            return
        after = [k for k in layers if k >= self.at]
        name = walk.steps[(after or layers)[0] - 1].stage
        self._show(max(k for k in layers if walk.steps[k - 1].stage == name), runs=False)
        self._added = 0.0

    def finish(self) -> bool:
        """Let the engine do the opened step; whether there was one. One about to open stays closed."""
        walk = self.walk
        if walk is None:
            self._wanted = self._awaited = None
            return False
        if self._awaited is not None:
            return True
        facts = self._view.bench.subject.source.facts
        if walk.opened.trial and facts is not None and facts.batch_size > 1:
            self._view.say(f"the step itself learns from {facts.batch_size:,} {noun(self._view.bench.subject, 2)}")
        self._awaited = walk.opened.step
        self._playback.pause()
        self._worker.resume()
        self._worker.train_to(self._awaited)
        return True

    def leave(self) -> bool:
        """Close the opened step, and one that was about to open; returns whether there was one."""
        wanted = self._wanted is not None
        self._wanted, self._awaited, self._plays = None, None, False
        return super().leave() or wanted

    # ---- opening

    def _open(self, at: int, *, runs: bool = True) -> None:
        self._wanted = at
        self._try()

    def _enter_before(self) -> None:
        """Open the step that was done last, at its end, or where its breakpoint became true."""
        frame, stop = self._look(), self._worker.stopped
        self._stop = stop if stop is not None and stop.step == frame.step else None
        first = 0 if frame.past is None else frame.past.first
        if frame.step <= first:
            self._view.say(f"step {first + 1:,} is the first")
            return
        self._worker.travel(frame.step - 1)
        self._wanted, self._awaited = -1, frame.step - 1

    def _try(self) -> None:
        """Open what is wanted if the run rests."""
        frame = self._look()
        waits = self._worker.moving or (self._awaited is not None and frame.step != self._awaited)
        waits |= not self._view.bench.fits(self._worker.latest)  # the network has just become another one
        if self._wanted is None or waits or frame.step != self._worker.run.steps:
            return
        wanted, self._wanted, self._awaited = self._wanted, None, None
        walk = self._walk(frame)
        if walk is not None:
            self.walk = walk
            self._show(wanted if wanted > 0 else _cause(walk, self._stop), runs=wanted > 0)
            if self._adds_then:
                self._add(walk)
        self._adds_then = False

    def _walk(self, frame: Frame) -> Walk | None:
        subject, run = self._view.bench.subject, self._worker.run
        can, target = not self._lacks(trial=True), subject.target
        trial = self.trial and can

        def opened(*, alone: bool) -> Opened | None:
            sample = (subject.probe, target) if alone and subject.probe is not None and target is not None else None
            return run.open(sample=sample) if can or not alone else None

        try:
            found = opened(alone=trial)
        except ScalarvizError as error:
            self._view.say(str(error))
            return None
        if found is None or found.step != frame.step + 1:
            return None
        return Walk(found, subject, frame, lambda: opened(alone=not trial))

    # ---- time

    @property
    def slow(self) -> bool:
        """Whether training runs so slowly that its steps are opened by themselves."""
        return super().slow and self._worker.stopped is None and self._worker.error is None

    def pass_time(self, seconds: float) -> bool:
        """`seconds` have passed; returns whether the walk lets time go on, so that nothing else may."""
        self._since += seconds
        self._try()
        if self.walk is not None:
            self._follow(self.walk)
        if self._added is not None and self.walk is not None:
            self._add_more(self.walk, seconds)
        if self.slow:
            self._play()
            return True
        if self._plays and self._playback.running:  # faster than that: no step is opened any more
            self.leave()
            self._playback.resume_here()
        self._plays = False  # a pause stays where it is
        return False

    def _follow(self, walk: Walk) -> None:
        """What has become of the run meanwhile."""
        frame, worker = self._look(), self._worker
        if self._awaited is not None and not worker.moving and worker.run.steps < self._awaited:
            self._awaited = None  # a pause came before it
        if worker.error is not None or frame.step != walk.frame.step:
            if self._plays and self.slow and worker.error is None:
                self.walk, self._awaited, self._wanted = None, None, 1  # the next one follows, without a gap
                self._try()
            else:
                self.leave()
        elif frame is not walk.frame and self._awaited is None and not _same(frame, walk.frame):
            self._reopen()
        else:
            self._look_again()

    def _play(self) -> None:
        """Slow motion: micro-step by micro-step, and at the end the step itself."""
        walk, playback, run = self.walk, self._playback, self._worker.run
        if walk is None:
            if self._wanted is None:
                self._plays, self._wanted = True, 1
                self._worker.pause()
            if run.steps >= playback.end:
                playback.pause()
                self.leave()
            return
        self._plays = True
        if self._awaited is None and self._goes_on(walk):
            self._awaited = walk.opened.step
            self._worker.train_to(self._awaited)

    def _add_more(self, walk: Walk, seconds: float) -> None:
        """The next samples of the sum: the first ones slowly."""
        assert self._added is not None
        self._added = min(self._added + seconds, SUM_SECONDS)
        adding = max(1, round((self._added / SUM_SECONDS) ** 2 * len(walk.opened.batch)))
        shown = self._view.bench.inside.told
        if shown is None or shown.adding != adding:
            self._show(self.at, runs=False, adding=adding)


def _cause(walk: Walk, stop: Stop | None) -> int:
    """The micro-step by which a condition became true; without one the last."""
    if stop is None:
        return len(walk)
    names = stop.breakpoints[0].condition.expression.names
    gradient = any(name.startswith("grad") for name in names)
    phase = GRADIENTS if gradient else LOSS if names == {"loss"} else UPDATE
    own = [k for k, of in enumerate(walk.phases, start=1) if of == phase]
    about = [k for k in own if stop.weights and stop.weights[0] in walk.steps[k - 1].weights]
    return (about or own[-1:] or [len(walk)])[0]


def _same(frame: Frame, other: Frame) -> bool:
    """Whether two frames of one step have the same numbers before the next: nothing was changed between them."""
    told = [(f.edited, f.next_lr, 0 if f.past is None else len(f.past.edits)) for f in (frame, other)]
    arrays = [(f.values, f.frozen, f.activations.get("input", np.zeros(0))) for f in (frame, other)]
    return told[0] == told[1] and all(map(np.array_equal, *arrays))


# ---- of a recording


class RecordedSteps(MicroSteps):
    """The walk of a replay, where the recording holds micro-steps."""

    opens = "opens the recorded step"

    def __init__(self, view: Viewer, source: RecordedSource, playback: Pacing, look: Callable[[], Frame]) -> None:
        super().__init__(view, playback, look)
        self._source = source

    def _lacks(self, *, trial: bool) -> str:
        if trial in self._source.sides():
            return ""
        one = noun(self._view.bench.subject)
        return f"of this step {f'this {one} alone' if trial else 'the whole batch'} was not recorded"

    def finish(self) -> bool:
        """Go on to the next recorded frame; returns whether a step was open."""
        walk, source = self.walk, self._source
        if walk is None:
            return False
        self.leave()
        if source.at_end:
            self._view.say(f"step {source.span[1]:,} is the last that was recorded")
            return True
        source.stand(source.place + 1)
        now = int(source.steps[source.place])
        if left := now - walk.opened.step:
            missing = "the one before it was" if left == 1 else f"the {left:,} before it were"
            self._view.say(f"step {now:,}: {missing} not recorded")
        return True

    def _enter_before(self) -> None:
        if self._source.place == 0:
            self._view.say(f"step {self._look().step + 1:,} is the first that was recorded")
        else:
            self._source.stand(self._source.place - 1)
            self.walk = None
            self._open(-1)

    def _walk(self, frame: Frame) -> Walk | None:
        source = self._source
        self._view.follow(frame)
        alone = self.trial if self.trial in source.sides() else not self.trial
        try:
            return Walk(source.opened(alone=alone), self._view.bench.subject, frame)
        except ScalarvizError as error:
            self._view.say(str(error))
            return None

    def pass_time(self, seconds: float) -> bool:
        """`seconds` have passed; returns whether an opened step plays, so that the recording may not."""
        self._since = self._since + seconds if self.slow else 0.0
        if self.walk is not None and self._look().step != self.walk.frame.step:
            self.leave()
        if self.slow and self._play():
            return True
        if self.walk is not None and self._playback.running:
            self.leave()
            self._playback.resume_here()
        elif self.walk is not None:
            self._look_again()
        return False

    def _play(self) -> bool:
        """Slow motion: micro-steps, and at the end the next frame; whether there is a step to walk in."""
        if self.walk is None:
            return self._enter()
        if self._goes_on(self.walk):
            self.walk = None  # the next one follows, without a gap
            self._source.stand(self._source.place + 1)
            if not self._enter():
                self.leave()
                self._playback.resume_here()
                return False
        else:
            self._look_again()
        return True

    def _enter(self) -> bool:
        """Open the step after the frame shown; whether it is there and leads to another frame."""
        if self._source.at_end or not self._source.sides():
            return False
        self._open(1)
        return self.walk is not None

    @property
    def headline(self) -> str:
        """The HUD's second line; empty while no step is open."""
        return f"recording  ·  {said}" if (said := super().headline) else ""
