"""Which rows of the panel are seen: whole ones only, from the first one on, and no empty place below them."""

from __future__ import annotations

from collections.abc import Sequence

from ..draw.places import Box
from .rows import Stood, stood

MOST_AIR = 18.0
"""Logical pixels that are put between two rows at most, so that those that are seen fill their place."""


def most_first(rows: Sequence[Stood], height: float) -> int:
    """The row that is the first one seen when the last one is seen whole."""
    room = height
    for number in range(len(rows) - 1, -1, -1):
        room -= rows[number].box[3]
        if room < -0.5:
            return number + 1
    return 0


def seen(rows: Sequence[Stood], first: int, place: Box, height: float) -> list[Stood]:
    """The rows that have room from the `first` one on, where they stand; `place` gives left, top and width."""
    found, left = list[Stood](), height + 0.5
    for one in rows[first:]:
        left -= one.box[3]
        if left < 0:
            break
        found.append(one)
    if found and found[-1].row.look == "rule":  # it parts nothing there
        found.pop()
    spare = height - sum(one.box[3] for one in found)
    gaps = len(found) - 1
    air = min(spare / gaps, MOST_AIR) if gaps > 0 and len(found) < len(rows) else 0.0
    return stood([one.row for one in found], place, max(air, 0.0))
