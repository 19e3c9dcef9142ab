"""Micro-steps: one training step as a sequence of small ones, each with its words, its formula and its numbers.

zero -> forward -> loss -> backward -> gradients -> update. Up to `EACH` weights every product, sum, delta, gradient and
new weight is one; larger networks go stage by stage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .writing import Line, digits_of

Phase = Literal["zero", "forward", "loss", "backward", "gradients", "update"]
PHASES: tuple[Phase, ...] = ("zero", "forward", "loss", "backward", "gradients", "update")
Rows = NDArray[np.int64]
_SEVERAL = frozenset(("product", "sum", "stage", "gradient", "weight", "number", "output", "statistic"))
SYMBOLS = {"sigmoid": "σ"}
"""How activations are called where space is short; others by their name."""


@dataclass(frozen=True, slots=True, eq=False)
class MicroStep:
    """One of them.

    Of a batch of several samples every number is that of the batch: rows are means over its samples, deltas and
    gradients what the loss of the batch asks for.

    Attributes
    ----------
    phase : {"zero", "forward", "loss", "backward", "gradients", "update"}
    kind : str
        ``"clear"``, ``"product"``, ``"sum"``, ``"unit"`` (one output of a stage), ``"stage"`` (all of them),
        ``"loss"``, ``"delta"``, ``"gradient"``, ``"update"`` or ``"statistic"`` (an update of what follows the step).
    words : str
        What happens, in a few words.
    units, weights : ndarray of int64
        Outputs of `stage` that are computed, or whose delta is; flat indices of the weights that take part: that are
        multiplied, cleared, get their gradient or move.
    stage : str
        Name of the stage, empty for none.
    formula, numbers : str
        With names, and with numbers and the result; empty where many are done at once.
    value : float
        The result; NaN where there are many.
    factors : tuple of float
        What is multiplied (of a product, a delta, a gradient), added (of a sum), or taken (of a unit); empty where the
        numbers of several samples or places are summed up.
    column : int
        Of a product: which input of the layer; else -1.
    lines : tuple of Line
        Of an update: the optimiser's rule with numbers.
    """

    phase: Phase
    kind: str
    words: str
    units: Rows
    weights: Rows
    stage: str = ""
    formula: str = ""
    numbers: str = ""
    value: float = nan
    factors: tuple[float, ...] = ()
    column: int = -1
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class PhaseSpan:
    """The micro-steps of one phase.

    Attributes
    ----------
    name : str
    start, count : int
        Where it begins among all micro-steps, and how many it has.
    words : str
        ``"9 products, 3 sums, 3 σ"``.
    """

    name: Phase
    start: int
    count: int
    words: str


def phases_of(steps: Sequence[MicroStep]) -> tuple[PhaseSpan, ...]:
    """The six phases of a step, in their order."""
    found, start = [], 0
    for name in PHASES:
        mine = [step for step in steps if step.phase == name]
        found.append(PhaseSpan(name, start, len(mine), _said(name, mine)))
        start += len(mine)
    return tuple(found)


def _said(name: Phase, steps: Sequence[MicroStep]) -> str:
    if name == "forward":
        return ", ".join(counted(label, count) for label, count in Counter(map(_label, steps)).items())
    if name == "loss":
        return f"{steps[0].value:.4g}"
    if name == "backward":
        return counted("δ" if all(step.kind == "delta" for step in steps) else "stage", len(steps))
    weights = sum(len(step.weights) for step in steps if step.kind != "statistic")
    others = sum(len(step.weights) for step in steps) - weights
    if others:  # what no optimiser moves
        return f"{counted('weight', weights)}, {counted('statistic', others)}"
    return {
        "zero": f"{counted('gradient', weights)} cleared",
        "gradients": counted("gradient", weights),
        "update": counted("weight", weights),
    }[name]


def _label(step: MicroStep) -> str:
    return step.kind if step.kind in ("product", "sum", "stage") else step.words.partition(" ")[0]


def listed(made: NDArray[np.float64], joined: str, count: int, digits: int) -> str:
    """Numbers of a stage one after the other; of several samples with how they are joined: "mean", "sum"."""
    said = ", ".join(digits_of(float(number), digits) for number in made)
    return said if count == 1 else f"{joined} of {count:,} = {said}"


def counted(label: str, count: int) -> str:
    """``"1 product"``, ``"9 products"``; a symbol stays as it is."""
    plural = "" if count == 1 or label not in _SEVERAL else "s"
    return f"{count:,} {label}{plural}"
