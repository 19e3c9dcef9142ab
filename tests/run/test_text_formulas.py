"""Formulas of Values: the number and the derivatives that Python and PyTorch find for the same text.

It imports `scalarviz.run.conditions`: users meet formulas only in the scene `expression`, too slow for so many texts.
"""

from __future__ import annotations

import doctest
import importlib
import math
import random
import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from kit.refusals import refusals
from scalarviz.errors import ExpressionError, ScalarvizError, TypeMismatchError, UnknownNameError
from scalarviz.run.conditions import expression, formula
from scalarviz.scalar import ops

NAMES = ("x", "y", "w", "b")
MEANING = {name: getattr(sv, name) for name in ("tanh", "sin", "cos", "exp", "sigmoid", "softplus", "square")}


def texts():
    leaf = st.sampled_from([*NAMES, "1", "0.5", "2.", "1e-1", "pi"])

    def more(inner):
        return st.one_of(
            st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner),
            st.builds("({} / (2 + square({})))".format, inner, inner),
            st.builds("{}(0.5*{})".format, st.sampled_from([*MEANING][:6]), inner),
            st.builds("-{}**2".format, inner),
        )

    return st.recursive(leaf, more, max_leaves=12)


@settings(max_examples=60)
@given(texts(), st.lists(st.floats(-1.5, 1.5), min_size=4, max_size=4))
def test_a_formula_is_what_python_makes_of_it_with_values(text, numbers):
    found = formula(text, NAMES[:2])
    ours, theirs = ({name: sv.Value(x) for name, x in zip(NAMES, numbers, strict=True)} for _ in range(2))
    result, wanted = found(ours), eval(text, {**MEANING, **theirs, "pi": math.pi})
    assert {*found.known, *found.others} == {name for name in NAMES if name in text.replace("exp", "")}
    if not isinstance(wanted, sv.Value):
        assert result.data == wanted
        return
    np.testing.assert_allclose(result.data, wanted.data, rtol=1e-12)
    if result.op:
        result.backward(), wanted.backward()
        for name in NAMES:
            np.testing.assert_allclose(ours[name].grad, theirs[name].grad, rtol=1e-9, atol=1e-12)
    plain = expression(text, NAMES).evaluate(dict(zip(NAMES, numbers, strict=True)))
    np.testing.assert_allclose(result.data, float(plain), rtol=1e-12, atol=1e-12)


def test_gradients_are_pytorchs(torch):
    text = "a*tanh(w*x + b)**2 + where(x > 0.1, exp(-x*w), max(a, b, x)) / (1 + abs(w)) - relu(b - x)"
    found, draw = formula(text, ["x"]), np.random.default_rng(3)
    assert (found.known, found.others, found.text) == (("x",), ("a", "w", "b"), text)
    for _ in range(20):
        numbers = dict(zip("xawb", draw.uniform(-2, 2, 4).tolist(), strict=True))
        ours = {name: sv.Weight(number, name) for name, number in numbers.items()}
        result = found(ours)
        result.backward()
        theirs = {n: torch.tensor(v, dtype=torch.float64, requires_grad=True) for n, v in numbers.items()}
        x, a, w, b = (theirs[name] for name in "xawb")
        chosen = torch.where(x > 0.1, torch.exp(-x * w), torch.stack([a, b, x]).max())
        other = a * torch.tanh(w * x + b) ** 2 + chosen / (1 + w.abs()) - torch.relu(b - x)
        other.backward()
        assert math.isclose(result.data, other.item(), rel_tol=1e-12)
        for name, weight in ours.items():
            assert math.isclose(weight.grad, theirs[name].grad.item(), rel_tol=1e-10, abs_tol=1e-12), name


FLOATS = {
    "9**9**9**9": math.inf, "-9**9**9**9": -math.inf, "10**400 - 10**400": math.nan, "1/0": math.inf,
    "(-8)**(1/3)": math.nan, "0**0": 1.0, "log(0)": -math.inf, "exp(1000)": math.inf, "sqrt(-1)": math.nan,
    "2**-1**2": 0.5, "-2**2": -4.0, "1e400": math.inf, "3 > 2": 1.0, "where(zero > 1, 5, 6)": 6.0, "min(3, 1, 2)": 1.0,
}  # fmt: skip


def test_numbers_are_floats_before_anything_is_done():
    found = [formula(text)({"zero": 0.0}).data for text in FLOATS]
    np.testing.assert_array_equal(found, list(FLOATS.values()))


HOSTILE = [
    "", " ", "(", ")", "()", "1 +", "* 2", "w w", "2w", "w..x", "w.__class__", "w.real", "().__class__",
    "[].append", "__import__('os')", "eval('1')", "lambda: 0", "lambda x: x", "w := 3", "w = 3", "w; x",
    "import os", "{1: 2}", "[1, 2]", "f'{w}'", "w if x else y", "w for x in y", "~w", "w % 2", "w // 2",
    "w @ x", "w ^ 2", "w[0]", "w[0](1)", "w()", "sin", "sin()", "sin(1, 2)", "where(1, 2)", "max()",
    "tahn(w)", "before(w)", "w changes", "w crosses x", "w and x", "w > 1 and x > 1", "not w > 1",
    "1 < w < 2", "w == 1", "w != 1", "sum(w)", "mean(w)", "any(w > 1)", "nan(w)", "sign(w)", "norm(w)",
    "grad(w)", "\0", "w\0", "＋", "w − 1", "１ + w", "0x10", "1_000", "1e", "1.2.3", "w" * 9999 + "(",
    "(" * 5000, "(" * 64 + "w" + ")" * 64, "-" * 200 + "w", "w**" * 70 + "w", "sin(" * 100 + "w" + ")" * 100,
    "w,x", "w\\", "`w`", "$w", "w?", "#", "w # comment", "\ud800",
]  # fmt: skip


def test_hostile_texts_are_refused_with_a_caret():
    for text in HOSTILE:
        with pytest.raises(ExpressionError) as caught:
            formula(text, ["x"])
        message = str(caught.value)
        assert message.splitlines()[-1].strip() == "^", text
        assert len(message) < 2000
        assert 0 <= caught.value.place <= len(text)


def test_damaged_formulas_do_no_harm():
    """Letters of a formula are changed, taken away and doubled: nothing but our errors comes of it."""
    dice = random.Random(0)
    for _ in range(400):
        letters = list("a*tanh(w*x + b) + where(x > 0, c, max(d, 1e-3))**2")
        for _ in range(dice.randint(1, 4)):
            place = dice.randrange(len(letters))
            letters[place] = dice.choice(["", letters[place] * 2, dice.choice(string.printable)])
        try:
            found = formula("".join(letters), ["x"])
            value = found(dict.fromkeys((*found.known, *found.others), 0.3))
        except ScalarvizError:
            continue
        assert isinstance(value.data, float)


def test_names_are_found_quoted_and_may_hide_constants():
    found = formula('w * "sepal length" + e', ["sepal length", "e"])
    assert found.known == ("sepal length", "e")
    assert found({"w": 2.0, "sepal length": 3.0, "e": 1.0}).data == 7.0
    assert formula("w*e", ["x"]).others == ("w",)  # else e is 2.718
    known = {"e": math.e, "pi": math.pi, "inf": math.inf}
    constants = {
        "a*x + e*y": "e", "sin(pi*x) + pi": "pi", "-e**x + 2e3*b + pi2 + e1": "e", "min(w, inf)*x": "inf",
        "w*x + 3 + .5": "", "w*pie*x": "",
    }  # fmt: skip
    for text, name in constants.items():
        assert formula(text, ["x", "y"]).constants == ({name: known[name]} if name else {})
    assert len(formula("+".join(f"w{k}" for k in range(300))).others) == 300


def of(read, given):
    return lambda: read.evaluate(given)


@refusals(
    {
        **{f"names {names!r}": (lambda names=names: formula("x", names), ScalarvizError, "name")
           for names in ("xy", 3, [1], None, ["x", "x"])},
        "no text": (lambda: formula(3), TypeMismatchError, "text"),
        "too long": (lambda: formula("x" * 10_001), ScalarvizError, "10,001", "10,000"),
        "no number": (lambda: formula("w*x", ["x"])({"x": 3.0}), UnknownNameError, "'w'", "x"),
        "no number for an expression": (of(expression("x + y", ["x", "y"]), {"x": 1}), ScalarvizError, "'y'", "x"),
        "nothing of before": (of(expression("before(x)", ["x"]), {"x": 1.0}), ScalarvizError, "'x'"),
        **{f"{bad!r} as a number": (of(expression("x + y", ["x", "y"]), {"x": 1, "y": bad}), ScalarvizError, "y")
           for bad in ("1", None, 1j, [[1], [1, 2]], 10**400)},
        **{f"{bad!r} as numbers": (of(expression("x", ["x"]), bad), ScalarvizError, "numbers")
           for bad in (None, 3, [("x", 1)])},
    }
)  # fmt: skip
def test_refusals(refusal):
    refusal.check()


def test_numbers_of_any_kind_become_float64():
    for x in (3, True, np.float32(3), np.int8(127), 3.0, np.uint64(3)):
        found = expression("x * x / 2", ["x"]).evaluate({"x": x})
        assert (found.dtype, found) == (np.float64, float(x) ** 2 / 2)
    nothing = [expression(f"{of}(x)", ["x"]).evaluate({"x": []}) for of in ("max", "min", "mean", "sum", "norm")]
    np.testing.assert_array_equal(nothing, [math.nan] * 3 + [0, 0])


def test_an_operation_that_is_registered_is_there_too():
    sv.register("test_expression_cube", "a", "a * a * a", ("3 * a * a",))
    try:
        assert expression("test_expression_cube(x)", ["x"]).evaluate({"x": 2}) == 8
        x = sv.Weight(2.0)
        formula("test_expression_cube(x)")({"x": x}).backward()
        assert x.grad == 12
    finally:
        del ops.TABLE["test_expression_cube"]


def test_examples():
    for name in ("scalarviz.run.conditions", "scalarviz.run.conditions.expression", "scalarviz.run.conditions.formula"):
        found = doctest.testmod(importlib.import_module(name))
        assert (found.failed, found.attempted > 0) == (0, True)
