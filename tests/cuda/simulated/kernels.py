"""Kernels by themselves in the simulator: operations and instructions at special numbers against NumPy, and barriers.

Internals: an instruction is given to the engine's ``Machine`` and to the ``RowProgram`` of the NumPy engine as it is.
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import replace

import numpy as np
import pytest
from in_turn import simulated

import scalarviz as sv
from scalarviz.engine.arrays.program import RowProgram
from scalarviz.engine.arrays.step import numpy_form
from scalarviz.engine.cuda import trainer
from scalarviz.engine.cuda.jit import Pointer, cuda, shared
from scalarviz.engine.cuda.machine import Machine, Shape
from scalarviz.engine.cuda.simulator import SimulatedDevice
from scalarviz.scalar import ops, table
from scalarviz.tape import Instruction, Program, Table

FORMS = ("plain", "tiles")
plain = pytest.mark.parametrize("form", ["plain"], indirect=True)

# ---- instructions

INPUTS, N_THETA, LANES = 6, 24, 11
KINDS = ("op", "layer", "conv", "max", "dot", "weighted", "product", "squares", "param", "gather", "batch_mean")
SPECIAL = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-310, -1e-44]
TOLERANCE = {"float64": 1e-14, "float32": 1e-6}


def instruction(kind, draw):
    """One of a kind, of random operands: some of them occur twice."""

    def rows(*shape):
        return draw.integers(0, INPUTS, shape)

    n, count, bias = int(draw.integers(1, 6)), int(draw.integers(1, 4)), int(draw.choice([-1, 20]))
    offset = float(draw.choice([0.0, 0.5]))
    match kind:
        case "op":
            op = str(draw.choice(["mul", "sub", "div", "maximum"]))
            return Instruction("op", INPUTS, count, rows(2, count), op)
        case "layer":
            return Instruction("layer", INPUTS, count, rows(1, n), weights=3 + n * np.arange(count), bias=bias)
        case "conv":
            positions = int(draw.integers(1, 4))
            weights = 2 + n * np.arange(count)
            return Instruction("conv", INPUTS, count * positions, rows(positions, n), weights=weights, bias=bias)
        case "max":
            return Instruction("max", INPUTS, count, rows(count, n))
        case "dot":
            return Instruction("dot", INPUTS, count, rows(count, n), weights=draw.integers(0, N_THETA, count * n),
                               bias=bias, offset=offset)  # fmt: skip
        case "weighted":
            numbers = draw.normal(size=n)
            return Instruction("weighted", INPUTS, count, rows(count, n), numbers=numbers, bias=bias, offset=offset)
        case "product":
            return Instruction("product", INPUTS, count, rows(2, count * n), bias=bias, offset=offset)
        case "squares":
            return Instruction("squares", INPUTS, 1, rows(2, n), numbers=draw.normal(size=1))
        case "batch_mean":
            return Instruction("batch_mean", INPUTS, count, rows(1, count))
        case "gather":
            columns = draw.choice(4, size=count, replace=False)
            return Instruction("gather", INPUTS, count * n, rows(1, n), weights=3 + columns, table=Table(4, 5))
    return Instruction("param", INPUTS, count, np.zeros((0, 0), np.int64), weights=draw.integers(0, N_THETA, count))


def program(kind, draw):
    """A program of that instruction; some of its operands want no gradient."""
    made = instruction(kind, draw)
    n_rows = INPUTS + made.count
    needs = np.append(draw.random(INPUTS) < 0.7, np.ones(made.count, bool))
    rows, outputs = np.arange(INPUTS), np.arange(INPUTS, n_rows)
    return Program(
        n_rows=n_rows, n_theta=N_THETA, instructions=(made,), input_rows=rows, input_index=rows,
        constant_rows=np.zeros(0, np.int64), constants=np.zeros(0), outputs=outputs, loss=-1, taps=(),
        needs_gradient=needs,
    )  # fmt: skip


def numbers(draw, special, *shape):
    """Ordinary numbers, and special ones among them; equal ones too."""
    found = draw.choice([-1.5, -1.0, 0.25, 0.5, 2.0, 3.0], shape)
    return np.where(draw.random(shape) < special, draw.choice(SPECIAL, shape), found)


def by_numpy(made, dtype, values, theta, upstream):
    runner, grad = RowProgram(made, np.dtype(dtype)), np.zeros(N_THETA, dtype)
    rows = runner.forward(theta, values)
    adjoints = np.zeros_like(rows)
    adjoints[INPUTS:] = upstream
    with np.errstate(all="ignore"):
        runner.backward(rows, adjoints, theta, grad)
    return rows[INPUTS:], adjoints[:INPUTS], grad


def by_cuda(made, dtype, values, theta, upstream, shape=None):
    device, dtype = SimulatedDevice(0), np.dtype(dtype)
    machine = Machine(made, device, dtype, LANES, shape or trainer.SHAPE, tuple(made.outputs.tolist()))
    given, grad = machine.constant(theta), device.empty(N_THETA, dtype)
    rows, adjoints = (buffer.memory.reshape(-1, LANES) for buffer in (machine.values, machine.adjoints))
    rows[:INPUTS] = values
    device.record(machine.forward(given, LANES)).run()
    adjoints[INPUTS:] = upstream
    device.record([*machine.backward(given, LANES), *machine.sums(LANES, True), *machine.join(grad, True)]).run()
    return rows[INPUTS:], adjoints[:INPUTS], grad.memory


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_a_large_table_is_summed_over_sorted_numbers(dtype):
    """By sorting as by walking; numbers that the table does not have are sorted behind all others."""
    draw = np.random.default_rng(3)
    for _ in range(6):
        made = program("gather", draw)
        values, theta = numbers(draw, 0.1, INPUTS, LANES), numbers(draw, 0.0, N_THETA)
        upstream = draw.normal(size=(len(made.outputs), LANES))
        given = [array.astype(dtype) for array in (values, theta, upstream)]
        found, walked = (
            by_cuda(made, dtype, *given, replace(trainer.SHAPE, sorted_rows=3)),
            by_cuda(made, dtype, *given),
        )
        np.testing.assert_array_equal(found[0], walked[0])
        close(found[2], by_numpy(made, dtype, *given)[2], dtype, "gradients of parameters")
        np.testing.assert_array_equal(found[2], walked[2], "the order of what is added is the same")


def close(found, wanted, dtype, name):
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted), name)
    np.testing.assert_array_equal(np.where(np.isinf(found), found, 0), np.where(np.isinf(wanted), wanted, 0), name)
    finite = np.isfinite(wanted)
    np.testing.assert_allclose(found[finite], wanted[finite], rtol=0, atol=TOLERANCE[dtype] * 100, err_msg=name)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("special", [0.0, 0.1])
@pytest.mark.parametrize("kind", KINDS)
def test_an_instruction_is_numpys(kind, special, dtype):
    draw = np.random.default_rng(KINDS.index(kind))
    for turn in range(12):
        made = program(kind, draw)
        values, theta = numbers(draw, special, INPUTS, LANES), numbers(draw, special / 3, N_THETA)
        upstream = numbers(draw, special, len(made.outputs), LANES)
        given = [array.astype(dtype) for array in (values, theta, upstream)]
        found, wanted = by_cuda(made, dtype, *given), by_numpy(made, dtype, *given)
        about = f"{turn}: {made.instructions[0]}"
        close(found[0], wanted[0], dtype, f"values, {about}")
        close(found[2], wanted[2], dtype, f"gradients of parameters, {about}")
        read = np.isin(np.arange(INPUTS), made.instructions[0].args) & made.needs_gradient[:INPUTS]
        read &= kind != "gather"  # numbers that choose get none
        close(found[1][read], wanted[1][read], dtype, f"adjoints, {about}")
        assert np.isnan(found[1][~read]).all(), f"somebody wrote adjoints that nobody wants, {about}"


# ---- operations


NAMES = list(ops.TABLE)
UPSTREAMS = [-2.0, 0.0, np.inf, np.nan, 1e-310]
NONE = np.zeros(0, np.int64)


def special(arity, dtype):
    """Combinations of zeros, denormals, kinks, large numbers, infinities and NaN; shape (arity, points)."""
    info = np.finfo(dtype)
    tiny, huge = float(info.smallest_subnormal), float(info.max)
    numbers = {
        1: [0.0, tiny, 1e-30, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 60.0, 1000.0, huge, np.inf],
        2: [0.0, tiny, 0.5, 1.0, 3.0, huge, np.inf],
        3: [0.0, 0.5, 1.0, np.inf],
    }[arity]
    return np.array(list(itertools.product([*(-x for x in numbers), *numbers, np.nan], repeat=arity)), dtype).T


class Bench:
    """One operation on many points as a program of one instruction: rows of a few lanes, the last ones of them NaN."""

    lanes = 8

    def __init__(self, op, dtype, points, same=False):
        arity, self.count = len(points), -(-points.shape[1] // self.lanes)
        self.points, self.dtype = points, dtype
        inputs = 1 if same else arity
        args = np.concatenate([np.arange(self.count)[None] + (0 if same else k * self.count) for k in range(arity)])
        dst = inputs * self.count
        rows = np.arange(dst)
        self.outputs = np.arange(dst, dst + self.count)
        program = Program(
            n_rows=dst + self.count, n_theta=0,
            instructions=(Instruction("op", dst, self.count, args.reshape(arity, -1), op),),
            input_rows=rows, input_index=rows, constant_rows=NONE, constants=np.zeros(0), outputs=self.outputs,
            loss=-1, taps=(), needs_gradient=np.ones(dst + self.count, bool),
        )  # fmt: skip
        self.device = SimulatedDevice(0)
        shape = Shape(threads=self.lanes)
        self.machine = Machine(program, self.device, dtype, self.lanes, shape, tuple(self.outputs.tolist()))
        self.table = self.machine.values.memory.reshape(-1, self.lanes)
        self.table[:dst] = self._cut(points[:inputs]).reshape(dst, self.lanes)

    def _cut(self, numbers):
        padded = np.full((len(numbers), self.count * self.lanes), np.nan, self.dtype)
        padded[:, : numbers.shape[1]] = numbers
        return padded

    def forward(self):
        self._run(self.machine.forward)
        return self.table[self.outputs].ravel()[: self.points.shape[1]]

    def backward(self, upstream):
        """The adjoint of each operand, shape (operands, points)."""
        adjoints = self.machine.adjoints.memory.reshape(-1, self.lanes)
        adjoints[:] = np.nan
        adjoints[self.outputs] = upstream
        self._run(self.machine.backward)
        return adjoints[: self.outputs[0]].reshape(-1, self.count * self.lanes)[:, : self.points.shape[1]]

    def _run(self, launches):
        self.device.record(launches(self.machine.values, self.lanes)).run()


def alike(found, wanted):
    """The same NaN and infinities; numbers, zeros and denormals to a few roundings."""
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    infinite = np.isinf(found) | np.isinf(wanted)
    np.testing.assert_array_equal(found[infinite], wanted[infinite])
    ordinary = np.isfinite(wanted)
    eps = np.finfo(wanted.dtype).eps
    np.testing.assert_allclose(found[ordinary], wanted[ordinary], rtol=4 * eps, atol=0)


@plain
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", NAMES)
def test_values_and_adjoints_are_numpys(name, dtype):
    op = ops.get(name)
    points = special(len(op.args), dtype)
    value, pulls = numpy_form(name, np.dtype(dtype))
    bench = Bench(name, dtype, points)
    found = bench.forward()
    assert found.dtype == dtype
    with np.errstate(all="ignore"):
        wanted = value(*points)
        alike(found, wanted)
        assert (np.signbit(found) == np.signbit(wanted))[~np.isnan(wanted)].all()
        if all(pull is None for pull in pulls):
            return
        for upstream in UPSTREAMS:
            adjoints = bench.backward(upstream)
            given = np.full(points.shape[1], upstream, dtype)
            for k, pull in enumerate(pulls):
                if pull is None:
                    assert np.isnan(adjoints[k]).all()  # nobody writes there
                else:
                    alike(adjoints[k], np.broadcast_to(pull(*points, found, given), found.shape))


def every_sum(terms):
    """What a row gets that stands for several operands: their terms added up in order, from 0 on."""
    total = np.zeros_like(terms[0])
    for term in terms:
        total = total + term
    return total


@plain
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", [name for name in NAMES if len(ops.get(name).args) > 1])
def test_a_row_that_is_all_of_the_operands_gets_the_sum(name, dtype):
    op = ops.get(name)
    points = np.repeat(special(1, dtype), len(op.args), axis=0)
    value, pulls = numpy_form(name, np.dtype(dtype))
    bench = Bench(name, dtype, points, same=True)
    found = bench.forward()
    with np.errstate(all="ignore"):
        alike(found, value(*points))
        adjoints = bench.backward(-2.0) if any(pulls) else None
        given = np.full(points.shape[1], -2.0, dtype)
        wanted = [np.broadcast_to(pull(*points, found, given), found.shape) for pull in pulls if pull is not None]
        if wanted:
            alike(adjoints[0], every_sum(wanted))


@plain
def test_an_operation_of_the_user(monkeypatch):
    """Names that mean something in Python or in a kernel, literals, a branch, an operand without a gradient."""
    monkeypatch.setattr(table, "TABLE", dict(table.TABLE))
    sv.register(
        "test_lanes", "range lane total", "where(range > 0, range * 1e300 * 1e300 - lane, exp(total) + 1e999)",
        ("where(range > 0, total / 0.1, 0)", None, "y * total"),
    )  # fmt: skip
    for dtype in ("float64", "float32"):
        test_values_and_adjoints_are_numpys("test_lanes", dtype)


# ---- barriers, and threads that fail


THREADS = 8


def turned(numbers, waits, fails):
    """Each thread hands its number to the one before it."""
    mine = cuda.threadIdx.x
    room = shared(np.float64, 0)
    if mine == fails:
        raise ZeroDivisionError("a thread")
    room[mine] = numbers[mine]
    if waits:
        cuda.syncthreads()
    numbers[mine] = room[(mine + 1) % THREADS]


def run(waits=True, fails=-1):
    numbers = np.arange(float(THREADS))
    before = threading.active_count()
    try:
        simulated(turned)((1, 1), (THREADS, 1), (Pointer(numbers), waits, fails), 8 * THREADS)
    finally:
        assert threading.active_count() == before
    return numbers


@plain
def test_a_barrier_holds_and_without_it_what_nobody_wrote_is_nan():
    np.testing.assert_array_equal(run(), np.roll(np.arange(THREADS), -1))
    assert np.isnan(run(waits=False)).any()


@plain
@pytest.mark.parametrize("thread", range(THREADS))
def test_a_thread_that_fails_ends_all(thread):
    with pytest.raises(ZeroDivisionError, match="a thread"):
        run(fails=thread)
