"""The optimiser's update on arrays: its recorded program with the parameters as lanes."""

from __future__ import annotations

import numpy as np

from ..limits import CLIP
from ..problem import Array, Problem, Rates
from .program import RowProgram


class Updater:
    """Applies ``problem.update`` to every trained weight."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.body = RowProgram(problem.update.body, problem.store.value.dtype)
        prologue = problem.update.prologue
        self._prologue = RowProgram(prologue, np.dtype(np.float64)) if prologue else None

    def hyper(self, first: int, count: int, lr: Rates) -> Array:
        """The numbers that depend on the learning rate and the step alone, for `count` steps.

        Returns
        -------
        ndarray, shape (count, n_parameters + n_derived)
            ``lr, t``, room for what the gradient is multiplied by where that is limited, and the derived ones,
            computed in float64 (``1 - beta2**t`` loses four digits in float32), rounded to the store's dtype.
        """
        given = np.ones((self.problem.update.n_parameters, count))
        given[0] = lr[:, 0] if isinstance(lr, np.ndarray) else lr
        if others := len(given) - 2 - (self.problem.limits.clip_norm is not None):
            given[-others:] = lr[:, 1:].T if isinstance(lr, np.ndarray) else lr
        given[1] = np.arange(first + 1, first + count + 1, dtype=np.float64) + self.problem.t_start
        table = given if self._prologue is None else np.concatenate([given, self._derived(given)])
        with np.errstate(over="ignore"):  # a rate beyond float32 becomes inf; the run says that it diverged
            return table.T.astype(self.problem.store.value.dtype, order="C")

    def _derived(self, given: Array) -> Array:
        """Outputs of the prologue, shape (n_derived, steps), for theta = `given` (2, steps)."""
        assert self._prologue is not None
        program = self._prologue.program
        if all(i.kind in ("op", "param") for i in program.instructions):
            return self._prologue.forward(given, np.empty((0, given.shape[1])))[program.outputs]
        one = np.empty((0, 1))  # weighted sums read one theta for all lanes
        return np.concatenate([self._prologue.forward(theta, one)[program.outputs] for theta in given.T], axis=1)

    def apply(self, hyper: Array) -> None:
        """One update with the numbers of one step, a row of `hyper`."""
        problem = self.problem
        store, trained = problem.store, problem.trained
        if problem.limits.clip_norm is not None:
            hyper = hyper.copy()
            hyper[CLIP] = problem.limits.coefficient(store.value, store.grad, trained)
        rows = self.body.forward(hyper, np.stack([store.value, store.grad, *problem.state, *problem.columns]))
        for target, row in zip((store.value, *problem.state), self.body.program.outputs, strict=True):
            np.copyto(target, rows[row], where=trained)
