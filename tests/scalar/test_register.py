"""Registering operations, and the vocabulary of the table."""

from __future__ import annotations

import math

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import UnknownNameError
from scalarviz.scalar import function, ops
from scalarviz.scalar.dot import DOT
from scalarviz.scalar.emit import NUMPY, PYTHON, adjoint, function_source
from scalarviz.scalar.kernel import kernel, pull_source


@pytest.fixture
def clean():
    before = dict(ops.TABLE)
    yield
    ops.TABLE.clear()
    ops.TABLE.update(before)


@pytest.mark.usefixtures("clean")
def test_a_registered_operation_is_a_function_of_values():
    gauss = sv.register("test_gauss", "a", "exp(-(a * a))", ("-2 * a * y",))
    assert gauss(sv.Value(0.0)).data == 1.0
    assert gauss(2.0).data == pytest.approx(math.exp(-4))
    assert sv.gradcheck(gauss, 0.7)
    assert function("test_gauss")(1.0).data == gauss(1.0).data


@pytest.mark.usefixtures("clean")
def test_three_operands_and_operands_without_gradient():
    mix = sv.register("test_mix", ("a", "b", "t"), "a * (1 - t) + b * t", ("1 - t", "t", None))
    a, b, t = (sv.Value(x) for x in (1.0, 5.0, 0.25))
    y = mix(a, b, t)
    y.backward()
    assert (y.data, a.grad, b.grad, t.grad) == (2.0, 0.75, 0.25, 0.0)


BAD = [
    (("relu", "a", "a", ("1",)), "exists already"),
    (("two words", "a", "a", ("1",)), "identifier"),
    (("lambda", "a", "a", ("1",)), "identifier"),
    (("test_x", "a b", "a", ("1",)), "2 operands need 2 derivatives, got 1"),
    (("test_x", "a a", "a", ("1", "1")), "different operand names"),
    (("test_x", "y", "y", ("1",)), "'y' names the result"),
    (("test_x", "_up", "_up", ("1",)), "do not begin with '_'"),
    (("test_x", "a if", "a", ("1", None)), "Python identifiers"),
    (("max", "a b", "a", ("1", None)), "is a node of graphs already"),
    (("const", "a", "a", ("1",)), "is a node of graphs already"),
    (("test_x", "a b c d", "a", ("1",) * 4), "one to three"),
    (("test_x", (), "1", ()), "one to three"),
    (("test_x", "a", "__import__('os')", ("1",)), "allowed are"),
    (("test_x", "a", "a.real", ("1",)), "allowed are"),
    (("test_x", "a", "b + 1", ("1",)), "'b'"),
    (("test_x", "a", "a +", ("1",)), "is no expression"),
    (("test_x", "a", "exp(a, a)", ("1",)), "allowed are"),
    (("test_x", "a", "0 < a < 1", ("1",)), "one comparison at a time"),
    (("test_x", "a", "True", ("1",)), "allowed are"),
    (("test_x", "a", "a", ("z",)), "the derivative of 'test_x' by 'a'"),
]


@pytest.mark.parametrize(("arguments", "text"), BAD)
def test_entries_that_cannot_be_are_refused_and_leave_no_trace(arguments, text):
    before = set(ops.TABLE)
    with pytest.raises(sv.ScalarvizError, match=text):
        sv.register(*arguments)
    assert set(ops.TABLE) == before


def test_an_unknown_operation_lists_those_that_exist():
    for look in (ops.get, kernel, function):
        with pytest.raises(UnknownNameError, match=r"no operation 'sinus'; there are add, sub, .*tanh"):
            look("sinus")


def test_a_wrong_number_of_operands_is_named():
    with pytest.raises(sv.ScalarvizError, match="takes 3 operands, got 2"):
        sv.clip(1.0, 2.0)


def test_a_repeated_part_is_computed_once():
    source = function_source("f", ("a",), (ops.get("sigmoid").value,), PYTHON)
    assert source.count("exp(") == 1
    assert function_source("f", ("a",), (ops.get("sigmoid").value,), NUMPY).count("np.exp(") == 1


def test_the_pull_of_an_operation_reads_as_the_chain_rule():
    assert "_p0.grad += _up * (2.0 * a)\n" in pull_source(ops.get("square"))
    assert "_p1.grad += -_up\n" in pull_source(ops.get("sub"))
    assert pull_source(ops.get("lt")) == "def pull(_node): pass\n"


@pytest.mark.parametrize(
    ("partial", "wanted"),
    [
        ("0", "0"),
        ("-0.0", "0"),
        ("1", "_up"),
        ("-1", "-_up"),
        ("a", "_up * a"),
        ("1 / a", "_up / a"),
        ("where(a > 0, 1, where(a <= 0, 0, a))", "where(a > 0, _up, where(a <= 0, 0, _up * a))"),
        ("-where(a > 0, 0, -where(a < b, 0.5, 0))", "-where(a > 0, 0, -where(a < b, _up * 0.5, 0))"),
        ("2 * where(a > 0, 1, 0)", "_up * (2 * where(a > 0, 1, 0))"),  # a product that comes out as 0
    ],
)
def test_the_upstream_gradient_goes_into_the_branches(partial, wanted):
    assert adjoint(partial) == wanted


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
def test_operands_may_be_called_like_anything_and_infinities_are_numbers(engine):
    odd = sv.register(
        "test_odd", "np tanh inf", "where(np < 1e999, tanh(np) * abs(tanh), -1e999 * inf)",
        ("where(np < 1e999, (1 - tanh(np) * tanh(np)) * tanh, 0)", "tanh(np)", None),
    )  # fmt: skip
    w = [sv.Weight(x) for x in (0.5, 2.0, 3.0)]
    data = np.ones((2, 1))
    with sv.Run(
        lambda x: odd(w[0] * x[0], w[1] * x[0], w[2] * x[0]), lambda o, t: o, sv.optim.SGD(w, lr=0.1), (data, data),
        engine=engine, dtype="float64",
    ) as run:  # fmt: skip
        run.step(1)
        assert run.loss == pytest.approx(2 * math.tanh(0.5), rel=1e-14)
        found = run.frame().gradient
    np.testing.assert_allclose(found, [2 * (1 - math.tanh(0.5) ** 2), math.tanh(0.5), 0.0], rtol=1e-14)


@pytest.mark.parametrize("name", sorted(ops.TABLE))
def test_every_entry_says_how_a_book_prints_it(name):
    op = ops.get(name)
    assert op.latex
    assert len(op.partials) == len(op.args) == kernel(name).arity
    assert op.expressions()[0] == op.value


def test_no_formula_for_a_book_is_escaped_twice():
    for op in (*ops.TABLE.values(), DOT.entry):
        assert "\\\\" not in op.latex, op.name  # a line break in LaTeX


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "softplus", "relu",
                                  "leaky_relu", "square", "minimum", "maximum", "clip", "where"])  # fmt: skip
def test_the_names_of_the_table_are_functions_of_the_package(name):
    assert callable(getattr(sv, name))
    if name != "where":
        assert callable(getattr(sv.Value, name))
