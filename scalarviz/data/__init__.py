"""Data sets of colours: input colours, and the colours that a network should turn them into.

Colours are sRGB as stored in files, in 0..1, one in each row. The formulas work on these coded values, as the filters
of picture programs do.

The scenes also use `points` of a plane, handwritten `digits`, `words`, and `samples` of a file
or folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import rng
from ..checks import integer, real_array
from ..checks import text as check_text
from ..errors import InputError, UnknownNameError, listing, shown

__all__ = ["TARGETS", "Target", "colour_grid", "hex_colour", "parse_colour", "parse_pair", "random_colours", "target"]

Colours = NDArray[np.floating]

MOST = 1 << 26
"""The most random colours: more than there are 8-bit colours."""

# ITU-R BT.709, luma from the coded values
LUMA = np.array([0.2126, 0.7152, 0.0722])
# the usual matrix, as in Microsoft's sample and in CSS filter effects
SEPIA = np.array([[0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131]])


@dataclass(frozen=True, slots=True)
class Target:
    """A function of colours: its name, formula, code and purpose.

    Attributes
    ----------
    name : str
        The name after ``--target``.
    formula : str
        The formula in ``--help`` and the documentation.
    function : callable
        Takes and returns colours, shape (..., 3).
    aim : str
        The goal of a network that learns it, for a sentence: "turn every colour into its opposite".
    """

    name: str
    formula: str
    function: Callable[[Colours], Colours]
    aim: str = ""

    def __call__(self, colours: Colours) -> Colours:
        """Return the target colours for `colours`, shape (..., 3)."""
        return self.function(colours)


def _warm(colours: Colours) -> Colours:
    warm: Colours = colours * np.array([0.85, 1.0, 0.75]) + np.array([0.15, 0.0, 0.0])
    return warm


def _gray(colours: Colours) -> Colours:
    luma = colours @ LUMA
    return np.repeat(luma[..., None], 3, axis=-1)


TARGETS: dict[str, Target] = {
    t.name: t
    for t in (
        Target("invert", "(r,g,b) -> (1-r, 1-g, 1-b)", lambda c: 1 - c, "turn every colour into its opposite"),
        Target(
            "rotate",
            "(r,g,b) -> (g,b,r)",
            lambda c: c[..., [1, 2, 0]],
            "rotate the channels: red, green and blue change places",
        ),
        Target("gray", "each = 0.2126r + 0.7152g + 0.0722b (Rec. 709 luma)", _gray, "turn every colour into its grey"),
        Target(
            "sepia",
            "r' = .393r+.769g+.189b, g' = .349r+.686g+.168b, b' = .272r+.534g+.131b, clipped to 1",
            lambda c: np.minimum(c @ SEPIA.T, 1),
            "make every colour as brown as an old photo",
        ),
        Target("warm", "(r,g,b) -> (.15+.85r, g, .75b)", _warm, "make every colour warmer"),
    )
}


def target(name: str) -> Target:
    """Return the entry of :data:`TARGETS`; UnknownNameError for another name."""
    if check_text(name, "the name of a target") not in TARGETS:
        raise UnknownNameError(f"there is no target {shown(name)}; allowed are {listing(TARGETS)}")
    return TARGETS[name]


def random_colours(n: int, seed: int) -> NDArray[np.float64]:
    """Return `n` colours, uniform in the cube, shape (n, 3); the first ones are the same for every `n`."""
    count = integer("random_colours: n", n, 0, MOST)
    return np.asarray(rng.uniform(seed, rng.Stream.DATA, 0, 3 * count), np.float64).reshape(count, 3)


def colour_grid(levels: int = 16) -> NDArray[np.float64]:
    """Return the colours of an even grid in the cube, corners included, shape (levels**3, 3); blue changes fastest."""
    level = np.linspace(0, 1, integer("colour_grid: levels", levels, 1, 256))
    return np.stack(np.meshgrid(level, level, level, indexing="ij"), axis=-1).reshape(-1, 3)


def parse_colour(text: str) -> NDArray[np.float64]:
    """Return ``#ff8800``, ``ff8800`` or ``#f80`` as an array of 3 in 0..1; InputError otherwise."""
    digits = check_text(text, "a colour").strip().removeprefix("#")
    if len(digits) == 3:
        digits = "".join(2 * digit for digit in digits)
    if not re.fullmatch(r"[0-9a-fA-F]{6}", digits):
        raise InputError(f"{shown(text)} is not a colour; write #rrggbb or #rgb, for example #ff8800")
    return np.array([int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)])


def parse_pair(text: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ``#ff8800:#0044cc`` as two colours, input and target; InputError otherwise."""
    halves = check_text(text, "a pair of colours").split(":")
    if len(halves) != 2:
        raise InputError(f'{shown(text)} is not a pair of colours; write a pair as "#ff8800:#0044cc"')
    try:
        return parse_colour(halves[0]), parse_colour(halves[1])
    except InputError as error:
        raise InputError(f"in the pair {shown(text)}: {error}") from None


def hex_colour(colour: Colours) -> str:
    """Return a colour as ``#rrggbb``, rounded to the nearest level."""
    numbers = real_array(colour, "a colour")
    if numbers.shape != (3,) or np.isnan(numbers).any():
        raise InputError(f"a colour must be three numbers in 0..1, got {shown(colour)}")
    return "#" + "".join(f"{level:02x}" for level in np.rint(np.clip(numbers, 0.0, 1.0) * 255).astype(int).tolist())
