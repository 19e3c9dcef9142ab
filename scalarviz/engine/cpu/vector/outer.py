"""Gradients of a layer's weights on register tiles; see :mod:`scalarviz.engine.cpu.vector.emitter`."""

from __future__ import annotations

from itertools import product
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .emitter import TILE_COLUMNS, TILE_ROWS, VECTOR_BYTES, WORD, Emitter, add_sums, cases


def _rows(e: Emitter, args: dict[str, Any], name: str, count: int) -> list[Any]:
    """Addresses of `count` rows of a list."""
    b = e.b
    numbers = (b.load(b.gep(args["pool"], [b.add(args[name], WORD(k))])) for k in range(count))
    return [e.row(args["space"], number, WORD(0)) for number in numbers]


def _outer(e: Emitter, rows: int, columns: int, biased: bool, args: dict[str, Any]) -> None:
    """``grad[to + i*to_step + j] += sum over lanes of upstream[i] * from[j]``, and sums of the upstream alone."""
    b = e.b
    g, x = _rows(e, args, "upstream", rows), _rows(e, args, "source", columns)
    sums, biases = e.accumulators(rows * columns), e.accumulators(rows if biased else 0)
    for total in sums + biases:
        b.store(e.zeros(), total)
    whole, rest = b.sdiv(args["lanes"], WORD(e.lanes)), b.srem(args["lanes"], WORD(e.lanes))
    with cgutils.for_range(b, whole, intp=WORD) as loop:
        e.add_products(sums, g, x, b.mul(loop.index, WORD(VECTOR_BYTES)), None, biases)
    with b.if_then(b.icmp_signed("!=", rest, WORD(0))):
        e.add_products(sums, g, x, b.mul(whole, WORD(VECTOR_BYTES)), e.mask(rest), biases)
    add_sums(e, sums, columns, args["grad"], args["to"], args["to_step"])
    add_sums(e, biases, rows, args["grad"], args["bias"], WORD(0))


_OUTER = ("space", "pool", "grad", "to", "to_step", "bias", "upstream", "rows", "source", "columns", "lanes")


@intrinsic
def outer_tile(
    typingctx: Any, space: Any, pool: Any, grad: Any, to: Any, to_step: Any, bias: Any, upstream: Any, rows: Any,
    source: Any, columns: Any, lanes: Any,
) -> Any:  # fmt: skip
    """``grad[to + i*to_step + j] += sum over lanes of upstream[i] * from[j]`` for i < `rows`, j < `columns`.

    If `bias` is not -1, ``grad[bias + i] += sum over lanes of upstream[i]``.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        emitter = Emitter(builder, grad)
        named = dict(zip(_OUTER, args, strict=True))
        biased = builder.zext(builder.icmp_signed(">=", named["bias"], WORD(0)), WORD)
        number = WORD(0)
        for part in (biased, named["rows"], named["columns"]):
            number = builder.add(builder.mul(number, WORD(8)), part)
        with cases(builder, number) as case:
            for more, rows, columns in product((0, 1), range(1, TILE_ROWS + 1), range(1, TILE_COLUMNS + 1)):
                with case(64 * more + 8 * rows + columns):
                    _outer(emitter, rows, columns, bool(more), named)
        return context.get_dummy_value()

    return types.void(space, pool, grad, *[types.int64] * 8), generate
