"""NumPy's functions and operators of a Value: the table's operation, or an error of ours that names the way out."""

from __future__ import annotations

import math

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Value, Weight
from scalarviz.errors import ScalarvizError, TypeMismatchError
from scalarviz.scalar.ufuncs import OPERATIONS
from scalarviz.tape import record


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_function_of_numpy_is_an_operation_with_its_gradient(name):
    ufunc, point = getattr(np, name), [0.3, 0.7][: getattr(np, name).nin]
    leaves = [Value(p) for p in point]
    node = ufunc(*leaves)
    node.backward()
    assert node.data == pytest.approx(float(ufunc(*point)), rel=1e-14)
    for k, leaf in enumerate(leaves):
        ahead, behind = ([p + (step if i == k else 0) for i, p in enumerate(point)] for step in (1e-6, -1e-6))
        slope = (float(ufunc(*ahead)) - float(ufunc(*behind))) / 2e-6
        assert leaf.grad == pytest.approx(slope, abs=1e-8)


def test_numpy_functions_are_recorded():
    w = Weight(0.5)
    tape = record(lambda x: [w * np.sin(x[0]) + np.maximum(np.float64(2) * x[0], 0.1)], 1)
    assert {"sin", "maximum"} <= {node.code for node in tape.nodes}


def test_scalars_of_numpy_on_the_left():
    x = Value(3.0)
    assert (np.float64(2) * x).data == 6.0
    assert (np.float32(2) ** x).data == 8.0
    assert (np.int64(7) - x).data == 4.0
    assert (np.float64(1) < x).data == 1.0
    assert (np.array(2.0) * x).data == 6.0


def test_equality_stays_identity():
    x = Value(1.0)
    assert (np.float64(1) == x) is False
    assert (np.float64(1) != x) is True
    assert x == x
    assert x in [Value(1.0), x]
    assert x not in [np.float64(1), Value(1.0)]


def test_arrays_of_values_keep_working():
    xs = np.array([Value(1.0), Value(2.0)])
    assert (xs @ np.array([3.0, 4.0])).data == 11.0
    assert np.sin(xs)[1].data == pytest.approx(math.sin(2))
    assert np.sum(xs * xs).data == 5.0
    assert np.asarray(xs, float).tolist() == [1.0, 2.0]


REFUSED = {
    "no such operation": (np.arctan, r"np\.arctan.*sv\.sin.*sv\.register"),
    "reduction": (np.add.reduce, r"np\.add\.reduce"),
    "out": (lambda x: np.sin(x, out=np.zeros(1)), "with options"),
    "array": (lambda x: np.array([1.0, 2.0]) * x, "one number"),
    "index": (lambda x: [1, 2, 3][x], "index"),
    "modulo": (lambda x: x % 2, "%"),
    "modulo of a number": (lambda x: 2 % x, "%"),
    "floor": (lambda x: x // 2, "//"),
    "matmul": (lambda x: x @ x, "@"),
    "matmul of an array": (lambda x: np.ones(2) @ x, "matmul"),
}


@pytest.mark.parametrize("how", REFUSED)
def test_what_is_no_operation_says_so(how):
    call, says = REFUSED[how]
    with pytest.raises(TypeMismatchError, match=says):
        call(Value(2.0))
    with pytest.raises(ScalarvizError, match=says):
        record(lambda x: [call(x[0])], 1)


def test_numbers_of_a_value():
    x = Value(2.6)
    assert (int(x), round(x), round(x, 1), math.floor(x)) == (2, 3, 2.6, 2)
    assert (f"{x:.3f}", f"{x:8.1e}|", f"{x}") == (f"{float(x):.3f}", f"{float(x):8.1e}|", repr(x))
    assert math.sin(x) == math.sin(2.6)


@pytest.mark.parametrize("how", ["np.arctan", "math.sin"])
def test_a_function_of_another_library_is_told_ours(how):
    function = np.arctan if how == "np.arctan" else math.sin
    with pytest.raises(ScalarvizError, match=r"sv\.sin"):
        sv.record(lambda x: [function(x[0])], 1)
