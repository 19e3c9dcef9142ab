"""What a check says: of functions that are empty, break, or change their mind; hints; how it prints; bad arguments."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import check, nn, optim
from scalarviz.check.words import HINTS, LOOKS
from scalarviz.errors import ScalarvizError


@pytest.fixture(autouse=True)
def begun_anew():
    check.forget()


def square(x):
    return x**2


# ---- what pupils hand in


def test_an_exercise_that_is_not_filled_in_says_where():
    def slopes(x):
        two = 2
        return two * ...

    report = check.gradient(slopes, of=square)
    assert (report.state, report.passed) == ("empty", False)
    line = slopes.__code__.co_firstlineno + 2
    assert f"Fill in the ... in line {line}: return two * ..." in report.text

    def rule(a, b, upstream): ...

    assert check.backward(rule, of="mul").state == "empty"
    assert check.gradient(..., of=square).state == "empty"
    assert check.gradient(lambda x: ..., of=square).state == "empty"
    assert check.answer(..., 3.0).state == "empty"

    class Neuron(nn.Module):
        def forward(self, x):
            return ...

    assert check.module(Neuron, like=nn.Perceptron(3)).state == "empty"
    assert check.module(..., like=nn.Perceptron(3)).state == "empty"


def test_dots_elsewhere_are_no_gap():
    def slopes(x: float, more: tuple[float, ...] = ()) -> tuple[float, ...]:
        return (2 * x,)

    assert check.gradient(slopes, of=square)


COUNTER = itertools.count()
BROKEN = {
    "raises": lambda x: x / 0,
    "none": lambda x: None,
    "count": lambda x: (x, x),
    "kind": lambda x: "2 * x",
    "random": lambda x: next(COUNTER),
    "arguments": lambda x, y, z: x,
}


@pytest.mark.parametrize("cause", BROKEN)
def test_functions_that_break_are_told_not_raised(cause):
    report = check.gradient(BROKEN[cause], of=square)
    assert (report.state, report.cause) == ("failed", cause), report.text


def test_an_error_is_told_with_its_line_and_where():
    def slopes(x):
        table = {}
        return table["slope"]

    said = check.gradient(slopes, of=square).text
    assert "KeyError: 'slope'" in said
    assert 'return table["slope"]' in said
    assert "at x = " in said


def test_a_function_of_values_that_breaks_is_told():
    assert check.gradient(lambda x: None).cause == "none"
    assert check.gradient(lambda x: x.data).cause == "kind"
    assert check.gradient(lambda x: x + next(COUNTER)).cause == "random"
    assert check.gradient(lambda x: x.nonsense).cause == "raises"
    assert check.backward(lambda node: setattr(node.parents[0], "grad", "1"), of="neg").cause == "kind"


def test_a_keyboard_interrupt_goes_through():
    def slopes(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check.gradient(slopes, of=square)


# ---- hints


def test_the_second_failing_call_gives_a_hint_and_a_right_one_begins_anew():
    def slopes(x):
        return x

    first, second = (check.gradient(slopes, of=square, hint="Look at section 2.") for _ in range(2))
    assert (first.hint, "Hint" in first.text) == ("", False)
    assert second.hint == f"{HINTS['factor']} Look at section 2."
    assert second.hint in second.text
    assert not check.gradient(lambda x: x, of=square).hint  # another exercise

    def slopes(x):
        return 2 * x

    assert check.gradient(slopes, of=square)

    def slopes(x):
        return x

    assert not check.gradient(slopes, of=square).hint


def test_an_empty_exercise_does_not_count():
    def slopes(x):
        return ...

    for _ in range(3):
        assert not check.gradient(slopes, of=square).hint

    def slopes(x):
        return x

    assert not check.gradient(slopes, of=square).hint


def test_every_cause_has_words_and_no_words_hold_an_answer():
    assert set(HINTS) <= set(LOOKS) | {"gradient", "backward", "training", "module", "answer"}
    assert all("{expected}" not in text for name, text in LOOKS.items() if name != "parameters")


# ---- how it prints


def test_a_report_is_text_and_a_box_that_is_escaped():
    report = check.gradient(lambda x: x, of=square)
    assert str(report) == repr(report) == report.text
    assert report.text.startswith("✗ your function: not yet: 0 of 50 points agree.")

    def slopes(x):
        raise ValueError("<script>alert(1)</script>")

    box = check.gradient(slopes, of=square)._repr_html_()
    assert "<script>" not in box
    assert "&lt;script&gt;" in box
    assert 'role="status"' in box
    right = check.gradient(lambda x: 2 * x, of=square)
    assert right.text == "✓ your function: right at all 50 points."
    assert right._repr_html_() != box


# ---- answers


@pytest.mark.parametrize(
    ("given", "truth", "cause"),
    [
        (-3.0, 3.0, "sign"), (6.0, 3.0, "factor"), (1.5, lambda: 3.0, "factor"), (3.5, sv.Value(3.0), "large"),
        (2.9, 3, "small"), (math.nan, 3, "nan"), (None, 3, "none"), ("3", 3, "kind"), (3, "overwrite", "kind"),
        ("order", "overwrite", ""), (1025, 1024, "large"), (4191.0, lambda: 4192, "small"),
    ],
)  # fmt: skip
def test_wrong_answers(given, truth, cause):
    report = check.answer(given, truth)
    assert (bool(report), report.cause) == (False, cause)
    assert "overwrite" not in report.text
    assert report.expected is None


@pytest.mark.parametrize(
    ("given", "truth"),
    [
        (3.001, 3),
        (sv.Value(2.0), lambda: 2),
        ("Zero Grad", "zero_grad"),
        (np.array([1024.0]), 1024),
        (1025.0, 1024.0),
        (1030, 1024.0 + 5),
    ],
)
def test_right_answers(given, truth):
    assert check.answer(given, truth)


# ---- steps of training


def step_right(weights, loss, lr):
    for weight in weights:
        weight.zero_grad()
    loss().backward()
    for weight in weights:
        weight.data -= lr * weight.grad


def step_torch(optimizer, loss):
    optimizer.zero_grad()
    loss().backward()
    optimizer.step()


def step_without_zero(optimizer, loss):
    loss().backward()
    optimizer.step()


def step_clears_too_late(optimizer, loss):
    loss().backward()
    optimizer.zero_grad()
    optimizer.step()


def step_early(optimizer, loss):
    optimizer.step()
    optimizer.zero_grad()
    loss().backward()


def step_of(change, chosen=slice(None)):
    def step(weights, loss, lr):
        for weight in weights:
            weight.zero_grad()
        loss().backward()
        for weight in weights[chosen]:
            change(weight, lr)

    return step


def put(rule):
    return lambda weight, lr: setattr(weight, "data", rule(weight.data, weight.grad, lr))


STEPS = [
    (step_right, ""),
    (step_torch, ""),
    (step_without_zero, "zero_grad"),
    (step_clears_too_late, "nothing"),
    (step_early, "early"),
    (step_of(put(lambda w, g, lr: w + lr * g)), "sign"),
    (step_of(put(lambda w, g, lr: w - g)), "lr"),
    (step_of(put(lambda w, g, lr: w - 2 * lr * g)), "factor"),
    (step_of(put(lambda w, g, lr: w - 0.05 * g)), "constant"),
    (step_of(put(lambda w, g, lr: -lr * g)), "replaced"),
    (step_of(put(lambda w, g, lr: w)), "nothing"),
    (step_of(put(lambda w, g, lr: w - lr * g), slice(1)), "some"),
    (step_of(put(lambda w, g, lr: w - lr * g), slice(1, None)), "some"),
    (step_of(put(lambda w, g, lr: math.inf)), "nan"),
    (lambda weights, loss, lr: None, "nothing"),
    (lambda weights: None, "arguments"),
    (lambda weights, loss, lr: weights.nonsense, "raises"),
]


@pytest.mark.parametrize(("step", "cause"), STEPS)
def test_steps_of_training(step, cause):
    report = check.training(step)
    assert (bool(report), report.cause) == (not cause, cause), report.text


def cleared(weights, loss, lr):
    weights.clear()


def numbers_instead(weights, loss, lr):
    loss().backward()
    weights[:] = [w.data - lr * w.grad for w in weights]


@pytest.mark.parametrize("step", [cleared, numbers_instead])
def test_a_step_that_empties_the_list_of_weights_is_told(step):
    report = check.training(step)
    assert not report
    assert "the list `weights` holds other things than its Weights" in str(report)


def test_a_step_agrees_with_the_optimiser_of_the_package():
    """The oracle of the steps is a formula from a book; here SGD of the package itself goes through it."""
    assert check.training(lambda weights, loss, lr: step_torch(optim.SGD(weights, lr=lr), loss), seed=9)


# ---- modules


class Neuron(nn.Module):
    def __init__(self, inputs=3):
        self.w, self.b = [sv.Weight(0.0) for _ in range(inputs)], sv.Weight(0.0)

    def total(self, x):
        return sv.dot(self.w, x, self.b)

    def forward(self, x):
        return sv.tanh(self.total(x))


def neuron(forward, **more):
    return type("Neuron", (Neuron,), {"forward": forward, **more})


def plain_floats(self):
    self.w, self.b = [0.1, 0.2, 0.3], sv.Weight(0.0)


MODULES = {
    "": Neuron,
    "activation": neuron(lambda self, x: self.total(x)),
    "bias": neuron(lambda self, x: sv.tanh(sv.dot(self.w, x))),
    "sign": neuron(lambda self, x: -sv.tanh(self.total(x))),
    "factor": neuron(lambda self, x: sv.tanh(self.total(x)) * 2),
    "inputs": neuron(lambda self, x: sv.tanh(sv.dot(self.w, x[::-1], self.b))),
    "terms": neuron(lambda self, x: sv.tanh(sv.dot(self.w[:2], x[:2], self.b))),
    "detached": neuron(lambda self, x: sv.tanh(sv.dot([w.data for w in self.w], x, self.b))),
    "parameters": neuron(lambda self, x: sv.tanh(self.b * x[0]), __init__=plain_floats),
    "none": neuron(lambda self, x: None),
    "kind": neuron(lambda self, x: 1.0),
    "count": neuron(lambda self, x: [self.total(x), self.total(x)]),
    "random": neuron(lambda self, x: self.total(x) + next(COUNTER)),
    "raises": neuron(lambda self, x: self.nonsense),
}


@pytest.mark.parametrize("cause", MODULES)
def test_a_module_against_a_ready_made_one(cause):
    like = nn.Perceptron(3, activation=nn.Tanh(), seed=1)
    before = like.state_dict()
    report = check.module(MODULES[cause], like=like)
    assert (bool(report), report.cause) == (not cause, cause), report.text
    assert all((before[name] == array).all() for name, array in like.state_dict().items())


def test_a_module_with_layers_with_arguments_and_made_already():
    like = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2))

    class Net(nn.Module):
        def __init__(self, hidden):
            self.first, self.second = nn.Linear(2, hidden), nn.Linear(hidden, 2)

        def forward(self, x):
            return self.second([sv.tanh(v) for v in self.first(x)])

    assert check.module(Net, 3, like=like, inputs=2)
    assert check.module(Net(3), like=like, inputs=2)
    report = check.module(Net, 4, like=like, inputs=2)
    assert (report.cause, report.got, report.expected) == ("parameters", 22, 17)


def test_a_module_by_itself_against_differences():
    assert check.module(Neuron, inputs=3)
    assert check.module(MODULES["detached"], inputs=3).cause == "detached"
    assert check.module(type("Empty", (nn.Module,), {"forward": lambda self, x: x[0]}), inputs=2).cause == "parameters"
    assert check.module(int, inputs=3).cause == "kind"


# ---- bad arguments of those who write exercises


@pytest.mark.parametrize(
    "call",
    [
        lambda: check.gradient(3, of=square),
        lambda: check.gradient("mul", of=square),
        lambda: check.gradient(square, of=3),
        lambda: check.gradient(square, of="nonsense"),
        lambda: check.gradient(square, of=lambda x: x.data),
        lambda: check.gradient(lambda: 1.0, of=lambda: sv.Value(1.0)),
        lambda: check.gradient(square, of=square, between=3),
        lambda: check.gradient(square, of=square, between=(2, -2)),
        lambda: check.gradient(square, of=square, between=(0, math.inf)),
        lambda: check.gradient(square, of=square, tolerance=0),
        lambda: check.gradient(square, of=square, tolerance="small"),
        lambda: check.gradient(square, of=square, hint=3),
        lambda: check.gradient(square, of=square, seed=-1),
        lambda: check.gradient(square, of=square, seed="a"),
        lambda: check.backward("nonsense"),
        lambda: check.backward("lt"),
        lambda: check.backward(3),
        lambda: check.backward(lambda a, b: 1),
        lambda: check.backward(lambda node: None, of=lambda a, b: a * b + a),
        lambda: check.training(3),
        lambda: check.training(step_right, tolerance=-1),
        lambda: check.module(3, inputs=3),
        lambda: check.module(Neuron),
        lambda: check.module(Neuron, like=3),
        lambda: check.module(Neuron, inputs=0),
        lambda: check.answer(1.0),
        lambda: check.gradient(square, by=square),
        lambda: check.training(step_right, square),
        lambda: check.answer(1.0, None),
        lambda: check.answer(1.0, [1.0]),
        lambda: check.answer(1.0, 1.0, title=3),
    ],
)
def test_bad_arguments_are_refused_in_words(call):
    with pytest.raises(ScalarvizError) as caught:
        call()
    assert len(str(caught.value)) > 20


def test_a_hint_belongs_to_one_question_also_when_its_cell_is_run_again():
    first = "check.answer(1, lambda: 2 + 2, hint='of the first')"
    other = "check.answer(1, lambda: 3 * 3, hint='of the other')"

    def cell(source, number):
        return eval(compile(source, f"<cell {number}>", "eval"), {"check": check})

    assert not cell(first, 1).hint
    assert not cell(other, 2).hint  # another question, of the same title
    assert "of the first" in cell(first, 3).hint
    assert "of the other" in cell(other, 4).hint
    assert not check.answer("no", "yes").hint
    assert not check.answer("no", "maybe").hint
    assert check.answer("no", "yes").hint
