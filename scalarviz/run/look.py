"""`Look`: forward passes of a run for pictures and predictions, on values that are handed in."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..engine.model import PlanRunner
from ..engine.problem import Problem
from ..errors import InputError
from ..tape import Tape, lower
from .frame import Stage
from .samples import as_pair, as_samples
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
    """

    def __init__(self, tape: Tape, problem: Problem, stages: Sequence[tuple[Stage, int]]) -> None:
        self.tape, self.problem = tape, problem
        self.stages = tuple(stage for stage, _ in stages)
        self._taps = [number for _, number in stages]

    def activations(self, probe: ArrayLike, values: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """``"input"`` and the row of every stage for one sample, in float64.

        Raises
        ------
        InputError
            `probe` has the wrong length or is not finite.
        """
        sample = as_samples(np.asarray(probe, float).reshape(1, -1), "probe")
        _check_width(sample, self.tape.n_inputs, "probe")
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
        samples = as_samples(inputs, "predict: the inputs")
        _check_width(samples, self.tape.n_inputs, "predict: the inputs")
        runner = self._predict_runner
        return runner.rows(values, samples.T, runner.plan.body.outputs).T

    def evaluate(self, inputs: ArrayLike, targets: ArrayLike, values: NDArray[Any]) -> float:
        """The loss of all samples as one batch."""
        x, y = as_pair((inputs, targets))
        _check_width(x, self.tape.n_inputs, "evaluate: the inputs")
        _check_width(y, self.tape.n_targets, "evaluate: the targets")
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


def _check_width(samples: NDArray[Any], wanted: int, what: str) -> None:
    if samples.shape[1] != wanted:
        raise InputError(f"{what} must have {wanted} numbers a sample, got {samples.shape[1]}")
