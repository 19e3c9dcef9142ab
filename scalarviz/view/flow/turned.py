"""Where the chips of a single layer stand when the scene has been turned by hand: level with their rows, off the cubes.

Each row's chips stand to the right of its last cube, as in the fitted view; where those would touch each other or a
cube they form a column to the right of all of them, with a line from each cube to its chips.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .taken import Taken

Floats = NDArray[np.float64]

STEP = 34.0
"""Least distance between the levels of two rows of chips."""


def level(tips: Floats, taken: Taken, reach: float, height: float) -> Floats | None:
    """Where each row's chips start (R, 2), for rows whose last cubes end at `tips` (R, 2), in logical pixels.

    `reach` and `height` are the room that a row's chips take to the right of that. None where there is no place.
    """
    for anchors in _tried(tips):
        boxes = [(x + 10.0, y - height / 2, reach - 6.0, height) for x, y in anchors]
        if all(taken.cost(box) == 0.0 for box in boxes) and all(map(_clear, [taken] * len(tips), tips, anchors)):
            for box in boxes:
                taken.add_box(box)
            return anchors
    return None


def _tried(tips: Floats) -> Iterator[Floats]:
    """As they are if they are far enough apart; then as a column, further and further to the right."""
    order = np.argsort(tips[:, 1], kind="stable")
    if len(tips) == 1 or np.diff(tips[order, 1]).min() >= STEP - 3:
        yield tips
    levels = _spread(tips[order, 1])
    for aside in (0.0, 24.0, 60.0):
        anchors = np.empty_like(tips)
        anchors[order, 0] = tips[:, 0].max() + aside
        anchors[order, 1] = levels
        yield anchors


def _spread(levels: Floats) -> Floats:
    """Rising levels at least `STEP` apart, moved as little as that takes, around the same middle."""
    steps = STEP * np.arange(len(levels))
    spread = np.maximum.accumulate(levels - steps) + steps
    return np.asarray(spread - (spread - levels).mean())


def _clear(taken: Taken, tip: Floats, anchor: Floats) -> bool:
    """Whether the line from a cube to its chips crosses no other cube."""
    length = float(np.hypot(*(anchor - tip)))
    places = np.arange(26.0, length, 8.0)[:, None] / max(length, 1e-9)
    return all(taken.cost((float(x), float(y), 1.0, 1.0)) == 0.0 for x, y in tip + places * (anchor - tip))
