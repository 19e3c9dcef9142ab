"""Register tiles as LLVM vector code: what numba's auto-vectoriser cannot be brought to write.

A tile holds up to four rows times four vectors in registers while it walks over all operands of a layer, or over all
lanes. The vectors are as wide as the processor's (:mod:`scalarviz.engine.cpu.vector.capability`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..wire import BASE, STRIDE
from . import capability

WORD, INDEX, BYTE = ir.IntType(64), ir.IntType(32), ir.IntType(8).as_pointer()
TILE_ROWS = 4
VECTOR_BYTES = capability.vector_bytes() or 64  # a processor without vectors of its own is never asked for a tile
WIDE = capability.wide_vectors()
"""Vectors of a tile side by side: with 16 operand registers a tile of 4 x 4 does not fit."""
TALL, MIDDLE = 8, WIDE // 2
"""Results and vectors of a tile for fewer lanes: as many sums as keep two multipliers busy. Of one vector too."""
TILE_COLUMNS = WIDE
"""Columns of a tile of weight gradients, whose sums, one a pair, are in registers too."""


class Emitter:
    """Writes vector code of one dtype.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
    pointer : numba.types.CPointer
        Pointer to the dtype.
    """

    def __init__(self, builder: Any, pointer: Any) -> None:
        self.b = builder
        self.real = ir.FloatType() if pointer.dtype == types.float32 else ir.DoubleType()
        self.bytes = 4 if pointer.dtype == types.float32 else 8
        self.lanes = VECTOR_BYTES // self.bytes
        self.vector = ir.VectorType(self.real, self.lanes)
        name = f"llvm.fmuladd.v{self.lanes}f{8 * self.bytes}"
        self._fma = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(self.vector, [self.vector] * 3), name
        )  # fmt: skip

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """``a * b + c``."""
        return self.b.call(self._fma, [a, b, c])

    def zeros(self) -> Any:
        """A vector of zeros."""
        return ir.Constant(self.vector, [0.0] * self.lanes)

    def splat(self, number: Any) -> Any:
        """`number` on all lanes."""
        nothing = ir.Constant(self.vector, ir.Undefined)
        one = self.b.insert_element(nothing, number, INDEX(0))
        return self.b.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(INDEX, self.lanes), [0] * self.lanes))

    def shuffle(self, a: Any, b: Any, lanes: list[int]) -> Any:
        """Lanes of `a`, and of `b` behind them."""
        return self.b.shuffle_vector(a, b, ir.Constant(ir.VectorType(INDEX, len(lanes)), lanes))

    def load(self, address: Any, vector: Any = None) -> Any:
        """The vector at an address (an i8 pointer), aligned as its numbers are."""
        return self.b.load(self.b.bitcast(address, (vector or self.vector).as_pointer()), align=self.bytes)

    def store(self, value: Any, address: Any) -> None:
        """Put a vector at an address."""
        self.b.store(value, self.b.bitcast(address, value.type.as_pointer()), align=self.bytes)

    def offset(self, address: Any, count: int) -> Any:
        """The address `count` vectors on."""
        return self.b.gep(address, [WORD(count * VECTOR_BYTES)]) if count else address

    def row(self, space: Any, number: Any, lane: Any) -> Any:
        """Address of a lane of a row of the workspace."""
        base, stride = (self.b.load(self.b.gep(space, [WORD(entry)])) for entry in (BASE, STRIDE))
        where = self.b.add(base, self.b.mul(number, stride))
        return self.b.inttoptr(self.b.add(where, self.b.mul(lane, WORD(self.bytes))), BYTE)

    def stride(self, space: Any) -> Any:
        """Bytes from row to row."""
        return self.b.load(self.b.gep(space, [WORD(STRIDE)]))

    def accumulators(self, count: int) -> list[Any]:
        """Variables for vectors; LLVM keeps them in registers."""
        return [cgutils.alloca_once(self.b, self.vector) for _ in range(count)]

    def mask(self, lanes: Any, width: int = 0) -> Any:
        """Which lanes of a vector (of `width`) are the first `lanes` (an i64)."""
        width = width or self.lanes
        counts = ir.VectorType(INDEX, width)
        number = self.b.insert_element(ir.Constant(counts, ir.Undefined), self.b.trunc(lanes, INDEX), INDEX(0))
        limit = self.shuffle(number, ir.Constant(counts, ir.Undefined), [0] * width)
        return self.b.icmp_signed("<", ir.Constant(counts, list(range(width))), limit)

    def begin(self, sums: list[list[Any]], results: list[Any], theta: Any, bias: Any, adding: Any) -> None:
        """Set the sums of a tile to what stands in the result rows (`adding`), to the biases, or to 0."""
        b = self.b
        with b.if_else(b.icmp_signed("!=", adding, WORD(0))) as (more, fresh):
            with more:
                for result, row in zip(results, sums, strict=True):
                    for u, total in enumerate(row):
                        b.store(self.load(self.offset(result, u)), total)
            with fresh:
                has_bias = b.icmp_signed(">=", bias, WORD(0))
                for r, row in enumerate(sums):
                    # without a bias this reads the first number of theta and drops it
                    number = b.load(b.gep(theta, [b.select(has_bias, b.add(bias, WORD(r)), WORD(0))]))
                    start = self.splat(b.select(has_bias, number, ir.Constant(self.real, 0.0)))
                    for total in row:
                        b.store(start, total)

    def add_products(
        self, sums: list[Any], g: list[Any], x: list[Any], shift: Any, mask: Any, alone: Sequence[Any] = ()
    ) -> None:
        """Add the products of all pairs of vectors, `shift` bytes behind the addresses; of masked lanes only.

        `alone` are sums of the vectors at `g` themselves, or nothing.
        """
        b = self.b

        def load(address: Any) -> Any:
            vector = self.load(b.gep(address, [shift]))
            # both sides are masked: what stands behind the last lane may be an infinity
            return vector if mask is None else b.select(mask, vector, self.zeros())

        lefts, rights = [load(p) for p in g], [load(p) for p in x]
        for r, left in enumerate(lefts):
            for c, right in enumerate(rights):
                total = sums[r * len(x) + c]
                b.store(self.fma(left, right, b.load(total)), total)
        for total, left in zip(alone, lefts, strict=False):
            b.store(b.fadd(b.load(total), left), total)


@contextmanager
def cases(builder: Any, value: Any) -> Iterator[Callable[[int], Any]]:
    """A switch: ``with case(k):`` writes what is done if `value` is k."""
    end = builder.append_basic_block("switch.end")
    switch = builder.switch(value, end)

    @contextmanager
    def case(number: int) -> Iterator[None]:
        block = builder.append_basic_block(f"case.{number}")
        switch.add_case(WORD(number), block)
        builder.position_at_end(block)
        yield
        builder.branch(end)

    yield case
    builder.position_at_end(end)


def _combine(e: Emitter, rows: int, wide: int, args: dict[str, Any]) -> None:
    """One tile of ``to[i] (+)= bias[i] + sum_j theta[...] * from[j]``: `rows` results, `wide` vectors of lanes."""
    b = e.b
    space, pool, lane = args["space"], args["pool"], args["lane"]
    results = [
        e.row(space, b.load(b.gep(pool, [b.add(args["to"], WORD(r))])), lane) for r in range(rows)
    ]  # fmt: skip
    sums = [e.accumulators(wide) for _ in range(rows)]
    e.begin(sums, results, args["theta"], args["bias"], args["adding"])
    weights = [b.gep(args["theta"], [b.add(args["weight"], b.mul(args["to_step"], WORD(r)))]) for r in range(rows)]
    with cgutils.for_range(b, args["count"], intp=WORD) as loop:
        source = e.row(space, b.load(b.gep(pool, [b.add(args["source"], loop.index)])), lane)
        vectors = [e.load(e.offset(source, u)) for u in range(wide)]
        step = b.mul(loop.index, args["from_step"])
        for r in range(rows):
            weight = e.splat(b.load(b.gep(weights[r], [step])))
            for u in range(wide):
                b.store(e.fma(weight, vectors[u], b.load(sums[r][u])), sums[r][u])
    for r in range(rows):
        for u in range(wide):
            e.store(b.load(sums[r][u]), e.offset(results[r], u))


_COMBINE = (
    "space", "pool", "theta", "to", "rows", "source", "count", "weight", "to_step", "from_step", "bias", "adding",
    "lane",
)  # fmt: skip


def _combine_intrinsic(wide: int, tallest: int) -> Any:
    @intrinsic
    def combine_tile(
        typingctx: Any, space: Any, pool: Any, theta: Any, to: Any, rows: Any, source: Any, count: Any, weight: Any,
        to_step: Any, from_step: Any, bias: Any, adding: Any, lane: Any,
    ) -> Any:  # fmt: skip
        """A tile of a layer, `rows` results, from lane number `lane` on."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            emitter = Emitter(builder, theta)
            named = dict(zip(_COMBINE, args, strict=True))
            with cases(builder, named["rows"]) as case:
                for rows in range(1, tallest + 1):
                    with case(rows):
                        _combine(emitter, rows, wide, named)
            return context.get_dummy_value()

        return types.void(space, pool, theta, *[types.int64] * 10), generate

    return combine_tile


combine_wide, combine_middle = _combine_intrinsic(WIDE, TILE_ROWS), _combine_intrinsic(MIDDLE, TALL)
combine_narrow = _combine_intrinsic(1, TALL)


def add_sums(e: Emitter, sums: list[Any], columns: int, grad: Any, first: Any, step: Any) -> None:
    """``grad[first + i*step + j] +=`` the sum over the lanes of ``sums[i*columns + j]``.

    From registers to where they belong: numbers that went through memory between would wait for each other.
    """
    b = e.b
    vectors = [b.load(s) for s in sums]
    for start in range(0, len(vectors), e.lanes):
        group = vectors[start : start + e.lanes]
        total = sums_of(e, group)
        k = 0
        while k < len(group):
            r, c = divmod(start + k, columns)
            width = min(columns - c, len(group) - k)
            part = e.shuffle(total, total, list(range(k, k + width)))
            place = b.bitcast(b.gep(grad, [b.add(first, b.add(b.mul(step, WORD(r)), WORD(c)))]), BYTE)
            e.store(b.fadd(e.load(place, part.type), part), place)
            k += width


def sums_of(e: Emitter, vectors: list[Any]) -> Any:
    """One vector: lane k is the sum over the lanes of ``vectors[k]``.

    Two vectors become one by adding their halves, interleaved, until one is left: a transpose that adds on the way.
    """
    size = 1
    while size < len(vectors):
        size *= 2
    current = [*vectors, *[e.zeros()] * (size - len(vectors))]
    while len(current) > 1:
        half = len(current) // 2
        current = [_interleaved(e, current[k], current[k + half], half) for k in range(half)]
    total = current[0]
    step = e.lanes // 2
    while step >= size:  # fewer vectors than lanes: the lanes hold each sum in parts
        swapped = e.shuffle(total, total, [(k + step) % e.lanes for k in range(e.lanes)])
        total = e.b.fadd(total, swapped)
        step //= 2
    return total


def _interleaved(e: Emitter, a: Any, b: Any, width: int) -> Any:
    """In each stretch of ``2 * width`` lanes: the two halves of `a` added, then those of `b`."""
    low, high = [], []
    for lane in range(e.lanes):
        start, place = lane // (2 * width) * 2 * width, lane % width
        source = start + place + (e.lanes if lane // width % 2 else 0)
        low.append(source)
        high.append(source + width)
    return e.b.fadd(e.shuffle(a, b, low), e.shuffle(a, b, high))


@intrinsic
def lanes_of(typingctx: Any, like: Any) -> Any:
    """How many numbers of the kind that `like` points to a vector holds."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return WORD(VECTOR_BYTES // (4 if like.dtype == types.float32 else 8))

    return types.int64(like), generate
