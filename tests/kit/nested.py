"""Values in nested lists: made from an array, in one row, as numbers; the nodes of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz import Value


def leaves(array: Any) -> Any:
    """An array as nested lists of Values."""
    return Value(float(array)) if np.ndim(array) == 0 else [leaves(part) for part in array]


def flat(x: Any) -> list[Any]:
    """The Values of nested lists, in order."""
    return [v for part in x for v in flat(part)] if isinstance(x, list | tuple | np.ndarray) else [x]


def numbers(x: Any, what: str = "data") -> np.ndarray:
    """The data of all Values, or their ``grad``."""
    return np.array([getattr(v, what) for v in flat(x)])


def ordered(root: Any) -> list[Any]:
    """The nodes of a graph, each behind its parents."""
    found: dict[int, Any] = {}

    def walk(node: Any) -> None:
        if id(node) not in found:
            for parent in node.parents:
                walk(parent)
            found[id(node)] = node

    walk(root)
    return list(found.values())
