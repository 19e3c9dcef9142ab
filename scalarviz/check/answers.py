"""The exercises of the lessons: right answers, and words for usual wrong ones. `sv.check.exercise` reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import permutations
from types import MappingProxyType
from typing import Any
from zlib import crc32

import numpy as np

from ..errors import ScalarvizError, shown
from ..nn import LayerNorm, Linear, Module, Parameter, Perceptron, Sequential, Sigmoid
from ..scalar import Value, ops, register
from ..scalar import functions as sv
from ..scalar.functions import function
from .answer import answer
from .backward import backward, report_of
from .gradient import gradient
from .module import module
from .points import COUNT, near
from .pupil_code import call_pupil, check_filled, inputs_of, matching, title_of
from .report import SECONDS, CheckEnded, Report, run_check, wrong_report
from .training import OwnNumber, problems, training, training_of
from .walks import check_class, check_walk


@dataclass(frozen=True, slots=True)
class Exercise:
    """An exercise: its check, the right answer, usual wrong answers with their words, and a hint for the second try.

    `right` is the answer, or the object that the check compares with (`of`, `like`). Keys of `slips` are wrong answers:
    numbers, words, or functions and classes that stand for the pupil's.
    """

    check: Callable[..., Report]
    right: Any = None
    slips: Mapping[Any, str] = field(default_factory=dict)
    hint: str = ""

    def report(self, given: Any, seconds: float = SECONDS) -> Report:
        """Return the report of the check, without slips."""
        name = {"module": "like"}.get(self.check.__name__, "of")
        right = {} if self.right is None else {name: self.right}
        return self.check(given, **right, hint=self.hint, seconds=seconds)


class Bump(Module):
    """``exp(-a * a)`` of each number, a bell curve, which the lesson registers."""

    def forward(self, x: Any) -> Any:
        """Return the bell curve of each number."""
        name = "lesson_bump"
        bump = function(name) if name in ops.TABLE else register(name, "a", "exp(-a * a)", ("-2 * a * y",))
        return bump(x)


def sums_and_products(rule: Any, of: Any = None, hint: str = "", seconds: float = SECONDS) -> Report:
    """Check the backward rules of both operations; report the first wrong one."""

    def find() -> Report:
        reports = [report_of(rule, op, "", title_of(rule), (None, 1e-5, 0)) for op in ("add", "mul")]
        return next((report for report in reports if not report), reports[-1])

    return run_check("backward", title_of(rule), hint, find, seconds=seconds)


def forward_alone(cls: Any, of: Any = None, hint: str = "", seconds: float = SECONDS) -> Report:
    """Check the forward results of a pupil's class of numbers."""
    return _check_filled(cls, "Value", hint, seconds, lambda: check_class(cls, "Value", 1e-5, 0, False))


def plain_walk(walk: Any, of: Any = None, hint: str = "", seconds: float = SECONDS) -> Report:
    """Check a walk back through graphs of sums and products; its push needs nodes with two parents."""
    report = _check_filled(walk, "backward", hint, seconds, lambda: check_walk(walk, "backward", 1e-5, 0, True))
    leaf = report.cause == "raises" and "not enough values to unpack" in report.text
    return replace(report, looks="`order` holds a node without parents, which has nothing to push.") if leaf else report


def training_without_helpers(step: Any, of: Any = None, hint: str = "", seconds: float = SECONDS) -> Report:
    """Check one step of gradient descent with weights that have a number and a gradient, and no method for a step."""
    return training_of(step, problems(0, OwnNumber), hint, seconds)


def optimiser_step(step: Any, of: Any, hint: str = "", seconds: float = SECONDS) -> Report:
    """Check a function of numbers that returns a weight and its speed after a step, as `of` does."""
    title = title_of(step)

    def find() -> Report:
        check_filled(step)
        names = matching(inputs_of(step, "check.exercise: step"), inputs_of(of, "check.exercise: of"))
        rows = np.random.default_rng(0).uniform(0.1, 1.0, (COUNT, len(names)))
        rows[:, :3] = 4 * rows[:, :3] - 2  # the weight, its speed and its gradient have both signs
        got = np.array([_weight_and_speed(step, row) for row in rows.tolist()])
        wanted = np.array([of(*row) for row in rows.tolist()])
        right = near(got, wanted, 1e-9)
        if right.all():
            return Report(title, "right", (f"right for all {COUNT} steps.",))
        k = int(np.argmin(right.all(axis=0)))
        at, what = int(np.argmin(right[:, k])), ("weight", "speed")[k]
        place = ", ".join(f"{name} = {number:.4g}" for name, number in zip(names, rows[at], strict=True))
        lines = (
            f"not yet: {right.all(axis=1).sum()} of {COUNT} steps agree.",
            f"at {place}: new {what}: you returned {got[at, k]:.6g}; expected {wanted[at, k]:.6g}.",
        )
        report = wrong_report(title, lines, where=what, got=float(got[at, k]), expected=float(wanted[at, k]))
        return replace(report, given=got)

    return run_check("answer", title, hint, find, seconds=seconds)


def own_norm(cls: Any, of: Any = None, hint: str = "", seconds: float = SECONDS) -> Report:
    """Check a pupil's layer norm without weights; a small number may be added to the variance."""
    like = LayerNorm(4, eps=0.0, elementwise_affine=False)
    return module(cls, like=like, inputs=4, tolerance=1e-3, hint=hint, seconds=seconds)


def formula(given: Any, of: Any, hint: str = "", seconds: float = SECONDS) -> Report:
    """Check slopes written as texts; `of` is the operation: the names of its inputs, and its value."""
    title = f"slope of {of[1]}"

    def find() -> Report:
        slopes = given if isinstance(given, tuple) else (given,)
        for slope in slopes:
            check_filled(slope)
            if not isinstance(slope, str):
                raise CheckEnded("kind", f"Expected a text in quotation marks; you gave {shown(slope)}.")
        try:
            operation = register(f"own_{crc32(f'{of} {slopes}'.encode()):x}", of[0], of[1], slopes)
        except ScalarvizError as error:
            fault = str(error).rpartition(": ")[2].partition("; allowed")[0]
            allowed = f"Write it with numbers, {', '.join(of[0].split())}, + - * / ** and functions such as exp"
            raise CheckEnded("kind", f"{fault}. {allowed}; 3 * a, not 3a; a ** 2, not a^2.") from None
        try:
            return replace(report_of(operation, None, operation.__name__, title, (None, 1e-5, 0)), title=title)
        finally:
            ops.TABLE.pop(operation.__name__, None)  # of this check alone

    return run_check("backward", title, hint, find, seconds=seconds)


class Unit(Module):
    """A unit with a typical mistake: `made` computes its output from the products and the bias."""

    def __init__(self, made: Callable[[Any, Any], Any], bias: bool = True) -> None:
        self.weight, self.made = Parameter([0.1, 0.2, 0.3]), made
        self.bias: Any = Parameter([0.0]) if bias else [0.0]

    def forward(self, x: Any) -> Any:
        """Return the output of the wrong unit."""
        return self.made(self.weight * x, self.bias[0])


class Normed(Module):
    """A layer norm with a typical mistake: `mean` of the numbers, and `variance` of the numbers and that mean."""

    def __init__(
        self, mean: Callable[[list[Any]], Any] | None = None, variance: Callable[[list[Any], Any], Any] | None = None
    ) -> None:
        self.mean, self.variance = mean, variance

    def forward(self, x: Any) -> Any:
        """Return the normalised numbers."""
        mean = (self.mean or _mean)([*x])
        variance = Value(0.0) + (self.variance or _variance)([*x], mean)
        return [(number - mean) / sv.sqrt(variance) for number in x]


def early(order: tuple[str, ...]) -> str:
    """Return words for the node that passes on too early in an order of exercise 04.3."""
    for user, used in ("ts", "tq", "sp", "sq", "qp"):
        if order.index(user) > order.index(used):
            return f"{user} uses {used}, so {user} has to push before {used}."
    raise ValueError(order)


ORDERS = {" ".join(order): early(order) for order in permutations("tsqp") if order != tuple("tsqp")}


def _rolled(w: float, speed: float, lr: float) -> tuple[float, float]:
    """Return the weight of exercise 14.3 after a step with a speed, and this speed."""
    return w - lr * speed, speed


def _momentum_step(w: float, speed: float, gradient: float, lr: float, momentum: float) -> tuple[float, float]:
    return _rolled(w, momentum * speed + gradient, lr)


ILLNESSES = {
    "symmetric": "Then all hidden units would be equal. How many different units does this patient have?",
    "rate": "Then the weights would jump far away. How large are they?",
    "dead": "Then every hidden unit would output 0, and the gradient would be exactly 0.",
    "saturated": "Then every hidden unit would output almost 1, and the gradient would be tiny.",
    "bias": "Then the answer to 0 0 would be exactly 0.",
    "healthy": "The answers are not right. Compare them with the four targets.",
    "": "Use one of the five words of the table.",
}
NUMBERS = "A unit has three numbers: write each without quotation marks and without brackets."
ANSWERS = MappingProxyType({
    # ---- 01 One weight
    "01.1": Exercise(answer, 18.0, {
        6: "This is the slope of the loss with respect to y. Multiply it by the slope of y with respect to w.",
        9: "The slope of a square has a factor 2.",
        3: "This is y, or the slope of y with respect to w. The loss has a slope, too.",
        2: "This would be the gradient if the loss were w**2. Where is x?",
        54: "One factor x is too many.",
        0: "The gradient is 0 only where the loss is smallest.",
    }, "First find the slope of the loss with respect to y. Then multiply it by which number?"),
    "01.2": Exercise(backward, "mul"),
    "01.3": Exercise(answer, 0.125, {
        5: "This is the distance to the goal. The step is the rate times the gradient.",
        8: "This is the other way round: divide the distance by the gradient.",
        0.05: "This is the rate of section 6: it leaves 0.6 of the distance.",
        0.3: "This rate overshoots: the weight lands beyond the goal.",
        0.1: "Close: one step then leads to 1, not to 2.",
        40: "This is the size of the gradient.",
        0.2: "One step then leads to 5.",
        0.025: "One step then leads to -2. How far is it from -3 to 2?",
    }, "How large is the distance to the goal? How far does a step with rate 1 go?"),
    # ---- 01b A neuron
    "01b.1": Exercise(answer, -1.5, {
        -2: "The bias is missing.",
        6.5: "One weight is negative: its product is subtracted.",
        -2.5: "The bias is added, not subtracted.",
        -1: "The bias is added, not multiplied.",
        1.5: "The weights were added without their inputs.",
        5: "These are the inputs, added. Multiply each by its weight first.",
        7.5: "The first weight belongs to the first input, the second weight to the second.",
        0.1824: "This is the output of the neuron. The sum comes before the sigmoid.",
        2: "This is the first product alone.",
    }, "Two products, then add the bias."),
    "01b.2": Exercise(answer, 0.16, {
        0.8: "This is the output itself. Its slope is out * (1 - out).",
        0.2: "This is 1 - out, one of two factors.",
        0.64: "This is out * out. The second factor is 1 - out.",
        0.25: "This is the largest slope that a sigmoid has, at the output 0.5.",
        0.36: "This is 1 - out**2, the slope of a tanh.",
        0.69: "This is the sigmoid of 0.8. The 0.8 is the output already.",
        0.2139: "This is the slope where the sum is 0.8. Here 0.8 is the output already.",
        1: "Only a straight line has this slope everywhere.",
    }, "The slope of a sigmoid is its output times (1 - output)."),
    "01b.3": Exercise(answer, -0.1, {
        -0.3: "This is the gradient of the weight. The bias is multiplied by no input.",
        -0.4: "The slope of the sigmoid is missing.",
        -1.2: "This is the weight's gradient without the slope of the sigmoid.",
        -0.6: "The bias is multiplied by no input, and one factor of out * (1 - out) is missing.",
        -0.2: "The slope of the sigmoid is out * (1 - out); one factor is missing.",
        0.25: "This is the slope of the sigmoid alone. The loss has a slope, too.",
        0: "The bias is part of the sum, so it moves the output.",
        -0.033: "The bias is multiplied by 1, not divided by the input.",
    }, "By which number is the bias multiplied? That number is the last factor."),
    "01b.4": Exercise(gradient, lambda w, b: ((3 * w + b).sigmoid() - 1) ** 2, {
        lambda w, b: _unit(w, b, lambda out: 1 - out * out): "this is the slope of a tanh: 1 - out**2.",
        lambda w, b: _unit(w, b, lambda out: out): "out is the output of the sigmoid, not its slope.",
        lambda w, b: _unit(w, b, lambda out: 1 - out): "this is one of two factors: out is missing.",
        lambda w, b: _unit(w, b, lambda out: _sigmoid(out) * (1 - _sigmoid(out))): "the sigmoid was applied twice: "
        "out is its output already.",
        lambda w, b: (_unit(w, b)[1],) * 2: "w is multiplied by its input, 3: its slope has this factor.",
    }, "Three links: the square, the sigmoid, the sum."),
    # ---- 02 RGB by hand
    "02.1": Exercise(module, Perceptron(3, activation=Sigmoid()), {
        Unit(lambda products, bias: sum(products).sigmoid() + bias): "add the bias to the sum, before the "
        "sigmoid.",
        Unit(lambda products, bias: sum(each.sigmoid() for each in products) + bias): "apply the sigmoid once, "
        "after the sum.",
        Unit(lambda products, bias: (sum(products) * bias).sigmoid()): "the bias is added, not multiplied.",
    }),
    "02.2": Exercise(gradient, lambda out, target: (out - target) ** 2, {
        lambda out, target: (2 * out, 2 * target): "square the difference, not each number.",
        lambda out, target: (2 * out, -2 * target): "square the difference, not each number.",
    }),
    "02.3": Exercise(training_without_helpers),
    "02.4": Exercise(answer, 243, {
        3: "This is for one colour and one unit.",
        9: "This is for one colour.",
        27: "This is the number of colours. How many products does each need?",
        81: "Each colour meets nine weights, not three.",
        324: "A bias is added, not multiplied.",
        12: "This is the number of weights and biases.",
        486: "Count forward only. Backward needs more products.",
        14580: "This is for all sixty steps.",
        1944: "These are the products of 216 colours; here there are fewer.",
    }, "How many products does one colour need, and how many colours are there?"),
    # ---- 03 Why a hidden layer
    "03.1": Exercise(answer, "0 0 0 1", {
        "0 1 1 1": "This is *or*: it says 1 as soon as one bit is 1. Lower the bias.",
        "1 1 1 1": "It says 1 to everything: the bias is too high.",
        "0 0 0 0": "It says 0 to everything: the bias is too low.",
        "1 1 1 0": "This is the opposite. Change the sign of all three numbers.",
        "1 0 0 0": "It says 1 for 0 0 alone. The weights have the wrong sign.",
        "0 0 1 1": "It looks at the first bit alone: the second weight is too small.",
        "0 1 0 1": "It looks at the second bit alone: the first weight is too small.",
        "0 0 1 0": "It says 1 for 1 0 alone. The second weight has the wrong sign.",
        "0 1 0 0": "It says 1 for 0 1 alone. The first weight has the wrong sign.",
        "1 0 1 1": "It says 0 for 0 1 alone. The second weight has the wrong sign.",
        "1 1 0 1": "It says 0 for 1 0 alone. The first weight has the wrong sign.",
        "1 1 0 0": "It says 1 where the first bit is 0. The first weight has the wrong sign.",
        "1 0 1 0": "It says 1 where the second bit is 0. The second weight has the wrong sign.",
        "": NUMBERS,
    }, "What are the four sums w0 * x + w1 * y? With the bias added, only the largest may be above 0."),
    "03.2": Exercise(answer, "1 1 1 0", {
        "0 0 0 1": "This is *and*, the opposite. What happens if all three numbers change their sign?",
        "0 1 1 1": "This is *or*. For 1 1 the answer should be 0.",
        "1 1 1 1": "It says 1 to everything: the bias is too high.",
        "0 0 0 0": "It says 0 to everything: the bias is too low.",
        "1 0 0 0": "It says 1 for 0 0 alone: raise the bias.",
        "1 1 0 0": "It looks at the first bit alone.",
        "1 0 1 0": "It looks at the second bit alone.",
        "0 0 1 0": "It says 1 for 1 0 alone. Which sign does the first weight need?",
        "0 1 0 0": "It says 1 for 0 1 alone. Which sign does the second weight need?",
        "1 0 1 1": "It says 0 for 0 1 alone. Which sign does the first weight need?",
        "1 1 0 1": "It says 0 for 1 0 alone. Which sign does the second weight need?",
        "0 0 1 1": "It says 1 where the first bit is 1. Which sign does the first weight need?",
        "0 1 0 1": "It says 1 where the second bit is 1. Which sign does the second weight need?",
        "": NUMBERS,
    }, "What does a unit say if all three of its numbers change their sign?"),
    "03.3": Exercise(answer, 6.0, {
        5: "Weights of layers in a row are multiplied, not added.",
        -1: "This is the bias of the one unit.",
        2: "This is the weight of the first unit alone.",
        3: "This is the weight of the second unit alone.",
        1: "Multiply the two weights.",
        7: "The bias of the first unit adds no weight.",
        9: "The bias of the first unit adds no weight.",
        1.5: "Multiply the two weights; do not divide them.",
    }, "Write 3 * (2 * x + 1) - 4 without brackets. Which number multiplies x?"),
    "03.4": Exercise(answer, -0.138855, {
        -0.0644925: "This is the first of two questions whose answer is 1. Add the other one.",
        -0.0743629: "This is the second of two questions whose answer is 1. Add the other one.",
        0.137707: "These are the two questions whose answer is 0.",
        -0.154037: "This is the second column.",
        -0.174748: "This is the third column.",
        -0.001149: "This is the sum of all four.",
        -0.148306: "These are the first two numbers of a row. A question is a row; add down the column.",
    }, "A row of the table is a question. Which two rows have the answer 1?"),
    "03.5": Exercise(backward, "sigmoid", {
        lambda a, upstream: upstream * (1 - _sigmoid(a) ** 2): "this is the slope of tanh: 1 - y * y.",
        lambda a, upstream: upstream * (1 - np.tanh(a) ** 2): "this is the rule of tanh, not of the sigmoid.",
        lambda a, upstream: upstream * _sigmoid(a): "this is the output of the sigmoid, not its slope.",
        lambda a, upstream: upstream * (1 - _sigmoid(a)): "this is one of two factors: y is missing.",
        lambda a, upstream: upstream * _sigmoid(a) * (1 - a): "use the output y in both factors, not a.",
        lambda a, upstream: a * (1 - a): "y is the output, not a; and the upstream gradient is missing.",
        lambda a, upstream: upstream * _sigmoid(_sigmoid(a)) * (1 - _sigmoid(_sigmoid(a))): "the sigmoid was applied "
        "twice: y is its output already.",
    }),
    # ---- 04 The order of backward
    "04.1": Exercise(answer, 7.0, {
        6: "This comes through `b` alone. `c` uses `a` directly, too.",
        1: "This comes directly from `c`. The path through `b` is missing.",
        4: "`b` is `a * a`, so its slope is `2 * a`.",
        3: "This is the value of `a`.",
        12: "This is the value of `c`.",
        9: "This is the value of `b`.",
        5: "`b` uses `a` twice, and each use passes on 3.",
    }, "`b` and `c` use `a`: add what each of them passes on."),
    "04.2": Exercise(answer, 1.0, {
        7: "This would be right in the correct order. Here `b` passes on too early.",
        6: "`b` passes its gradient on before it has one.",
        0: "`c` also passes a gradient to `a` directly.",
        3: "This is the value of `a`. Which gradient does `b` have when it passes on?",
        2: "`c` uses `a` once.",
        9: "This is the value of `b`.",
        8: "`b` passes on once, and too early.",
    }, "When `b` passes on first, which gradient does it have?"),
    "04.3": Exercise(answer, "t s q p", {
        **ORDERS,
        "p q s t": "This is the order of forward. Backward begins at the result.",
        "": "Write each of the four letters once, such as \"p q s t\".",
    }, "Which nodes use q? All of them push before q."),
    "04.4": Exercise(backward),
    # ---- 05 Whose gradient is it?
    "05.1": Exercise(answer, 18.0, {
        6: "This is one gradient. Nobody cleared it, so all three calls are added.",
        12: "These are two calls; there were three.",
        216: "The calls are added, not multiplied.",
        9: "This is the loss. Its slope is 2 * w.",
        27: "Three times the loss. Add three slopes.",
        3: "w * w uses w twice: the slope is 2 * w.",
        0: "Nobody cleared the gradient.",
    }, "Every call finds the same gradient. What happens to the earlier ones?"),
    "05.2": Exercise(gradient, lambda w, x: w * w * x + w, {
        lambda w, x: (2 * w * x + w, w * w): "the last w has the slope 1.",
        lambda w, x: (2 * w * x + 1, w * w + w): "the last w does not depend on x.",
        lambda w, x: (w * w * x + 1, w * w): "the slope of w * w is 2 * w.",
        lambda w, x: (2 * w + 1, w * w): "x is a factor of the first part.",
    }),
    "05.3": Exercise(training),
    "05.4": Exercise(answer, 3, {
        4: "The mean already divides each portion by 4.",
        12: "The mean already divides each portion by 4. Only one factor is left.",
        1: "Without a division the sum of three means is too large.",
        2: "How many portions are there?",
        0.25: "Divide by a number above 1.",
        9: "One factor 3 is enough.",
        1 / 3: "This is the factor. The question asks for the divisor.",
    }, "By which number does the mean divide each portion?"),
    # ---- 06 The chain rule
    "06.1": Exercise(answer, 2 * 0.0424432, {
        0.0424432: "The slope of a square has a factor 2.",
        -1.9151136: "This is delta for the target 1.",
        0.0018: "This is the loss. Delta is its slope.",
        1.9151136: "This is delta for the target 1, with another sign.",
        0.9575568: "This is the distance to the old target.",
        -0.0848864: "Is the output above or below the target?",
        0: "The output is not at the target yet.",
    }, "Delta is the slope of (y - target) ** 2 with respect to y. What is the target now?"),
    "06.2": Exercise(backward, "tanh", {
        lambda a, upstream: upstream * np.tanh(a) * (1 - np.tanh(a)): "this is the slope of a sigmoid: y * (1 - y).",
        lambda a, upstream: upstream * _sigmoid(a) * (1 - _sigmoid(a)): "this is the rule of the sigmoid, not of tanh.",
        lambda a, upstream: upstream * np.tanh(a): "this is the output of tanh, not its slope.",
        lambda a, upstream: upstream * (1 - np.tanh(a)): "the result is squared in the slope: 1 - y**2.",
        lambda a, upstream: upstream * (1 - np.tanh(a)) ** 2: "the square belongs to the result alone: 1 - y**2.",
        lambda a, upstream: upstream * (1 - np.tanh(a**2)): "the result is squared, not the input: 1 - y**2.",
        lambda a, upstream: upstream * (1 + np.tanh(a) ** 2): "the square is subtracted: 1 - y**2.",
        lambda a, upstream: 1 - np.tanh(a) ** 2 * upstream: "put brackets around the slope: upstream multiplies it.",
        lambda a, upstream: upstream - np.tanh(a) ** 2: "put brackets around the slope: upstream multiplies it all.",
    }),
    "06.3": Exercise(gradient, lambda v, w: (v * sv.tanh(w) - 1) ** 2, {
        lambda v, w: _chain(v, w, by_v=v): "the slope of a product with respect to v is its other factor.",
        lambda v, w: _chain(v, w, outer=2 * v * np.tanh(w) - 1): "the 2 multiplies the whole bracket.",
        lambda v, w: _chain(v, w, bend=1 - w**2): "the slope of tanh is 1 - y**2; y is its output, not w.",
    }),
    "06.4": Exercise(gradient, lambda w, b, v: (v * (3 * w + b) - 1) ** 2),
    "06.5": Exercise(answer, 0.0, {
        -3.7922: "This is the gradient with the old v0.",
        -1.8961: "The factor v0 was left out. It is 0 now.",
        1: "The slope of a product is its other factor: v0.",
        -1.9151136: "This is delta of y. It goes on through v0.",
        2: "This is the old v0.",
        0.5: "This is the value of w00.",
        0.9900: "This is the slope of tanh. The path has other factors, too.",
    }, "Which factors lie on the path from w00 to the loss? v0 is one of them."),
    # ---- 07 Why did this cube move?
    "07.1": Exercise(answer, "pupil 6", {
        "pupil 4": "Pupil 4 pulls hardest at the weight of practice. Here the question is sleep.",
        "pupil 5": "This is the weakest pull. A large pull may be negative: look at the size.",
        "pupil 0": "Pupil 0 sleeps most, but a pull is delta times sleep.",
        "pupil 2": "This pull is only the third largest.",
        "pupil 3": "Look at the sizes of all eight numbers.",
        "pupil 7": "Look at the sizes of all eight numbers.",
        "pupil 1": "Look at the sizes of all eight numbers.",
        "": "Write \"pupil 0\" to \"pupil 7\".",
    }, "A large pull may be negative. Write \"pupil 0\" to \"pupil 7\"."),
    "07.2": Exercise(answer, -1.1975, {
        -0.30375: "This is the strongest pull alone.",
        -0.1496875: "The eight numbers are divided by 8 already.",
        -9.58: "The eight numbers are divided by 8 already; do not multiply again.",
        -0.94998: "One pupil is missing.",
        -0.24749: "This is one pupil's pull.",
        -0.13500: "This is the pull of pupil 0.",
        0.11975: "This is the step. The gradient comes before the learning rate.",
        -0.11975: "This is the gradient times the learning rate.",
        -1.2825: "This is the gradient of the weight of practice.",
        -0.800921: "This is the gradient in step 2.",
    }, "The gradient is what all pupils pull together."),
    "07.3": Exercise(answer, 7, {
        6: "After 6 steps 0.53 of the speed is left.",
        6.5788: "Count whole steps. After which step is less than half left for the first time?",
        5: "Half of the speed is not 5 steps of 10 % of the first speed: each step takes 10 % of what is left.",
        10: "The speed falls slower and slower, but half is reached before that.",
        2: "Each step keeps 0.9, not 0.5.",
        0.9: "Expected a number of steps.",
        8: "It falls below half one step earlier.",
        -1: "Expected a number of steps.",
    }, "Multiply by 0.9 again and again, and count."),
    "07.4": Exercise(gradient, lambda w, b: ((w + b - 2) ** 2 + (3 * w + b - 4) ** 2) / 2, {
        lambda w, b: _two(w, b, (w, w), (b, b)): "each δ is multiplied by the x of its sample, which is a number.",
        lambda w, b: _two(w, b, (3, 1), (1, 1)): "the two samples are exchanged: the first x is 1.",
    }),
    # the notebook draws the cases at random
    **{f"08.{k}": Exercise(answer, "", ILLNESSES, "Which line differs from the healthy network?") for k in range(1, 6)},
    # ---- 09 Is my gradient right?
    "09.1": Exercise(gradient, lambda x: x**3 - 2 * x, {
        lambda x: (_cubic(x + 1e-5) - _cubic(x)) / 1e-5: "this nudges to one side only. It is near, but not as exact.",
        lambda x: (_cubic(x + 1e-5) - _cubic(x)) / 2e-5: "this nudges to one side only, and divides by two nudges.",
        lambda x: (_cubic(x) - _cubic(x - 1e-5)) / 2e-5: "this nudges to one side only, and divides by two nudges.",
        lambda x: (_cubic(x + 1e-5) + _cubic(x - 1e-5)) / 2e-5: "the two results are subtracted, not added.",
        lambda x: _cubic(x + 1e-5) - _cubic(x - 1e-5): "this is the change of f. Divide it by the change of x.",
        lambda x: (_cubic(x + 1e-5) - _cubic(x - 1e-5)) / 1e-5: "the distance from x - h to x + h is 2 * h, not h.",
        lambda x: 1.0: "x was nudged, but not f: compute f at both places.",
        lambda x: (_cubic(x + 1e-5) - _cubic(x - 1e-5)) / 2 * 1e-5: "the result is almost 0: take two different places "
        "and put brackets around 2 * h.",
        lambda x: _cubic(x + 1e-5) - _cubic(x - 1e-5) / 2e-5: "put brackets around the difference.",
    }),
    "09.2": Exercise(answer, "1e-06", {
        "1e-12": "This is the smallest nudge. Which line has the smallest error?",
        "1e-01": "This is the largest nudge.",
        "1e-02": "Smaller nudges are better than this one.",
        "1e-05": "This is nearly the best. Compare its error with that of the next line.",
        "1e-04": "Smaller nudges are better than this one.",
        "1e-03": "Smaller nudges are better than this one.",
        **{f"1e-{power:02}": "Here the error is already rising again." for power in range(7, 12)},
        "": "Write one of the nudges of the table, such as \"1e-01\".",
    }, "Look for the smallest error, not the smallest nudge. Write \"1e-01\" to \"1e-12\"."),
    "09.3": Exercise(backward, "exp", {
        lambda a, upstream: upstream * a * np.exp(a): "this is the remembered rule. Nudging shows that it is wrong.",
        lambda a, upstream: upstream * a * np.exp(a - 1): "this is the slope of a power; a is the exponent here.",
        lambda a, upstream: upstream / a: "this is the slope of the logarithm.",
        lambda a, upstream: upstream * np.exp(-a): "the exponent has the wrong sign.",
    }),
    "09.4": Exercise(answer, "layer 2", {
        "layer 1": "Then the gradients of layer 2 would be right.",
        "layer 3": "Then the gradients of layer 3 would be wrong, too.",
        "layer 4": "Then the gradients of layers 3 and 4 would be wrong, too.",
        "layer 5": "The last layer has no activation.",
        "layers 1 and 2": "One activation is enough: its error spreads towards the input.",
        "layer 0": "The layers are numbered from 1 to 5.",
        "": "Write it as \"layer 1\" to \"layer 4\".",
    }, "A wrong gradient spreads backwards, as far as the input."),
    # ---- 10 Your own operation
    "10.1": Exercise(formula, ("a", "a * a * a")),
    "10.2": Exercise(formula, ("a", "a / (1 + abs(a))"), {
        "1 / (1 + abs(a))": "a is in the denominator, too: the slope of a quotient has its square.",
        "1 / (1 + a * a)": "the square belongs to the whole bracket.",
    }),
    "10.3": Exercise(formula, ("a b", "a * a - b * b")),
    "10.4": Exercise(module, Sequential(Linear(3, 1, bias=False), Bump()), {
        Unit(lambda products, bias: sum(products), False): "the bump at the end is missing.",
        Unit(lambda products, bias: sum(Bump().forward(products)), False): "apply the bump once, after the sum.",
    }),
    # ---- 11 From a neuron to a GPT
    "11.1": Exercise(answer, 0.25, {
        4: "Shares add up to 1.",
        1: "This is the sum of all shares.",
        0: "Each letter gets something: exp(score) is never 0.",
        1.7: "This could be a score. A share lies between 0 and 1.",
        1 / 27: "Here there are four letters, not 27.",
        0.5: "This would be right for two letters.",
        25: "Write a share of 1, not a percentage.",
        0.75: "This is the share of the other three letters together.",
    }, "What is the sum of the four shares? Does any letter get more than the others?"),
    "11.2": Exercise(answer, float(np.log(2)), {
        0.5: "This is the share. The loss is -log(share).",
        -float(np.log(2)): "The loss has a minus in front of the logarithm.",
        1: "This is the logarithm to the base 2. np.log is the natural one.",
        0.30103: "This is the logarithm to the base 10. np.log is the natural one.",
        0: "The loss is 0 only at a share of 1.",
        2: "This is 1 / share. Take its logarithm.",
        3.2958: "This is the loss of 27 equal shares.",
    }, "Compute it with np.log."),
    "11.3": Exercise(gradient, lambda a, b: sv.log(sv.exp(a) + sv.exp(b)) - a, {
        lambda a, b: (_sigmoid(a - b) - 1, _sigmoid(a - b)): "this is the share of a; b has a share of its own.",
        lambda a, b: (_sigmoid(a - b) - 1, -_sigmoid(a - b)): "b is not the right letter: nothing is subtracted from "
        "its share.",
        lambda a, b: (_sigmoid(a - b) + 1, _sigmoid(b - a)): "the a at the end of the loss is subtracted.",
        lambda a, b: (_sigmoid(a - b) + 1, _sigmoid(a - b) - 1): "the a at the end of the loss is subtracted.",
    }),
    "11.4": Exercise(answer, 14528, {
        1264: "This is the network of this lesson.",
        4192: "This is the size of the picture above, with 16 numbers for each letter. Here there are 32.",
        2528: "Most plates grow in both directions: 32 x 32 is sixteen times 8 x 8.",
        5056: "Most plates grow in both directions: 32 x 32 is sixteen times 8 x 8.",
        20224: "The tables of letters grow in one direction only.",
        16768: "The tables of letters and places grow in one direction only.",
        13504: "One plate of 32 x 32 is missing: q, k, v, or o?",
        14016: "The table of places is missing: 16 x 32.",
        12992: "The table of places and a plate of 32 x 32 are missing.",
        13664: "A table of 27 x 32 is missing: token, or letters?",
        10432: "up is 128 x 32, and down is 32 x 128. Are both in your sum?",
        8384: "Most plates grow in both directions: up is 128 x 32, and down is 32 x 128.",
        4096: "This is only a part: q, k, v and o together, or up alone.",
        14272: "There are 16 places, not 8.",
        15040: "There are 16 places, not 32.",
        4064: "This would be right for 16 numbers for each letter, and 8 places.",
    }, "q, k, v and o are 32 x 32 each."),
    # ---- 12 Write your own Value
    "12.1": Exercise(forward_alone, hint="A result keeps its number, its two operands, and the name of the operation."),
    "12.2": Exercise(sums_and_products, hint="The slope of a sum is 1; that of a product is the other factor."),
    "12.3": Exercise(plain_walk, hint="Visit the parents of a node first, then add the node to the list."),
    "12.4": Exercise(training_without_helpers),
    # ---- 13 How weights begin
    "13.1": Exercise(answer, 0.2, {
        0.04: "This is the variance, 2/50. The standard deviation is its root.",
        0.02: "This is 1/50. The variance is 2/50, and the standard deviation is the root of the variance.",
        0.1414214: "This is 1/sqrt(50), the rule for tanh. Rectifiers lose half of the mean square.",
        0.2828427: "The root belongs to the whole fraction 2/50, not to 50 alone.",
        0.0282843: "The root belongs to the whole fraction 2/50, not to 2 alone.",
        0.1: "The variance is larger for rectifiers: multiply 1/50 by 2, and do not divide by 2.",
        5: "This is the other way round: the more inputs, the smaller the weights.",
        7.0710678: "This is the root of 50. The more inputs, the smaller the weights.",
        7: "This is about the root of 50. The more inputs, the smaller the weights.",
        0.244949: "This is the bound of evenly spread weights with the standard deviation 1/sqrt(50).",
        0.3464102: "This is the bound of evenly spread weights. The question asks for their standard deviation.",
        1: "With these weights, the RMS of the sums would grow by the factor 5 in each layer.",
        1.4142136: "This is the gain. Divide it by the root of the number of inputs.",
    }, "By the rule of He, the variance of the weights is 2 divided by the number of inputs."),
    "13.2": Exercise(answer, "large", {
        "rule": "By the rule, δ is of about equal size in all layers. And how near is 0.96 to the largest tanh?",
        "small": "Then the outputs would become smaller with each layer, and so would δ on its way back.",
        "equal": "Then all units of a layer would be equal. But an RMS does not tell this. Look at δ.",
        "zero": "Then all outputs would be 0, and δ would be 0 in the first layer.",
        "vanishing": "This would be a δ that becomes smaller on its way back.",
        "saturated": "This describes the units. The question is how the weights began: use one of the five words.",
        "exploding": "This describes the gradient. The question is how the weights began: use one of the five words.",
        "": "Use one of the five words, as they stand.",
    }, "How near to 1 are the outputs? Does δ grow or shrink on its way from the last layer to the first?"),
    "13.3": Exercise(gradient, lambda g, s: (1.5 * g + s - 2) ** 2, {
        lambda g, s: _scaled(g, s, g, s): "the slope of 1.5 * g with respect to g is 1.5, not g; and s is not its own "
        "slope.",
        lambda g, s: _scaled(g, s, 1.5 * g, s): "the slope of 1.5 * g is 1.5: no g is left.",
        lambda g, s: _scaled(g, s, 1.5 * g, 1): "the slope of 1.5 * g is 1.5: no g is left.",
        lambda g, s: _scaled(g, s, g, 1): "the slope with respect to g is the number that g multiplies.",
        lambda g, s: _scaled(g, s, 1.5, s): "s is added, so its slope is a plain number.",
        lambda g, s: _scaled(g, s, 1.5, 0): "the loss depends on s: if s rises by 1, the output rises by 1.",
        lambda g, s: _scaled(g, s, 1.5, 1.5): "s is added, and not multiplied by 1.5.",
        lambda g, s: _scaled(g, s, 1, 1): "g is multiplied by 1.5: its slope has this factor.",
        lambda g, s: _scaled(g, s, 1.5, -1): "s is added to the output: its slope is positive.",
    }, "How much does the output rise if g rises by 1? And if s rises by 1?"),
    "13.4": Exercise(own_norm, None, {
        Normed(mean=sum): "the mean is the sum, divided by the number of units.",
        Normed(mean=lambda x: 0.0): "the mean is not 0 yet: it is the sum, divided by the number of units.",
        Normed(mean=max): "this is the largest number, not the mean.",
        Normed(mean=sum, variance=lambda x, mean: len(x) * _variance(x, mean)): "both are means: divide each sum by "
        "the number of units.",
        Normed(variance=lambda x, mean: _variance(x, 0.0)): "subtract the mean before you square.",
        Normed(variance=lambda x, mean: _variance(x, 0.0) + mean**2): "subtract the mean before you square.",
        Normed(variance=lambda x, mean: len(x) * _variance(x, mean)): "the variance is a mean: divide the sum of the "
        "squares by the number of units.",
        Normed(variance=lambda x, mean: _variance(x, mean) * len(x) / (len(x) - 1)): "a norm divides by the number of "
        "units, not by one less.",
        Normed(variance=lambda x, mean: _variance(x, mean) ** 2): "one square is enough: it is squared again.",
        Normed(variance=lambda x, mean: sv.sqrt(_variance(x, mean))): "this is the standard deviation: the root is "
        "taken in the last line already.",
        Normed(variance=lambda x, mean: 1.0): "the variance follows from the numbers; it is not always 1.",
        Normed(variance=lambda x, mean: _mean([abs(number - mean) for number in x])): "square the distances from the "
        "mean.",
        Normed(lambda x: 0.0, lambda x, mean: 1.0): "nothing is normalised: the numbers are returned as they were.",
    }, "Two means: of the numbers, and of the squared distances from that mean."),
    # ---- 14 Three ways down
    "14.1": Exercise(answer, 4.92, {
        5.1: "This is a step of plain gradient descent. Momentum moves the weight by the speed.",
        4.8: "This step uses the old speed. First compute the new speed.",
        0.8: "This is the new speed. Which weight follows from it?",
        5.08: "The step is subtracted from the weight, not added.",
        4.2: "The learning rate is missing.",
        4.9: "The old speed is multiplied by the momentum before the gradient is added.",
        4.91: "Only the old speed is multiplied by the momentum, not the gradient.",
        4.89: "The momentum multiplies the old speed, not the gradient.",
        4.72: "The gradient is negative: look at the sign when you add it.",
        4.82: "The gradient is missing in the new speed.",
        4.83: "Momentum adds the whole gradient. A tenth of the gradient belongs to the mean of Adam.",
        0.08: "This is how far the weight moves. Where is the weight after the step?",
    }, "First the new speed: 0.9 of the old one, plus the gradient. Then the weight."),
    "14.2": Exercise(answer, 2.9, {
        -97: "This is a step of plain gradient descent. Adam divides by the size of the gradient.",
        3.1: "The gradient is positive, so the weight falls.",
        0.1: "This is how far the weight moves. Where is the weight after the step?",
        -0.1: "This is how the weight changes. Where is the weight after the step?",
        2.6838: "This is the step without the bias correction.",
        -7: "The mean is not divided by the root of the square.",
        3: "The weight moves. Divide the mean by the root of the square, not by the square.",
        2: "The ratio is 1. Multiply it by the learning rate.",
        2.99: "A factor 0.1 is too many: the bias correction divides the mean by 0.1.",
        -997: "This subtracts the whole gradient: there is neither a division nor a learning rate.",
    }, "What are the mean and the square after the bias correction? Divide the mean by the root of the square."),
    "14.3": Exercise(optimiser_step, _momentum_step, {
        lambda w, v, g, lr, m: _rolled(w, m * v + g, 1): "the learning rate is missing in the step.",
        lambda w, v, g, lr, m: _rolled(w, m * v + g, -lr): "the step is subtracted from the weight, not added.",
        lambda w, v, g, lr, m: (w - lr * v, m * v + g): "the weight moves by the new speed, not by the old one.",
        lambda w, v, g, lr, m: (w - lr * g, m * v + g): "the weight moves by the speed, not by the gradient.",
        lambda w, v, g, lr, m: (w - lr, m * v + g): "the step is the learning rate times the speed.",
        lambda w, v, g, lr, m: _rolled(w, m * v + g, lr)[::-1]: "return the weight first, and then the speed.",
        lambda w, v, g, lr, m: _rolled(w, v + g, lr): "the old speed is not multiplied by the momentum.",
        lambda w, v, g, lr, m: _rolled(w, m * v, lr): "the gradient is not added to the speed.",
        lambda w, v, g, lr, m: _rolled(w, m * v - g, lr): "the gradient is added to the speed, not subtracted.",
        lambda w, v, g, lr, m: _rolled(w, m * (v + g), lr): "the momentum multiplies the old speed alone.",
        lambda w, v, g, lr, m: _rolled(w, v + m * g, lr): "the momentum multiplies the old speed, not the gradient.",
        lambda w, v, g, lr, m: _rolled(w, m * g, lr): "the speed keeps a share of the old speed. Where is it?",
        lambda w, v, g, lr, m: _rolled(w, m * v + (1 - m) * g, lr): "the whole gradient is added; this is the mean "
        "of Adam.",
        lambda w, v, g, lr, m: (w - m * v - lr * g, m * v + lr * g): "here the learning rate belongs in the step of "
        "the weight, not in the speed.",
        lambda w, v, g, lr, m: _rolled(w, m * v + lr * g, lr): "the learning rate belongs in the step alone.",
        lambda w, v, g, lr, m: _rolled(w, 0.9 * v + g, lr): "0.9 is one momentum of many: use `momentum`.",
    }, "The old speed is multiplied by the momentum, and the gradient is added. The weight moves by the new speed."),
    "14.4": Exercise(answer, "C A B", {
        "C B A": "C is right. Which of the other two moves both weights equally far in the first step?",
        "A C B": "B is right. Which of the other two multiplies w1 by the same number in every step?",
        "B A C": "A is right. Which of the other two makes steps of the same size for both weights?",
        "A B C": "In B, both weights move by 0.05 in the first steps. Which optimiser does this?",
        "B C A": "In C, w1 jumps over 0 in every step. Which optimiser does this?",
        "C A": "Write three letters.",
        "A C": "Write three letters.",
        "C": "Write three letters.",
        "": "Write three letters, such as \"A B C\": plain gradient descent, momentum, Adam.",
    }, "Look at the first step: how far does each weight move? Then look at the signs of w1."),
})  # fmt: skip
"""The exercises by lesson and number."""


def _check_filled(given: Any, title: str, hint: str, seconds: float, find: Callable[[], Report]) -> Report:
    """Run `find` as a check of a backward pass, once the pupil has filled in every ``...``."""

    def filled() -> Report:
        check_filled(given)
        return find()

    return run_check("backward", title, hint, filled, seconds=seconds)


def _sigmoid(a: float) -> float:
    return float(1 / (1 + np.exp(-a)))


def _chain(v: float, w: float, outer: float | None = None, by_v: float | None = None, bend: float | None = None) -> Any:
    """Return the slopes of exercise 06.3 with another factor in place of a right one."""
    y = float(np.tanh(w))
    outer = 2 * (v * y - 1) if outer is None else outer
    return outer * (y if by_v is None else by_v), outer * v * (1 - y * y if bend is None else bend)


def _two(w: float, b: float, of_w: tuple[float, float], of_b: tuple[float, float]) -> tuple[float, float]:
    """Return the slopes of exercise 07.4 with other factors."""
    first, second = 2 * (w + b - 2), 2 * (3 * w + b - 4)
    return (first * of_w[0] + second * of_w[1]) / 2, (first * of_b[0] + second * of_b[1]) / 2


def _weight_and_speed(step: Callable[..., Any], row: list[float]) -> tuple[float, float]:
    """Return the two numbers of a pupil's step."""
    given = call_pupil(step, row)
    if given is None:
        raise CheckEnded("none", "it returned nothing: is a `return` missing?")
    try:
        weight, speed = (float(number) for number in given)
    except (TypeError, ValueError):
        raise CheckEnded("kind", f"Expected the new weight and the new speed; you returned {shown(given)}.") from None
    return weight, speed


def _scaled(g: float, s: float, of_g: float, of_s: float) -> tuple[float, float]:
    """Return the slopes of exercise 13.3 with other factors."""
    delta = 2 * (1.5 * g + s - 2)
    return delta * of_g, delta * of_s


def _mean(numbers: list[Any]) -> Any:
    return sum(numbers) / len(numbers)


def _variance(numbers: list[Any], mean: Any) -> Any:
    return _mean([(number - mean) ** 2 for number in numbers])


def _cubic(x: float) -> float:
    return x**3 - 2 * x


def _unit(w: float, b: float, slope: Callable[[float], float] = lambda out: out * (1 - out)) -> tuple[float, float]:
    """Return the slopes of exercise 01b.4 with another slope of the sigmoid."""
    out = _sigmoid(3 * w + b)
    by_sum = 2 * (out - 1) * slope(out)
    return 3 * by_sum, by_sum
