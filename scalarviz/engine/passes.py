"""`Passes`: the forward and the backward pass of a recorded network with whole batches, one after the other.

A Run computes a step at once. A loop by hand computes the loss between the two passes, by whatever text; so the
backward pass is that of ``sum(outputs * upstream)``, with the upstream gradient in the place of targets.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..scalar.mask import Draws
from ..scalar.store import Block, Store
from ..tape import Node, Tape, Terms, lower, trace
from .arrays.program import WORKSPACE_BYTES, PlanRunner
from .data import Data
from .problem import Array, Problem, Trainer, check_coupled, follow
from .table import ENGINES

SIZES = 4
"""The most batch sizes whose kernels stay ready."""


def _with_upstream(tape: Tape) -> Tape:
    """Return the tape with the loss ``sum(outputs * upstream)``; each upstream gradient is a target."""
    first, count = len(tape.nodes), len(tape.outputs)
    given = [Node("input", index=tape.n_inputs + k) for k in range(count)]
    total = Node("dot", tape.outputs, terms=Terms("row", tuple(range(first, first + count))))
    return replace(tape, nodes=(*tape.nodes, *given, total), n_targets=count, loss=first + count)


class Passes:
    """Both passes of a tape in one dtype. `theta` holds the numbers of the tape's blocks, and is changed from outside.

    NumPy computes a batch at once, without compiling. Once the gradient of a batch is asked for, kernels do both passes
    of batches of that size.
    """

    def __init__(self, tape: Tape, dtype: Any) -> None:
        self.tape = _with_upstream(tape)
        self.plan = lower(self.tape.only(loss=True, outputs=True))
        self.runner = PlanRunner(self.plan, dtype)
        self.store = Store(tape.n_parameters, dtype)
        self.theta = self.store.value
        self.masks = self.plan.body.has_masks
        self.gathers = any(node.code == "gather" for node in tape.nodes)
        self._sizes: OrderedDict[tuple[int, int], _Size] = OrderedDict()
        self._tracked = np.array([track.row for track in self.plan.body.tracks], np.int64)

    def outputs(self, inputs: Array, place: tuple[int, int]) -> Array:
        """Return the outputs (N, n_outputs) for inputs (N, n_inputs); `place` is seed and step of dropout masks.

        The numbers that follow statistics of the batch change in `theta`.
        """
        (seed, step), body = place, self.plan.body
        if body.fewest > len(inputs):
            check_coupled(body, len(inputs), 0)
        size = self._sizes.get((len(inputs), seed))
        if size is not None and size.run is not None:
            rows = size.begun(inputs, step)
            found, stats = rows[body.outputs].T, rows[self._tracked]
        else:
            wanted = np.concatenate([body.outputs, self._tracked])
            rows = self.runner.rows(self.theta, inputs.T, wanted, Draws(seed, step))
            found, stats = rows[: len(body.outputs)].T, rows[len(body.outputs) :]
        if stats.size:
            still = np.zeros(len(self.theta), bool)
            follow(body.tracks, len(inputs), stats[:, 0], self.theta, still)
        return found

    def gradient(self, theta: Array, inputs: Array, upstream: Array, place: tuple[int, int]) -> Array:
        """Return the gradient (P,) of ``sum(outputs * upstream)`` at the numbers `theta`."""
        seed, step = place
        size = self._sizes.get((len(inputs), seed))
        if size is None:
            size = self._sizes[len(inputs), seed] = _Size(self, len(inputs), seed)
            if len(self._sizes) > SIZES:
                self._sizes.popitem(last=False)
        self.theta[:] = theta
        size.finish(inputs, upstream, step)
        return self.store.grad


class _Size:
    """The passes for one batch size, by an engine."""

    def __init__(self, passes: Passes, count: int, seed: int) -> None:
        plan, real = passes.plan, passes.runner.dtype
        self._runner = passes.runner
        self._inputs = np.zeros((count, plan.n_inputs), real)
        self._room = np.zeros((plan.n_targets + plan.n_features, count), real)
        data = Data(real, self._inputs.T, self._room)
        whole = 2 * plan.body.n_rows * count * real.itemsize <= WORKSPACE_BYTES or plan.body.couples
        free = np.ones(len(passes.theta), bool)
        self._problem = Problem(
            plan, UPDATE, passes.store, [], data, count, seed, "sum", free, passes.theta.copy(),
            block=count if whole else 0,
        )  # fmt: skip
        name = "numpy" if ENGINES["numba"].missing(0) else "numba"
        self._trainer: Trainer = ENGINES[name].make(self._problem, _no_model, _no_model, 0)
        self._trainer.prepare()
        self.run: Callable[[int, Array | None, bool], Array] | None = None
        if whole and name == "numba":
            self.run = self._trainer.passes(Data(real, self._inputs.T, self._room))  # type: ignore[attr-defined]
        self._last: tuple[Any, ...] = (None, 0)  # inputs and step of the rows

    def begun(self, inputs: Array, step: int) -> Array:
        """Return all rows after the forward pass."""
        assert self.run is not None
        self._last = None, 0  # an interrupt may leave rows of both
        rows = self.run(step, self._loaded(inputs), False)
        self._last = inputs, step
        return rows

    def finish(self, inputs: Array, upstream: Array, step: int) -> None:
        """Compute the gradient, from the rows of the forward pass if they are still those of this batch."""
        begun = self._last[0] is inputs and self._last[1] == step
        loaded = None if begun else self._loaded(inputs)
        self._last = None, 0
        self._room[: upstream.shape[1]] = upstream.T
        if self.run is None:
            self._trainer.gradient(step)
        else:
            self.run(step, loaded, True)
        self._last = inputs, step

    def _loaded(self, inputs: Array) -> Array:
        """Return the inputs in the dtype of the kernels, copied only where that is necessary."""
        if features := self._problem.plan.n_features:
            self._room[-features:] = self._runner.features(self._runner.converted(inputs.T))
        if self.run is not None and inputs.dtype == self._inputs.dtype and inputs.flags.c_contiguous:
            return inputs
        self._inputs[:] = inputs
        return self._inputs


def _no_model(*_: Any) -> Any:
    raise NotImplementedError  # only the engine of objects calls it


UPDATE = lower(trace(lambda inputs: inputs[0], 2, blocks=[Block(2)]), encode=False)
"""The update of an optimiser that leaves the weights as they are."""
