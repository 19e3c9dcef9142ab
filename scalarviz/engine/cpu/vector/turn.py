"""Numbers of few samples, a row a number, turned into one row a sample: in registers, a vector of rows at a time."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..wire import PASS
from .emitter import BYTE, WORD, Emitter, cases


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
