"""Sums on NumPy arrays: weighted by parameters or numbers, of products of rows, of squared differences."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from ...tape import Instruction, Program
from ..problem import Array
from .step import Step


class _Sums(Step):
    """Several rows, each the sum of as many terms."""

    def __init__(self, instruction: Instruction, program: Program, dtype: np.dtype[Any]) -> None:
        super().__init__(instruction, program, dtype)
        self.shape = instruction.count, instruction.terms
        self.targets = [_Targets(side.ravel()) for side in self._sides()]

    def _sides(self) -> list[Any]:
        return [self.instruction.args]

    def forward(self, rows: Array, theta: Array) -> None:
        """The sums, with the bias and the offset."""
        i = self.instruction
        total = self._total(rows, theta)
        if i.bias >= 0:
            total = total + theta[i.bias]
        rows[self.dst] = total + self.dtype.type(i.offset)

    def backward(self, rows: Array, adjoints: Array, theta: Array, grad: Array) -> None:
        """To the bias, the weights and the operands."""
        if not self.alive:
            return
        upstream = adjoints[self.dst]
        if self.instruction.bias >= 0:
            grad[self.instruction.bias] += upstream.sum()
        self._pull(rows, adjoints, upstream, theta, grad)

    @abstractmethod
    def _total(self, rows: Array, theta: Array) -> Array:
        """The sums of the terms, shape (count, lanes)."""

    @abstractmethod
    def _pull(self, rows: Array, adjoints: Array, upstream: Array, theta: Array, grad: Array) -> None:
        """Hand `upstream`, shape (count, lanes), on to operands and weights."""

    def _each(self, rows: Array, side: int) -> Array:
        """The operands of one side, shape (count, n, lanes)."""
        operands: Array = rows[self._sides()[side].ravel()].reshape(*self.shape, rows.shape[1])
        return operands


class Weighted(_Sums):
    """Sums with the same numbers as weights."""

    def _total(self, rows: Array, theta: Array) -> Array:
        total: Array = self.numbers @ self._each(rows, 0)
        return total

    def _pull(self, rows: Array, adjoints: Array, upstream: Array, theta: Array, grad: Array) -> None:
        if any(self.flows):
            self.targets[0].add(adjoints, self.numbers[:, None] * upstream[:, None])


class Dots(_Sums):
    """Sums with parameters as weights."""

    def _total(self, rows: Array, theta: Array) -> Array:
        total: Array = (self._weights(theta)[:, None] @ self._each(rows, 0))[:, 0]
        return total

    def _weights(self, theta: Array) -> Array:
        weights: Array = theta[self.weights].reshape(self.shape)
        return weights

    def _pull(self, rows: Array, adjoints: Array, upstream: Array, theta: Array, grad: Array) -> None:
        np.add.at(grad, self.weights, (self._each(rows, 0) @ upstream[..., None]).ravel())
        if any(self.flows):
            self.targets[0].add(adjoints, self._weights(theta)[..., None] * upstream[:, None])


class Matrices(Dots):
    """The same where several sums read the same operands: a product of matrices for each such stretch of sums."""

    def __init__(self, instruction: Instruction, program: Program, dtype: np.dtype[Any]) -> None:
        super().__init__(instruction, program, dtype)
        self.stretches = list(_stretches(instruction))
        self.targets = [_Targets(instruction.args[part.start]) for part in self.stretches]
        self.flows = [bool(program.needs_gradient[target.rows].any()) for target in self.targets]

    @staticmethod
    def pay(instruction: Instruction) -> bool:
        """Whether there are such stretches, of two sums at least on average."""
        return instruction.kind == "dot" and 2 * len(list(_stretches(instruction))) <= instruction.count

    @property
    def operands(self) -> int:
        """Numbers of a sample that are put together at a time."""
        return self.shape[1]

    def _total(self, rows: Array, theta: Array) -> Array:
        weights, args = self._weights(theta), self.instruction.args
        return np.concatenate([weights[part] @ rows[args[part.start]] for part in self.stretches])

    def _pull(self, rows: Array, adjoints: Array, upstream: Array, theta: Array, grad: Array) -> None:
        weights, args, made = self._weights(theta), self.instruction.args, np.empty(self.shape, self.dtype)
        for part, target, flows in zip(self.stretches, self.targets, self.flows, strict=True):
            made[part] = upstream[part] @ rows[args[part.start]].T
            if flows:
                target.add(adjoints, weights[part].T @ upstream[part])
        np.add.at(grad, self.weights, made.ravel())


def _stretches(i: Instruction) -> Iterator[slice]:
    """The sums that follow one another with the same operands."""
    cuts = np.flatnonzero((i.args[1:] != i.args[:-1]).any(axis=1)) + 1
    for start, end in pairwise([0, *cuts.tolist(), i.count]):
        yield slice(start, end)


class Products(_Sums):
    """Sums of products of rows."""

    def _sides(self) -> list[Any]:
        return list(self.instruction.args)

    def _total(self, rows: Array, theta: Array) -> Array:
        total: Array = (self._each(rows, 0) * self._each(rows, 1)).sum(axis=1)
        return total

    def _pull(self, rows: Array, adjoints: Array, upstream: Array, theta: Array, grad: Array) -> None:
        for side in (0, 1):
            if self.flows[side]:
                self.targets[side].add(adjoints, self._each(rows, 1 - side) * upstream[:, None])


class _Targets:
    """Rows that terms are added to, one row perhaps several times: then its terms are summed first, in order."""

    def __init__(self, rows: Any) -> None:
        self.rows, self.firsts = np.unique(rows, return_index=True)
        self.order: Any = None
        if len(self.rows) == len(rows):
            self.rows = rows
        else:
            self.order = np.argsort(rows, kind="stable")
            self.firsts = np.searchsorted(rows[self.order], self.rows)

    def add(self, adjoints: Array, terms: Array) -> None:
        """Add `terms`, shape (..., lanes), to the rows of `adjoints`."""
        terms = terms.reshape(-1, terms.shape[-1])
        if self.order is not None:
            terms = np.add.reduceat(terms[self.order], self.firsts, axis=0)
        adjoints[self.rows] += terms


class Squares(Step):
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
