"""`Forward`: forward passes of a run for pictures and predictions, on values that are handed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...engine.arrays.program import PlanRunner
from ...engine.arrays.rows import float16
from ...engine.data import Data
from ...engine.problem import Reduction, Share, inverse
from ...errors import UnknownNameError, listing
from ...tape import Plan, Tape, lower
from ...tape.half import loss_scale_of
from ..checks import Ids, Shape, as_samples, fitting, ids_of
from .frame import Stage, Tensor
from .gather import OUTPUTS

PROBE_SET = 256
"""Samples that decide whether a unit is dead, of a net that is not large."""
FEWEST_PROBES = 32
PROBE_NUMBERS = 1 << 18
"""What their forward pass may compute: it is done at every frame, so a large net is asked with fewer samples."""
FLAT = 1e-3
"""Share of its largest slope below which an activation is called saturated."""
_BENDS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "tanh": lambda y: 1 - y * y,
    "sigmoid": lambda y: 4 * y * (1 - y),
}
"""By kind, the slope at an output, as a share of the largest."""


class Forward:
    """Forward passes on flat values; never touches the live store.

    `plan` is that of the loss. `joined` says how the losses of a batch are joined: `reduction` and `share` of
    :class:`~scalarviz.engine.problem.Problem`. Each stage comes with its tap. `shape` is that of one sample's
    inputs.
    """

    def __init__(
        self, tape: Tape, plan: Plan, tensors: tuple[Tensor, ...], dtype: str,
        joined: tuple[Reduction, Share | None],
        stages: Sequence[tuple[Stage, int]], shape: Shape,
    ) -> None:  # fmt: skip
        self.tape, self.plan, self.tensors, self.dtype = tape, plan, tensors, dtype
        (self.reduction, self.share), self.shape = joined, shape
        self.stages = tuple(stage for stage, _ in stages)
        self.taps = tuple(number for _, number in stages)
        self._tap_of = {stage.name: number for stage, number in stages}

    @cached_property
    def ids(self) -> Ids:
        """Which numbers of a sample choose rows of tables."""
        return ids_of(self.tape)

    def sample(self, probe: ArrayLike) -> NDArray[np.float64]:
        """One sample as a row (n_inputs,), a copy.

        InputError for a wrong length, what is no finite number, or an id that names no row of its table.
        """
        one: Any = [probe]
        rows: NDArray[np.float64] = fitting(as_samples(one, "probe").astype(np.float64), self.shape, "probe")
        self.ids.check("probe", rows)
        row: NDArray[np.float64] = rows[0]
        return row

    def activations(self, probe: ArrayLike, values: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """``"input"`` and the row of every stage for one sample, in float64."""
        return {name: row[0] for name, row in self._rows(self.sample(probe)[None], self._tap_of, values).items()}

    def _read(self, samples: NDArray[np.float64]) -> NDArray[np.float64]:
        """Samples as the network reads them."""
        if loss_scale_of(self.tape) is None:
            return samples
        read = float16(samples)
        chosen = list(self.ids.inputs)  # whole numbers stay
        read[..., chosen] = samples[..., chosen]
        return read

    def rows(self, inputs: ArrayLike, stages: Sequence[str], values: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """The rows of stages (``"input"``: the samples) for samples (N, n_inputs), each (N, outputs), in float64."""
        unknown = next((name for name in stages if name != "input" and name not in self._tap_of), None)
        if unknown is not None:
            raise UnknownNameError(f"there is no stage {unknown!r}; allowed: {listing(('input', *self._tap_of))}")
        samples = fitting(inputs, self.shape, "rows: the inputs").astype(np.float64)
        self.ids.check("rows", samples)
        rows = self._rows(samples, {name: self._tap_of[name] for name in stages if name != "input"}, values)
        return {name: rows[name] for name in stages}

    def _rows(
        self, samples: NDArray[np.float64], taps: Mapping[str, int], values: NDArray[Any]
    ) -> dict[str, NDArray[Any]]:
        """``"input"`` and the rows of some taps for checked samples (N, n_inputs), each (N, outputs)."""
        found = self._tap_rows(self._probe_runner, [*taps.values()], samples.T, values)
        return {"input": self._read(samples), **{name: row.T for name, row in zip(taps, found, strict=True)}}

    def units(
        self, values: NDArray[Any], data: Data
    ) -> tuple[dict[str, NDArray[np.bool_]], dict[str, NDArray[np.floating]]]:
        """By stage, which units are dead and which share is saturated at the first samples of `data`.

        `data` is (numbers of a sample, N); `PROBE_SET` samples are looked at, of a large net fewer, in the
        run's dtype, as the engine computes them. Dead is a rectifier's unit that is 0 for every one;
        saturated is the share at which the slope of a sigmoid or tanh is below `FLAT` of its largest.
        """
        watched = [(s, tap) for s, tap in zip(self.stages, self.taps, strict=True) if s.kind in ("relu", *_BENDS)]
        if not watched:
            return {}, {}
        runner = self._dead_runner
        first = data[: self.tape.n_inputs, : self.watched(data)]
        rows = self._tap_rows(runner, [tap for _, tap in watched], first, values)
        found = {stage: row for (stage, _), row in zip(watched, rows, strict=True)}
        dead = {stage.name: np.asarray(~row.any(axis=1)) for stage, row in found.items() if stage.kind == "relu"}
        flat = {
            stage.name: np.asarray(np.mean(_BENDS[stage.kind](row) < FLAT, axis=1))
            for stage, row in found.items()
            if stage.kind in _BENDS
        }
        return dead, flat

    def watched(self, data: Data) -> int:
        """How many samples of `data` :meth:`units` looks at: the first so many."""
        most = max(FEWEST_PROBES, min(PROBE_SET, PROBE_NUMBERS // self._dead_runner.plan.body.n_rows))
        return min(most, data.shape[1])

    def _tap_rows(
        self, runner: PlanRunner, taps: Sequence[int], data: NDArray[Any], values: NDArray[Any]
    ) -> list[NDArray[Any]]:
        body = runner.plan.body
        wanted = [body.outputs if k == OUTPUTS else body.taps[k][1] for k in taps]
        if not wanted:
            return []
        found = runner.rows(values, data, np.concatenate(wanted))
        return np.split(found, np.cumsum([len(w) for w in wanted])[:-1])

    def predict(self, inputs: ArrayLike, values: NDArray[Any]) -> NDArray[Any]:
        """The outputs for `inputs` (N, n_inputs), shape (N, n_outputs), in the run's dtype."""
        samples = fitting(inputs, self.shape, "predict: the inputs")
        self.ids.check("predict", samples)
        runner = self._predict_runner
        return runner.rows(values, samples.T, runner.plan.body.outputs).T

    def evaluate(self, x: NDArray[Any], y: NDArray[Any], values: NDArray[Any]) -> float:
        """The loss of all samples (N, n_inputs), (N, n_targets) as one batch."""
        self.ids.check("evaluate", x, y)
        runner = self._loss_runner
        rows = runner.rows(values, np.concatenate([x, y], axis=1).T, np.array([runner.plan.body.loss]))
        total = rows[0].sum(dtype=np.float64)
        if self.reduction == "sum":
            return float(total)
        with np.errstate(invalid="ignore"):  # of samples that are all left out
            return float(total * inverse(len(x) if self.share is None else self.share(y).sum()))

    def scale_of_one(self, target: NDArray[Any]) -> float:
        """By what the loss of a sample is multiplied to be that of a batch of it alone: where classes have weights."""
        if self.reduction == "sum" or self.share is None:
            return 1.0
        return inverse(float(self.share(np.ravel(target)[None]).sum()))

    @cached_property
    def _predict_runner(self) -> PlanRunner:
        return PlanRunner(lower(self.tape.only(outputs=True)), self.dtype)

    @cached_property
    def _loss_runner(self) -> PlanRunner:
        return PlanRunner(self.plan, self.dtype)

    @cached_property
    def _probe_runner(self) -> PlanRunner:
        return PlanRunner(lower(self.tape.only(outputs=True, taps=True)), np.float64)

    @cached_property
    def _dead_runner(self) -> PlanRunner:
        return PlanRunner(self._probe_runner.plan, self.dtype)
