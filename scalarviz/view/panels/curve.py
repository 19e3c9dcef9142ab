"""The drawer of the loss curve: keeps the dashed curve and the accuracy, which are measured as the run goes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from ...errors import StateError
from ...run.core.frame import Frame
from ...run.panels import HeldBack, LossCurve, TestCurve
from ...run.run import Run
from ...run.source import Moment
from ...run.weight_record import looked_back
from ..draw.places import LABEL
from ..draw.sketch import Box, Sketch
from ..draw.text import measure
from ..shown.ahead import holding
from .drawer import Drawer, Ground, Headline, Point
from .loss import Line, loss_panel
from .pace import Pace
from .toggle import AxisSwitch, StepAxis
from .wording import BEFORE, noun, test_loss, test_share

_SHARE = 1 / 200  # the dashed curve gets a new point when the run is this much longer
_BEFORE = 32  # points that a still has of the steps before
_PAUSE = 0.25  # seconds from one measurement of the accuracy to the next in a window, and at rest; a film: every frame


class _Words(NamedTuple):
    """What the panel says: the step at its end, and the accuracy, which may be old."""

    step: float
    note: str
    old: bool


class LossDrawer(Drawer[LossCurve]):
    """The solid curve comes with the frame; the dashed one is measured here, at the values of the frames shown.

    Attributes
    ----------
    switch : AxisSwitch
        How the axis of the losses is divided: what was clicked last.
    step_axis : StepAxis
        Where each step stands.
    steps, losses : list
        Of the dashed curve; a frame before its end cuts it there, a new line of steps its beginning.
    """

    name = "loss"
    height, most, first = 150.0, 420.0, True
    least = 88.0
    gestures = (
        ("Click", 'the word "log" of the loss: a linear axis, and back'),
        ("Click", "the loss curve: go to that step"),
    )

    def __init__(self, panel: LossCurve, ground: Ground) -> None:
        super().__init__(panel, ground)
        self.switch = AxisSwitch(ground.hints)
        self.step_axis = StepAxis()
        self.steps: list[int] = []
        self.losses: list[float] = []
        self._accuracies: list[float | None] = []
        self._values: object = None  # at which the end of the dashed curve was measured
        self._data: object = None  # with which
        self._pace = Pace(ground.hints, _PAUSE)
        self._drawn: tuple[tuple[object, ...], Sketch] | None = None
        self._words: _Words | None = None
        self._words_late = False
        self._step = 0
        facts = ground.subject.source.facts
        self._batch = None if facts is None else facts.batch_size

    def keep(self, other: Drawer[Any]) -> None:
        """How the axis is divided, what has been measured, and of which batch the scene's label speaks."""
        if not isinstance(other, LossDrawer):
            return
        self.switch, self.steps, self.losses = other.switch, other.steps, other.losses
        self._accuracies, self._values, self._data = other._accuracies, other._values, other._data
        self._pace, self._batch = other._pace, other._batch

    @property
    def accuracy(self) -> float | None:
        """Share of the test's samples read rightly, when last measured."""
        return self._accuracies[-1] if self._accuracies else None

    @property
    def headline(self) -> Headline | None:
        """The accuracy, or else the loss of the test."""
        share, test = self.accuracy, self.panel.test
        if test is None or not test.headline:
            return None
        if share is None and self.losses:
            there = self.steps[-1] == self._step
            fresh = there and not (test.accuracy and self._pace.late)
            words, said = test_loss(self.losses[-1])
            return Headline(words if there else f"{words} at step {self.steps[-1]:,}", said, fresh)
        if share is None:
            return None
        dated = self.box is None and self._pace.old  # else the panel says of which step it is
        words, said = test_share(share)
        return Headline(f"{words} at step {self.steps[-1]:,}" if dated else words, said, not self._pace.old)

    @property
    def measures(self) -> bool:
        """Whether the HUD shows the test's number."""
        return self.panel.test is not None and self.panel.test.headline

    def measure(self, moment: Moment, seconds: float | None) -> None:
        """Measure what is due."""
        self._step, self._words_late = moment.frame.step, False
        if self.panel.test is not None and moment.source.can.predict:
            if seconds is None and not self.steps:  # a still: the frames before it were not seen
                self._look_back(self.panel.test, moment)
            self._extend(self.panel.test, moment, seconds)

    @property
    def moving(self) -> bool:
        """Whether the accuracy is older than the cubes, or the words than the curve."""
        paced = self.panel.test is not None and self.panel.test.accuracy
        return self._words_late or (paced and (self._pace.late or self._pace.old))

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """Measure what is due, and draw both curves."""
        frame = moment.frame
        self.measure(moment, seconds)
        words = self._write(frame, box)
        switch = self.switch.linear, self.switch.over
        now = (frame, box, self.ground.theme, words, switch, *self.steps[-1:], *self.losses[-1:])
        if self._drawn is None or not _same(self._drawn[0], now):  # while only the accuracy waits, nothing changes
            self._drawn = now, self._sketch(frame, box, words)
        return [self._drawn[1]]

    def _write(self, frame: Frame, box: Box) -> _Words:
        """What is said: of this frame, or still of that which the HUD speaks of."""
        now, said = _Words(max([frame.step, *frame.curve.step[-1:]]), self._note(box), self._pace.old), self._words
        if said is None or self.ground.writes or now.step < said.step:
            self._words = said = now
        self._words_late = said != now
        return said

    def _sketch(self, frame: Frame, box: Box, words: _Words) -> Sketch:
        test = self.panel.test
        ahead = self.ground.ahead
        coming = None if ahead is None or len(frame.curve.step) else ahead.coming(frame)
        ahead = holding(ahead, frame)
        label = self._label(frame)
        facts = self.ground.subject.source.facts
        noisy = facts is not None and not facts.whole
        curves = [Line(label, frame.curve.step, frame.curve.loss, noisy=noisy)]
        if coming is not None:  # before the first step the loss of it is known already: one dot
            curves = [Line(label, np.array([frame.step]), np.array([coming]))]
        if test is not None and self.steps:
            curves.append(Line(test.label, np.array(self.steps), np.array(self.losses), dashed=True))
        before = BEFORE if frame.edited and len(frame.curve.step) else ""
        theme = self.ground.theme
        return loss_panel(box, theme, curves, words.note, before, note_old=words.old, until=words.step,
                          switch=self.switch, ahead=ahead, steps=self.step_axis)  # fmt: skip

    def _label(self, frame: Frame) -> str:
        """What a step's loss is of: what the scene says, or where a hand has changed the batch, so many samples."""
        facts = self.ground.subject.source.facts
        if self.panel.at is not None or facts is None:  # the scene says it of every moment
            return self.panel.label
        batch = facts.batch_size if frame.settings is None else frame.settings.batch_size
        if batch == self._batch:
            return self.panel.label
        return f"{batch:,} {noun(self.ground.subject, batch)} a step"

    # ---- hands

    def click(self, at: Point) -> bool:
        """The word of the axis makes it the other one; the curve leads to the step under the pointer."""
        source, step = self.ground.subject.source, self.step_axis.step(at)
        if self.switch.at(at):
            self.switch.linear = not self.switch.linear
            self.stale = True
            return True
        if step is None or not (self.ground.hints and source.can.go):
            return False
        first, newest = source.span
        source.to(min(max(step, first), newest))
        return True

    def hover(self, at: Point | None) -> bool:
        """The word of the axis lights up."""
        over = at is not None and self.switch.at(at)
        changed, self.switch.over = over != self.switch.over, over
        self.stale |= changed
        return changed

    def _note(self, box: Box) -> str:
        """The accuracy; in a window that cannot measure it in every frame also the step that it is of."""
        found = self.headline
        if found is None or self.accuracy is None:
            return ""
        note = f"{found.words} {found.value}"
        dated = f"{note} at step {self.steps[-1]:,}"
        room = box[2] - measure("loss", LABEL, True) - measure("linear", LABEL) - 2 * 12 - 14 * self.switch.touched
        return dated if not found.fresh and measure(dated, LABEL) <= room else note

    def _extend(self, test: TestCurve | HeldBack, moment: Moment, seconds: float | None) -> None:
        """Measure the dashed curve, thinned as the run grows, and the accuracy at its own pace."""
        frame, steps = moment.frame, self.steps
        while steps and steps[-1] > frame.step:
            self._forget(-1)
        begun = int(frame.curve.step[0]) - 1 if len(frame.curve.step) else frame.step
        while steps and steps[0] < begun:  # of other numbers than those that were loaded since
            self._forget(0)
        due = not steps or frame.step - steps[-1] >= max(1.0, frame.step * _SHARE)
        if test.accuracy:
            if not self._pace.due(frame.values, seconds):
                return
            if not due:  # the number is that of this frame; the curve gets no denser
                self._forget(-1)
            due = True
            self._pace.did()
        elif not due and self._edited(frame):
            self._forget(-1)
            due = True
        if due:
            inputs, targets = test.of(moment)
            if not len(inputs):  # nothing is held back
                return
            steps.append(frame.step)
            self._values, self._data = frame.values, frame.data
            self.losses.append(moment.evaluate(inputs, targets))
            self._accuracies.append(test.share(moment))

    def _look_back(self, test: TestCurve | HeldBack, moment: Moment) -> None:
        """The losses of the steps before, of who knows; not where one had to wait for it."""
        if not moment.source.can.open or not len(moment.frame.curve.step):
            return

        def lost(run: Run) -> float:
            inputs, targets = test.of(Moment(run.frame(), moment.source))
            return run.evaluate(inputs, targets) if len(inputs) else float("nan")

        asked = moment.source.ask(lambda run: looked_back(run, lost, _BEFORE, moment.frame.step))
        if not asked.done():
            asked.cancel()
            return
        with suppress(StateError):  # others have changed the data since: what was cannot be done again
            for step, loss in asked.result().items():
                self.steps.append(step)
                self.losses.append(loss)
                self._accuracies.append(None)

    def _edited(self, frame: Frame) -> bool:
        """Whether the end of the dashed curve was measured at this step, but before weights or data were changed."""
        if self.steps[-1] != frame.step or self._values is frame.values:
            return False
        if self._data is not frame.data:
            return True
        return not np.array_equal(np.asarray(self._values), frame.values)

    def _forget(self, place: int) -> None:
        for measured in (self.steps, self.losses, self._accuracies):
            if measured:
                measured.pop(place)


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Whether two lists of what is drawn name the same frame and the same numbers."""
    return one[0] is other[0] and one[1:] == other[1:]
