"""The objects engine: every sample through the graph of Values in plain Python. The oracle of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..scalar import mask
from ..scalar.value import Value
from .arrays.updates import Updater
from .host import HostTrainer
from .problem import Problem, Rates, rates_of


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

    def train(self, first: int, count: int, lr: Rates) -> NDArray[np.float64]:
        """Do the steps ``first + 1 .. first + count``; returns their losses."""
        losses = np.empty(count)
        for k in range(count):
            losses[k] = self.gradient(first + k)
            self.problem.previous[:] = self.problem.store.value
            self.updater.apply(self.updater.hyper(first + k, 1, rates_of(lr, k, 1))[0])
        return losses

    def gradient(self, step: int) -> float:
        """Forward and backward of the batch of step ``step + 1``; fills ``store.grad``, returns the loss."""
        problem = self.problem
        problem.store.grad[:] = 0
        scale = float(problem.scales(step, 1)[0])
        data, ids = problem.samples_of(step)
        total = 0.0
        for place, sample in enumerate(range(problem.batch) if ids is None else ids.tolist()):
            with mask.sample(problem.draws(step, place)):
                loss = self.sample_loss(data[:, sample].tolist())
            loss.backward(scale)
            total += loss.data
        return total * scale + problem.limits.penalty(problem.store.value)

    def sample_loss(self, numbers: list[float]) -> Value:
        """The graph of one sample; `numbers` are its inputs, targets and (unused here) features."""
        n, m = self.problem.plan.n_inputs, self.problem.plan.n_targets
        inputs = [Value(x) for x in numbers[:n]]
        return self.loss(self.model(inputs), [Value(t) for t in numbers[n : n + m]])
