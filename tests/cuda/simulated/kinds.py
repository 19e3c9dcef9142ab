"""Each kind of instruction by itself, on rows that hold infinities, NaN, zeros and denormals, against NumPy's form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scalarviz.engine.arrays.program import RowProgram
from scalarviz.engine.cuda import trainer
from scalarviz.engine.cuda.machine import Machine
from scalarviz.engine.cuda.simulator import SimulatedDevice
from scalarviz.tape import Instruction, Program, Table

FORMS = ("plain", "tiles")
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
