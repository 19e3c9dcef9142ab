"""Weights that one layer alone reads: their gradients are whole when its instruction has computed them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....tape import Instruction, Program

LEAST = 4096
"""Weights of a layer from which on it pays that their gradients do not go through memory."""


class Alone:
    """Which layers those are.

    Parameters
    ----------
    program : Program
    kernels : bool
        Whether there are kernels that hand gradients over (``compiled/taken``); else there are no such layers.
    """

    def __init__(self, program: Program, kernels: bool) -> None:
        self._spans: list[tuple[int, int]] = []
        self._shared = np.zeros(program.n_theta if kernels and _any_wide(program) else 0, np.bool_)
        if len(self._shared):
            self._mark(program)

    def _mark(self, program: Program) -> None:
        seen = np.zeros_like(self._shared)
        for i in program.instructions:
            if i.kind == "layer":
                span = slice(*_span(i))
                self._shared[span] |= seen[span]
                seen[span] = True
                if i.bias >= 0:
                    self._shared[i.bias : i.bias + i.count] = True
            else:
                self._shared[_read(i)] = True

    def take(self, i: Instruction) -> bool:
        """Whether a layer is one of them. If so, its instruction is now the one that has their gradients."""
        start, end = _span(i)
        if len(self._shared) == 0 or end - start < LEAST or self._shared[start:end].any():
            return False
        self._spans.append((start, end))
        return True

    def spans(self) -> NDArray[np.int64]:
        """Where the weights of each begin and end, in order, shape (2 * layers,)."""
        return np.array(sorted(self._spans), np.int64).ravel()


def _any_wide(program: Program) -> bool:
    return any(i.kind == "layer" and i.count * i.args.shape[1] >= LEAST for i in program.instructions)


def _span(i: Instruction) -> tuple[int, int]:
    """Where the weights of a layer begin and end."""
    first = int(i.weights[0])
    return first, first + i.count * i.args.shape[1]


def _read(i: Instruction) -> NDArray[np.int64]:
    """The weights that any other instruction reads."""
    weights = i.weights
    if i.kind == "conv":
        weights = (weights[:, None] + np.arange(i.args.shape[1])).ravel()
    elif i.table is not None:
        weights = (weights[:, None] + np.arange(i.table.rows) * i.table.step).ravel()
    biases = np.arange(i.bias, i.bias + (len(i.weights) if i.kind == "conv" else 1)) if i.bias >= 0 else weights[:0]
    return np.concatenate([weights, biases])
