"""The drawer of the loss over one weight or two: rolls the ball, and says of the last step how it went."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.core.frame import Frame
from ...run.panels import LossOver
from ...run.source import Moment, Source
from ...run.travel import weight_record
from ..ink.axes import Axes, Floats, Scale, gutter, scale_of, tick_text, zero_lines
from ..ink.boxes import ABOUT, LABEL
from ..ink.sketch import Box, Kept, Sketch
from ..ink.text import rate_text, short
from ..ink.theme import Theme, mixed
from .drawer import Drawer, Ground, Inner, cut, sentence, title_of
from .pace import known

Span = tuple[float, float]
Data = tuple[NDArray[np.floating], NDArray[np.floating]]
At = Callable[[Floats], Floats]
"""Of places (N, n) of the weights: the loss there, (N,), or where they stand in the picture, (N, 2)."""
ROLL = 0.3
"""Seconds for which the ball rolls to its new place, or as long as frames are apart, if that is less."""
UNKNOWN = "the slope here is not known before backward()"
SIDE, _POINTS = 33, 129  # places at which the loss is worked out: along each of two weights, along one
LEVELS = 10
_LEFT, _TOP, _LINES = 40.0, 21.0, 40.0
_TANGENT = 0.22  # of the width, to either side
_BALL = 6.5
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
        self._losses = Kept[Floats]()
        self._trail = Trail()
        self._rolls: tuple[Floats, Floats] | None = None  # from, to
        self._since, self._apart = ROLL, ROLL

    @property
    def moving(self) -> bool:
        """Whether the ball is on its way."""
        return self._rolls is not None and self._since < self._time

    @property
    def _time(self) -> float:
        return min(ROLL, 0.8 * self._apart)

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """The curve or the map, and how the last step went."""
        frame, source, own = moment.frame, moment.source, self.panel.weights
        if missing := self._missing(source):
            return [sentence(box, self.ground.theme, missing)]
        at = Standing(source, frame, place_of(frame, own), own, source.samples())
        self._trail.add(frame.step, at.place)
        if seconds is None and self._trail.begins > source.span[0]:  # a still: the frames before it were not seen
            self._ask(source)
        note = f"all {len(at.data[0]):,} samples" if len(at.data[0]) > 1 else ""
        sketch = self._picture(box, at, self._rolling(at.place.here, seconds), note)
        said = self.ground.said or frame  # of the step that the HUD names
        self._write(sketch, box, Standing(source, said, place_of(said, own), own, at.data))
        return [sketch]

    def inside(self, inner: Inner, box: Box) -> Sequence[Sketch]:
        """The same of an opened step: the tangent comes with the gradient, the ball moves with the update."""
        if self._missing(inner.source):
            return ()
        own = np.array(self.panel.weights)
        now = np.asarray(inner.before.values[own], np.float64)
        there = bool(inner.frame.computed[own].all()) and not inner.added
        gradient = np.asarray(inner.frame.gradient[own], np.float64) if there else None
        place = Place(now, None, gradient, inner.frame.lr)
        if inner.moved[own].all():
            place = Place(np.asarray(inner.frame.values[own], np.float64), now, gradient, inner.frame.lr)
        at = Standing(inner.source, inner.before, place, self.panel.weights, inner.data)
        sketch = self._picture(box, at, place.here, inner.samples)
        self._write(sketch, box, at)
        return [sketch]

    def _ask(self, source: Source) -> None:
        """Where the weights were, of who knows; not where one had to wait for it."""
        records = known(source, lambda run: [weight_record(run, weight) for weight in self.panel.weights]) or []
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
        else:
            self._since += seconds
        if not np.array_equal(to, self._rolls[1], equal_nan=True):
            self._apart, now = max(self._since, 1e-3), rolled(*self._rolls, self._since / max(self._time, 1e-9))
            self._rolls, self._since = (now, to), 0.0
        return rolled(*self._rolls, self._since / max(self._time, 1e-9))

    # ---- the picture

    def _picture(self, box: Box, at: Standing, ball: Floats, note: str) -> Sketch:
        """The loss over the weights, the way to here, the gradient or the step along it, and the ball."""
        sketch, theme, (x, y, width, height) = Sketch(), self.ground.theme, box
        place = at.place
        title_of(sketch, box, theme, f"{self.panel.title} over {' and '.join(self.panel.names)}", note)
        near = [place.here] if place.before is None else [place.here, place.before]
        spans = [grown(span, [one[k] for one in near]) for k, span in enumerate(self.panel.spans)]
        plot = (x, y + _TOP, width, height - _TOP - _LINES)
        trail = self._trail.until(at.frame.step)
        stands = (self._curve if len(spans) == 1 else self._valley)(sketch, plot, at, spans, trail)
        if stands is not None and np.isfinite(ball).all() and np.isfinite(stood := stands(ball[None])[0]).all():
            x, y = stood.tolist()
            sketch.disc(x, y, _BALL, theme.text1, stroke=theme.background, border=1.5)
        return sketch

    def _found(self, at: Standing, places: Floats) -> Floats:
        """The losses at places, kept until the other weights, the samples or the places change."""
        others = np.array(at.frame.values)
        others[list(at.weights)] = 0
        key = (others.tobytes(), places.tobytes(), *(part.tobytes() for part in at.data))
        return self._losses.of(key, lambda: at.losses(places))

    def _curve(self, sketch: Sketch, box: Box, at: Standing, spans: Sequence[Span], trail: Floats) -> At | None:
        """Over one weight: a curve, the tangent where the gradient was taken, and the step from there.

        Returns where places stand in the picture, as `_valley` does.
        """
        theme, places = self.ground.theme, np.linspace(*spans[0], _POINTS)
        found = self._found(at, places[:, None])
        shown = np.isfinite(found)
        if shown.sum() < 2:
            sketch.text(box[0], box[1] + 30, "the loss is beyond all numbers here", LABEL, theme.text2)
            return None
        up = scale_of(np.append(found[shown], 0.0) if found[shown].min() >= 0 else found[shown], most=5, linear=True)
        low, high = spans[0]
        ticks = scale_of(np.array(spans[0]), most=7, linear=True).ticks
        left = gutter(map(tick_text, up.ticks), _LEFT)
        across = Scale(low, high, tuple(tick for tick in ticks if low <= tick <= high))
        axes = Axes((box[0] + left, box[1] + 8, box[2] - left, box[3] - 28), across, up)
        axes.rule(sketch, theme)
        axes.foot(sketch, theme, self.panel.names[0])
        sketch.polyline(axes.points(places[shown], found[shown], within=True), theme.text2, 2.0)

        def stands(some: Floats, losses: Floats | None = None) -> Floats:
            height = at.losses(some) if losses is None else losses
            return axes.points(some[:, 0], np.where(np.isfinite(height), height, np.nan), within=True)

        way = trail[(trail >= low) & (trail <= high)].reshape(-1, 1) if trail.size else np.zeros((0, 1))
        _dots(sketch, theme, stands(way, np.interp(way[:, 0], places, found)))
        if at.place.gradient is not None:
            _tangent(sketch, axes, theme, at, stands)
        return stands

    def _valley(self, sketch: Sketch, box: Box, at: Standing, spans: Sequence[Span], trail: Floats) -> At:
        """Over two weights, the second upwards: isolines, the way, and the last step or its direction."""
        theme, place, names = self.ground.theme, at.place, self.panel.names
        texts = [[tick_text(end) for end in span] for span in spans]
        left = gutter(texts[1], _LEFT)
        x, y, width, height = plot = (box[0] + left, box[1] + 4, box[2] - left, box[3] - 24)
        axes = Axes(plot, *(Scale(*span) for span in spans))
        axes.ground(sketch, theme)

        def stands(some: Floats) -> Floats:
            return axes.points(*some.T)

        lines = [np.linspace(*span, SIDE) for span in spans]
        found = self._found(at, np.stack(np.meshgrid(*lines), axis=-1).reshape(-1, 2)).reshape(SIDE, SIDE)
        corner, cell = np.array(spans)[:, 0], np.diff(spans, axis=1)[:, 0] / (SIDE - 1)
        for number, level in enumerate(levels(found)):
            starts, ends = (stands(corner + part * cell) for part in zero_lines(found - level))
            ink = mixed(theme.text2, theme.panel, 0.85 - 0.6 * number / LEVELS)
            sketch.lines(starts, ends, ink, 1.4 if number == 0 else 1.0)
        axes.ends(sketch, theme, texts[0], texts[1], drop=16.0)
        sketch.text(x + width / 2, y + height + 16, names[0], LABEL, theme.text2, bold=True, anchor="middle")
        sketch.text(x - 7, y + height / 2 + 5, names[1], LABEL, theme.text2, bold=True, anchor="right")

        if len(trail) and axes.holds(*trail.T).any():
            path = stands(trail[axes.holds(*trail.T)])
            sketch.polyline(path, theme.flow, 1.6)
            _dots(sketch, theme, path)
        if place.before is not None and np.isfinite([*place.before, *place.here]).all():
            start, end = stands(np.array([place.before, place.here]))
            sketch.line(start, end, theme.pulse, 2.0)
            _begun(sketch, theme, start)
        elif place.gradient is not None and place.gradient.any():  # against the gradient the step will go
            start = stands(place.here[None])[0]
            way = place.gradient / np.diff(spans, axis=1)[:, 0] * (width, -height)
            sketch.arrow(start, start - 46.0 * way / max(float(np.hypot(*way)), 1e-12), theme.pulse, 2.0)
        return stands

    def _write(self, sketch: Sketch, box: Box, at: Standing) -> None:
        """How the step went, in two lines."""
        theme, (x, y, width, height) = self.ground.theme, box
        words: Words = ()
        if at.place.gradient is None:
            words = ((UNKNOWN, theme.text3, False),)
        elif at.place.before is not None:
            first, second, wrong = verdict(at.place, self.panel.names, steepness(at.losses, at.place))
            ink = theme.weight[0] if wrong else theme.text1
            words = (first, theme.text2, False), (second, ink, wrong)
        for row, (line, ink, bold) in enumerate(words):
            sketch.text(x, y + height - _LINES + 16 + 18 * row, cut(line, width, bold=bold), LABEL, ink, bold=bold)


def rolled(start: Floats, end: Floats, share: float) -> Floats:
    """Where the ball is after a share of its time."""
    share = min(1.0, share)
    eased = share * share * (3 - 2 * share)
    with np.errstate(invalid="ignore", over="ignore"):  # where it is lost it rolls nowhere
        return (1 - eased) * start + eased * end  # at its end it is there exactly, from however far


def _dots(sketch: Sketch, theme: Theme, points: Floats) -> None:
    for x, y in points.tolist():
        sketch.disc(x, y, 2.5, theme.text3)


def _begun(sketch: Sketch, theme: Theme, point: Floats) -> None:
    """Where the last step began."""
    x, y = point.tolist()
    sketch.disc(x, y, 5.0, theme.background, stroke=theme.pulse, border=1.8)


def _tangent(sketch: Sketch, axes: Axes, theme: Theme, at: Standing, stands: At) -> None:
    """The straight line that the gradient is, and the step that was taken along it."""
    place = at.place
    begin = place.here if place.before is None else place.before
    assert place.gradient is not None
    loss, slope = at.losses(begin[None]), float(place.gradient[0])
    if not np.isfinite([*begin, *loss, slope]).all():
        return
    reach = _TANGENT * (axes.across.high - axes.across.low)
    sketch.polyline(axes.slope(float(begin[0]), float(loss[0]), slope, reach), theme.pulse, 2.0)
    if place.before is None:
        return
    start, end = stands(np.array([place.before, place.here]))
    if not np.isfinite(end).all():
        end = axes.points(place.here, np.array([axes.up.high]))[0]
    if abs(end[0] - start[0]) > 8:
        sketch.arrow(start, (end[0], start[1]), theme.flow, 1.6)
    sketch.polyline([(end[0], start[1]), end], theme.flow, 1.4, dash=(3, 3))
    _begun(sketch, theme, start)


def levels(losses: Floats) -> Floats:
    """Where isolines are drawn, rising: closer together where the loss is low."""
    finite = losses[np.isfinite(losses)]
    if not finite.size or finite.min() == finite.max():
        return np.zeros(0)
    low, high = float(finite.min()), float(finite.max())
    return low + (high - low) * ((np.arange(LEVELS) + 0.5) / LEVELS) ** 2


# ---- What it is made of: where the weights are and were, and the loss at other places.

INNER = 0.92
"""Of the half of a span, beyond which it grows."""
_DOUBLINGS = 120
_LAST_DIGITS = 64
"""Of so many machine epsilons is the difference of two losses, or a move, that says nothing of uphill and downhill."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where some weights are, and what the step did that was done last."""

    here: Floats
    before: Floats | None = None  # that step; None where it is not known, or a hand changed them since
    gradient: Floats | None = None  # there; None where none was computed
    lr: float = float("nan")  # of that step
    fineness: float = float(np.finfo(np.float64).eps)  # of the numbers that the network computes with


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


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """A network with the numbers of a frame, a few of its weights at a place, and the data of its loss."""

    source: Source
    frame: Frame
    place: Place
    weights: Sequence[int]
    data: Data

    def losses(self, places: Floats) -> Floats:
        """The losses (N,) at places (N, n) of the weights; infinite where they are beyond the dtype."""
        changed, found = np.array(self.frame.values), np.empty(len(places))
        for number, place in enumerate(places):
            changed[list(self.weights)] = place
            found[number] = self.source.evaluate(*self.data, changed)
        return found


def grown(span: Span, places: ArrayLike) -> Span:
    """`span` doubled about its middle until all finite places are well inside."""
    middle, half = (span[0] + span[1]) / 2, (span[1] - span[0]) / 2
    found = np.asarray(places, np.float64).ravel()
    found = found[np.isfinite(found)]
    far = float(np.abs(found - middle).max(initial=0.0)) / INNER
    times = 0 if far <= half else min(int(np.ceil(np.log2(far / half))), _DOUBLINGS)
    return middle - half * 2.0**times, middle + half * 2.0**times


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
        return first, "too small to change the loss" if step.any() else "it stays where it is", False
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
