"""Sums over spans of parameters: one node of a tape, neighbouring rows in front of a program."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn
from scalarviz.engine.arrays.program import RowProgram
from scalarviz.tape import lower
from scalarviz.tape.totals import PIECE


def prologue(parameter, total):
    tape = sv.record(lambda x: total(parameter) * x[0], 1)
    plan = lower(tape)
    assert plan.n_derived == 1
    assert plan.prologue is not None
    return tape, plan.prologue


@pytest.mark.parametrize("size", [1, 3, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 5])
@pytest.mark.parametrize("how", ["sum", "square", "abs"])
def test_numbers_and_gradients(size, how):
    numbers = np.random.default_rng(size).normal(size=size)
    form, slope = {
        "sum": (lambda p: p.sum(), np.ones(size)), "square": (lambda p: (p * p).sum(), 2 * numbers),
        "abs": (lambda p: p.abs().sum(), np.sign(numbers)),
    }[how]  # fmt: skip
    tape, program = prologue(nn.Parameter(numbers), form)
    assert len(tape.nodes) == 3
    engine = RowProgram(program, np.dtype(np.float64))
    rows = engine.forward(numbers, np.zeros((0, 1)))
    wanted = {"sum": numbers.sum(), "square": (numbers**2).sum(), "abs": np.abs(numbers).sum()}[how]
    np.testing.assert_allclose(rows[program.outputs], [[wanted]], rtol=1e-12, atol=1e-12)
    adjoints, grad = np.zeros_like(rows), np.zeros(size)
    adjoints[program.outputs] = 0.5
    engine.backward(rows, adjoints, numbers, grad)
    np.testing.assert_allclose(grad, 0.5 * slope, rtol=1e-14)


def test_every_operand_stands_before_its_user():
    p, q = nn.Parameter(np.ones(2 * PIECE)), nn.Parameter(np.ones(5))
    tape = sv.record(lambda x: ((p * p).sum() + (q.abs().sum() + q[1]) * p.sum()) * x[0], 1)
    program = lower(tape).prologue
    assert program is not None
    written = set()
    for i in program.instructions:
        assert written.issuperset(i.args.ravel().tolist())
        rows = range(i.dst, i.dst + i.count)
        assert written.isdisjoint(rows)
        assert i.args.size == 0 or i.args.max() < i.dst
        written.update(rows)
    assert len(written) == program.n_rows
    assert program.needs_gradient.all()


def test_rows_that_get_no_gradient():
    p = nn.Parameter(np.ones(5))
    tape = sv.record(lambda x: sv.where(p.sum() > 0, x[0], x[1]) * p[0], 2)
    program = lower(tape).prologue
    assert program is not None
    assert not program.needs_gradient.any()


def test_a_million_weights_are_few_instructions():
    p = nn.Parameter(np.ones((1000, 1000)))
    tape, program = prologue(p, lambda p: (p * p).sum())
    assert len(tape.nodes) == 3
    assert len(program.instructions) < 1000
    assert p.held() == []
