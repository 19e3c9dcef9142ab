"""`Told`: what is known of a loop that somebody else wrote: its steps, its loss, and what its last step did."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import integer
from ...run.checks import LAST_STEP
from ...run.core.frame import Curve, Frame
from ...run.sources.watched.watched import told_number

Floats = NDArray[np.floating]
LIMIT = 5_000
"""Points of the curve; above, every second one is dropped."""


class Told:
    """The past of numbers that are looked at again and again.

    A step is a change of the numbers since they were last looked at, or what the loop says. A change by hand is none.

    Attributes
    ----------
    step : int
        Steps so far.
    loss, lr : float
        As the loop last said; NaN before.
    """

    def __init__(self) -> None:
        self.step = 0
        self.loss = self.lr = float("nan")
        self._values: Floats | None = None
        self._update: Floats | None = None
        self._edited = False
        self._points: list[tuple[int, float, float]] = []
        self._curve: Curve | None = None

    def tell(self, *, step: object = None, loss: object = None, lr: object = None) -> None:
        """What the loop says of its last step; None says nothing.

        Raises
        ------
        InputError, TypeMismatchError
            No numbers; nothing is taken over then.
        """
        at = self.step if step is None else min(integer("step", step, 0), LAST_STEP)
        new = [told_number(name, told) for name, told in (("loss", loss), ("lr", lr))]
        self.step = at
        self.loss, self.lr = (
            old if told is None else told for told, old in zip(new, (self.loss, self.lr), strict=True)
        )
        if new[0] is None or at == 0:
            return
        while self._points and self._points[-1][0] >= at:  # a loop that began again
            self._points.pop()
        self._points.append((at, self.loss, self.lr))
        if len(self._points) > LIMIT:
            self._points = self._points[:-1:2] + self._points[-1:]
        self._curve = None

    def look(self, values: Floats) -> None:
        """The numbers as they are now, which are kept: a change since the last look is a step."""
        if self._values is None or self._values.shape != values.shape:
            self._values, self._update = values, np.zeros_like(values)
        elif not np.array_equal(self._values, values, equal_nan=True):
            self._update = values - self._values
            self._values, self._edited = values, False
            self.step += 1

    def by_hand(self, values: Floats) -> None:
        """A hand has changed them to `values`: that is no step."""
        self._values, self._edited = values, True

    def frame(self, values: Floats, gradient: Floats, computed: NDArray[Any], frozen: NDArray[Any]) -> Frame:
        """A frame of the numbers as they are now."""
        self.look(values)
        assert self._update is not None  # known since the first look
        return Frame(self.step, self.loss, self.lr, values, gradient, self._update, computed, frozen,
                     curve=self.curve, edited=self._edited)  # fmt: skip

    @property
    def curve(self) -> Curve:
        """Step, loss and learning rate of every step of which a loss was told."""
        if self._curve is None:
            steps, losses, rates = zip(*self._points, strict=True) if self._points else ((), (), ())
            self._curve = Curve(np.array(steps, np.int64), np.array(losses, float), np.array(rates, float))
        return self._curve
