"""Operations that a user adds to the table: every engine has them at once, whatever their operands are called."""

import doctest
import importlib
import math
import pkgutil

import numpy as np
import pytest

import scalarviz as sv
from kit.runs import ENGINES
from scalarviz import optim
from scalarviz.scalar import function, ops
from scalarviz.scalar.sums import DOT


@pytest.fixture(autouse=True)
def same_table_afterwards():
    before = dict(ops.TABLE)
    yield
    ops.TABLE.clear()
    ops.TABLE.update(before)


OWN = {
    "cube": ("a", "a * a * a", ("3 * a * a",), lambda a: a**3),
    "bell": ("a", "exp(-(a * a))", ("-2 * a * y",), lambda a: math.exp(-a * a)),
    "mixed": ("a b t", "a * (1 - t) + b * t", ("1 - t", "t", "b - a"), lambda a, b, t: a * (1 - t) + b * t),
    "without": ("a b", "a * b", ("b", None), lambda a, b: a * b),
    # generated kernels use these names of Python's, NumPy's and their own under others
    "names": ("n exp i", "exp(n) + exp * i", ("exp(n)", "i", "exp"), lambda n, e, i: math.exp(n) + e * i),
    "infinite": ("np tanh inf", "where(np < 1e999, tanh(np) * abs(tanh), -1e999 * inf)",
                 ("where(np < 1e999, (1 - tanh(np) * tanh(np)) * tanh, 0)", "tanh(np)", None),
                 lambda a, b, c: math.tanh(a) * abs(b)),
    **{f"of_{name}": (name, f"{name} * exp(-abs({name}))", (f"(1 - abs({name})) * exp(-abs({name}))",),
                      lambda a: a * math.exp(-abs(a))) for name in ("range", "abs", "exp", "real", "cuda", "x")},
}  # fmt: skip


@pytest.mark.parametrize("name", OWN)
def test_an_operation_of_the_user_works_in_every_engine(name):
    args, value, partials, by_python = OWN[name]
    call = sv.register(f"test_{name}", tuple(args.split()), value, partials)
    numbers = [0.7, 1.5, 0.25][: len(partials)]
    flowing = [k for k, partial in enumerate(partials) if partial is not None]
    assert sv.gradcheck(lambda *v: call(*v, *numbers[len(v) :]), *numbers[: len(flowing)])
    assert function(f"test_{name}")(*numbers).data == call(*numbers).data == pytest.approx(by_python(*numbers))
    leaves = [sv.Value(x) for x in numbers]
    call(*leaves).backward(0.5)
    for engine in ENGINES:
        w = [sv.Weight(x) for x in numbers]
        data = np.ones((2, 1))
        model, rule = lambda x, w=w: call(*[v * x[0] for v in w]), optim.SGD(w, lr=0.1)
        half = lambda o, t: 0.5 * o * t[0]  # noqa: E731
        with sv.Run(model, half, rule, (data, data), engine=engine, dtype="float64") as run:
            run.step()
            assert run.loss == pytest.approx(0.5 * by_python(*numbers), rel=1e-14)
            np.testing.assert_allclose(run.frame().gradient, [leaf.grad for leaf in leaves], rtol=1e-13, atol=1e-15)


def test_an_operation_that_is_refused_leaves_no_trace():
    before = dict(ops.TABLE)
    with pytest.raises(sv.ScalarvizError):
        sv.register("test_x", "a", "a", ("z",))
    assert before == ops.TABLE


def test_the_names_of_the_table_are_functions_and_methods():
    operands = {1: (0.5,), 2: (0.5, 0.25), 3: (0.5, 0.0, 0.25)}
    for name in ops.METHODS:
        if name in sv.__all__:
            first, *rest = operands[len(ops.get(name).args)]
            found = getattr(sv, name)(first, *rest)
            assert getattr(sv.Value(first), name)(*rest).data == found.data, name
    assert {"neg", "exp", "sigmoid", "leaky_relu", "square", "minimum", "clip", "where"} <= set(sv.__all__)
    assert (sv.div(1.0, 4.0).data, sv.Value(3.0).sub(1.0).data) == (0.25, 2.0)


# ---- examples in docstrings of what computes, which register operations too

ROOMS = ("scalar", "nn", "optim", "tape", "rng", "data")
WITH_ONNX = "scalarviz.nn._module"
NAMES = [name for _, name, _ in pkgutil.walk_packages(sv.__path__, "scalarviz.") if name.split(".")[1] in ROOMS]


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.ci) if n == WITH_ONNX else n for n in NAMES])
def test_examples(name):
    runner = doctest.DocTestRunner()  # as `testmod`, without docstrings that have none: each looks at all files again
    for test in doctest.DocTestFinder().find(importlib.import_module(name)):
        assert not test.examples or runner.run(test).failed == 0


def test_a_book_prints_every_operation_and_no_formula_is_escaped_twice():
    for op in (*ops.TABLE.values(), DOT.entry):
        assert op.latex
        assert "\\\\" not in op.latex, op.name  # a line break in LaTeX
