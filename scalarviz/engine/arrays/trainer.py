"""The NumPy engine: the same programs on arrays. It needs no compilation and starts at once.

The update runs the optimiser's recorded program, with the parameters as lanes.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...scalar.mask import Draws
from ..problem import CLIP, Array, HostTrainer, Problem, Rates, check_coupled, follow
from .program import PlanRunner, RowProgram, lanes_in_workspace, one_blas_thread

AHEAD = 64
"""Steps of which the numbers of an update are computed together."""


class Updater:
    """Applies ``problem.update`` to every trained weight."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.body = RowProgram(problem.update.body, problem.store.value.dtype)
        prologue = problem.update.prologue
        self._prologue = RowProgram(prologue, np.dtype(np.float64)) if prologue else None
        self._ahead: tuple[Any, int, Array] = None, 0, np.empty((0, 0))

    def hyper(self, first: int, count: int, lr: Rates) -> Array:
        """Return the numbers of steps, as `_hyper` does; those of single steps are computed many at a time."""
        if isinstance(lr, np.ndarray) or count > 1:
            return self._hyper(first, count, lr)
        key, start, table = self._ahead
        now = lr, self.problem.t_start
        if key != now or not 0 <= first - start < len(table):
            start, table = first, self._hyper(first, AHEAD if key == now else 1, lr)  # a rate may change at each step
            self._ahead = now, start, table
        return table[first - start : first - start + 1]

    def _hyper(self, first: int, count: int, lr: Rates) -> Array:
        """Return the numbers that depend only on learning rate and step, (count, n_parameters + n_derived).

        They are ``lr, t``, a place for the clipping factor if there is one, and the derived parameters. These are
        computed in float64 (``1 - beta2**t`` loses four digits in float32) and rounded to the store's dtype.
        """
        given = np.ones((self.problem.update.n_parameters, count))
        given[0] = lr[:, 0] if isinstance(lr, np.ndarray) else lr
        if others := len(given) - 2 - (self.problem.limits.clip_norm is not None):
            given[-others:] = lr[:, 1:].T if isinstance(lr, np.ndarray) else lr
        given[1] = np.arange(first + 1, first + count + 1, dtype=np.float64) + self.problem.t_start
        table = given if self._prologue is None else np.concatenate([given, self._derived(given)])
        with np.errstate(over="ignore"):  # a rate beyond float32 becomes inf; the run reports the divergence
            return table.T.astype(self.problem.store.value.dtype, order="C")

    def _derived(self, given: Array) -> Array:
        """Return the outputs of the prologue, shape (n_derived, steps), for theta = `given` (2, steps)."""
        assert self._prologue is not None
        program = self._prologue.program
        if all(i.kind in ("op", "param") for i in program.instructions):
            return self._prologue.forward(given, np.empty((0, given.shape[1])))[program.outputs]
        one = np.empty((0, 1))  # weighted sums read one theta for all lanes
        return np.concatenate([self._prologue.forward(theta, one)[program.outputs] for theta in given.T], axis=1)

    def apply(self, hyper: Array) -> None:
        """Do one update with the numbers of one step, a row of `hyper`."""
        problem = self.problem
        store, trained = problem.store, problem.trained
        if problem.limits.clip_norm is not None:
            hyper = hyper.copy()
            hyper[CLIP] = problem.limits.coefficient(store.value, store.grad, trained)
        rows = self.body.forward(hyper, np.stack([store.value, store.grad, *problem.state, *problem.columns]))
        for target, row in zip((store.value, *problem.state), self.body.program.outputs, strict=True):
            np.copyto(target, rows[row], where=trained)


class PythonTrainer(HostTrainer):
    """A `Trainer` that does one step after the other in Python; a subclass computes the gradient."""

    stops = False
    breakable = True

    def __init__(self, problem: Problem) -> None:
        self.problem, self.updater = problem, Updater(problem)
        self._stats: Array = np.zeros(0)

    def train(self, first: int, count: int, lr: Rates) -> NDArray[np.float64]:
        """Do the steps ``first + 1 .. first + count``; return their losses."""
        problem, losses = self.problem, np.empty(count)
        hyper = self.updater.hyper(first, count, lr)
        for k in range(count):
            losses[k] = self.gradient(first + k)
            if k == count - 1:
                problem.previous[:] = problem.store.value
            self.updater.apply(hyper[k])
            follow(problem.plan.body.tracks, problem.batch, self._stats, problem.store.value, problem.store.frozen)
        return losses

    @abstractmethod
    def gradient(self, step: int) -> float:
        """Run forward and backward for the batch of step ``step + 1``; fill ``store.grad``, return the loss."""


class NumpyTrainer(PythonTrainer):
    """Trains a `Problem` with NumPy. See :class:`scalarviz.engine.problem.Trainer`."""

    name = "numpy"

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        dtype = problem.store.value.dtype
        self.runner = PlanRunner(problem.plan, dtype)
        body = self.runner.body
        check_coupled(body.program, problem.batch, body.lane_bytes)
        self.lanes = problem.batch if body.program.couples else lanes_in_workspace(body.lane_bytes)
        self._stat_rows = np.array([track.row for track in body.program.tracks], np.int64)

    @one_blas_thread()
    def train(self, first: int, count: int, lr: Rates) -> NDArray[np.float64]:
        """Do the steps ``first + 1 .. first + count``; return their losses."""
        return super().train(first, count, lr)

    @one_blas_thread()
    def gradient(self, step: int) -> float:
        """Run forward and backward for the batch of step ``step + 1``; fill ``store.grad``, return the loss."""
        problem, runner = self.problem, self.runner
        theta, prologue_rows = runner.extended(problem.store.value)
        grad = np.zeros(len(theta), theta.dtype)
        loss = 0.0
        scale = float(problem.scales(step, 1)[0])
        problem.data.set_layout(problem.full_batch)
        samples, order = problem.samples_of(step)
        for start in range(0, problem.batch, self.lanes):
            stop = min(start + self.lanes, problem.batch)
            data = samples[:, start:stop] if order is None else samples[:, order[start:stop]]
            loss += self._block(theta, grad, data, problem.draws(step, start), scale)
        problem.store.grad[:] = runner.pulled_back(prologue_rows, theta, grad)
        return loss * scale + problem.limits.penalty(problem.store.value[: problem.n_weights])

    def _block(self, theta: Array, grad: Array, data: Array, draws: Draws, scale: float) -> float:
        body, loss_row = self.runner.body, self.runner.body.program.loss
        rows = body.forward(theta, data, draws)
        self._stats = rows[self._stat_rows, 0]
        adjoints = np.zeros_like(rows)
        adjoints[loss_row] = scale
        body.backward(rows, adjoints, theta, grad)
        return float(rows[loss_row].sum(dtype=np.float64))
