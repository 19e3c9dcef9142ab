"""The NumPy tier: the same programs on plain arrays. It starts at once and compiles nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...scalar.mask import Draws
from ..coupled import check_coupled, follow
from ..host import HostTrainer
from ..problem import Array, Problem, Rates
from .blas import one_blas_thread
from .plan import PlanRunner, lanes_in_workspace
from .updates import Updater


class NumpyTrainer(HostTrainer):
    """Trains a `Problem` with NumPy. See :class:`scalarviz.engine.problem.Trainer`."""

    name = "numpy"
    breakable = True

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        dtype = problem.store.value.dtype
        self.runner = PlanRunner(problem.plan, dtype)
        body = self.runner.body
        check_coupled(body.program, problem.batch, body.lane_bytes)
        self.lanes = problem.batch if body.program.couples else lanes_in_workspace(body.lane_bytes)
        self._stat_rows = np.array([track.row for track in body.program.tracks], np.int64)
        self._stats = np.zeros(0)
        self.updater = Updater(problem)

    @one_blas_thread()
    def train(self, first: int, count: int, lr: Rates) -> NDArray[np.float64]:
        """Do the steps ``first + 1 .. first + count``; returns their losses."""
        losses = np.empty(count)
        hyper = self.updater.hyper(first, count, lr)
        for k in range(count):
            losses[k] = self.gradient(first + k)
            if k == count - 1:
                self.problem.previous[:] = self.problem.store.value
            self.updater.apply(hyper[k])
            self._follow()
        return losses

    def _follow(self) -> None:
        """Let running statistics follow those of the step."""
        problem = self.problem
        follow(problem.plan.body.tracks, problem.batch, self._stats, problem.store.value, problem.store.frozen)

    @one_blas_thread()
    def gradient(self, step: int) -> float:
        """Forward and backward of the batch of step ``step + 1``; fills ``store.grad``, returns the loss."""
        problem, runner = self.problem, self.runner
        theta, prologue_rows = runner.extended(problem.store.value)
        grad = np.zeros(len(theta), theta.dtype)
        loss = 0.0
        scale = float(problem.scales(step, 1)[0])
        problem.data.lay(problem.whole)
        samples, order = problem.samples_of(step)
        for start in range(0, problem.batch, self.lanes):
            stop = min(start + self.lanes, problem.batch)
            data = samples[:, start:stop] if order is None else samples[:, order[start:stop]]
            loss += self._block(theta, grad, data, problem.draws(step, start), scale)
        n = problem.plan.n_parameters
        if prologue_rows is not None and runner.prologue is not None:
            adjoints = np.zeros_like(prologue_rows)
            # two outputs may be the same row
            np.add.at(adjoints[:, 0], runner.prologue.program.outputs, grad[n:])
            runner.prologue.backward(prologue_rows, adjoints, problem.store.value, grad[:n])
        problem.store.grad[:] = grad[:n]
        return loss * scale + problem.limits.penalty(problem.store.value[: problem.n_weights])

    def _block(self, theta: Array, grad: Array, data: Array, draws: Draws, scale: float) -> float:
        body, loss_row = self.runner.body, self.runner.body.program.loss
        rows = body.forward(theta, data, draws)
        self._stats = rows[self._stat_rows, 0]
        adjoints = np.zeros_like(rows)
        adjoints[loss_row] = scale
        body.backward(rows, adjoints, theta, grad)
        return float(rows[loss_row].sum(dtype=np.float64))
