"""The kinds of instructions in the plain form: the forward call of each, and how its backward call is made."""

from __future__ import annotations

from typing import assert_never

import numpy as np

from ...tape import Instruction
from .calls import MEAN_SLICES, Call, Encoded, Pairs, Scatter, Written


def _op(found: Encoded, i: Instruction) -> Written:
    args = found.table(i.args)
    forward = Call(f"forward:{i.op}", i.count, ("values", "pool", args, i.dst, i.count))

    def back(at: int, count: int) -> Call:
        given = ("adjoints", "values", "pool", at, count, args, i.dst, i.count)
        return Call(f"backward:{i.op}", count, given)

    from ...scalar import ops

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


def write(found: Encoded, i: Instruction) -> Written:
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
        case "mask":
            return Written(None, None, _NONE, list)  # `Machine.masks` launches it: it reads the clock
        case "gather":
            return _gather(found, i)
        case "batch_mean":
            return _batch_mean(found, i)
        case _:
            assert_never(i.kind)
