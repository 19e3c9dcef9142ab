"""The drawer of the loss over one weight or two: rolls the ball, and says of the last step how it went."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.core.frame import Frame
from ...run.panels import LossOver
from ...run.source import Moment, Source
from ...run.travel import weight_record
from ..ink.axes import Axes, Scale, scale_of, tick_text, zero_lines
from ..ink.places import ABOUT, LABEL
from ..ink.sketch import Box, Sketch
from ..ink.text import measure, rate_text, short
from ..ink.theme import Theme, mixed
from .drawer import Drawer, Ground, Inner, cut, sentence, title_of
from .pace import Written

# ---- What the loss over one weight or two is made of: where the weights are and were, and the loss at other places.

Floats = NDArray[np.float64]
Span = tuple[float, float]
INNER = 0.92
"""Of the half of a span, beyond which it grows."""
_DOUBLINGS = 120
_LAST_DIGITS = 64
"""Of so many machine epsilons is the difference of two losses, or a move, that says nothing of uphill and downhill."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where some weights are, and what the step did that was done last.

    Attributes
    ----------
    here : ndarray, shape (n,)
    before : ndarray or None
        Where they were before that step; None where that is not known, or they were changed by hand since.
    gradient : ndarray or None
        There; None where none was computed.
    lr : float
        Of that step.
    fineness : float
        Of the numbers that the network computes with: the machine epsilon of their dtype.
    """

    here: Floats
    before: Floats | None = None
    gradient: Floats | None = None
    lr: float = float("nan")
    fineness: float = float(np.finfo(np.float64).eps)


def place_of(frame: Frame, weights: Sequence[int]) -> Place:
    """The place of the weights at the flat numbers `weights`, of a frame between steps."""
    own = np.array(weights)
    here = np.asarray(frame.values[own], np.float64)
    if frame.edited or frame.step == 0 or not frame.computed[own].all():
        return Place(here)
    update, gradient = (np.asarray(flat[own], np.float64) for flat in (frame.update, frame.gradient))
    with np.errstate(invalid="ignore"):  # of a weight that is lost nothing is known of before either
        before = here - update
    return Place(here, before, gradient, frame.lr, float(np.finfo(frame.values.dtype).eps))


def grown(span: Span, places: ArrayLike) -> Span:
    """`span` doubled about its middle until all finite places are well inside."""
    middle, half = (span[0] + span[1]) / 2, (span[1] - span[0]) / 2
    found = np.asarray(places, np.float64).ravel()
    found = found[np.isfinite(found)]
    far = float(np.abs(found - middle).max(initial=0.0)) / INNER
    times = 0 if far <= half else min(int(np.ceil(np.log2(far / half))), _DOUBLINGS)
    return middle - half * 2.0**times, middle + half * 2.0**times


class Losses:
    """The loss at other values of some weights, kept until the others, the samples or the places change."""

    def __init__(self) -> None:
        self._key: tuple[object, ...] = ()
        self._found: Floats = np.zeros(0)

    def at(
        self, source: Source, values: NDArray[np.floating], weights: Sequence[int], places: Floats, data: Data
    ) -> Floats:
        """The losses at places (N, n) of the weights, shape (N,); infinite where they are beyond the dtype."""
        others = np.array(values)
        others[list(weights)] = 0
        key = (others.tobytes(), places.tobytes(), *(part.tobytes() for part in data))
        if key != self._key:
            self._key, self._found = key, losses(source, values, weights, places, data)
        return self._found


Data = tuple[NDArray[np.floating], NDArray[np.floating]]


At = Callable[[Floats], Floats]
"""The loss at places (N, n), shape (N,)."""


def losses(source: Source, values: NDArray[np.floating], weights: Sequence[int], places: Floats, data: Data) -> Floats:
    """The same, always worked out."""
    changed, found = np.array(values), np.empty(len(places))
    for number, place in enumerate(places):
        changed[list(weights)] = place
        found[number] = source.evaluate(*data, changed)
    return found


def steepness(losses_at: At, place: Place) -> tuple[float, float, float]:
    """Loss before the step, loss after it, and the rate from which on it would have been higher after it (or NaN).

    The loss along the step is taken as a parabola through its two ends and its middle, which for a squared error of
    sums it is.
    """
    assert place.before is not None
    start, half, end = losses_at(np.array([place.before, (place.before + place.here) / 2, place.here])).tolist()
    slope, bend = -3 * start + 4 * half - end, 2 * start - 4 * half + 2 * end
    with np.errstate(all="ignore"):
        limit = float(place.lr * np.divide(-slope, bend)) if bend > 0 and slope < 0 else float("nan")
    return float(start), float(end), limit


def verdict(place: Place, names: Sequence[str], told: tuple[float, float, float]) -> tuple[str, str, bool]:
    """Two lines on the step that was done, and whether it went wrong."""
    assert place.before is not None
    assert place.gradient is not None
    start, end, limit = told
    step = place.here - place.before
    if not np.isfinite([start, end]).all():
        return "the loss is beyond all numbers", "R begins again; try a smaller rate", True
    if len(names) == 1:
        slope, moved = short(float(place.gradient[0]), signed=True), short(float(step[0]), signed=True)
        asked = -place.lr * place.gradient[0]
        plain = bool(np.isclose(asked, step[0], rtol=1e-2, atol=1e-12))
        first = f"\N{MINUS SIGN}{rate_text(place.lr)} × slope {slope} = {moved}" if plain else f"moved by {moved}"
    else:
        moves = ", ".join(f"{name} {short(float(by), signed=True)}" for name, by in zip(names, step, strict=True))
        first = f"moved by {moves}"
    if _is_lost_in_the_last_digits(place, step, start, end):
        return first, "too small a move to change the loss" if step.any() else "it stays where it is", False
    if end > start:
        since = f", as from lr {rate_text(float(f'{limit:.2g}'))} on" if np.isfinite(limit) else ""
        return first, f"too far: it ends higher{since}", True
    if np.isfinite(limit) and place.lr > limit / 2 * 1.001:
        return first, "downhill, past the lowest point", False
    return first, "downhill", False


def _is_lost_in_the_last_digits(place: Place, step: Floats, start: float, end: float) -> bool:
    """Whether what the loss did in a step is no more than what rounding does to it."""
    few = _LAST_DIGITS * place.fineness
    return bool(abs(end - start) <= few * max(abs(start), abs(end)) or (abs(step) <= few * abs(place.here)).all())


# ---- The loss over one weight: a curve, the tangent where the gradient was taken, the step from there, and the ball.

LEFT, _FOOT = 40.0, 20.0
_TANGENT = 0.22  # of the width, to either side
BALL = 6.5


def draw_slope(
    sketch: Sketch,
    box: Box,
    theme: Theme,
    name: str,
    curve: tuple[Floats, Floats],
    place: Place,
    ball: Floats,
    trail: Floats,
    losses_at: Callable[[Floats], Floats],
) -> None:
    """Draw it into `box`.

    Parameters
    ----------
    curve : tuple of ndarray
        Weights, rising, and the loss at each.
    place : Place
    ball : ndarray, shape (1,)
        Where the ball is drawn: on its way to ``place.here``.
    trail : ndarray, shape (N, 1)
        Where it was.
    losses_at : callable
        The loss at places (N, 1).
    """
    weights, found = curve
    shown = np.isfinite(found)
    if shown.sum() < 2:
        sketch.text(box[0], box[1] + 30, "the loss is beyond all numbers here", LABEL, theme.text2)
        return
    up = scale_of(np.append(found[shown], 0.0) if found[shown].min() >= 0 else found[shown], most=5, linear=True)
    left = max([LEFT, *(measure(tick_text(tick), LABEL) + 8 for tick in up.ticks)])
    plot = (box[0] + left, box[1] + 8, box[2] - left, box[3] - 8 - _FOOT)
    axes = Axes(plot, Scale(float(weights[0]), float(weights[-1])), up)
    _grid(sketch, axes, theme, name)
    sketch.polyline(axes.points(weights[shown], found[shown], within=True), theme.text2, 2.0)
    marks = np.array([*trail[:, :1].ravel()]) if trail.size else np.zeros(0)
    marks = marks[np.isfinite(marks) & (marks >= weights[0]) & (marks <= weights[-1])]
    for at in axes.points(marks, np.interp(marks, weights, found), within=True):
        sketch.disc(float(at[0]), float(at[1]), 2.5, theme.text3)
    if place.gradient is not None:
        _tangent(sketch, axes, theme, place, losses_at)
    if np.isfinite(ball).all():
        height = losses_at(ball[None])
        if np.isfinite(height).all():
            x, y = axes.points(ball, height, within=True)[0].tolist()
            sketch.disc(x, y, BALL, theme.text1, stroke=theme.background, border=1.5)


def _grid(sketch: Sketch, axes: Axes, theme: Theme, name: str) -> None:
    x, y, width, height = axes.box
    axes.rule(sketch, theme)
    low, high = axes.across.low, axes.across.high
    ticks = [t for t in scale_of(np.array([low, high]), most=7, linear=True).ticks if low <= t <= high]
    end = x + width - measure(name, LABEL, True) - 6
    for tick in ticks:
        at, text = x + width * (tick - low) / (high - low), tick_text(tick)
        half = measure(text, LABEL) / 2
        sketch.line((at, y + height), (at, y + height + 4), theme.flow, 1.0)
        if at + half <= end:
            sketch.text(at, y + height + 18, text, LABEL, theme.text3, anchor="middle")
    sketch.text(x + width, y + height + 18, name, LABEL, theme.text2, bold=True, anchor="right")


def _tangent(sketch: Sketch, axes: Axes, theme: Theme, place: Place, losses_at: Callable[[Floats], Floats]) -> None:
    """The straight line that the gradient is, and the step that was taken along it."""
    at = place.here if place.before is None else place.before
    assert place.gradient is not None
    loss, slope = losses_at(at[None]), float(place.gradient[0])
    if not np.isfinite([*at, *loss, slope]).all():
        return
    reach = _TANGENT * (axes.across.high - axes.across.low)
    sketch.polyline(axes.slope(float(at[0]), float(loss[0]), slope, reach), theme.pulse, 2.0)
    if place.before is None:
        return
    start = axes.points(place.before, loss, within=True)[0]
    landed = losses_at(place.here[None])
    end = axes.points(place.here, landed if np.isfinite(landed).all() else np.array([axes.up.high]), within=True)[0]
    if abs(end[0] - start[0]) > 8:
        sketch.arrow(start, (end[0], start[1]), theme.flow, 1.6)
    sketch.polyline([(end[0], start[1]), end], theme.flow, 1.4, dash=(3, 3))
    sketch.disc(float(start[0]), float(start[1]), 5.0, theme.background, stroke=theme.pulse, border=1.8)


ROLL = 0.3
"""Seconds for which the ball rolls to its new place, or as long as frames are apart, if that is less."""
UNKNOWN = "the slope here is not known before backward()"
_POINTS = 129
_TOP, _LINES = 21.0, 40.0
Words = tuple[tuple[str, str, bool], ...]
"""Lines, their colours, and whether they are bold."""


class LossOverDrawer(Drawer[LossOver]):
    """Asks the network for the loss at some places again when anything but these weights has changed."""

    name = "loss over weights"
    height, most, within, first = 232.0, 360.0, 208.0, True
    worth = ABOUT + 1  # where there is room for one, rather this than the points
    needs = ("predict",)

    def __init__(self, panel: LossOver, ground: Ground) -> None:
        super().__init__(panel, ground)
        self._losses = Losses()
        self._trail = Trail()
        self._rolls: tuple[Floats, Floats] | None = None  # from, to
        self._since, self._apart = ROLL, ROLL
        self._written = Written()

    @property
    def moving(self) -> bool:
        """Whether the ball is on its way, or the words are of a frame before."""
        return self._written.late or (self._rolls is not None and self._since < self._time)

    @property
    def _time(self) -> float:
        return min(ROLL, 0.8 * self._apart)

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """The curve or the map, and how the last step went."""
        frame, source = moment.frame, moment.source
        missing = self._missing(source)
        if missing:
            return [sentence(box, self.ground.theme, missing)]
        place = place_of(frame, self.panel.weights)
        self._trail.add(frame.step, place)
        if seconds is None and self._trail.begins > source.span[0]:  # a still: the frames before it were not seen
            self._ask(source)
        ball = self._rolling(place.here, seconds)
        data = source.samples()
        sketch = self._picture(box, source, frame, place, ball, data, self._trail.until(frame.step))
        said = self._written.of(frame, writes=self.ground.writes)  # of the step that the HUD names
        self._write(sketch, box, self._said(place_of(said, self.panel.weights), said, source, data))
        return [sketch]

    def inside(self, inner: Inner, box: Box) -> Sequence[Sketch]:
        """The same of an opened step: the tangent when the gradient has come, the ball moves with the update."""
        if self._missing(inner.source):
            return ()
        own = np.array(self.panel.weights)
        now = np.asarray(inner.before.values[own], np.float64)
        known = bool(inner.frame.computed[own].all()) and not inner.added
        gradient = np.asarray(inner.frame.gradient[own], np.float64) if known else None
        place = Place(now, None, gradient, inner.frame.lr)
        if inner.moved[own].all():
            place = Place(np.asarray(inner.frame.values[own], np.float64), now, gradient, inner.frame.lr)
        trail = self._trail.until(inner.before.step)
        sketch = self._picture(box, inner.source, inner.before, place, place.here, inner.data, trail, inner.samples)
        self._write(sketch, box, self._said(place, inner.before, inner.source, inner.data))
        return [sketch]

    def _ask(self, source: Source) -> None:
        """Where the weights were, of who knows; not where one had to wait for it."""
        if not source.can.open:
            return
        asked = source.ask(lambda run: [weight_record(run, weight) for weight in self.panel.weights])
        if not asked.done():
            asked.cancel()
            return
        records = asked.result()
        if len({record.steps.tobytes() for record in records}) == 1:
            self._trail.take(records[0].steps.tolist(), np.stack([record.values for record in records], axis=1))

    def _missing(self, source: Source) -> str:
        """Why these weights cannot be shown; the network may have become another one."""
        count = sum(tensor.size for tensor in source.tensors)
        return f"{self.panel.title}: this network has {count} weights" if max(self.panel.weights) >= count else ""

    def _rolling(self, to: Floats, seconds: float | None) -> Floats:
        """Where the ball is by now, on its way to `to`."""
        if seconds is None or self._rolls is None or not np.isfinite(to).all():
            self._rolls, self._since = (to, to), ROLL
            return to
        self._since += seconds
        if not np.array_equal(to, self._rolls[1]):
            self._apart, now = max(self._since, 1e-3), self._ball()
            self._rolls, self._since = (now, to), 0.0
        return self._ball()

    def _ball(self) -> Floats:
        assert self._rolls is not None
        start, end = self._rolls
        share = min(1.0, self._since / max(self._time, 1e-9))
        eased = share * share * (3 - 2 * share)
        with np.errstate(invalid="ignore", over="ignore"):  # where it is lost it rolls nowhere
            return (1 - eased) * start + eased * end  # at its end it is there exactly, from however far

    def _picture(
        self, box: Box, source: Source, frame: Frame, place: Place, ball: Floats, data: Data, trail: Floats,
        samples: str = "",
    ) -> Sketch:  # fmt: skip
        sketch, theme, (x, y, width, height) = Sketch(), self.ground.theme, box
        names = self.panel.names
        note = samples or (f"all {len(data[0]):,} samples" if len(data[0]) > 1 else "")
        title_of(sketch, box, theme, f"{self.panel.title} over {' and '.join(names)}", note)
        plot = (x, y + _TOP, width, height - _TOP - _LINES)
        near = [place.here] if place.before is None else [place.here, place.before]
        spans = [grown(span, [at[k] for at in near]) for k, span in enumerate(self.panel.spans)]

        losses_at = partial(self._losses_of, source, frame, data)
        if len(names) == 1:
            places = np.linspace(*spans[0], _POINTS)[:, None]
            found = self._losses.at(source, frame.values, self.panel.weights, places, data)
            draw_slope(sketch, plot, theme, names[0], (places[:, 0], found), place, ball, trail, losses_at)
        else:
            grid = np.stack(np.meshgrid(*(np.linspace(*span, SIDE) for span in spans)), axis=-1).reshape(-1, 2)
            found = self._losses.at(source, frame.values, self.panel.weights, grid, data)
            draw_valley(sketch, plot, theme, names, spans, found.reshape(SIDE, SIDE), place, ball, trail)
        return sketch

    def _losses_of(self, source: Source, frame: Frame, data: Data, places: Floats) -> Floats:
        return losses(source, frame.values, self.panel.weights, places, data)

    def _said(self, place: Place, frame: Frame, source: Source, data: Data) -> Words:
        """How the step went, in two lines; what the losses are of is `frame`."""
        theme = self.ground.theme
        if place.gradient is None:
            return ((UNKNOWN, theme.text3, False),)
        if place.before is None:
            return ()
        told = steepness(partial(self._losses_of, source, frame, data), place)
        first, second, wrong = verdict(place, self.panel.names, told)
        return (first, theme.text2, False), (second, theme.weight[0] if wrong else theme.text1, wrong)

    def _write(self, sketch: Sketch, box: Box, words: Words) -> None:
        x, y, width, height = box
        for row, (line, ink, bold) in enumerate(words):
            sketch.text(x, y + height - _LINES + 16 + 18 * row, cut(line, width, bold=bold), LABEL, ink, bold=bold)


# ---- `Trail`: where a few weights were at the steps that were seen.

MOST = 400
"""Steps that are kept."""


class Trail:
    """Grows with the frames that are shown; a step that was done anew replaces what came after it."""

    def __init__(self) -> None:
        self._places: dict[int, Floats] = {}

    def add(self, step: int, place: Place) -> None:
        """The weights after `step`, and, where that is known, before it."""
        if place.before is not None:
            self._put(step - 1, place.before, near=True)
        self._put(step, place.here)

    def _put(self, step: int, place: Floats, *, near: bool = False) -> None:
        old = self._places.get(step)
        if old is not None and (np.allclose(old, place, rtol=1e-5) if near else np.array_equal(old, place)):
            return
        if old is not None:  # another line of steps from here on
            self._places = {at: kept for at, kept in self._places.items() if at < step}
        self._places[step] = place
        if len(self._places) > MOST:
            steps = sorted(self._places)
            self._places = {at: self._places[at] for at in [*steps[:-1:2], steps[-1]]}

    @property
    def begins(self) -> int:
        """The first step that is known."""
        return min(self._places)

    def take(self, steps: Sequence[int], places: Floats) -> None:
        """What else is known: places (N, n) after some steps."""
        self._places = dict(zip(steps, places, strict=True)) | self._places

    def until(self, step: int) -> Floats:
        """The places up to `step`, in order, (N, n)."""
        found = [self._places[at] for at in sorted(self._places) if at <= step]
        return np.array(found) if found else np.zeros((0, 0))


# ---- The loss over two weights: isolines, the way that was taken, the last step, and the ball.

SIDE = 33
"""Places at which the loss is worked out, along each weight."""
LEVELS = 10


def draw_valley(
    sketch: Sketch,
    box: Box,
    theme: Theme,
    names: Sequence[str],
    spans: Sequence[Span],
    losses: Floats,
    place: Place,
    ball: Floats,
    trail: Floats,
) -> None:
    """Draw it into `box`: the first weight to the right, the second upwards.

    Parameters
    ----------
    losses : ndarray, shape (SIDE, SIDE)
        Rows by the second weight, columns by the first, both rising.
    place : Place
    ball : ndarray, shape (2,)
        Where the ball is drawn: on its way to ``place.here``.
    trail : ndarray, shape (N, 2)
        Where it was.
    """
    left = max([LEFT, *(measure(tick_text(end), LABEL) + 8 for end in spans[1])])
    plot = (box[0] + left, box[1] + 4, box[2] - left, box[3] - 4 - _FOOT)
    sketch.rect(*plot, fill=theme.panel, stroke=theme.border)
    for number, level in enumerate(levels(losses)):
        starts, ends = zero_lines(losses - level)
        ink = mixed(theme.text2, theme.panel, 0.85 - 0.6 * number / LEVELS)
        sketch.lines(_pixels(starts, plot), _pixels(ends, plot), ink, 1.4 if number == 0 else 1.0)
    _names(sketch, plot, theme, names, spans)

    def at(places: Floats) -> Floats:
        low, wide = np.array(spans)[:, 0], np.diff(np.array(spans), axis=1)[:, 0]
        return _pixels((SIDE - 1) * (places - low) / wide, plot)

    inside = np.array([[low <= p <= high for p, (low, high) in zip(row, spans, strict=True)] for row in trail])
    way = trail[inside.all(axis=1)] if len(trail) else trail
    if len(way):
        path = at(way)
        sketch.polyline(path, theme.flow, 1.6)
        for point in path:
            sketch.disc(float(point[0]), float(point[1]), 2.5, theme.text3)
    if place.before is not None and np.isfinite([*place.before, *place.here]).all():
        start, end = at(np.array([place.before, place.here]))
        sketch.line(start, end, theme.pulse, 2.0)
        sketch.disc(float(start[0]), float(start[1]), 5.0, theme.background, stroke=theme.pulse, border=1.8)
    elif place.gradient is not None and place.gradient.any():
        _downhill(sketch, plot, theme, at(place.here[None])[0], place.gradient, spans)
    if np.isfinite(ball).all():
        x, y = at(ball[None])[0].tolist()
        sketch.disc(x, y, BALL, theme.text1, stroke=theme.background, border=1.5)


def _downhill(sketch: Sketch, plot: Box, theme: Theme, start: Floats, gradient: Floats, spans: Sequence[Span]) -> None:
    """The gradient's own direction, against which the step will go."""
    wide = np.array([high - low for low, high in spans])
    way = gradient / wide * np.array([plot[2], -plot[3]])
    way = way / max(float(np.hypot(*way)), 1e-12)
    sketch.arrow(start.tolist(), (start - 46.0 * way).tolist(), theme.pulse, 2.0)


def levels(losses: Floats) -> Floats:
    """Where isolines are drawn, rising: closer together where the loss is low."""
    finite = losses[np.isfinite(losses)]
    if not finite.size or finite.min() == finite.max():
        return np.zeros(0)
    low, high = float(finite.min()), float(finite.max())
    return low + (high - low) * ((np.arange(LEVELS) + 0.5) / LEVELS) ** 2


def _pixels(places: Floats, plot: Box) -> Floats:
    """Columns and rows of the grid (N, 2) as pixels."""
    x, y, width, height = plot
    across, up = places.reshape(-1, 2).T / (SIDE - 1)
    return np.stack([x + width * across, y + height * (1 - up)], axis=1)


def _names(sketch: Sketch, plot: Box, theme: Theme, names: Sequence[str], spans: Sequence[Span]) -> None:
    """Both weights at their ends."""
    x, y, width, height = plot
    (left, right), (low, high) = spans
    base = y + height + 16
    sketch.text(x, base, tick_text(left), LABEL, theme.text3)
    sketch.text(x + width / 2, base, names[0], LABEL, theme.text2, bold=True, anchor="middle")
    sketch.text(x + width, base, tick_text(right), LABEL, theme.text3, anchor="right")
    sketch.text(x - 7, y + 10, tick_text(high), LABEL, theme.text3, anchor="right")
    sketch.text(x - 7, y + height / 2 + 5, names[1], LABEL, theme.text2, bold=True, anchor="right")
    sketch.text(x - 7, y + height, tick_text(low), LABEL, theme.text3, anchor="right")
