"""Register tiles of layers as LLVM vector code; see :mod:`.emitter`.

* Gradients of a layer's weights, for rows of many lanes.
* Tiles for a batch that fits one vector. Every size of a tile is straight-line code behind one jump: with loops, what
  LLVM prepares for all sizes in advance costs more than the sums.
* Turns: a vector of rows becomes one row a sample, or samples become rows of lanes, in registers.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..wire import FEW, PASS
from .emitter import BYTE, INDEX, TILE_COLUMNS, TILE_ROWS, VECTOR_BYTES, WORD, Emitter, add_sums, cases


def _turned(e: Emitter, addresses: list[Any], samples: int) -> list[Any]:
    """A vector a sample, of the numbers that begin at the addresses.

    The places of all numbers, counted through, are shuffled as a pack of cards is, halves interleaved: each time the
    uppermost bit of a number's place becomes the lowest one, until row and sample have changed sides.
    """
    short = ir.VectorType(e.real, samples)
    vectors = [e.load(address, short) for address in addresses]
    while vectors[0].type.count < e.lanes:
        pairs = zip(vectors[0::2], vectors[1::2], strict=True)
        vectors = [e.shuffle(a, b, list(range(2 * a.type.count))) for a, b in pairs]
    low, high = ([part + e.lanes * (k % 2) for k in range(e.lanes) for part in [k // 2 + first]]
                 for first in (0, e.lanes // 2))  # fmt: skip
    for _ in range((e.lanes - 1).bit_length()):
        half = len(vectors) // 2
        vectors = [e.shuffle(vectors[k], vectors[k + half], lanes) for k in range(half) for lanes in (low, high)]
    return vectors


@intrinsic
def turn(
    typingctx: Any, room: Any, space: Any, pool: Any, first: Any, lane: Any, samples: Any, to: Any, step: Any
) -> Any:  # fmt: skip
    """``room[to + s*step + j] = row[pool[first + j]][lane + s]`` for as many j as a vector holds.

    Samples up to 4 or 8 that are missing become 0.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        e = Emitter(builder, signature.args[0])
        at, rows, numbers, start, lane, count, place, apart = args
        b = builder
        addresses = [
            e.row(rows, b.load(b.gep(numbers, [b.add(start, WORD(j))])), lane) for j in range(e.lanes)
        ]  # fmt: skip
        many = b.zext(b.icmp_signed(">", count, WORD(PASS // 2)), WORD)
        with cases(b, many) as case:
            for number, most in enumerate((PASS // 2, PASS)):
                with case(number):
                    for s, vector in enumerate(_turned(e, addresses, most)):
                        there = b.icmp_signed("<", WORD(s), count)
                        where = b.gep(at, [b.add(place, b.mul(apart, WORD(s)))])
                        e.store(b.select(there, vector, e.zeros()), b.bitcast(where, BYTE))
        return context.get_dummy_value()

    return types.void(room, space, pool, *[types.int64] * 5), generate


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


QUARTER = FEW
"""Lanes of the shortest vector: as many sums as a row of a tile has."""

_SUMS = (
    "theta", "base", "stride", "to", "rows", "source", "columns", "weight", "to_step", "from_step", "bias", "adding"
)  # fmt: skip
_FEW_OUTER = ("grad", "base", "stride", "upstream", "rows", "source", "columns", "weight", "step", "bias", "lanes")


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
    return types.void(grad, *[types.int64] * 10), _tiles(_FEW_OUTER, _few_outer)


_NAMES = ("space", "like", "source", "ids", "chosen", "start", "lane", "lanes", "row", "count", "apart")
_REAL = {32: ir.FloatType(), 64: ir.DoubleType()}


def _row_addresses(e: Emitter, args: dict[str, Any]) -> list[Any]:
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
        addresses = _row_addresses(e, named)
        size = WORD(e.lanes)
        last = b.sub(named["count"], size)
        tiles = b.sdiv(b.add(named["count"], WORD(e.lanes - 1)), size)
        with cgutils.for_range(b, tiles, intp=WORD) as loop:
            column = b.mul(loop.index, size)
            column = b.select(b.icmp_signed("<", column, last), column, last)
            _tile(e, source.dtype, addresses, column, named)
        return context.get_dummy_value()

    return types.void(space, like, source, ids, *[types.int64] * 7), generate
