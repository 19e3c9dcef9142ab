"""Register tiles of convolutions and maxima as LLVM vector code; see :mod:`.emitter`.

With positions of one picture as lanes, neighbouring positions read neighbouring rows: the vector of a tap is
one load at the tap's distance, and a position that looks over the border has its lane masked.

For maxima over windows of two by two (:func:`scalarviz.engine.cpu.encode.pictures.windows_of`), two vectors of each
picture row are taken apart into the even and the odd numbers, the left and the right operands of as many windows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from numba import types
from numba.core import cgutils

from ..wire import HEIGHT
from .capability import COLUMNS
from .emitter import (
    BYTE,
    TALL,
    TILE_COLUMNS,
    TILE_ROWS,
    WIDE,
    WORD,
    CallSite,
    Emitter,
    add_sums,
    inline,
    sums_tiles,
    tiles,
)

SIDE, HIGH = (3, TALL) if WIDE == 4 else (2, TILE_ROWS)
"""Vectors of positions of a wide tile side by side, and its outputs: each number of theta that is fetched is used so
often as there are vectors, and each vector so often as there are outputs."""


def _shifts(e: Emitter, a: Any, rows: int, side: int) -> None:
    """`rows` outputs at `side` vectors of positions from number `lane` on; several are whole vectors."""
    b = e.b
    sums = [e.accumulators(side) for _ in range(rows)]
    e.begin_with(sums, a.theta, a.bias)  # what stands there already is added at the end
    first = b.bitcast(b.gep(a.theta, [a.weight]), BYTE)
    weights = [b.gep(first, [b.mul(a.weight_step, WORD(e.bytes * r))]) for r in range(rows)]
    hop, skip = b.mul(a.row_step, WORD(e.bytes)), b.mul(a.run_step, WORD(e.bytes))
    with cgutils.for_range(b, a.count, intp=WORD) as tap:
        at = b.add(a.taps, b.mul(tap.index, WORD(2)))
        row, weight = (e.word(a.pool, b.add(at, WORD(k))) for k in range(2))
        place = b.add(a.masks, b.mul(tap.index, a.mask_step))
        masks = [e.bits(e.word(a.pool, b.add(place, WORD(u)))) for u in range(side)]
        source = e.number_at(a.space, b.add(row, a.lane))
        begin = b.mul(weight, WORD(e.bytes))
        with cgutils.for_range(b, a.run, intp=WORD) as step:
            start = b.gep(source, [b.mul(step.index, hop)])
            vectors = [e.load_masked(e.offset(start, u), mask) for u, mask in enumerate(masks)]
            e.add_scaled(sums, _numbers(e, weights, b.add(begin, b.mul(step.index, skip))), vectors)
    results = [e.number_at(a.space, b.add(a.to, b.mul(a.to_step, WORD(r)))) for r in range(rows)]
    if side > 1:
        _put(e, sums, results, a.adding, None)
        return
    # whole vectors apart: masked stores are slow on some processors
    with b.if_else(b.icmp_unsigned("==", a.end, WORD(2**e.lanes - 1))) as (all_lanes, some_lanes):
        with all_lanes:
            _put(e, sums, results, a.adding, None)
        with some_lanes:
            _put(e, sums, results, a.adding, e.bits(a.end))


def _numbers(e: Emitter, weights: list[Any], shift: Any) -> Iterator[Any]:
    """The weight of each row of a tile, `shift` bytes on."""
    for weight in weights:
        yield e.b.load(e.b.bitcast(e.b.gep(weight, [shift]), e.real.as_pointer()), align=e.bytes)


def _put(e: Emitter, sums: list[list[Any]], results: list[Any], adding: Any, end: Any) -> None:
    """Store the sums of a tile, or add them to what is there."""
    b = e.b
    places = [(total, e.offset(result, u)) for row, result in zip(sums, results, strict=True)
              for u, total in enumerate(row)]  # fmt: skip
    with b.if_then(b.icmp_signed("!=", adding, WORD(0))):
        for total, place in places:
            before = e.load(place) if end is None else e.load_masked(place, end)
            b.store(b.fadd(before, b.load(total)), total)
    for total, place in places:
        if end is None:
            e.store(b.load(total), place)
        else:
            e.store_masked(b.load(total), place, end)


def _shifts_tile(side: int, most: int) -> Any:
    names = (
        "space pool theta to to_step rows weight weight_step bias adding taps count run row_step run_step lane masks "
        "mask_step end"
    )
    return tiles(
        names, lambda e, a, rows: _shifts(e, a, rows, side), "rows", zip(range(1, most + 1), strict=True), hides=True
    )


shifts_wide, shifts_narrow = _shifts_tile(SIDE, HIGH), _shifts_tile(1, TALL)


def _shift_outer(e: Emitter, a: Any, rows: int, columns: int) -> None:
    """Add to ``grad[to + i*to_step + j]`` the sum over positions of upstream i times column j."""
    b, sums = e.b, e.zeroed(rows * columns)
    g = [e.number_at(a.space, b.add(a.up, b.mul(a.up_step, WORD(r)))) for r in range(rows)]
    masks, *shifts = (e.word(a.pool, b.add(a.table, WORD(k))) for k in range(columns + 1))
    x = [e.number_at(a.space, shift) for shift in shifts]
    with cgutils.for_range(b, a.vectors, intp=WORD) as loop:
        shift = b.mul(loop.index, WORD(e.bytes * e.lanes))
        here = b.add(masks, b.mul(loop.index, WORD(columns + 1)))
        end, *bits = (e.bits(e.word(a.pool, b.add(here, WORD(k)))) for k in range(columns + 1))
        lefts = [e.load_masked(b.gep(p, [shift]), end) for p in g]
        for c, (address, mask) in enumerate(zip(x, bits, strict=True)):
            right = e.load_masked(b.gep(address, [shift]), mask)
            for r, left in enumerate(lefts):
                total = sums[r * columns + c]
                b.store(e.fma(left, right, b.load(total)), total)
    add_sums(e, sums, columns, a.grad, a.to, a.to_step)


shift_outer_tile = tiles(
    "space pool grad up up_step rows table columns vectors to to_step",
    _shift_outer, "rows columns", product(range(1, TILE_ROWS + 1), range(1, COLUMNS + 1)), hides=True,
)  # fmt: skip


def _sums(e: Emitter, a: Any, wide: int, rows: int) -> None:
    """``row[to + i*to_step] (+)= bias[i] + sum over entries and k``: `rows` results, `wide` vectors of lanes."""
    b = e.b
    results = [e.row(a.space, b.add(a.to, b.mul(a.to_step, WORD(r))), a.lane) for r in range(rows)]
    sums = [e.accumulators(wide) for _ in range(rows)]
    e.begin(sums, results, a.theta, a.bias, a.adding)
    first = b.bitcast(b.gep(a.theta, [a.weight]), BYTE)
    weights = [b.gep(first, [b.mul(a.weight_step, WORD(e.bytes * r))]) for r in range(rows)]
    hop = b.mul(a.row_step, e.stride(a.space))
    skip = b.mul(a.run_step, WORD(e.bytes))
    with cgutils.for_range(b, a.count, intp=WORD) as entry:
        at = b.add(a.entries, b.mul(entry.index, WORD(2)))
        row, weight = (e.word(a.pool, b.add(at, WORD(k))) for k in range(2))
        source = e.row(a.space, row, a.lane)
        begin = b.mul(weight, WORD(e.bytes))
        with cgutils.for_range(b, a.run, intp=WORD) as step:
            here = b.gep(source, [b.mul(step.index, hop)])
            vectors = [e.load(e.offset(here, u)) for u in range(wide)]
            e.add_scaled(sums, _numbers(e, weights, b.add(begin, b.mul(step.index, skip))), vectors)
    e.put(sums, results)


sums_tile = sums_tiles(
    "space pool theta width to to_step rows weight weight_step bias adding entries count run row_step run_step lane",
    _sums,
    hides=True,
)


def _outer(e: Emitter, a: Any, rows: int, columns: int) -> None:
    """``grad[to + i*to_step + j] += row[up + i*up_step + p] * row[table[p*table_step + j]]``, over p and all lanes."""
    b, sums = e.b, e.zeroed(rows * columns)
    whole, rest = b.sdiv(a.lanes, WORD(e.lanes)), b.srem(a.lanes, WORD(e.lanes))
    mask = e.mask(rest)
    with cgutils.for_range(b, a.places, intp=WORD) as place:
        g = [e.row(a.space, b.add(b.add(a.up, b.mul(a.up_step, WORD(r))), place.index), WORD(0)) for r in range(rows)]
        at = b.add(a.table, b.mul(place.index, a.table_step))
        x = [e.row(a.space, e.word(a.pool, b.add(at, WORD(c))), WORD(0)) for c in range(columns)]
        with cgutils.for_range(b, whole, intp=WORD) as loop:
            e.add_products(sums, g, x, b.mul(loop.index, WORD(e.bytes * e.lanes)), None)
        with b.if_then(b.icmp_signed("!=", rest, WORD(0))):
            e.add_products(sums, g, x, b.mul(whole, WORD(e.bytes * e.lanes)), mask)
    add_sums(e, sums, columns, a.grad, a.to, a.to_step)


outer_places_tile = tiles(
    "space pool grad to to_step up up_step rows table table_step columns places lanes",
    _outer, "rows columns", product(range(1, TILE_ROWS + 1), range(1, TILE_COLUMNS + 1)), hides=True,
)  # fmt: skip


class _Some:
    """The first `lanes` lanes of a vector, at most all."""

    def __init__(self, e: Emitter, lanes: Any) -> None:
        self._e, self.mask = e, e.mask(lanes)
        self._all = e.b.icmp_signed(">=", lanes, WORD(e.lanes))

    def put(self, value: Any, address: Any) -> None:
        """Store them; whole vectors apart, because masked stores are slow on some processors."""
        with self._e.b.if_else(self._all) as (every, some):
            with every:
                self._e.store(value, address)
            with some:
                self._e.store_masked(value, address, self.mask)


class _Windows(Emitter):
    """Some neighbouring windows: `left` of them, at most a vector."""

    def __init__(self, builder: Any, pointer: Any, left: Any) -> None:
        super().__init__(builder, pointer)
        twice = builder.mul(left, WORD(2))
        self.these = _Some(self, left)
        self.halves = _Some(self, twice), _Some(self, builder.sub(twice, WORD(self.lanes)))

    def apart(self, address: Any) -> list[Any]:
        """Left and right operands of the windows whose picture row begins at an address."""
        a, b = (self.load_masked(self.offset(address, k), some.mask) for k, some in enumerate(self.halves))
        return [self.shuffle(a, b, list(range(k, 2 * self.lanes, 2))) for k in range(2)]

    def together(self, left: Any, right: Any, address: Any, adding: bool) -> None:
        """The inverse of `apart`: store, or add."""
        mixed = [k // 2 + k % 2 * self.lanes for k in range(2 * self.lanes)]
        for k, some in enumerate(self.halves):
            value, where = self.shuffle(left, right, mixed[k * self.lanes :][: self.lanes]), self.offset(address, k)
            if adding:
                value = self.b.fadd(self.load_masked(where, some.mask), value)
            some.put(value, where)

    def larger(self, a: Any, b: Any) -> Any:
        """The larger one; a NaN is larger than anything."""
        build = self.b
        rest = build.select(build.fcmp_ordered("<", a, b), b, build.fadd(a, b))
        return build.select(build.fcmp_ordered(">=", a, b), a, rest)

    def shares(self, operands: list[Any], largest: Any, upstream: Any) -> list[Any]:
        """The upstream gradient for the first operand that is the largest, 0 for the others; for all a NaN that is."""
        build = self.b
        number = build.fcmp_ordered("==", largest, largest)
        none = build.select(number, self.zeros(), build.fmul(upstream, largest))
        found, taken = [], None
        for x in operands:
            hit = build.fcmp_ordered("==", x, largest)
            share = build.select(hit, upstream, none)
            found.append(share if taken is None else build.select(taken, none, share))
            taken = hit if taken is None else build.or_(taken, hit)
        return found


@inline(lambda space, pool, like, *n: types.void(space, pool, like, *[types.int64] * 6))
def window_maxima(
    call: CallSite, space: Any, pool: Any, like: Any, to: Any, width: Any, down: Any, runs: Any, count: Any, lane: Any
) -> None:  # fmt: skip
    """The largest number of the windows `lane ..` of every run, as many as a vector holds."""
    e = _Windows(call.b, call.kinds[2], call.b.sub(width, lane))
    with cgutils.for_range(call.b, count, intp=WORD) as run:
        *operands, result = _addresses(e, space, pool, to, width, down, runs, lane, run.index)
        a, b, c, d = (x for address in operands for x in e.apart(address))
        e.these.put(e.larger(e.larger(e.larger(a, b), c), d), result)


@inline(lambda space, pool, like, *n: types.void(space, pool, like, *[types.int64] * 8))
def window_adjoints(
    call: CallSite, space: Any, pool: Any, like: Any, to: Any, width: Any, down: Any, runs: Any, count: Any, lane: Any,
    up: Any, adding: Any,
) -> None:  # fmt: skip
    """The gradient of `window_maxima`: to the first operand that is the largest; a NaN to all."""
    b, e = call.b, _Windows(call.b, call.kinds[2], call.b.sub(width, lane))
    shift = b.mul(e.word(space, WORD(HEIGHT)), WORD(e.bytes))
    rise = b.mul(b.sub(up, to), WORD(e.bytes))
    with cgutils.for_range(b, count, intp=WORD) as run:
        *operands, result = _addresses(e, space, pool, to, width, down, runs, lane, run.index)
        numbers = [x for address in operands for x in e.apart(address)]
        g = e.load_masked(b.gep(result, [rise]), e.these.mask)
        terms = e.shares(numbers, e.load_masked(result, e.these.mask), g)
        targets = [b.gep(address, [shift]) for address in operands]
        with b.if_else(b.icmp_signed("!=", adding, WORD(0))) as (more, fresh):
            for branch, adds in ((more, True), (fresh, False)):
                with branch:
                    for k, target in enumerate(targets):
                        e.together(terms[2 * k], terms[2 * k + 1], target, adds)


def _addresses(
    e: _Windows, space: Any, pool: Any, to: Any, width: Any, down: Any, runs: Any, lane: Any, run: Any
) -> tuple[Any, Any, Any]:
    """Where the upper and the lower picture row of a run's windows begin, and their results."""
    b = e.b
    upper = e.number_at(space, b.add(e.word(pool, b.add(runs, run)), b.mul(lane, WORD(2))))
    lower = b.gep(upper, [b.mul(down, WORD(e.bytes))])
    return upper, lower, e.number_at(space, b.add(b.add(to, lane), b.mul(run, width)))
