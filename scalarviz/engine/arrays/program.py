"""A program on NumPy arrays: forward and backward, one instruction at a time over all lanes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ...scalar import ops
from ...scalar.emit import NUMPY, UPSTREAM, adjoint, function_source
from ...scalar.mask import Draws
from ...tape import Instruction, Program
from ..problem import Array


@cache
def numpy_form(name: str, dtype: np.dtype[Any]) -> tuple[Callable[..., Array], tuple[Callable[..., Array] | None, ...]]:
    """Value of a table entry, and what each operand gets from above, as functions of arrays, in `dtype` throughout.

    The value takes the operands; the others take them, the value, and the upstream gradient. None: no gradient.
    """
    op = ops.get(name)
    dialect = replace(NUMPY, literal=_literal)
    namespace: dict[str, Any] = {"_np": np, "_number": dtype.type}
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


class RowProgram:
    """A `Program` that NumPy runs.

    Parameters
    ----------
    program : Program
    dtype : numpy.dtype
    """

    def __init__(self, program: Program, dtype: np.dtype[Any]) -> None:
        self.program, self.dtype = program, dtype
        with np.errstate(over="ignore"):  # 1e308 is infinite in float32, as IEEE 754 rounds it
            self.constants = program.constants.astype(dtype)
        kinds = {"conv": _Conv, "max": _Max, "squares": _Squares, "gather": _Gather}
        self.masks = [i for i in program.instructions if i.kind == "mask"]
        self.steps = [kinds.get(i.kind, _Step)(i, program, dtype) for i in program.instructions if i.kind != "mask"]

    @property
    def lane_bytes(self) -> int:
        """What forward and backward hold of one sample: values, adjoints, and operands with their terms."""
        operands = max((i.args.size for i in self.program.instructions), default=0)
        return 2 * (self.program.n_rows + operands) * self.dtype.itemsize

    def forward(self, theta: Array, inputs: Array, draws: Draws | None = None) -> Array:
        """Every row.

        Parameters
        ----------
        theta : ndarray, shape (n_theta,)
            Or (n_theta, lanes), other parameters on every lane, for a program of operations alone.
        inputs : ndarray, shape (numbers of a sample, lanes)
        draws : Draws, optional
            Of the step and the first of the samples, for a program with masks.

        Returns
        -------
        ndarray, shape (n_rows, lanes)
        """
        program = self.program
        rows = np.empty((program.n_rows, inputs.shape[1]), self.dtype)
        rows[program.input_rows] = inputs[program.input_index]
        rows[program.constant_rows] = self.constants[:, None]
        for mask in self.masks:
            assert draws is not None  # masks of no step at all
            factors = draws.factors(mask.call, mask.units, inputs.shape[1], float(mask.numbers[0]), self.dtype)
            rows[mask.dst : mask.dst + mask.count] = factors
        with np.errstate(all="ignore"):
            for step in self.steps:
                step.forward(rows, theta)
        return rows

    def backward(self, rows: Array, adjoints: Array, theta: Array, grad: Array) -> None:
        """Add the gradients to `grad` (n_theta,); `adjoints` (n_rows, lanes) holds the seeds and is used up."""
        with np.errstate(all="ignore"):
            for step in reversed(self.steps):
                step.backward(rows, adjoints, theta, grad)


class _Step:
    """One instruction, its indices prepared."""

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
            return
        if i.kind == "product":
            total = np.sum(rows[self.args[0]] * rows[self.args[1]], axis=0)
        else:
            total = self._coefficients(theta) @ rows[self.args[0]]
        if i.bias >= 0:
            total = total + theta[i.bias]
        rows[i.dst] = total + self.dtype.type(i.offset)

    def _coefficients(self, theta: Array) -> Array:
        return theta[self.weights] if self.instruction.kind == "dot" else self.numbers

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
        elif i.kind == "product":
            for k, other in ((0, 1), (1, 0)):
                if self.flows[k]:
                    self._add(adjoints, k, rows[self.args[other]] * upstream)
        else:
            if i.kind == "dot":
                np.add.at(grad, self.weights, rows[self.args[0]] @ upstream[0])
            if self.flows[0]:
                self._add(adjoints, 0, self._coefficients(theta)[:, None] * upstream)

    def _add(self, adjoints: Array, k: int, terms: Array) -> None:
        if self.unique[k]:
            adjoints[self.args[k]] += terms
        else:
            np.add.at(adjoints, self.instruction.args[k], terms)


class _Conv(_Step):
    """Layers that share their weights."""

    def __init__(self, instruction: Instruction, program: Program, dtype: np.dtype[Any]) -> None:
        super().__init__(instruction, program, dtype)
        self.outputs, self.n = len(instruction.weights), instruction.args.shape[1]
        self.span = slice(int(instruction.weights[0]), int(instruction.weights[0]) + self.n * self.outputs)
        self.bias = slice(instruction.bias, instruction.bias + self.outputs)

    def forward(self, rows: Array, theta: Array) -> None:
        """The sums of all positions, as one product a position."""
        result = theta[self.span].reshape(self.outputs, -1) @ rows[self.instruction.args]
        if self.instruction.bias >= 0:
            result += theta[self.bias][:, None]
        rows[self.dst] = result.transpose(1, 0, 2).reshape(self.instruction.count, -1)

    def backward(self, rows: Array, adjoints: Array, theta: Array, grad: Array) -> None:
        """The weights' gradient over all positions at once; the inputs' one operand after another."""
        if not self.alive:
            return
        upstream = adjoints[self.dst].reshape(self.outputs, -1, adjoints.shape[1])
        if self.instruction.bias >= 0:
            grad[self.bias] += upstream.sum(axis=(1, 2))
        operands = rows[self.instruction.args]
        grad[self.span] += np.tensordot(upstream, operands, ((1, 2), (0, 2))).ravel()
        if any(self.flows):
            terms = theta[self.span].reshape(self.outputs, -1).T @ upstream.transpose(1, 0, 2)
            for k, column in enumerate(self.instruction.args.T):
                np.add.at(adjoints, column, terms[:, k])


class _Max(_Step):
    """Largest of several rows; the gradient goes to the first that is, a NaN to all."""

    def forward(self, rows: Array, theta: Array) -> None:
        """The largest of each row's operands; the first of equal ones."""
        first_max, _ = numpy_form("first_max", self.dtype)
        operands = rows[self.instruction.args]
        found = operands[:, 0]
        for k in range(1, operands.shape[1]):
            found = first_max(found, operands[:, k])
        rows[self.dst] = found

    def backward(self, rows: Array, adjoints: Array, theta: Array, grad: Array) -> None:
        """All of the gradient to the operand that was chosen."""
        if not self.alive:
            return
        upstream, found = adjoints[self.dst], rows[self.dst]
        others = np.where(found == found, self.dtype.type(0), upstream * found)
        open_still = np.ones(found.shape, np.bool_)
        for column in self.instruction.args.T:
            chosen = open_still & (rows[column] == found)
            open_still &= ~chosen
            np.add.at(adjoints, column, np.where(chosen, upstream, others))


class _Squares(_Step):
    """Sum of squared errors."""

    def forward(self, rows: Array, theta: Array) -> None:
        """The factor times the sum of the squared differences."""
        a, b = self.args
        rows[self.instruction.dst] = self.numbers[0] * np.square(rows[a] - rows[b]).sum(axis=0)

    def backward(self, rows: Array, adjoints: Array, theta: Array, grad: Array) -> None:
        """Twice each difference to `a`, the opposite to `b`."""
        if not self.alive:
            return
        a, b = self.args
        terms = (rows[a] - rows[b]) * (adjoints[self.dst] * (self.numbers[0] * 2))
        for k, sign in ((0, 1), (1, -1)):
            if self.flows[k]:
                self._add(adjoints, k, sign * terms)


class _Gather(_Step):
    """Parameters of a table, chosen on each lane by the number in a row."""

    def _chosen(self, rows: Array) -> tuple[Array, Array]:
        """What the numbers (positions, lanes) choose, 0 where there is no such one; and whether there is."""
        i = self.instruction
        assert i.table is not None
        numbers = rows[i.args[0]]
        there = (numbers >= 0) & (numbers < i.table.rows) & (numbers == np.floor(numbers))
        return np.where(there, numbers, 0).astype(np.int64), there

    def forward(self, rows: Array, theta: Array) -> None:
        """The parameters; NaN where the table has no such number."""
        i = self.instruction
        assert i.table is not None
        numbers, there = self._chosen(rows)
        found = theta[i.weights[:, None] + numbers[:, None, :] * i.table.step]
        rows[self.dst] = np.where(there[:, None, :], found, self.dtype.type(np.nan)).reshape(i.count, -1)

    def backward(self, rows: Array, adjoints: Array, theta: Array, grad: Array) -> None:
        """Each lane's adjoint to the parameter that it read, id by id, lane by lane."""
        if not self.alive:
            return
        i = self.instruction
        assert i.table is not None
        numbers, there = self._chosen(rows)
        upstream = adjoints[self.dst].reshape(len(numbers), len(i.weights), -1)
        position, lane = np.nonzero(there)
        places = i.weights[None, :] + numbers[position, lane][:, None] * i.table.step
        np.add.at(grad, places, upstream[position, :, lane])


def _compact(rows: Any) -> Any:
    """A slice where the rows are neighbours (a view instead of a copy), else the index array."""
    if len(rows) and np.array_equal(rows, np.arange(rows[0], rows[0] + len(rows))):
        return slice(int(rows[0]), int(rows[0]) + len(rows))
    return rows
