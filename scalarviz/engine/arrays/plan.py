"""A whole plan on NumPy: prologue, encoding and body joined. For predictions, probes and the NumPy tier."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import InputError
from ...scalar.mask import Draws
from ...tape import Plan
from ..coupled import check_coupled
from ..problem import CACHE_BYTES, Array
from .blas import one_blas_thread
from .program import RowProgram

LANES = 4096
"""Samples that go through a program together; keeps the rows of a small net in the cache."""
FEWEST_LANES = 64
WORKSPACE_BYTES = 64 << 20
"""What a block of lanes may fill in training, rows and adjoints and operands: a picture has ten thousands of rows."""


def lanes_for(lane_bytes: int) -> int:
    """Samples that go through a larger program together, so that its rows stay in the cache as well."""
    return max(FEWEST_LANES, min(LANES, CACHE_BYTES // lane_bytes))


def lanes_in_workspace(lane_bytes: int) -> int:
    """Samples that a training step takes together: `LANES`, of a large program as many as the workspace holds."""
    lanes = min(LANES, WORKSPACE_BYTES // lane_bytes)
    return max(1, lanes - lanes % FEWEST_LANES if lanes > FEWEST_LANES else lanes)


class PlanRunner:
    """Runs a `Plan` forward.

    Parameters
    ----------
    plan : Plan
    dtype : dtype-like
        In which everything is computed.
    """

    def __init__(self, plan: Plan, dtype: Any) -> None:
        self.plan, self.dtype = plan, np.dtype(dtype)
        self.prologue = RowProgram(plan.prologue, self.dtype) if plan.prologue else None
        self.encoder = RowProgram(plan.encode, self.dtype) if plan.encode else None

    @cached_property
    def body(self) -> RowProgram:
        """Made when it is first run: who only encodes data needs none."""
        return RowProgram(self.plan.body, self.dtype)

    def extended(self, theta: Array) -> tuple[Array, Array | None]:
        """Theta with the derived parameters behind it, and the rows of the prologue."""
        if self.prologue is None:
            return theta, None
        rows = self.prologue.forward(theta, np.empty((0, 1), self.dtype))
        return np.concatenate([theta, rows[self.prologue.program.outputs, 0]]), rows

    def encode(self, data: Array) -> Array:
        """`data` (numbers of a sample, N) with the features below it, in the plan's dtype, C-contiguous.

        Raises
        ------
        InputError
            A number is too large for the dtype.
        """
        data = self.converted(data)
        return data if self.encoder is None else np.concatenate([data, self.features(data)])

    def converted(self, data: Array) -> Array:
        """`data` in the plan's dtype, C-contiguous.

        Raises
        ------
        InputError
            A number is too large for the dtype.
        """
        try:
            with np.errstate(over="raise"):
                return np.ascontiguousarray(data, self.dtype)
        except FloatingPointError:
            largest = f"{float(np.finfo(self.dtype).max):.2g}"
            raise InputError(
                f"the data: {np.abs(data).max():.3g} is too large for {self.dtype} (at most {largest}); scale the "
                'data, or take dtype="float64"'
            ) from None

    def features(self, data: Array) -> Array:
        """What the plan computes once for each sample of `data`, which is in its dtype: shape (features, N)."""
        if self.encoder is None:
            return np.empty((0, data.shape[1]), self.dtype)
        outputs = self.encoder.program.outputs
        features = np.empty((len(outputs), data.shape[1]), self.dtype)
        lanes = lanes_in_workspace(self.encoder.lane_bytes)
        for start in range(0, data.shape[1], lanes):
            part = slice(start, start + lanes)
            features[:, part] = self.encoder.forward(np.empty(0, self.dtype), data[:, part])[outputs]
        return features

    @one_blas_thread()
    def rows(
        self, theta: Array, data: Array, wanted: Array, draws: Draws | None = None, held: Array | None = None
    ) -> Array:  # fmt: skip
        """The rows `wanted` of the body, shape (len(wanted), N).

        Parameters
        ----------
        theta : ndarray, shape (n_parameters,)
        data : ndarray, shape (n_inputs [+ n_targets], N)
            Missing targets are taken as 0.
        draws : Draws, optional
            Of the first sample, for a plan with masks.
        held : ndarray, shape (rows of the body,), optional
            Rows of another batch, whose means are taken in the place of those of these samples.
        """
        full = self.plan.n_inputs + self.plan.n_targets
        if data.shape[0] < full:
            data = np.concatenate([data, np.zeros((full - data.shape[0], data.shape[1]), self.dtype)])
        theta, _ = self.extended(np.asarray(theta, self.dtype))
        found = np.empty((len(wanted), data.shape[1]), self.dtype)
        lanes = lanes_for(self.plan.body.n_rows * self.dtype.itemsize)
        if self.plan.body.couples and held is None:  # they are one batch
            lanes = max(1, data.shape[1])
            check_coupled(self.plan.body, lanes, self.body.lane_bytes, training=False)
        for start in range(0, data.shape[1], lanes):
            part = slice(start, start + lanes)
            there = None if draws is None else replace(draws, place=draws.place + start)
            found[:, part] = self.body.forward(theta, self.encode(data[:, part]), there, held)[wanted]
        return found
