"""Operations of the table that tiles compute beside their own work: a function of one operand, the others numbers."""

from __future__ import annotations

import ast

from ....scalar import ops
from ....scalar.emit import UPSTREAM, adjoint, function_source
from .ops import CUDA

NUMBERS = 2
"""How many operands of an operation can be numbers."""


def activation_source(op: ops.Op, k: int) -> str:
    """``activation(operand k, the other operands, ...)``: the value."""
    return function_source("activation", _names(op, k), (op.value,), CUDA)


def derivative_source(op: ops.Op, k: int) -> str:
    """``derivative(upstream, result, operand k, the other operands, ...)``: what operand k gets."""
    partial = op.partials[k]
    if partial is None:
        raise AssertionError(f"{op.name} hands no gradient to operand {k}")
    return function_source("derivative", (UPSTREAM, "y", *_names(op, k)), (adjoint(partial),), CUDA)


def derivative_names(op: ops.Op, k: int) -> set[str]:
    """What the derivative by operand k is made of."""
    tree = ast.parse(op.partials[k] or "0", mode="eval")
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _names(op: ops.Op, k: int) -> tuple[str, ...]:
    others = [name for i, name in enumerate(op.args) if i != k]
    spare = [f"_spare{i}" for i in range(NUMBERS - len(others))]
    return (op.args[k], *others, *spare)
