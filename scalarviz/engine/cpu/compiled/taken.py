"""Gradients that are whole when one instruction has computed them, because it alone reads the weights.

They need not go through memory, which is what a step of a wide layer and few samples waits for. Such an
instruction computes a stretch of them in a place of its own, which stays in the first-level cache, and hands
it over: to the optimiser's update at once, or to the gradient in memory, where somebody looks at it between;
after the last step of a call both ways. The numbers and their order are the same.
"""

from __future__ import annotations

from .. import wire
from ..wire import LINE
from .intrinsics import NoAlias, address_of, call_kernel, callee, row_at, size_of, stream, word_at, zero_of
from .tiles import SUMS, Row, Words, at, fill


@callee(pipeline_class=NoAlias)
def put(to: Row, source: Row, n: int) -> None:
    """``to = source``."""
    for k in range(n):
        to[k] = source[k]


@callee()
def keep(space: Words, to: Row, source: Row, n: int) -> None:
    """``to = source``, past the cache where the whole would drive out of it what the next step reads."""
    if not space[wire.STREAMED]:
        put(to, source, n)
        return
    lanes = LINE // size_of(to)
    head = min(n, -address_of(to) % LINE // size_of(to))
    whole = (n - head) // lanes * lanes
    put(to, source, head)
    for k in range(head, head + whole, lanes):
        stream(to, source, k)
    put(at(to, head + whole), at(source, head + whole), n - head - whole)


@callee()
def hand_over(space: Words, found: Row, grad: Row, first: int, count: int) -> None:
    """The gradients of the `count` weights from number `first` on are `found`."""
    taker, offset = space[wire.TAKER], first * size_of(grad)
    to = row_at(address_of(grad) + offset, grad)
    if taker == wire.STORED:
        put(to, found, count)
    else:
        values = row_at(space[wire.VALUES_AT] + offset, grad)
        if space[wire.KEEPS]:  # while all of it is in the first-level cache
            keep(space, row_at(space[wire.PREVIOUS_AT] + offset, grad), values, count)
            if address_of(found) != address_of(to):
                keep(space, to, found, count)
        call_kernel(
            taker, space[wire.VALUES_AT] + offset, address_of(found), space[wire.FIRST_STATE_AT] + offset,
            space[wire.SECOND_STATE_AT] + offset, space[wire.NUMBERS_AT], space[wire.HYPER_AT], count, 0,
        )  # fmt: skip
        if space[wire.KEEPS] and strange(values, count):
            space[wire.STRANGE] = 1


@callee(fastmath=SUMS)
def strange(values: Row, n: int) -> bool:
    """Whether a NaN or an infinity is among them: what is subtracted from itself is 0, or NaN."""
    total = zero_of(values)
    for k in range(n):
        total += values[k] - values[k]
    return bool(total != total)


@callee()
def know_update(space: Words, updater: Words, columns: Words, states: int) -> None:
    """What a machine's instructions are to know of the update: where its numbers are."""
    # a state that there is none of is any column; the kernel leaves it alone
    space[wire.VALUES_AT], space[wire.FIRST_STATE_AT] = columns[0], columns[min(2, states + 1)]
    space[wire.SECOND_STATE_AT], space[wire.NUMBERS_AT] = columns[min(3, states + 1)], updater[wire.CONSTANTS]


@callee()
def rest_of(space: Words, k: int, size: int) -> tuple[int, int]:
    """Where stretch `k` of the weights that are not one instruction's alone begins, and how many they are."""
    edges, count = word_at(space[wire.ALONE]), space[wire.ALONE + 1]
    start = edges[2 * k - 1] if k > 0 else 0
    return start, (edges[2 * k] if 2 * k < count else size) - start


@callee()
def clear_rest(space: Words, grad: Row, size: int) -> None:
    """Zero the gradients of these weights."""
    for k in range(space[wire.ALONE + 1] // 2 + 1):
        start, count = rest_of(space, k, size)
        fill(row_at(address_of(grad) + start * size_of(grad), grad), zero_of(grad), count)


@callee()
def update_rest(space: Words, grad: Row, size: int) -> None:
    """The optimiser's step of these weights."""
    for k in range(space[wire.ALONE + 1] // 2 + 1):
        start, count = rest_of(space, k, size)
        hand_over(space, row_at(address_of(grad) + start * size_of(grad), grad), grad, start, count)
