"""What a graph may make while it is tried out: a few nodes ask for more numbers than any memory holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import InputError, shown
from ..onnx.graph import Array, Node

MOST_ENTERED = 10_000_000
"""Numbers of one sample of an input: each becomes a Value."""

MOST_TRIED = 1 << 25
"""Numbers of an input of as many samples as the file is made for."""

MOST_MADE = 1 << 28
"""Numbers that the nodes make of one sample, all together."""

MOST_HELD = 1 << 27
"""Of these the numbers that are kept at a time."""


class Allowance:
    """Counts the numbers that nodes make.

    Parameters
    ----------
    times : int
        How often each limit: of several samples.
    """

    def __init__(self, times: int = 1) -> None:
        self._times = times
        self._made = self._held = 0
        self._sizes: dict[str, int] = {}

    def made(self, node: Node, tensors: Mapping[str, Array]) -> None:
        """Count what a node has made; an array that is a view of another one takes no room.

        Raises
        ------
        InputError
            It is more than is allowed; names the node.
        """
        for name in node.outputs:
            array = tensors.get(name)
            if array is None or name in self._sizes:
                continue
            own = not any(np.may_share_memory(array, tensors[other]) for other in node.inputs if other)
            self._sizes[name] = array.size if own else 0
            self._made += array.size
            self._held += self._sizes[name]
        if self._made > self._times * MOST_MADE or self._held > self._times * MOST_HELD:
            raise InputError(
                f"with {node.operator} {shown(node.name)} the nodes have made {self._made:,} numbers, of which "
                f"{self._held:,} are kept at a time; allowed: {self._times * MOST_MADE:,} and "
                f"{self._times * MOST_HELD:,}; export it with smaller inputs"
            )

    def dropped(self, names: Sequence[str]) -> None:
        """Nobody needs these tensors any more."""
        for name in names:
            self._held -= self._sizes.pop(name, 0)
