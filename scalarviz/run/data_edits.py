"""`DataEdits`: changing what a run learns from, between two steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..engine.arrays.plan import PlanRunner
from ..engine.problem import Problem, Trainer
from ..errors import InputError
from ..tape import Tape
from .checks import check_targets
from .samples import Shape, as_pair, fitting
from .training import Training


class DataEdits:
    """The part of a :class:`Run` that looks after its data."""

    problem: Problem
    dtype: str
    batch_size: int
    loss_function: Callable[..., Any]
    _shapes: tuple[Shape, Shape]
    _tape: Tape
    _training: Training
    _make_trainer: Callable[[Problem], Trainer]

    def samples(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Copies of the inputs (N, n_inputs) and targets (N, n_targets), in the run's dtype."""
        n, m = self._tape.n_inputs, self._tape.n_targets
        return self.problem.data[:n].T.copy(), self.problem.data[n : n + m].T.copy()

    def sample(self, index: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Inputs (n_inputs,) and targets (n_targets,) of one sample, as they are trained on."""
        n, m = self._tape.n_inputs, self._tape.n_targets
        numbers = self.problem.data[: n + m, index].astype(np.float64)
        return numbers[:n], numbers[n:]

    def set_targets(self, targets: ArrayLike) -> None:
        """Train towards other targets (N, n_targets) from the next step on.

        Raises
        ------
        InputError
            Another shape, or numbers that are not finite.
        """
        inputs, old = self.samples()
        new = as_pair((inputs, targets))[1]
        if new.shape != old.shape:
            raise InputError(f"set_targets: the shape must be {old.shape}, got {new.shape}")
        self.problem.data[...] = self._encoded(inputs, new)
        self._training.data_changed = True

    def add_samples(self, inputs: ArrayLike, targets: ArrayLike) -> None:
        """Learn from more samples as well, from the next step on.

        Parameters
        ----------
        inputs, targets : array_like, shapes (K, n_inputs) and (K, n_targets)
            Of the shapes of the run's data; pictures may come as rows.

        Raises
        ------
        InputError
            Shapes that do not fit, numbers that are not finite, targets that the loss cannot use; nothing is
            changed then.

        Notes
        -----
        Where a batch was all the data it still is, and so grows. Otherwise its size stays, and the order of the
        samples from here on is that of the larger set.
        """
        as_pair((inputs, targets))
        x = fitting(inputs, self._shapes[0], "add_samples: the inputs")
        y = fitting(targets, self._shapes[1], "add_samples: the targets")
        problem, new = self.problem, self._encoded(x, y)
        whole = problem.batch == problem.data.shape[1]
        problem.data = np.concatenate([problem.data, new], axis=1)
        if whole:
            self.batch_size = problem.batch = problem.data.shape[1]
        self._training.data_changed = True
        self._training.trainer = self._make_trainer(problem)  # engines prepare for the number of samples

    def _encoded(self, inputs: NDArray[Any], targets: NDArray[Any]) -> NDArray[Any]:
        """Checked samples as the engines take them: a column each."""
        check_targets(self.loss_function, targets, len(self._tape.outputs))
        numbers = np.concatenate([inputs, targets], axis=1).T
        return PlanRunner(self.problem.plan, self.dtype).encode(numbers)
