"""`BlockSteps`: the launches of a training step of a small batch. `LonelySteps`: steps of one block in one launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .... import rng
from ....tape import Program
from ...problem import Problem
from ..device import Buffer, Device, Launch, Recorded
from ..machine import Machine, Shape
from ..source.update import update_source
from ..state import State
from ..steps import Steps
from .blocks import Blocks, joined, kinds
from .form import Form, form_of
from .kernel import Parts, alone_kernel, block_kernel
from .table import Line, numbered, plain_lines


def make_steps(problem: Problem, device: Device, state: State, shape: Shape) -> Steps:
    """The launches of a problem's steps, in the form that its sizes ask for."""
    form = form_of(problem.plan, problem.batch, problem.store.value.itemsize, shape)
    if form is None or form.shared > device.shared_bytes:
        plain = Steps(problem, device, state, shape)
        if form is not None:
            plain.remark = f"a small batch in many launches: a block has only {device.shared_bytes >> 10} KB"
        return plain
    alone = form.alone and shape.joined and not problem.limits.between
    if alone and update_source(problem.update.body):
        return LonelySteps(problem, device, state, shape, form)
    return BlockSteps(problem, device, state, shape, form)


class BlockSteps(Steps):
    """As :class:`~scalarviz.engine.cuda.steps.Steps`, in two launches: blocks of lanes, then join and update."""

    def __init__(self, problem: Problem, device: Device, state: State, shape: Shape, form: Form) -> None:
        self.form = form
        super().__init__(problem, device, state, shape)

    def _body(self) -> Machine:
        form, program = self.form, self.problem.plan.body
        self.blocks = Blocks(program, self.device, self.dtype, self.shape, form)
        self.loss_slices = form.blocks
        found = kinds(self.blocks.ways)
        self.lines = self.blocks.table(*found)
        self.kernel = block_kernel(self._kernel_parts(*found), self.dtype.name)
        return self.blocks

    def _kernel_parts(self, forward: tuple[str, ...], backward: tuple[str, ...]) -> Parts:
        return Parts(
            forward,
            backward,
            self.form.lanes,
            bool(self.blocks.layers),
            bool(self.blocks.encoded.scatters),
            self.form.in_memory,
        )

    def _parts(self) -> list[Launch]:
        given = (self.state.theta, self.blocks.parts, self.state.size, self.losses, self.clock, *self._given())
        return [*self._derived(), self._launch(self.kernel, given)]

    def _given(self) -> tuple[Any, ...]:
        """Tables, and what tells the samples."""
        problem, made, feed = self.problem, self.blocks, self.samples.feed
        assert feed is not None
        samples = problem.data.shape[1]
        return (
            self.lines, made.pool, made.numbers, made.memory, made.fours, made.ones, made.which, made.first,
            made.adjoint_rows, made.value_rows, feed.data, feed.offsets, *self._prologue_tables(), feed.mode,
            problem.batch, samples, *rng.split(problem.seed), *problem.order_shape, self.scales,
        )  # fmt: skip

    def _prologue_tables(self) -> tuple[Any, ...]:
        return ()

    def _launch(self, kernel: Any, given: tuple[Any, ...]) -> Launch:
        form = self.form
        return Launch(kernel, (form.blocks, 1), (form.lanes, form.threads // form.lanes), given, form.shared)


class LonelySteps(BlockSteps):
    """A batch that is one block: steps in one launch, as many as are asked for."""

    def __init__(self, problem: Problem, device: Device, state: State, shape: Shape, form: Form) -> None:
        super().__init__(problem, device, state, shape, form)
        self.count, made = device.empty(1, np.int64), self.prologue
        ways = plain_lines(made.program, made.encoded) if made is not None else ([], [])
        found = kinds(self.blocks.ways, ways)
        self.lines = self.blocks.table(*found)
        self.prologue_lines = self.lines if made is None else self._prologue_table(made, ways, *found)
        self.kernel = alone_kernel(self._kernel_parts(*found), made is not None, self.joined, self.dtype.name)

    def _derives(self, program: Program) -> Machine:
        plain, seeds = replace(self.shape, joined=False, tiles=None), tuple(program.outputs.tolist())
        return Machine(program, self.device, self.dtype, 1, plain, seeds)

    def _prologue_table(
        self, made: Machine, ways: tuple[list[Line], list[Line]], forward: tuple[str, ...], backward: tuple[str, ...]
    ) -> Buffer:  # fmt: skip

        program, encoded, plan = made.program, made.encoded, self.problem.plan
        values = self.form.prologue_at // self.dtype.itemsize
        head = [
            encoded.constants_at, len(program.constant_rows), values, values + program.n_rows, encoded.outputs_at,
            *encoded.seeds_at, plan.n_parameters, plan.n_derived,
        ]  # fmt: skip
        parts = [numbered(ways[0], forward, program.constant_rows), numbered(ways[1], backward)]
        return made.constant(joined(head, parts))

    def _prologue_tables(self) -> tuple[Any, ...]:
        made = self.prologue if self.prologue is not None else self.blocks
        return (self.prologue_lines, made.pool, made.numbers, made.first, made.adjoint_rows, made.value_rows)

    def _all(self, updates: bool) -> list[Launch]:
        state = self.state
        given = (
            state.memory, self.losses, self.clock, self.count, int(updates), self.table, self.width,
            self.updates.numbers, state.trained, state.n, state.size, *self._given(),
        )  # fmt: skip
        return [self._launch(self.kernel, given)]

    def gradient(self) -> list[Launch]:
        """The gradient and the loss of a step."""
        return self._all(updates=False)

    def step(self) -> list[Launch]:
        """Steps, with the update."""
        return self._all(updates=True)

    def recorded(self, launches: Sequence[Launch]) -> Recorded:
        """A launch that is told how many steps it does."""
        return _Counted(self.device, self.device.record(launches), self.count)


class _Counted:
    """See :class:`~scalarviz.engine.cuda.device.Recorded`: one launch, whatever the number."""

    def __init__(self, device: Device, launch: Recorded, count: Buffer) -> None:
        self.device, self.launch, self.count = device, launch, count

    def run(self, times: int = 1) -> None:
        """So many steps."""
        self.device.upload(self.count, np.array([times], np.int64))
        self.launch.run()
