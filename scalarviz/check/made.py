"""`Made`: a module as a check handles it: its weights as one row of numbers, its outputs as a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..nn import Parameter
from ..scalar.value import Value
from ..scalar.weight import Weight
from .asked import called
from .guesses import Floats
from .report import Told


@dataclass(frozen=True, slots=True)
class Made:
    """A module, its parameters and how often it can be asked.

    Attributes
    ----------
    module : Module
    parts : list of Parameter and Weight
    """

    module: Any
    parts: list[Any]

    @property
    def size(self) -> int:
        """How many single weights it has."""
        return sum(size_of(part) for part in self.parts)

    def put(self, numbers: Sequence[float] | Floats) -> None:
        """Set all weights, one after the other."""
        start = 0
        for part in self.parts:
            own = np.array(numbers[start : start + size_of(part)])
            start += len(own)
            part.data = own.reshape(part.shape) if isinstance(part, Parameter) else float(own[0])

    def grads(self) -> Floats:
        """The gradients of all weights."""
        found = [np.ravel(part.grad) for part in self.parts]
        return np.concatenate(found) if found else np.zeros(0)

    def clear(self) -> None:
        """Clear them."""
        for part in self.parts:
            part.zero_grad()

    def weight_names(self) -> list[str]:
        """What the single weights are called."""
        found: list[str] = []
        for path, part in self.module.named_parameters():
            if isinstance(part, Weight):
                found.append(part.name or path)
            else:
                found += [f"{path}{''.join(f'[{i}]' for i in place)}" for place in np.ndindex(*part.shape)]
        return found


def size_of(part: Any) -> int:
    """How many single weights a parameter has."""
    return 1 if isinstance(part, Weight) else int(part.size)


def outputs_of(made: Made, row: Sequence[float]) -> list[Value]:
    """What the module gives for one input.

    Raises
    ------
    Told
        It raises, or gives no Values.
    """
    result = called(made.module, ([*row],) if len(row) > 1 else (row[0],), "at a random input")
    if result is None:
        raise Told("failed", "none", "forward gives nothing back: is a `return` missing?")
    found = list(result) if isinstance(result, list | tuple | np.ndarray) else [result]
    if not all(isinstance(value, Value) for value in found):
        raise Told(
            "failed", "kind", f"forward gives {type(found[0]).__name__}, wanted are Values: compute with the weights"
        )
    return found
