"""`Gathered`: a weight of a table that a recorded number chooses. Outside of a recording it is that weight itself."""

from __future__ import annotations

from . import ops
from .kernel import Kernel
from .store import Block
from .value import Symbol, Value


def _none(node: Value) -> None:
    """Nothing: which weight is read does not change by a little."""


# The node's operation: what is chosen gets all of the gradient, and the number that chooses none.
GATHER = Kernel(ops.Op("gather", ("id",), "id", (None,), r"w_{i}"), pull=_none)


class Gathered(Symbol):
    """The number ``block[start + k * step]``, where k is what `id` will be; NaN where that is none of 0 .. rows - 1.

    Parameters
    ----------
    block : Block
    start, rows, step : int
        Flat index of the weight that the number 0 chooses, how many there are, and how far from one to the next.
    id : Value
        A number of a recorded graph.
    """

    __slots__ = ("block", "rows", "start", "step")

    def __init__(self, block: Block, start: int, rows: int, step: int, id: Value) -> None:
        super().__init__(GATHER, (id,))
        self.block, self.start, self.rows, self.step = block, start, rows, step

    @property
    def id(self) -> Value:
        """The number that chooses."""
        return self._parents[0]
