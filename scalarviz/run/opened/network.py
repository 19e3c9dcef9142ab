"""`Network`: a recorded model with its loss, lowered so that every stage's rows are there, in float64."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.arrays.program import FEWEST_LANES, PlanRunner, RowProgram, lanes_in_workspace
from ...tape import Tape, lower
from ..frame import Stage
from ..stages import OUTPUTS
from .places import Places
from .uses import depending

Float = NDArray[np.float64]
BLOCK_BYTES = 4 << 20
"""Rows and adjoints of the samples that go through together: about what a processor has close by."""


class Network:
    """Programs of one model, made once for all steps that are opened.

    Parameters
    ----------
    tape : Tape
        As recorded: model and loss of one sample.
    stages : sequence of (Stage, int)
        With the number of each one's tap.
    kernel : callable
        Gives the runner of the run's own plan in its own dtype.
    """

    def __init__(self, tape: Tape, stages: Sequence[tuple[Stage, int]], kernel: Callable[[], PlanRunner]) -> None:
        self.tape, self._kernel = tape, kernel
        self._encoders: dict[np.dtype[Any], PlanRunner] = {}
        self.stages = tuple(stage for stage, _ in stages)
        self._taps = [number for _, number in stages]

    def another(self) -> Network:
        """The same with programs of its own, for another thread."""
        return Network(self.tape, list(zip(self.stages, self._taps, strict=True)), self._kernel)

    @cached_property
    def runner(self) -> PlanRunner:
        """The programs, lowered by whoever asks first: never by the thread that trains."""
        return PlanRunner(lower(self.tape), np.float64)

    @property
    def body(self) -> RowProgram:
        """What every sample goes through."""
        return self.runner.body

    @cached_property
    def lanes(self) -> int:
        """Samples that go through together: all of a batch where they depend on each other."""
        if self.body.program.couples:
            return sys.maxsize
        return min(lanes_in_workspace(self.body.lane_bytes), max(FEWEST_LANES, BLOCK_BYTES // self.lane_bytes))

    @property
    def kernel(self) -> PlanRunner:
        """Model and loss as the run's engines have them, in its dtype."""
        return self._kernel()

    @property
    def n_weights(self) -> int:
        """Number of scalar parameters."""
        return self.tape.n_parameters

    @property
    def lane_bytes(self) -> int:
        """What rows and adjoints of one sample take."""
        return 2 * self.body.program.n_rows * 8

    @cached_property
    def rows_of(self) -> dict[str, NDArray[np.int64]]:
        """The rows of the program that each stage is."""
        program = self.body.program
        return {
            stage.name: program.outputs if number == OUTPUTS else program.taps[number][1]
            for stage, number in zip(self.stages, self._taps, strict=True)
        }

    @cached_property
    def before_weights(self) -> dict[str, NDArray[np.bool_]]:
        """By stage, which of its rows no weight stands before: nobody needs their deltas, so there are none."""
        learnt = depending(self.body)
        return {name: ~learnt[rows] for name, rows in self.rows_of.items()}

    def encoded(self, numbers: NDArray[Any], dtype: np.dtype[Any]) -> Float:
        """`numbers` (inputs and targets, samples) with the features below them, in float64.

        They are made of the sample alone, and made in `dtype`, as they are trained on.
        """
        if self.runner.encoder is not None:
            runner = self._encoders.get(dtype) or self._encoders.setdefault(dtype, PlanRunner(self.runner.plan, dtype))
            numbers = runner.encode(numbers)
        return numbers.astype(np.float64)

    @cached_property
    def places(self) -> Places:
        """Of which stage each row of the body is."""
        return Places(self.body.program, self.rows_of)
