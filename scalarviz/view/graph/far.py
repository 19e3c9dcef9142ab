"""What lies so far below the results of a huge graph that no picture of it can show more than that it is there."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...scalar.value import Value
from ...scalar.weight import Weight
from .walk import Key, Walk, key_of

HUGE = 20_000
"""Objects from which on it is looked for."""


def far_below(walk: Walk, roots: Sequence[Value], owned: Collection[Key], keep: int) -> set[Key]:
    """Results, with the numbers that nothing else takes, which one node can stand for.

    A way that leaves them never comes back: all that leads to one of them is one of them, a leaf or a weight.

    Parameters
    ----------
    walk : Walk
    roots : sequence of Value
    owned : collection of Key
        Results of modules, which are folded as such.
    keep : int
        So many of the last other results are not among them.
    """
    below = walk.below
    if len(below) < HUGE:
        return set()
    loose = [key for key in walk.objects if below[key] and key not in owned]
    far: set[Key] = set()
    for key in loose[: max(len(loose) - keep, 0)]:
        if not owned or all(k in far or not below[k] for k in below[key]):
            far.add(key)
    if not far:
        return far
    near = set(map(key_of, roots))
    for key, operands in below.items():
        if key not in far:
            near.update(operands)
    numbers = (k for k, operands in below.items() if not operands and k not in near and _number(walk, k))
    return far.union(numbers)


def _number(walk: Walk, key: Key) -> bool:
    value = walk.objects[key]
    return isinstance(value, Value) and not isinstance(value, Weight)
