"""The loss curve: batch loss as a line, another data set's as dashes, on a log axis where the numbers allow it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import StateError
from ...run.core.frame import Frame
from ...run.panels import HeldBack, LossCurve, TestCurve
from ...run.run import Run
from ...run.source import Moment
from ...run.travel import looked_back
from ..ink.axes import Axes, Scale, can_be_log, scale_of
from ..ink.places import LABEL
from ..ink.sketch import Box, Float, Sketch, dashes
from ..ink.text import measure
from ..ink.theme import Theme
from ..ink.widgets import END, AxisSwitch
from ..shown.ahead import Ahead, holding
from .drawer import Drawer, Ground, Headline, Point
from .pace import SHARE as MEASURING
from .pace import Pace
from .wording import BEFORE, noun, test_loss, test_share

Array = NDArray[np.floating]
DASHES = 6.0, 4.0
"""Logical pixels on and off, of a curve of another data set."""
_AXIS = 40  # room for the numbers on the left


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One curve.

    Attributes
    ----------
    label : str
    steps, losses : ndarray
        Of the same length; what is not finite is left out.
    dashed : bool
        Whether it is that of another data set: over the others, apart from them.
    noisy : bool
        Whether each loss is of a few samples only: the line is their mean then, their own are thin and grey.
    """

    label: str
    steps: NDArray[np.integer] | Array
    losses: Array
    dashed: bool = False
    noisy: bool = False


def loss_panel(
    box: Box,
    theme: Theme,
    curves: Sequence[Line],
    note: str = "",
    before: str = "",
    *,
    note_old: bool = False,
    until: float | None = None,
    switch: AxisSwitch | None = None,
    ahead: Ahead | None = None,
) -> Sketch:
    """Title with a note beside it, gridlines, curves, their names and the end point of the first.

    `before` says of which moment that end is, where it is not that of the picture: then it is a dim ring. A note that
    is old is dim too. `until` is the step that the axis says at its end, where words lag behind the curve. `switch` is
    the word that says how the axis is divided; with `ahead` the axes hold the steps to come.
    """
    sketch, switch = Sketch(), switch or AxisSwitch()
    x, y, width, height = box
    plot = (x + _AXIS, y + 30.0, width - _AXIS, height - 30.0 - 22)
    reduced = [_reduced(c, int(plot[2])) for c in curves]
    coming = [] if ahead is None else [ahead.low, ahead.high]
    every = np.concatenate([coming, *(part for r in reduced for part in r[1:])])
    sketch.text(x, y + 14, "loss", LABEL, theme.text1, bold=True)
    reach = measure(note, LABEL) / 2 + 12  # over the middle of the curve, but clear of the title and of the switch
    middle = min(x + _AXIS + plot[2] / 2, x + width - measure("linear", LABEL) - 14 * switch.touched - reach)
    middle = max(middle, x + measure("loss", LABEL, True) + reach)
    sketch.text(middle, y + 14, note, LABEL, theme.text3 if note_old else theme.text1, anchor="middle")
    if not np.isfinite(every).any():
        sketch.text(x + width / 2, y + height / 2, "no step yet", LABEL, theme.text3, anchor="middle")
        return sketch
    scale = scale_of(every, max(3, min(7, int(plot[3] // 42) + 1)), linear=switch.linear, height=plot[3])
    last = max((float(r[0][-1]) for r in reduced if len(r[0])), default=0.0)
    first = min((float(r[0][0]) for r in reduced if len(r[0])), default=0.0)
    said = last if until is None else min(last, until)
    if ahead is not None:
        first, last, said = (min(first, ahead.step), max(last, ahead.last), max(said, ahead.last))
    switch.draw(sketch, x + width, y + 14, theme, log=scale.log, free=can_be_log(every))
    across = Scale(first, max(last, first + 1.0))
    axes = switch.axes = Axes((plot[0], plot[1], plot[2] - END, plot[3]), across, scale)
    Axes(plot, across, scale).rule(sketch, theme)
    foot = plot[1] + plot[3] + 18
    sketch.text(plot[0], foot, f"{first:,.0f}", LABEL, theme.text3, anchor="middle")
    if said > first:
        sketch.text(plot[0] + plot[2], foot, f"{said:,.0f}", LABEL, theme.text3, anchor="right")
    paths, ends = list[Float](), list[tuple[Line, Float]]()
    for curve, data in sorted(zip(curves, reduced, strict=True), key=lambda pair: pair[0].dashed):
        if drawn := _draw_curve(sketch, axes, theme, curve, data):
            paths += drawn
            ends.append((curve, drawn[0][-1]))
    for curve, end in reversed(ends):
        _draw_end(sketch, theme, curve, end, older=bool(before))
    ending = f"end: {before}"
    if before and measure(ending, LABEL) + 90 <= plot[2]:  # between the numbers of the steps
        sketch.text(plot[0] + plot[2] / 2, plot[1] + plot[3] + 18, ending, LABEL, theme.text2, anchor="middle")
    _names(sketch, plot, theme, curves, paths)
    return sketch


def _reduced(curve: Line, columns: int) -> Reduced:
    steps, losses = np.asarray(curve.steps), np.asarray(curve.losses, float)
    finite = np.isfinite(losses)
    if not finite.all():  # a million steps are copied only if they must be
        steps, losses = steps[finite], losses[finite]
    found = thin_out(steps, losses, columns)
    return averaged(found) if curve.noisy else found


def _draw_curve(sketch: Sketch, axes: Axes, theme: Theme, curve: Line, data: Reduced) -> list[Float]:
    """Returns the points (N, 2) of its line, and of the ends of its spread where that is drawn."""
    if not len(data.steps):
        return []

    def points(losses: Array) -> Float:
        return axes.points(data.steps, losses, within=True).astype(np.float32)

    path = points(data.line)
    if curve.dashed:  # over the other curve, which shows between the dashes: each has a little ground around it
        sketch.lines(*dashes(path, *DASHES), theme.background, 5.0)
        sketch.polyline(path, theme.text2, 1.8, dash=DASHES)
        return [path]
    beside: list[Float] = []
    if data.low is not data.high:  # the spread that the mean hides
        beside = [points(data.low), points(data.high)]
        sketch.lines(beside[0], beside[1], theme.flow, 1.0)
    elif data.spread:  # every step has a place of its own
        beside = [points(data.low)]
        sketch.polyline(beside[0], theme.flow, 1.0)
    sketch.polyline(path, theme.text1, 2.0)
    return [path, *beside]


def _draw_end(sketch: Sketch, theme: Theme, curve: Line, end: Float, *, older: bool) -> None:
    """The disc at the end of a line; a ring around it for a dashed one, so that both are seen."""
    x, y = end.tolist()
    if curve.dashed:
        sketch.disc(x, y, 7.6, stroke=theme.background, border=3.4)
        sketch.disc(x, y, 6.6, stroke=theme.text2, border=1.8)
    elif older:
        sketch.disc(x, y, 4.5, theme.background, stroke=theme.text3, border=1.6)
    else:
        sketch.disc(x, y, 4.5, theme.text1)


def _names(sketch: Sketch, plot: Box, theme: Theme, curves: Sequence[Line], paths: Sequence[Float]) -> None:
    """In the corner through which no curve goes: top right, where a falling curve leaves room, if that is one."""
    x, y, width, height = plot
    if height < 90 or not curves:
        return
    wide = 32.0 + max(measure(c.label, LABEL) for c in curves)
    high = 19.0 * len(curves)
    if wide + 8 > width:
        return
    left, right, top, bottom = x + 8, x + width - 8 - wide, y + 6.0, y + height - high - 6
    corners = [(right, top), (left, bottom), (left, top), (right, bottom)]
    inside = [sum(_points_in((a - 5, b - 5, wide + 10, high + 10), path) for path in paths) for a, b in corners]
    at, first = corners[int(np.argmin(inside))]
    sketch.rect(at - 4, first - 2, wide + 8, high + 4, fill=theme.background)  # no gridline strikes a name out
    for row, curve in enumerate(curves):
        middle = first + 9.0 + 19 * row
        colour = theme.text2 if curve.dashed else theme.text1
        dash = DASHES if curve.dashed else None
        sketch.polyline([(at, middle), (at + 24, middle)], colour, 1.8 if curve.dashed else 2.0, dash=dash)
        sketch.text(at + 32, middle + 4.5, curve.label, LABEL, colour)


def _points_in(box: Box, path: Float) -> int:
    """How many pixels of a curve (N, 2), counted along x, lie in a box."""
    if len(path) == 0:
        return 0
    x, y, width, height = box
    across = np.arange(max(x, float(path[0, 0])), min(x + width, float(path[-1, 0])) + 0.5)
    up = np.interp(across, path[:, 0], path[:, 1])
    own = (path[:, 0] >= x) & (path[:, 0] <= x + width) & (path[:, 1] >= y) & (path[:, 1] <= y + height)
    return int(((up >= y) & (up <= y + height)).sum() + own.sum())


# ---- What a noisy curve says: the mean of neighbouring steps, and how far the steps' own losses lie from it.

SHARE = 1 / 50
"""Of the steps that are drawn, so many are averaged on either side."""


class Reduced(NamedTuple):
    """A curve as it is drawn: steps, its line, the least and the largest loss of the steps around each point."""

    steps: Array
    line: Array
    low: Array
    high: Array

    @property
    def spread(self) -> bool:
        """Whether there is something beside the line."""
        return self.low is not self.line


def thin_out(steps: Array, losses: Array, columns: int) -> Reduced:
    """Mean, least and largest loss of at most `columns` groups of neighbouring steps."""
    count = len(steps)
    if count <= columns:
        return Reduced(steps.astype(float), losses, losses, losses)
    begin = np.linspace(0, count, columns + 1).astype(np.intp)[:-1]
    sizes = np.diff(np.append(begin, count))
    mean = np.add.reduceat(losses, begin) / sizes
    middle = np.add.reduceat(steps, begin) / sizes
    # It begins with the first step's own loss. It ends at the last step, but with a mean as everywhere: the loss of one
    # batch would be a cliff at its end.
    mean[0], middle[0], middle[-1] = losses[0], steps[0], steps[-1]
    return Reduced(middle, mean, np.minimum.reduceat(losses, begin), np.maximum.reduceat(losses, begin))


def averaged(curve: Reduced) -> Reduced:
    """The same with a line through the middle of the noise.

    Towards the first step fewer are averaged, to its own loss; at the last one the line ends at the mean of the last.
    """
    half, losses = int(len(curve.line) * SHARE), curve.line
    if not half:
        return curve
    place = np.arange(len(losses))
    left = np.minimum(half, place)
    right = np.minimum(np.minimum(half, place), place[::-1])
    total, count = np.zeros(len(losses)), np.zeros(len(losses))
    for away in range(-half, half + 1):  # no running sum: after a loss of 1e30 it would forget the small ones
        some = (-left <= away) & (away <= right)
        total[some] += losses[place[some] + away]
        count[some] += 1
    return curve._replace(line=total / count)


# ---- The drawer of the loss curve: keeps the dashed curve and the accuracy, which are measured as the run goes.

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
        self.steps: list[int] = []
        self.losses: list[float] = []
        self._accuracies: list[float | None] = []
        self._values: object = None  # at which the end of the dashed curve was measured
        self._data: object = None  # with which
        self._pace = Pace(ground.hints, _PAUSE)
        self._rest, self._waits = 0.0, False  # a window measures the curve in a share of its time
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
        return self._words_late or self._waits or (paced and (self._pace.late or self._pace.old))

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
                          switch=self.switch, ahead=ahead)  # fmt: skip

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
        source, step = self.ground.subject.source, self.switch.step(at)
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
            due, self._rest = True, 0.0
        self._rest -= math.inf if seconds is None else seconds
        self._waits = due and not test.accuracy and self.ground.hints and self._rest > 0.0
        if due and not self._waits:
            begun_at = perf_counter()
            inputs, targets = test.of(moment)
            if not len(inputs):  # nothing is held back
                return
            steps.append(frame.step)
            self._values, self._data = frame.values, frame.data
            self.losses.append(moment.evaluate(inputs, targets))
            self._accuracies.append(test.share(moment))
            self._rest = (perf_counter() - begun_at) / MEASURING

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
