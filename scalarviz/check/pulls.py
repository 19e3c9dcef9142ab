"""Micrograd's form of a rule: a function of a node that adds to the gradients of the node's parents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..scalar.single import as_number
from ..scalar.value import Value
from .asked import called
from .guesses import Floats
from .points import COUNT, Places
from .report import Report, Told, looks_like


def _grad(node: Value, name: str) -> float:
    try:
        return as_number(node.grad, name)
    except (TypeError, ValueError):
        raise Told("failed", "kind", f"the gradient of a parent is no number afterwards but {node.grad!r}") from None


def pulled_by(op: Callable[..., Any], whole: Callable[..., Any], rows: Floats, up: Floats) -> tuple[Floats, Floats]:
    """What a pupil's rule added to the gradients of the operands, and what stands there afterwards.

    Parameters
    ----------
    rows : ndarray, shape (points, operands)
    up : ndarray, shape (points,)
        The gradient of the node.
    """
    before = np.random.default_rng(2).uniform(1.0, 3.0, rows.shape)
    after = np.empty_like(rows)
    for p, row in enumerate(rows.tolist()):
        leaves = [Value(number) for number in row]
        node = whole(*leaves)
        node.grad = float(up[p])
        for leaf, grad in zip(leaves, before[p].tolist(), strict=True):
            leaf.grad = grad
        called(op, (node,))
        after[p] = [_grad(leaf, "the gradient of a parent") for leaf in leaves]
    return after - before, after


def same_operand(
    op: Callable[..., Any], whole: Callable[..., Any], there: Places, up: Floats, said: tuple[str, float]
) -> Report:
    """The same operand at every place, as in ``a * a``: the rule has to add up what comes from each."""
    title, tolerance = said
    right = Report(title, "right", (f"right at all {COUNT} points.",))
    if there.numbers.shape[1] == 1:
        return right
    for p, row in enumerate(there.numbers.tolist()):
        one = Value(row[0])
        node = whole(*[one] * len(row))
        wanted = float(up[p]) * sum(node.local_gradients)
        node.grad, one.grad = float(up[p]), 0.0
        called(op, (node,))
        got = _grad(one, "the gradient of a parent")
        if np.isfinite(wanted) and not abs(got - wanted) <= tolerance * max(1.0, abs(wanted)):
            lines = (
                "not yet: with two different operands it is right, with the same one at both places it is not.",
                f"with a = b = {row[0]:.4g}, node.grad = {up[p]:.4g}: a has {got:.4g}, it is {wanted:.4g}.",
            )
            return Report(title, "wrong", lines, "overwrite", looks_like("overwrite"), "a", got, wanted)
    return right
