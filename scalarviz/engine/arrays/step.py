"""One instruction on NumPy arrays, and the operations of the table as functions of arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ...scalar import ops
from ...scalar.emit import NUMPY, UPSTREAM, adjoint, function_source
from ...scalar.erf import erf, erfc
from ...tape import Instruction, Program
from ..problem import Array


@cache
def numpy_form(name: str, dtype: np.dtype[Any]) -> tuple[Callable[..., Array], tuple[Callable[..., Array] | None, ...]]:
    """Value of a table entry, and what each operand gets from above, as functions of arrays, in `dtype` throughout.

    The value takes the operands; the others take them, the value, and the upstream gradient. None: no gradient.
    """
    op = ops.get(name)
    dialect = replace(NUMPY, literal=_literal)
    namespace: dict[str, Any] = {"_np": np, "_erf": erf, "_erfc": erfc, "_number": dtype.type}
    exec(function_source("value", op.args, (op.value,), dialect), namespace)
    value: Callable[..., Array] = namespace["value"]
    pulls: list[Callable[..., Array] | None] = []
    for k, partial in enumerate(op.partials):
        if partial is None:
            pulls.append(None)
            continue
        exec(function_source(f"pull_{k}", (*op.args, "y", UPSTREAM), (adjoint(partial),), dialect), namespace)
        pulls.append(namespace[f"pull_{k}"])
    return value, tuple(pulls)


def _literal(number: float) -> str:
    return f"_number('{number!r}')"  # a plain float would make np.where(c, 1.0, 0.0) float64


class Step:
    """One instruction, its indices prepared: an operation, a layer, or parameters."""

    def __init__(self, instruction: Instruction, program: Program, dtype: np.dtype[Any]) -> None:
        self.instruction = i = instruction
        self.dtype = dtype
        self.dst = slice(i.dst, i.dst + i.count)
        self.alive = bool(program.needs_gradient[i.dst])
        self.args = [_compact(a) for a in i.args]
        self.unique = [len(set(a.tolist())) == len(a) for a in i.args]
        self.flows = [bool(program.needs_gradient[a].any()) for a in i.args]
        self.weights = i.weights
        self.numbers = i.numbers.astype(dtype)
        if i.kind == "op":
            self.value, self.pulls = numpy_form(i.op, dtype)
        if i.kind == "layer":
            n = i.args.shape[1]
            self.span = slice(int(i.weights[0]), int(i.weights[0]) + n * i.count)
            self.bias = slice(i.bias, i.bias + i.count)

    @property
    def operands(self) -> int:
        """Numbers of a sample that are put together at a time."""
        return int(self.instruction.args.size)

    def forward(self, rows: Array, theta: Array) -> None:
        """Fill the instruction's own rows (n_rows, lanes)."""
        i = self.instruction
        if i.kind == "op":
            rows[self.dst] = self.value(*[rows[a] for a in self.args])
            return
        if i.kind == "param":
            picked = theta[self.weights]
            rows[self.dst] = picked if theta.ndim == 2 else picked[:, None]
            return
        if i.kind == "layer":
            result = theta[self.span].reshape(i.count, -1) @ rows[self.args[0]]
            rows[self.dst] = result if i.bias < 0 else result + theta[self.bias][:, None]

    def backward(self, rows: Array, adjoints: Array, theta: Array, grad: Array) -> None:
        """Hand the adjoints of the instruction's rows on to its operands, and to `grad`."""
        if not self.alive:
            return
        i = self.instruction
        upstream = adjoints[self.dst]
        if i.kind == "op":
            operands = [rows[a] for a in self.args]
            for k, pull in enumerate(self.pulls):
                if pull is not None and self.flows[k]:
                    self._add(adjoints, k, pull(*operands, rows[self.dst], upstream))
            return
        if i.kind == "param":
            np.add.at(grad, self.weights, upstream.sum(axis=1))
            return
        if i.bias >= 0:
            grad[i.bias : i.bias + i.count] += upstream.sum(axis=1)
        if i.kind == "layer":
            grad[self.span] += (upstream @ rows[self.args[0]].T).ravel()
            if self.flows[0]:
                self._add(adjoints, 0, theta[self.span].reshape(i.count, -1).T @ upstream)

    def _add(self, adjoints: Array, k: int, terms: Array) -> None:
        """Add `terms` to the adjoints of operands `k`, which may be one row several times."""
        if self.unique[k]:
            adjoints[self.args[k]] += terms
        else:
            np.add.at(adjoints, self.instruction.args[k], terms)


def _compact(rows: Any) -> Any:
    """A slice where the rows are neighbours (a view instead of a copy), else the index array."""
    if len(rows) and np.array_equal(rows, np.arange(rows[0], rows[0] + len(rows))):
        return slice(int(rows[0]), int(rows[0]) + len(rows))
    return rows
