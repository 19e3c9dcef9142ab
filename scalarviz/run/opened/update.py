"""`Update`: what a step does to one weight, and to all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.arrays.program import RowProgram
from .taken import Taken
from .writing import Line, digits_of

Float = NDArray[np.float64]
LANES = 1 << 16
"""Weights that go through the rule together."""


@dataclass(frozen=True, slots=True)
class Update:
    """What the step does to one weight.

    Attributes
    ----------
    index : int
    before, after : float
        The weight before and after the step, in float64; the engine rounds to the run's dtype.
    gradient : float
    lines : tuple of Line
        The optimiser's rule with numbers, the new weight last; empty for a weight that stays.
    why : str
        Why it stays, or what it follows; empty for one that the optimiser moves.
    """

    index: int
    before: float
    after: float
    gradient: float
    lines: tuple[Line, ...] = ()
    why: str = ""

    def __str__(self) -> str:
        if not self.lines and self.after != self.before:
            return f"w' = {digits_of(self.after)}: {self.why}"
        if not self.lines:
            return f"w' = w = {digits_of(self.before)}: {self.why}"
        return "\n".join(map(str, self.lines))


def moved(taken: Taken, values: Float, gradient: Float, state: Sequence[NDArray[Any]]) -> Float:
    """The weights (P,) after the step, in float64; those that the optimiser leaves alone are as before."""
    hyper = np.array([*taken.theta(gradient), *taken.rates])
    prologue = taken.update.prologue
    after = values.copy()
    body = RowProgram(taken.update.body, np.dtype(np.float64))
    with np.errstate(all="ignore"):
        if prologue is not None:
            made = RowProgram(prologue, np.dtype(np.float64)).forward(hyper, np.empty((0, 1)))
            hyper = np.concatenate([hyper, made[prologue.outputs, 0]])
        for start in range(0, len(after), LANES):
            part = slice(start, start + LANES)
            given = np.stack([values[part], gradient[part], *(array[part] for array in (*state, *taken.of_group))])
            new = body.forward(hyper, given)[body.program.outputs[0]]
            np.copyto(after[part], new, where=taken.trained[part])
    return after
