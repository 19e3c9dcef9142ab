"""The drawer of the loss over one weight or two: rolls the ball, and says of the last step how it went."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ...run.panels import LossOver
from ...run.source import Moment, Source
from ...run.weight_record import weight_record
from ..draw.places import ABOUT, LABEL, Box
from ..draw.sketch import Sketch
from .descent import Data, Losses, Place, grown, losses, place_of, steepness, verdict
from .drawer import Drawer, Ground, cut, sentence, title_of
from .inner import Inner
from .pace import Written
from .slope import draw_slope
from .trail import Trail
from .valley import SIDE, draw_valley

ROLL = 0.3
"""Seconds for which the ball rolls to its new place, or as long as frames are apart, if that is less."""
UNKNOWN = "the slope here is not known before backward()"
_POINTS = 129
_TOP, _LINES = 21.0, 40.0
Floats = NDArray[np.float64]
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
        if not asked.done.is_set():
            asked.forget()
            return
        records = asked.answer()
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
