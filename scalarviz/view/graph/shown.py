"""From results to what is drawn of them: the whole way from objects to items, as one function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...collecting import collection_paused
from ...nn import Module
from ...scalar.value import Value
from .chains import joined, with_powers
from .far import far_below
from .folds import MOST, Item, check_names, counted, items_of, kept_of, names_of
from .modules import Calls, owners_of, place_nodes
from .names import name_nodes
from .nodes import LONG, MANY, Node, nodes_of
from .reached import find_gradients
from .walk import walked


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
    digits : int or None
        Decimals of the numbers; None: two or fewer.
    """

    chains: bool = False
    unfold: tuple[str, ...] = ()
    whole: bool = False
    names: Mapping[int, str] = field(default_factory=dict)
    digits: int | None = None


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
