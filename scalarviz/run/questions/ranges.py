"""The colour range of a frame, the same for the cubes, the legend and the film. Pure NumPy.

The range is ``+-V`` with ``V = min(max|x|, 3 * rms)`` over the finite values (treescope's rule): one outlier does not
turn everything else grey, and the share beyond V is shown as clipped. Weights far beyond all others, such as the
-3.4e38 of a mask, do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log, log1p
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError, UnknownNameError, listing, shown

Floats = NDArray[np.float64]
Scale = Literal["linear", "symlog", "log"]

SCALES = ("linear", "symlog", "log")

KNEE = 80.0
"""Constant of the symmetric-log scale: V/10 lies half-way between 0 and V, since log(1 + 80/10) / log(1 + 80) = 1/2."""

TIME_CONSTANT, AT_ONCE = 0.5, 1.1
"""Seconds in which V covers 63 % of the way to a larger target; growth up to which it follows at once."""

SMALLEST = 2.0**-126
"""Smallest V: the shader computes in float32, whose normal numbers end here."""

LARGEST = 2.0**125
"""Largest end of a symmetric range: 1 / span is still a normal number of the shader."""

FAR, SHARE, SAMPLED = 1e4, 0.9, 2**12
"""A weight above FAR times the SHARE quantile of all sizes has no neighbours. At most about SAMPLED weights, evenly
spread, are examined.
"""

SINGLE = 100
"""From so many weights on, a film may draw single ones as clipped."""

EMPTY = 1.0
"""V without finite values other than zeros: any V shows zero as the neutral colour."""


def symlog(x: ArrayLike) -> Floats:
    """Return the symmetric log of x/V: ``sign(x) log(1 + 80|x|) / log(81)``; odd, -1..1 to -1..1, steep around 0."""
    ratio = np.asarray(x, np.float64)
    return np.sign(ratio) * np.log1p(KNEE * np.abs(ratio)) / log1p(KNEE)


def symlog_inverse(y: ArrayLike) -> Floats:
    """Return the x whose :func:`symlog` is y (for the ticks of a legend)."""
    position = np.asarray(y, np.float64)
    return np.sign(position) * np.expm1(np.abs(position) * log1p(KNEE)) / KNEE


@dataclass(frozen=True, slots=True)
class Range:
    """Maps a value to its place on a colour scale."""

    low: float  # low and high: values at the ends; ``-V`` and ``V`` for signed quantities
    high: float
    # ``symlog`` needs ``low == -high`` and is for gradients, whose layers differ by decades; ``log`` needs
    # ``low > 0`` and is for magnitudes: smaller values, 0 too, are at the low end
    # ``low > 0`` and is for magnitudes: what is below lies at the low end, 0 too
    scale: Scale = "linear"

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise UnknownNameError(f"colour scale {shown(self.scale)} is not known; allowed: {listing(SCALES)}")
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low < self.high):
            raise InputError(f"a colour range needs finite ends, low < high; got {self.low} .. {self.high}")
        if self.scale == "symlog" and self.low != -self.high:
            raise InputError(f"a symlog range must be symmetric; got {self.low} .. {self.high}")
        if self.scale == "log" and not self.low > 0.0:
            raise InputError(f"a log range must be positive; got {self.low} .. {self.high}")

    @classmethod
    def symmetric(cls, v: float, scale: Scale = "linear") -> Range:
        """Return ``-v .. v``, within the limits of the shader; values beyond are clipped."""
        reach = min(v, LARGEST) if np.isfinite(v) else v  # infinity and NaN are refused
        return cls(-reach, reach, scale)

    @classmethod
    def decades(cls, v: float, count: int) -> Range:
        """Return a logarithmic range of `count` decades up to `v`, within the limits of float32."""
        low = max(v * 10.0**-count, SMALLEST)
        return cls(low, v, "log") if v > low else cls(10.0**-count, EMPTY, "log")

    def unit(self, values: ArrayLike) -> Floats:
        """Return fractions of the way from the low to the high colour: 0..1 in the range, beyond it when clipped."""
        x = np.asarray(values, np.float64)
        if self.scale == "symlog":
            return np.asarray(symlog(x / self.high) * 0.5 + 0.5)
        if self.scale == "log":
            return np.asarray(np.log(np.maximum(x, self.low) / self.low) / log(self.high / self.low))
        return (x - self.low) / (self.high - self.low)

    def value(self, unit: ArrayLike) -> Floats:
        """Return the values at fractions `unit` of the scale: the inverse of :meth:`unit`."""
        u = np.asarray(unit, np.float64)
        if self.scale == "symlog":
            return np.asarray(symlog_inverse(2.0 * u - 1.0) * self.high)
        if self.scale == "log":
            return np.asarray(self.low * (self.high / self.low) ** u)
        return self.low + u * (self.high - self.low)


def settled(values: object) -> bool:
    """Return whether an array can no longer change, so that results about it stay valid."""
    return isinstance(values, np.ndarray) and values.flags.owndata and not values.flags.writeable


def extent(values: ArrayLike, most: float = inf) -> float:
    """Return ``V = min(max|x|, 3 * rms)`` over the finite values up to `most`; 1.0 without any but zeros."""
    x = np.abs(np.asarray(values, np.float64)).ravel()
    finite = np.isfinite(x) & (x <= most)
    if not finite.all():
        x = x[finite]
    top = float(x.max(initial=0.0))
    if top == 0.0:
        return EMPTY
    scaled = x / top  # squares of 1e-300 or 1e300 would leave the range of float64
    squares = float(np.einsum("i,i->", scaled, scaled))  # no BLAS, whose threads wait for a busy processor
    v = min(top, 3.0 * top * float(np.sqrt(squares / x.size)))
    return v if v >= SMALLEST else EMPTY


def weight_reach(weights: ArrayLike) -> float:
    """Return the largest size at which a weight still has neighbours; infinite without finite weights other than 0."""
    flat = np.asarray(weights).ravel()
    x = np.abs(flat[:: max(1, flat.size // SAMPLED)].astype(np.float64))
    x = x[np.isfinite(x) & (x > 0.0)]
    place = int(SHARE * (x.size - 1)) if x.size else 0
    return FAR * float(np.partition(x, place)[place]) if x.size else inf


def weight_extent(weights: ArrayLike) -> float:
    """Return V of the weights that have neighbours."""
    return extent(weights, weight_reach(weights))


def whole_extent(weights: ArrayLike) -> float:
    """Return V of a film: of fewer than `SINGLE` weights all are in the range, so that none is drawn as clipped."""
    flat = np.asarray(weights, np.float64).ravel()
    few = flat.size < SINGLE
    return float(np.abs(flat[np.isfinite(flat)]).max(initial=0.0)) if few else weight_extent(flat)


def clip_share(values: ArrayLike, v: float) -> float:
    """Return the share of all values beyond +-v; infinities count, NaN does not (it has its own mark)."""
    x = np.asarray(values)
    return float(np.count_nonzero(np.abs(x) > v)) / x.size if x.size else 0.0


class RangeTracker:
    """V over time: it never shrinks, so that a colour keeps its meaning, and grows slowly after a jump.

    Weights that grow steadily would stay ahead of a slow range, and the largest would always be marked as clipped.
    """

    def __init__(self) -> None:
        self._now: list[float] = []
        self.growing = False  # whether some are still growing

    def follow(self, wanted: Sequence[float], seconds: float | None) -> list[float]:
        """Return the current V of each, for the time passed; without a clock, the targets."""
        now = self._now
        if seconds is None or len(now) != len(wanted):
            self._now = [*wanted]
        elif all(v <= AT_ONCE * one for v, one in zip(wanted, now, strict=True)):
            self._now = [*map(max, wanted, now)]
        else:
            share = 1.0 - exp(-max(seconds, 0.0) / TIME_CONSTANT)
            self._now = [one + share * max(v - one, 0.0) for v, one in zip(wanted, now, strict=True)]
        self.growing = any(v > one for v, one in zip(wanted, self._now, strict=True))
        return self._now
