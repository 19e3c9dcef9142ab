"""The kernels in which a block takes its lanes through a program, and their launches: one pass, or all steps of a call.

`BlockSteps` launches a training step of a small batch. `LonelySteps` does the steps of one block in one launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from textwrap import indent
from typing import Any, NamedTuple

import numpy as np

from .... import rng
from ....tape import Program
from ...problem import Problem
from ..catalog import written
from ..device import Buffer, Counted, Device, Launch, Repeatable, State
from ..kernel import Kernel
from ..machine import PICKED, STREAMED, Machine, Shape
from ..steps import Steps
from .program import LAYER_WIDTH, TABLE_WIDTH, WIDTH, Blocks, Form, Task, joined, kinds, numbered, plain_lines
from .text import of_layers, order_source, rows_source, update_function, walk_source

HEAD = (
    "loss", "inputs_at", "inputs", "constants_at", "constants", "values_at", "adjoints_at", "block_numbers",
    "sums_at", "others", "quarters", "singles", "layers_from", "layers_to", "forward_from", "forward_to",
    "backward_from", "backward_to", "tables_from", "tables_to",
)  # fmt: skip
"""What the table of a program begins with: ``*_at`` of inputs and constants are places in the pool; of values, adjoints
and sums in shared memory, in numbers of the dtype (values and adjoints may be in the device's, where each block has
`block_numbers` of its own); ``*_from`` and ``*_to`` in the table. `others` is how many
parameters have gradients that are no layer's, `quarters` and `singles` how many entries ``fours`` and ``ones`` have."""
PROLOGUE = (
    "constants_at", "constants", "values_at", "adjoints_at", "outputs_at", "seeds_at", "seeds", "parameters", "derived",
    "forward_from", "forward_to", "backward_from", "backward_to",
)  # fmt: skip
"""The same of a prologue: the numbers of parameters before the derived ones and of these behind."""

_FEED = "mode: Int, batch: Int, samples: Int, k0: Key, k1: Key, left: Key, right: Key, rounds: Int, scales: Reals"
_TABLES = """table: Words, pool: Words, numbers: Reals, memory: Reals, fours: Words, ones: Words, other: Words,
    first: Longs, adjoint_rows: Words, value_rows: Words, data: Reals, offsets: Longs"""


FEW = 4
"""Parameters that a line of threads adds up one after the other, each thread a lane; of more, each thread one."""


def _names(parameters: str) -> str:
    return ", ".join(part.split(":")[0].strip() for part in parameters.split(","))


_PASS = f"""\
@device
def through(theta, parts, base, losses, at, step, begun, {_names(_TABLES)}, {_names(_FEED)}):
    lane, row = cuda.threadIdx.x, cuda.threadIdx.y
    thread, threads, rows = row * LANES + lane, LANES * cuda.blockDim.y, cuda.blockDim.y
    start = cuda.blockIdx.x * LANES
    lanes = min(LANES, batch - start)
{{head}}
    values_at += np.int64(cuda.blockIdx.x) * block_numbers
    adjoints_at += np.int64(cuda.blockIdx.x) * block_numbers
    values, adjoints, order = _rows(memory, values_at), _rows(memory, adjoints_at), shared(np.int64, 0)
    if thread < LANES:  # lanes beyond the batch take its last sample: they are computed, and never added
        place = np.int64(start + min(thread, lanes - 1))
        if mode == {PICKED}:
            place = sample(place, step, batch, samples, k0, k1, left, right, rounds)
        elif mode == {STREAMED}:
            place += (step - begun) * batch
        order[thread] = place
    for i in range(row, constants, rows):
        values[pool[constants_at + i] * LANES + lane] = numbers[i]
{{stage}}
    cuda.syncthreads()
    for i in range(row, inputs, rows):
        values[pool[inputs_at + i] * LANES + lane] = data[offsets[i] + order[lane]]
    cuda.syncthreads()
    forward(theta, pool, numbers, memory, table, forward_from, forward_to, values_at, adjoints_at, LANES, LANES)
    if thread < LANES:
        adjoints[loss * LANES + thread] = scales[step - begun]
    if thread == 0:
        sum_of_losses = np.float64(0)
        for i in range(lanes):
            sum_of_losses += np.float64(values[loss * LANES + i])
        losses[at] = sum_of_losses
    cuda.syncthreads()
    backward(theta, pool, numbers, memory, table, backward_from, backward_to, values_at, adjoints_at, LANES, LANES)
    if others > FEW * rows:
        for i in range(thread, others, threads):
            total = real(0)
            for m in range(first[i], first[i + 1]):
                adjoint = adjoint_rows[m] * LANES
                if value_rows[m] >= 0:
                    value = value_rows[m] * LANES
                    for k in range(lanes):
                        total += adjoints[adjoint + k] * values[value + k]
                else:
                    for k in range(lanes):
                        total += adjoints[adjoint + k]
            parts[base + other[i]] = total
    else:  # a thread for each lane, else most of them had nothing to do
        sums = shared(real, sums_at)
        for chunk in range(0, others, rows):
            i = chunk + row
            if i < others:
                total = real(0)
                for m in range(first[i], first[i + 1]):
                    term = adjoints[adjoint_rows[m] * LANES + lane]
                    if value_rows[m] >= 0:
                        term *= values[value_rows[m] * LANES + lane]
                    total += term
                sums[thread] = total
            cuda.syncthreads()
            if i < others and lane == 0:
                total = real(0)
                for k in range(lanes):
                    total += sums[thread + k]
                parts[base + other[i]] = total
            cuda.syncthreads()
{{gradients}}
{{scatters}}
"""
_STAGE = "    stage(theta, fours, quarters, ones, singles)"
_GRADIENTS = """\
    for line in range(layers_from, layers_to, LAYER):
        layer_gradient(parts, base, table, line, values_at, adjoints_at, lanes)"""
_SCATTERS = """\
    for line in range(tables_from, tables_to, TABLE):
        cuda.syncthreads()  # what stands in the parts is of other threads
        scatter_block(parts, base, table, line, pool, values, adjoints, lanes)"""

_BLOCK = f'''\
def block(
    theta: Reals, parts: Reals, n: Int, losses: Doubles, clock: Longs,
    {_TABLES},
    {_FEED},
) -> None:
    """Blocks of lanes through a program: parts of gradients and of the loss. Written by scalarviz."""
    step, begun = clock[0], clock[2]
    at = (step - begun) * cuda.gridDim.x + cuda.blockIdx.x
    through(theta, parts, cuda.blockIdx.x * n, losses, at, step, begun, {_names(_TABLES)}, {_names(_FEED)})
    if cuda.blockIdx.x == 0 and cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0:
        clock[1] = step + 1
'''

_PROLOGUE_TABLES = """p_table: Words, p_pool: Words, p_numbers: Reals, p_first: Longs, p_adjoint_rows: Words,
    p_value_rows: Words"""
_ALONE = f'''\
def alone(
    state: Reals, losses: Doubles, clock: Longs, count: Longs, updates: Int, rates: Reals, width: Int,
    constants: Reals, trained: Flags, n: Int, size: Int,
    {_TABLES},
    {_PROLOGUE_TABLES},
    {_FEED},
) -> None:
    """One block does steps: all of them, with the update. Written by scalarviz."""
    thread = cuda.threadIdx.y * LANES + cuda.threadIdx.x
    threads = LANES * cuda.blockDim.y
    done, begun, steps = clock[0], clock[2], count[0]
    for step in range(done, done + steps):
{{before}}
        through(state, state, size, losses, step - begun, step, begun, {_names(_TABLES)}, {_names(_FEED)})
        cuda.syncthreads()
{{behind}}
        if updates != 0:
            update(
                thread, threads, (step - begun) * width, state, state, n, size, table, 1, trained, rates, width,
                constants, clock,
            )
        cuda.syncthreads()
    if thread == 0 and updates != 0:
        clock[0] = done + steps
        clock[1] = done + steps + 1
'''
_DERIVED = f"""\
@device
def derived_weights(state, size, memory, {_names(_PROLOGUE_TABLES)}):
    thread = cuda.threadIdx.y * LANES + cuda.threadIdx.x
    threads = LANES * cuda.blockDim.y
{{head}}
    values = _rows(memory, values_at)
    for i in range(thread, constants, threads):
        values[p_pool[constants_at + i]] = p_numbers[i]
    forward(state, p_pool, p_numbers, memory, p_table, forward_from, forward_to, values_at, adjoints_at, 1, 1)
    for i in range(thread, derived, threads):
        state[parameters + i] = values[p_pool[outputs_at + i]]
    cuda.syncthreads()


@device
def derived_gradients(state, size, memory, {_names(_PROLOGUE_TABLES)}):
    thread = cuda.threadIdx.y * LANES + cuda.threadIdx.x
    threads = LANES * cuda.blockDim.y
{{head}}
    values, adjoints = _rows(memory, values_at), _rows(memory, adjoints_at)
    items = seeds_at + 2 * seeds + 1
    for i in range(thread, seeds, threads):
        total = real(0)
        for item in range(p_pool[seeds_at + seeds + i], p_pool[seeds_at + seeds + i + 1]):
            total += state[size + parameters + p_pool[items + item]]
        adjoints[p_pool[seeds_at + i]] = total
    cuda.syncthreads()
    backward(state, p_pool, p_numbers, memory, p_table, backward_from, backward_to, values_at, adjoints_at, 1, 1)
    for p in range(thread, parameters, threads):
        total = state[size + p]
        part = real(0)
        for m in range(p_first[p], p_first[p + 1]):
            if p_value_rows[m] >= 0:
                part += adjoints[p_adjoint_rows[m]] * values[p_value_rows[m]]
            else:
                part += adjoints[p_adjoint_rows[m]]
        state[size + p] = total + part
"""


class Parts(NamedTuple):
    """What the kernel of a program is put together from."""

    forward: tuple[str, ...]  # the kinds that occur
    backward: tuple[str, ...]
    lanes: int  # of a block
    tiles: bool  # whether there are layers in tiles
    tables: bool  # whether there are tables that are read by number
    in_memory: bool  # whether rows are in the device's memory


def block_kernel(parts: Parts, dtype: str) -> Kernel:
    """The kernel of one pass."""
    return written("block", "\n".join([*_common(parts), _BLOCK]), dtype)


def alone_kernel(parts: Parts, prologue: bool, update: str, dtype: str) -> Kernel:
    """The kernel of whole steps; `update` is the text of the optimiser's kernel."""
    given = f"(state, size, memory, {_names(_PROLOGUE_TABLES)})"
    text = [
        *_common(parts),
        update_function(update),
        *([_DERIVED.format(head=_head(PROLOGUE, "p_table"))] if prologue else []),
        _ALONE.format(
            before=f"        derived_weights{given}" if prologue else "",
            behind=f"        derived_gradients{given}" if prologue else "",
        ),
    ]
    return written("alone", "\n".join(text), dtype)


def _common(parts: Parts) -> list[str]:
    stage, gradients = (_STAGE, _GRADIENTS) if parts.tiles else ("", "")
    scatters = _SCATTERS if parts.tables else ""
    return [
        f"WIDTH, LAYER, TABLE, LANES, FEW = {WIDTH}, {LAYER_WIDTH}, {TABLE_WIDTH}, {parts.lanes}, {FEW}",
        order_source(),
        rows_source(parts.in_memory),
        *([of_layers("dot4", "keep4", "put4", "stage", "layer_gradient")] if parts.tiles else []),
        *([of_layers("scatter_block")] if parts.tables else []),
        walk_source("forward", parts.forward),
        walk_source("backward", parts.backward),
        _PASS.format(head=_head(HEAD, "table"), stage=stage, gradients=gradients, scatters=scatters),
    ]


def _head(names: tuple[str, ...], table: str) -> str:
    return indent("\n".join(f"{name} = {table}[{k}]" for k, name in enumerate(names)), "    ")


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
        form, made = self.form, self.blocks
        return Parts(forward, backward, form.lanes, bool(made.layers), bool(made.encoded.scatters), form.in_memory)

    def _parts(self, *, derived: bool = True) -> list[Launch]:
        given = (self.state.theta, self.blocks.parts, self.state.size, self.losses, self.clock, *self._given())
        return [*(self._derived() if derived else []), self._launch(self.kernel, given)]

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
        self, made: Machine, ways: tuple[list[Task], list[Task]], forward: tuple[str, ...], backward: tuple[str, ...]
    ) -> Buffer:

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

    def recorded(self, launches: Sequence[Launch]) -> Repeatable:
        """A launch that is told how many steps it does."""
        return Counted(self.device, self.device.record(launches), self.count)
