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


def derivative_source(op: ops.Op, k: int, of_result: bool = False) -> str:
    """``derivative(upstream, result, operand k, the other operands, ...)``: what operand k gets.

    With `of_result` the result stands for the operand (see :func:`tells_by_result`).
    """
    partial = op.partials[k]
    if partial is None:
        raise AssertionError(f"{op.name} hands no gradient to operand {k}")
    if of_result:
        partial = ast.unparse(_Renamed(op.args[k]).visit(ast.parse(partial, mode="eval")))
    return function_source("derivative", (UPSTREAM, "y", *_names(op, k)), (adjoint(partial),), CUDA)


class _Renamed(ast.NodeTransformer):
    """The result in the place of an operand."""

    def __init__(self, name: str) -> None:
        self.name = name

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("y", node.ctx) if node.id == self.name else node


def tells_by_result(op: ops.Op, k: int, numbers: tuple[float, ...]) -> bool:
    """Whether the derivative by operand k can be made of the result, since it asks only whether that is above 0 or NaN.

    A slope of 0 would make NaN of an infinity; one that no float32 holds is one.

    Parameters
    ----------
    op : Op
    k : int
    numbers : tuple of float
        The other operands.
    """
    if k != 0:
        return False
    return op is ops.RELU or (op is ops.LEAKY_RELU and 1e-30 < numbers[0] < 1e30)


def derivative_names(op: ops.Op, k: int) -> set[str]:
    """What the derivative by operand k is made of."""
    tree = ast.parse(op.partials[k] or "0", mode="eval")
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _names(op: ops.Op, k: int) -> tuple[str, ...]:
    others = [name for i, name in enumerate(op.args) if i != k]
    spare = [f"_spare{i}" for i in range(NUMBERS - len(others))]
    return (op.args[k], *others, *spare)
