"""`Reading`: what was read off a run at one moment. The frame is made of it when somebody wants to see it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.data import Data
from .forward import Forward
from .frame import BoolArray, Curve, Frame, Past
from .loss_scale import float16_weights
from .setup import Setup

Found = tuple[Mapping[str, NDArray[Any]], Mapping[str, NDArray[Any]]]


class Units:
    """Finds dead and saturated units of one moment, both at the first look, as of a Frame.

    It takes a forward pass of some samples, two steps of a large network: nobody pays who does not look.
    `data` is never written to; `samples` and `seconds` are 0 as long as nobody has looked.
    """

    def __init__(self, forward: Forward, values: NDArray[Any], data: Data, step: int) -> None:
        self.step, self.samples, self.seconds = step, 0, 0.0
        self.dead: Mapping[str, NDArray[np.bool_]] = _Part(self, 0)
        self.saturated: Mapping[str, NDArray[np.floating]] = _Part(self, 1)
        self._asked: tuple[Forward, NDArray[Any], Data] | None = (forward, values, data)
        self._found: Found = ({}, {})
        self._finding = threading.Lock()

    def found(self) -> Found:
        """Dead and saturated units; any thread may ask."""
        with self._finding:
            if self._asked is not None:
                forward, values, data = self._asked
                start = perf_counter()
                with np.errstate(invalid="ignore", over="ignore"):  # a diverged run holds infinities
                    self._found = forward.units(values, data)
                self.samples = forward.watched(data)
                self.seconds = perf_counter() - start
                self._asked = None  # old data is let go of
            return self._found


class _Part(Mapping[str, NDArray[Any]]):
    """One of the two, as a mapping. Copies and pickles are plain dictionaries."""

    def __init__(self, units: Units, which: int) -> None:
        self._units, self._which = units, which

    def __getitem__(self, stage: str) -> NDArray[Any]:
        return self._units.found()[self._which][stage]

    def __iter__(self) -> Iterator[str]:
        return iter(self._units.found()[self._which])

    def __len__(self) -> int:
        return len(self._units.found()[self._which])

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


# ---- `Reading`: what was read off a run at one moment. The frame is made of it when somebody wants to see it
#
# Copying numbers takes a moment, and the thread that trains does it. What a frame holds beside them takes a forward
# pass, and is made once, in the thread of whoever asks first: the rows of a sample with the frame, dead and saturated
# units when they are looked at.


@dataclass(slots=True, eq=False)
class Reading:
    """Numbers of one moment, copies; those of the same names are as in :class:`~scalarviz.run.core.frame.Frame`.

    `previous` (P,) are the values before the step. `update` (P,) is there where it is not the difference:
    weights were set from outside since. `curve` goes up to the last call of the engine; `more` and `rates`
    are losses and learning rates of the steps since then, of the call that the moment lies in. `half`: the
    network computes with these values rounded to float16. `state` is None where nobody asked for it.
    """

    step: int
    loss: float
    lr: float
    values: NDArray[Any]
    gradient: NDArray[Any]
    previous: NDArray[Any]
    update: NDArray[Any] | None
    computed: BoolArray
    frozen: BoolArray
    curve: Curve
    edited: bool
    next_lr: float
    data: Data
    forward: Forward
    settings: Setup
    half: bool = False
    past: Past | None = None
    stopped_by: str = ""
    state: Mapping[str, NDArray[Any]] | None = None
    more: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    rates: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    _making: threading.Lock = field(default_factory=threading.Lock)
    _frame: Frame | None = None

    def frame(self) -> Frame:
        """The frame of the moment, always the same one; any thread may ask."""
        with self._making:
            if self._frame is None:
                self._frame = self._made()
            return self._frame

    def _made(self) -> Frame:
        with np.errstate(invalid="ignore", over="ignore"):  # a diverged run holds infinities
            update = self.values - self.previous if self.update is None else self.update.copy()
        units = Units(self.forward, self.values, self.data, self.step)
        curve = self._whole_curve()
        past = self.past
        if past is not None and self.step > past.newest:  # read in the middle of a call
            past = replace(past, newest=self.step, curve=curve)
        return Frame(
            step=self.step,
            loss=self.loss,
            lr=self.lr,
            values=float16_weights(self.values, self.forward.tensors) if self.half else self.values,
            master=self.values if self.half else None,
            gradient=self.gradient,
            update=update,
            computed=self.computed,
            frozen=self.frozen,
            dead=units.dead,
            saturated=units.saturated,
            units=units,
            curve=curve,
            past=past,
            edited=self.edited,
            next_lr=self.next_lr,
            forward=self.forward,
            settings=self.settings,
            data=self.data,
            stopped_by=self.stopped_by,
            state=self.state or {},
        )

    def _whole_curve(self) -> Curve:
        count, before = len(self.more), self.curve
        if not count:
            return before
        steps = np.arange(self.step - count + 1, self.step + 1)
        if len(before.step) and before.step[-1] != steps[0] - 1:  # they do not follow: a line of its own
            return Curve(steps, self.more, self.rates)
        return Curve(
            np.concatenate([before.step, steps]),
            np.concatenate([before.loss, self.more]),
            np.concatenate([before.lr, self.rates]),
        )
