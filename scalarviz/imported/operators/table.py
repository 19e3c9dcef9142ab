"""The table of operators: which names and versions of ONNX are known, and the function that computes each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...onnx.graph import Node

Array = NDArray[Any]
"""Numbers of any dtype that is known, or objects: Values of a graph that is made."""


@dataclass(frozen=True, slots=True)
class Call:
    """One node with what it is given.

    Attributes
    ----------
    node : Node
    inputs : tuple of ndarray or None
        None: left out. Arrays of numbers are known; arrays of objects (`nn._array.Values`) are being computed.
    opset : int
    """

    node: Node
    inputs: tuple[Array | None, ...]
    opset: int

    def attribute(self, name: str, default: Any = None) -> Any:
        """What the node gives under that name, or the operator's default."""
        return self.node.attributes.get(name, default)

    @property
    def known(self) -> bool:
        """Whether all inputs are numbers: then the result is numbers too, and nothing is added to the graph."""
        return all(x is None or x.dtype != np.dtype(object) for x in self.inputs)


Function = Callable[[Call], Sequence[Array]]
TABLE: dict[str, Function] = {}
"""By the operator's name."""


def operator(*names: str) -> Callable[[Function], Function]:
    """Put a function into the table under these names."""

    def put(function: Function) -> Function:
        for name in names:
            TABLE[name] = function
        return function

    return put
