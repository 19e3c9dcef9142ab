"""Register tiles of convolutions as LLVM vector code; see :mod:`scalarviz.engine.cpu.vector.emitter`."""

from __future__ import annotations

from itertools import product
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .emitter import BYTE, MIDDLE, TALL, TILE_COLUMNS, TILE_ROWS, VECTOR_BYTES, WIDE, WORD, Emitter, add_sums, cases

_SUMS = (
    "space", "pool", "theta", "to", "to_step", "rows", "weight", "weight_step", "bias", "adding", "entries", "count",
    "run", "row_step", "run_step", "lane",
)  # fmt: skip


def _sums(e: Emitter, rows: int, wide: int, args: dict[str, Any]) -> None:
    """``row[to + i*to_step] (+)= bias[i] + sum over entries and k``: `rows` results, `wide` vectors of lanes."""
    b = e.b
    results = [
        e.row(args["space"], b.add(args["to"], b.mul(args["to_step"], WORD(r))), args["lane"]) for r in range(rows)
    ]  # fmt: skip
    sums = [e.accumulators(wide) for _ in range(rows)]
    e.begin(sums, results, args["theta"], args["bias"], args["adding"])
    first = b.bitcast(b.gep(args["theta"], [args["weight"]]), BYTE)
    weights = [b.gep(first, [b.mul(args["weight_step"], WORD(e.bytes * r))]) for r in range(rows)]
    hop = b.mul(args["row_step"], e.stride(args["space"]))
    skip = b.mul(args["run_step"], WORD(e.bytes))
    with cgutils.for_range(b, args["count"], intp=WORD) as entry:
        at = b.add(args["entries"], b.mul(entry.index, WORD(2)))
        row, weight = (b.load(b.gep(args["pool"], [b.add(at, WORD(k))])) for k in range(2))
        source = e.row(args["space"], row, args["lane"])
        begin = b.mul(weight, WORD(e.bytes))
        with cgutils.for_range(b, args["run"], intp=WORD) as step:
            here = b.gep(source, [b.mul(step.index, hop)])
            vectors = [e.load(e.offset(here, u)) for u in range(wide)]
            shift = b.add(begin, b.mul(step.index, skip))
            for r in range(rows):
                number = b.load(b.bitcast(b.gep(weights[r], [shift]), e.real.as_pointer()), align=e.bytes)
                factor = e.splat(number)
                for u in range(wide):
                    b.store(e.fma(factor, vectors[u], b.load(sums[r][u])), sums[r][u])
    for r in range(rows):
        for u in range(wide):
            e.store(b.load(sums[r][u]), e.offset(results[r], u))


def _sums_intrinsic(wide: int, tallest: int) -> Any:
    @intrinsic
    def sums_tile(
        typingctx: Any, space: Any, pool: Any, theta: Any, to: Any, to_step: Any, rows: Any, weight: Any,
        weight_step: Any, bias: Any, adding: Any, entries: Any, count: Any, run: Any, row_step: Any, run_step: Any,
        lane: Any,
    ) -> Any:  # fmt: skip
        """A tile at one place of a convolution, `rows` results, from lane number `lane` on."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            emitter = Emitter(builder, theta)
            named = dict(zip(_SUMS, args, strict=True))
            with cases(builder, named["rows"]) as case:
                for rows in range(1, tallest + 1):
                    with case(rows):
                        _sums(emitter, rows, wide, named)
            return context.get_dummy_value()

        return types.void(space, pool, theta, *[types.int64] * 13), generate

    return sums_tile


sums_wide, sums_middle = _sums_intrinsic(WIDE, TILE_ROWS), _sums_intrinsic(MIDDLE, TALL)
sums_narrow = _sums_intrinsic(1, TALL)

_OUTER = (
    "space", "pool", "grad", "to", "to_step", "up", "up_step", "rows", "table", "table_step", "columns", "places",
    "lanes",
)  # fmt: skip


def _outer(e: Emitter, rows: int, columns: int, args: dict[str, Any]) -> None:
    """``grad[to + i*to_step + j] +=`` the sum over places and lanes.

    Of ``row[up + i*up_step + p] * row[table[p*table_step + j]]``.
    """
    b = e.b
    space, pool = args["space"], args["pool"]
    sums = e.accumulators(rows * columns)
    for total in sums:
        b.store(e.zeros(), total)
    whole, rest = b.sdiv(args["lanes"], WORD(e.lanes)), b.srem(args["lanes"], WORD(e.lanes))
    mask = e.mask(rest)
    with cgutils.for_range(b, args["places"], intp=WORD) as place:
        g = [
            e.row(space, b.add(b.add(args["up"], b.mul(args["up_step"], WORD(r))), place.index), WORD(0))
            for r in range(rows)
        ]
        at = b.add(args["table"], b.mul(place.index, args["table_step"]))
        x = [e.row(space, b.load(b.gep(pool, [b.add(at, WORD(c))])), WORD(0)) for c in range(columns)]
        with cgutils.for_range(b, whole, intp=WORD) as loop:
            e.add_products(sums, g, x, b.mul(loop.index, WORD(VECTOR_BYTES)), None)
        with b.if_then(b.icmp_signed("!=", rest, WORD(0))):
            e.add_products(sums, g, x, b.mul(whole, WORD(VECTOR_BYTES)), mask)
    add_sums(e, sums, columns, args["grad"], args["to"], args["to_step"])


@intrinsic
def outer_places_tile(
    typingctx: Any, space: Any, pool: Any, grad: Any, to: Any, to_step: Any, up: Any, up_step: Any, rows: Any,
    table: Any, table_step: Any, columns: Any, places: Any, lanes: Any,
) -> Any:  # fmt: skip
    """Products of `rows` x `columns` pairs of rows, summed over lanes and places."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        emitter = Emitter(builder, grad)
        named = dict(zip(_OUTER, args, strict=True))
        number = builder.add(builder.mul(named["rows"], ir.Constant(WORD, 8)), named["columns"])
        with cases(builder, number) as case:
            for rows, columns in product(range(1, TILE_ROWS + 1), range(1, TILE_COLUMNS + 1)):
                with case(8 * rows + columns):
                    _outer(emitter, rows, columns, named)
        return context.get_dummy_value()

    return types.void(space, pool, grad, *[types.int64] * 10), generate
