"""Samples into rows of lanes: square tiles of numbers transposed in registers; see :mod:`.emitter`."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .emitter import BYTE, WORD, Emitter

_NAMES = ("space", "like", "source", "ids", "chosen", "start", "lane", "lanes", "row", "count", "apart")
_REAL = {32: ir.FloatType(), 64: ir.DoubleType()}


def _addresses(e: Emitter, args: dict[str, Any]) -> list[Any]:
    """Where each of the samples of a tile begins; behind the last lane that of the last one, which is nobody's."""
    b = e.b
    last, first = b.sub(args["lanes"], WORD(1)), b.ptrtoint(args["source"], WORD)
    lanes = [b.add(args["lane"], WORD(k)) for k in range(e.lanes)]
    numbers = [b.add(args["start"], b.select(b.icmp_signed("<", k, last), k, last)) for k in lanes]
    found = [cgutils.alloca_once(b, WORD) for _ in lanes]
    with b.if_else(b.icmp_signed("!=", args["chosen"], WORD(0))) as (picked, in_order):
        with picked:
            for number, place in zip(numbers, found, strict=True):
                b.store(b.load(b.gep(args["ids"], [number])), place)
        with in_order:
            for number, place in zip(numbers, found, strict=True):
                b.store(number, place)
    return [b.inttoptr(b.add(first, b.mul(b.load(place), args["apart"])), BYTE) for place in found]


def transposed(e: Emitter, vectors: list[Any]) -> list[Any]:
    """The columns of a square of numbers that `vectors` are the rows of: bit by bit, row and column are exchanged."""
    size, current, step = e.lanes, vectors, 1
    while step < size:
        swapped = list(current)
        for k in range(size):
            if not k & step:
                low = [p if not p & step else size + p - step for p in range(size)]
                high = [p + step if not p & step else size + p for p in range(size)]
                swapped[k] = e.shuffle(current[k], current[k + step], low)
                swapped[k + step] = e.shuffle(current[k], current[k + step], high)
        current, step = swapped, 2 * step
    return current


def _converted(e: Emitter, vector: Any, source: Any) -> Any:
    """A vector of the data's numbers as one of the run's, rounded as everywhere."""
    b = e.b
    if isinstance(source, types.Integer):
        return (b.sitofp if source.signed else b.uitofp)(vector, e.vector)
    bits = source.bitwidth - 8 * e.bytes
    return vector if bits == 0 else (b.fpext if bits < 0 else b.fptrunc)(vector, e.vector)


def _tile(e: Emitter, source: Any, addresses: list[Any], column: Any, args: dict[str, Any]) -> None:
    b, bits = e.b, source.bitwidth
    element = ir.IntType(bits) if isinstance(source, types.Integer) else _REAL[bits]
    packed, shift = ir.VectorType(element, e.lanes), b.mul(column, WORD(bits // 8))
    vectors = []
    for address in addresses:
        place = b.bitcast(b.gep(address, [shift]), packed.as_pointer())
        vectors.append(_converted(e, b.load(place, align=1), source))
    to, stride = e.row(args["space"], b.add(args["row"], column), args["lane"]), e.stride(args["space"])
    for k, vector in enumerate(transposed(e, vectors)):
        e.store(vector, b.gep(to, [b.mul(stride, WORD(k))]))


@intrinsic
def transpose_tiles(
    typingctx: Any, space: Any, like: Any, source: Any, ids: Any, chosen: Any, start: Any, lane: Any, lanes: Any,
    row: Any, count: Any, apart: Any,
) -> Any:  # fmt: skip
    """A vector of samples, from lane number `lane` of `lanes` on: their `count` numbers into the rows from `row` on.

    At least as many numbers as a vector has lanes, side by side; `apart` bytes from sample to sample. The last tile
    lies over the one before it, so that nothing behind a sample is read.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        e, b = Emitter(builder, like), builder
        named = dict(zip(_NAMES, args, strict=True))
        addresses = _addresses(e, named)
        size = WORD(e.lanes)
        last = b.sub(named["count"], size)
        tiles = b.sdiv(b.add(named["count"], WORD(e.lanes - 1)), size)
        with cgutils.for_range(b, tiles, intp=WORD) as loop:
            column = b.mul(loop.index, size)
            column = b.select(b.icmp_signed("<", column, last), column, last)
            _tile(e, source.dtype, addresses, column, named)
        return context.get_dummy_value()

    return types.void(space, like, source, ids, *[types.int64] * 7), generate
