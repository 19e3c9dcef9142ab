"""How initial values are drawn: the random numbers of one parameter, and the initialisers that use them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import rng
from ..errors import InputError, shown
from ..scalar.number import as_number, positive

Shape = tuple[int, ...]


class Draw:
    """The sequence of random numbers of one parameter, number `place` in its network."""

    def __init__(self, seed: int, place: int) -> None:
        rng.split(seed)  # refuses a bad seed, even if nothing is drawn
        self.seed, self.place, self.drawn = seed, place, 0

    def uniform(self, shape: Shape) -> NDArray[np.floating]:
        """Return numbers in ``[0, 1)``, float64."""
        return self._next(rng.uniform, shape)

    def normal(self, shape: Shape) -> NDArray[np.floating]:
        """Return standard normal numbers, float64."""
        return self._next(rng.normal, shape)

    def _next(self, source: Callable[..., NDArray[np.floating]], shape: Shape) -> NDArray[np.floating]:
        n = math.prod(shape)
        start, self.drawn = self.drawn, self.drawn + n + n % 2  # an even start, since normal numbers come in pairs
        return source(self.seed, rng.Stream.WEIGHTS, self.place, n, start=start).reshape(shape)


class LevelDraw(Draw):
    """A draw whose numbers are all `level`; `kinds` lists what it was asked for."""

    def __init__(self, place: int, level: float) -> None:
        super().__init__(0, place)
        self.level, self.kinds = level, list[str]()

    def _next(self, source: Callable[..., NDArray[np.floating]], shape: Shape) -> NDArray[np.floating]:
        self.kinds.append(source.__name__)
        return np.full(shape, self.level)


class Counter:
    """The process-wide place of the next parameter without a seed."""

    seed = 0
    place = 0


def next_draw(seed: int | None = None, place: int = 0) -> Draw:
    """Return the draw of parameter number `place` of a network with this seed; without a seed, the counter's next."""
    if seed is not None:
        return Draw(seed, place)
    Counter.place += 1
    return Draw(Counter.seed, Counter.place - 1)


Function = Callable[[Shape, int, int, Draw], Any]


@dataclass(frozen=True)
class Initializer:
    """An initialiser: functions ``(shape, fan_in, fan_out, draw) -> ndarray`` for weights and biases, and a title."""

    weight: Function
    bias: Function
    title: str

    def __call__(self, shape: Shape, fan_in: int, fan_out: int, draw: Draw) -> Any:
        """Return values for a weight array."""
        return self.weight(shape, fan_in, fan_out, draw)

    def __repr__(self) -> str:
        return self.title


def no_bias(shape: Shape, fan_in: int, fan_out: int, draw: Draw) -> NDArray[np.floating]:
    return np.zeros(shape)


def between(low: float, high: float, shape: Shape, draw: Draw) -> NDArray[np.floating]:
    return low + (high - low) * draw.uniform(shape)


def _within(bound: Callable[[int, int], float]) -> Function:
    """Return a rule that draws uniformly between ``-b`` and ``b``, where b is ``bound(fan_in, fan_out)``."""

    def filled(shape: Shape, fan_in: int, fan_out: int, draw: Draw) -> NDArray[np.floating]:
        most = bound(fan_in, fan_out)
        return between(-most, most, shape, draw)

    return filled


def uniform(a: float = 0.0, b: float = 1.0) -> Initializer:
    """Draw weights uniformly in ``[a, b)``; biases are 0.

    Raises
    ------
    InputError
        A bound is not finite, or ``a > b``.
    """
    low, high = as_number(a, "uniform: 'a'"), as_number(b, "uniform: 'b'")
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise InputError(f"uniform needs finite numbers a <= b, got a={shown(a)}, b={shown(b)}")

    def weight(shape: Shape, fan_in: int, fan_out: int, draw: Draw) -> NDArray[np.floating]:
        return between(low, high, shape, draw)

    return Initializer(weight, no_bias, f"uniform({low:g}, {high:g})")


def normal(mean: float = 0.0, std: float = 1.0) -> Initializer:
    """Draw weights from a normal distribution; biases are 0.

    Raises
    ------
    InputError
        `mean` is not finite, or `std` is negative or not finite.
    """
    centre, width = as_number(mean, "normal: mean"), as_number(std, "normal: std")
    if not (math.isfinite(centre) and math.isfinite(width) and width >= 0):
        raise InputError(f"normal needs a finite mean and a finite std >= 0, got mean={shown(mean)}, std={shown(std)}")

    def weight(shape: Shape, fan_in: int, fan_out: int, draw: Draw) -> NDArray[np.floating]:
        return centre + width * draw.normal(shape)

    return Initializer(weight, no_bias, f"normal({centre:g}, {width:g})")


def pytorch_default() -> Initializer:
    """Draw as ``torch.nn.Linear`` does: weights and biases uniform within ``1 / sqrt(fan_in)``."""
    both = _within(lambda fan_in, fan_out: 1.0 / math.sqrt(fan_in))
    return Initializer(both, both, "pytorch_default()")


def xavier_uniform(gain: float = 1.0) -> Initializer:
    """Draw weights uniformly within ``gain * sqrt(6 / (fan_in + fan_out))``; biases are 0 (Glorot and Bengio, 2010).

    Raises
    ------
    InputError
        `gain` is not positive and finite.
    """
    factor = positive(gain, "xavier_uniform: gain")
    weight = _within(lambda fan_in, fan_out: factor * math.sqrt(6.0 / (fan_in + fan_out)))
    return Initializer(weight, no_bias, f"xavier_uniform(gain={factor:g})")


def kaiming_uniform(gain: float = math.sqrt(2.0)) -> Initializer:
    """Draw weights uniformly within ``gain * sqrt(3 / fan_in)``, biases within ``gain * sqrt(3 / fan_out)``.

    The default gain is the one for ReLU (He et al., 2015).

    Raises
    ------
    InputError
        `gain` is not positive and finite.
    """
    factor = positive(gain, "kaiming_uniform: gain")
    weight = _within(lambda fan_in, fan_out: factor * math.sqrt(3.0 / fan_in))
    bias = _within(lambda fan_in, fan_out: factor * math.sqrt(3.0 / fan_out))
    return Initializer(weight, bias, f"kaiming_uniform(gain={factor:g})")
