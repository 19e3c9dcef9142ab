"""Every operation of the table on the GPU's kernels: values and adjoints at special points against NumPy's form."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.engine.arrays.step import numpy_form
from scalarviz.engine.cuda.machine import Machine, Shape
from scalarviz.engine.cuda.simulator import SimulatedDevice
from scalarviz.scalar import ops, table
from scalarviz.tape import Instruction, Program

FORMS = ("plain",)
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


def close(found, wanted):
    """The same NaN and infinities; numbers, zeros and denormals to a few roundings."""
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    infinite = np.isinf(found) | np.isinf(wanted)
    np.testing.assert_array_equal(found[infinite], wanted[infinite])
    ordinary = np.isfinite(wanted)
    eps = np.finfo(wanted.dtype).eps
    np.testing.assert_allclose(found[ordinary], wanted[ordinary], rtol=4 * eps, atol=0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
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
        close(found, wanted)
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
                    close(adjoints[k], np.broadcast_to(pull(*points, found, given), found.shape))


def every_sum(terms):
    """What a row gets that stands for several operands: their terms added up in order, from 0 on."""
    total = np.zeros_like(terms[0])
    for term in terms:
        total = total + term
    return total


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", [name for name in NAMES if len(ops.get(name).args) > 1])
def test_a_row_that_is_all_of_the_operands_gets_the_sum(name, dtype):
    op = ops.get(name)
    points = np.repeat(special(1, dtype), len(op.args), axis=0)
    value, pulls = numpy_form(name, np.dtype(dtype))
    bench = Bench(name, dtype, points, same=True)
    found = bench.forward()
    with np.errstate(all="ignore"):
        close(found, value(*points))
        adjoints = bench.backward(-2.0) if any(pulls) else None
        given = np.full(points.shape[1], -2.0, dtype)
        wanted = [np.broadcast_to(pull(*points, found, given), found.shape) for pull in pulls if pull is not None]
        if wanted:
            close(adjoints[0], every_sum(wanted))


def test_an_operation_of_the_user(monkeypatch):
    """Names that mean something in Python or in a kernel, literals, a branch, an operand without a gradient."""
    monkeypatch.setattr(table, "TABLE", dict(table.TABLE))
    sv.register(
        "test_lanes", "range lane total", "where(range > 0, range * 1e300 * 1e300 - lane, exp(total) + 1e999)",
        ("where(range > 0, total / 0.1, 0)", None, "y * total"),
    )  # fmt: skip
    for dtype in ("float64", "float32"):
        test_values_and_adjoints_are_numpys("test_lanes", dtype)
