"""The optimiser's rule, written out: formulas that give the numbers beside them, whatever the rule is."""

from __future__ import annotations

import ast
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.run.opened.writing import Quantity

X = np.random.default_rng(0).random((16, 3))


def run_with(make, steps=4, dtype="float64"):
    net = nn.Sequential(nn.Linear(3, 2, seed=1))
    run = Run(net, nn.MSELoss(), make(net.parameters()), (X, X[:, :2]), engine="numpy", dtype=dtype)
    run.step(steps)
    return run


class Sum(optim.Optimizer):
    """All kinds of operations."""

    state = ("speed", "t")

    def update(self, w, g, state, lr, t):
        speed = 0.9 * state["speed"] - g**2 + sv.maximum(g, w) / (1 + t)
        lag = sv.where(g > 0, state["t"], -state["t"]) + lr
        return w - lr * speed.tanh() - (w - (g - speed)), {"speed": speed, "t": lag}


class Dots(optim.Optimizer):
    state = ("m",)

    def update(self, w, g, state, lr, t):
        m = sv.dot([0.5, 0.25, 1.0], [state["m"], g, w])
        return sv.dot([lr, w], [g, m], w), {"m": m}


class Kept(optim.Optimizer):
    """A state that never changes, and two that are one."""

    state = ("a", "b", "c")

    def update(self, w, g, state, lr, t):
        b = state["b"] + g
        return w - lr * b, {"a": state["a"], "b": b, "c": b}


class Deep(optim.Optimizer):
    """A long formula, and one that is used again and again."""

    def update(self, w, g, state, lr, t):
        step = g
        for _ in range(40):
            step = (step * 0.5 + w).tanh() * 0.5 + step * step * 0.25
        return w - lr * step, {}


class Long(optim.Optimizer):
    """Deeper than Python's stack, every number used once; and a sum of many."""

    def update(self, w, g, state, lr, t):
        step = g
        for k in range(500):
            step = (step * 0.5 + 0.001 * k).tanh()
        for k in range(60):
            step = step + (g * 0.001 * k).sin()
        tree = [(w * 0.01 * k).sin() for k in range(64)]
        while len(tree) > 1:
            tree = [a + b for a, b in zip(tree[::2], tree[1::2], strict=True)]
        return w - lr * (step + 0.01 * tree[0]), {}


class Powers(optim.Optimizer):
    def update(self, w, g, state, lr, t):
        tower = ((g * g + 1.0) ** lr) ** 1.5 - (g * g + 1.0) ** (w**2) / (3.0 + g - (w - g)) ** 2
        twice = -(0.0 - tower)
        return w - lr * (-twice).tanh() / (1.0 / (g / 3.0 + 2.0)), {}


class Nothing(optim.Optimizer):
    def update(self, w, g, state, lr, t):
        return w, {}


RULES = {
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "decay": lambda p: optim.SGD(p, lr=0.1, weight_decay=0.01),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
    "nesterov": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p: optim.Adam(p, lr=0.1),
    "adam, decay": lambda p: optim.Adam(p, lr=0.1, weight_decay=0.01),
    "adamw": lambda p: optim.AdamW(p, lr=0.1),
    "sum": lambda p: Sum(p, lr=0.1),
    "dots": lambda p: Dots(p, lr=0.1),
    "kept": lambda p: Kept(p, lr=0.1),
    "deep": lambda p: Deep(p, lr=0.1),
    "long": lambda p: Long(p, lr=0.1),
    "powers": lambda p: Powers(p, lr=0.1),
    "nothing": lambda p: Nothing(p, lr=0.1),
}

FUNCTIONS = {
    "tanh": math.tanh, "maximum": max, "where": lambda c, a, b: a if c else b, "gt": lambda a, b: a > b,
    "sqrt": math.sqrt, "sin": math.sin,
}  # fmt: skip


def python(tokens, number):
    """A formula as Python: `number` says how a quantity is written."""
    text = "".join(t if isinstance(t, str) else number(t) for t in tokens)
    for sign, written in (("−", "-"), ("·", "*"), ("^", "**"), ("²", "**2")):
        text = text.replace(sign, written)
    while "√" in text:  # the root of what follows: a bracket or a number in one
        start = text.index("√")
        end = start + 1
        if text[end] != "(":
            raise AssertionError(text)
        text = f"{text[:start]}sqrt{text[end:]}"
    return text


def value_of(text, names):
    """What a formula gives, by a walk of Python's own tree of it."""
    operations = {ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
                  ast.Div: lambda a, b: a / b, ast.Pow: lambda a, b: a**b}  # fmt: skip

    def walk(node):
        if isinstance(node, ast.BinOp):
            return operations[type(node.op)](walk(node.left), walk(node.right))
        if isinstance(node, ast.UnaryOp):
            return -walk(node.operand)
        if isinstance(node, ast.Compare):
            (op,), (right,) = node.ops, node.comparators
            less = isinstance(op, ast.Lt)
            return float(walk(node.left) < walk(right) if less else walk(node.left) > walk(right))
        if isinstance(node, ast.Call):
            return FUNCTIONS[node.func.id](*(walk(arg) for arg in node.args))
        return names[node.id] if isinstance(node, ast.Name) else node.value

    return walk(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize("name", RULES)
def test_the_formulas_give_what_the_engine_does(name):
    run = run_with(RULES[name])
    opened = run.open()
    for index in range(run.n_weights):
        update = opened.update(index)
        for line in update.lines:
            again = value_of(python(line.tokens, lambda q: f"({q.value!r})"), {})
            assert again == pytest.approx(line.result, rel=1e-12, abs=1e-300)
        assert update.lines[-1].name == "w'"
        assert update.after == pytest.approx(opened.new_values[index], rel=1e-12)
    run.step(1)
    np.testing.assert_allclose(opened.new_values, run.values, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", RULES)
def test_every_name_is_explained(name):
    """A line reads w, g, lr, t, the state before, and what lines above it gave."""
    opened = run_with(RULES[name]).open()
    lines = opened.line(0)
    known = {"w", "g", "lr", "t", *(opened._rules[0].symbols.values())}
    for line in lines:
        names = {q.name for q in line.tokens if isinstance(q, Quantity)}
        letters = {n for n in names if not n[0].isdigit() and n[0] != "−"}
        assert letters <= known, (line.name, line.formula)
        assert line.name not in known
        known.add(line.name)


@pytest.mark.parametrize("name", RULES)
def test_what_is_printed_is_true(name):
    opened = run_with(RULES[name]).open()
    for line in opened.line(3):
        written, sign, result = line.equation().rpartition(" = ")
        assert sign, line.equation()
        found = value_of(python([_bracketed_roots(written)], str), {})
        assert f"{found:.6g}".replace("-", "−") == result


def _bracketed_roots(text):
    """``√9.1e−07`` with brackets."""
    done = ""
    while "√" in text:
        before, _, text = text.partition("√")
        if text.startswith("("):
            done += f"{before}√"
            continue
        size = next((k for k, c in enumerate(text) if not (c in ".e0123456789" or (c == "−" and text[k - 1] == "e"))),
                    len(text))  # fmt: skip
        done, text = f"{done}{before}√({text[:size]})", text[size:]
    return done + text


def test_the_words_of_the_books():
    def formulas(name):
        return [f"{line.name} = {line.formula}" for line in run_with(RULES[name]).open().line(0)]

    assert formulas("sgd") == ["w' = w − lr · g"]
    assert formulas("momentum") == ["v' = 0.9 · v + g", "w' = w − lr · v'"]
    assert formulas("nesterov") == ["a = g + 0.01 · w", "v' = 0.9 · v + a", "w' = w − lr · (a + 0.9 · v')"]
    assert formulas("adam") == [
        "m' = 0.9 · m + 0.1 · g",
        "v' = 0.999 · v + 0.001 · g²",
        "w' = w − lr / (1 − 0.9^t) · m' / (√v' / √(1 − 0.999^t) + 1e−08)",
    ]
    assert formulas("kept") == ["b' = b + g", "c' = b'", "w' = w − lr · b'"]
    assert formulas("nothing") == ["w' = w"]


def test_long_formulas_are_cut_into_lines():
    for name in ("deep", "long"):
        lines = run_with(RULES[name]).open().line(0)
        assert len(lines) >= 40
        assert max(len(line.formula) for line in lines) < 250


def test_a_state_that_is_called_as_something_else_is():
    lines = run_with(RULES["sum"]).open().line(0)
    assert {"speed'", "t_'", "w'"} <= {line.name for line in lines}


def test_parts_are_the_operations_inside():
    line = run_with(RULES["adam"]).open().line(0)[-1]
    parts = dict(line.parts)
    assert parts["1 − 0.9^t"] == 1 - 0.9**5
    assert parts["lr / (1 − 0.9^t)"] == 0.1 / (1 - 0.9**5)


def test_a_rate_and_a_momentum_that_are_set_are_used():
    run = run_with(RULES["momentum"])
    run.optimizer.lr, run.optimizer.momentum = 0.25, 0.5
    opened = run.open()
    assert opened.lr == 0.25
    assert opened.line(0)[0].formula == "0.5 · v + g"
    run.step(1)
    np.testing.assert_allclose(opened.new_values, run.values, rtol=1e-13)


def test_steps_that_the_optimiser_had_done_before_count_on():
    def used(parameters):
        optimizer = optim.Adam(parameters, lr=0.1)
        optimizer.steps = 40
        return optimizer

    run = run_with(used, steps=2)
    opened = run.open()
    assert "0.9^43" in opened.line(0)[-1].numbers()
    run.step(1)
    np.testing.assert_allclose(opened.new_values, run.values, rtol=1e-9)


def test_a_weight_that_the_optimiser_does_not_hold():
    net = nn.Sequential(nn.Linear(3, 2, seed=1))
    run = Run(net, nn.MSELoss(), optim.SGD([net[0].bias], lr=0.1), (X, X[:, :2]), engine="numpy", dtype="float64")
    opened = run.open()
    assert not opened.moves(0)
    assert opened.moves("0.bias[0]")
    update = opened.update(0)
    assert (update.lines, update.after, update.before) == ((), run.values[0], run.values[0])
    assert update.why == "the optimiser does not hold it, or the loss does not read it"
    assert update.gradient != 0
    run.step(1)
    np.testing.assert_allclose(opened.new_values, run.values, rtol=1e-14)


ANY = (
    lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / (b * b + 1), lambda a, b: -a,
    lambda a, b: sv.tanh(a), lambda a, b: sv.sqrt(a * a + 1), lambda a, b: a**2, lambda a, b: 0.5 * a - 2.0,
    lambda a, b: sv.dot([a, b], [b, 0.5]),
)  # fmt: skip


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=12))
def test_any_rule_of_the_users_own(program):
    class Mine(optim.Optimizer):
        state = ("s",)

        def update(self, w, g, state, lr, t):
            pool = [w, g, state["s"], lr, t]
            for op, a, b in program:
                pool.append(ANY[op](pool[a % len(pool)], pool[b % len(pool)]))
            return w - lr * sv.tanh(pool[-1]), {"s": sv.tanh(pool[len(pool) // 2])}

    run = run_with(lambda p: Mine(p, lr=0.1), steps=2)
    opened = run.open()
    for index in (0, 5):
        update = opened.update(index)
        for line in update.lines:
            again = value_of(python(line.tokens, lambda q: f"({q.value!r})"), {})
            assert again == pytest.approx(line.result, rel=1e-10, abs=1e-12)
        assert update.after == pytest.approx(opened.new_values[index], rel=1e-12, abs=1e-14)
    run.step(1)
    np.testing.assert_allclose(opened.new_values, run.values, rtol=1e-9, atol=1e-12)
