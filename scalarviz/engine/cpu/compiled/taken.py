"""Gradients that are whole when one instruction has computed them, because it alone reads the weights.

They need not go through memory, which is what a step of a wide layer and few samples waits for: clearing them, adding
to them and reading them again cost as much as all else. Such an instruction computes a stretch of them in a place of
its own, which stays in the first-level cache, and hands it over: to the gradient in memory, where somebody may look at
it after the step; else to the optimiser's update at once. The numbers and their order are the same either way.
"""

from __future__ import annotations

from numba import njit

from ..wire import (
    ALONE,
    CONSTANTS,
    FIRST_STATE_AT,
    HYPER_AT,
    NUMBERS_AT,
    SECOND_STATE_AT,
    STORED,
    TAKER,
    VALUES_AT,
)
from .intrinsics import address_of, call_kernel, row_at, size_of, word_at, zero_of
from .noalias import NoAlias
from .tiles import Row, Words, fill


@njit(error_model="numpy", pipeline_class=NoAlias)
def put(to: Row, source: Row, n: int) -> None:
    """``to = source``."""
    for k in range(n):
        to[k] = source[k]


@njit(error_model="numpy")
def hand_over(space: Words, found: Row, grad: Row, first: int, count: int) -> None:
    """The gradients of the `count` weights from number `first` on are `found`."""
    taker, offset = space[TAKER], first * size_of(grad)
    if taker == STORED:
        put(row_at(address_of(grad) + offset, grad), found, count)
    else:
        call_kernel(
            taker, space[VALUES_AT] + offset, address_of(found), space[FIRST_STATE_AT] + offset,
            space[SECOND_STATE_AT] + offset, space[NUMBERS_AT], space[HYPER_AT], count, 0,
        )  # fmt: skip


@njit(error_model="numpy")
def know_update(space: Words, updater: Words, columns: Words, states: int) -> None:
    """What a machine's instructions are to know of the update: where its numbers are."""
    # a state that there is none of is any column; the kernel leaves it alone
    space[VALUES_AT], space[FIRST_STATE_AT] = columns[0], columns[min(2, states + 1)]
    space[SECOND_STATE_AT], space[NUMBERS_AT] = columns[min(3, states + 1)], updater[CONSTANTS]


@njit(error_model="numpy")
def rest_of(space: Words, k: int, size: int) -> tuple[int, int]:
    """Where stretch `k` of the weights that are not one instruction's alone begins, and how many they are."""
    edges, count = word_at(space[ALONE]), space[ALONE + 1]
    start = edges[2 * k - 1] if k > 0 else 0
    return start, (edges[2 * k] if 2 * k < count else size) - start


@njit(error_model="numpy")
def clear_rest(space: Words, grad: Row, size: int) -> None:
    """Zero the gradients of these weights."""
    for k in range(space[ALONE + 1] // 2 + 1):
        start, count = rest_of(space, k, size)
        fill(row_at(address_of(grad) + start * size_of(grad), grad), zero_of(grad), count)


@njit(error_model="numpy")
def update_rest(space: Words, grad: Row, size: int) -> None:
    """The optimiser's step of these weights."""
    for k in range(space[ALONE + 1] // 2 + 1):
        start, count = rest_of(space, k, size)
        hand_over(space, row_at(address_of(grad) + start * size_of(grad), grad), grad, start, count)
