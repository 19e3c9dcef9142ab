"""A program as lists of kernel calls and their tables of indices; one entry for each kind of instruction.

Calls name their buffers; ``machine`` supplies the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...scalar import ops
from ...tape import Instruction, Program
from .calls import MEAN_SLICES, Call, Encoded, Pairs, Scatter, Squares, Written
from .tiled import Cut, Tiled


def _op(found: Encoded, i: Instruction) -> Written:
    args = found.table(i.args)
    forward = Call(f"forward:{i.op}", i.count, ("values", "pool", args, i.dst, i.count))

    def back(at: int, count: int) -> Call:
        given = ("adjoints", "values", "pool", at, count, args, i.dst, i.count)
        return Call(f"backward:{i.op}", count, given)

    partials = ops.get(i.op).partials
    operands = i.args.copy()
    for k, partial in enumerate(partials):
        if partial is None:
            operands[k] = -1
    return Written(forward, back if any(p is not None for p in partials) else None, operands.ravel(), list)


def _param(found: Encoded, i: Instruction) -> Written:
    weights = found.table(i.weights)
    forward = Call("param", i.count, ("values", "theta", "pool", weights, i.dst, i.count))
    rows = np.arange(i.dst, i.dst + i.count)
    return Written(forward, None, _NONE, lambda: [(i.weights, rows, np.full(i.count, -1))])


def _layer(found: Encoded, i: Instruction) -> Written:
    args, n, weight = found.table(i.args), i.args.shape[1], int(i.weights[0])
    forward = Call("layer", i.count, ("values", "theta", "pool", args, n, weight, i.bias, i.dst, i.count))

    def back(at: int, count: int) -> Call:
        return Call("layer_back", count, ("adjoints", "theta", "pool", at, count, n, weight, i.dst, i.count))

    def pairs() -> Pairs:
        rows = np.arange(i.dst, i.dst + i.count)
        weights = np.arange(weight, weight + i.count * n)
        made = [(weights, np.repeat(rows, n), np.tile(i.args[0], i.count))]
        return made + ([(np.arange(i.bias, i.bias + i.count), rows, np.full(i.count, -1))] if i.bias >= 0 else [])

    return Written(forward, back, i.args[0], pairs)


def _conv(found: Encoded, i: Instruction) -> Written:
    args, (positions, n), weight = found.table(i.args), i.args.shape, int(i.weights[0])
    outputs = len(i.weights)
    forward = Call("conv", i.count, ("values", "theta", "pool", args, n, positions, weight, i.bias, i.dst, i.count))

    def back(at: int, count: int) -> Call:
        given = ("adjoints", "theta", "pool", at, count, n, positions, weight, i.dst, outputs)
        return Call("conv_back", count, given)

    def pairs() -> Pairs:
        rows = np.arange(i.dst, i.dst + i.count).reshape(outputs, 1, positions)
        weights = np.arange(weight, weight + outputs * n).reshape(outputs, n, 1)
        shape = (outputs, n, positions)
        every = [np.broadcast_to(part, shape) for part in (weights, rows, i.args.T[None])]
        made: Pairs = [(every[0], every[1], every[2])]
        if i.bias >= 0:
            made.append((np.repeat(np.arange(i.bias, i.bias + outputs), positions), rows, np.full(i.count, -1)))
        return made

    return Written(forward, back, i.args.ravel(), pairs)


def _max(found: Encoded, i: Instruction) -> Written:
    args, n = found.table(i.args), i.args.shape[1]
    forward = Call("largest", i.count, ("values", "pool", args, n, i.dst, i.count))

    def back(at: int, count: int) -> Call:
        return Call("largest_back", count, ("adjoints", "values", "pool", at, count, args, n, i.dst))

    return Written(forward, back, i.args.ravel(), list)


def _dot(found: Encoded, i: Instruction) -> Written:
    args, weights, n, number = found.table(i.args), found.table(i.weights), i.terms, _offset(found, i)
    given = ("values", "theta", "pool", args, weights, n, i.bias, "numbers", number, i.dst, i.count)
    forward = Call("dot", i.count, given)

    def back(at: int, count: int) -> Call:
        return Call("dot_back", count, ("adjoints", "theta", "pool", at, count, weights, n, i.dst))

    def pairs() -> Pairs:
        return [(i.weights, np.repeat(np.arange(i.dst, i.dst + i.count), n), i.args.ravel()), *_bias(i)]

    return Written(forward, back, i.args.ravel(), pairs)


def _weighted(found: Encoded, i: Instruction) -> Written:
    args, n, number = found.table(i.args), i.terms, _offset(found, i)
    found.numbers.extend(i.numbers.tolist())
    given = ("values", "theta", "pool", args, n, i.bias, "numbers", number, i.dst, i.count)
    forward = Call("weighted", i.count, given)

    def back(at: int, count: int) -> Call:
        return Call("weighted_back", count, ("adjoints", "pool", at, count, n, "numbers", number, i.dst))

    return Written(forward, back, i.args.ravel(), lambda: _bias(i))


def _product(found: Encoded, i: Instruction) -> Written:
    args, n, number = found.table(i.args), i.terms, _offset(found, i)
    given = ("values", "theta", "pool", args, n, i.bias, "numbers", number, i.dst, i.count)
    forward = Call("product", i.count, given)

    def back(at: int, count: int) -> Call:
        return Call("product_back", count, ("adjoints", "values", "pool", at, count, args, n, i.dst, i.count))

    return Written(forward, back, i.args.ravel(), lambda: _bias(i))


def _squares(found: Encoded, i: Instruction) -> Written:
    args, n, number = found.table(i.args), i.args.shape[1], len(found.numbers)
    found.numbers.append(float(i.numbers[0]))
    forward = Call("squares", 1, ("values", "pool", args, n, "numbers", number, i.dst))

    def back(at: int, count: int) -> Call:
        given = ("adjoints", "values", "pool", at, count, args, n, "numbers", number, i.dst)
        return Call("squares_back", count, given)

    return Written(forward, back, i.args.ravel(), list)


def _gather(found: Encoded, i: Instruction) -> Written:
    assert i.table is not None
    ids, weights, columns = found.table(i.args), found.table(i.weights), len(i.weights)
    table = (i.table.rows, i.table.step)
    given = ("values", "theta", "pool", ids, weights, columns, *table, i.dst, i.count)
    of = Scatter(ids, i.args.shape[1], weights, columns, *table, i.dst)
    return Written(Call("gather", i.count, given), None, _NONE, list, scatter=of)


def _batch_mean(found: Encoded, i: Instruction) -> Written:
    found.means = max(found.means, i.count)
    args, results = found.table(i.args), found.table(range(i.dst, i.dst + i.count))

    def parts(rows: str, table: int) -> Call:
        return Call("batch_parts", i.count, ("sums", rows, "pool", table, MEAN_SLICES, i.count))

    def back(at: int, count: int) -> Call:
        return Call("batch_mean_back", count, ("adjoints", "sums", "pool", at, count, MEAN_SLICES))

    forward = Call("batch_mean", i.count, ("values", "sums", MEAN_SLICES, i.dst, i.count))
    first, first_back = parts("values", args), parts("adjoints", results)
    return Written(forward, back, i.args[0], list, before=first, before_back=first_back)


def _offset(found: Encoded, i: Instruction) -> int:
    found.numbers.append(i.offset)
    return len(found.numbers) - 1


def _bias(i: Instruction) -> Pairs:
    rows = np.arange(i.dst, i.dst + i.count)
    return [(np.full(i.count, i.bias), rows, np.full(i.count, -1))] if i.bias >= 0 else []


_NONE = np.zeros(0, np.int64)


WRITERS: dict[str, Callable[[Encoded, Instruction], Written]] = {
    "op": _op, "param": _param, "layer": _layer, "conv": _conv, "max": _max, "dot": _dot, "weighted": _weighted,
    "product": _product, "squares": _squares, "gather": _gather, "batch_mean": _batch_mean,
    "mask": lambda found, i: Written(None, None, _NONE, list),  # `Machine.masks` launches it, since it reads the clock
}  # fmt: skip
"""The functions that encode each kind of instruction."""


def encode(program: Program, seeds: tuple[int, ...] = (), joined: bool = True, cut: Cut | None = None) -> Encoded:
    """Return tables and calls of a program; the gradients of the rows `seeds` are given (empty: forward only).

    `joined` says whether a neighbour may compute an instruction: the squared error with the sum of the losses,
    operations in the tiles of layers. Without a `cut`, everything is in the plain form.
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
    writers = [WRITERS[i.kind](found, i) for i in instructions]
    tiled = Tiled(found, program, seeds, cut, joined) if cut is not None else None
    if tiled is not None:
        writers = [tiled.replaced(index, plain) for index, plain in enumerate(writers)]
    calls = (call for writer in writers for call in (writer.before, writer.forward))
    found.forward.extend(call for call in calls if call is not None)
    if seeds:
        rows, written = np.array(seeds, np.int64), set[int]()
        found.seeds_at = targets(found, rows, np.flatnonzero(program.needs_gradient[rows]), written)
        if len(instructions) < len(program.instructions):
            found.squares = _loss(found, last[0], written)
        pairs = _backward(found, program, instructions, writers, written)
        which = np.arange(program.n_theta) if tiled is None else tiled.sum_up(pairs)
        _pairs(found, which, pairs)
    return found


def _is_loss_alone(program: Program, i: Instruction) -> bool:
    """Return whether an instruction is the squared error of different rows and rows without a gradient."""
    if i.kind != "squares" or i.dst != program.loss:
        return False
    said, wanted = i.args
    needs = program.needs_gradient
    return len(set(said.tolist())) == len(said) and bool(needs[said].all()) and not needs[wanted].any()


def _loss(found: Encoded, i: Instruction, written: set[int]) -> Squares:
    found.numbers.append(float(i.numbers[0]))
    written.update(i.args[0].tolist())
    return Squares(found.table(i.args), i.args.shape[1], len(found.numbers) - 1)


def _backward(
    found: Encoded, program: Program, instructions: Sequence[Instruction], writers: list[Written], written: set[int]
) -> Pairs:  # fmt: skip
    """Add the backward calls, from the last instruction to the first; return the pairs of the parameters."""
    needs = program.needs_gradient
    pairs: Pairs = []
    for i, writer in zip(reversed(instructions), reversed(writers), strict=True):
        if not needs[i.dst]:
            continue
        pairs.extend(writer.pairs())
        if writer.scatter is not None:
            found.scatters.append(writer.scatter)
        if writer.tiles is not None:
            found.backward.extend(writer.tiles(written))
        elif writer.back is not None:
            operands = writer.operands
            items = np.flatnonzero((operands >= 0) & needs[operands])
            if len(items):
                if writer.before_back is not None:
                    found.backward.append(writer.before_back)
                found.backward.append(writer.back(*targets(found, operands, items, written)))
    return pairs


def targets(found: Encoded, operands: NDArray[np.int64], items: Any, written: set[int]) -> tuple[int, int]:
    """Return a list of targets in the pool (see ``kernels/rows``): its offset and length."""
    order = np.argsort(operands[items], kind="stable")
    items = items[order]
    rows, starts = np.unique(operands[items], return_index=True)
    at = found.table([-1 - row if row in written else row for row in rows.tolist()])
    found.table([*starts, len(items)])
    found.table(items)
    written.update(rows.tolist())
    return at, len(rows)


def _pairs(found: Encoded, which: NDArray[np.int64], pairs: Pairs) -> None:
    if pairs:
        columns = [np.concatenate([np.asarray(part[k], np.int64).ravel() for part in pairs]) for k in range(3)]
    else:
        columns = [np.zeros(0, np.int64)] * 3
    order = np.argsort(columns[0], kind="stable")
    found.which = which.astype(np.int32)
    found.first = np.append(0, np.searchsorted(columns[0][order], which, "right")).astype(np.int64)
    found.adjoint_rows = columns[1][order].astype(np.int32)
    found.value_rows = columns[2][order].astype(np.int32)
