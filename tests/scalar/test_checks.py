"""Checks of single arguments: what NumPy or Python would quietly make a number of is refused."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Value, checks, nn, optim
from scalarviz.errors import shown

NO_NUMBER = [
    np.array("1"),  # float() reads it
    np.array([1.0]),  # float() takes the one there is
    np.complex64(1 + 2j),  # float() drops the imaginary part
    np.ma.masked,  # float() is NaN, with a warning
    np.ma.masked_array(1.0, True),
    bytearray(b"1"),
]


@pytest.mark.parametrize("given", NO_NUMBER, ids=lambda x: type(x).__name__)
def test_what_is_no_number_is_none(given):
    for call in (Value, sv.Weight, sv.exp, lambda x: Value(1.0) + x, lambda x: optim.SGD([sv.Weight()], lr=x)):
        with pytest.raises(sv.ScalarvizError, match="must be a number"):
            call(given)


def test_numbers_of_numpy_are_numbers():
    for kind in (np.float16, np.float32, np.longdouble, np.int8, np.uint64, np.bool_):
        assert Value(kind(1)).data == 1.0
    assert Value(np.array(2.5)).data == 2.5


NO_ARRAY = [
    [1.0, None],  # NumPy makes NaN of None
    [["1"]],
    np.array(["2020-01-01"], "M8[D]"),  # a number of days
    np.ma.masked_array([1.0, 2.0], [False, True]),  # its mask would be dropped
    np.ones(2, complex),
    np.zeros(2, [("a", int)]),
    [[1.0], [1.0, 2.0]],
    [10**400],
]


@pytest.mark.parametrize("given", NO_ARRAY, ids=lambda x: type(x).__name__)
def test_what_is_no_array_of_numbers_is_none(given):
    net = nn.Linear(1, 1)
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters()), ([[1.0], [2.0]], [1.0, 2.0]), engine="numpy")
    before = run.values.copy()
    for call in (
        nn.Parameter,
        run.predict,
        run.set_targets,
        lambda x: run.set_weights(0, x),
        lambda x: sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters()), (x, [1.0, 2.0]), engine="numpy"),
    ):
        with pytest.raises(sv.ScalarvizError, match="real numbers"):
            call(given)
    assert np.array_equal(run.values, before)
    assert run.samples()[1].tolist() == [[1.0], [2.0]]


def test_python_numbers_of_any_size_and_values_are_an_array():
    assert checks.real_array([2**70, 1], "x").tolist() == [2.0**70, 1.0]
    assert checks.real_array([Value(1.5), 2], "x").tolist() == [1.5, 2.0]
    assert checks.real_array(np.ones(2, np.float32), "x").dtype == np.float32


def test_a_message_shows_anything_on_one_short_line():
    class Silent:
        def __repr__(self):
            raise RuntimeError

    endless: list[object] = []
    endless.append(endless)
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert shown(Silent()) == "<Silent>"
    assert shown(10**5000) == "<int>"
    assert shown(endless) == "[[...]]"
    assert shown(deep) == "<list>"
    assert shown(np.zeros((3, 3))).count("\n") == 0
    assert shown("x" * 5000) == "'" + "x" * 56 + "..."


def test_nested_without_end_is_said():
    endless: list[object] = []
    endless.append(endless)
    for module in (nn.ReLU(), nn.Flatten(), nn.Linear(2, 2), nn.Network(2, 2)):
        with pytest.raises(sv.ScalarvizError, match="nested in more than 32 levels"):
            module(endless)


@pytest.mark.parametrize("index", [-3, 2, 10**30])
def test_an_index_outside_is_an_index_error_for_python_and_a_value_error(index):
    with pytest.raises(IndexError, match="there is no number") as caught:
        nn.Sequential(nn.Tanh(), nn.Tanh())[index]
    assert isinstance(caught.value, sv.ScalarvizError)
    assert isinstance(caught.value, ValueError)
    assert len(list(nn.Parameter([1.0, 2.0]))) == 2  # a protocol of Python's that ends at an IndexError
