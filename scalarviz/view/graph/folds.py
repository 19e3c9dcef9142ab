"""Folding: in a large graph the nodes of one module are drawn as one, as long as nobody unfolds it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from ...errors import InputError, UnknownNameError, listing, shown
from .nodes import LONG, Kinds, Node, constant_text, prefixes

MOST = 60
"""Nodes up to which nothing is folded."""
PIECE = 48
"""Nodes that are shown of a large graph without modules, the last ones; so many more whenever the rest is unfolded."""
LARGEST = 2000
"""What a picture can hold."""
INPUTS, EARLIER = "inputs", "earlier"


@dataclass(slots=True, eq=False)
class Item:
    """What is drawn as one: a node, or the folded nodes of a module."""

    members: tuple[Node, ...]  # one, unless it is folded
    name: str = ""  # of the fold: what unfolds it
    title: str = ""  # the class of the module
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
    """What is drawn, operands before results."""
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


# ---- `Quotient`: a graph some of whose nodes become one, and which has no circle afterwards either.


class Quotient:
    """Items of a graph: its nodes 0 .. N - 1, and pieces that stand for many of them."""

    def __init__(self, operands: Sequence[Sequence[int]]) -> None:
        self.first = [list(row) for row in operands]
        self.below = {k: list(dict.fromkeys(row)) for k, row in enumerate(self.first)}
        self.order = list(range(len(self.first)))
        self.item = list(range(len(self.first)))
        self._next = len(self.first)

    def members(self, item: int) -> list[int]:
        """The nodes that an item stands for, operands before results."""
        return [k for k, one in enumerate(self.item) if one == item]

    def contract(self, members: Collection[int]) -> list[int]:
        """Let nodes become one item, or as few as there can be without a circle; returns these, in their order."""
        entered = self._entered(set(members))
        pieces: dict[int, int] = {}
        for number in sorted({entered[member] for member in members}):
            pieces[number], self._next = self._next, self._next + 1
        new = {member: pieces[entered[member]] for member in members}
        for node, item in enumerate(self.item):
            self.item[node] = new.get(item, item)
        below: dict[int, dict[int, None]] = {}
        for one in self.order:
            mine = new.get(one, one)
            row = below.setdefault(mine, {})
            row.update((other, None) for k in self.below[one] if (other := new.get(k, k)) != mine)
        self.below = {one: list(row) for one, row in below.items()}
        self._sort()
        return list(pieces.values())

    def _entered(self, members: set[int]) -> dict[int, int]:
        """How often a way to each item has come into the members from outside, at most.

        Two members with one such number can become one: a way that leaves them and comes back has a larger one.
        """
        found: dict[int, int] = {}
        for one in self.order:
            inside = one in members
            ways = [found[k] + (inside and k not in members) for k in self.below[one]]
            found[one] = max(ways, default=int(inside))
        users: dict[int, int] = {}
        for one in self.order:
            for k in self.below[one]:
                if one in members:
                    users[k] = min(users.get(k, found[one]), found[one])
        for one in members:
            if not self.below[one]:  # a leaf stands where it is used first
                found[one] = users.get(one, found[one])
        return found

    def closed_below(self, wanted: set[int]) -> set[int]:
        """Items and all leaves that nothing else uses."""
        users: dict[int, list[int]] = {}
        for one, row in self.below.items():
            for k in row:
                users.setdefault(k, []).append(one)
        leaves = (one for one, row in self.below.items() if not row and one in users)
        return wanted | {leaf for leaf in leaves if all(user in wanted for user in users[leaf])}

    def _sort(self) -> None:
        """Operands before results, as near to the order before as can be."""
        found: dict[int, None] = {}
        for begin in self.below:
            stack = [(begin, False)]
            while stack:
                one, done = stack.pop()
                if done:
                    found[one] = None
                elif one not in found:
                    stack.append((one, True))
                    stack += [(k, False) for k in reversed(self.below[one]) if k not in found]
        self.order = list(found)


# ---- What is written shorter than it is computed: ``a + b + c`` is one ``+``, and an exponent is part of its power.

LONGEST = 24
"""Operands of one sum; a longer one goes on in the next node."""


def joined(nodes: Sequence[Node], roots: Sequence[Node]) -> list[Node]:
    """The graph in which a sum that only another sum takes, and that has no name, is part of that one.

    Nodes are changed; operands stay before results, and in the order in which they are written.
    """
    kept, gone = set(map(id, roots)), set[int]()
    for node in nodes:
        if node.op != "add":
            continue
        operands: list[Node] = []
        for k, operand in enumerate(node.operands):
            left = len(node.operands) - k - 1
            inner = operand.op == "add" and id(operand) not in kept and not operand.name
            once = len(operand.users) == 1 and node.operands.count(operand) == 1
            if inner and once and len(operands) + len(operand.operands) + left <= LONGEST:
                operands += operand.operands
                gone.add(id(operand))
            else:
                operands.append(operand)
        _take(node, operands)
    return [node for node in nodes if id(node) not in gone]


def _take(node: Node, operands: list[Node]) -> None:
    """Let `node` have these operands; those that are new to it know it as their user in the place of the old one."""
    for inner in node.operands:
        if not any(inner is operand for operand in operands):
            for operand in inner.operands:
                operand.users.pop(inner, None)
                operand.users[node] = None
    node.operands, node.flows = tuple(operands), (True,) * len(operands)


def with_powers(nodes: Sequence[Node]) -> list[Node]:
    """The graph in which a constant exponent that nothing else takes stands in the sign of its power (``**2``)."""
    gone = set[int]()
    for node in nodes:
        exponent = node.operands[1] if node.op == "pow" else None
        if exponent is None or exponent.kind != "leaf" or exponent.name or len(exponent.users) > 1:
            continue
        if exponent is not node.operands[0]:
            node.sign = f"**{constant_text(exponent.value)}"
            node.operands, node.flows = node.operands[:1], node.flows[:1]
            gone.add(id(exponent))
    return [node for node in nodes if id(node) not in gone]
