"""`Units`: which units of a network are dead or saturated at one moment, found when somebody asks."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..engine.data import Data
    from .forward import Forward

Found = tuple[Mapping[str, NDArray[Any]], Mapping[str, NDArray[Any]]]


class Units:
    """Finding out takes a forward pass of some samples, two steps of a large network: nobody pays who does not look.

    Parameters
    ----------
    forward : Forward
    values : ndarray, shape (P,)
        Of the moment.
    data : Data
        What was learnt from then; never written to.
    step : int
        Of the moment.

    Attributes
    ----------
    step : int
    dead, saturated : mapping of str to ndarray
        As :attr:`Frame.dead <scalarviz.run.frame.Frame.dead>`; the first look at one of them finds both.
    samples : int
        How many were looked at; 0 as long as nobody has.
    seconds : float
        What finding them took; 0.0 as long as nobody has looked.
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
