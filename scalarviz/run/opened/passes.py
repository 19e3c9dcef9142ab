"""`Passes`: forward and backward of one batch in float64, in blocks of samples, on arrays of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...engine.arrays.program import one_blas_thread
from ...tape.half import loss_scale_of
from .taken import Taken
from .uses import Use, slopes, uses_in

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
    before : ndarray, shape (n_rows, 1), or None
        Rows of the program that makes those.
    loss_scale : float
        What deltas are multiplied by, and the gradient is not: 1 where the run is not in float16.
    means, adjoint_sums : ndarray of float64, shape (n_rows,)
        Of every row of the program: the mean over the batch, and the sum of its adjoints.
    rows, deltas : dict of str to ndarray, shape (outputs, shown)
        Of every stage, for the first `shown` samples of the batch.
    stats : ndarray of float64, shape (tracks,)
        What running statistics follow.
    """

    def __init__(self, taken: Taken) -> None:
        self._taken, self.network = taken, taken.network
        self.size = len(taken.batch)
        network = self.network
        self.theta, self.before = network.runner.extended(taken.values.astype(np.float64))
        scale = loss_scale_of(network.tape)
        self.loss_scale = 1.0 if scale is None else float(self.theta[scale])
        self._kept: list[Block] | None = [] if self.size * network.lane_bytes <= KEPT_BYTES else None
        outputs = sum(stage.outputs for stage in network.stages)
        self.shown = min(self.size, max(1, SHOWN_BYTES // (16 * max(1, outputs))))
        made = {stage.name: np.empty((stage.outputs, self.shown)) for stage in network.stages}
        self.rows, self.deltas = made, {name: np.empty_like(array) for name, array in made.items()}
        self._uses: dict[int, tuple[Use, ...]] = {}
        self._held = self._means_beside()
        self._stat_rows = [track.row for track in network.body.program.tracks]
        self.stats = np.zeros(0)
        self.loss, self.gradient = self._computed()

    def _means_beside(self) -> Float | None:
        """Rows of the batch whose means are held still."""
        beside, network = self._taken.beside, self.network
        if beside is None:
            return None
        with one_blas_thread():
            numbers = network.encoded(beside, self._taken.arithmetic)
            rows: Float = network.body.forward(self.theta, numbers, self._taken.draws(0))[:, 0]
        return rows

    def _computed(self) -> tuple[float, Float]:
        gradient = np.zeros(len(self.theta))
        totals = np.zeros(self.network.body.program.n_rows)
        self.adjoint_sums = np.zeros_like(totals)
        for block in self._fresh(gradient):
            totals += block.rows.sum(axis=1)
            self.adjoint_sums += block.adjoints.sum(axis=1)
            self._show(block)
            if block.span.start == 0:
                self.stats = block.rows[self._stat_rows, 0]
            if self._kept is not None:
                self._kept.append(block)
        self.means = totals / self.size
        loss = float(totals[self.network.body.program.loss])
        n, prologue = self.network.n_weights, self.network.runner.prologue
        if prologue is not None and self.before is not None:
            adjoints = np.zeros_like(self.before)
            np.add.at(adjoints[:, 0], prologue.program.outputs, gradient[n:])  # two outputs may be the same row
            prologue.backward(self.before, adjoints, self.theta[:n], gradient[:n])
        return loss * self._taken.scale, gradient[:n]

    def _fresh(self, gradient: Float) -> Iterator[Block]:
        """Forward and backward, block by block; what the samples ask of theta is added to `gradient`."""
        network, lanes = self.network, self.network.lanes
        for start in range(0, self.size, lanes):
            span = slice(start, min(start + lanes, self.size))
            with one_blas_thread():
                numbers = network.encoded(self._taken.numbers(span), self._taken.arithmetic)
                rows = network.body.forward(self.theta, numbers, self._taken.draws(start), self._held)
                adjoints = np.zeros_like(rows)
                adjoints[network.body.program.loss] = self._taken.scale
                network.body.backward(rows, adjoints, self.theta, gradient, self._held is not None)
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
            self.deltas[name][self.network.before_weights[name], span] = np.nan

    def uses_of(self, index: int) -> tuple[Use, ...]:
        """Where the weight at flat `index` is used by the samples, itself or in numbers made of weights alone.

        In the order in which the forward pass comes by.
        """
        found = self._uses.get(index)
        if found is None:
            runner, n = self.network.runner, self.network.n_weights
            made = list(uses_in(runner.body, index))
            if runner.prologue is not None and self.before is not None:
                for number, slope in slopes(runner.prologue, self.before, self.theta, index):
                    made += [use.times(slope) for use in uses_in(runner.body, n + number)]
            if self._held is not None:
                made = [use for use in made if use.kind != "batch_mean"]
            found = self._uses[index] = tuple(sorted(made, key=lambda use: int(use.rows[0])))
        return found

    def blocks(self) -> Iterator[Block]:
        """All rows and adjoints, the samples in the order of the batch; not to be written to."""
        return iter(self._kept) if self._kept is not None else self._fresh(np.zeros(len(self.theta)))
