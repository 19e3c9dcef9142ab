"""The objects engine: every sample through the graph of Values in plain Python. The oracle of the others.

Samples that depend on each other go through a recorded graph in lockstep, as many Values a node as there are samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..scalar import mask
from ..scalar.dot import dot
from ..scalar.single import usable
from ..scalar.value import Value
from ..tape import record
from .arrays.updates import Updater
from .coupled import check_coupled, follow
from .host import HostTrainer
from .lockstep import Lockstep
from .problem import Array, Problem, Rates, rates_of

VALUE_BYTES = 400
"""About what a Value takes with its operands."""


class ObjectsTrainer(HostTrainer):
    """Trains a `Problem` one sample at a time. See :class:`scalarviz.engine.problem.Trainer`.

    Parameters
    ----------
    problem : Problem
    model : callable
        A list of Values to the outputs.
    loss : callable
        Outputs and a list of target Values to one Value.
    """

    name = "objects"
    breakable = True

    def __init__(
        self,
        problem: Problem,
        model: Callable[[list[Value]], Any],
        loss: Callable[[Any, Sequence[Value]], Value],
    ) -> None:
        self.problem, self.model, self.loss = problem, model, loss
        self.updater = Updater(problem)
        self._together: Lockstep | None = None
        self._stats = np.zeros(0)
        plan = problem.plan
        if plan.body.couples:
            check_coupled(plan.body, problem.batch, plan.body.n_rows * VALUE_BYTES)
            self._together = Lockstep(record(model, plan.n_inputs, plan.n_targets, loss=loss))

    def train(self, first: int, count: int, lr: Rates) -> NDArray[np.float64]:
        """Do the steps ``first + 1 .. first + count``; returns their losses."""
        losses = np.empty(count)
        for k in range(count):
            losses[k] = self.gradient(first + k)
            self.problem.previous[:] = self.problem.store.value
            self.updater.apply(self.updater.hyper(first + k, 1, rates_of(lr, k, 1))[0])
            self._follow()
        return losses

    def _follow(self) -> None:
        """Let running statistics follow those of the step."""
        problem = self.problem
        follow(problem.plan.body.tracks, problem.batch, self._stats, problem.store.value, problem.store.frozen)

    def gradient(self, step: int) -> float:
        """Forward and backward of the batch of step ``step + 1``; fills ``store.grad``, returns the loss."""
        problem = self.problem
        problem.store.grad[:] = 0
        scale = float(problem.scales(step, 1)[0])
        data, ids = problem.samples_of(step)
        total, penalty = 0.0, problem.limits.penalty(problem.store.value[: problem.n_weights])
        if self._together is not None:
            samples = data[:] if ids is None else data[:, ids]
            return self._coupled(self._together, step, samples, scale) + penalty
        for place, sample in enumerate(range(problem.batch) if ids is None else ids.tolist()):
            with mask.sample(problem.draws(step, place)):
                loss = self.sample_loss(data[:, sample].tolist())
            loss.backward(scale)
            total += loss.data
        return total * scale + penalty

    def _coupled(self, together: Lockstep, step: int, samples: Array, scale: float) -> float:
        """Forward and backward of samples, a column each, that depend on each other."""
        tape = together.tape
        draws = [self.problem.draws(step, place) for place in range(self.problem.batch)]
        rows = together.rows(samples.T.tolist(), draws)
        assert tape.loss is not None
        losses = rows[tape.loss]
        dot([scale] * len(losses), losses).backward()
        self._stats = np.array([0.0 if track.row < 0 else rows[track.row][0].data for track in tape.tracks])
        return scale * float(sum(loss.data for loss in losses))

    def sample_loss(self, numbers: list[float]) -> Value:
        """The graph of one sample; `numbers` are its inputs, targets and (unused here) features."""
        n, m = self.problem.plan.n_inputs, self.problem.plan.n_targets
        inputs = [Value(x) for x in numbers[:n]]
        return self.loss(usable(self.model(inputs)), usable([Value(t) for t in numbers[n : n + m]]))
