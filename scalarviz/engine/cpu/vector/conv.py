"""Register tiles of convolutions and maxima as LLVM vector code; see :mod:`.emitter`.

With positions of one picture as lanes, neighbouring positions read neighbouring rows: the vector of a tap is one load
at the tap's distance, and a position that looks over the border has its lane masked.

For maxima over windows of two by two, two vectors of each picture row are taken apart into the even and the odd
numbers, which are the left and the right operands of as many windows; the adjoints are put together again in the same
way. The list of runs is that of :class:`scalarviz.engine.cpu.encode.pictures.Windows`.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..wire import BASE, HEIGHT
from .capability import COLUMNS
from .emitter import BYTE, MIDDLE, TALL, TILE_COLUMNS, TILE_ROWS, VECTOR_BYTES, WIDE, WORD, Emitter, add_sums, cases

SIDE = 3 if WIDE == 4 else 1
"""Vectors of positions of a wide tile side by side: each number of theta that is fetched is used so often."""


class MaskedEmitter(Emitter):
    """Writes loads and stores of some lanes."""

    def bits(self, word: Any) -> Any:
        """The lowest bits of an i64 as a mask."""
        narrow = self.b.trunc(word, ir.IntType(self.lanes))
        return self.b.bitcast(narrow, ir.VectorType(ir.IntType(1), self.lanes))

    def _function(self, name: str, result: Any, arguments: list[Any]) -> Any:
        suffix = f"v{self.lanes}f{8 * self.bytes}.p0"
        kind = ir.FunctionType(result, arguments)
        return cgutils.get_or_insert_function(self.b.module, kind, f"llvm.masked.{name}.{suffix}")

    def load_masked(self, address: Any, mask: Any) -> Any:
        """The vector at an address, 0 where the mask is not set; nothing is read there."""
        pointer = self.vector.as_pointer()
        kinds = [pointer, ir.IntType(32), mask.type, self.vector]
        function = self._function("load", self.vector, kinds)
        align = ir.Constant(ir.IntType(32), self.bytes)
        return self.b.call(function, [self.b.bitcast(address, pointer), align, mask, self.zeros()])

    def store_masked(self, value: Any, address: Any, mask: Any) -> None:
        """Put the lanes of a mask at an address."""
        pointer = self.vector.as_pointer()
        kinds = [self.vector, pointer, ir.IntType(32), mask.type]
        function = self._function("store", ir.VoidType(), kinds)
        align = ir.Constant(ir.IntType(32), self.bytes)
        self.b.call(function, [value, self.b.bitcast(address, pointer), align, mask])

    def number_at(self, space: Any, row: Any) -> Any:
        """Address of a row that is one number."""
        base = self.b.load(self.b.gep(space, [WORD(BASE)]))
        return self.b.inttoptr(self.b.add(base, self.b.mul(row, WORD(self.bytes))), BYTE)


_TILE = (
    "space", "pool", "theta", "to", "to_step", "rows", "weight", "weight_step", "bias", "adding", "taps", "count",
    "run", "row_step", "run_step", "lane", "masks", "mask_step", "end",
)  # fmt: skip


def _tile(e: MaskedEmitter, rows: int, side: int, args: dict[str, Any]) -> None:
    """`rows` outputs at `side` vectors of positions; several are whole vectors."""
    b, space, pool = e.b, args["space"], args["pool"]
    sums = [e.accumulators(side) for _ in range(rows)]
    for r in range(rows):  # biases; what stands there already is added at the end
        has_bias = b.icmp_signed(">=", args["bias"], WORD(0))
        number = b.load(b.gep(args["theta"], [b.select(has_bias, b.add(args["bias"], WORD(r)), WORD(0))]))
        for total in sums[r]:
            b.store(e.splat(b.select(has_bias, number, ir.Constant(e.real, 0.0))), total)
    first = b.bitcast(b.gep(args["theta"], [args["weight"]]), BYTE)
    weights = [b.gep(first, [b.mul(args["weight_step"], WORD(e.bytes * r))]) for r in range(rows)]
    hop, skip = b.mul(args["row_step"], WORD(e.bytes)), b.mul(args["run_step"], WORD(e.bytes))
    with cgutils.for_range(b, args["count"], intp=WORD) as tap:
        at = b.add(args["taps"], b.mul(tap.index, WORD(2)))
        row, weight = (b.load(b.gep(pool, [b.add(at, WORD(k))])) for k in range(2))
        place = b.add(args["masks"], b.mul(tap.index, args["mask_step"]))
        masks = [e.bits(b.load(b.gep(pool, [b.add(place, WORD(u))]))) for u in range(side)]
        source = e.number_at(space, b.add(row, args["lane"]))
        begin = b.mul(weight, WORD(e.bytes))
        with cgutils.for_range(b, args["run"], intp=WORD) as step:
            start = b.gep(source, [b.mul(step.index, hop)])
            vectors = [e.load_masked(e.offset(start, u), mask) for u, mask in enumerate(masks)]
            shift = b.add(begin, b.mul(step.index, skip))
            for r in range(rows):
                place = b.bitcast(b.gep(weights[r], [shift]), e.real.as_pointer())
                number = e.splat(b.load(place, align=e.bytes))
                for vector, total in zip(vectors, sums[r], strict=True):
                    b.store(e.fma(number, vector, b.load(total)), total)
    results = [e.number_at(space, b.add(args["to"], b.mul(args["to_step"], WORD(r)))) for r in range(rows)]
    if side > 1:
        _put(e, sums, results, args["adding"], None)
        return
    # whole vectors apart: masked stores are slow on some processors
    with b.if_else(b.icmp_unsigned("==", args["end"], WORD(2**e.lanes - 1))) as (all_lanes, some_lanes):
        with all_lanes:
            _put(e, sums, results, args["adding"], None)
        with some_lanes:
            _put(e, sums, results, args["adding"], e.bits(args["end"]))


def _put(e: MaskedEmitter, sums: list[list[Any]], results: list[Any], adding: Any, end: Any) -> None:
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


def _tile_intrinsic(side: int) -> Any:
    @intrinsic
    def shift_tile(
        typingctx: Any, space: Any, pool: Any, theta: Any, to: Any, to_step: Any, rows: Any, weight: Any,
        weight_step: Any, bias: Any, adding: Any, taps: Any, count: Any, run: Any, row_step: Any, run_step: Any,
        lane: Any, masks: Any, mask_step: Any, end: Any,
    ) -> Any:  # fmt: skip
        """A tile of positions, from number `lane` on, of `rows` (1 to 8) outputs."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            emitter = MaskedEmitter(builder, theta)
            named = dict(zip(_TILE, args, strict=True))
            with cases(builder, named["rows"]) as case:
                for rows in range(1, TALL + 1):
                    with case(rows):
                        _tile(emitter, rows, side, named)
            return context.get_dummy_value()

        return types.void(space, pool, theta, *[types.int64] * 16), generate

    return shift_tile


shifts_wide, shifts_narrow = _tile_intrinsic(SIDE), _tile_intrinsic(1)

_SHIFT_OUTER = ("space", "pool", "grad", "up", "up_step", "rows", "table", "columns", "vectors", "to", "to_step")


def _shift_outer(e: MaskedEmitter, rows: int, columns: int, args: dict[str, Any]) -> None:
    """Add to ``grad[to + i*to_step + j]`` the sum over positions of upstream i times column j."""
    b, space, pool = e.b, args["space"], args["pool"]
    sums = e.accumulators(rows * columns)
    for total in sums:
        b.store(e.zeros(), total)
    g = [e.number_at(space, b.add(args["up"], b.mul(args["up_step"], WORD(r)))) for r in range(rows)]
    masks, *shifts = (b.load(b.gep(pool, [b.add(args["table"], WORD(k))])) for k in range(columns + 1))
    x = [e.number_at(space, shift) for shift in shifts]
    with cgutils.for_range(b, args["vectors"], intp=WORD) as loop:
        shift = b.mul(loop.index, WORD(e.bytes * e.lanes))
        here = b.add(masks, b.mul(loop.index, WORD(columns + 1)))
        end, *bits = (e.bits(b.load(b.gep(pool, [b.add(here, WORD(k))]))) for k in range(columns + 1))
        lefts = [e.load_masked(b.gep(p, [shift]), end) for p in g]
        for c, (address, mask) in enumerate(zip(x, bits, strict=True)):
            right = e.load_masked(b.gep(address, [shift]), mask)
            for r, left in enumerate(lefts):
                total = sums[r * columns + c]
                b.store(e.fma(left, right, b.load(total)), total)
    add_sums(e, sums, columns, args["grad"], args["to"], args["to_step"])


@intrinsic
def shift_outer_tile(
    typingctx: Any, space: Any, pool: Any, grad: Any, up: Any, up_step: Any, rows: Any, table: Any, columns: Any,
    vectors: Any, to: Any, to_step: Any,
) -> Any:  # fmt: skip
    """Products of `rows` (1 to 4) x `columns` (1 to `COLUMNS`) pairs, summed over all positions."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        emitter = MaskedEmitter(builder, grad)
        named = dict(zip(_SHIFT_OUTER, args, strict=True))
        number = builder.add(builder.mul(named["rows"], WORD(8)), named["columns"])
        with cases(builder, number) as case:
            for rows in range(1, TILE_ROWS + 1):
                for columns in range(1, COLUMNS + 1):
                    with case(8 * rows + columns):
                        _shift_outer(emitter, rows, columns, named)
        return context.get_dummy_value()

    return types.void(space, pool, grad, *[types.int64] * 8), generate


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


class _Windows(MaskedEmitter):
    """Some neighbouring windows: `left` of them, at most a vector."""

    def __init__(self, builder: Any, pointer: Any, left: Any) -> None:
        super().__init__(builder, pointer)
        twice = builder.mul(left, WORD(2))
        self.these = self.mask(left)
        self.halves = self.mask(twice), self.mask(builder.sub(twice, WORD(self.lanes)))

    def apart(self, address: Any) -> list[Any]:
        """Left and right operands of the windows whose picture row begins at an address."""
        a, b = (self.load_masked(self.offset(address, k), mask) for k, mask in enumerate(self.halves))
        return [self.shuffle(a, b, list(range(k, 2 * self.lanes, 2))) for k in range(2)]

    def together(self, left: Any, right: Any, address: Any, adding: bool) -> None:
        """The inverse of `apart`: store, or add."""
        mixed = [k // 2 + k % 2 * self.lanes for k in range(2 * self.lanes)]
        for k, mask in enumerate(self.halves):
            value, where = self.shuffle(left, right, mixed[k * self.lanes :][: self.lanes]), self.offset(address, k)
            if adding:
                value = self.b.fadd(self.load_masked(where, mask), value)
            self.store_masked(value, where, mask)

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


_RUNS = ("space", "pool", "to", "width", "down", "runs", "count", "lane")


@intrinsic
def window_maxima(
    typingctx: Any, space: Any, pool: Any, like: Any, to: Any, width: Any, down: Any, runs: Any, count: Any, lane: Any
) -> Any:
    """The largest number of the windows `lane ..` of every run, as many as a vector holds."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        named = dict(zip(_RUNS, [*args[:2], *args[3:]], strict=True))
        e = _Windows(builder, like, builder.sub(named["width"], named["lane"]))
        with cgutils.for_range(builder, named["count"], intp=WORD) as run:
            *operands, result = _addresses(e, named, run.index)
            a, b, c, d = (x for address in operands for x in e.apart(address))
            e.store_masked(e.larger(e.larger(e.larger(a, b), c), d), result, e.these)
        return context.get_dummy_value()

    return types.void(space, pool, like, *[types.int64] * 6), generate


@intrinsic
def window_adjoints(
    typingctx: Any, space: Any, pool: Any, like: Any, to: Any, width: Any, down: Any, runs: Any, count: Any, lane: Any,
    up: Any, adding: Any,
) -> Any:  # fmt: skip
    """The gradient of `window_maxima`: to the first operand that is the largest; a NaN to all."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        named = dict(zip([*_RUNS, "up", "adding"], [*args[:2], *args[3:]], strict=True))
        e = _Windows(builder, like, builder.sub(named["width"], named["lane"]))
        height = builder.load(builder.gep(named["space"], [WORD(HEIGHT)]))
        shift = builder.mul(height, WORD(e.bytes))
        rise = builder.mul(builder.sub(named["up"], named["to"]), WORD(e.bytes))
        with cgutils.for_range(builder, named["count"], intp=WORD) as run:
            *operands, result = _addresses(e, named, run.index)
            numbers = [x for address in operands for x in e.apart(address)]
            g = e.load_masked(builder.gep(result, [rise]), e.these)
            terms = e.shares(numbers, e.load_masked(result, e.these), g)
            targets = [builder.gep(address, [shift]) for address in operands]
            with builder.if_else(builder.icmp_signed("!=", named["adding"], WORD(0))) as (more, fresh):
                for branch, adding in ((more, True), (fresh, False)):
                    with branch:
                        for k, target in enumerate(targets):
                            e.together(terms[2 * k], terms[2 * k + 1], target, adding)
        return context.get_dummy_value()

    return types.void(space, pool, like, *[types.int64] * 8), generate


def _addresses(e: _Windows, named: dict[str, Any], run: Any) -> tuple[Any, Any, Any]:
    """Where the upper and the lower picture row of a run's windows begin, and their results."""
    b = e.b
    first = b.load(b.gep(named["pool"], [b.add(named["runs"], run)]))
    upper = e.number_at(named["space"], b.add(first, b.mul(named["lane"], WORD(2))))
    lower = b.gep(upper, [b.mul(named["down"], WORD(e.bytes))])
    result = b.add(b.add(named["to"], named["lane"]), b.mul(run, named["width"]))
    return upper, lower, e.number_at(named["space"], result)
