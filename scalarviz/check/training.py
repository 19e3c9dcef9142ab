"""`training`: check a pupil's step of gradient descent on small problems, three steps each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ..arguments import explained
from ..optim import SGD
from ..scalar.value import Value
from ..scalar.weight import Weight
from .points import COUNT, checked_options, near
from .pupil_code import call_pupil, check_filled, inputs_of, title_of
from .report import SECONDS, CheckEnded, Report, run_check, wrong_report

STEPS = 3


class OwnNumber(Weight):
    """A weight that is a number with a gradient and nothing else, as an object of a pupil's own class is."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("step", "zero_grad"):
            raise AttributeError(f"here a weight has no {name}(): use its data and its grad")
        return super().__getattribute__(name)


@dataclass(slots=True)
class Problem:
    """A few weights, one sample, and a loss: ``(sum of w * x - target)**2``.

    `weights` are passed to the pupil's step; `loss_calls` counts its calls of the loss.
    """

    start: list[float]
    inputs: list[float]
    target: float
    lr: float
    kind: type[Weight] = Weight
    weights: list[Weight] = field(default_factory=list)
    loss_calls: int = 0

    def __post_init__(self) -> None:
        self.weights = [self.kind(number, name=f"w{k}") for k, number in enumerate(self.start)]

    def loss(self) -> Value:
        """Return the loss at the current weights."""
        self.loss_calls += 1
        total: Any = -self.target
        for weight, x in zip(self.weights, self.inputs, strict=True):
            total = weight * x + total
        return total * total  # type: ignore[no-any-return]


def problems(seed: int, kind: type[Weight] = Weight) -> list[Problem]:
    """Return fifty problems. No two weights of one see the same input, and no step overshoots."""
    draw = np.random.default_rng(seed)
    found = []
    for _ in range(COUNT):
        count = int(draw.integers(2, 4))
        inputs = (draw.uniform(0.4, 1.6, count) * draw.choice([-1.0, 1.0], count)).tolist()
        start = draw.uniform(-2.0, 2.0, count).tolist()
        target, lr = float(draw.uniform(3.0, 6.0)), float(draw.uniform(0.01, 0.05))
        found.append(Problem(start, inputs, target, lr, kind))
    return found


@explained(name="check.training")
def training(step: Any, *, tolerance: float = 1e-6, seed: int = 0, hint: str = "", seconds: float = SECONDS) -> Report:
    """Check one step of gradient descent.

    Parameters
    ----------
    step : callable
        ``step(weights, loss, lr)`` gets a list of Weights, a function without arguments that computes the loss (a
        Value) from them, and the learning rate. Or ``step(optimizer, loss)`` with an :class:`optim.SGD` of the weights.
    tolerance : float
        Largest accepted error of a weight, relative to ``max(1, |expected|)``.
    seed : int
        Seed of the 50 problems.
    hint : str
        The author's hint, shown from the second failing call in a row.
    seconds : float
        The most time for the pupil's code. Only a loop inside a C function, such as ``sum(count())``, is not stopped.

    Returns
    -------
    Report

    Raises
    ------
    TypeMismatchError
        `step` is no function.

    Examples
    --------
    >>> def step(optimizer, loss):
    ...     loss().backward()
    ...     optimizer.step()
    >>> training(step).cause
    'zero_grad'
    """
    hint, width = checked_options("check.training", hint, tolerance, seed)
    return training_of(step, problems(seed), hint, seconds, width)


def training_of(step: Any, there: Sequence[Problem], hint: str, seconds: float, tolerance: float = 1e-6) -> Report:
    """Check a step on these problems."""

    def find() -> Report:
        check_filled(step)
        own = inputs_of(step, "check.training: step")
        if len(own) not in (2, 3):
            wanted = "step(weights, loss, lr) or step(optimizer, loss)"
            raise CheckEnded("arguments", f"wrong number of arguments: {len(own)}; expected {wanted}")
        return _compared(title_of(step), there, [_pupil_weights(step, len(own), one) for one in there], tolerance)

    return run_check("training", title_of(step), hint, find, seconds=seconds)


def _pupil_weights(step: Callable[..., Any], arguments: int, problem: Problem) -> Numbers:
    """Return the weights after each step of the pupil."""
    rest: Sequence[Any] = (problem.weights, problem.loss, problem.lr)
    if arguments == 2:
        rest = (SGD(problem.weights, lr=problem.lr), problem.loss)
    way = []
    for _ in range(STEPS):
        call_pupil(step, rest)
        if len(problem.weights) != len(problem.inputs) or not all(isinstance(w, Value) for w in problem.weights):
            raise CheckEnded("weights", "your step put other objects into the list `weights`")
        way.append([weight.data for weight in problem.weights])
    if not np.isfinite(way).all():
        raise CheckEnded("nan", "a weight is NaN or infinite after your step.", state="wrong")
    return way


def _compared(title: str, there: Sequence[Problem], found: Sequence[Numbers], tolerance: float) -> Report:
    wanted = [expected_weights(one) for one in there]
    differ = [_first(got, expected, tolerance) for got, expected in zip(found, wanted, strict=True)]
    places = [(p, place) for p, place in enumerate(differ) if place is not None]
    if not places:
        return Report(title, "right", (f"right for all {COUNT} problems, {STEPS} steps each.",))
    p, (at, k) = places[0]
    got, expected = found[p][at][k], wanted[p][at][k]
    lines: tuple[str, ...] = (
        f"not yet: {COUNT - len(places)} of {COUNT} problems agree.",
        f"after step {at + 1}, with lr = {there[p].lr:.3g}: w{k} is {got:.5g}; expected {expected:.5g}"
        f" (it began at {there[p].start[k]:.5g}).",
    )
    cause, details = _cause(there, found, tolerance)
    if not cause and not any(one.loss_calls for one in there):
        lines = (*lines, "the loss was never computed: loss() gives it.")
    return wrong_report(title, lines, cause, details, f"w{k}", got, expected)


def _first(got: Numbers, expected: Numbers, tolerance: float) -> tuple[int, int] | None:
    """Return the first step and weight that differ."""
    differ = np.argwhere(~near(got, expected, tolerance))
    return (int(differ[0][0]), int(differ[0][1])) if len(differ) else None


def _cause(there: Sequence[Problem], found: Sequence[Numbers], tolerance: float) -> tuple[str, dict[str, Any]]:
    for cause, way in MISTAKES:
        if all(_first(got, way(one), tolerance) is None for one, got in zip(there, found, strict=True)):
            return cause, {"name": "w0"}
    still = [k for k in range(2) if all(got[-1][k] == one.start[k] for one, got in zip(there, found, strict=True))]
    if still:
        return "some", {"name": f"w{still[0]}"}
    if all(got[-1][-1] == one.start[-1] for one, got in zip(there, found, strict=True)):
        return "some", {"name": "the last one"}
    rate = _same_everywhere(there, found, 1.0)
    if rate is not None and rate > 0:
        return "constant", {"rate": f"{rate:.4g}"}
    factor = _same_everywhere(there, found)
    if factor is not None and all(abs(one.loss_calls - factor * STEPS) < 1e-3 for one in there):
        return "again", {"factor": f"{factor:.0f}"}
    return ("long", {"factor": f"{factor:.4g}"}) if factor is not None else ("", {})


def _same_everywhere(there: Sequence[Problem], found: Sequence[Numbers], lr: float | None = None) -> float | None:
    """Return the factor by which all first steps are too long, or None; relative to the rate `lr` if given."""
    moved = [
        (got[0][k] - one.start[k]) / (-(lr or one.lr) * slope)
        for one, got in zip(there, found, strict=True)
        for k, slope in enumerate(gradient_at(one, one.start))
    ]
    return moved[0] if np.allclose(moved, moved[0], rtol=1e-4, atol=0) and not np.isclose(moved[0], 1) else None


Numbers = list[list[float]]
"""The weights after each step."""


def gradient_at(problem: Problem, weights: list[float]) -> list[float]:
    """Return the derivatives of ``(sum of w * x - target)**2``, computed by formula."""
    error = sum(w * x for w, x in zip(weights, problem.inputs, strict=True)) - problem.target
    return [2 * error * x for x in problem.inputs]


def expected_weights(
    problem: Problem, sign: float = -1.0, keep: bool = False, rate: bool = True, early: bool = False,
    replace: bool = False,
) -> Numbers:  # fmt: skip
    """Return the weights after each step; the arguments are mistakes.

    `keep`: gradients are never cleared. `rate` False: no learning rate. `early`: weights move before backward.
    `replace`: the step replaces the weight.
    """
    weights, way = list(problem.start), []
    grads = [0.0] * len(weights)
    lr = problem.lr if rate else 1.0

    def move() -> None:
        weights[:] = [(0.0 if replace else w) + sign * lr * g for w, g in zip(weights, grads, strict=True)]

    for _ in range(STEPS):
        if early:
            move()
        old = grads if keep else [0.0] * len(weights)
        grads = [a + b for a, b in zip(old, gradient_at(problem, weights), strict=True)]
        if not early:
            move()
        way.append(list(weights))
    return way


def _one_by_one(problem: Problem) -> Numbers:
    """Return the weights if each moves by its gradient after the earlier weights have moved."""
    weights, way = list(problem.start), []
    for _ in range(STEPS):
        for k in range(len(weights)):
            weights[k] -= problem.lr * gradient_at(problem, weights)[k]
        way.append(list(weights))
    return way


MISTAKES: tuple[tuple[str, Callable[[Problem], Numbers]], ...] = (
    ("nothing", lambda problem: [problem.start] * STEPS),
    ("zero_grad", partial(expected_weights, keep=True)),
    ("sign", partial(expected_weights, sign=1.0)),
    ("sign", partial(expected_weights, sign=1.0, keep=True)),
    ("lr", partial(expected_weights, rate=False)),
    ("replaced", partial(expected_weights, replace=True)),
    ("replaced", partial(expected_weights, replace=True, sign=1.0)),
    ("each", _one_by_one),
    ("early", partial(expected_weights, early=True)),
    ("early", partial(expected_weights, early=True, keep=True)),
)
"""Usual mistakes, with the weights that they lead to."""
