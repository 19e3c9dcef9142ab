"""Folding: in a large graph the nodes of one module are drawn as one, as long as nobody unfolds it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from ...errors import InputError, UnknownNameError, listing, shown
from .chains import LONGEST
from .modules import Kinds, prefixes
from .nodes import LONG, Node
from .quotient import Quotient

MOST = 60
"""Nodes up to which nothing is folded."""
PIECE = 48
"""Nodes that are shown of a large graph without modules, the last ones; so many more whenever the rest is unfolded."""
LARGEST = 2000
"""What a picture can hold."""
INPUTS, EARLIER = "inputs", "earlier"


@dataclass(slots=True, eq=False)
class Item:
    """What is drawn as one: a node, or the folded nodes of a module.

    Attributes
    ----------
    members : tuple of Node
        One, unless it is folded.
    name : str
        Of the fold: what unfolds it.
    title : str
        The class of the module.
    operands : list of Item
        In their order. What a fold takes is there once, and so is a fold that is taken several times.
    """

    members: tuple[Node, ...]
    name: str = ""
    title: str = ""
    operands: list[Item] = field(default_factory=list)

    @property
    def folded(self) -> bool:
        """Whether it stands for several."""
        return bool(self.name)

    @property
    def unfolds(self) -> str:
        """What shows its parts when it is unfolded; empty where it has none."""
        return self.name.partition(" (")[0] if self.name else self.node.name if self.node.kind == "row" else ""

    @property
    def node(self) -> Node:
        """The one, or the last one."""
        return self.members[-1]

    @property
    def weights(self) -> int:
        """How many weights it stands for."""
        return sum(node.count for node in self.members if node.kind in ("weight", "row"))


def counted(nodes: Sequence[Node]) -> int:
    """How many nodes of a graph they are: what is far is many, and so are the numbers that it takes."""
    return sum(1 if node.kind == "row" else node.count for node in nodes)


def kept_of(unfold: Collection[str]) -> int:
    """How many of the last results of a large graph have to be there as nodes, however many of them are joined."""
    return (PIECE * _pieces(unfold) + LONG + 4) * LONGEST


def _pieces(unfold: Collection[str]) -> int:
    """How often what is earlier was unfolded, and once."""
    return 1 + sum(name.partition(" ")[0] == EARLIER for name in unfold)


def names_of(nodes: Sequence[Node], kinds: Kinds) -> list[str]:
    """Everything that can be unfolded."""
    inputs = [INPUTS] if len(_inputs(nodes)) > LONG else []
    return [*kinds, *dict.fromkeys(node.name for node in nodes if node.kind == "row"), *inputs]


def check_names(wanted: Collection[str], known: Collection[str]) -> None:
    """Raise UnknownNameError for a name that nothing in the graph has."""
    for name in wanted:
        if name not in known and name.partition(" ")[0] != EARLIER:
            there = f"allowed: {listing(known)}" if known else "nothing in this graph can be unfolded"
            raise UnknownNameError(f"draw: unfold names {shown(name)}; {there}")


def items_of(nodes: Sequence[Node], kinds: Kinds, unfold: Collection[str], *, whole: bool = False) -> list[Item]:
    """What is drawn, operands before results.

    Parameters
    ----------
    nodes : sequence of Node
        Operands before results.
    kinds : mapping of str to str
        Modules by their paths.
    unfold : collection of str
        Paths whose nodes (or modules) are wanted one by one, and names of rows of weights.
    whole : bool
        Nothing is to be folded.

    Raises
    ------
    InputError
        More than fits into a picture is left.
    """
    place = {id(node): k for k, node in enumerate(nodes)}
    graph = Quotient([[place[id(operand)] for operand in node.operands] for node in nodes])
    titles: dict[int, tuple[str, str]] = {}
    if not whole:
        for name, members in _groups(nodes, kinds, unfold, place).items():
            for number, piece in enumerate(graph.contract(members), 1):
                titles[piece] = (name, kinds.get(name, "")) if number == 1 else (f"{name} ({number})", kinds[name])
        _fold_earlier(graph, nodes, unfold, titles)
    if len(graph.order) > LARGEST:
        raise InputError(
            f"draw: {len(graph.order):,} nodes are left to be drawn; allowed: {LARGEST:,}. Draw a part of the "
            "graph, or unfold less"
        )
    return _made(graph, nodes, titles)


def _made(graph: Quotient, nodes: Sequence[Node], titles: dict[int, tuple[str, str]]) -> list[Item]:
    made: dict[int, Item] = {}
    for one in graph.order:
        if one in titles:
            members = tuple(nodes[k] for k in graph.members(one))
            made[one] = Item(members, *titles[one], [made[k] for k in graph.below[one]])
        else:
            wanted = [graph.item[k] for k in graph.first[one]]
            once = [k for place, k in enumerate(wanted) if k not in titles or k not in wanted[:place]]
            made[one] = Item((nodes[one],), operands=[made[k] for k in once])
    return list(made.values())


def _groups(nodes: Sequence[Node], kinds: Kinds, unfold: Collection[str], place: dict[int, int]) -> dict[str, set[int]]:
    """The nodes of each module that is not unfolded, by the outermost such module."""
    groups: dict[str, set[int]] = {}
    for node in nodes:
        fold = next((p for p in prefixes(node.path) if p in kinds and p not in unfold), "")
        if fold:
            groups.setdefault(fold, set()).add(place[id(node)])
    inputs = _inputs(nodes)
    if len(inputs) > LONG and INPUTS not in unfold:
        groups[INPUTS] = {place[id(node)] for node in inputs}
    return {name: members for name, members in groups.items() if len(members) > 2}


def _inputs(nodes: Sequence[Node]) -> list[Node]:
    """Numbers from outside that belong to no module."""
    return [node for node in nodes if node.kind == "leaf" and not node.path]


def _fold_earlier(
    graph: Quotient, nodes: Sequence[Node], unfold: Collection[str], titles: dict[int, tuple[str, str]]
) -> None:
    """Where modules do not fold enough: of the nodes of no module the last ones, and the others as one."""
    far = [one for one in graph.order if one not in titles and nodes[one].kind == "far"]
    loose = [one for one in graph.order if one not in titles and graph.below[one] and not nodes[one].path]
    if len(graph.order) <= MOST or (len(loose) <= PIECE + LONG and not far):
        return
    pieces = _pieces(unfold)
    late = set(loose[-PIECE * pieces :])
    if len(late) >= len(loose) - 2 and not far:
        return
    early = graph.closed_below(set(loose).difference(late).union(far))
    for piece in graph.contract(early):
        titles[piece] = (EARLIER if pieces == 1 else f"{EARLIER} {pieces}", "")
