"""Register tiles of convolutions whose lanes are positions of one picture; see :mod:`scalarviz.engine.cpu.compact`.

Neighbouring positions read neighbouring rows: the vector of a tap is one load at the tap's distance, and where a
position looks over the border its lane is masked.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .layout import BASE
from .vectors import BYTE, TILE_ROWS, WORD, Emitter, cases, write_sums

TALL = 8


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


def _tile(e: MaskedEmitter, rows: int, args: dict[str, Any]) -> None:
    b, space, pool = e.b, args["space"], args["pool"]
    results = [e.number_at(space, b.add(args["to"], b.mul(args["to_step"], WORD(r)))) for r in range(rows)]
    end = e.bits(args["end"])
    sums = e.accumulators(rows)
    for r in range(rows):  # biases; what stands there already is added at the end
        has_bias = b.icmp_signed(">=", args["bias"], WORD(0))
        number = b.load(b.gep(args["theta"], [b.select(has_bias, b.add(args["bias"], WORD(r)), WORD(0))]))
        b.store(e.splat(b.select(has_bias, number, ir.Constant(e.real, 0.0))), sums[r])
    first = b.bitcast(b.gep(args["theta"], [args["weight"]]), BYTE)
    weights = [b.gep(first, [b.mul(args["weight_step"], WORD(e.bytes * r))]) for r in range(rows)]
    hop, skip = b.mul(args["row_step"], WORD(e.bytes)), b.mul(args["run_step"], WORD(e.bytes))
    with cgutils.for_range(b, args["count"], intp=WORD) as tap:
        at = b.add(args["taps"], b.mul(tap.index, WORD(2)))
        row, weight = (b.load(b.gep(pool, [b.add(at, WORD(k))])) for k in range(2))
        place = b.add(args["masks"], b.mul(tap.index, args["mask_step"]))
        mask = e.bits(b.load(b.gep(pool, [place])))
        source = e.number_at(space, b.add(row, args["lane"]))
        begin = b.mul(weight, WORD(e.bytes))
        with cgutils.for_range(b, args["run"], intp=WORD) as step:
            vector = e.load_masked(b.gep(source, [b.mul(step.index, hop)]), mask)
            shift = b.add(begin, b.mul(step.index, skip))
            for r in range(rows):
                number = b.load(b.bitcast(b.gep(weights[r], [shift]), e.real.as_pointer()), align=e.bytes)
                b.store(e.fma(e.splat(number), vector, b.load(sums[r])), sums[r])
    # whole vectors apart: masked stores are slow on some processors
    whole = b.icmp_unsigned("==", args["end"], WORD(2**e.lanes - 1))
    more = b.icmp_signed("!=", args["adding"], WORD(0))
    with b.if_else(whole) as (all_lanes, some_lanes):
        with all_lanes:
            with b.if_then(more):
                for result, total in zip(results, sums, strict=True):
                    b.store(b.fadd(e.load(result), b.load(total)), total)
            for result, total in zip(results, sums, strict=True):
                e.store(b.load(total), result)
        with some_lanes:
            with b.if_then(more):
                for result, total in zip(results, sums, strict=True):
                    b.store(b.fadd(e.load_masked(result, end), b.load(total)), total)
            for result, total in zip(results, sums, strict=True):
                e.store_masked(b.load(total), result, end)


@intrinsic
def shift_tile(
    typingctx: Any, space: Any, pool: Any, theta: Any, to: Any, to_step: Any, rows: Any, weight: Any, weight_step: Any,
    bias: Any, adding: Any, taps: Any, count: Any, run: Any, row_step: Any, run_step: Any, lane: Any, masks: Any,
    mask_step: Any, end: Any,
) -> Any:  # fmt: skip
    """One vector of positions, from number `lane` on, of `rows` (1 to 8) outputs."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        emitter = MaskedEmitter(builder, theta)
        named = dict(zip(_TILE, args, strict=True))
        with cases(builder, named["rows"]) as case:
            for rows in range(1, TALL + 1):
                with case(rows):
                    _tile(emitter, rows, named)
        return context.get_dummy_value()

    return types.void(space, pool, theta, *[types.int64] * 16), generate


_OUTER = ("space", "pool", "tile", "up", "up_step", "rows", "table", "columns", "vectors", "ends")


def _outer(e: MaskedEmitter, rows: int, columns: int, args: dict[str, Any]) -> None:
    """``tile[4*i + j]`` = the sum over positions of upstream i times column j."""
    b, space, pool = e.b, args["space"], args["pool"]
    sums = e.accumulators(rows * columns)
    for total in sums:
        b.store(e.zeros(), total)
    g = [e.number_at(space, b.add(args["up"], b.mul(args["up_step"], WORD(r)))) for r in range(rows)]
    pairs = [
        [b.load(b.gep(pool, [b.add(args["table"], WORD(2 * c + k))])) for k in range(2)] for c in range(columns)
    ]  # fmt: skip
    x = [e.number_at(space, row) for row, _ in pairs]
    with cgutils.for_range(b, args["vectors"], intp=WORD) as loop:
        shift = b.mul(loop.index, WORD(e.bytes * e.lanes))
        end = e.bits(b.load(b.gep(pool, [b.add(args["ends"], loop.index)])))
        lefts = [e.load_masked(b.gep(p, [shift]), end) for p in g]
        for c, (address, (_, masks)) in enumerate(zip(x, pairs, strict=True)):
            mask = e.bits(b.load(b.gep(pool, [b.add(masks, loop.index)])))
            right = e.load_masked(b.gep(address, [shift]), mask)
            for r, left in enumerate(lefts):
                total = sums[r * columns + c]
                b.store(e.fma(left, right, b.load(total)), total)
    write_sums(e, sums, rows, columns, args["tile"])


@intrinsic
def shift_outer_tile(
    typingctx: Any, space: Any, pool: Any, tile: Any, up: Any, up_step: Any, rows: Any, table: Any, columns: Any,
    vectors: Any, ends: Any,
) -> Any:  # fmt: skip
    """Products of `rows` x `columns` (1 to 4 each) pairs, summed over all positions."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        emitter = MaskedEmitter(builder, tile)
        named = dict(zip(_OUTER, args, strict=True))
        sides = range(1, TILE_ROWS + 1)
        number = builder.add(builder.mul(named["rows"], WORD(8)), named["columns"])
        with cases(builder, number) as case:
            for rows in sides:
                for columns in sides:
                    with case(8 * rows + columns):
                        _outer(emitter, rows, columns, named)
        return context.get_dummy_value()

    return types.void(space, pool, tile, *[types.int64] * 7), generate
