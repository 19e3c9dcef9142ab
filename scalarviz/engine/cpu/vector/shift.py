"""Register tiles of convolutions whose lanes are positions of one picture; see ``compiled/one``.

Neighbouring positions read neighbouring rows: the vector of a tap is one load at the tap's distance, and where a
position looks over the border its lane is masked.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..wire import BASE
from .capability import COLUMNS
from .emitter import BYTE, TALL, TILE_ROWS, WIDE, WORD, Emitter, add_sums, cases

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

_OUTER = ("space", "pool", "grad", "up", "up_step", "rows", "table", "columns", "vectors", "to", "to_step")


def _outer(e: MaskedEmitter, rows: int, columns: int, args: dict[str, Any]) -> None:
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
        named = dict(zip(_OUTER, args, strict=True))
        number = builder.add(builder.mul(named["rows"], WORD(8)), named["columns"])
        with cases(builder, number) as case:
            for rows in range(1, TILE_ROWS + 1):
                for columns in range(1, COLUMNS + 1):
                    with case(8 * rows + columns):
                        _outer(emitter, rows, columns, named)
        return context.get_dummy_value()

    return types.void(space, pool, grad, *[types.int64] * 8), generate
