"""Tiles for rows of one vector: a batch of few samples, where a layer is over before a loop has begun.

Every size of a tile is straight-line code of its own behind one jump. With loops, what LLVM prepares for all sizes in
advance costs more than the sums.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..wire import FEW
from .emitter import BYTE, INDEX, WORD, Emitter, cases

QUARTER = FEW
"""Lanes of the shortest vector: as many sums as a row of a tile has."""

_SUMS = (
    "theta", "base", "stride", "to", "rows", "source", "columns", "weight", "to_step", "from_step", "bias", "adding"
)  # fmt: skip
_OUTER = ("grad", "base", "stride", "upstream", "rows", "source", "columns", "weight", "step", "bias", "lanes")


def _tiles(names: tuple[str, ...], write: Callable[[Emitter, int, int, dict[str, Any]], None]) -> Any:
    """The code of an intrinsic whose arguments are called `names`: one case for each size of a tile."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        emitter = Emitter(builder, signature.args[0])
        named = dict(zip(names, args, strict=True))
        sides = range(1, FEW + 1)
        with cases(builder, builder.add(builder.mul(named["rows"], WORD(8)), named["columns"])) as case:
            for rows in sides:
                for columns in sides:
                    with case(8 * rows + columns):
                        write(emitter, rows, columns, named)
        return context.get_dummy_value()

    return generate


def _addresses(e: Emitter, args: dict[str, Any], first: str, count: int) -> list[Any]:
    """Where `count` neighbouring rows begin."""
    b, stride = e.b, args["stride"]
    start = b.add(args["base"], b.mul(args[first], stride))
    return [b.inttoptr(b.add(start, b.mul(WORD(k), stride)), BYTE) for k in range(count)]


def _few_sums(e: Emitter, rows: int, columns: int, args: dict[str, Any]) -> None:
    b = e.b
    results, operands = _addresses(e, args, "to", rows), _addresses(e, args, "source", columns)
    sums = [e.accumulators(1) for _ in range(rows)]
    e.begin(sums, results, args["theta"], args["bias"], args["adding"])
    totals = [b.load(total) for (total,) in sums]
    weights = b.gep(args["theta"], [args["weight"]])
    for c, operand in enumerate(operands):
        vector = e.load(operand)
        for r in range(rows):
            step = b.add(b.mul(WORD(r), args["to_step"]), b.mul(WORD(c), args["from_step"]))
            totals[r] = e.fma(e.splat(b.load(b.gep(weights, [step]))), vector, totals[r])
    for total, result in zip(totals, results, strict=True):
        e.store(total, result)


def _few_outer(e: Emitter, rows: int, columns: int, args: dict[str, Any]) -> None:
    b = e.b
    with b.if_else(b.icmp_signed("<=", args["lanes"], WORD(QUARTER))) as (short, whole):
        with short:
            _outer_of_width(e, QUARTER, rows, columns, args)
        with whole:
            _outer_of_width(e, e.lanes, rows, columns, args)


def _outer_of_width(e: Emitter, width: int, rows: int, columns: int, args: dict[str, Any]) -> None:
    b, vector = e.b, ir.VectorType(e.real, width)
    mask, zeros = e.mask(args["lanes"], width), ir.Constant(vector, [0.0] * width)
    # both sides are masked: what stands behind the last lane may be an infinity
    g, x = (
        [b.select(mask, e.load(address, vector), zeros) for address in _addresses(e, args, name, count)]
        for name, count in (("upstream", rows), ("source", columns))
    )
    to = b.gep(args["grad"], [args["weight"]])
    for r, left in enumerate(g):
        _add_sums(e, [b.fmul(left, right) for right in x], b.gep(to, [b.mul(WORD(r), args["step"])]))
    with b.if_then(b.icmp_signed(">=", args["bias"], WORD(0))):
        _add_sums(e, g, b.gep(args["grad"], [args["bias"]]))


def _add_sums(e: Emitter, vectors: list[Any], to: Any) -> None:
    """``to[k] += the sum over the lanes of vectors[k]``, for up to four vectors."""
    b, count = e.b, len(vectors)
    while (width := vectors[0].type.count) > QUARTER:
        low, high = list(range(width // 2)), list(range(width // 2, width))
        vectors = [b.fadd(e.shuffle(v, v, low), e.shuffle(v, v, high)) for v in vectors]
    vectors = [vectors[min(k, count - 1)] for k in range(QUARTER)]
    while len(vectors) > 1:  # neighbouring lanes of two vectors are added, and the sums stand side by side
        pairs = zip(vectors[0::2], vectors[1::2], strict=True)
        vectors = [b.fadd(e.shuffle(p, q, [0, 2, 4, 6]), e.shuffle(p, q, [1, 3, 5, 7])) for p, q in pairs]
    total = vectors[0]
    if count == QUARTER:
        place = b.bitcast(to, BYTE)
        e.store(b.fadd(e.load(place, total.type), total), place)
        return
    for k in range(count):
        place = b.gep(to, [WORD(k)])
        b.store(b.fadd(b.load(place), b.extract_element(total, INDEX(k))), place)


@intrinsic
def few_sums(
    typingctx: Any, theta: Any, base: Any, stride: Any, to: Any, rows: Any, source: Any, columns: Any, weight: Any,
    to_step: Any, from_step: Any, bias: Any, adding: Any,
) -> Any:  # fmt: skip
    """``to[i] (+)= bias[i] + sum_j theta[weight + i*to_step + j*from_step] * from[j]``; i < `rows`, j < `columns`.

    Both are 1 to 4; `to` and `source` are the first of neighbouring rows.
    """
    return types.void(theta, *[types.int64] * 11), _tiles(_SUMS, _few_sums)


@intrinsic
def few_outer(
    typingctx: Any, grad: Any, base: Any, stride: Any, upstream: Any, rows: Any, source: Any, columns: Any,
    weight: Any, step: Any, bias: Any, lanes: Any,
) -> Any:  # fmt: skip
    """``grad[weight + i*step + j] += sum over lanes of upstream[i] * from[j]``, and ``grad[bias + i]`` alike."""
    return types.void(grad, *[types.int64] * 10), _tiles(_OUTER, _few_outer)
