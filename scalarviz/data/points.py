"""The data sets of the playground: labelled points of a plane, made from random numbers and a formula.

The formulas, their constants and the sizes are those of the best-known playground: ``src/dataset.ts`` of
https://github.com/tensorflow/playground (D. Smilkov, S. Carter, 2016; Apache License 2.0), rewritten here. The random
numbers are this project's own (:mod:`scalarviz.rng`), so a seed always names the same data set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import rng

Array = NDArray[np.float64]
Made = tuple[Array, Array]
"""Points (N, 2) and their labels (N,)."""

NOISE = 0.5
"""The most noise."""
RADIUS = 5.0
ORDER = 2**40
"""Seeds the order of the points, as the number of an epoch that no run reaches."""
PEAKS = ((-4.0, 2.5, 1), (0.0, 2.5, -1), (4.0, 2.5, 1), (-4.0, -2.5, -1), (0.0, -2.5, 1), (4.0, -2.5, -1))


class _Draw:
    """The random numbers of one data set, one sequence after the other."""

    def __init__(self, seed: int) -> None:
        self.seed, self.count = seed, 0

    def uniform(self, low: float, high: float, n: int) -> Array:
        self.count += 1
        return np.asarray(low + (high - low) * rng.uniform(self.seed, rng.Stream.DATA, self.count, n), np.float64)

    def normal(self, deviation: float, n: int) -> Array:
        self.count += 1
        return np.asarray(deviation * rng.normal(self.seed, rng.Stream.DATA, self.count, n), np.float64)

    def plane(self, low: float, high: float, n: int) -> Array:
        """Return points (n, 2) of a square."""
        return np.stack([self.uniform(low, high, n), self.uniform(low, high, n)], axis=1)


def _circle(draw: _Draw, n: int, noise: float) -> Made:
    half = n // 2
    radius = np.concatenate([draw.uniform(0, 0.5 * RADIUS, half), draw.uniform(0.7 * RADIUS, RADIUS, n - half)])
    angle = draw.uniform(0, 2 * np.pi, n)
    points = radius[:, None] * np.stack([np.sin(angle), np.cos(angle)], axis=1)
    moved = points + noise * draw.plane(-RADIUS, RADIUS, n)
    return points, np.where(np.hypot(*moved.T) < 0.5 * RADIUS, 1.0, -1.0)


def _xor(draw: _Draw, n: int, noise: float) -> Made:
    points = draw.plane(-RADIUS, RADIUS, n)
    points += np.where(points > 0, 0.3, -0.3)
    moved = points + noise * draw.plane(-RADIUS, RADIUS, n)
    return points, np.where(moved[:, 0] * moved[:, 1] >= 0, 1.0, -1.0)


def _gauss(draw: _Draw, n: int, noise: float) -> Made:
    half = n // 2
    deviation = float(np.sqrt(0.5 + 7 * noise))
    labels = np.where(np.arange(n) < half, 1.0, -1.0)
    points = 2 * labels[:, None] + np.stack([draw.normal(deviation, n), draw.normal(deviation, n)], axis=1)
    return points, labels


def _spiral(draw: _Draw, n: int, noise: float) -> Made:
    half = n // 2
    labels = np.where(np.arange(n) < half, 1.0, -1.0)
    share = np.concatenate([np.arange(half) / half, np.arange(n - half) / (n - half)])
    angle = 1.75 * share * 2 * np.pi + np.where(labels > 0, 0, np.pi)
    points = 5 * share[:, None] * np.stack([np.sin(angle), np.cos(angle)], axis=1)
    return points + noise * draw.plane(-1, 1, n), labels


def _plane(draw: _Draw, n: int, noise: float) -> Made:
    points = draw.plane(-6, 6, n)
    moved = points + noise * draw.plane(-6, 6, n)
    return points, moved.sum(axis=1) / 10


def _regress_gauss(draw: _Draw, n: int, noise: float) -> Made:
    points = draw.plane(-6, 6, n)
    moved = points + noise * draw.plane(-6, 6, n)
    peaks = np.array(PEAKS)
    away = np.hypot(*(moved[:, None, :] - peaks[None, :, :2]).transpose(2, 0, 1))
    heights = peaks[:, 2] * np.clip(1 - away / 2, 0, 1)
    return points, heights[np.arange(n), np.abs(heights).argmax(axis=1)]


@dataclass(frozen=True, slots=True)
class Kind:
    """A named data set, and the task of the network."""

    name: str
    make: Callable[[_Draw, int, float], Made]
    count: int
    aim: str
    number: bool = False  # True: the target is a number, not one of two classes


KINDS = {
    kind.name: kind
    for kind in (
        Kind("circle", _circle, 500, "tell the disc from the ring around it"),
        Kind("xor", _xor, 500, "tell two opposite quarters from the other two"),
        Kind("gauss", _gauss, 500, "tell two clouds of points apart"),
        Kind("spiral", _spiral, 500, "tell two spirals apart that wind around each other"),
        Kind("plane", _plane, 1200, "find a slope: (x + y) / 10", number=True),
        Kind("regress-gauss", _regress_gauss, 1200, "find three hills and three hollows", number=True),
    )
}


def points_of(name: str, noise: float, seed: int) -> Made:
    """Return points and labels of a data set, shuffled, so that any part is a fair sample.

    Parameters
    ----------
    name : str
        One of :data:`KINDS`.
    noise : float
        0 to :data:`NOISE`; its effect on points or labels depends on the data set, as in the original.
    seed : int

    Returns
    -------
    (ndarray of float64, ndarray of float64)
        Points (N, 2), and labels (N,): -1 and 1, or numbers from -1 to 1 (for `plane` up to 1.2).
    """
    kind = KINDS[name]
    points, labels = kind.make(_Draw(seed), kind.count, noise)
    order = rng.permute(np.arange(kind.count), kind.count, seed, ORDER)
    return points[order], labels[order]
