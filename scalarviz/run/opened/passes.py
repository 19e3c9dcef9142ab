"""`Passes`: forward and backward of one batch in float64, in blocks of samples, on arrays of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...engine.arrays.blas import one_blas_thread
from .taken import Taken

Float = NDArray[np.float64]
KEPT_BYTES = 64 << 20
"""Rows and adjoints of a whole batch are kept up to this size; those of a larger one are computed again when needed."""
SHOWN_BYTES = 32 << 20
"""What the rows and deltas of all stages together may take; a larger batch shows those of its first samples."""


class Block(NamedTuple):
    """Some samples of the batch: all rows of the program and their adjoints, each (n_rows, samples)."""

    span: slice
    rows: Float
    adjoints: Float


class Passes:
    """The numbers of a step before the optimiser.

    Parameters
    ----------
    taken : Taken

    Attributes
    ----------
    loss : float
        Of the batch.
    gradient : ndarray of float64, shape (P,)
    theta : ndarray of float64
        The weights, and behind them the numbers that are made of weights alone.
    before, before_adjoints : ndarray, shape (n_rows, 1), or None
        Rows and adjoints of the program that makes those.
    rows, deltas : dict of str to ndarray, shape (outputs, shown)
        Of every stage, for the first `shown` samples of the batch.
    """

    def __init__(self, taken: Taken) -> None:
        self._taken, self.network = taken, taken.network
        self.size = len(taken.batch)
        network = self.network
        self.theta, self.before = network.runner.extended(taken.values.astype(np.float64))
        self.before_adjoints: Float | None = None
        self._kept: list[Block] | None = [] if self.size * network.lane_bytes <= KEPT_BYTES else None
        outputs = sum(stage.outputs for stage in network.stages)
        self.shown = min(self.size, max(1, SHOWN_BYTES // (16 * max(1, outputs))))
        made = {stage.name: np.empty((stage.outputs, self.shown)) for stage in network.stages}
        self.rows, self.deltas = made, {name: np.empty_like(array) for name, array in made.items()}
        self.loss, self.gradient = self._computed()

    def _computed(self) -> tuple[float, Float]:
        gradient, loss = np.zeros(len(self.theta)), 0.0
        for block in self._fresh(gradient):
            loss += float(block.rows[self.network.body.program.loss].sum())
            self._show(block)
            if self._kept is not None:
                self._kept.append(block)
        n, prologue = self.network.n_weights, self.network.runner.prologue
        if prologue is not None and self.before is not None:
            self.before_adjoints = np.zeros_like(self.before)
            np.add.at(self.before_adjoints[:, 0], prologue.program.outputs, gradient[n:])
            prologue.backward(self.before, self.before_adjoints, self.theta[:n], gradient[:n])
        return loss * self._taken.scale, gradient[:n]

    def _fresh(self, gradient: Float) -> Iterator[Block]:
        """Forward and backward, block by block; what the samples ask of theta is added to `gradient`."""
        network, lanes = self.network, self.network.lanes
        for start in range(0, self.size, lanes):
            span = slice(start, min(start + lanes, self.size))
            with one_blas_thread():
                rows = network.body.forward(self.theta, network.encoded(self._taken.numbers(span)))
                adjoints = np.zeros_like(rows)
                adjoints[network.body.program.loss] = self._taken.scale
                network.body.backward(rows, adjoints, self.theta, gradient)
            yield Block(span, rows, adjoints)

    def _show(self, block: Block) -> None:
        stop = min(block.span.stop, self.shown)
        count = stop - block.span.start
        if count <= 0:
            return
        span = slice(block.span.start, stop)
        for name, rows in self.network.rows_of.items():
            self.rows[name][:, span] = block.rows[rows, :count]
            self.deltas[name][:, span] = block.adjoints[rows, :count]

    def blocks(self) -> Iterator[Block]:
        """All rows and adjoints, the samples in the order of the batch; not to be written to."""
        return iter(self._kept) if self._kept is not None else self._fresh(np.zeros(len(self.theta)))
