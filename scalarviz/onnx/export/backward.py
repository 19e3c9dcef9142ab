"""`Numbers` and `Pass`: the programs of a run as ONNX, instruction by instruction, forward and backward.

Derivatives are those of the table of operations. Rows stand on axis 0 of a tensor, the samples on its last axis. A
tensor that is the same for all samples has length 1 there: a weight, or a mean over the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from hashlib import blake2b
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...scalar import ops
from ...scalar.emit import UPSTREAM, adjoint
from ...tape import Instruction, Program
from .glue import formula, operation
from .module import TYPES
from .sheet import Operand, Shape, Sheet, Tensor
from .sums import Rows

REPEATED = 4
"""A row that gets more than so many times the average number of terms is added up apart from the others."""


class Numbers:
    """Rows of numbers, the tensor in which each stands, and the gradients that flow back to it."""

    def __init__(self, sheet: Sheet, sides: str, wanted: NDArray[np.bool_]) -> None:
        self.sheet, self.sides, self.wanted = sheet, sides, wanted  # `sides`: the shape of one row
        self.tensor: Rows = np.full(len(wanted), -1)
        self.index: Rows = np.zeros(len(wanted), np.int64)
        self.tensors: list[Tensor] = []
        self.origin: dict[str, tuple[str, Shape | None]] = {}  # of what was reshaped: of what, and the shape of that
        self.flowing: list[list[tuple[Rows, Tensor, Rows]]] = []  # by tensor: to which places flow which rows of what

    def put(self, rows: Rows, tensor: Tensor) -> int:
        """The rows stand in a tensor, one after the other; its number."""
        self.tensor[rows], self.index[rows] = len(self.tensors), np.arange(len(rows))
        self.tensors.append(tensor)
        self.flowing.append([])
        return len(self.tensors) - 1

    def take(self, rows: Rows) -> Tensor:
        """The numbers of these rows, of the shape of `rows` with the samples behind it."""
        numbers, index = self.tensor[rows], self.index[rows]
        used = np.unique(numbers).tolist()
        parts = [self.tensors[number] for number in used]
        if any(part.lanes for part in parts):
            parts = [self.spread(part) for part in parts]
        starts = np.zeros(len(self.tensors), np.int64)
        starts[used] = [0, *accumulate(part.shape[0] for part in parts[:-1])]
        return self.picked(self.joined(parts), index + starts[numbers])

    def matrix(self, rows: Rows) -> str:
        """Parameters as a matrix without samples."""
        return self.shaped(self.take(rows).name, rows.shape)

    def shaped(self, name: str, shape: Shape) -> str:
        """The same numbers in another shape."""
        source, own = self.origin.get(name, (name, None))
        if shape == own:
            return source
        made = self.sheet.once(
            ("shaped", source, shape), lambda: self.sheet.fixed("Reshape", source, self.sheet.integers(shape))
        )
        self.origin[made] = source, own
        return made

    def spread(self, x: Tensor) -> Tensor:
        """What is the same for all samples, once for each of them."""
        if x.lanes:
            return x
        name = self.sheet.once(("spread", x.name), lambda: self.sheet.fixed("Expand", x, self.sides))
        return Tensor(name, x.shape)

    def joined(self, parts: Sequence[Tensor]) -> Tensor:
        if len(parts) == 1:
            return parts[0]
        shape, lanes = (sum(part.shape[0] for part in parts),), parts[0].lanes
        key = ("joined", *(part.name for part in parts))
        name = self.sheet.once(key, lambda: self.sheet.fixed("Concat", *parts, axis=0))
        return Tensor(name, shape, lanes)

    def picked(self, x: Tensor, places: Rows) -> Tensor:
        """Rows of a tensor, which may occur several times."""
        key = ("picked", x.name, places.shape, blake2b(places.tobytes()).digest())
        return self.sheet.once(key, lambda: self._picked(x, places))

    def _picked(self, x: Tensor, places: Rows) -> Tensor:
        first, count = int(places.flat[0]), places.size
        if not np.array_equal(places.ravel(), np.arange(first, first + count)):
            return Tensor(self.sheet.fixed("Gather", x, self.sheet.integers(places), axis=0), places.shape, x.lanes)
        if count < x.shape[0]:
            ends = (self.sheet.integers([n]) for n in (first, first + count, 0))
            x = Tensor(self.sheet.fixed("Slice", x, *ends), (count,), x.lanes)
        return self.reshaped(x, places.shape)

    def reshaped(self, x: Tensor, shape: Shape) -> Tensor:
        """The same rows in another shape."""
        return x if x.shape == shape else Tensor(self.shaped(x.name, (*shape, -1)), shape, x.lanes)

    # ---- back

    def add(self, rows: Rows, x: Tensor) -> None:
        """Let a gradient of the shape of `rows` flow to them."""
        rows = rows.ravel()
        wanted = self.wanted[rows]
        if not wanted.any():
            return
        x = self.reshaped(x, rows.shape)
        for number in np.unique(self.tensor[rows[wanted]]).tolist():
            there = np.flatnonzero(wanted & (self.tensor[rows] == number))
            flows = x
            if x.lanes and not self.tensors[number].lanes:
                flows = Tensor(self.sheet.once(("sum", x.name), partial(self._sum, x)), x.shape, lanes=False)
            self.flowing[number].append((self.index[rows[there]], flows, there))

    def _sum(self, x: Tensor) -> str:
        return self.sheet.fixed("ReduceSum", x, self.sheet.integers([-1]), keepdims=1)

    def gradient(self, number: int) -> Tensor | None:
        """All that flows back to a tensor; None where nothing does."""
        target, order = self.tensors[number], np.arange(self.tensors[number].shape[0])
        whole, others = list[Tensor](), list[tuple[Rows, Tensor, Rows]]()
        for places, x, there in self.flowing[number]:
            if x.shape == order.shape and np.array_equal(places, order) and np.array_equal(there, order):
                whole.append(x)
            else:
                others.append((places, x, there))
        if others:
            whole.append(self._collected(others, len(order)))
        if not whole:
            return None
        found = reduce(lambda a, b: self.sheet.node("Add", a, b, shape=order.shape), whole)
        return self.spread(found) if target.lanes else found

    def _collected(self, flowing: Sequence[tuple[Rows, Tensor, Rows]], count: int) -> Tensor:
        """The sum of what flows to each of `count` rows: rows are gathered, filled up with zeros, and summed."""
        parts = list({x.name: x for _, x, _ in flowing}.values())
        zero = self._zero(parts[0])
        source, end = self.joined([*parts, zero]), sum(part.shape[0] for part in parts)
        starts = dict(
            zip((part.name for part in parts), accumulate((p.shape[0] for p in parts), initial=0), strict=False)
        )
        places = np.concatenate([places for places, _, _ in flowing])
        rows = np.concatenate([there + starts[x.name] for _, x, there in flowing])
        by_place = np.argsort(places, kind="stable")
        places, rows = places[by_place], rows[by_place]
        terms = np.bincount(places, minlength=count)
        rank = np.arange(len(places)) - np.repeat(np.cumsum(terms) - terms, terms)
        table = np.full((count, terms.max()), end)
        if table.size <= REPEATED * len(places):
            table[places, rank] = rows
            return self._summed(source, table)
        kinds, found = np.ceil(np.log2(np.maximum(terms, 1))), list[Tensor]()  # as many terms, up to a factor of two
        order = np.zeros(count, np.int64)
        for kind in np.unique(kinds):
            own = np.flatnonzero(kinds == kind)
            order[own] = sum(part.shape[0] for part in found) + np.arange(len(own))
            table, mine = np.full((count, terms[own].max()), end), kinds[places] == kind
            table[places[mine], rank[mine]] = rows[mine]
            found.append(self._summed(source, table[own]))
        return self.picked(self.joined(found), order)

    def _zero(self, like: Tensor) -> Tensor:
        zero = Tensor(self.sheet.numbers([[0.0]]), (1,), lanes=False)
        return self.spread(zero) if like.lanes else zero

    def _summed(self, source: Tensor, table: Rows) -> Tensor:
        if table.shape[1] == 1:
            return self.picked(source, table[:, 0])
        return self.sheet.node(
            "ReduceSum", self.picked(source, table), self.sheet.integers([1]), shape=table.shape[:1], keepdims=0
        )


class Pass:
    """A program that is written forward at once, and backward when it is asked."""

    def __init__(self, sheet: Sheet, program: Program, theta: Numbers, inputs: Numbers) -> None:
        self.sheet, self.program, self.theta = sheet, program, theta
        self.rows = rows = Numbers(sheet, inputs.sides, program.needs_gradient)
        rows.tensors, rows.flowing = list(inputs.tensors), [[] for _ in inputs.tensors]
        rows.tensor[program.input_rows] = inputs.tensor[program.input_index]
        rows.index[program.input_rows] = inputs.index[program.input_index]
        self.known = np.full(program.n_rows, np.nan)
        self.known[program.constant_rows] = program.constants
        if len(program.constants):
            constants = Tensor(sheet.numbers(program.constants[:, None]), (len(program.constants),), lanes=False)
            rows.put(program.constant_rows, constants)
        self.made = [rows.put(np.arange(i.dst, i.dst + i.count), self._forward(i)) for i in program.instructions]

    def outputs(self) -> Tensor:
        """The results of the program."""
        return self.rows.take(self.program.outputs)

    def backward(self) -> None:
        """Write what flows back, from the last instruction to the first."""
        for i, number in zip(reversed(self.program.instructions), reversed(self.made), strict=True):
            if self.program.needs_gradient[i.dst]:
                upstream = self.rows.gradient(number)
                if upstream is not None:
                    self._backward(i, self.rows.tensors[number], upstream)

    def _node(self, operator: str, *operands: Operand, shape: Shape, **more: Any) -> Tensor:
        return self.sheet.node(operator, *operands, shape=shape, **more)

    def _sum(self, x: Tensor, axis: int, keepdims: int = 0) -> Tensor:
        shape = x.shape[:axis] + x.shape[axis + 1 :] if not keepdims else (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        return self._node("ReduceSum", x, self.sheet.integers([axis]), shape=shape, keepdims=keepdims)

    def _flat(self, x: Tensor, rows: int) -> Tensor:
        """All that stands behind the first axis in one axis, of all samples."""
        return x if x.shape == (rows,) else Tensor(self.rows.shaped(x.name, (rows, -1)), (rows,), x.lanes)

    # ---- what each kind of instruction reads

    def _operands(self, i: Instruction) -> list[Operand]:
        """Of an operation; a constant that is the same in all rows is a number."""
        found: list[Operand] = []
        for rows in i.args:
            known = self.known[rows]
            found.append(float(known[0]) if (known == known[0]).all() else self.rows.take(rows))
        if not any(isinstance(x, Tensor) for x in found):
            found[0] = self.rows.take(i.args[0])
        return found

    def _layer(self, i: Instruction) -> tuple[str, Rows, Rows, Tensor, Rows]:
        """The matrix (outputs, n), its places, the operands' rows (n, positions), the operands, the bias's places."""
        outputs, n = len(i.weights), i.args.shape[1]
        span = np.arange(i.weights[0], i.weights[0] + outputs * n).reshape(outputs, n)
        rows = i.args[0] if len(i.args) == 1 else np.ascontiguousarray(i.args.T)
        return (
            self.theta.matrix(span),
            span,
            rows,
            self._flat(self.rows.take(rows), n),
            np.arange(i.bias, i.bias + outputs),
        )

    def _terms(self, i: Instruction) -> tuple[Rows, Rows]:
        """The rows that the sums of an instruction read, (sums, n); and those that they are multiplied by."""
        shape = i.count, i.terms
        if i.kind == "product":
            return i.args[0].reshape(shape), i.args[1].reshape(shape)
        return i.args, i.weights.reshape(shape) if i.kind == "dot" else i.args

    def _table(self, i: Instruction) -> tuple[Rows, Tensor]:
        """The places (entries, numbers) of the parameters that a gather may read, and the numbers that choose."""
        assert i.table is not None
        ids = self.rows.take(i.args[0])
        cast = self.sheet.once(("ids", ids.name), lambda: self.sheet.fixed("Cast", ids, to=TYPES["int64"]))
        return i.weights + np.arange(i.table.rows)[:, None] * i.table.step, replace(ids, name=cast)

    # ---- forward

    def _forward(self, i: Instruction) -> Tensor:
        sheet, rows, shape = self.sheet, self.rows, (i.count,)
        match i.kind:
            case "op":
                return operation(sheet, i.op, self._operands(i), shape)
            case "param":
                return self.theta.take(i.weights)
            case "layer" | "conv":
                matrix, _, _, x, bias = self._layer(i)
                made = self._node("MatMul", matrix, x, shape=bias.shape)
                if i.bias >= 0:
                    made = self._node("Add", made, self.theta.take(bias), shape=bias.shape)
                return made if len(bias) == i.count else Tensor(rows.shaped(made.name, (i.count, -1)), shape, x.lanes)
            case "max":
                return self._node("ReduceMax", rows.take(i.args), shape=shape, axes=(1,), keepdims=0)
            case "squares":
                difference = self._node("Sub", *map(rows.take, i.args), shape=i.args.shape[1:])
                square = self._node("ReduceSumSquare", difference, shape=shape, axes=(0,), keepdims=1)
                return self._node("Mul", square, float(i.numbers[0]), shape=shape)
            case "gather":
                places, ids = self._table(i)
                found = sheet.fixed("Gather", self.theta.matrix(places), ids, axis=0)
                turned = sheet.fixed("Transpose", found, perm=(0, 2, 1))
                return Tensor(rows.shaped(turned, (i.count, -1)), shape, ids.lanes)
            case "batch_mean":
                x = rows.take(i.args[0])
                return self._node("ReduceMean", x, shape=shape, lanes=False, axes=(-1,), keepdims=1)
            case "mask":
                raise InputError(
                    "to_onnx: dropout draws new random numbers at every step, which a plain ONNX graph cannot repeat; "
                    "call eval() of the Dropout modules before the Run is made"
                )
        return self._weighted(i)

    def _weighted(self, i: Instruction) -> Tensor:
        """Sums of products with parameters, numbers or rows."""
        (args, others), shape = self._terms(i), (i.count,)
        x = self.rows.take(args)
        if i.kind == "product":
            total = self._sum(self._node("Mul", x, self.rows.take(others), shape=x.shape), 1)
        elif i.kind == "weighted" and (i.numbers == i.numbers[0]).all():
            total = self._sum(x, 1)
            if i.numbers[0] != 1:
                total = self._node("Mul", total, float(i.numbers[0]), shape=shape)
        else:
            factors = self.theta.take(others) if i.kind == "dot" else self._factors(i)
            total = self._sum(self._node("Mul", x, factors, shape=x.shape), 1)
        if i.bias >= 0:
            total = self._node("Add", total, self.theta.take(np.array([i.bias])), shape=shape)
        return self._node("Add", total, i.offset, shape=shape) if i.offset else total

    def _factors(self, i: Instruction) -> Tensor:
        return Tensor(self.sheet.numbers(i.numbers[None, :, None]), (1, i.terms), lanes=False)

    # ---- backward

    def _backward(self, i: Instruction, made: Tensor, up: Tensor) -> None:
        sheet, rows, theta = self.sheet, self.rows, self.theta
        match i.kind:
            case "op":
                self._pull(i, made, up)
            case "param":
                theta.add(i.weights, up)
            case "layer" | "conv":
                matrix, span, args, x, bias = self._layer(i)
                up = self._flat(up, len(bias))
                gradient = sheet.fixed("Gemm", up, x, transB=1)
                theta.add(span, Tensor(theta.shaped(gradient, (span.size, 1)), (span.size,), lanes=False))
                if i.bias >= 0:
                    theta.add(bias, Tensor(self._sum(up, 1, keepdims=1).name, bias.shape, lanes=False))
                if rows.wanted[args].any():
                    terms = sheet.fixed("Gemm", matrix, up, transA=1)
                    rows.add(args, Tensor(rows.shaped(terms, (args.size, -1)), (args.size,), up.lanes))
            case "max":
                x = rows.take(i.args)
                first = self._node("ArgMax", x, shape=(i.count, 1), axis=1, keepdims=1)
                places = sheet.integers(np.arange(x.shape[1])[None, :, None])
                chosen = self._node("Equal", first, places, shape=x.shape)
                rows.add(i.args, self._node("Where", chosen, rows.reshaped(up, (i.count, 1)), 0.0, shape=x.shape))
            case "squares":
                difference = self._node("Sub", *map(rows.take, i.args), shape=i.args.shape[1:])
                factor = self._node("Mul", up, 2 * float(i.numbers[0]), shape=up.shape)
                terms_of = self._node("Mul", difference, factor, shape=difference.shape)
                rows.add(i.args[0], terms_of)
                if rows.wanted[i.args[1]].any():
                    rows.add(i.args[1], self._node("Neg", terms_of, shape=terms_of.shape))
            case "gather":
                self._scatter(i, up)
            case "batch_mean":
                rows.add(i.args[0], rows.spread(self._node("Div", up, self.lanes(), shape=up.shape)))
            case _:
                self._pull_sums(i, up)

    def lanes(self) -> str:
        """The number of samples, shape (1,)."""
        ends = (self.sheet.integers([n]) for n in (1, 2))
        count = self.sheet.once(("lanes", self.rows.sides), lambda: self.sheet.fixed("Slice", self.rows.sides, *ends))
        kind = TYPES[self.sheet.dtype.name]
        return self.sheet.once(("cast", count, kind), lambda: self.sheet.fixed("Cast", count, to=kind))

    def _pull(self, i: Instruction, made: Tensor, up: Tensor) -> None:
        """The derivatives of an operation, from the table."""
        entry, given = ops.get(i.op), self._operands(i)
        operands = {**dict(zip(entry.args, given, strict=True)), "y": made, UPSTREAM: up}
        for args, partial_of in zip(i.args, entry.partials, strict=True):
            if partial_of is not None and self.rows.wanted[args].any():
                text = adjoint(partial_of)
                self.rows.add(args, up if text == UPSTREAM else formula(self.sheet, text, operands, (i.count,)))

    def _pull_sums(self, i: Instruction, up: Tensor) -> None:
        args, others = self._terms(i)
        if i.bias >= 0:
            bias = self._sum(self._node("ReduceSum", up, self.sheet.integers([-1]), shape=up.shape, keepdims=1), 0, 1)
            self.theta.add(np.array([i.bias]), replace(bias, shape=(1,), lanes=False))
        up = self.rows.reshaped(up, (i.count, 1))
        if i.kind == "weighted":
            self.rows.add(args, self._node("Mul", self._factors(i), up, shape=args.shape))
            return
        source = self.theta if i.kind == "dot" else self.rows
        if self.rows.wanted[args].any():
            self.rows.add(args, self._node("Mul", source.take(others), up, shape=args.shape))
        if source.wanted[others].any():
            source.add(others, self._node("Mul", self.rows.take(args), up, shape=args.shape))

    def _scatter(self, i: Instruction, up: Tensor) -> None:
        """To each entry of a table the sum of what flows to those that read it: a product with ones and zeros."""
        places, ids = self._table(i)
        entries, width = places.shape
        parts = self.sheet.fixed("Reshape", up, self.sheet.integers((len(i.args[0]), width, -1)))
        turned = self.theta.shaped(self.sheet.fixed("Transpose", parts, perm=(0, 2, 1)), (-1, width))
        ones = self.sheet.fixed("OneHot", ids, self.sheet.integers([entries]), self.sheet.numbers([0.0, 1.0]), axis=-1)
        found = self.sheet.fixed("Gemm", self.theta.shaped(ones, (-1, entries)), turned, transA=1)
        self.theta.add(places, Tensor(self.theta.shaped(found, (places.size, 1)), (places.size,), lanes=False))
