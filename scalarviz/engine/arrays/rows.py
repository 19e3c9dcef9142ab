"""Instructions on NumPy arrays, forward and backward: operations, sums, means over the batch, table lookups."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from ...scalar.kernel import numpy_form
from ...tape import Instruction, Program
from ..problem import Array


def times(weights: Array, operands: Array) -> Array:
    """Return the matrix product; one product alone keeps the sign of -0.0, which a sum from 0.0 on loses."""
    found: Array = weights * operands if weights.shape[-1] == 1 else weights @ operands
    return found


class Step:
    """One instruction with prepared indices: an operation, a layer, or parameters."""

    def __init__(self, instruction: Instruction, program: Program, dtype: np.dtype[Any]) -> None:
        self.instruction = i = instruction
        self.dtype = dtype
        self.dst = slice(i.dst, i.dst + i.count)
        self.alive = bool(program.needs_gradient[i.dst])
        self.args = [compact(a) for a in i.args]
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
        """The numbers of a sample that are gathered at a time."""
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
        result = times(theta[self.span].reshape(i.count, -1), rows[self.args[0]])
        rows[self.dst] = result if i.bias < 0 else result + theta[self.bias][:, None]

    def backward(self, rows: Array, adjoints: Array, theta: Array, grad: Array) -> None:
        """Add the gradients of the instruction's rows to those of its operands, and to `grad`."""
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
            grad[self.bias] += upstream.sum(axis=1)
        grad[self.span] += (upstream @ rows[self.args[0]].T).ravel()
        if self.flows[0]:
            self._add(adjoints, 0, theta[self.span].reshape(i.count, -1).T @ upstream)

    def _add(self, adjoints: Array, k: int, terms: Array) -> None:
        """Add `terms` to the gradients of operands `k`, which may name a row several times."""
        if self.unique[k]:
            adjoints[self.args[k]] += terms
        else:
            np.add.at(adjoints, self.instruction.args[k], terms)


def compact(rows: Any) -> Any:
    """Return neighbouring rows as a slice (a view instead of a copy), others as an index array."""
    if len(rows) and np.array_equal(rows, np.arange(rows[0], rows[0] + len(rows))):
        return slice(int(rows[0]), int(rows[0]) + len(rows))
    return rows


class BatchMean(Step):
    """The mean of each row over all lanes, on every lane; sums are float64."""

    def forward(self, rows: Array, theta: Array) -> None:
        """Fill the rows with the means."""
        rows[self.dst] = rows[self.args[0]].mean(axis=1, dtype=np.float64)[:, None]

    def backward(self, rows: Array, adjoints: Array, theta: Array, grad: Array) -> None:
        """Add to every lane the mean of the gradients of all lanes."""
        means = adjoints[self.dst].mean(axis=1, dtype=np.float64).astype(self.dtype)
        self._add(adjoints, 0, np.broadcast_to(means[:, None], (len(means), adjoints.shape[1])))


class Gather(Step):
    """Parameters of a table; on each lane, a row's number chooses them."""

    def _chosen(self, rows: Array) -> tuple[Array, Array]:
        """Return the chosen table rows (positions, lanes), 0 for invalid numbers; and which numbers are valid."""
        i = self.instruction
        assert i.table is not None
        numbers = rows[i.args[0]]
        there = (numbers >= 0) & (numbers < i.table.rows) & (numbers == np.floor(numbers))
        return np.where(there, numbers, 0).astype(np.int64), there

    def forward(self, rows: Array, theta: Array) -> None:
        """Fill the rows with the parameters, or NaN if the table does not have that row."""
        i = self.instruction
        assert i.table is not None
        numbers, there = self._chosen(rows)
        found = theta[i.weights[:, None] + numbers[:, None, :] * i.table.step]
        rows[self.dst] = np.where(there[:, None, :], found, self.dtype.type(np.nan)).reshape(i.count, -1)

    def backward(self, rows: Array, adjoints: Array, theta: Array, grad: Array) -> None:
        """Add each lane's gradient to the parameter that it read, id by id, lane by lane."""
        i = self.instruction
        assert i.table is not None
        numbers, there = self._chosen(rows)
        upstream = adjoints[self.dst].reshape(len(numbers), len(i.weights), -1)
        position, lane = np.nonzero(there)
        places = i.weights[None, :] + numbers[position, lane][:, None] * i.table.step
        np.add.at(grad, places, upstream[position, :, lane])


class _Sums(Step):
    """Several sums with equally many terms, one per row."""

    def __init__(self, instruction: Instruction, program: Program, dtype: np.dtype[Any]) -> None:
        super().__init__(instruction, program, dtype)
        self.shape = instruction.count, instruction.terms
        self.targets = [_Targets(side.ravel()) for side in self._sides()]

    def _sides(self) -> list[Any]:
        return [self.instruction.args]

    def forward(self, rows: Array, theta: Array) -> None:
        """Fill the rows with the sums, bias and offset included."""
        i = self.instruction
        total = self._total(rows, theta)
        if i.bias >= 0:
            total = total + theta[i.bias]
        rows[self.dst] = total + self.dtype.type(i.offset)

    def backward(self, rows: Array, adjoints: Array, theta: Array, grad: Array) -> None:
        """Add the gradients of bias, weights and operands."""
        upstream = adjoints[self.dst]
        if self.instruction.bias >= 0:
            grad[self.instruction.bias] += upstream.sum()
        self._pull(rows, adjoints, upstream, theta, grad)

    @abstractmethod
    def _total(self, rows: Array, theta: Array) -> Array:
        """Return the sums of the terms, shape (count, lanes)."""

    @abstractmethod
    def _pull(self, rows: Array, adjoints: Array, upstream: Array, theta: Array, grad: Array) -> None:
        """Add the gradients of operands and weights from `upstream`, shape (count, lanes)."""

    def _operands(self, rows: Array, side: int) -> Array:
        """Return the operands of one side, shape (count, n, lanes)."""
        operands: Array = rows[self._sides()[side].ravel()].reshape(*self.shape, rows.shape[1])
        return operands


class Weighted(_Sums):
    """Sums whose weights are constants."""

    def _total(self, rows: Array, theta: Array) -> Array:
        return times(self.numbers[None], self._operands(rows, 0))[:, 0]

    def _pull(self, rows: Array, adjoints: Array, upstream: Array, theta: Array, grad: Array) -> None:
        if any(self.flows):
            self.targets[0].add(adjoints, self.numbers[:, None] * upstream[:, None])


class Dots(_Sums):
    """Sums whose weights are parameters."""

    def _total(self, rows: Array, theta: Array) -> Array:
        return times(self._weights(theta)[:, None], self._operands(rows, 0))[:, 0]

    def _weights(self, theta: Array) -> Array:
        return theta[self.weights].reshape(self.shape)

    def _pull(self, rows: Array, adjoints: Array, upstream: Array, theta: Array, grad: Array) -> None:
        np.add.at(grad, self.weights, (self._operands(rows, 0) @ upstream[..., None]).ravel())
        if any(self.flows):
            self.targets[0].add(adjoints, self._weights(theta)[..., None] * upstream[:, None])


class Matrices(Dots):
    """Like `Dots`, for groups of sums that read the same operands: one matrix product per group."""

    def __init__(self, instruction: Instruction, program: Program, dtype: np.dtype[Any]) -> None:
        super().__init__(instruction, program, dtype)
        self.stretches = list(_stretches(instruction))
        self.targets = [_Targets(instruction.args[part.start]) for part in self.stretches]
        self.flows = [bool(program.needs_gradient[target.rows].any()) for target in self.targets]

    @staticmethod
    def pay(instruction: Instruction) -> bool:
        """Return whether there are such groups, of at least two sums on average."""
        return instruction.kind == "dot" and 2 * len(list(_stretches(instruction))) <= instruction.count

    @property
    def operands(self) -> int:
        """The numbers of a sample that are gathered at a time."""
        return self.shape[1]

    def _total(self, rows: Array, theta: Array) -> Array:
        weights, args = self._weights(theta), self.instruction.args
        return np.concatenate([times(weights[part], rows[args[part.start]]) for part in self.stretches])

    def _pull(self, rows: Array, adjoints: Array, upstream: Array, theta: Array, grad: Array) -> None:
        weights, args, made = self._weights(theta), self.instruction.args, np.empty(self.shape, self.dtype)
        for part, target, flows in zip(self.stretches, self.targets, self.flows, strict=True):
            made[part] = upstream[part] @ rows[args[part.start]].T
            if flows:
                target.add(adjoints, weights[part].T @ upstream[part])
        np.add.at(grad, self.weights, made.ravel())


def _stretches(i: Instruction) -> Iterator[slice]:
    """Yield the groups of consecutive sums with the same operands."""
    cuts = np.flatnonzero((i.args[1:] != i.args[:-1]).any(axis=1)) + 1
    for start, end in pairwise([0, *cuts.tolist(), i.count]):
        yield slice(start, end)


class Products(_Sums):
    """Sums of products of rows."""

    def _sides(self) -> list[Any]:
        return list(self.instruction.args)

    def _total(self, rows: Array, theta: Array) -> Array:
        total: Array = (self._operands(rows, 0) * self._operands(rows, 1)).sum(axis=1, initial=-0.0)
        return total

    def _pull(self, rows: Array, adjoints: Array, upstream: Array, theta: Array, grad: Array) -> None:
        for side in (0, 1):
            if self.flows[side]:
                self.targets[side].add(adjoints, self._operands(rows, 1 - side) * upstream[:, None])


class _Targets:
    """Target rows, which may repeat; the terms of one row are summed first, in order."""

    def __init__(self, rows: Any) -> None:
        self.rows, self.firsts = np.unique(rows, return_index=True)
        self.order: Any = None
        if len(self.rows) == len(rows):
            self.rows = rows
        else:
            self.order = np.argsort(rows, kind="stable")
            self.firsts = np.searchsorted(rows[self.order], self.rows)

    def add(self, adjoints: Array, terms: Array) -> None:
        """Add `terms`, shape (..., lanes), to these rows of `adjoints`."""
        terms = terms.reshape(-1, terms.shape[-1])
        if self.order is not None:
            terms = np.add.reduceat(terms[self.order], self.firsts, axis=0)
        adjoints[self.rows] += terms


class Squares(Step):
    """The sum of squared errors, times a factor."""

    def forward(self, rows: Array, theta: Array) -> None:
        """Fill the row: the factor times the sum of the squared differences."""
        a, b = self.args
        rows[self.instruction.dst] = self.numbers[0] * np.square(rows[a] - rows[b]).sum(axis=0)

    def backward(self, rows: Array, adjoints: Array, theta: Array, grad: Array) -> None:
        """Add twice each difference to the gradient of `a`, and the negative to that of `b`."""
        a, b = self.args
        terms = (rows[a] - rows[b]) * (adjoints[self.dst] * (self.numbers[0] * 2))
        for k, sign in ((0, 1), (1, -1)):
            if self.flows[k]:
                self._add(adjoints, k, sign * terms)
