"""An expression of the table of operations as nodes: so each operation can be exported, those of a user too."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from .sheet import BOOL, DOUBLE, FLOAT, Operand, Shape, Sheet, Tensor

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul", ast.Div: "Div", ast.Pow: "Pow",
}  # fmt: skip
COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "Less", ast.LtE: "LessOrEqual", ast.Gt: "Greater", ast.GtE: "GreaterOrEqual", ast.Eq: "Equal",
    ast.NotEq: "Equal",
}  # fmt: skip
SAME = {"exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tanh": "Tanh", "erf": "Erf",
        "abs": "Abs"}  # fmt: skip
"""Functions of the vocabulary that ONNX has too."""


def formula(sheet: Sheet, text: str, operands: Mapping[str, Operand], shape: Shape) -> Tensor:
    """What an expression makes of each number.

    Parameters
    ----------
    sheet : Sheet
    text : str
        As in the table of operations, so it is known to stay inside the vocabulary.
    operands : mapping of str to Operand
        What its names are; at least one is a tensor of the `shape`.
    shape : tuple of int
    """
    writer = _Writer(sheet, operands, shape)
    found = writer.number(ast.parse(text, mode="eval").body)
    if isinstance(found, Tensor) and writer.whole(found):
        return found
    like = next(x for x in operands.values() if isinstance(x, Tensor))  # a formula that names no operand
    return sheet.node("Expand", found, sheet.fixed("Shape", like), shape=shape, lanes=like.lanes)


class _Writer:
    """One expression; what occurs twice in it is written once."""

    def __init__(self, sheet: Sheet, operands: Mapping[str, Operand], shape: Shape) -> None:
        self.sheet, self.operands, self.shape = sheet, operands, shape
        self.done: dict[str, Operand] = {}

    def whole(self, x: Tensor) -> bool:
        """Whether it is made of an operand, not of numbers alone."""
        return x.shape == self.shape

    def node(self, operator: str, *operands: Operand, **more: Any) -> Tensor:
        full = any(isinstance(x, Tensor) and self.whole(x) for x in operands)
        return self.sheet.node(operator, *operands, shape=self.shape if full else (-1,), **more)

    def number(self, tree: ast.expr) -> Operand:
        """A part of the expression as a number."""
        return self._once(tree, "number")

    def truth(self, tree: ast.expr) -> Operand:
        """A part of the expression as what a selection asks for."""
        return self._once(tree, "truth")

    def _once(self, tree: ast.expr, kind: str) -> Operand:
        key = kind + ast.dump(tree)
        if key not in self.done:
            self.done[key] = self._number(tree) if kind == "number" else self._truth(tree)
        return self.done[key]

    def _number(self, tree: ast.expr) -> Operand:
        match tree:
            case ast.Constant(value=number):
                return float(number)  # type: ignore[arg-type]
            case ast.Name(id=name):
                return self.operands[name]
            case ast.UnaryOp(operand=ast.Constant(value=number)):
                return -float(number)  # type: ignore[arg-type]
            case ast.UnaryOp(operand=operand):
                return self.node("Neg", self.number(operand))
            case ast.BinOp(left=left, op=op, right=right):
                return self.node(BINARY[type(op)], self.number(left), self.number(right))
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._call(name, args)
        kind = FLOAT if self.sheet.dtype.itemsize == 4 else DOUBLE  # a comparison
        return self.node("Cast", self.truth(tree), to=kind)

    def _call(self, name: str, args: list[ast.expr]) -> Operand:
        if name == "where":
            return self.node("Where", self.truth(args[0]), self.number(args[1]), self.number(args[2]))
        inner = args[0]
        if name == "log1p":
            match inner:
                case ast.Call(func=ast.Name(id="exp"), args=[x]):  # keeps the digits of a small exp(x)
                    return self.node("Softplus", self.number(x))
            return self.node("Log", self.node("Add", 1.0, self.number(inner)))
        if name == "erfc":
            return self.node("Sub", 1.0, self.node("Erf", self.number(inner)))
        return self.node(SAME[name], self.number(inner))

    def _truth(self, tree: ast.expr) -> Operand:
        if not isinstance(tree, ast.Compare):
            return self.node("Cast", self.number(tree), to=BOOL)
        kind = type(tree.ops[0])
        found = self.node(COMPARE[kind], self.number(tree.left), self.number(tree.comparators[0]))
        return self.node("Not", found) if kind is ast.NotEq else found
