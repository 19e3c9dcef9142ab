"""The loss curve: batch loss as a line, another data set's as dashes, on a log axis if possible."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import StateError
from ...run.core.frame import Frame
from ...run.panels import HeldOut, LossCurve, TestCurve
from ...run.run import Run
from ...run.source import Moment
from ...run.travel import looked_back
from ..ink.axes import Array, Axes, Scale, can_be_log, scale_of
from ..ink.boxes import LABEL
from ..ink.sketch import Box, Float, Sketch, contains, dashes
from ..ink.text import measure
from ..ink.theme import Theme
from ..ink.widgets import Toggle
from ..shown.subject import Forecast, holding
from .drawer import BEFORE, Drawer, Headline, Point, SharedState, coming_words, noun, test_loss, test_share
from .pace import Pace, answer_at_once

DASHES = 6.0, 4.0
"""Logical pixels on and off, for a curve of another data set."""
_AXIS = 40  # pixels of the numbers on the left


FEW = 12
"""Least points of a dashed curve: dashes through fewer look like a broken line."""
_BESIDE = 0.01  # weight of a point beside a mean relative to one on a curve, for the names' place
END = 6.0
"""Pixels at the right of a curve for the disc at its end."""


@dataclass(frozen=True, slots=True, eq=False)
class LossLine:
    """One curve: finite losses by step.

    A `dashed` curve is of another data set and lies over the others. The losses of a `noisy` one are of a few samples
    each: the line is their mean, the losses themselves are thin and grey, and named `each`; empty: they are not drawn.
    """

    label: str
    steps: NDArray[np.integer] | Array
    losses: Array
    dashed: bool = False
    noisy: bool = False
    each: str = ""

    def draw(self, sketch: Sketch, path: Float | Sequence[Point], theme: Theme) -> None:
        """Draw it, in the plot or beside its name."""
        if not self.dashed:
            sketch.polyline(path, theme.text1, 2.0)
        elif len(self.steps) < FEW:
            sketch.polyline(path, theme.text2, 1.4)
        else:  # over the other curve, which shows between the dashes: each has a little background
            pieces = dashes(np.asarray(path, np.float32), *DASHES)
            sketch.lines(*pieces, theme.background, 5.0)
            sketch.lines(*pieces, theme.text2, 1.8)


def loss_panel(
    box: Box,
    theme: Theme,
    curves: Sequence[LossLine],
    note: str = "",
    before: str = "",
    *,
    note_old: bool = False,
    until: float | None = None,
    switch: Toggle | None = None,
    touched: bool = False,
    ahead: Forecast | None = None,
) -> tuple[Sketch, Axes | None]:
    """Return the panel: title with a note, gridlines, curves, their names and the end point of the first; and its axes.

    `before` names the moment of the end point if it is not that of the picture: then it is a dim ring. `note_old` dims
    the note. `until` is the step at the end of the axis if words lag behind the curve. `switch` shows how the axis is
    divided; it can be clicked if `touched` and if there is a choice. `ahead` extends the axes to the coming steps.
    """
    sketch, switch = Sketch(), switch or Toggle("log", on=True)
    x, y, width, height = box
    plot = (x + _AXIS, y + 30.0, width - _AXIS, height - 30.0 - 22)
    reduced = [_reduced(c, int(plot[2])) for c in curves]
    coming = [] if ahead is None else [ahead.low, ahead.high]
    every = np.concatenate([coming, *(part for r in reduced for part in r[1:])])
    up = scale_of(every, max(3, min(7, int(plot[3] // 42) + 1)), linear=not switch.on, height=plot[3])
    switch.box, switch.word, free = None, "log" if up.log else "linear", touched and can_be_log(every)
    sketch.text(x, y + 14, "loss", LABEL, theme.text1, bold=True)
    reach = measure(note, LABEL) / 2 + 12  # over the middle of the curve, clear of title and switch
    middle = min(x + _AXIS + plot[2] / 2, x + width - (switch.width if free else measure("linear", LABEL)) - reach)
    middle = max(middle, x + measure("loss", LABEL, True) + reach)
    sketch.text(middle, y + 14, note, LABEL, theme.text3 if note_old else theme.text1, anchor="middle")
    if not np.isfinite(every).any():
        sketch.text(x + width / 2, y + height / 2, "no step yet", LABEL, theme.text3, anchor="middle")
        return sketch, None
    ends = [float(r.steps[k]) for r in reduced if len(r.steps) for k in (0, -1)]
    first, last = min(ends, default=0.0), max(ends, default=0.0)
    said = last if until is None else min(last, until)
    if ahead is not None:
        first, last, said = (min(first, ahead.step), max(last, ahead.last), max(said, ahead.last))
    if free:
        switch.draw(sketch, x + width, y + 14, theme)
    else:
        sketch.text(x + width, y + 14, switch.word, LABEL, theme.text3, anchor="right")
    across = Scale(first, max(last, first + 1.0))
    axes = Axes((plot[0], plot[1], plot[2] - END, plot[3]), across, up)
    Axes(plot, across, up).rule(sketch, theme)
    foot = plot[1] + plot[3] + 18
    sketch.text(plot[0], foot, f"{first:,.0f}", LABEL, theme.text3, anchor="middle")
    if said > first:
        sketch.text(plot[0] + plot[2], foot, f"{said:,.0f}", LABEL, theme.text3, anchor="right")
    ending = f"end: {before}"
    if before and measure(ending, LABEL) + 90 <= plot[2]:  # between the numbers of the steps
        sketch.text(plot[0] + plot[2] / 2, foot, ending, LABEL, theme.text2, anchor="middle")
    pairs = sorted(zip(curves, reduced, strict=True), key=lambda pair: pair[0].dashed)
    drawn = [(curve, _paths(axes, curve, data)) for curve, data in pairs if len(data.steps)]
    for _, (_, *beside) in drawn:  # below the names, which would be unreadable on it
        if len(beside) == 1:
            sketch.polyline(beside[0], theme.flow, 1.0)
        elif beside:
            sketch.lines(beside[0], beside[1], theme.flow, 1.0)
    _names(sketch, plot, theme, curves, [paths for _, paths in drawn])
    for curve, (path, *_) in drawn:
        curve.draw(sketch, path, theme)
    for curve, (path, *_) in reversed(drawn):  # a disc at each end; for a dashed one a ring around it
        at, down = path[-1].tolist()
        if before and not curve.dashed:
            sketch.disc(at, down, 4.5, theme.background, stroke=theme.text3, border=1.6)
        else:
            _end(sketch, (at, down), theme, dashed=curve.dashed)
    return sketch, axes


def _end(sketch: Sketch, at: Point, theme: Theme, *, dashed: bool, small: bool = False) -> None:
    """Draw the disc at the end of a curve, or a `small` one beside its name; a dashed curve has a ring."""
    if not dashed:
        sketch.disc(*at, 3.4 if small else 4.5, theme.text1)
        return
    radius = 4.6 if small else 6.6
    sketch.disc(*at, radius + 1.0, stroke=theme.background, border=3.4)
    sketch.disc(*at, radius, stroke=theme.text2, border=1.8)


def _paths(axes: Axes, curve: LossLine, data: Reduced) -> list[Float]:
    """Return the points (N, 2) of its line, and of both ends of the spread around a mean, or of all losses."""
    parts = [data.line]
    if not curve.dashed and data.low is not data.high:
        parts += [data.low, data.high]
    elif not curve.dashed and data.low is not data.line:  # every step has a place of its own
        parts += [data.low]
    return [axes.points(data.steps, part, within=True).astype(np.float32) for part in parts]


def _names(
    sketch: Sketch, plot: Box, theme: Theme, curves: Sequence[LossLine], paths: Sequence[Sequence[Float]]
) -> None:
    """Draw the names away from the curves: top right, in another corner, or anywhere free.

    They are below the curves, so without a free place no curve is hidden. Points around a mean count less.
    """
    x, y, width, height = plot
    if height < 90 or not curves:
        return
    rows = [(name, curve) for curve in curves for name in (curve.label, curve.each) if name]
    wide, high = 32.0 + max(measure(name, LABEL) for name, _ in rows), 19.0 * len(rows)
    if wide + 8 > width:
        return
    lefts, tops = np.linspace(x + width - 8 - wide, x + 8, 7), np.linspace(y + 6, y + height - high - 6, 7)
    found = [(left, top) for left in lefts[[0, -1, *range(1, 6)]] for top in tops[[0, -1, *range(1, 6)]]]
    places = np.array([*(found[k] for k in (0, 8, 7, 1)), *found])
    pixels = np.arange(x, x + width)
    middles, cost = places[:, :, None] + np.array([[wide / 2], [high / 2]]), np.zeros(len(places))
    for worth, path in ((_BESIDE if number else 1.0, path) for own in paths for number, path in enumerate(own)):
        between = np.interp(pixels, path[:, 0], path[:, 1], np.nan, np.nan)
        for across, down in ((path[:, 0], path[:, 1]), (pixels, between)):
            near = np.abs(across - middles[:, 0]) <= wide / 2 + 5
            cost += worth * (near & (np.abs(down - middles[:, 1]) <= high / 2 + 5)).sum(axis=1)
    at, first = places[int(cost.argmin())].tolist()
    sketch.rect(at - 4, first - 2, wide + 8, high + 4, fill=theme.background)  # no gridline crosses a name
    for row, (name, curve) in enumerate(rows):
        middle, plain = first + 9.0 + 19 * row, name != curve.label
        if plain:
            sketch.line((at, middle), (at + 24, middle), theme.flow, 1.0)
        else:
            curve.draw(sketch, [(at, middle), (at + 16, middle)], theme)
            _end(sketch, (at + 20, middle), theme, dashed=curve.dashed, small=True)
        sketch.text(at + 32, middle + 4.5, name, LABEL, theme.text2 if curve.dashed or plain else theme.text1)


# ---- A noisy curve: the mean of neighbouring steps, and the spread of the steps' own losses.

SHARE, _FEWEST = 1 / 50, 4
"""Share of the drawn steps that are averaged on either side; points left out at the start of a mean without spread."""


class Reduced(NamedTuple):
    """A curve as drawn: steps, its line, the least and largest loss of the steps around each point."""

    steps: Array
    line: Array
    low: Array
    high: Array


def _reduced(curve: LossLine, columns: int) -> Reduced:
    steps, losses = np.asarray(curve.steps), np.asarray(curve.losses, float)
    finite = np.isfinite(losses)
    if not finite.all():  # copy a million steps only if necessary
        steps, losses = steps[finite], losses[finite]
    found = thin_out(steps, losses, columns)
    found = averaged(found) if curve.noisy else found
    if not curve.noisy or curve.each:
        return found
    begin = _FEWEST * (len(found.line) > 2 * _FEWEST)  # means of very few samples would be a cliff at the start
    return Reduced(found.steps[begin:], *3 * [found.line[begin:]])


def thin_out(steps: Array, losses: Array, columns: int) -> Reduced:
    """Return mean, least and largest loss of at most `columns` groups of neighbouring steps, at their middles."""
    count = len(steps)
    if count <= columns:
        return Reduced(steps.astype(float), losses, losses, losses)
    begin = np.linspace(0, count, columns + 1).astype(np.intp)[:-1]
    sizes = np.diff(np.append(begin, count))
    mean = np.add.reduceat(losses, begin) / sizes
    middle = (steps[begin] + steps[begin + sizes - 1]) / 2
    # It begins with the first step's own loss. It ends at the last step, but with a mean as everywhere: the loss of one
    # batch would be a cliff at its end.
    mean[0], middle[0], middle[-1] = losses[0], steps[0], steps[-1]
    return Reduced(middle, mean, np.minimum.reduceat(losses, begin), np.maximum.reduceat(losses, begin))


def averaged(curve: Reduced) -> Reduced:
    """Return the curve with a moving average as its line.

    Towards the first step fewer points are averaged, down to its own loss; at the end the line is the mean of the last.
    """
    half, count = int(len(curve.line) * SHARE), len(curve.line)
    if not half:
        return curve
    place, away = np.arange(count)[:, None], np.arange(-half, half + 1)
    some = (away >= -place) & (away <= np.minimum(place, place[::-1]))
    # No running sum: after a loss of 1e30 it would lose the small ones.
    around = np.lib.stride_tricks.sliding_window_view(np.pad(curve.line, half), 2 * half + 1)
    return curve._replace(line=around.mean(axis=1, where=some))


# ---- The drawer of the loss curve: stores the dashed curve and the accuracy, measured during the run.

_SHARE = 1 / 200  # the dashed curve gets a new point when the run has grown by this share
_BEFORE = 32  # points of earlier steps in a still
_PAUSE = 0.25  # least seconds between measurements of the accuracy in a window; a film measures every frame


class _Measured(NamedTuple):
    """A point of the dashed curve, with the accuracy there."""

    step: int
    loss: float
    share: float | None


class LossDrawer(Drawer[LossCurve]):
    """The solid curve comes with the frame; the dashed one is measured here, at frames that are shown."""

    name = "loss"
    height, most, first = 150.0, 420.0, True
    worth = 0  # the time bar shows it, too
    least = 88.0
    gestures = (
        ("Click", 'on "log" beside the loss curve: switch to a logarithmic axis, or back'),
        ("Click", "on the loss curve: go to that step"),
    )

    def __init__(self, panel: LossCurve, shared: SharedState) -> None:
        super().__init__(panel, shared)
        self.switch = Toggle("log", on=True)  # whether the axis is logarithmic if possible, as last clicked
        self.axes: Axes | None = None  # the last plot, with steps across
        self._measured: list[_Measured] = []
        self._pace = Pace(shared.hints, _PAUSE if self._tests_accuracy else 0.0)
        self._words: tuple[float, str, bool] | None = None  # step at the end of the axis, accuracy, whether it is old
        self._words_late = False
        self._step, self._touched = 0, False
        facts = shared.subject.source.facts
        self._batch = None if facts is None else facts.batch_size

    def keep(self, other: Drawer[Any]) -> None:
        """Take over the switch of the axis, the measured points, and the batch of the scene's label."""
        if isinstance(other, LossDrawer):
            self.switch, self._measured = other.switch, other._measured
            self._pace, self._batch = other._pace, other._batch

    @property
    def steps(self) -> list[int]:
        """The steps of the dashed curve."""
        return [one.step for one in self._measured]

    @property
    def losses(self) -> list[float]:
        """The losses of the dashed curve, one per step."""
        return [one.loss for one in self._measured]

    @property
    def headline(self) -> Headline | None:
        """The test accuracy, or else the test loss."""
        if not (self.measures and self._measured):
            return None
        last, late = self._measured[-1], self._step != self._measured[-1].step
        if last.share is None:
            (words, said), dated = test_loss(last.loss), late
            fresh = not late and not (self._tests_accuracy and self._pace.late)
        else:
            (words, said), fresh = test_share(last.share), not self._pace.old
            dated = self.box is None and not fresh  # else the panel names its step
        return Headline(f"{words} at step {last.step:,}" if dated else words, said, fresh)

    @property
    def measures(self) -> bool:
        """True if the HUD shows the test's number."""
        return self.panel.test is not None and self.panel.test.headline

    @property
    def _tests_accuracy(self) -> bool:
        return self.panel.test is not None and self.panel.test.accuracy

    def measure(self, moment: Moment, seconds: float | None) -> None:
        """Measure the numbers that are due."""
        self._step, self._words_late = moment.frame.step, False
        if self.panel.test is not None and moment.source.can.predict:
            # a still: it has not seen the earlier frames
            if seconds is None and not self._measured and len(moment.frame.curve.step):
                self._look_back(self.panel.test, moment)
            self._extend(self.panel.test, moment, seconds)

    @property
    def moving(self) -> bool:
        """True if the accuracy is older than the cubes, or the words are older than the curve."""
        old = self._pace.old if self._tests_accuracy else False
        return self._words_late or old or (self._pace.late and (self._tests_accuracy or self._grows(self._step)))

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """Measure the numbers that are due, and draw both curves."""
        frame, facts = moment.frame, self.shared.subject.source.facts
        self.measure(moment, seconds)
        now = float(max([frame.step, *frame.curve.step[-1:]])), self._note(box), self._pace.old
        if self._words is None or self.shared.writes or now[0] < self._words[0]:  # else like the HUD
            self._words = now
        (until, note, old), self._words_late = self._words, self._words != now
        curve = frame.curve
        if facts is not None:  # each loss is drawn at the step of its weights
            other = coming_words(self.shared.subject, frame)
            curve = curve.of_weights(frame.step, float("nan") if other else frame.display_loss)
        noisy, label = facts is not None and not facts.whole and len(curve.step) * SHARE >= 1, self._label(frame)
        batch = 0 if facts is None else facts.batch_size if frame.settings is None else frame.settings.batch_size
        each = label if noisy and batch > 1 else ""  # single samples differ too much: they would be a grey area
        said = "mean of many steps" if noisy else label
        curves = [LossLine(said, curve.step, curve.loss, noisy=noisy, each=each)]
        if self.panel.test is not None and self._measured and (self.shared.shows_all or self._touched):
            curves.append(LossLine(self.panel.test.label, np.array(self.steps), np.array(self.losses), dashed=True))
        before = BEFORE if facts is None and frame.edited and len(frame.curve.step) else ""
        sketch, self.axes = loss_panel(
            box, self.shared.theme, curves, note, before, note_old=old, until=until, switch=self.switch,
            touched=self.shared.hints, ahead=holding(self.shared.ahead, frame)
        )  # fmt: skip
        return [sketch]

    def _label(self, frame: Frame) -> str:
        """Return the samples of a step's loss: the scene's label, or the count if the user changed the batch."""
        facts = self.shared.subject.source.facts
        if self.panel.at is not None or facts is None:  # the scene has a label for every moment
            return self.panel.label
        batch = facts.batch_size if frame.settings is None else frame.settings.batch_size
        return self.panel.label if batch == self._batch else f"{batch:,} {noun(self.shared.subject, batch)} a step"

    def _note(self, box: Box) -> str:
        """Return the accuracy, with its step in a window that cannot measure it in every frame."""
        found = self.headline
        if found is None or self._measured[-1].share is None:
            return ""
        note = f"{found.words} {found.value}"
        dated = f"{note} at step {self._measured[-1].step:,}"
        beside = self.switch.width if self.shared.hints else measure("linear", LABEL)
        room = box[2] - measure("loss", LABEL, True) - beside - 2 * 12
        return dated if not found.fresh and measure(dated, LABEL) <= room else note

    # ---- input

    def click(self, at: Point) -> bool:
        """Switch the axis, or go to the step under the pointer."""
        source, axes = self.shared.subject.source, self.axes
        if self.switch.contains(at):
            self.switch.on = not self.switch.on
            self.stale = True
            return True
        if axes is None or not (self.shared.hints and source.can.go):
            return False
        x, y, width, height = axes.box
        if not contains((x - END, y, width + 2 * END, height + 20), at):
            return False
        step = round(axes.across.number(min(max((at[0] - x) / width, 0.0), 1.0)))
        source.to(min(max(step, source.span[0]), source.span[1]))
        return True

    def hover(self, at: Point | None) -> bool:
        """Light up the axis switch."""
        now = at is not None, at is not None and self.switch.contains(at)
        changed = now != (self._touched, self.switch.over)
        self._touched, self.switch.over = now
        self.stale |= changed
        return changed

    # ---- measurements

    def _extend(self, test: TestCurve | HeldOut, moment: Moment, seconds: float | None) -> None:
        """Measure the dashed curve, with fewer points as the run grows, and the accuracy at its own pace."""
        frame = moment.frame
        begun = int(frame.curve.step[0]) - 1 if len(frame.curve.step) else frame.step  # the first step known
        kept = self._measured = [one for one in self._measured if begun <= one.step <= frame.step]
        grown, due = self._grows(frame.step), self._pace.due(frame, seconds)
        if not due or not (test.accuracy or grown or kept[-1].step == frame.step):
            return
        begun_at = perf_counter()
        if not grown:  # replace the last point; the curve gets no denser
            kept.pop()
        inputs, targets = test.of(moment)
        if len(inputs):  # else there are no held-out samples
            kept.append(_Measured(frame.step, moment.evaluate(inputs, targets), test.share(moment)))
        self._pace.mark_done(0.0 if test.accuracy else perf_counter() - begun_at)

    def _grows(self, step: int) -> bool:
        kept = self._measured  # points of the dashed curve
        return not kept or step - kept[-1].step >= max(1.0, step * _SHARE)

    def _look_back(self, test: TestCurve | HeldOut, moment: Moment) -> None:
        """Add the losses of earlier steps, if the source answers at once."""

        def lost(run: Run) -> float:
            inputs, targets = test.of(Moment(run.frame(), moment.source))
            return run.evaluate(inputs, targets) if len(inputs) else float("nan")

        with suppress(StateError):  # the data have changed since, so earlier steps cannot be repeated
            found = answer_at_once(moment.source, lambda run: looked_back(run, lost, _BEFORE, moment.frame.step)) or {}
            self._measured += [_Measured(step, loss, None) for step, loss in found.items()]
