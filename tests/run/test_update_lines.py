"""The optimiser's rule, written out for one weight: formulas that give the numbers beside them."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from kit.learning import OPTIMISERS, make_optimizer
from kit.meaning import meaning
from kit.runs import make_data
from scalarviz import Run, nn, optim
from scalarviz.run.opened.rule import hatted


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


class Compared(optim.Optimizer):
    """Comparisons of comparisons, which Python would chain without brackets."""

    def update(self, w, g, state, lr, t):
        return w - lr * ((g > (w > 0.1)) + ((g > w) < 0.5)), {}


class Nothing(optim.Optimizer):
    def update(self, w, g, state, lr, t):
        return w, {}


OWN = {kind.__name__: kind for kind in (Kept, Deep, Compared, Nothing)}
RULES = [*OWN, "own", "groups", *OPTIMISERS]


def run_with(rule, steps=4):
    net = nn.Sequential(nn.Linear(3, 2, seed=1))
    make = OWN[rule] if rule in OWN else lambda parameters, lr: make_optimizer(rule, parameters)
    made = rule(net.parameters()) if callable(rule) else make(net.parameters(), lr=0.1)
    run = Run(net, nn.MSELoss(), made, make_data("no bias", "mse", 16), engine="numpy", dtype="float64")
    run.step(steps)
    return run


NUMBER = re.compile(r"√([\d.]+(?:e−?\d+)?)")


def value_of(text):
    """What a printed formula gives."""
    text = NUMBER.sub(r"√(\1)", text)
    for sign, written in (("−", "-"), ("·", "*"), ("^", "**"), ("²", "**2"), ("√", "sqrt")):
        text = text.replace(sign, written)
    return meaning(text)


def exact(line):
    """A line with the quantities in full instead of their names."""
    return "".join(part if isinstance(part, str) else f"({part.value!r})" for part in line.tokens)


def check_lines(run):
    opened = run.open()
    for index in range(run.n_weights):
        update, known = opened.update(index), {"w", "g", "lr", "t"}
        for line in update.lines:
            assert float(value_of(exact(line))) == pytest.approx(line.result, rel=1e-10, abs=1e-12)
            written, sign, result = line.equation().rpartition(" = ")  # what is printed is true as printed
            assert sign
            if len(written) < 2000:
                assert f"{value_of(written) + 0.0:.6g}".replace("-", "−") == result
            assert len(line.formula) < 250
            assert line.name not in known
            known.add(line.name)
        assert update.lines[-1].name == "w'"
        assert update.after == pytest.approx(opened.new_values[index], rel=1e-12, abs=1e-14)
        assert opened.line(index) == update.lines
        for line in hatted(update.lines):  # Adam as in books, true in full and as printed
            assert float(value_of(exact(line))) == pytest.approx(line.result, rel=1e-9, abs=1e-12)
            written, _, result = line.equation().rpartition(" = ")
            if written and len(written) < 2000:
                assert f"{value_of(written) + 0.0:.6g}".replace("-", "−") == result
    run.step(1)
    np.testing.assert_allclose(opened.new_values, run.values, rtol=1e-9, atol=1e-12)
    return opened.line(0)


@pytest.mark.parametrize("rule", RULES)
def test_the_formulas_give_what_the_engine_does_and_are_true_as_printed(rule):
    assert len(check_lines(run_with(rule))) >= (40 if rule == "Deep" else 1)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "Deep"])
def test_every_name_in_a_line_is_explained(rule):
    """A line reads w, g, lr, t, the state before, and what the lines above it gave."""
    run = run_with(rule)
    states = run.optimizer.state
    known = {"w", "g", "lr", "t"}
    for line in run.open().line(0):
        names = {part.name for part in line.tokens if not isinstance(part, str)}
        letters = {name for name in names if name[0].isalpha()}
        made = {name for name in letters - known if "'" not in name}  # symbols of the state
        assert len(made) <= len(states), (line.name, line.formula)
        assert all(name in known for name in letters if "'" in name)
        known |= {*made, line.name}


def test_the_words_of_the_books():
    def formulas(rule):
        return [f"{line.name} = {line.formula}" for line in run_with(rule).open().line(0)]

    assert formulas("sgd") == ["w' = w − lr · g"]
    assert formulas("sgd_momentum") == ["v' = 0.9 · v + g", "w' = w − lr · v'"]
    assert formulas("sgd_all") == ["a = g + 0.1 · w", "v' = 0.8 · v + a", "w' = w − lr · (a + 0.8 · v')"]
    assert formulas("adam") == [
        "m' = 0.9 · m + 0.1 · g",
        "v' = 0.999 · v + 0.001 · g²",
        "w' = w − lr / (1 − 0.9^t) · m' / (√v' / √(1 − 0.999^t) + 1e−08)",
    ]
    assert formulas("Kept") == ["b' = b + g", "c' = b'", "w' = w − lr · b'"]
    assert formulas("Nothing") == ["w' = w"]
    last = run_with(lambda p: optim.Adam(p, lr=0.1)).open().line(0)[-1]
    assert dict(last.parts)["1 − 0.9^t"] == 1 - 0.9**5
    assert dict(last.parts)["lr / (1 − 0.9^t)"] == 0.1 / (1 - 0.9**5)
    run = run_with("sgd_momentum")
    run.optimizer.lr, run.optimizer.momentum = 0.25, 0.5
    assert run.open().lr == 0.25
    assert check_lines(run)[0].formula == "0.5 · v + g"


def test_a_weight_that_stays_says_why():
    net = nn.Sequential(nn.Linear(3, 2, seed=1))
    data = make_data("no bias", "mse", 16)
    run = Run(net, nn.MSELoss(), optim.SGD([net[0].bias], lr=0.1), data, engine="numpy", dtype="float64")
    net[0].bias[1].frozen = True
    opened = run.open()
    assert [opened.moves(name) for name in (0, "0.bias[0]", "0.bias[1]")] == [False, True, False]
    for index, fact in ((0, "does not hold it"), (7, "frozen")):
        update = opened.update(index)
        assert (update.lines, update.after, update.before) == ((), run.values[index], run.values[index])
        assert fact in update.why


ANY = (
    lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / (b * b + 1), lambda a, b: -a,
    lambda a, b: sv.tanh(a), lambda a, b: sv.sqrt(a * a + 1), lambda a, b: a**2, lambda a, b: 0.5 * a - 2.0,
    lambda a, b: sv.dot([a, b], [b, 0.5], a), lambda a, b: sv.dot([0.5, 0.25], [a, b]), sv.maximum,
    lambda a, b: ((sv.tanh(a) ** 2 + 1.0) ** 0.5) ** sv.tanh(b) ** 2, lambda a, b: sv.where(a > b, a, -b),
)  # fmt: skip
RULE = st.lists(st.tuples(st.sampled_from(ANY), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=12)


@settings(max_examples=10)
@given(RULE)
def test_any_rule_of_the_users_own(program):
    class Mine(optim.Optimizer):
        state = ("s", "t")  # one is called as the count of steps is

        def update(self, w, g, state, lr, t):
            pool = [w, g, state["s"], lr, t]
            for operation, a, b in program:
                pool.append(operation(pool[a % len(pool)], pool[b % len(pool)]))
            return w - lr * sv.tanh(pool[-1]), {"s": sv.tanh(pool[len(pool) // 2]), "t": sv.tanh(state["t"] + g)}

    check_lines(run_with(lambda parameters: Mine(parameters, lr=0.1), steps=2))
