"""A program as lists of calls of kernels, and the tables of indices that they read.

Calls name their buffers; ``machine`` puts the memory in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from ...tape import Instruction, Program

Name = Literal["values", "adjoints", "theta", "grad", "pool", "numbers"]
"""What calls may name: rows of values and adjoints, parameters and their gradients, the tables."""


class Call(NamedTuple):
    """One launch, for a chunk of lanes.

    Attributes
    ----------
    kernel : str
        As in ``catalog``.
    rows : int
        Rows of threads; a thread a lane in each.
    arguments : tuple of str or int
        Names of buffers, and numbers. Behind them come the stride and the number of lanes.
    """

    kernel: str
    rows: int
    arguments: tuple[str | int, ...]


class Squares(NamedTuple):
    """A squared error that is the loss and is computed where the losses are summed: its rows, in the pool.

    Attributes
    ----------
    args, n : int
        Where ``2 * n`` rows begin: what the network says, what it should say. The first are written by nobody else.
    number : int
        The place of its factor in the numbers.
    """

    args: int
    n: int
    number: int


@dataclass
class Encoded:
    """A program ready to be loaded.

    Attributes
    ----------
    forward, backward : list of Call
        In the order in which they run.
    pool : list of int
        Rows and tables of indices.
    numbers : list of float
        Constants, factors and offsets.
    constants_at : int
        Where the rows of constants begin in the pool; their numbers begin the numbers.
    inputs_at, outputs_at : int
        Where the input rows and the outputs begin in the pool.
    seeds_at : (int, int)
        The list of targets of the given adjoints, whose items are their numbers.
    squares : Squares or None
        The loss, where it is joined with its sum.
    first, adjoint_rows, value_rows : ndarray
        The pairs of parameter p are those from ``first[p]`` to ``first[p + 1]``: its gradient is the sum of adjoint
        times value over them (-1: times 1).
    """

    pool: list[int] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    forward: list[Call] = field(default_factory=list)
    backward: list[Call] = field(default_factory=list)
    constants_at: int = 0
    inputs_at: int = 0
    outputs_at: int = 0
    seeds_at: tuple[int, int] = (0, 0)
    squares: Squares | None = None
    first: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    adjoint_rows: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    value_rows: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    def table(self, indices: Any) -> int:
        """Put indices into the pool; returns where they begin."""
        at = len(self.pool)
        self.pool.extend(np.asarray(indices, np.int64).ravel().tolist())
        return at


def encode(program: Program, seeds: tuple[int, ...] = (), joined: bool = True) -> Encoded:
    """Tables and calls of a program.

    Parameters
    ----------
    program : Program
    seeds : tuple of int
        Rows whose adjoints are given; empty for forward only.
    joined : bool
        Whether a squared error may be computed where the losses are summed.
    """
    found = Encoded()
    found.numbers.extend(program.constants.tolist())
    found.constants_at = found.table(program.constant_rows)
    found.inputs_at = found.table(program.input_rows)
    found.outputs_at = found.table(program.outputs)
    last = program.instructions[-1:]
    instructions = program.instructions
    if joined and last and _is_loss_alone(program, last[0]):
        instructions = instructions[:-1]
    writers = [_write(found, i) for i in instructions]
    if seeds:
        rows, written = np.array(seeds, np.int64), set[int]()
        found.seeds_at = targets(found, rows, np.flatnonzero(program.needs_gradient[rows]), written)
        if len(instructions) < len(program.instructions):
            found.squares = _loss(found, last[0], written)
        _backward(found, program, instructions, writers, written)
    return found


def _is_loss_alone(program: Program, i: Instruction) -> bool:
    """Whether an instruction is the squared error of rows, each once, from rows that get no gradient."""
    if i.kind != "squares" or i.dst != program.loss:
        return False
    said, wanted = i.args
    needs = program.needs_gradient
    return len(set(said.tolist())) == len(said) and bool(needs[said].all()) and not needs[wanted].any()


def _loss(found: Encoded, i: Instruction, written: set[int]) -> Squares:
    found.numbers.append(float(i.numbers[0]))
    written.update(i.args[0].tolist())
    return Squares(found.table(i.args), i.args.shape[1], len(found.numbers) - 1)


class Written(NamedTuple):
    """An instruction of which the forward call is made: how its backward call is, from the targets' place and number.

    Attributes
    ----------
    back : callable or None
        ``back(at, count)``; None where no operand gets a gradient.
    operands : ndarray of int64
        The rows that items stand for, by their numbers.
    pairs : callable
        ``pairs()`` -> parameters, adjoint rows, value rows (-1: the number 1).
    """

    back: Callable[[int, int], Call] | None
    operands: NDArray[np.int64]
    pairs: Callable[[], list[tuple[Any, Any, Any]]]


def _backward(
    found: Encoded, program: Program, instructions: Sequence[Instruction], writers: list[Written], written: set[int]
) -> None:  # fmt: skip
    needs = program.needs_gradient
    pairs: list[tuple[Any, Any, Any]] = []
    for i, writer in zip(reversed(instructions), reversed(writers), strict=True):
        if not needs[i.dst]:
            continue
        pairs.extend(writer.pairs())
        if writer.back is not None:
            operands = writer.operands
            items = np.flatnonzero((operands >= 0) & needs[operands])
            if len(items):
                found.backward.append(writer.back(*targets(found, operands, items, written)))
    _pairs(found, program.n_theta, pairs)


def targets(found: Encoded, operands: NDArray[np.int64], items: Any, written: set[int]) -> tuple[int, int]:
    """A list of targets in the pool (see ``kernels/backward``): its place, and how many there are."""
    order = np.argsort(operands[items], kind="stable")
    items = items[order]
    rows, starts = np.unique(operands[items], return_index=True)
    at = found.table([-1 - row if row in written else row for row in rows.tolist()])
    found.table([*starts, len(items)])
    found.table(items)
    written.update(rows.tolist())
    return at, len(rows)


def _pairs(found: Encoded, n_theta: int, pairs: list[tuple[Any, Any, Any]]) -> None:
    if pairs:
        columns = [np.concatenate([np.asarray(part[k], np.int64).ravel() for part in pairs]) for k in range(3)]
    else:
        columns = [np.zeros(0, np.int64)] * 3
    order = np.argsort(columns[0], kind="stable")
    found.first = np.searchsorted(columns[0][order], np.arange(n_theta + 1)).astype(np.int64)
    found.adjoint_rows = columns[1][order].astype(np.int32)
    found.value_rows = columns[2][order].astype(np.int32)


# ---- the kinds of instructions


def _op(found: Encoded, i: Instruction) -> Written:
    args = found.table(i.args)
    found.forward.append(Call(f"forward:{i.op}", i.count, ("values", "pool", args, i.dst, i.count)))

    def back(at: int, count: int) -> Call:
        given = ("adjoints", "values", "pool", at, count, args, i.dst, i.count)
        return Call(f"backward:{i.op}", count, given)

    from ...scalar import ops

    partials = ops.get(i.op).partials
    operands = i.args.copy()
    for k, partial in enumerate(partials):
        if partial is None:
            operands[k] = -1
    return Written(back if any(p is not None for p in partials) else None, operands.ravel(), list)


def _param(found: Encoded, i: Instruction) -> Written:
    weights = found.table(i.weights)
    found.forward.append(Call("param", i.count, ("values", "theta", "pool", weights, i.dst, i.count)))
    rows = np.arange(i.dst, i.dst + i.count)
    return Written(None, _NONE, lambda: [(i.weights, rows, np.full(i.count, -1))])


def _layer(found: Encoded, i: Instruction) -> Written:
    args, n, weight = found.table(i.args), i.args.shape[1], int(i.weights[0])
    found.forward.append(Call("layer", i.count, ("values", "theta", "pool", args, n, weight, i.bias, i.dst, i.count)))

    def back(at: int, count: int) -> Call:
        return Call("layer_back", count, ("adjoints", "theta", "pool", at, count, n, weight, i.dst, i.count))

    def pairs() -> list[tuple[Any, Any, Any]]:
        rows = np.arange(i.dst, i.dst + i.count)
        weights = np.arange(weight, weight + i.count * n)
        made = [(weights, np.repeat(rows, n), np.tile(i.args[0], i.count))]
        return made + ([(np.arange(i.bias, i.bias + i.count), rows, np.full(i.count, -1))] if i.bias >= 0 else [])

    return Written(back, i.args[0], pairs)


def _conv(found: Encoded, i: Instruction) -> Written:
    args, (positions, n), weight = found.table(i.args), i.args.shape, int(i.weights[0])
    outputs = len(i.weights)
    found.forward.append(
        Call("conv", i.count, ("values", "theta", "pool", args, n, positions, weight, i.bias, i.dst, i.count))
    )

    def back(at: int, count: int) -> Call:
        given = ("adjoints", "theta", "pool", at, count, n, positions, weight, i.dst, outputs)
        return Call("conv_back", count, given)

    def pairs() -> list[tuple[Any, Any, Any]]:
        rows = np.arange(i.dst, i.dst + i.count).reshape(outputs, 1, positions)
        weights = np.arange(weight, weight + outputs * n).reshape(outputs, n, 1)
        shape = (outputs, n, positions)
        every = [np.broadcast_to(part, shape) for part in (weights, rows, i.args.T[None])]
        made: list[tuple[Any, Any, Any]] = [(every[0], every[1], every[2])]
        if i.bias >= 0:
            made.append((np.repeat(np.arange(i.bias, i.bias + outputs), positions), rows, np.full(i.count, -1)))
        return made

    return Written(back, i.args.ravel(), pairs)


def _max(found: Encoded, i: Instruction) -> Written:
    args, n = found.table(i.args), i.args.shape[1]
    found.forward.append(Call("largest", i.count, ("values", "pool", args, n, i.dst, i.count)))

    def back(at: int, count: int) -> Call:
        return Call("largest_back", count, ("adjoints", "values", "pool", at, count, args, n, i.dst))

    return Written(back, i.args.ravel(), list)


def _dot(found: Encoded, i: Instruction) -> Written:
    args, weights, n, number = found.table(i.args), found.table(i.weights), i.args.shape[1], _offset(found, i)
    given = ("values", "theta", "pool", args, weights, n, i.bias, "numbers", number, i.dst)
    found.forward.append(Call("dot", 1, given))

    def back(at: int, count: int) -> Call:
        return Call("dot_back", count, ("adjoints", "theta", "pool", at, count, weights, i.dst))

    def pairs() -> list[tuple[Any, Any, Any]]:
        return [(i.weights, np.full(n, i.dst), i.args[0]), *_bias(i)]

    return Written(back, i.args[0], pairs)


def _weighted(found: Encoded, i: Instruction) -> Written:
    args, n, number = found.table(i.args), i.args.shape[1], _offset(found, i)
    found.numbers.extend(i.numbers.tolist())
    given = ("values", "theta", "pool", args, n, i.bias, "numbers", number, i.dst)
    found.forward.append(Call("weighted", 1, given))

    def back(at: int, count: int) -> Call:
        return Call("weighted_back", count, ("adjoints", "pool", at, count, "numbers", number, i.dst))

    return Written(back, i.args[0], lambda: _bias(i))


def _product(found: Encoded, i: Instruction) -> Written:
    args, n, number = found.table(i.args), i.args.shape[1], _offset(found, i)
    given = ("values", "theta", "pool", args, n, i.bias, "numbers", number, i.dst)
    found.forward.append(Call("product", 1, given))

    def back(at: int, count: int) -> Call:
        return Call("product_back", count, ("adjoints", "values", "pool", at, count, args, n, i.dst))

    return Written(back, i.args.ravel(), lambda: _bias(i))


def _squares(found: Encoded, i: Instruction) -> Written:
    args, n, number = found.table(i.args), i.args.shape[1], len(found.numbers)
    found.numbers.append(float(i.numbers[0]))
    found.forward.append(Call("squares", 1, ("values", "pool", args, n, "numbers", number, i.dst)))

    def back(at: int, count: int) -> Call:
        given = ("adjoints", "values", "pool", at, count, args, n, "numbers", number, i.dst)
        return Call("squares_back", count, given)

    return Written(back, i.args.ravel(), list)


def _offset(found: Encoded, i: Instruction) -> int:
    found.numbers.append(i.offset)
    return len(found.numbers) - 1


def _bias(i: Instruction) -> list[tuple[Any, Any, Any]]:
    return [([i.bias], [i.dst], [-1])] if i.bias >= 0 else []


_NONE = np.zeros(0, np.int64)


def _write(found: Encoded, i: Instruction) -> Written:
    """The forward call of an instruction; a kind that has no form here fails the type checker."""
    match i.kind:
        case "op":
            return _op(found, i)
        case "param":
            return _param(found, i)
        case "layer":
            return _layer(found, i)
        case "conv":
            return _conv(found, i)
        case "max":
            return _max(found, i)
        case "dot":
            return _dot(found, i)
        case "weighted":
            return _weighted(found, i)
        case "product":
            return _product(found, i)
        case "squares":
            return _squares(found, i)
        case _:
            assert_never(i.kind)
