"""The weights that a step by hand moves: out of their blocks, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..scalar import Block
from ._given import Indices

Held = Sequence[tuple[Block, Indices]]
Moving = Sequence[tuple[Indices, Indices]]
Floats = NDArray[np.float64]


def moving_of(held: Held) -> list[tuple[Indices, Indices]]:
    """A block: places in the state arrays, and flat indices in the block, of the weights that move."""
    found, start = [], 0
    for block, places in held:
        moves = (block.computed[places] != 0) & (block.frozen_flags[places] == 0)
        found.append((start + np.flatnonzero(moves), places[moves]))
        start += len(places)
    return found


def gathered(held: Held, attribute: str, moving: Moving) -> Floats:
    """Values or gradients of the weights that move, one after the other."""
    pairs = zip(held, moving, strict=True)
    return np.concatenate([getattr(block, attribute)[index].astype(np.float64) for (block, _), (_, index) in pairs])


def scatter(held: Held, values: Floats, moving: Moving) -> None:
    """Set the values of the weights that move."""
    start = 0
    for (block, _), (_, index) in zip(held, moving, strict=True):
        block.flat_value[index] = values[start : start + len(index)]
        start += len(index)


def zero_gradients(held: Held) -> None:
    """Set the gradients of all that is held to 0, "not computed yet"."""
    for block, places in held:
        if len(places) == block.size:
            block.zero_grad()
        else:
            for i in places.tolist():
                block.weight(i).zero_grad()
