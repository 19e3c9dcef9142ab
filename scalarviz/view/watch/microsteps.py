"""`MicroSteps`: walking through one training step by hand, or in slow motion, in a view that trains.

Nothing of it changes the run: the step is opened on copies. It is done by the engine, as every other, when the walk has
come to its end or is left for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ScalarvizError
from ..micro.told import GRADIENTS, LOSS, UPDATE
from ..micro.walk import Walk
from ..panels.wording import noun
from .playback import Playback

if TYPE_CHECKING:
    from ...run.core.frame import Frame
    from ...run.opened.opened import Opened
    from ...run.questions.breakpoints import Stop
    from ...run.worker import Worker
    from .viewer import Viewer

STEP_SECONDS = 9.0
"""What one training step takes in slow motion, about."""
LEAST, MOST = 0.16, 0.6
"""Seconds that a micro-step is shown then."""
SUM_SECONDS = 6.0
"""In which the samples of a batch are added up."""


class MicroSteps:
    """The walk of one view.

    Parameters
    ----------
    view : Viewer
    worker : Worker
    playback : Playback
    look : callable
        The frame of now, with the rows of the probe.

    Attributes
    ----------
    walk : Walk or None
        The opened step.
    at : int
        The micro-step shown, from 1.
    trial : bool
        Whether a step with the probe alone is wanted; else the real one.
    """

    def __init__(self, view: Viewer, worker: Worker, playback: Playback, look: Callable[[], Frame]) -> None:
        self._view, self._worker, self._playback, self._look = view, worker, playback, look
        self.walk: Walk | None = None
        self.at, self.trial = 0, True
        self._wanted: int | None = None  # where to open the coming step as soon as the run rests; -1: at its end
        self._awaited: int | None = None  # the step that has to be reached before that, or for the walk to be over
        self._stop: Stop | None = None  # the breakpoint because of which it is entered
        self._plays = False  # whether slow motion has opened the step
        self._since = 0.0
        self._added: float | None = None  # seconds since samples are being added up
        self._adds_then = False
        self._about: int | None = None
        view.bench.inside.asked = self._clicked
        self.handlers: dict[str, Callable[..., None]] = {
            "micro_next": self.next, "micro_back": self.back, "whose": self.toggle_whose, "add_samples": self.add,
        }  # fmt: skip

    # ---- by hand

    def next(self) -> None:
        """The next micro-step; the first opens the coming step, after the last the engine does it."""
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
        self._plays = False
        if self._playback.running:
            self._playback.pause()

    def toggle_whose(self) -> None:
        """One sample's numbers, or those of the whole batch."""
        view, one = self._view, noun(self._view.bench.subject)
        trial = not (self.trial if self.walk is None else self.walk.opened.trial)
        if trial and (reason := self._no_trial()):
            view.say(reason)
            return
        self.trial = trial
        if self.walk is not None:
            self._reopen()
        else:
            view.say(f"{'this ' + one if trial else 'the whole batch'}: so . opens the coming step")

    def _no_trial(self) -> str:
        subject = self._view.bench.subject
        if subject.probe is None or subject.target is None:
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
        """Let the engine do the opened step; returns whether there was one. One that was about to open stays closed."""
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
        """Close the opened step; returns whether there was one. The run is as it was."""
        there = self.walk is not None or self._wanted is not None
        self.walk, self._wanted, self._awaited, self._added, self._plays = None, None, None, None, False
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

    # ---- opening

    @property
    def pending(self) -> bool:
        """Whether a step is about to be opened, or an opened one about to be done."""
        return self._wanted is not None or self._awaited is not None

    def _open(self, at: int) -> None:
        """Open the coming step as soon as the run rests."""
        self._wanted = at
        self._try()

    def _enter_before(self) -> None:
        """Open the step that was done last, at its end; one that a breakpoint has stopped at where it became true."""
        here, stop = self._look().step, self._worker.stopped
        self._stop = stop if stop is not None and stop.step == here else None
        past = self._look().past
        first = 0 if past is None else past.first
        if here <= first:
            self._view.say(f"step {first + 1:,} is the first")
            return
        self._worker.travel(here - 1)
        self._wanted, self._awaited = -1, here - 1

    def _try(self) -> None:
        frame = self._look()
        waits = self._worker.moving or (self._awaited is not None and frame.step != self._awaited)
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
        """The coming step of a frame, opened; None where it cannot be, which is said."""
        subject, run = self._view.bench.subject, self._worker.run
        can, target = not self._no_trial(), subject.target
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

    def _reopen(self) -> None:
        """The same step at the numbers of now."""
        walk = self._walk(self._look())
        if walk is None:
            self.leave()
        else:
            self.walk = walk
            self._show(min(self.at, len(walk)), runs=False)

    def _show(self, at: int, *, runs: bool = True, adding: int = 0) -> None:
        assert self.walk is not None
        self.at, self._since = at, 0.0
        if not adding:
            self._added = None
        self._about = self._view.bench.selected
        self._view.bench.inside.show(self.walk.told(at, self._about, adding), runs=runs)
        self._view.refresh()

    # ---- time

    @property
    def slow(self) -> bool:
        """Whether training runs so slowly that its steps are opened by themselves."""
        stopped = self._worker.stopped is not None or self._worker.error is not None
        return self._playback.running and self._playback.slowest and not stopped

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
        elif self._about != self._view.bench.selected:
            self._show(self.at, runs=False)

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
        if self._awaited is not None or self._since < min(MOST, max(LEAST, STEP_SECONDS / len(walk))):
            return
        if self.at < len(walk):
            self._show(self.at + 1)
        else:
            self._awaited = walk.opened.step
            self._worker.train_to(self._awaited)

    def _add_more(self, walk: Walk, seconds: float) -> None:
        """The next samples of the sum: the first ones slowly."""
        assert self._added is not None
        count, before = len(walk.opened.batch), self._added
        self._added = min(before + seconds, SUM_SECONDS)
        share = (self._added / SUM_SECONDS) ** 2
        shown = self._view.bench.inside.told
        adding = max(1, round(share * count))
        if shown is None or shown.adding != adding:
            self._show(self.at, runs=False, adding=adding)

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
