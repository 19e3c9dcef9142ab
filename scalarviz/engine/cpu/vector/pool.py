"""Maxima over windows of two by two, one sample at a time: the lanes are neighbouring windows.

Two vectors of each picture row are taken apart into the even and the odd numbers, which are the left and the right
operands of as many windows; the adjoints are put together again in the same way. The list of runs is that of
:class:`scalarviz.engine.cpu.encode.pool.Windows`.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..wire import HEIGHT
from .emitter import WORD
from .shift import MaskedEmitter


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
