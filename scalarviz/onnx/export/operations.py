"""Operations between the layers, number by number: all numbers with one operation become one node.

An operation becomes ONNX's own operator, or else its formula. So every operation can be exported, also a user's.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ...scalar import ops
from ...tape import Tape
from .sheet import BOOL, Operand, Output, Shape, Sheet
from .sums import Places, Rows, sums

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul", ast.Div: "Div", ast.Pow: "Pow",
}  # fmt: skip
COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "Less", ast.LtE: "LessOrEqual", ast.Gt: "Greater", ast.GtE: "GreaterOrEqual", ast.Eq: "Equal",
    ast.NotEq: "Equal",
}  # fmt: skip
SAME_FUNCTIONS = {
    "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tanh": "Tanh", "erf": "Erf", "abs": "Abs",
    "sigmoid": "Sigmoid", "softplus": "Softplus",
}  # fmt: skip
"""Functions of the formulas, and two more, that ONNX has too."""


def formula(sheet: Sheet, text: str, operands: Mapping[str, Operand], shape: Shape) -> Output:
    """Write an expression, in the notation of the table of operations, for each number.

    `operands` gives the values of its names; at least one is a tensor with that `shape`.
    """
    writer = _Writer(sheet, operands, shape)
    found = writer.number(ast.parse(text, mode="eval").body)
    if isinstance(found, Output) and writer.whole(found):
        return found
    like = next(x for x in operands.values() if isinstance(x, Output))  # a formula that names no operand
    return sheet.node("Expand", found, sheet.fixed("Shape", like), shape=shape, lanes=like.lanes)


class _Writer:
    """Writes one expression; a part that occurs twice is written once."""

    def __init__(self, sheet: Sheet, operands: Mapping[str, Operand], shape: Shape) -> None:
        self.sheet, self.operands, self.shape = sheet, operands, shape
        self.done: dict[str, Operand] = {}

    def whole(self, x: Output) -> bool:
        """Return whether a tensor depends on an operand, not on constants alone."""
        return x.shape == self.shape

    def node(self, operator: str, *operands: Operand, **more: Any) -> Output:
        full = any(isinstance(x, Output) and self.whole(x) for x in operands)
        return self.sheet.node(operator, *operands, shape=self.shape if full else (-1,), **more)

    def number(self, tree: ast.expr) -> Operand:
        """Return a part of the expression as a number."""
        return self._once("number", tree, self._number)

    def truth(self, tree: ast.expr) -> Operand:
        """Return a part of the expression as a condition."""
        return self._once("truth", tree, self._truth)

    def _once(self, kind: str, tree: ast.expr, make: Callable[[ast.expr], Operand]) -> Operand:
        key = kind + ast.dump(tree)
        if key not in self.done:
            self.done[key] = make(tree)
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
        return self.node("Cast", self.truth(tree), to=self.sheet.dtype_code)  # a comparison

    def _call(self, name: str, args: list[ast.expr]) -> Operand:
        if name == "where":
            return self.node("Where", self.truth(args[0]), self.number(args[1]), self.number(args[2]))
        inner = args[0]
        if name == "log1p":
            if self.sheet.exact:  # log(1 + u) without its cancellation
                u = ast.unparse(inner)
                text = f"where(1 + {u} == 1, {u}, where(1 + {u} - 1 == {u}, 1, {u} / (1 + {u} - 1)) * log(1 + {u}))"
                return self.number(ast.parse(text, mode="eval").body)
            match inner:
                case ast.Call(func=ast.Name(id="exp"), args=[x]):  # keeps the digits of a small exp(x)
                    return self.node("Softplus", self.number(x))
            return self.node("Log", self.node("Add", 1.0, self.number(inner)))
        if name == "erfc":
            return self.node("Sub", 1.0, self.node("Erf", self.number(inner)))
        return self.node(SAME_FUNCTIONS[name], self.number(inner))

    def _truth(self, tree: ast.expr) -> Operand:
        if not isinstance(tree, ast.Compare):
            return self.node("Cast", self.number(tree), to=BOOL)
        kind = type(tree.ops[0])
        found = self.node(COMPARE[kind], self.number(tree.left), self.number(tree.comparators[0]))
        return self.node("Not", found) if kind is ast.NotEq else found


SAME = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "neg": "Neg", "pow": "Pow", "relu": "Relu",
    "minimum": "Min", "maximum": "Max", "first_max": "Max", "held_max": "Max", **SAME_FUNCTIONS,
}  # fmt: skip
"""Operations that are one node; operations with the same node differ in their gradients."""
WITH_ALPHA = {"elu": "Elu", "leaky_relu": "LeakyRelu"}
"""Operations whose constant becomes an attribute of the node."""
WRITTEN = {
    "square": "a * a",
    "silu": "a * sigmoid(a)",
    "log_sigmoid": "-softplus(-a)",
    "gelu": f"a * (erf(a / {math.sqrt(2.0)!r}) + 1.0) * 0.5",
    "gelu_tanh": f"a * (tanh((a + a * a * a * 0.044715) * {math.sqrt(2.0 / math.pi)!r}) + 1.0) * 0.5",
}
"""Formulas that are shorter than the operations' own."""


def operation(sheet: Sheet, name: str, operands: Sequence[Operand], shape: Shape) -> Output:
    """Write an operation of the table for each number.

    At least one operand is a tensor with that `shape`; the others are such tensors or numbers.
    """
    entry = ops.get(name)
    text = WRITTEN.get(name, entry.value)
    match name, *operands:
        case _ if sheet.exact and (name in WITH_ALPHA or "log1p" in entry.value):  # such nodes compute in float32
            text = entry.value
        case _ if name in SAME:
            return sheet.node(SAME[name], *operands, shape=shape)
        case _, Output() as a, float(alpha) if name in WITH_ALPHA:
            return sheet.node(WITH_ALPHA[name], a, shape=shape, alpha=alpha)
        case "relu6", a:
            return sheet.node("Clip", a, 0.0, 6.0, shape=shape)
        case "softplus_up_to", a, 1.0, float(threshold) if threshold >= 20.0:  # above it is its asymptote to 2e-9
            return sheet.node("Softplus", a, shape=shape)
    return formula(sheet, text, dict(zip(entry.args, operands, strict=True)), shape)


def write_rows(sheet: Sheet, places: Places, tape: Tape, key: Any, rows: Sequence[int]) -> None:
    """Write rows of one key, see `Units` in `module`; refuse operations that ONNX lacks."""
    code, found = key[0], np.array(rows, np.int64)
    if code == "dot":
        sums(sheet, places, tape, found)
    elif code.startswith("total "):
        for row in rows:
            places.place_rows(np.array([row]), _total(sheet, places, tape, row))
    elif code == "gather":
        places.place_rows(found, _gathered(sheet, places, tape, rows))
    elif code in ("max", "batch_mean"):
        places.place_rows(found, _reduced(sheet, places, tape, code, rows))
    elif code in ops.TABLE:
        columns = np.array([tape.nodes[row].args for row in rows], np.int64).T
        operands, shape = operands_of(sheet, places, columns)
        places.place_rows(found, operation(sheet, code, operands, shape))
    else:
        raise InputError(
            f"to_onnx: a {code} is redrawn in every step, which ONNX cannot express; call net.eval() first"
        )


def operands_of(sheet: Sheet, places: Places, columns: Rows) -> tuple[list[Operand], Shape]:
    """Return the operands of an operation and the shape of its result: that of a whole tensor among them, if any.

    Equal constants become one number. A weight is used directly if another operand is a tensor.
    """
    wholes = [places.whole_tensor(column) for column in columns]
    shape = next((whole.shape for whole in wholes if whole is not None), columns.shape[1:])
    found: list[Operand] = []
    for column in columns:
        numbers, block = places.number[column], places.weight(column, shape)
        if places.known(column).all() and (numbers == numbers[0]).all():
            found.append(float(numbers[0]))
        else:
            found.append(places.take(column, shape) if block is None else sheet.weight(block))
    if not any(isinstance(x, Output) for x in found):
        found[0] = places.take(columns[0], shape)
    return found, shape


def _reduced(sheet: Sheet, places: Places, tape: Tape, code: str, rows: Sequence[int]) -> Output:
    """Write the maximum of several numbers, or the mean over the samples."""
    columns = np.array([tape.nodes[row].args for row in rows], np.int64)
    if code == "batch_mean":
        x = sheet.spread(places.take(columns.ravel(), (len(rows),)))
        return sheet.node("ReduceMean", x, shape=x.shape, lanes=False, axes=(0,), keepdims=1)
    x = places.take(columns.ravel(), columns.shape)
    return sheet.node("ReduceMax", x, shape=(len(rows),), axes=(2,), keepdims=0)


def _gathered(sheet: Sheet, places: Places, tape: Tape, rows: Sequence[int]) -> Output:
    """Write parameters that numbers select, at ``number * step + first`` of a table as one row."""
    nodes = [tape.nodes[row] for row in rows]
    blocks, firsts = places.of_theta(np.array([node.index for node in nodes], np.int64))
    parts, back = [], list[int]()
    for block in dict.fromkeys(blocks.tolist()):
        own = np.flatnonzero(blocks == block)
        ids = sheet.ids(places.take(np.array([nodes[k].args[0] for k in own], np.int64), (len(own),)))
        steps = [nodes[k].table.step for k in own]  # type: ignore[union-attr]
        flat = sheet.node("Add", sheet.node("Mul", ids, sheet.integers([steps]), shape=ids.shape),
                          sheet.integers([firsts[own].tolist()]), shape=ids.shape)  # fmt: skip
        row = sheet.fixed("Reshape", sheet.weight(places.blocks[block]), sheet.integers([-1]))
        parts.append(sheet.node("Gather", row, flat, shape=ids.shape, axis=0))
        back += own.tolist()
    if len(parts) == 1:
        return parts[0]
    joined = sheet.node("Concat", *parts, shape=(len(rows),), axis=1)
    return sheet.node("Gather", joined, sheet.integers(np.argsort(back)), shape=(len(rows),), axis=1)


def _total(sheet: Sheet, places: Places, tape: Tape, row: int) -> Output:
    """Write the sum of parameters, of their squares or of their absolute values."""
    node = tape.nodes[row]
    index = np.arange(node.index, node.index + int(node.number))
    x: Output = places.gather(*places.of_theta(index), index.shape)
    how = node.code.removeprefix("total ")
    if how != "identity":
        x = operation(sheet, how, [x], x.shape)
    return sheet.node("ReduceSum", x, sheet.integers([1]), shape=(1,), keepdims=1)
