"""Formulas that a user types: loss and gradient are those that Python, and PyTorch, find for the same text.

Numbers, names and faults of texts are read as in conditions, which `test_conditions` tries.
"""

import doctest
import importlib

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import scalarviz as sv
from kit.commands import make_scene
from scalarviz.errors import ExpressionError

MEANING = {name: getattr(sv, name) for name in ("tanh", "sin", "cos", "exp", "sigmoid", "softplus", "square")}
ROWS = np.random.default_rng(3).uniform(-1.5, 1.5, (5, 3))
NAMES = ("x", "y", "w", "b")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """The run of a formula that is fitted to a table of x, y and z."""
    table = tmp_path_factory.mktemp("table") / "table.csv"
    table.write_text("x,y,z\n" + "\n".join(",".join(map(repr, row)) for row in ROWS.tolist()))
    return lambda text, **options: make_scene("expression", expr=text, csv=table, dtype="float64", **options).run


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


@settings(max_examples=6)
@given(texts(), st.floats(-1.5, 1.5), st.floats(-1.5, 1.5))
@example("0.25", 0.5, 0.5)
@example("-b**2 + 2**-1**2", 1.25, -0.5)
def test_a_formula_is_what_python_makes_of_it_with_values(fitted, text, w, b):
    text += " + w*x"
    run = fitted(text)
    ours = {name: sv.Value(number) for name, number in (("w", w), ("b", b)) if name in {t.name for t in run.tensors}}
    run.set_weights(0, [ours[tensor.name].data for tensor in run.tensors])
    loss = 0.0
    for x, y, z in ROWS:
        loss = loss + (eval(text, {**MEANING, **ours, "x": sv.Value(x), "y": sv.Value(y), "pi": np.pi}) - z) ** 2 / 5
    loss.backward()
    run.step(1)
    np.testing.assert_allclose(run.loss, loss.data, rtol=1e-12)
    np.testing.assert_allclose(run.frame().gradient, [ours[t.name].grad for t in run.tensors], rtol=1e-9, atol=1e-12)


def test_gradients_are_pytorchs(torch, fitted):
    run = fitted("a*tanh(w*x + b)**2 + where(x > 0.1, exp(-x*w), max(a, b, x)) / (1 + abs(w)) - relu(b - x)")
    assert [tensor.name for tensor in run.tensors] == ["a", "w", "b"]
    x, _, z = torch.tensor(ROWS.T)
    for numbers in np.random.default_rng(3).uniform(-2, 2, (20, 3)):
        run.set_weights(0, numbers)
        a, w, b = weights = [torch.tensor(number, requires_grad=True) for number in numbers]
        chosen = torch.where(x > 0.1, torch.exp(-x * w), torch.stack([a.expand(5), b.expand(5), x]).amax(0))
        found = a * torch.tanh(w * x + b) ** 2 + chosen / (1 + w.abs()) - torch.relu(b - x)
        loss = (found - z).square().mean()
        loss.backward()
        opened = run.open()
        assert opened.loss == pytest.approx(loss.item(), rel=1e-12)
        np.testing.assert_allclose(opened.gradient, [weight.grad.item() for weight in weights], rtol=1e-10, atol=1e-12)


HOSTILE = [
    "", "(", "1 +", "w w", "2w", "w.__class__", "__import__('os')", "lambda: 0", "w := 3", "w = 3", "import os",
    "[1, 2]", "w if x else y", "~w", "w % 2", "w[0]", "w()", "sin", "sin(1, 2)", "tahn(w)", "before(w)", "w changes",
    "not w > 1", "w == 1", "sum(w)", "grad(w)", "w\0", "0x10", "1e", "(" * 5000, "w**" * 70 + "w", "\ud800",
]  # fmt: skip


def test_hostile_texts_are_refused_with_a_caret(fitted):
    for text in HOSTILE:
        with pytest.raises(ExpressionError) as caught:
            fitted(text)
        assert str(caught.value).splitlines()[-1].strip() == "^", text
        assert len(str(caught.value)) < 2000
        assert 0 <= caught.value.place <= len(text)


@pytest.mark.ci  # doctest looks through all loaded modules
def test_examples_in_docstrings():
    for name in (".expression", ".parser"):
        found = doctest.testmod(importlib.import_module("scalarviz.run.questions" + name))
        assert (found.failed, found.attempted > 0) == (0, True)
