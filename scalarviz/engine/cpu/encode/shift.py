"""Convolutions in which neighbouring positions read neighbouring rows: the lists of the kernels for one sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..vector.capability import COLUMNS
from .conv import Operands

Words = NDArray[np.int64]
Keep = Callable[[Words], int]


@dataclass(frozen=True, slots=True)
class Shifts:
    """Operands as distances: position p reads row ``p + shift[t]`` (``+ c*step``) at tap t where ``there[p, t]``.

    Attributes
    ----------
    shift : ndarray of int64, shape (taps,)
    there : ndarray of bool, shape (positions, taps)
    channels, step : int
    first, count : int
        The rows of channel 0 that are read: neighbours, `count` of them.
    """

    shift: Words
    there: NDArray[np.bool_]
    channels: int
    step: int
    first: int
    count: int


def shifts_of(operands: Operands) -> Shifts | None:
    """The operands as distances, or None if they are none."""
    place = np.arange(len(operands.base))[:, None]
    distance = np.where(operands.there, operands.base - place, 0)
    shift = np.zeros(operands.taps, np.int64)
    for t in range(operands.taps):
        found = np.unique(distance[operands.there[:, t], t])
        if len(found) > 1:
            return None
        shift[t] = found[0] if len(found) else 0
    rows = np.unique(operands.base[operands.there])
    if len(rows) == 0 or rows[-1] - rows[0] + 1 != len(rows):
        return None
    if operands.channels > 1 and abs(operands.step) < len(rows):
        return None
    return Shifts(shift, operands.there, operands.channels, operands.step, int(rows[0]), len(rows))


def masks_of(there: NDArray[np.bool_], lanes: int) -> Words:
    """Bits of each vector of positions, shape (vectors, taps)."""
    vectors = -(-len(there) // lanes)
    padded = np.zeros((vectors * lanes, there.shape[1]), np.bool_)
    padded[: len(there)] = there
    weights = (1 << np.arange(lanes, dtype=np.int64))[None, :, None]
    return np.asarray((padded.reshape(vectors, lanes, -1) * weights).sum(axis=1), np.int64)


def forward_fields(s: Shifts, dst: int, weights: Words, bias: int, lanes: int, keep: Keep) -> list[int]:
    """What ``conv_one`` reads for the forward pass."""
    places, taps = s.there.shape
    n = taps * s.channels
    head = [len(weights), dst, places, int(weights[0]), n, bias, 0, s.channels, s.step, taps]
    return [*head, *_lists(s.shift, np.arange(taps), s.there, lanes, keep)]


def backward_fields(s: Shifts, upstream: int, weights: Words, to: int, lanes: int, keep: Keep) -> list[int]:
    """What ``conv_one`` reads for the adjoints of the operands; `to` is that of the first row. They are added to."""
    places, taps = s.there.shape
    n = taps * s.channels
    there = np.zeros((s.count, taps), np.bool_)
    for t in range(taps):
        there[np.flatnonzero(s.there[:, t]) + s.shift[t] - s.first, t] = True
    head = [s.channels, to, s.step, int(weights[0]), taps, -1, 1, len(weights), places, n]
    return [*head, *_lists(upstream + s.first - s.shift, np.arange(taps), there, lanes, keep)]


def outer_fields(s: Shifts, lanes: int, keep: Keep) -> tuple[int, int]:
    """Tiles of columns and vectors of all places, as ``conv_outer_one`` wants them."""
    ends = _ends(len(s.there), lanes)
    masks = masks_of(s.there, lanes)
    taps = masks.shape[1]
    columns = [(c * s.step + s.shift[t], t) for c in range(s.channels) for t in range(taps)]
    kept: dict[tuple[int, ...], int] = {}
    table: list[int] = []
    for j in range(0, len(columns), COLUMNS):
        rows, chosen = zip(*columns[j : j + COLUMNS], strict=True)
        if chosen not in kept:  # one vector after the other, the masks of its columns behind that of the places
            kept[chosen] = keep(np.column_stack([ends, masks[:, chosen]]).ravel())
        table += [kept[chosen], *(int(row) for row in rows)]
    return keep(np.array(table, np.int64)), len(masks)


def _lists(rows: Words, weights: Words, there: NDArray[np.bool_], lanes: int, keep: Keep) -> list[int]:
    masks = masks_of(there, lanes)
    taps = keep(np.stack([rows, weights], axis=1).ravel())
    return [len(masks), len(rows), taps, keep(masks.T.ravel()), keep(_ends(len(there), lanes)), len(there) // lanes]


def _ends(places: int, lanes: int) -> Words:
    return masks_of(np.ones((places, 1), np.bool_), lanes)[:, 0]
