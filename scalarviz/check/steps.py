"""Steps of gradient descent in plain numbers, right and with the usual mistakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

Numbers = list[list[float]]
"""The weights after each step."""


class Problem(Protocol):
    """What is trained: see :class:`scalarviz.check.training.Problem`."""

    start: list[float]
    inputs: list[float]
    target: float
    lr: float


def gradient_at(problem: Problem, weights: list[float]) -> list[float]:
    """The derivatives of ``(sum of w * x - target)**2``, as a book has them."""
    error = sum(w * x for w, x in zip(weights, problem.inputs, strict=True)) - problem.target
    return [2 * error * x for x in problem.inputs]


def right(
    problem: Problem,
    steps: int,
    sign: float = -1.0,
    keep: bool = False,
    rate: bool = True,
    early: bool = False,
    clear: bool = True,
    replace: bool = False,
) -> Numbers:
    """The weights after each of `steps` steps; what stands behind are mistakes.

    Parameters
    ----------
    keep : bool
        Gradients are never cleared.
    rate : bool
        False: without the learning rate.
    early : bool
        Weights are moved before backward; `clear`: after that the gradients are cleared.
    replace : bool
        The step takes the place of the weight.
    """
    weights, way = list(problem.start), []
    grads = [0.0] * len(weights)
    lr = problem.lr if rate else 1.0

    def move() -> None:
        weights[:] = [(0.0 if replace else w) + sign * lr * g for w, g in zip(weights, grads, strict=True)]

    for _ in range(steps):
        if early:
            move()
        old = grads if keep or (early and not clear) else [0.0] * len(weights)
        grads = [a + b for a, b in zip(old, gradient_at(problem, weights), strict=True)]
        if not early:
            move()
        way.append(list(weights))
    return way


def _still(problem: Problem, steps: int) -> Numbers:
    return [list(problem.start)] * steps


MISTAKES: tuple[tuple[str, Callable[[Problem, int], Numbers]], ...] = (
    ("nothing", _still),
    ("zero_grad", lambda problem, steps: right(problem, steps, keep=True)),
    ("sign", lambda problem, steps: right(problem, steps, sign=1.0)),
    ("sign", lambda problem, steps: right(problem, steps, sign=1.0, keep=True)),
    ("lr", lambda problem, steps: right(problem, steps, rate=False)),
    ("replaced", lambda problem, steps: right(problem, steps, replace=True)),
    ("early", lambda problem, steps: right(problem, steps, early=True)),
    ("early", lambda problem, steps: right(problem, steps, early=True, clear=False)),
)
"""Usual mistakes, and where the weights are then."""
