"""Register tiles of layers as LLVM vector code; see :mod:`.emitter`.

Tiles for a batch that fits one vector (`few_sums`, `few_outer`) are straight-line code, one jump for every
size: with loops, what LLVM prepares for all sizes in advance costs more than the sums.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ..wire import FEW, PASS
from .emitter import BYTE, INDEX, TILE_COLUMNS, TILE_ROWS, WORD, CallSite, Emitter, add_sums, cases, inline, tiles


def _turned(e: Emitter, addresses: list[Any], samples: int) -> list[Any]:
    """A vector a sample, of the numbers that begin at the addresses.

    The places of all numbers, counted through, are shuffled as a pack of cards is, halves interleaved: each time the
    uppermost bit of a number's place becomes the lowest one, until row and sample have changed sides.
    """
    if samples > e.lanes:  # a square after the other
        squares = ([e.offset(address, k) for address in addresses] for k in range(samples // e.lanes))
        return [vector for square in squares for vector in _turned(e, square, e.lanes)]
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


@inline(lambda room, space, pool, *n: types.void(room, space, pool, *[types.int64] * 5))
def turn(
    call: CallSite, room: Any, space: Any, pool: Any, first: Any, lane: Any, samples: Any, to: Any, step: Any
) -> None:  # fmt: skip
    """``room[to + s*step + j] = row[pool[first + j]][lane + s]`` for as many j as a vector holds.

    Samples up to 4 or 8 that are missing become 0.
    """
    b, e = call.b, Emitter(call.b, call.kinds[0])
    addresses = [e.row(space, e.word(pool, b.add(first, WORD(j))), lane) for j in range(e.lanes)]
    many = b.zext(b.icmp_signed(">", samples, WORD(PASS // 2)), WORD)
    with cases(b, many) as case:
        for number, most in enumerate((PASS // 2, PASS)):
            with case(number):
                for s, vector in enumerate(_turned(e, addresses, most)):
                    there = b.icmp_signed("<", WORD(s), samples)
                    where = b.gep(room, [b.add(to, b.mul(step, WORD(s)))])
                    e.store(b.select(there, vector, e.zeros()), b.bitcast(where, BYTE))


def _outer(e: Emitter, a: Any, biased: int, rows: int, columns: int) -> None:
    """``grad[to + i*to_step + j] += sum over lanes of upstream[i] * from[j]`` for i < `rows`, j < `columns`.

    If `biased`, ``grad[bias + i] += sum over lanes of upstream[i]``.
    """
    b = e.b
    g, x = (
        [e.row(a.space, e.word(a.pool, b.add(first, WORD(k))), WORD(0)) for k in range(count)]
        for first, count in ((a.upstream, rows), (a.source, columns))
    )
    sums = e.zeroed(rows * columns + rows * biased)
    sums, biases = sums[: rows * columns], sums[rows * columns :]
    whole, rest = b.sdiv(a.lanes, WORD(e.lanes)), b.srem(a.lanes, WORD(e.lanes))
    with cgutils.for_range(b, whole, intp=WORD) as loop:
        e.add_products(sums, g, x, b.mul(loop.index, WORD(e.bytes * e.lanes)), None, biases)
    with b.if_then(b.icmp_signed("!=", rest, WORD(0))):
        e.add_products(sums, g, x, b.mul(whole, WORD(e.bytes * e.lanes)), e.mask(rest), biases)
    add_sums(e, sums, columns, a.grad, a.to, a.to_step)
    add_sums(e, biases, rows, a.grad, a.bias, WORD(0))


outer_tile = tiles(
    "space pool grad to to_step bias upstream rows source columns lanes", _outer,
    "biased rows columns", product(range(2), range(1, TILE_ROWS + 1), range(1, TILE_COLUMNS + 1)),
)  # fmt: skip

QUARTER = FEW
"""Lanes of the shortest vector: as many sums as a row of a tile has."""


def _addresses(e: Emitter, a: Any, first: Any, count: int) -> list[Any]:
    """Where `count` neighbouring rows begin."""
    start = e.b.add(a.base, e.b.mul(first, a.stride))
    return [e.b.inttoptr(e.b.add(start, e.b.mul(WORD(k), a.stride)), BYTE) for k in range(count)]


def _few_sums(e: Emitter, a: Any, rows: int, columns: int) -> None:
    """``to[i] (+)= bias[i] + sum_j theta[weight + i*to_step + j*from_step] * from[j]``; i < `rows`, j < `columns`.

    Both are 1 to 4; `to` and `source` are the first of neighbouring rows.
    """
    b = e.b
    results, operands = _addresses(e, a, a.to, rows), _addresses(e, a, a.source, columns)
    sums = [e.accumulators(1) for _ in range(rows)]
    e.begin(sums, results, a.theta, a.bias, a.adding)
    totals = [b.load(total) for (total,) in sums]
    weights = b.gep(a.theta, [a.weight])
    for c, operand in enumerate(operands):
        vector = e.load(operand)
        for r in range(rows):
            step = b.add(b.mul(WORD(r), a.to_step), b.mul(WORD(c), a.from_step))
            totals[r] = e.fma(e.splat(e.word(weights, step)), vector, totals[r])
    for total, result in zip(totals, results, strict=True):
        e.store(total, result)


def _few_outer(e: Emitter, a: Any, rows: int, columns: int) -> None:
    """``grad[weight + i*step + j] += sum over lanes of upstream[i] * from[j]``, and ``grad[bias + i]`` alike."""
    if e.lanes <= QUARTER:
        _outer_of_width(e, QUARTER, rows, columns, a)
        return
    with e.b.if_else(e.b.icmp_signed("<=", a.lanes, WORD(QUARTER))) as (short, whole):
        with short:
            _outer_of_width(e, QUARTER, rows, columns, a)
        with whole:
            _outer_of_width(e, e.lanes, rows, columns, a)


def _outer_of_width(e: Emitter, width: int, rows: int, columns: int, a: Any) -> None:
    b, vector = e.b, ir.VectorType(e.real, width)
    mask, zeros = e.mask(a.lanes, width), ir.Constant(vector, [0.0] * width)
    # both sides are masked: what stands behind the last lane may be an infinity
    g, x = (
        [b.select(mask, e.load(address, vector), zeros) for address in _addresses(e, a, first, count)]
        for first, count in ((a.upstream, rows), (a.source, columns))
    )
    to = b.gep(a.grad, [a.weight])
    for r, left in enumerate(g):
        _add_sums(e, [b.fmul(left, right) for right in x], b.gep(to, [b.mul(WORD(r), a.step)]))
    with b.if_then(b.icmp_signed(">=", a.bias, WORD(0))):
        _add_sums(e, g, b.gep(a.grad, [a.bias]))


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


_SIDES = list(product(range(1, FEW + 1), repeat=2))
few_sums = tiles(
    "theta base stride to rows source columns weight to_step from_step bias adding",
    _few_sums, "rows columns", _SIDES, pointers=1,
)  # fmt: skip
few_outer = tiles(
    "grad base stride upstream rows source columns weight step bias lanes",
    _few_outer, "rows columns", _SIDES, pointers=1,
)  # fmt: skip

_REAL = {32: ir.FloatType(), 64: ir.DoubleType()}


def _row_addresses(
    e: Emitter, source: Any, ids: Any, chosen: Any, start: Any, lane: Any, lanes: Any, apart: Any
) -> list[Any]:
    """Where each of the samples of a tile begins; behind the last lane that of the last one, which is nobody's."""
    b = e.b
    last, first = b.sub(lanes, WORD(1)), b.ptrtoint(source, WORD)
    places = [b.add(lane, WORD(k)) for k in range(e.lanes)]
    numbers = [b.add(start, b.select(b.icmp_signed("<", k, last), k, last)) for k in places]
    found = [cgutils.alloca_once(b, WORD) for _ in places]
    with b.if_else(b.icmp_signed("!=", chosen, WORD(0))) as (picked, in_order):
        with picked:
            for number, place in zip(numbers, found, strict=True):
                b.store(e.word(ids, number), place)
        with in_order:
            for number, place in zip(numbers, found, strict=True):
                b.store(number, place)
    return [b.inttoptr(b.add(first, b.mul(b.load(place), apart)), BYTE) for place in found]


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


@inline(lambda space, like, source, ids, *n: types.void(space, like, source, ids, *[types.int64] * 7))
def transpose_tiles(
    call: CallSite, space: Any, like: Any, source: Any, ids: Any, chosen: Any, start: Any, lane: Any, lanes: Any,
    row: Any, count: Any, apart: Any,
) -> None:  # fmt: skip
    """A vector of samples, from lane number `lane` of `lanes` on: their `count` numbers into the rows from `row` on.

    At least as many numbers as a vector has lanes, side by side; `apart` bytes from sample to sample. The
    last tile lies over the one before it, so that nothing behind a sample is read.
    """
    e, b, kind = Emitter(call.b, call.kinds[1]), call.b, call.kinds[2].dtype
    element = ir.IntType(kind.bitwidth) if isinstance(kind, types.Integer) else _REAL[kind.bitwidth]
    packed, size = ir.VectorType(element, e.lanes).as_pointer(), WORD(e.lanes)
    addresses = _row_addresses(e, source, ids, chosen, start, lane, lanes, apart)
    last = b.sub(count, size)
    with cgutils.for_range(b, b.sdiv(b.add(count, WORD(e.lanes - 1)), size), intp=WORD) as loop:
        column = b.mul(loop.index, size)
        column = b.select(b.icmp_signed("<", column, last), column, last)
        shift = b.mul(column, WORD(kind.bitwidth // 8))
        places = (b.bitcast(b.gep(address, [shift]), packed) for address in addresses)
        vectors = [_converted(e, b.load(place, align=1), kind) for place in places]
        to, stride = e.row(space, b.add(row, column), lane), e.stride(space)
        for k, vector in enumerate(transposed(e, vectors)):
            e.store(vector, b.gep(to, [b.mul(stride, WORD(k))]))
