"""What pupils hand in is checked: right answers pass, and each usual slip is called by its name, with a hint."""

import itertools
import math

import numpy as np
import pytest

import scalarviz as sv
from kit.commands import python
from kit.nested import ordered
from scalarviz import check, nn, optim
from scalarviz.errors import ScalarvizError
from scalarviz.scalar import ops

RIGHT = None
COUNTER = itertools.count()


@pytest.fixture(autouse=True)
def begun_anew():
    check.forget()


def judged(report, cause):
    """Whether it passed, or failed with this cause: an empty one where no usual slip looks like it."""
    assert (bool(report), report.cause) == (cause is RIGHT, cause or ""), report.text


# ---- slopes


def square(x):
    return x**2


def product_and_sum(x, y):
    return x * y + x


def generated(x, y):
    yield y + 1
    yield x


def generated_for_ever(x, y):
    while True:
        yield x


GRADIENTS = {
    product_and_sum: {
        "right": (lambda x, y: (y + 1, x), RIGHT),
        "numpy": (lambda x, y: np.array([y + 1, x]), RIGHT),
        "values": (lambda x, y: (sv.Value(y + 1), sv.Value(x)), RIGHT),
        "generator": (generated, RIGHT),
        "path": (lambda x, y: (y, x), "path"),
        "swapped": (lambda x, y: (x, y + 1), "swapped"),
        "sign": (lambda x, y: (y + 1, -x), "sign"),
        "other": (lambda x, y: (y + 1, y + 1), "other"),
        "value": (lambda x, y: (y + 1, x * y + x), "value"),
        "one": (lambda x, y: (y + 1, 1.0), "one"),
        "nan": (lambda x, y: (y + 1, math.nan), "nan"),
        "for ever": (generated_for_ever, "count"),
        "none": (lambda *both: None, "none"),
    },
    square: {
        "factor": (lambda x: x, "factor"),
        "raises": (lambda x: x / 0, "raises"),
        "count": (lambda x: (x, x), "count"),
        "random": (lambda x: next(COUNTER), "random"),
        "arguments": (lambda x, y, z: x, "arguments"),
        "empty": (lambda x: ..., "empty"),
    },
    (lambda x: x * x): {"only one of two": (lambda x: x, "path")},
    (lambda x: (x * x).sin()): {"inner": (lambda x: math.cos(x * x), "inner")},
    (lambda x: x.sin() ** 2): {"slope": (math.cos, "slope")},
    (lambda x: x * x + x.sin()): {"flipped": (lambda x: 2 * x - math.cos(x), "flipped")},
    (lambda x: x**3): {
        "too often": (lambda x: 3 * x**3, "input"), "missing": (lambda x: 3 * x, "missing"),
        "factor and too often": (lambda x: -3 * x**3, "input"),
    },
    (lambda x: x * abs(x)): {"region": (lambda x: 2 * x, "region")},
    (lambda x: x.sin() * 3 + x): {"unknown": (math.cosh, "")},
    (lambda x, y: x.relu() + (y - 1).abs() + sv.log(y)): {
        "away from kinks": (lambda x, y: (float(x > 0), math.copysign(1, y - 1) + 1 / y), RIGHT)
    },
}  # fmt: skip


@pytest.mark.parametrize(("of", "name"), [(of, name) for of, rows in GRADIENTS.items() for name in rows])
def test_slopes_by_hand(of, name):
    slopes, cause = GRADIENTS[of][name]
    for seed in (0, 3):
        report = check.gradient(slopes, of=of, seed=seed)
        if cause == "empty":
            assert report.state == "empty"
            continue
        judged(report, cause)
        if not report and cause not in ("nan", "count", "raises", "none", "kind", "random", "arguments"):
            assert abs(report.got - report.expected) > 1e-5
            assert ("Looks like" in report.text) is bool(cause)


FUNCTIONS = {
    "right": (lambda x, y: (x * y).tanh() + x, RIGHT),
    "factor": (lambda x: x * x.data, "factor"),
    "none": (lambda x: None, "none"),
    "kind": (lambda x: x.data, "kind"),
    "random": (lambda x: x + next(COUNTER), "random"),
    "raises": (lambda x: x.nonsense, "raises"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_values_are_compared_with_differences(name):
    function, cause = FUNCTIONS[name]
    judged(check.gradient(function), cause)


# ---- backward rules


def pull(rule, add=True):
    """A rule of nodes: what it gives to both parents is added, or put there."""

    def pulled(node):
        parents, before = node.parents, [parent.grad for parent in node.parents]
        for k, (parent, slope) in enumerate(zip(parents, rule(node, *(p.data for p in parents)), strict=True)):
            kept = {True: parent.grad, False: 0.0, "first": before[k]}[add]
            parent.grad = kept + slope

    return pulled


RULES = {
    "right": (lambda a, b, up: (up * b, up * a), "mul", RIGHT),
    "of a function": (lambda a, b, up: (up * b, up * a), lambda a, b: a * b, RIGHT),
    "upstream": (lambda a, b, up=1.0: (b, a), "mul", "upstream"),
    "local": (lambda a, b, up: (up, up), "mul", "local"),
    "twice": (lambda a, b, up: (up * up * b, up * a), "mul", "twice"),
    "added": (lambda a, b, up: (up + b, up + a), "mul", "added"),
    "sign": (lambda a, b, up: (up, up), "sub", "sign"),
    "swapped": (lambda a, b, up: (up * a, up * b), "mul", "swapped"),
    "factor": (lambda a, up: up * a, "square", "factor"),
    "output": (lambda a, up: up * (1 - a * a), "tanh", "output"),
    "result": (lambda a, up: up * 2 * a * a, "square", "result"),
    "too often": (lambda a, b, up: (up / b, -up * a / b), "div", "input"),
    "node": (pull(lambda node, a, b: (node.grad * b, node.grad * a)), "mul", RIGHT),
    "node overwrites": (pull(lambda node, a, b: (node.grad * b, node.grad * a), False), "mul", "overwrite"),
    "node forgets": (pull(lambda node, a, b: (node.grad * b, node.grad * a), "first"), "mul", "overwrite"),
    "node alone": (pull(lambda node, a, b: (b, a)), "mul", "upstream"),
    "node does nothing": (lambda node: None, "mul", "zero"),
    "node writes text": (lambda node: setattr(node.parents[0], "grad", "1"), "neg", "kind"),
}


@pytest.mark.parametrize("name", RULES)
def test_a_backward_rule(name):
    rule, of, cause = RULES[name]
    judged(check.backward(rule, of=of), cause)


BETWEEN = {"huber": (0.1, 2), "smooth_l1": (0.1, 2)}  # a width is positive


@pytest.mark.parametrize("name", [n for n, op in ops.TABLE.items() if any(op.partials) and n not in ops.STAND_INS])
def test_every_operation_of_the_table_is_right(name):
    judged(check.backward(name, between=BETWEEN.get(name)), RIGHT)


def walk_in(order, keep=False, root_grad=1.0, sign=1.0):
    def walk(root):
        root.grad = root_grad
        for node in order(root):
            for parent, slope in zip(node.parents, node.local_gradients, strict=True):
                parent.grad = sign * node.grad * slope + (0.0 if keep else parent.grad)

    return walk


def youngest_first(root):
    return ordered(root)[::-1]


def as_found(root):
    nodes = [root]
    for node in nodes:
        nodes += [p for p in node.parents if all(p is not n for n in nodes)]
    return list(dict.fromkeys(nodes))


def recursion(node, first=True):
    if first:
        node.grad = 1.0
    for parent, slope in zip(node.parents, node.local_gradients, strict=True):
        parent.grad += node.grad * slope
        recursion(parent, False)


def doubled(root):
    walk_in(youngest_first)(root)
    for node in ordered(root):
        node.grad *= 2


def in_one_graph(root):
    walk_in(youngest_first)(root)
    for node in ordered(root):
        node.grad += 1


WALKS = [
    (walk_in(youngest_first), RIGHT), (lambda root: root.backward(), "library"), (walk_in(ordered), "order"),
    (walk_in(as_found), "found"), (walk_in(youngest_first, keep=True), "overwrite"),
    (walk_in(youngest_first, root_grad=0.0), "root"), (walk_in(youngest_first, sign=-1.0), "sign"),
    (recursion, "visits"), (doubled, "backwards"), (in_one_graph, ""),
]  # fmt: skip


@pytest.mark.parametrize(("walk", "cause"), WALKS)
def test_a_whole_walk(walk, cause):
    judged(check.backward(walk), cause)


class Number:
    """A class of one's own, as the last lesson has it."""

    def __init__(self, data, parents=(), op=""):
        self.data, self.parents, self.op, self.grad = data, parents, op, 0.0

    def __add__(self, other):
        return type(self)(self.data + other.data, (self, other), "add")

    def __mul__(self, other):
        return type(self)(self.data * other.data, (self, other), "mul")

    def backward(self, order=youngest_first):
        self.grad = 1.0
        for node in order(self):
            for k, parent in enumerate(node.parents):
                parent.grad += node.grad * (1.0 if node.op == "add" else node.parents[1 - k].data)


CLASSES = [
    ({}, RIGHT, ""), ({"backward": lambda self: Number.backward(self, as_found)}, "backward", "grad"),
    ({"__add__": Number.__mul__}, "forward", "data"), ({"__mul__": lambda self, other: None}, "raises", "TypeError"),
    ({"__add__": lambda self, other: Number(self.data + other.data)}, "parents", "parents"),
    ({"__mul__": lambda self, other: self / other}, "raises", "TypeError"),
    ({"backward": lambda self: setattr(self, "grad", "1")}, "backward", "grad"),
]  # fmt: skip


@pytest.mark.parametrize(("changed", "cause", "said"), CLASSES)
def test_a_class_of_numbers(changed, cause, said):
    report = check.backward(type("Number", (Number,), changed))
    judged(report, cause)
    assert said in report.text


def test_a_class_that_was_defined_again_has_no_backward():
    report = check.backward(type("Value", (), {"__add__": lambda a, b: a, "__mul__": lambda a, b: a}))
    assert (report.cause, "no backward()" in report.text) == ("kind", True)


def test_an_exercise_of_a_lesson_by_its_number():
    assert check.exercise("08.1", "dead", "dead")
    assert not check.exercise("08.1", "dead", "rate")
    with pytest.raises(ScalarvizError, match=r"01\.1"):
        check.exercise("99.1", 3)
    assert check.answer(5, 6, slips={5: "Count the last one."}).text.endswith("Count the last one.")


def test_a_number_of_another_cell_is_named_as_the_cause():
    """In lesson 06 `y` is a number of the notebook; a rule that uses it gives that of no input."""
    notebook = {"y": 0.0424, "np": np, "sv": sv}
    exec("def rule(a, upstream):\n    return upstream * (1 - y**2)", notebook)
    exec("def other(a, upstream):\n    return upstream * (1 + a.real)", notebook)
    report = check.exercise("06.2", notebook["rule"])
    assert (report.cause, "`y` of another cell, where it is 0.0424" in report.looks) == ("outer", True)
    assert check.exercise("06.2", notebook["other"]).cause != "outer"


def test_a_check_shows_the_first_lines_that_a_function_prints(capsys):
    check.gradient(lambda x: print(x) or 2 * x, of=lambda x: x * x)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 11
    assert (float(lines[0]), lines[-1]) == (pytest.approx(0.5478, abs=1e-4), "...")


def test_a_gradient_that_is_a_value_is_refused():
    """In a class of a pupil's own a number times an object fails, long after the check."""

    def pull(node):
        a, b = node.parents
        a.grad += node.grad * b
        b.grad += node.grad * a

    report = check.backward(pull, of="mul")
    assert (report.cause, ".data" in report.text) == ("kind", True)


def test_the_link_that_was_left_out_is_one_that_uses_the_input():
    def slopes(v, w):
        outer = 2 * (v * np.tanh(w) - 1)
        return outer * v, outer

    def of(v, w):
        return (v * sv.tanh(w) - 1) ** 2

    assert check.gradient(slopes, of=of).cause != "inner"  # tanh is not on the way to v
    report = check.gradient(lambda v, w: (slopes(v, w)[1],) * 2, of=of)
    assert (report.cause, "`mul`" in report.looks) == ("inner", True)
    taken = check.gradient(lambda v, w: (slopes(v, w)[1] * np.tanh(w), slopes(v, w)[0] * np.tanh(w)), of=of)
    assert (taken.cause, "`tanh`" in taken.looks) == ("taken", True)


def test_an_operation_of_ones_own():
    try:
        cube = sv.register("check_cube", "a", "a * a * a", ("2 * a * a",))
        for op in ("check_cube", cube):
            report = check.backward(op)
            assert (report.cause, report.where) == ("factor", "a")
        again = sv.register("check_cube", "a", "a * a * a", ("2 * a * a",))  # a cell that is run again
        assert again(sv.Value(2.0)).data == 8.0
        sv.register("check_cube_2", "a", "a * a * a", ("a * a",))
        assert check.backward("check_cube_2").hint  # the same exercise: its formula says so
        report = check.gradient(lambda x: cube(x) + x.sin())
        assert report.cause == "operation"
        assert "check_cube" in report.text
    finally:
        ops.TABLE.pop("check_cube", None), ops.TABLE.pop("check_cube_2", None)


# ---- what is said


def test_an_exercise_that_is_not_filled_in_says_where():
    def slopes(x):
        two = 2
        return two * ...

    said = check.gradient(slopes, of=square).text
    assert f"line {slopes.__code__.co_firstlineno + 2}: return two * ..." in said

    def rule(a, b, upstream): ...

    empty = check.backward(rule, of="mul"), check.answer(..., 3.0), check.module(..., like=nn.Perceptron(3))
    assert {report.state for report in empty} == {"empty"}


def test_an_error_is_told_with_its_line_and_where_and_ctrl_c_goes_through():
    def slopes(x):
        table = {}
        return table["slope"]

    said = check.gradient(slopes, of=square).text
    assert all(fact in said for fact in ("KeyError: 'slope'", 'return table["slope"]', "at x = "))

    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check.gradient(interrupted, of=square)


def test_the_second_failing_call_gives_a_hint_and_a_right_one_begins_anew():
    factor = 1

    def asked(**more):
        def slopes(x):
            return factor * x

        return check.gradient(slopes, of=square, **more)

    assert not any(check.gradient(lambda x: ..., of=square).hint for _ in range(3))  # an empty one does not count
    first, second = (asked(hint="Look at section 2.") for _ in range(2))
    assert (first.hint, "Hint" in first.text) == ("", False)
    assert second.hint.endswith(" Look at section 2.")
    assert second.hint in second.text
    factor = 2
    assert asked()
    factor = 1
    assert not asked().hint
    assert [bool(check.answer("no", truth).hint) for truth in ("yes", "maybe", "yes")] == [False, False, True]


def test_a_report_is_text_and_a_box_that_is_escaped():
    report = check.gradient(lambda x: x, of=square)
    assert str(report) == repr(report) == report.text
    assert "0 of 50" in report.text

    def slopes(x):
        raise ValueError("<script>alert(1)</script>")

    box = check.gradient(slopes, of=square)._repr_html_()
    assert "<script>" not in box
    assert all(part in box for part in ("&lt;script&gt;", 'role="status"'))
    assert "50" in check.gradient(lambda x: 2 * x, of=square).text


# ---- answers, steps, modules

ANSWERS = [
    (-3.0, 3.0, "sign"), (6.0, 3.0, "factor"), (1.5, lambda: 3.0, "factor"), (3.5, sv.Value(3.0), "large"),
    (2.9, 3, "small"), (math.nan, 3, "nan"), (None, 3, "none"), ("3", 3, "kind"), (3, "overwrite", "kind"),
    ("order", "overwrite", ""), (1025, 1024, "large"), (4191.0, lambda: 4192, "small"), (3.001, 3, RIGHT),
    (sv.Value(2.0), lambda: 2, RIGHT), ("Zero Grad", "zero_grad", RIGHT), (np.array([1024.0]), 1024, RIGHT),
    (1025.0, 1024.0, RIGHT), (1030, 1024.0 + 5, RIGHT),
    (-0.12, -0.1, "large"), (-0.07, -0.1, "small"), (-6, 18, "side"), (0.7, math.log(2), "digits"),
    ((0, 5), 0.5, "kind"),
    ("t, s -> q", "t s q", RIGHT), (["t", "s", "q"], "t s q", RIGHT), (["t", 1], "t 1", "kind"),
    ("1e-6", "1e-06", RIGHT), (1e-6, "1e-06", RIGHT), (1e-5, "1e-06", ""), (6, "pupil 6", "kind"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "truth", "cause"), ANSWERS)
def test_answers(answer, truth, cause):
    report = check.answer(answer, truth)
    judged(report, cause)
    assert report.expected is None
    assert "overwrite" not in report.text or report


def test_a_slip_that_was_rounded_and_any_other_word_are_known():
    assert "inverse" in check.answer(0.33, 3, slips={1 / 3: "This is the inverse."}).text
    words = {"red": "Red stops.", "": "Write one of the three colours."}
    assert [check.answer(word, "green", slips=words).lines[1] for word in ("Red", "blue")] == list(words.values())


def step_torch(optimizer, loss):
    optimizer.zero_grad()
    loss().backward()
    optimizer.step()


def step_without_zero(optimizer, loss):
    loss().backward()
    optimizer.step()


def step_twice(optimizer, loss):
    optimizer.zero_grad()
    loss().backward()
    step_without_zero(optimizer, loss)


def step_clears_too_late(optimizer, loss):
    loss().backward()
    optimizer.zero_grad()
    optimizer.step()


def step_early(optimizer, loss):
    optimizer.step()
    optimizer.zero_grad()
    loss().backward()


def put(rule, chosen=slice(None)):
    """A step by hand; `rule` gives the new number of a weight."""

    def step(weights, loss, lr):
        for weight in weights:
            weight.zero_grad()
        loss().backward()
        for weight in weights[chosen]:
            weight.data = rule(weight.data, weight.grad, lr)

    return step


def sgd(w, g, lr):
    return w - lr * g


def step_each(weights, loss, lr):
    for weight in weights:
        weight.grad = 0.0
        loss().backward()
        weight.data -= lr * weight.grad


def cleared(weights, loss, lr):
    weights.clear()


STEPS = [
    (put(sgd), RIGHT), (step_torch, RIGHT),
    (lambda weights, loss, lr: step_torch(optim.SGD(weights, lr=lr), loss), RIGHT),
    (step_without_zero, "zero_grad"), (step_clears_too_late, "nothing"), (step_early, "early"),
    (put(lambda w, g, lr: w + lr * g), "sign"), (put(lambda w, g, lr: w - g), "lr"),
    (put(lambda w, g, lr: w - 2 * lr * g), "long"), (step_twice, "again"),
    (put(lambda w, g, lr: w - 0.05 * g), "constant"),
    (put(lambda w, g, lr: lr * g), "replaced"), (step_each, "each"),
    (put(lambda w, g, lr: -lr * g), "replaced"), (put(lambda w, g, lr: w), "nothing"), (put(sgd, slice(1)), "some"),
    (put(sgd, slice(1, None)), "some"), (put(lambda w, g, lr: math.inf), "nan"),
    (lambda weights, loss, lr: None, "nothing"), (lambda weights: None, "arguments"),
    (lambda weights, loss, lr: weights.nonsense, "raises"), (cleared, "weights"),
]  # fmt: skip


@pytest.mark.parametrize(("step", "cause"), STEPS)
def test_steps_of_training(step, cause):
    judged(check.training(step), cause)


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
    RIGHT: Neuron,
    "activation": neuron(lambda self, x: self.total(x)),
    "bend": neuron(lambda self, x: sv.sigmoid(self.total(x))),
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
    judged(check.module(MODULES[cause], like=like), cause)
    assert all((before[name] == array).all() for name, array in like.state_dict().items())


def test_a_module_with_layers_with_arguments_made_already_or_by_itself():
    like = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2))

    class Net(nn.Module):
        def __init__(self, hidden):
            self.first, self.second = nn.Linear(2, hidden), nn.Linear(hidden, 2)

        def forward(self, x):
            return self.second(sv.tanh(self.first(x)))

    assert check.module(Net, 3, like=like, inputs=2)
    assert check.module(Net(3), like=like, inputs=2)
    report = check.module(Net, 4, like=like, inputs=2)
    assert (report.cause, report.got, report.expected) == ("parameters", 22, 17)
    empty = type("Empty", (nn.Module,), {"forward": lambda self, x: x[0]})
    for module, cause in ((Neuron, RIGHT), (MODULES["detached"], "detached"), (empty, "parameters"), (int, "kind")):
        judged(check.module(module, inputs=3), cause)


@pytest.mark.parametrize("form", [
    lambda row: row, list, tuple, np.array, lambda row: sv.stack([row]), lambda row: [[v] for v in row],
    lambda row: {"outputs": row}, lambda row: (row[:1], row[1]),
])  # fmt: skip
def test_outputs_in_lists_and_arrays_are_judged_equally(form):
    class Rows(nn.Module):
        def __init__(self):
            self.weight, self.bias = nn.Parameter(np.zeros((2, 3))), nn.Parameter(np.zeros(2))

        def forward(self, x):
            return form(self.weight @ x + self.bias)

    assert check.module(Rows, like=nn.Linear(3, 2))


def test_an_array_of_one_value_is_a_value():
    net = nn.Linear(2, 1, seed=1)
    assert sv.gradcheck(lambda x, y: net([x, y]), 0.3, 0.4)
    assert check.gradient(lambda x, y: net([x, y]))
    assert check.gradient(lambda x, y: net.weight.data[0], of=lambda x, y: net([x, y]))


def test_a_unit_that_adds_up_no_products_is_asked_for_the_sum():
    unit = neuron(lambda self, x: sv.tanh(sv.stack(self.w) * x + self.b))
    assert "add up" in check.module(unit, like=nn.Perceptron(3, activation=nn.Tanh())).text


# ---- bad arguments of those who write exercises

BAD = [
    "gradient(3, of=square)", "gradient(square, of='nonsense')", "gradient(square, of=lambda x: x.data)",
    "gradient(lambda: 1.0, of=lambda: sv.Value(1.0))", "gradient(square, of=square, between=(2, -2))",
    "gradient(square, of=square, between=(0, math.inf))", "gradient(lambda x: x, of=sv.log, between=(-2, -1))",
    "gradient(square, of=square, tolerance=0)", "gradient(square, of=square, hint=3)",
    "gradient(square, of=square, seed=-1)", "gradient(square, by=square)", "backward('lt')", "backward(3)",
    "backward(lambda a, b: 1)", "backward(lambda node: None, of=lambda a, b: a * b + a)", "training(3)",
    "training(put(sgd), square)", "module(3, inputs=3)", "module(Neuron)", "module(Neuron, like=3)",
    "module(Neuron, inputs=0)", "answer(1.0)", "answer(1.0, [1.0])", "answer(1.0, 1.0, title=3)",
    "answer(1.0, 1.0, slips=3)", "answer(2.0, 1.0, slips={(): 'no number'})", "exercise(1, 2)",
]  # fmt: skip


@pytest.mark.parametrize("call", BAD)
def test_bad_arguments_are_refused_in_words(call):
    with pytest.raises(ScalarvizError) as caught:
        eval(f"check.{call}")
    assert len(str(caught.value)) > 20


# ---- code that never ends


def loops(*given):
    while True:
        pass


def catches(*given):
    while True:
        try:
            loops()
        except Exception:
            continue


def yields(*given):
    yield 1.0
    loops()


class Looping(nn.Perceptron):
    def forward(self, *given):
        loops()


class Adding(sv.Value):
    def __add__(self, other):
        loops()


ENDLESS = {
    "gradient": lambda seconds: check.gradient(lambda x: loops(), of=lambda x: x * x, seconds=seconds),
    "of Values": lambda seconds: check.gradient(lambda x: loops(), seconds=seconds),
    "generator": lambda seconds: check.gradient(lambda x, y: yields(), of=lambda x, y: x * y, seconds=seconds),
    "caught": lambda seconds: check.gradient(lambda x: catches(), of=lambda x: x * x, seconds=seconds),
    "rule": lambda seconds: check.backward(lambda a, b, upstream: loops(), of="mul", seconds=seconds),
    "walk": lambda seconds: check.backward(lambda root: loops(), seconds=seconds),
    "class": lambda seconds: check.backward(Adding, seconds=seconds),
    "step": lambda seconds: check.training(lambda weights, loss, lr: loops(), seconds=seconds),
    "module": lambda seconds: check.module(Looping(2), like=nn.Perceptron(2), seconds=seconds),
    "exercise": lambda seconds: check.exercise("01.2", lambda *given: loops(), seconds=seconds),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_code_that_never_ends_is_stopped_and_the_next_check_is_as_ever(kind):
    judged(ENDLESS[kind](0.05), "time")
    judged(check.gradient(lambda x, y: (y + 1, x), of=lambda x, y: x * y + x, seconds=1e9), RIGHT)


def test_the_time_is_a_number_of_seconds():
    for seconds in (0, -1, math.nan, "10", None):
        with pytest.raises(ScalarvizError, match="seconds"):
            check.gradient(lambda x: 2 * x, of=lambda x: x * x, seconds=seconds)


CLASS = """
class Number:
    def __init__(self, data, parents=(), back=lambda: None):
        self.data, self.grad, self.parents, self.back = data, 0.0, parents, back

    def __add__(self, other):
        {}

    __mul__ = __add__

    def backward(self):
        pass
"""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("return Number(self + other)", "self.data + other.data, not self + other"),
        ("return self.data + other.data", "returns a Value, not a number"),
        ("pass", "is a return missing"),
    ],
)
def test_a_usual_slip_of_a_class_is_named(line, said):
    names = {}
    exec(CLASS.format(line), names)
    assert said in str(check.backward(names["Number"]))


def test_a_number_in_quotation_marks_and_an_exercise_without_its_zero():
    assert "without quotation marks: 18" in str(check.answer("18", 18))
    assert str(check.exercise("1.1", 6)).startswith("✗ 01.1: not 6.")
    assert str(check.answer(math.nan, 1.0)).count("at some points") == 0


TRACED = """
import sys, threading
from scalarviz import check

check.answer(1, 1)
sys.settrace(lambda *_: None)
for _ in range(100):
    threading.RLock()
sys.settrace(None)
print("ended")
"""


@pytest.mark.ci
def test_after_a_check_a_debugger_goes_on(tmp_path):
    assert python(TRACED, tmp_path).out == "ended\n"
