"""What Python means by the text of a formula: a walk of its own tree, in float64."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

F = np.float64
_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide, ast.Pow: np.power,
    ast.Lt: np.less, ast.LtE: np.less_equal, ast.Gt: np.greater, ast.GtE: np.greater_equal, ast.Eq: np.equal,
    ast.NotEq: np.not_equal, ast.USub: np.negative, ast.UAdd: np.positive,
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "abs", "sign", "square")},
    "pow": np.power, "max": lambda *x: np.maximum.reduce(x), "min": lambda *x: np.minimum.reduce(x),
    "maximum": np.maximum, "minimum": np.minimum, "where": lambda c, a, b: c if np.isnan(c) else a if c else b,
    "nan": lambda x: F(not np.isfinite(x)),
}  # fmt: skip


def meaning(text: str, numbers: Mapping[str, float] | None = None) -> Any:
    """The number of a text, in which names, in quotes too, stand for `numbers`; truths are 0 and 1."""
    with np.errstate(all="ignore"):
        return _walked(ast.parse(" ".join(text.split()), mode="eval").body, numbers or {})


def _walked(node: Any, numbers: Mapping[str, float]) -> Any:
    def of(other: Any) -> Any:
        return _walked(other, numbers)

    match node:
        case ast.Constant(value=str(name)) | ast.Name(id=name):
            return F(numbers[name])
        case ast.Constant():
            return F(float(node.value))
        case ast.BinOp():
            return _OPERATORS[type(node.op)](of(node.left), of(node.right))
        case ast.UnaryOp(op=ast.Not()):
            return F(not of(node.operand))
        case ast.UnaryOp():
            return _OPERATORS[type(node.op)](of(node.operand))
        case ast.BoolOp():
            return F((all if isinstance(node.op, ast.And) else any)(map(of, node.values)))
        case ast.Compare():
            pairs = itertools.pairwise(map(of, (node.left, *node.comparators)))
            return F(all(_OPERATORS[type(op)](*pair) for op, pair in zip(node.ops, pairs, strict=True)))
        case ast.Call():
            return FUNCTIONS[node.func.id](*map(of, node.args))
    raise TypeError(f"no formula: {ast.dump(node)}")
