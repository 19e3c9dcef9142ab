"""The network of the scene `texture`, and how it is told a place: as waves that become finer and finer."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import scalarviz as sv
from scalarviz import nn

Row = list[sv.Value]
Wave = Callable[[sv.Value, int], Row]

SLOPE = 0.01
"""Of the leaky rectifiers below 0."""


def sines(x: sv.Value, k: int) -> Row:
    """Sine and cosine of ``2**k * pi * x``."""
    angle = x * (math.pi * 2**k)
    return [sv.sin(angle), sv.cos(angle)]


def triangles(x: sv.Value, k: int) -> Row:
    """The same waves with straight flanks: 0 and 1 at x = 0, never above 1 or below -1 for x in 0..1."""
    return [_triangle(x - 0.5 ** (k + 1), k), _triangle(x, k)]


def _triangle(x: sv.Value, k: int) -> sv.Value:
    """A wave of straight lines through the peaks of ``cos(2**k * pi * x)``, x in -1..1.

    As ``cos(2 a) = 2 cos(a)**2 - 1`` doubles a frequency, ``2 abs(wave) - 1`` does.
    """
    wave = 1.0 - 2.0 * abs(x)
    for _ in range(k):
        wave = 2.0 * abs(wave) - 1.0
    return wave


ENCODINGS: dict[str, Wave | None] = {"sin": sines, "triangle": triangles, "none": None}
"""By name, the two waves of a coordinate of ``2**k`` half periods."""


def encoded_count(encoding: str, frequencies: int) -> int:
    """How many numbers the first layer gets."""
    return 2 if ENCODINGS[encoding] is None else 4 * frequencies


class Waves(nn.Module):
    """The coordinates of a place as waves, all of x first.

    Parameters
    ----------
    wave : callable
        One of `ENCODINGS`.
    frequencies : int
    """

    stage = "waves"

    def __init__(self, wave: Wave, frequencies: int) -> None:
        self._wave, self._frequencies = wave, frequencies

    def forward(self, x: Row) -> Row:
        """``4 * frequencies`` numbers of two."""
        return [number for c in x for k in range(self._frequencies) for number in self._wave(c, k)]


class Painter(nn.Sequential):
    """From a place (x, y) to its colour: waves of both coordinates, then layers.

    Parameters
    ----------
    hidden : tuple of int
        Units of the hidden layers; leaky rectifiers behind them, a sigmoid at the end.
    encoding : str
        One of `ENCODINGS`.
    frequencies : int
        How often the waves become twice as fine, the first included.
    """

    def __init__(self, hidden: tuple[int, ...], encoding: str, frequencies: int) -> None:
        layers: list[nn.Module] = []
        for n_in, n_out in pairwise((encoded_count(encoding, frequencies), *hidden, 3)):
            layers += [nn.Linear(n_in, n_out), nn.LeakyReLU(SLOPE)]
        super().__init__(*layers[:-1], nn.Sigmoid())
        wave = ENCODINGS[encoding]
        self.waves = None if wave is None else Waves(wave, frequencies)

    def forward(self, x: Row) -> Row:
        """The colour of a place."""
        return list(super().forward(x if self.waves is None else self.waves(x)))
