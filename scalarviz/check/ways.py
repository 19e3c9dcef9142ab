"""Through a graph of Values by `parents` and `local_gradients`, beside the engine's own backward; some ways wrong."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from ..scalar.value import Value

MOST_USES = 6
"""Places of one input up to which all choices of them are tried."""


def ordered(root: Value) -> list[Value]:
    """Every node at or below `root`, each before all of its users."""
    found: list[Value] = []
    seen: set[int] = set()
    waiting: list[tuple[Value, bool]] = [(root, False)]
    while waiting:
        node, done = waiting.pop()
        if done:
            found.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            waiting.append((node, True))
            waiting += [(parent, False) for parent in node.parents]
    return found


def operations(root: Value) -> list[str]:
    """Names of the operations in the graph, the last one first, each once."""
    return list(dict.fromkeys(node.op for node in reversed(ordered(root)) if node.op))


def slopes_inside(root: Value) -> list[tuple[str, float]]:
    """The derivative of `root` by each node between it and the leaves, with the node's operation; last one first."""
    inner = [node for node in reversed(ordered(root)) if node.parents and node is not root]
    return [(node.op, sum(parts)) for node, parts in zip(inner, shares(root, inner), strict=True)]


def shares(root: Value, leaves: Sequence[Value], without: str = "", flipped: str = "") -> list[list[float]]:
    """What comes to each leaf, from each place where it is used: their sum is the derivative of `root` by it.

    Parameters
    ----------
    without : str
        An operation whose slopes are taken as 1.
    flipped : str
        An operation whose slopes are taken with the other sign.
    """
    come: dict[int, list[float]] = {id(leaf): [] for leaf in leaves}
    come.setdefault(id(root), []).append(1.0)
    for node in reversed(ordered(root)):
        if not node.parents:
            continue
        above = sum(come.get(id(node), []))
        slopes: Sequence[float] = node.local_gradients
        if node.op == without:
            slopes = [1.0 if slope else 0.0 for slope in slopes]  # an operand without a derivative stays without
        if node.op == flipped:
            slopes = [-slope for slope in slopes]
        for parent, slope in zip(node.parents, slopes, strict=True):
            come.setdefault(id(parent), []).append(above * slope)
    return [come[id(leaf)] for leaf in leaves]


def single_ways(root: Value, leaves: Sequence[Value]) -> list[list[float]]:
    """What comes to each leaf along every single way from the root, each number once; 0 where none leads to it."""
    come: dict[int, set[float]] = {id(root): {1.0}}
    for node in reversed(ordered(root)):
        for parent, slope in zip(node.parents, node.local_gradients, strict=True):
            come.setdefault(id(parent), set()).update(slope * above for above in come[id(node)])
    return [sorted(come.get(id(leaf), {0.0})) for leaf in leaves]


def some_of(parts: Sequence[float]) -> list[float]:
    """The sums of fewer than all of `parts`, none and too many apart; always in one order."""
    if not 1 < len(parts) <= MOST_USES:
        return []
    return [sum(chosen) for count in range(1, len(parts)) for chosen in combinations(parts, count)]
