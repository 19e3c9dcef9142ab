"""Dropout masks: random factors that are drawn at every step.

In a recorded graph a mask's number is a node without operands, :class:`Mask`; an engine draws it at every step. In a
graph of numbers it is drawn at once: from :class:`Draws`, which the objects engine sets for each sample, or else by
the number of the call in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import get_ident
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import rng
from . import tracing
from .value import Symbol, Value

UNITS = 1 << 32
"""A mask's number on a tape is ``call * UNITS + unit``."""


class Mask(Symbol):
    """A factor of a recorded graph: 0 with probability `p`, else ``1 / (1 - p)``; it differs by step and sample.

    Its number is ``call * UNITS + unit``.
    """

    __slots__ = ("number", "p")

    def __init__(self, number: int, p: float) -> None:
        super().__init__()
        self.number, self.p = number, p


@dataclass(slots=True)
class Draws:
    """The position in the random stream of masks, see :func:`scalarviz.rng.dropped`."""

    seed: int
    step: int
    place: int = 0  # index of the (first) sample in its batch
    calls: int = 0  # calls of modules with masks so far in the sample's graph

    def factors(self, call: int, units: NDArray[np.integer], lanes: int, p: float, dtype: Any) -> NDArray[Any]:
        """Return the numbers of a mask, shape (units, lanes), for the samples from `place` on."""
        places = np.arange(self.place, self.place + lanes)
        return np.where(rng.dropped(self.seed, call, self.step, units, places, p), 0.0, scale(p)).astype(dtype)


def scale(p: float) -> float:
    """Return the factor of units that stay; it keeps the mean."""
    return 1.0 / (1.0 - p) if p < 1.0 else 0.0


_by_hand = Draws(0, 0)
"""For graphs called by hand: every call is a step, counted in this process."""
_samples: dict[int, Draws] = {}


def begin(seed: int) -> None:
    """Restart the count of calls by hand, with this seed."""
    _by_hand.seed, _by_hand.step = seed, 0


@contextmanager
def sample(draws: Draws) -> Iterator[None]:
    """Inside the block, masks of this thread belong to one sample of a step."""
    _samples[get_ident()] = draws
    try:
        yield
    finally:
        del _samples[get_ident()]


def with_same_masks(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return `fn` with the same masks at every call by hand: the ones that come next."""
    step = _by_hand.step

    def again(*args: Any) -> Any:
        _by_hand.step = step
        return fn(*args)

    return again


def next_place() -> tuple[int, int]:
    """Return seed and step of the next masks by hand; the call of a whole batch is one step."""
    _by_hand.step += 1
    return _by_hand.seed, _by_hand.step - 1


def factors(n: int, p: float) -> list[Value]:
    """Return the mask of a call for `n` units, one Value each."""
    recorder = tracing.active()
    if recorder is not None:
        first = recorder.masks * UNITS
        recorder.masks += 1
        return [Mask(first + unit, p) for unit in range(n)]
    draws = _samples.get(get_ident(), _by_hand)
    found = draws.factors(draws.calls, np.arange(n), 1, p, np.float64)[:, 0].tolist()
    if draws is _by_hand:
        draws.step += 1
    else:
        draws.calls += 1
    return [Value(factor) for factor in found]
