"""`CoreSteps`: the launches of a stack, in which tensor cores do as many steps as are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .... import rng
from ....tape import Program
from ...problem import Problem
from ..catalog import written
from ..device import Counted, Device, Launch, Repeatable, State
from ..machine import Machine, Shape
from ..steps import Steps
from .stack import THREADS, Stack
from .text import source_of


class CoreSteps(Steps):
    """As :class:`~scalarviz.engine.cuda.steps.Steps`, in one launch for all steps of a call."""

    def __init__(self, problem: Problem, device: Device, state: State, shape: Shape, stack: Stack) -> None:
        self.stack = stack
        super().__init__(problem, device, state, shape)
        self.stops = True
        made, n = self.body, problem.plan.n_parameters
        self.kernel = written("cores", source_of(stack, self.joined, len(problem.state)), self.dtype.name)
        self.image = made.constant(np.zeros(stack.halves, np.uint16))
        self.places, self.columns = made.constant(stack.places), made.constant(stack.columns)
        self.others = made.constant(np.array([layer.numbers for layer in stack.layers], self.dtype).ravel())
        self.parts = device.empty(stack.working * stack.halves, self.dtype)
        self.former = device.empty(max(1, len(problem.state) * n), self.dtype)
        self.flags = device.empty(stack.blocks, np.int32)
        self.count, self.counter = device.empty(1, np.int64), device.empty(1, np.int32)

    def _body(self) -> Machine:
        self.loss_slices = self.stack.working
        return self._derives(self.problem.plan.body)

    def _derives(self, program: Program) -> Machine:
        return Machine(program, self.device, self.dtype, 1, replace(self.shape, joined=False, tiles=None))

    def _halves(self) -> None:
        """Return None: the kernel has them in a table of its own."""

    def _all(self, updates: bool) -> list[Launch]:
        problem, state, feed, stack = self.problem, self.state, self.samples.feed, self.stack
        assert feed is not None
        given = (
            state.memory, state.size, state.n, state.trained, self.image, self.places, self.parts, self.former,
            self.losses, self.flags, self.clock, self.count, self.stopped, self.counter, int(updates), self.table,
            self.width, self.updates.numbers, self.columns, self.others, feed.data, feed.offsets, feed.mode,
            problem.batch, problem.data.shape[1], *rng.split(problem.seed), *problem.order_shape, self.scales,
        )  # fmt: skip
        return [Launch(self.kernel, (stack.blocks, 1), (THREADS, 1), given, stack.shared, together=True)]

    def gradient(self) -> list[Launch]:
        """The gradient and the loss of a step."""
        return self._all(updates=False)

    def step(self) -> list[Launch]:
        """Steps, with the update."""
        return self._all(updates=True)

    def recorded(self, launches: Sequence[Launch]) -> Repeatable:
        """A launch that is told how many steps it does."""
        return Counted(self.device, self.device.record(launches), self.count, self.counter)
