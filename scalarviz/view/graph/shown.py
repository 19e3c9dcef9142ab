"""From results to what is drawn of them: the whole way from objects to items, as one function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...nn import Module
from ...scalar.value import Value
from .chains import joined, with_powers
from .folds import MOST, Item, check_names, items_of, names_of
from .modules import Calls, find_owners
from .names import name_nodes
from .nodes import MANY, Node, nodes_of
from .reached import find_gradients


@dataclass(frozen=True, slots=True)
class Wish:
    """How a graph is wanted.

    Attributes
    ----------
    chains : bool
        Whether sums of sums are drawn as they are.
    unfold : tuple of str
        What is not to be folded.
    whole : bool
        Whether nothing is.
    names : mapping of int to str
        Names of Values by their ids, for those that have none.
    """

    chains: bool = False
    unfold: tuple[str, ...] = ()
    whole: bool = False
    names: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """A graph as it is drawn.

    Attributes
    ----------
    nodes : list of Node
    items : list of Item
        Operands before results.
    folds : tuple of str
        What can be unfolded.
    """

    nodes: list[Node]
    items: list[Item]
    folds: tuple[str, ...]

    @property
    def of(self) -> str:
        """The name of the one item that nothing takes; empty where there are several, or it has none."""
        used = {operand for item in self.items for operand in item.operands}
        ends = [item for item in self.items if item not in used]
        return ends[0].node.name if len(ends) == 1 else ""


def shown(roots: Sequence[Value], wish: Wish, model: Module | None = None, calls: Calls | None = None) -> Shown:
    """What is drawn of the graph that leads to `roots`, with the numbers of now.

    Parameters
    ----------
    roots : sequence of Value
    wish : Wish
    model : Module, optional
        By which it is folded; default: that of the weights.
    calls : mapping, optional
        What its parts did; default: their last calls.

    Raises
    ------
    InputError
        More is left than a picture can hold.
    UnknownNameError
        Nothing can be unfolded by a name.
    TracingError
        The graph is being recorded.
    """
    unfold = frozenset(wish.unfold)
    nodes = nodes_of(roots, unfold)
    large = len(nodes) > MOST and not wish.whole
    if large:
        nodes = nodes_of(roots, unfold, MANY)
    find_gradients(nodes)
    name_nodes(nodes, wish.names)
    kinds = find_owners(nodes, model, calls)
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
