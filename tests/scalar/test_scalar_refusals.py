"""What scalars refuse: each call, the class of its error, and what the message says.

``tests/house/test_bad_arguments.py`` gives bad values to every public name; here stands what they do not reach.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import scalarviz as sv
from kit.refusals import refusals
from scalarviz import Value, Weight, data, nn, optim, rng
from scalarviz.errors import InputError, TypeMismatchError, UnknownNameError
from scalarviz.scalar import function


def circle():
    endless: list[object] = []
    endless.append(endless)
    return endless


def register(*arguments):
    return lambda: sv.register(*arguments)


REGISTER = {
    "a name that is taken": (register("relu", "a", "a", ("1",)), InputError, "relu", "exists"),
    "a node of graphs": (register("max", "a b", "a", ("1", None)), InputError, "max", "another name"),
    "too few derivatives": (register("t", "a b", "a", ("1",)), InputError, "per operand (a, b)", "got 1"),
    "an operand twice": (register("t", "a a", "a", ("1", "1")), InputError, "different"),
    "the result's name": (register("t", "y", "y", ("1",)), InputError, "'y'", "result"),
    "a hidden name": (register("t", "_up", "_up", ("1",)), InputError, "_up", "'_'"),
    "four operands": (register("t", "a b c d", "a", ("1",) * 4), InputError, "one to three"),
    "a chain of comparisons": (register("t", "a", "0 < a < 1", ("1",)), InputError, "one comparison"),
    "a constant of Python's": (register("t", "a", "True", ("1",)), InputError, "allowed"),
    "an import": (register("t", "a", "__import__('os')", ("1",)), InputError, "allowed"),
    "another name in a derivative": (register("t", "a", "a", ("z",)), InputError, "derivative", "'t'", "'a'"),
    "an operation that is none": (lambda: function("sinus"), UnknownNameError, "sinus", "add, sub", "tanh"),
}
JUNK = ["1", None, [1.0], 1j, np.array([1.0]), np.ma.masked_array(1.0, True), object()]
ARRAYS = [
    [1.0, None],  # NumPy makes NaN of None
    [["1"]],
    np.array(["2020-01-01"], "M8[D]"),  # a number of days
    np.ma.masked_array([1.0, 2.0], [False, True]),  # its mask would be dropped
    np.ones(2, complex), np.zeros(2, [("a", int)]), [[1.0], [1.0, 2.0]], [10**400],
]  # fmt: skip
NUMBERS = {
    f"{type(junk).__name__} {k}": (lambda junk=junk, call=call: call(junk), TypeMismatchError, "number")
    for k, (junk, call) in enumerate((junk, call) for junk in JUNK for call in (Value, sv.exp, Value(1.0).__add__))
}
WEIGHTS = {
    "a negative rate": (lambda: Weight(1.0).step(lr=-1), InputError, "lr", "-1"),
    "a text for a rate": (lambda: Weight(1.0).step(lr="fast"), TypeMismatchError, "lr", "number"),
    "a text for x": (lambda: Weight(1.0).forward("x"), TypeMismatchError, "x", "number"),
    "a text for a named weight": (lambda: setattr(Weight(1.0, name="w"), "data", "x"), TypeMismatchError, "'w'"),
    "a label that is no text": (lambda: setattr(Value(1.0), "label", 1), TypeMismatchError, "label", "string"),
    "weights for other inputs": (lambda: sv.dot([1.0, 2.0], [1.0] * 3), sv.ScalarvizError, 2, 3),
    "no largest": (lambda: sv.max([]), sv.ScalarvizError, "got none"),
    **{f"one of several {k}": (lambda w=wrong, f=fold: f(Value(1.0), w), TypeMismatchError, "sequence", "imum")
       for k, (wrong, fold) in enumerate((w, f) for w in ([1.0], "x") for f in (sv.max, sv.min))},
    "no point to check": (lambda: sv.gradcheck(lambda: Value(1.0)), sv.ScalarvizError, "one point"),
    "a float to check": (lambda: sv.gradcheck(lambda x: 1.0, 0.5), sv.ScalarvizError, "Value", "float"),
    **{f"endless for {type(module).__name__}": (lambda m=module: m(circle()), sv.ScalarvizError, "nested", 32)
       for module in (nn.ReLU(), nn.Flatten(), nn.Linear(2, 2), nn.Network(2, 2))},
    **{f"index {index}": (lambda i=index: nn.Sequential(nn.Tanh(), nn.Tanh())[i], IndexError, "has no index", "-2 .. 1")
       for index in (-3, 2, 10**30)},
}  # fmt: skip
OF_NUMPY = {
    "no such operation": (np.arctan, "np.arctan", "sv.sin", "sv.register"),
    "reduction": (np.add.reduce, "np.add.reduce"),
    "out": (lambda x: np.sin(x, out=np.zeros(1)), "options"),
    "array": (lambda x: np.array([1.0, 2.0]) * x, "one number"), "index": (lambda x: [1, 2, 3][x], "index"),
    "modulo": (lambda x: x % 2, "%"), "floor": (lambda x: x // 2, "//"), "matmul": (lambda x: x @ x, "@"),
}  # fmt: skip
PLACES = {
    **{
        f"{how}, {where}": (lambda c=call, w=way: w(c), sv.ScalarvizError, *says)
        for how, (call, *says) in OF_NUMPY.items()
        for where, way in (
            ("a value", lambda c: c(Value(2.0))),
            ("recorded", lambda c: sv.trace(lambda x: [c(x[0])], 1)),
        )
    },
    "math, recorded": (lambda: sv.trace(lambda x: [math.sin(x[0])], 1), sv.ScalarvizError, "sv.sin"),
    "nothing returned": (lambda: sv.trace(lambda x: None, 1), InputError, "Value", "None"),
    "None in a list": (lambda: sv.trace(lambda x: [None], 1), TypeMismatchError),
    "negative inputs": (lambda: sv.trace(lambda x: x[0], -1), InputError, -1),
}
DRAWS = {
    "a batch beyond the data": (lambda: rng.batch_indices(0, 0, 10, 11), InputError, 11, "larger"),
    "no batch": (lambda: rng.batch_indices(0, 0, 10, 0), InputError, "at least 1"),
    "no draw": (lambda: rng.drawn_indices(0, 0, 10, 0), InputError, "at least 1"),
    "draws of too many": (lambda: rng.drawn_indices(0, 0, 2**32 + 1, 4), InputError, "2**32"),
    "draws of none": (lambda: rng.drawn_indices(0, 0, 0, 4), InputError, "needs 1"),
    "an order of none": (lambda: rng.permute(0, 0, 0, 0), InputError, "n ", "1"),
    "an index beyond": (lambda: rng.permute(10, 10, 0, 0), InputError, "index", "9"),
    "a seed below": (lambda: rng.uniform(-1, 1, 0, 3), InputError, "seed", 0),
    "a seed beyond": (lambda: rng.uniform(2**64, 1, 0, 3), InputError, "seed", 0),
    "half a seed": (lambda: rng.uniform(0.5, 1, 0, 3), InputError, "seed", "whole"),
    "a step below": (lambda: rng.uniform(0, 1, -1, 3), InputError, "step", 0),
    "fewer than none": (lambda: rng.uniform(0, 1, 0, -3), InputError, ">= 0"),
    "the end of a stream": (lambda: rng.uniform(0, 1, 0, 4, start=2**33), InputError, "another stream"),
    "a target": (lambda: data.target("blue"), UnknownNameError, "blue", "invert, rotate, gray, sepia, warm"),
    **{f"colour {text!r}": (lambda t=text: data.parse_colour(t), InputError, "colour", "#")
       for text in ("", "#", "red", "#ff88", "#ff88001", "#gg0000", "ff 88 00", "#-1-1-1", "#٣٣٣")},
    **{f"pair {text!r}": (lambda t=text: data.parse_pair(t), InputError, "pair", "#")
       for text in ("", "#fff", "#fff:#000:#111", "#fff-#000")},
}  # fmt: skip


@refusals({**REGISTER, **NUMBERS, **WEIGHTS, **PLACES, **DRAWS})
def test_it_is_refused(refusal):
    refusal.check()


@pytest.mark.parametrize("given", ARRAYS, ids=lambda x: type(x).__name__)
def test_what_is_no_array_of_numbers_is_refused_and_changes_nothing(given):
    net = nn.Linear(1, 1)
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters()), ([[1.0], [2.0]], [1.0, 2.0]), engine="numpy")
    before = run.values.copy()
    for call in (
        nn.Parameter, run.predict, run.set_targets, lambda x: run.set_weights(0, x),
        lambda x: sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters()), (x, [1.0, 2.0]), engine="numpy"),
    ):  # fmt: skip
        with pytest.raises(sv.ScalarvizError, match="real numbers"):
            call(given)
    assert np.array_equal(run.values, before)
    assert run.samples()[1].tolist() == [[1.0], [2.0]]
