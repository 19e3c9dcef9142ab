"""The same optimiser over other weights."""

from __future__ import annotations

import copy
from collections.abc import Iterable

from ..scalar import Block
from ._given import Indices
from ._optimizer import Optimizer


def holding(optimizer: Optimizer, held: Iterable[tuple[Block, Indices]]) -> Optimizer:
    """Another one with the same rule, numbers and count of steps that holds these; its state begins with 0.

    Parameters
    ----------
    optimizer : Optimizer
    held : iterable of (Block, ndarray of int)
        Each block once, with the flat indices of the weights that are held, ascending.
    """
    twin = copy.copy(optimizer)
    twin._held, twin._state = list(held), {}
    return twin
