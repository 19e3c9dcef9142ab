"""Every operation of the table as the PTX that a GPU would be given, against NumPy, element by element.

Rows hold all pairs (or triples) of numbers at which formulas break: zeros of both signs, infinities, NaN, subnormal
and huge ones.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from machine_bench import Bench
from ptx.machine import Module

from scalarviz.engine.arrays.step import numpy_form
from scalarviz.engine.cuda import catalog, images
from scalarviz.engine.cuda.source.ops import has_backward
from scalarviz.scalar import ops

pytestmark = pytest.mark.cuda
TOLERANCE = {"float64": 2e-13, "float32": 2e-6}
OPERATIONS = tuple(ops.TABLE)
COUNT, STRIDE = 2, 300  # results of the instruction, and lanes of a row; some of the lanes are not there


def operands(number: int, lanes: int, dtype: str) -> list[np.ndarray]:
    """For each operand the numbers of `COUNT` rows: all combinations of the odd ones, then ordinary ones."""
    odd = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-42, 3.0e38, 0.5, -2.0, 800.0, -800.0]
    some = odd if number < 3 else [*odd[:7:2], 2.5]
    pairs = np.array(list(itertools.product(some, repeat=number))).T
    make = np.random.default_rng(number)
    rows = make.normal(size=(number, COUNT * lanes)) * 10.0 ** make.uniform(-3, 2, size=(number, COUNT * lanes))
    rows[:, : min(pairs.shape[1], COUNT * lanes)] = pairs[:, : COUNT * lanes]
    return [row.reshape(COUNT, lanes).astype(dtype) for row in rows]


def kernel(which: str, op: str, dtype: str, contract: bool) -> tuple[Module, str]:
    found = catalog.find(f"{which}:{op}", dtype)
    return Module(images.text(found, (9, 0)), contract), images.entry(found)


def launch(bench: Bench, module: Module, name: str, rows: int, lanes: int, *args: object) -> None:
    given = [bench.places[a][0] if isinstance(a, str) else a for a in args]
    module.launch(name, (-(-rows // 2), -(-lanes // 64)), (64, 2), 0, [*given, STRIDE, lanes], bench.memory)


def close(found: np.ndarray, expected: np.ndarray, dtype: str) -> None:
    """Within the tolerance, relative to 1 or to the number; the same infinities, NaN in the same places."""
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("contract", [False, pytest.param(True, marks=pytest.mark.slow, id="fused")])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("op", OPERATIONS)
def test_an_operation_in_ptx_is_that_of_numpy(op, dtype, contract):
    number, lanes = len(ops.get(op).args), 270
    given = operands(number, lanes, dtype)
    if op == "binary_cross_entropy":  # targets of 1e38 cancel, up to a fused rounding
        given[1] = np.clip(given[1], 0, 1)
    value, pulls = numpy_form(op, np.dtype(dtype))
    rows = np.zeros((number * COUNT + COUNT, STRIDE), dtype)
    for k, operand in enumerate(given):
        rows[k * COUNT : (k + 1) * COUNT, :lanes] = operand
    dst = number * COUNT
    pool, at = list(range(dst)), dst  # operand k of result j is row k*COUNT + j; the list of targets follows
    bench = Bench(values=rows)
    with np.errstate(all="ignore"):
        expected = value(*given)
    bench.put("pool", np.array(pool, np.int32))
    launch(bench, *kernel("forward", op, dtype, contract), COUNT, lanes, "values", "pool", 0, dst, COUNT)
    found = bench.get("values").reshape(rows.shape)[dst:, :lanes]
    close(found, np.broadcast_to(expected, found.shape), dtype)
    zero = np.broadcast_to(expected == 0, found.shape)
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(np.broadcast_to(expected, found.shape)[zero]))
    assert not bench.get("values").reshape(rows.shape)[dst:, lanes:].any()  # lanes that are not there
    if not has_backward(ops.get(op)):
        return
    upstream = np.random.default_rng(1).normal(size=(COUNT, lanes)).astype(dtype)
    adjoints = np.full(rows.shape, 0.25, dtype)
    adjoints[dst:, :lanes] = upstream
    # operands of result 0 are written first, those of result 1 added to what is there
    targets = [row if row % COUNT == 0 else -1 - row for row in range(dst)]
    bench.put("list", np.array([*pool, *targets, *range(dst + 1), *range(dst)], np.int32))
    bench.put("adjoints", adjoints)
    launch(
        bench,
        *kernel("backward", op, dtype, contract),
        dst,
        lanes,
        "adjoints",
        "values",
        "list",
        at,
        dst,
        0,
        dst,
        COUNT,
    )
    adjoint = bench.get("adjoints").reshape(rows.shape)
    y = np.broadcast_to(expected, upstream.shape)
    for k, pull in enumerate(pulls):
        for j in range(COUNT):
            before = 0.25 if j else 0.0
            operand = [g[j : j + 1] for g in given]
            with np.errstate(all="ignore"):
                term = 0.0 if pull is None else pull(*operand, y[j : j + 1], upstream[j : j + 1])
            want = np.broadcast_to(np.asarray(before + term, dtype), (1, lanes))
            close(adjoint[k * COUNT + j, :lanes], want[0], dtype)
