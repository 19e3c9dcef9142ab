"""From results to drawn items, as one function."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...collecting import collection_paused
from ...nn import Module
from ...run.opened.rule import Writer, text_of
from ...scalar.sums import Row
from ...scalar.value import Value
from ...scalar.weight import Weight
from ...tape import Node, Tape
from .figure import LOSS_NODE, NodeNumbers
from .folds import MOST, Graph, Item
from .layout import Layout
from .nodes import LONG, MANY, Calls, Key, Walk, key_of, owners_of, walked


@dataclass(frozen=True, slots=True)
class Wish:
    """How a graph is to be drawn."""

    chains: bool = False  # whether sums of sums are drawn as they are
    unfold: tuple[str, ...] = ()  # names that are not folded
    whole: bool = False  # whether nothing is folded
    names: Mapping[int, str] = field(default_factory=dict)
    digits: int | None = None  # decimals of the numbers; None: two or fewer


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """The drawn part of a graph."""

    objects: Sequence[Value | Row]  # all nodes of it
    items: list[Item]  # operands before results
    folds: tuple[str, ...]  # what can be unfolded

    @property
    def of(self) -> str:
        """The name of the one item without users; empty for several, or without a name."""
        used = {operand for item in self.items for operand in item.operands}
        ends = [item for item in self.items if item not in used]
        return ends[0].name if len(ends) == 1 and not ends[0].folded else ""


@collection_paused()
def shown_of(roots: Sequence[Value], wish: Wish, model: Module | None = None, calls: Calls | None = None) -> Shown:
    """Return the drawn part of the graph that leads to `roots`, with the current numbers."""
    unfold = frozenset(wish.unfold)
    walk = walked(roots, unfold, LONG, None if wish.whole else MOST)
    large = walk is None
    if walk is None:
        walk = walked(roots, unfold, MANY)
        assert walk is not None
    ends = set(map(key_of, roots))
    graph = Graph(walk, owners_of(walk, model, calls), wish.names, gradients_of(walk), wish.unfold)
    graph.shorten(ends, sums=not wish.chains)
    folds = graph.folds()
    graph.check(folds)
    return Shown(list(graph.objects.values()), graph.items(ends, whole=not large), tuple(folds))


def formulas_of(items: Sequence[Item]) -> dict[str, Item]:
    """Return the items by their formulas of numbers and named weights, the names of the micro-steps of a formula.

    A sum of sums is one item; its inner sums come before its own.
    """
    nodes, names, at, whose = list[Node](), dict[int, str](), dict[Item, int](), dict[int, Item]()

    def put(node: Node, item: Item) -> int:
        nodes.append(node)
        whose[len(nodes) - 1] = item
        return len(nodes) - 1

    for item in items:
        args = [at[operand] for operand in item.operands]
        if item.exponent is not None:
            args.append(put(Node("const", number=item.exponent), item))
        while len(args) > 2 and item.op == "add":
            args[:2] = [put(Node("add", (args[0], args[1])), item)]
        at[item] = put(Node(item.op, tuple(args)) if item.op else Node("const", number=item.value), item)
        if item.name and not item.op:
            names[at[item]] = item.name
    writer = Writer(Tape(tuple(nodes), 0, 0, 0), names, [0.0] * len(nodes), ())
    return {names.get(k) or text_of(writer.line(k)): item for k, item in whose.items()}


def node_numbers(
    layout: Layout, nodes: Mapping[str, NodeNumbers], name: str
) -> tuple[dict[Item, NodeNumbers], Item | None]:
    """Return the numbers of each node in an opened step, and the current item; the node without users is the loss."""
    words, last = formulas_of([box.item for box in layout.boxes]), layout.boxes[-1].item
    words |= {} if any(said in nodes and item is last for said, item in words.items()) else {LOSS_NODE: last}
    seen: dict[Item, NodeNumbers] = {}
    for said, item in words.items():
        if (now := nodes.get(said)) is not None and (now.value is not None or item not in seen):
            seen[item] = now  # of a sum of sums, the last one computed
    return seen, words.get(name)


# ---- Which gradients were computed: a 0 that was not computed must not be shown.


def gradients_of(walk: Walk) -> dict[Key, float]:
    """Return the gradients of a graph: none for nodes that no ``backward()`` reached, NaN for a row that one reached.

    Weights and rows know whether theirs was computed. Another node was reached if its gradient is not 0; so were all
    nodes that get a derivative from it, even with a gradient of 0.
    """
    found: dict[Key, float] = {}
    lit: set[Key] = set()
    for key, of in reversed(walk.objects.items()):
        if type(of) is Value and of.grad == 0.0 and key not in lit:  # nearly all are, before ``backward()``
            continue
        if isinstance(of, Row):
            if np.asarray(of.block.computed[of.start : of.start + of.length]).any():
                found[key] = math.nan
        elif isinstance(of, Weight):
            if of.has_grad:
                found[key] = of.grad
        elif of.grad != 0.0 or key in lit:
            found[key], op = of.grad, of._op
            below = walk.below[key]  # conditions and the like get no derivative
            lit.update(below if op is None or not op.partly else [below[k] for k in op.flowing])
    return found


# ---- Nodes without a name get that of a variable in the calling code.

LISTED = 64
"""Most elements of a list that are searched."""


def variables(scope: Mapping[str, Any]) -> dict[int, str]:
    """Return names of Values by their ids: variables, and elements of lists as ``h[0]``; the first name counts.

    Names that begin with an underscore are left out, because notebooks store results under such names.
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
