"""`MicroSteps`: walk through one training step of a run or a recording, by hand or in slow motion.

The next step of a run is opened on copies, so that the run does not change. The engine trains the step when the walk
ends, or when the user leaves it for training. A recording contains its recorded micro-steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ScalarvizError
from ...run.worker import Worker
from ..micro.step_view import GRADIENTS, LOSS, UPDATE, MicroStepView
from ..micro.walk import Walk, open_step, sides
from ..micro.wires import STANDS, STOP
from ..panels.drawer import noun
from .actions import inside_line
from .predictions import Predictions, judged

if TYPE_CHECKING:
    from ...run.core.frame import Frame
    from ...run.questions.breakpoints import Stop
    from .viewer import Viewer

READ, HOLD = 1.2, 1.5
"""Seconds for which a micro-step is shown while an opened step plays, and extra seconds for the last one."""
PASS, FIRST, QUICKEST = 60.0, 2, 0.1
"""Most seconds of a step. In a longer one, all but the `FIRST` of each kind in a layer are faster, down to a share."""
SUM_SECONDS = 6.0
"""Seconds in which the samples of a batch are added up."""


def pass_seconds(walk: Walk) -> list[float]:
    """Return the seconds for which each micro-step is shown while the step plays, in a window or a film."""
    seen, own, again = Counter[tuple[str, str, str]](), list[float](), list[bool]()
    for at, step in enumerate(walk.steps, start=1):
        slides = len(walk.lighting.stops(at))
        own.append(STOP * (slides + STANDS) if slides > 1 else READ * walk.rows_in(at))
        seen[step.phase, step.stage, step.kind] += 1
        again.append(seen[step.phase, step.stage, step.kind] > FIRST)
    own[-1], again[-1] = own[-1] + HOLD, False
    seconds, late = np.array(own), np.array(again)
    left = (PASS - seconds[~late].sum()) / max(seconds[late].sum(), READ)
    seconds[late] *= np.clip(left, QUICKEST, 1.0)
    return [float(one) for one in seconds * min(1.0, PASS / seconds.sum())]


class MicroSteps:
    """The walk of one view: `walk` is the opened step, `position` the micro-step shown, from 1.

    `trial` selects a step with the probe sample alone; otherwise it is the real step of the batch.
    """

    def __init__(self, view: Viewer) -> None:
        self._view, self._playback, self._guide = view, view.playback, view.playback.worker
        self._recorded = view.bench.subject.source.recorded
        self.walk: Walk | None = None
        self.position, self.trial = 0, True
        self._of: Frame | None = None  # the frame that was shown when it was opened
        self._since, self._due = 0.0, SUM_SECONDS  # seconds since the micro-step appeared, and until the next one
        self._plays = False  # whether the opened step plays to its end
        self._about: int | None = None  # the selected weight
        self._wanted: int | None = None  # micro-step at which to open the next step once the run rests; -1: the last
        self._awaited: int | None = None  # the step to reach before that, or before the walk ends
        self._stop: Stop | None = None  # the breakpoint that led here
        self._adds_then = self._asks_then = False  # what to do once it is open
        self.predictions = Predictions()
        self._added: float | None = None  # seconds since the samples began to be added up
        view.bench.step_drawing.on_click = self._clicked
        self._keys = inside_line(view.action_context(in_general=True))
        self.handlers: dict[str, Callable[..., object]] = {
            "micro_next": self.next, "micro_back": self.previous, "whose": self.toggle_whose, "add_samples": self.add,
            "predict": self.toggle_predictions,
        }  # fmt: skip

    # ---- by hand

    def next(self) -> None:
        """Show the next micro-step; the first call opens the next step, the last call trains it."""
        self._by_hand()
        if self.walk is None:
            self._open(1)
        elif self._added is not None:
            self._show(self.position)
        elif self.predictions.question is not None:  # shown without an answer
            self._show(self.predictions.question.at)
        elif not (self.predictions.on and self._ask(self.walk)):
            if self.position < len(self.walk):
                self._show(self.position + 1)
            else:
                self.finish()

    def previous(self) -> None:
        """Show the previous micro-step; at the first, enter the step before at its end or at its breakpoint's cause."""
        self._by_hand()
        if self.walk is not None and self._added is not None:
            self._show(self.position)
        elif self.walk is not None and self.position > 1:
            self._show(self.position - 1, runs=False)
        else:
            self._enter_before()

    def _enter_before(self) -> None:
        frame, stop = self._view.current_frame(), self._guide.stopped
        self._stop = stop if stop is not None and stop.step == frame.step else None
        past = frame.past
        if frame.step <= (first := 0 if past is None else past.first):
            self._view.say(f"step {first + 1:,} is the first{' recorded one' * self._recorded}")
            return
        before = frame.step - 1 if past is None else past.neighbour(frame.step, -1)
        self._guide.travel(before)
        self._awaited = before
        self._open(-1)

    def _by_hand(self) -> None:
        """Pause what plays."""
        self._plays = False
        if self._playback.running:
            self._playback.pause()

    def play_inside(self) -> bool:
        """Play or pause the opened step; return False if there is nothing left to play."""
        if self.walk is None or self._awaited is not None or (self.position == len(self.walk) and not self._plays):
            return False
        self._plays = not self._plays
        return True

    def toggle_whose(self) -> None:
        """Switch between one sample and the whole batch."""
        view, one = self._view, noun(self._view.bench.subject)
        trial = not (self.trial if self.walk is None else self.walk.opened.trial)
        whose = f"this {one}" if trial else "the whole batch"
        if trial not in sides(view.bench.subject):
            missing = f"{whose}{' alone' * trial} was not recorded for this step"
            unknown = f"this {one} has no target: the whole batch is shown"
            view.say(missing if self._recorded else unknown)
            return
        self.trial = trial
        if self.walk is not None:
            self._enter(self.position, runs=False)
        else:
            view.say(f". opens the {'recorded' if self._recorded else 'next'} step for {whose}")

    def add(self) -> None:
        """Add up the samples of the batch one by one: a layer's gradient as a sum of outer products."""
        self._by_hand()
        if self.trial or self.walk is None:
            self.trial = False
            if self.walk is None:
                self._adds_then = True
                self._open(1)
                return
            self._enter(self.position, runs=False)
        if self.walk is not None:
            self._add(self.walk)

    def _add(self, walk: Walk) -> None:
        layers = [k for k, step in enumerate(walk.steps, start=1) if walk.layer_of(step) is not None]
        if not layers:
            self._view.say("no layer here has a gradient that is a sum of outer products")
            return
        after = [k for k in layers if k >= self.position]
        name = walk.steps[(after or layers)[0] - 1].stage
        self._show(max(k for k in layers if walk.steps[k - 1].stage == name), runs=False)
        self._added = 0.0

    # ---- predictions

    def toggle_predictions(self) -> None:
        """Ask about each weight before its gradient and update are shown, or end that."""
        game = self.predictions
        game.on = not game.on
        if not game.on:
            game.question = None
            self._view.say(
                f"{game.right} of {game.asked} right; no more questions" if game.asked else "no more questions"
            )
            if self.walk is not None:
                self._show(self.position, runs=False)
        elif self.walk is not None:
            self._by_hand()
            self._ask(self.walk)
        else:
            self._by_hand()
            self._asks_then = True
            self._open(1)

    def _ask(self, walk: Walk, most: int | None = None) -> bool:
        """Ask the next question of the opened step, within the next `most` micro-steps; return whether there is one."""
        end = len(walk) if most is None else self.position + most
        asked = self.predictions.next_in(walk, range(self.position + 1, end + 1), self._view.bench.selected)
        question = self.predictions.question
        if asked is None or question is None:
            return False
        self._show(question.at - 1, runs=False, instead=asked)
        self.predictions.question = question
        return True

    @property
    def asks(self) -> bool:
        """Whether questions are on, inside a step: then Up and Down are answers."""
        return self.predictions.on and self.walk is not None

    def answer(self, *, rises: bool) -> None:
        """Answer the open question, and show what happens; without one, say how to get the next."""
        question = self.predictions.question
        if question is None or self.walk is None:
            self._view.say("press . for the next question")
            return
        verdict = self.predictions.judge(rises)
        self._show(question.at, instead=judged(self.walk.micro_step_at(question.at, question.about), verdict))

    def _clicked(self, what: str, number: int) -> None:
        """Handle a click on the ribbon, the switch, an arrow, or the button of predictions."""
        if what == "switch":
            self.toggle_whose()
        elif what == "predict":
            self._view.send("predict")
        elif what == "arrow":
            self.answer(rises=number > 0)
        elif self.walk is not None:
            self._by_hand()
            self._show(self.walk.first_of(number))

    def finish(self) -> bool:
        """Train the opened step, or go to the next recorded frame; return whether a step was open.

        A step about to open is cancelled.
        """
        walk, view, playback = self.walk, self._view, self._playback
        if walk is None:
            self._wanted = self._awaited = None
            return False
        if self._awaited is not None:
            return True
        playback.pause()
        if self._recorded and playback.at_end:
            self.close()
            view.say(f"step {playback.current_step:,} is the last recorded one")
            return True
        self._run_step(walk)
        facts = view.bench.subject.source.facts
        if self._recorded:
            if left := playback.current_step - walk.opened.step:
                missing = "the step before was" if left == 1 else f"the {left:,} steps before were"
                view.say(f"step {playback.current_step:,}: {missing} not recorded")
        elif walk.opened.trial and facts is not None and facts.batch_size > 1:
            view.say(f"the real step trains on {facts.batch_size:,} {noun(view.bench.subject, 2)}")
        self._follow(walk)
        return True

    def _run_step(self, walk: Walk) -> None:
        past = walk.frame.past
        self._awaited = walk.opened.step
        self._guide.resume()
        self._guide.train_to(walk.opened.step if past is None else past.neighbour(walk.frame.step, 1))

    def close(self) -> bool:
        """Close the opened step, or cancel one about to open; return whether there was one. The run stays."""
        there = self.walk is not None or self._wanted is not None
        self.walk = self._added = self._wanted = self._awaited = None
        self._plays = False
        self._view.bench.step_drawing.show(None)
        self._view.refresh()
        return there

    # ---- opening

    def _open(self, at: int) -> None:
        """Open the next step at a micro-step once the run rests; -1 is the last one, or the breakpoint's cause."""
        self._wanted = at
        self._try()

    def _try(self) -> None:
        """Open the wanted step if the run rests."""
        if self._wanted is None:
            return
        frame, guide = self._view.current_frame(), self._guide
        waits = guide.moving or (self._awaited is not None and frame.step != self._awaited)
        if isinstance(guide, Worker):  # the network may just have been replaced
            waits |= not self._view.bench.fits(guide.latest) or frame.step != guide.run.steps
        if waits:
            return
        wanted, self._wanted, self._awaited = self._wanted, None, None
        self._enter(wanted, runs=wanted > 0)
        if self._adds_then and self.walk is not None:
            self._add(self.walk)
        if self._asks_then and self.walk is not None and not self._ask(self.walk):
            self._view.say("no weight changes in this step")
        self._adds_then = self._asks_then = False

    def _enter(self, at: int, *, runs: bool) -> None:
        """Open the next step with the current numbers."""
        self._of = self._view.current_frame()
        self.walk = self._walk(self._of)
        if self.walk is None:
            self.close()
        else:
            self._show(min(at, len(self.walk)) if at > 0 else _cause(self.walk, self._stop), runs=runs)

    def _walk(self, frame: Frame) -> Walk | None:
        """Return the opened step after a frame, or None; a notice gives the reason."""
        if self._recorded:
            self._view.follow(frame)
        subject = self._view.bench.subject
        there = sides(subject)
        alone = self.trial if self.trial in there else not self.trial
        try:
            found = open_step(subject, alone=alone)
        except ScalarvizError as error:
            self._view.say(str(error))
            return None
        if found.step != frame.step + 1:
            return None
        if self._recorded or (not alone) not in there:
            return Walk(found, subject, frame)
        return Walk(found, subject, frame, lambda: open_step(subject, alone=not alone))

    # ---- time

    @property
    def slow(self) -> bool:
        """True if the speed is so slow that steps open by themselves."""
        playback, guide = self._playback, self._guide
        return playback.running and playback.slowest and guide.stopped is None and guide.error is None

    def pass_time(self, seconds: float) -> bool:
        """Advance by `seconds`; return whether the walk plays, so that the playback must not."""
        slow = self.slow
        self._since = self._since + seconds if slow or self._plays else 0.0
        self._try()
        if self.walk is not None:
            self._follow(self.walk)
        if self._added is not None and self.walk is not None:
            self._add_more(self.walk, seconds)
        if slow and self._play():
            return True
        if self._plays and self.walk is not None and self._advance(self.walk):
            self._plays = False
        opens = self._wanted is not None or self._view.bench.step_drawing.micro_step is not None
        if self._playback.running and opens:
            self.close()  # the speed is higher now: no step opens by itself
            self._playback.resume_here()
        return False

    def _follow(self, walk: Walk) -> None:
        """Follow changes of the run or of the recording's position."""
        frame, guide = self._view.current_frame(), self._guide
        if self._awaited is not None and not guide.moving and self._playback.current_step < self._awaited:
            self._awaited = None  # a pause came before the step was reached
        if guide.error is not None or frame.step != walk.frame.step:
            if self.slow:
                self.walk = self._awaited = None  # the next step follows without a gap
            else:
                self.close()
        elif self._of is not None and frame is not self._of and self._awaited is None and not _same(frame, self._of):
            self._enter(self.position, runs=False)
        elif self._about != self._view.bench.selected:  # another weight is selected
            self._show(self.position, runs=False)

    def _play(self) -> bool:
        """Advance slow motion: micro-steps, then the step itself; return whether a step is open."""
        if self.walk is None and self._wanted is None:
            if self._playback.at_end or not sides(self._view.bench.subject):
                return False
            self._guide.pause()
            self._open(1)
        elif self.walk is not None and self._awaited is None and self._advance(self.walk):
            self._run_step(self.walk)
        return self.walk is not None or self._wanted is not None

    def _advance(self, walk: Walk) -> bool:
        """Show the next micro-step when it is due; return whether the end of the step is due."""
        due = self._since >= self._due
        if due and self.position < len(walk):
            if self._plays and self.predictions.on and self._ask(walk, 1):
                self._plays = False
                return False
            self._show(self.position + 1)
            return False
        return due

    def _add_more(self, walk: Walk, seconds: float) -> None:
        """Add the next samples, the first ones slowly."""
        assert self._added is not None
        self._added = min(self._added + seconds, SUM_SECONDS)
        adding = max(1, round((self._added / SUM_SECONDS) ** 2 * len(walk.opened.batch)))
        shown = self._view.bench.step_drawing.micro_step
        if shown is None or shown.adding != adding:
            self._show(self.position, runs=False, adding=adding)

    def _show(self, at: int, *, runs: bool = True, adding: int = 0, instead: MicroStepView | None = None) -> None:
        """Show a micro-step, or `instead` what is made of it."""
        assert self.walk is not None
        self.predictions.question = None
        self.position, self._since, self._about = at, 0.0, self._view.bench.selected
        played = at == len(self.walk)
        keys = [(key, "run" if played and does == "play" else does) for key, does in self._keys]
        self._view.bench.step_drawing.keys = keys
        if not adding:
            self._added = None
        self._due = pass_seconds(self.walk)[at - 1]
        timed = self._plays or self.slow or self.walk.phases[at - 1] == LOSS  # a flash has its own duration
        seconds = {"seconds": self._due} if timed else {}
        shown = instead or self.walk.micro_step_at(at, self._about, adding)
        scored = replace(shown, score=self.predictions.score, predicts=self.predictions.on)
        self._view.bench.step_drawing.show(scored, animated=runs, **seconds)
        self._view.refresh()

    # ---- texts

    @property
    def headline(self) -> str:
        """The HUD's second line; '' while no step is open."""
        step = self._view.bench.step_drawing.micro_step
        if step is None:
            return ""
        said = step.headline.removeprefix("paused ") if self.slow or self._plays else step.headline
        said += "  ·  slow motion" if self.slow else ""
        return f"recording  ·  {said}" if self._recorded else said


def _cause(walk: Walk, stop: Stop | None) -> int:
    """Return the micro-step that made a condition true, from 1; without a condition the last one."""
    if stop is None:
        return len(walk)
    names = stop.breakpoints[0].condition.expression.names
    gradient = any(name.startswith("grad") for name in names)
    phase = GRADIENTS if gradient else LOSS if names == {"loss"} else UPDATE
    own = [k for k, of in enumerate(walk.phases, start=1) if of == phase]
    about = [k for k in own if stop.weights and stop.weights[0] in walk.steps[k - 1].weights]
    return (about or own[-1:] or [len(walk)])[0]


def _same(frame: Frame, other: Frame) -> bool:
    """Return whether two frames of one step have the same numbers, so that no edit came between."""
    told = [(f.edited, f.next_lr, 0 if f.past is None else len(f.past.edits)) for f in (frame, other)]
    arrays = [(f.values, f.frozen, f.activations.get("input", np.zeros(0))) for f in (frame, other)]
    return told[0] == told[1] and all(map(np.array_equal, *arrays))
