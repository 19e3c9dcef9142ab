"""The optimiser's update on arrays: its recorded program with the parameters as lanes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .problem import Array, Problem
from .rows import RowProgram


class Updater:
    """Applies ``problem.update`` to every trained weight."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.body = RowProgram(problem.update.body, problem.store.value.dtype)

    def hyper(self, first: int, count: int, lr: float) -> Array:
        """The numbers that depend on the learning rate and the step alone, for `count` steps.

        Returns
        -------
        ndarray, shape (count, 2 + n_derived)
            ``lr, t`` and the derived ones, computed in float64 (``1 - beta2**t`` loses four digits in
            float32), rounded to the store's dtype.
        """
        steps = np.arange(first + 1, first + count + 1, dtype=np.float64)
        with np.errstate(over="ignore"):  # a rate beyond float32 becomes inf; the run says that it diverged
            return hyper_table(self.problem, lr, steps).astype(self.problem.store.value.dtype)

    def apply(self, hyper: Array) -> None:
        """One update with the numbers of one step, a row of `hyper`."""
        problem = self.problem
        store, trained = problem.store, problem.trained
        rows = self.body.forward(hyper, np.stack([store.value, store.grad, *problem.state]))
        for target, row in zip((store.value, *problem.state), self.body.program.outputs, strict=True):
            np.copyto(target, rows[row], where=trained)


def hyper_table(problem: Problem, lr: float, steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """``lr, t, derived...`` in float64, one row a step of the run in `steps` (counting from 1)."""
    given = np.stack([np.full(len(steps), lr), steps + problem.t_start])
    prologue = problem.update.prologue
    if prologue is None:
        return given.T.copy()
    program = RowProgram(prologue, np.dtype(np.float64))
    if all(i.kind in ("op", "param") for i in prologue.instructions):
        rows = program.forward(given, np.empty((0, len(steps))))[prologue.outputs]
    else:  # weighted sums read one theta for all lanes
        one = np.empty((0, 1))
        rows = np.concatenate([program.forward(theta, one)[prologue.outputs] for theta in given.T], axis=1)
    return np.concatenate([given, rows]).T.copy()
