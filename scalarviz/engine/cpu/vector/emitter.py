"""Register tiles as LLVM vector code: what numba's auto-vectoriser cannot be brought to write.

A tile holds up to four rows times four vectors in registers while it walks over all operands of a layer, or
over all lanes. The vectors are as wide as the processor's (:mod:`scalarviz.engine.cpu.vector.capability`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce, wraps
from inspect import Parameter, Signature
from types import SimpleNamespace
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..wire import BASE, STRIDE
from . import capability

WORD, INDEX, BYTE = ir.IntType(64), ir.IntType(32), ir.IntType(8).as_pointer()
TILE_ROWS = 4
VECTOR_BYTES = capability.vector_bytes()
WIDE = capability.wide_vectors()
"""Vectors of a tile side by side: with 16 operand registers a tile of 4 x 4 does not fit."""
TALL, MIDDLE = 8, WIDE // 2
"""Results and vectors of a tile for fewer lanes: as many sums as keep two multipliers busy. Of one vector too."""
TILE_COLUMNS = WIDE
"""Columns of a tile of weight gradients, whose sums, one a pair, are in registers too."""


class CallSite(NamedTuple):
    """A call while its code is written; `kinds` are numba's types of its arguments, `result` that of its result."""

    context: Any
    b: Any
    kinds: tuple[Any, ...]
    result: Any


def inline(signature: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Decorates ``write(call, *values)``, which writes LLVM code and returns a value or nothing: numba's intrinsic.

    `signature` makes numba's signature of the types of the arguments, or None where there is none.
    """

    def decorate(write: Callable[..., Any]) -> Any:
        @wraps(write)
        def typed(_: Any, *kinds: Any) -> Any:
            made = signature(*kinds)

            def generate(context: Any, builder: Any, called: Any, args: Any) -> Any:
                value = write(CallSite(context, builder, kinds, called.return_type), *args)
                return context.get_dummy_value() if value is None else value

            return None if made is None else (made, generate)

        return intrinsic(typed)

    return decorate


class Emitter:
    """Writes vector code of the dtype that numba's `pointer` points to; addresses are i8 pointers."""

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

    def splat(self, number: Any, vector: Any = None) -> Any:
        """`number` on all lanes."""
        kind = vector or self.vector
        nothing = ir.Constant(kind, ir.Undefined)
        return self.shuffle(self.b.insert_element(nothing, number, INDEX(0)), nothing, [0] * kind.count)

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

    def number_at(self, space: Any, row: Any) -> Any:
        """Address of a row that is one number."""
        base = self.b.load(self.b.gep(space, [WORD(BASE)]))
        return self.b.inttoptr(self.b.add(base, self.b.mul(row, WORD(self.bytes))), BYTE)

    def word(self, words: Any, index: Any) -> Any:
        """One of some int64 numbers."""
        return self.b.load(self.b.gep(words, [index]))

    def stride(self, space: Any) -> Any:
        """Bytes from row to row."""
        return self.b.load(self.b.gep(space, [WORD(STRIDE)]))

    def accumulators(self, count: int) -> list[Any]:
        """Variables for vectors; LLVM keeps them in registers."""
        return [cgutils.alloca_once(self.b, self.vector) for _ in range(count)]

    def zeroed(self, count: int) -> list[Any]:
        """The same, all 0."""
        sums = self.accumulators(count)
        for total in sums:
            self.b.store(self.zeros(), total)
        return sums

    def mask(self, lanes: Any, width: int = 0) -> Any:
        """Which lanes of a vector (of `width`) are the first `lanes` (an i64)."""
        width = width or self.lanes
        counts = ir.VectorType(INDEX, width)
        limit = self.splat(self.b.trunc(lanes, INDEX), counts)
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
                self.begin_with(sums, theta, bias)

    def begin_with(self, sums: list[list[Any]], theta: Any, bias: Any) -> None:
        """Set the sums of a tile to the biases, or to 0."""
        b, has_bias = self.b, self.b.icmp_signed(">=", bias, WORD(0))
        for r, row in enumerate(sums):
            # without a bias this reads the first number of theta and drops it
            number = b.load(b.gep(theta, [b.select(has_bias, b.add(bias, WORD(r)), WORD(0))]))
            start = self.splat(b.select(has_bias, number, ir.Constant(self.real, 0.0)))
            for total in row:
                b.store(start, total)

    def add_scaled(self, sums: list[list[Any]], numbers: Iterator[Any], vectors: list[Any]) -> None:
        """Add the vectors, times the number of each row of a tile."""
        for row, number in zip(sums, numbers, strict=False):
            factor = self.splat(number)
            for vector, total in zip(vectors, row, strict=True):
                self.b.store(self.fma(factor, vector, self.b.load(total)), total)

    def put(self, sums: list[list[Any]], results: list[Any]) -> None:
        """Store the sums of a tile."""
        for row, result in zip(sums, results, strict=True):
            for u, total in enumerate(row):
                self.store(self.b.load(total), self.offset(result, u))

    def bits(self, word: Any) -> Any:
        """The lowest bits of an i64 as a mask."""
        if VECTOR_BYTES == 64:  # such processors have registers for masks
            narrow = self.b.trunc(word, ir.IntType(self.lanes))
            return self.b.bitcast(narrow, ir.VectorType(ir.IntType(1), self.lanes))
        # for others LLVM would take the bits apart one by one
        kind = ir.IntType(8 * self.bytes)
        every = ir.VectorType(kind, self.lanes)
        own = ir.Constant(every, [1 << lane for lane in range(self.lanes)])
        set_here = self.b.and_(self.splat(self.b.trunc(word, kind), every), own)
        return self.b.icmp_unsigned("!=", set_here, ir.Constant(every, [0] * self.lanes))

    def _masked(self, name: str, result: Any, arguments: list[Any]) -> Any:
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        name = f"llvm.masked.{name}.v{self.lanes}f{8 * self.bytes}.p0"
        return self.b.call(cgutils.get_or_insert_function(self.b.module, kind, name), arguments)

    def load_masked(self, address: Any, mask: Any) -> Any:
        """The vector at an address, 0 where the mask is not set; nothing is read there."""
        place = self.b.bitcast(address, self.vector.as_pointer())
        return self._masked("load", self.vector, [place, INDEX(self.bytes), mask, self.zeros()])

    def store_masked(self, value: Any, address: Any, mask: Any) -> None:
        """Put the lanes of a mask at an address."""
        place = self.b.bitcast(address, self.vector.as_pointer())
        self._masked("store", ir.VoidType(), [value, place, INDEX(self.bytes), mask])

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


def _hidden(builder: Any, value: Any) -> Any:
    """The same number, of which LLVM knows nothing any more."""
    return builder.asm(ir.FunctionType(WORD, [WORD]), "", "=r,0", [value], side_effect=False)


def tiles(
    names: str,
    write: Callable[..., None],
    by: str,
    sizes: Iterable[tuple[int, ...]],
    pointers: int = 3,
    hides: bool = False,
) -> Any:
    """An intrinsic with a case for every size of a tile: ``write(emitter, arguments, *size)`` writes it.

    Its arguments are called `names`: some pointers, the last one to the dtype, then int64 numbers. Those of
    `by` tell the case; ``biased`` is 1 if the argument ``bias`` is not -1. If it `hides` the numbers, LLVM does not
    know how they change from call to call. In a loop of many short calls it would keep the addresses of every size up
    to date, forty additions in memory a call; for the long calls of layers what it knows is worth more.
    """
    each, arguments, kind = list(sizes), names.split(), Parameter.POSITIONAL_OR_KEYWORD

    def tile(call: CallSite, *given: Any) -> None:
        e, args = Emitter(call.b, call.kinds[pointers - 1]), SimpleNamespace(**dict(zip(arguments, given, strict=True)))
        number = WORD(0)
        for name in by.split():
            biased = name == "biased"
            part = call.b.zext(call.b.icmp_signed(">=", args.bias, WORD(0)), WORD) if biased else getattr(args, name)
            number = call.b.add(call.b.mul(number, WORD(8)), part)
        for name in arguments[pointers:] if hides else ():
            setattr(args, name, _hidden(call.b, getattr(args, name)))
        with cases(call.b, number) as case:
            for size in each:
                with case(reduce(lambda place, part: 8 * place + part, size)):
                    write(e, args, *size)

    signature = Signature([Parameter(name, kind) for name in ("call", *arguments)])
    tile.__signature__ = signature  # type: ignore[attr-defined]
    tile.__doc__ = write.__doc__
    return inline(lambda *kinds: types.void(*kinds[:pointers], *[types.int64] * (len(kinds) - pointers)))(tile)


WIDTHS = {WIDE: TILE_ROWS, MIDDLE: TALL, 1: TALL}
"""Vectors of lanes that a tile of sums may have, and its most results."""
_SUMS = [(wide, rows) for wide, tallest in WIDTHS.items() for rows in range(1, tallest + 1)]


def sums_tiles(names: str, write: Callable[..., None], hides: bool = False) -> Any:
    """An intrinsic of tiles of sums: ``width`` vectors of lanes, ``rows`` results."""
    return tiles(names, write, "width rows", _SUMS, hides=hides)


def _combine(e: Emitter, a: Any, wide: int, rows: int) -> None:
    """One tile of ``to[i] (+)= bias[i] + sum_j theta[...] * from[j]``: `rows` results, `wide` vectors of lanes."""
    b = e.b
    results = [e.row(a.space, e.word(a.pool, b.add(a.to, WORD(r))), a.lane) for r in range(rows)]
    sums = [e.accumulators(wide) for _ in range(rows)]
    e.begin(sums, results, a.theta, a.bias, a.adding)
    weights = [b.gep(a.theta, [b.add(a.weight, b.mul(a.to_step, WORD(r)))]) for r in range(rows)]
    with cgutils.for_range(b, a.count, intp=WORD) as loop:
        source = e.row(a.space, e.word(a.pool, b.add(a.source, loop.index)), a.lane)
        vectors = [e.load(e.offset(source, u)) for u in range(wide)]
        step = b.mul(loop.index, a.from_step)
        e.add_scaled(sums, (e.word(weight, step) for weight in weights), vectors)
    e.put(sums, results)


combine_tile = sums_tiles(
    "space pool theta width to rows source count weight to_step from_step bias adding lane", _combine
)  # fmt: skip


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


@inline(types.int64)
def lanes_of(call: CallSite, like: Any) -> Any:
    """How many numbers of the kind that `like` points to a vector holds."""
    return WORD(VECTOR_BYTES // (call.kinds[0].dtype.bitwidth // 8))
