"""`Look`: forward passes of a run for pictures and predictions, on values that are handed in."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..engine.model import PlanRunner
from ..engine.problem import Problem
from ..tape import Tape, lower
from .frame import Stage
from .samples import Shape, as_samples, fitting
from .stages import dead_units

PROBE_SET = 256
"""Samples that decide whether a unit is dead."""


class Look:
    """Forward passes on flat values; never touches the live store.

    Parameters
    ----------
    tape : Tape
        As recorded.
    problem : Problem
    stages : sequence of (Stage, int)
        The chain of layers and the taps that they are.
    shape : tuple of int
        Of the inputs of one sample.
    """

    def __init__(self, tape: Tape, problem: Problem, stages: Sequence[tuple[Stage, int]], shape: Shape) -> None:
        self.tape, self.problem, self.shape = tape, problem, shape
        self.stages = tuple(stage for stage, _ in stages)
        self._taps = [number for _, number in stages]

    def activations(self, probe: ArrayLike, values: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """``"input"`` and the row of every stage for one sample, in float64.

        Raises
        ------
        InputError
            `probe` has the wrong length, holds no numbers or is not finite.
        """
        one: Any = [probe]
        sample = fitting(as_samples(one, "probe").astype(float), self.shape, "probe")
        rows = self._stage_rows(sample.T, values)
        return {"input": sample[0], **{s.name: r[:, 0] for s, r in zip(self.stages, rows, strict=True)}}

    def dead(self, values: NDArray[Any]) -> dict[str, NDArray[np.bool_]]:
        """Per rectifier stage, the units that are 0 for every one of the first samples of the data."""
        if not any(s.kind == "relu" for s in self.stages):
            return {}
        return dead_units(self.stages, self._stage_rows(self.problem.data[: self.tape.n_inputs, :PROBE_SET], values))

    def _stage_rows(self, data: NDArray[Any], values: NDArray[Any]) -> list[NDArray[Any]]:
        runner = self._probe_runner
        wanted = [runner.plan.body.taps[k][1] for k in self._taps]
        if not wanted:
            return []
        found = runner.rows(values, data, np.concatenate(wanted))
        return np.split(found, np.cumsum([len(w) for w in wanted])[:-1])

    def predict(self, inputs: ArrayLike, values: NDArray[Any]) -> NDArray[Any]:
        """The outputs for `inputs` (N, n_inputs), shape (N, n_outputs), in the run's dtype."""
        samples = fitting(inputs, self.shape, "predict: the inputs")
        runner = self._predict_runner
        return runner.rows(values, samples.T, runner.plan.body.outputs).T

    def evaluate(self, x: NDArray[Any], y: NDArray[Any], values: NDArray[Any]) -> float:
        """The loss of all samples (N, n_inputs), (N, n_targets) as one batch."""
        runner = self._loss_runner
        rows = runner.rows(values, np.concatenate([x, y], axis=1).T, np.array([runner.plan.body.loss]))
        total = rows[0].sum(dtype=np.float64)
        return float(total / len(x) if self.problem.reduction == "mean" else total)

    @cached_property
    def _predict_runner(self) -> PlanRunner:
        return PlanRunner(lower(self.tape.only(outputs=True)), self.problem.store.value.dtype)

    @cached_property
    def _loss_runner(self) -> PlanRunner:
        return PlanRunner(self.problem.plan, self.problem.store.value.dtype)

    @cached_property
    def _probe_runner(self) -> PlanRunner:
        return PlanRunner(lower(self.tape.only(outputs=True, taps=True)), np.float64)
