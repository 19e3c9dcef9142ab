"""From results to what is drawn of them: the whole way from objects to items, as one function."""

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
    """How a graph is wanted."""

    chains: bool = False  # whether sums of sums are drawn as they are
    unfold: tuple[str, ...] = ()  # what is not to be folded
    whole: bool = False  # whether nothing is
    names: Mapping[int, str] = field(default_factory=dict)
    digits: int | None = None  # decimals of the numbers; None: two or fewer


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """A graph as it is drawn."""

    objects: Sequence[Value | Row]  # all nodes of it
    items: list[Item]  # operands before results
    folds: tuple[str, ...]  # what can be unfolded

    @property
    def of(self) -> str:
        """The name of the one item that nothing takes; empty where there are several, or it has none."""
        used = {operand for item in self.items for operand in item.operands}
        ends = [item for item in self.items if item not in used]
        return ends[0].name if len(ends) == 1 and not ends[0].folded else ""


@collection_paused()
def shown_of(roots: Sequence[Value], wish: Wish, model: Module | None = None, calls: Calls | None = None) -> Shown:
    """What is drawn of the graph that leads to `roots`, with the numbers of now."""
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
    """Items as formulas of numbers and weights with their names, as the micro-steps of a formula are called.

    Of a sum of sums, which is one item, the sums inside come before its own.
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
    """What there is of each node in an opened step, and that of now; the node that nothing takes is the loss."""
    words, last = formulas_of([box.item for box in layout.boxes]), layout.boxes[-1].item
    words |= {} if any(said in nodes and item is last for said, item in words.items()) else {LOSS_NODE: last}
    seen: dict[Item, NodeNumbers] = {}
    for said, item in words.items():
        if (now := nodes.get(said)) is not None and (now.value is not None or item not in seen):
            seen[item] = now  # of a sum of sums the last that has come
    return seen, words.get(name)


# ---- Which gradients were computed: a 0 that nobody computed would be read as one.


def gradients_of(walk: Walk) -> dict[Key, float]:
    """The gradients of a graph; none of a node where no ``backward()`` came by, NaN of a row where one did.

    Weights and rows say themselves whether theirs was computed. Of other nodes only a number tells: one whose gradient
    is not 0 was reached, and so was all that a derivative goes to from there, with a gradient of 0 as well.
    """
    found: dict[Key, float] = {}
    lit: set[Key] = set()
    for key, of in reversed(walk.objects.items()):
        if type(of) is Value and of.grad == 0.0 and key not in lit:  # nearly all are so, before ``backward()``
            continue
        if isinstance(of, Row):
            if np.asarray(of.block.computed[of.start : of.start + of.length]).any():
                found[key] = math.nan
        elif isinstance(of, Weight):
            if of.has_grad:
                found[key] = of.grad
        elif of.grad != 0.0 or key in lit:
            found[key], op = of.grad, of._op
            below = walk.below[key]  # a derivative goes to all but conditions and their like
            lit.update(below if op is None or not op.partly else [below[k] for k in op.flowing])
    return found


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
