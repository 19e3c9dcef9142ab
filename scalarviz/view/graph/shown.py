"""From results to what is drawn of them: the whole way from objects to items, as one function."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...collecting import collection_paused
from ...nn import Module
from ...scalar.sums import Row
from ...scalar.value import Value
from ...scalar.weight import Weight
from .folds import MOST, Item, check_names, counted, items_of, joined, kept_of, names_of, with_powers
from .nodes import LONG, MANY, Calls, Key, Node, Walk, key_of, nodes_of, owners_of, place_nodes, walked


@dataclass(frozen=True, slots=True)
class Wish:
    """How a graph is wanted."""

    chains: bool = False  # whether sums of sums are drawn as they are
    unfold: tuple[str, ...] = ()  # what is not to be folded
    whole: bool = False  # whether nothing is
    names: Mapping[int, str] = field(default_factory=dict)
    digits: int | None = None  # decimals of the numbers; None: two or fewer


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """A graph as it is drawn."""

    nodes: list[Node]
    items: list[Item]  # operands before results
    folds: tuple[str, ...]  # what can be unfolded

    @property
    def count(self) -> int:
        """How many nodes the graph has."""
        return counted(self.nodes)

    @property
    def of(self) -> str:
        """The name of the one item that nothing takes; empty where there are several, or it has none."""
        used = {operand for item in self.items for operand in item.operands}
        ends = [item for item in self.items if item not in used]
        return ends[0].node.name if len(ends) == 1 else ""


@collection_paused()
def shown_of(roots: Sequence[Value], wish: Wish, model: Module | None = None, calls: Calls | None = None) -> Shown:
    """What is drawn of the graph that leads to `roots`, with the numbers of now."""
    unfold = frozenset(wish.unfold)
    walk = walked(roots, unfold, LONG, None if wish.whole else MOST)
    large = walk is None
    if walk is None:
        walk = walked(roots, unfold, MANY)
        assert walk is not None
    kinds, paths = owners_of(walk, model, calls)
    nodes = nodes_of(walk, far_below(walk, roots, paths, kept_of(unfold)) if large else ())
    find_gradients(nodes)
    name_nodes(nodes, wish.names)
    place_nodes(nodes, paths)
    if not wish.chains:
        ends = set(map(id, roots))
        nodes = joined(nodes, [node for node in nodes if id(node.of) in ends])
    nodes = with_powers(nodes)
    folds = names_of(nodes, kinds)
    check_names(unfold, (*folds, *_unfolded_rows(nodes)))
    return Shown(nodes, items_of(nodes, kinds, unfold, whole=not large), tuple(folds))


def _unfolded_rows(nodes: Sequence[Node]) -> set[str]:
    """Rows of weights that were unfolded are no nodes any more: their weights' names begin with theirs."""
    return {node.name.rpartition("[")[0] for node in nodes if node.kind == "weight"}


# ---- What lies so far below the results of a huge graph that no picture of it can show more than that it is there.

HUGE = 20_000
"""Objects from which on it is looked for."""


def far_below(walk: Walk, roots: Sequence[Value], owned: Collection[Key], keep: int) -> set[Key]:
    """Results, with the numbers that nothing else takes, which one node can stand for.

    A way that leaves them never comes back: all that leads to one of them is one of them, a leaf or a weight.
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


# ---- Which gradients were computed: a 0 that nobody computed would be read as one.


def find_gradients(nodes: Sequence[Node]) -> None:
    """Give each node of a graph, operands before results, its gradient; None where no ``backward()`` came by.

    Weights and rows say themselves whether theirs was computed; a row has no number. Of other nodes only a number
    tells: one whose gradient is not 0 was reached, and so was all that a derivative goes to from there, with a gradient
    of 0 as well.
    """
    lit: set[int] = set()
    for node in reversed(nodes):
        of = node.of
        if isinstance(of, Row):
            computed = np.asarray(of.block.computed[of.start : of.start + of.length]).any()
            node.grad = math.nan if computed else None
        elif isinstance(of, Weight):
            node.grad = of.grad if of.has_grad else None
        elif node.kind == "far":
            lit.update(map(id, node.operands if node.grad is not None else ()))
        elif of.grad != 0.0 or id(node) in lit:
            node.grad = of.grad
            if node.op:
                lit.update(id(p) for p, flows in zip(node.operands, node.flows, strict=True) if flows)


# ---- What nodes are called that have no name of their own: the variables of whoever asks for the picture.

LISTED = 64
"""Elements of a list that are looked at."""


def variables(scope: Mapping[str, Any]) -> dict[int, str]:
    """Names of Values by their ids: variables, and elements of lists as ``h[0]``; the first name counts.

    Names that begin with an underscore are left out: notebooks keep results under such.
    """
    found: dict[int, str] = {}
    listed: dict[int, str] = {}
    for name, held in list(scope.items()):
        if name.startswith("_"):
            continue
        if isinstance(held, Value):
            found.setdefault(id(held), name)
        elif isinstance(held, list | tuple):
            for k, item in enumerate(held[:LISTED]):
                if isinstance(item, Value):
                    listed.setdefault(id(item), f"{name}[{k}]")
    return {**listed, **found}


def name_nodes(nodes: Sequence[Node], names: Mapping[int, str]) -> None:
    """Give names to those that have none."""
    for node in nodes:
        if not node.name:
            node.name = names.get(id(node.of), "")
