"""`Steps`: the launches of a training step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...tape import Program
from ..limits import CLIP, TINY
from ..problem import Array, Problem
from .catalog import find, written
from .device import Device, Launch, Recorded
from .machine import IN_ORDER, Feed, Machine, Shape
from .samples import Samples
from .source.update import update_source
from .state import State
from .tracking import Tracking

LENGTHS = 256
"""Threads that add up the squares of a gradient."""


class Steps:
    """The launches of a step, whose arguments are the same in all steps.

    Attributes
    ----------
    remark : str
        What is not as it should be, as one clause; empty if all is.
    """

    remark = ""

    def __init__(self, problem: Problem, device: Device, state: State, shape: Shape) -> None:
        self.problem, self.device, self.state, self.shape = problem, device, state, shape
        plan, self.dtype = problem.plan, problem.store.value.dtype
        item = self.dtype.itemsize
        self.body = self._body()
        self.tracking = Tracking(problem, self.body, state)
        self.prologue = None if plan.prologue is None else self._derives(plan.prologue)
        program, n = problem.update.body, plan.n_parameters
        self.joined = update_source(program) if shape.joined else ""
        together = 1 if self.joined else shape.chunk(program.n_rows, item, n)
        self.updates = Machine(program, device, self.dtype, together, shape)
        offsets = np.array([*state.offset, *state.columns], np.int64)
        self.column_offsets = self.body.constant(offsets[program.input_index])
        outputs = [state.offset[0], *state.offset[2:]]
        self.output_offsets = self.body.constant(np.array(outputs, np.int64))
        self.clock = device.empty(3, np.int64)
        most = max(1, min(shape.steps, shape.loss_parts // self.loss_slices))
        self.losses = device.empty(most * self.loss_slices, np.float64)
        self.scales = device.empty(most, self.dtype)
        self._factors: NDArray[np.float64] = np.zeros(0)
        self._kept_scale: float | None = None
        self._host_losses = device.pinned(most * self.loss_slices, np.float64)
        self.samples = Samples(problem, device, shape, self.clock, most)
        self.width = problem.update.n_parameters + problem.update.n_derived
        self.lengths = device.empty(LENGTHS, np.float64)
        self.rates = device.empty(self.width, self.dtype)
        self.table = device.empty(self.width * most, self.dtype)

    def _body(self) -> Machine:
        """The program of a batch; in how many chunks its lanes and its losses are summed."""
        program = self.problem.plan.body
        rows, item = 2 * program.n_rows, self.dtype.itemsize
        self.chunk = self.shape.chunk(rows, item, self.problem.batch, whole=program.couples)
        self.loss_slices = min(self.shape.loss_slices, self.chunk)
        return Machine(program, self.device, self.dtype, self.chunk, self.shape, (program.loss,))

    def _derives(self, program: Program) -> Machine:
        """The program of the derived parameters."""
        return Machine(program, self.device, self.dtype, 1, self.shape, tuple(program.outputs.tolist()))

    def recorded(self, launches: Sequence[Launch]) -> Recorded:
        """Launches of a gradient or of a step, ready to be done so many times."""
        return self.device.record(launches)

    def begin(self, first: int, count: int, table: Array | None) -> None:
        """The steps ``first + 1 .. first + count`` follow: their clock, their samples, their rates and scales."""
        self.device.upload(self.clock, np.array([first, first + 1, first], np.int64))
        self.samples.begin(first, count)
        self._begin_scales(first, count)
        if table is not None:
            self.tracking.begin()
            self.device.upload(self.table.part(0, table.size), table.reshape(-1))

    def _begin_scales(self, first: int, count: int) -> None:
        """Factors of the samples' losses; where they are the same in all steps those on the device stay."""
        scales = self.problem.scales(first, count)
        if not self.problem.steady:
            self._kept_scale, self._factors = None, scales
        elif scales[0] != self._kept_scale:
            self._kept_scale, self._factors = float(scales[0]), np.full(self.scales.size, scales[0])
        else:
            return
        self.device.upload(self.scales.part(0, len(self._factors)), self._factors.astype(self.dtype))

    def read_losses(self, losses: Array) -> None:
        """Those of the steps since `begin`."""
        parts = self._host_losses[: len(losses) * self.loss_slices]
        self.device.download(self.losses.part(0, parts.size), parts)
        self.device.wait()
        losses[:] = self.summed(parts)

    def summed(self, parts: Array) -> NDArray[np.float64]:
        """The losses of steps from their parts, float64 of shape (steps * slices,)."""
        losses: NDArray[np.float64] = parts.reshape(-1, self.loss_slices).sum(axis=1)
        with np.errstate(invalid="ignore"):  # samples that are all left out: 0 / 0
            return losses * self._factors[: len(losses)]

    # ---- launches

    def gradient(self) -> list[Launch]:
        """The gradient and the loss of a step."""
        return [*self._parts(), *self._join(), *self._penalty()]

    def step(self) -> list[Launch]:
        """A step: the gradient, the loss, the update, and what follows statistics."""
        return [*self._updated(), *self.tracking.launches()]

    def _updated(self) -> list[Launch]:
        if self.problem.limits.between:
            update = [self._joined_update(0)] if self.joined else self._update()
            return [*self._parts(), *self._join(), *self._penalty(), *self._coefficient(), *update]
        if not self.joined:
            return [*self._parts(), *self._join(), *self._update()]
        if self.prologue is None:
            return [*self._parts(), self._joined_update(self.body.slices)]
        return [*self._parts(), *self._join(), self._joined_update(0)]

    def _penalty(self) -> list[Launch]:
        """What the loss has on top."""
        limits, state = self.problem.limits, self.state
        if not limits.penalised:
            return []
        given = (
            self.losses, state.theta, self.problem.n_weights, limits.l1, limits.l2, self.loss_slices, self.scales,
            self.clock,
        )  # fmt: skip
        return [self.body.line("penalty", self.loss_slices, given)]

    def _coefficient(self) -> list[Launch]:
        """How much of the gradient is taken."""
        limits, state, made = self.problem.limits, self.state, self.body
        if limits.clip_norm is None:
            return []
        sums = (self.lengths, state.grad, state.theta, state.trained, state.n, limits.l1, limits.l2, LENGTHS)
        given = (self.table, self.lengths, LENGTHS, limits.clip_norm, TINY, CLIP, self.width, self.clock)
        return [made.line("lengths", LENGTHS, sums), made.line("coefficient", 1, given)]

    def _parts(self) -> list[Launch]:
        """Samples, derived parameters, forward, loss, backward, the parts of the gradients."""
        launches = [*self.samples.launches(), *self._derived()]
        for start in range(0, self.problem.batch, self.chunk):
            launches += self._chunk(start, min(self.chunk, self.problem.batch - start))
        return launches

    def _join(self) -> list[Launch]:
        """The gradients, from those of the derived parameters too."""
        return [*self.body.join(self.state.grad, fresh=True), *self._derived_back()]

    def _chunk(self, start: int, lanes: int) -> list[Launch]:
        body, theta, feed = self.body, self.state.theta, self.samples.feed
        assert feed is not None
        fresh = start == 0
        return [
            *body.inputs(feed, start, lanes),
            *body.masks(self.problem.seed, self.clock, start, lanes),
            *body.forward(theta, lanes),
            body.loss(self.losses, self.loss_slices, self.scales, self.clock, fresh, lanes),
            *body.backward(theta, lanes),
            *body.sums(lanes, fresh),
        ]

    def _derived(self) -> list[Launch]:
        if self.prologue is None:
            return []
        made, theta, n = self.prologue, self.state.theta, self.problem.plan.n_parameters
        count = self.problem.plan.n_derived
        given = (theta, n, made.values, made.pool, made.encoded.outputs_at, count)
        return [*made.forward(theta, 1), made.line("derived", count, given)]

    def _derived_back(self) -> list[Launch]:
        if self.prologue is None:
            return []
        made, state, n = self.prologue, self.state, self.problem.plan.n_parameters
        at, count = made.encoded.seeds_at
        first = (
            [made.line("derived_back", count, (made.adjoints, state.grad, n, made.pool, at, count))] if count else []
        )
        return [*first, *made.backward(state.theta, 1), *made.sums(1, True), *made.join(state.grad, fresh=False)]

    def _joined_update(self, slices: int) -> Launch:
        """What the optimiser makes of weights, gradients and states, in one launch; with the slices of the gradient."""
        state, n, threads = self.state, self.problem.plan.n_parameters, self.shape.threads
        kernel = written("update", self.joined, self.dtype.name)
        given = (
            state.memory, self.body.parts, n, state.theta.size, slices, state.trained, self.table, self.width,
            self.updates.numbers, self.clock,
        )  # fmt: skip
        return Launch(kernel, (-(-n // threads), 1), (threads, 1), given)

    def _update(self) -> list[Launch]:
        """The same with the optimiser's rows in memory."""
        state, made, n = self.state, self.updates, self.problem.plan.n_parameters
        launches = [
            made.line("rates", self.width, (self.rates, self.table, self.clock, self.width)),
            made.line("keep", n, (state.previous, state.value, n)),
        ]
        outputs = len(self.problem.update.body.outputs)
        feed = Feed(state.memory, self.column_offsets, self.column_offsets, IN_ORDER, self.clock, 0)
        for start in range(0, n, made.chunk):
            lanes = min(made.chunk, n - start)
            given = (
                state.memory, made.values, made.pool, made.encoded.outputs_at, self.output_offsets, outputs,
                state.trained, start,
            )  # fmt: skip
            launches += [
                *made.inputs(feed, start, lanes),
                *made.forward(self.rates, lanes),
                made.rows("commit", outputs, given, lanes),
            ]
        return [*launches, Launch(find("tick", self.dtype.name), (1, 1), (1, 1), (self.clock,))]
