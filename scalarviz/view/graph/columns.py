"""From left to right: the column of each item, lanes for edges that cross columns, and the order in a column.

A column is the longest way from a leaf; a leaf stands one column before its first use, not at the far left. An edge
that goes over more than one column has a lane of its own in those between, so that it never runs under a node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .folds import Item

SWEEPS = 2
"""How often the columns are ordered by the medians of their neighbours, from either side."""


@dataclass(slots=True, eq=False)
class Stop:
    """One place in a column: an item, or the lane of an edge on its way.

    Attributes
    ----------
    item : Item
        Of a lane, the one from which the edge comes.
    column : int
    lane : bool
    before, after : list of Stop
        Neighbours in the column before and after it, each once.
    """

    item: Item
    column: int
    lane: bool = False
    before: list[Stop] = field(default_factory=list)
    after: list[Stop] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The places of a graph.

    Attributes
    ----------
    stops : list of list of Stop
        Of each column, from top to bottom.
    of : dict of Item to Stop
    lanes : dict of Item to list of Stop
        The lanes that begin at an item, from left to right.
    """

    stops: list[list[Stop]]
    of: dict[Item, Stop]
    lanes: dict[Item, list[Stop]]

    def way(self, source: Item, target: Item) -> list[Stop]:
        """The lanes of the edge between two items."""
        return self.lanes[source][: self.of[target].column - self.of[source].column - 1]


def columns_of(items: Sequence[Item]) -> dict[Item, int]:
    """The column of each item (operands before results)."""
    found: dict[Item, int] = {}
    users: dict[Item, list[Item]] = {item: [] for item in items}
    for item in items:
        found[item] = max((found[operand] + 1 for operand in item.operands), default=0)
        for operand in item.operands:
            users[operand].append(item)
    for item in items:
        if not item.operands and users[item]:
            found[item] = min(found[user] for user in users[item]) - 1
    return found


def placed(items: Sequence[Item]) -> Columns:
    """Columns with their stops in order: that of the operands first, then by the medians of the neighbours."""
    column = columns_of(items)
    of = {item: Stop(item, column[item]) for item in items}
    lanes: dict[Item, list[Stop]] = {}
    stops: list[list[Stop]] = [[] for _ in range(max(column.values(), default=-1) + 1)]
    last = dict(column)
    for item in items:
        for operand in item.operands:
            last[operand] = max(last[operand], column[item] - 1)
    for item in items:
        lanes[item] = [Stop(item, k, lane=True) for k in range(column[item] + 1, last[item] + 1)]
        for left, right in zip([of[item], *lanes[item]], lanes[item], strict=False):
            _join(left, right)
    for item in items:
        for operand in dict.fromkeys(item.operands):
            way = [of[operand], *lanes[operand]]
            _join(way[column[item] - column[operand] - 1], of[item])
    for stop in (stop for item in items for stop in (of[item], *lanes[item])):
        stops[stop.column].append(stop)
    _order(stops, _by_operands(items))
    return Columns(stops, of, lanes)


def _join(left: Stop, right: Stop) -> None:
    left.after.append(right)
    right.before.append(left)


def _by_operands(items: Sequence[Item]) -> dict[Item, float]:
    """Where an item would stand if the leaves stood in the order in which the formula names them."""
    users = {operand for item in items for operand in item.operands}
    height: dict[Item, float] = {}
    leaves = 0
    stack = [(item, False) for item in reversed([item for item in items if item not in users])]
    while stack:
        item, done = stack.pop()
        if item in height:
            continue
        if not item.operands:
            height[item], leaves = float(leaves), leaves + 1
        elif done:
            known = [height[operand] for operand in item.operands]
            height[item] = sum(known) / len(known)
        else:
            stack.append((item, True))
            stack += [(operand, False) for operand in reversed(item.operands) if operand not in height]
    return height


def _order(stops: list[list[Stop]], height: dict[Item, float]) -> None:
    for column in stops:
        column.sort(key=lambda stop: _start(stop, height))
    for _ in range(SWEEPS):
        for column in stops[1:]:
            _by_medians(column, stops[column[0].column - 1], right=False)
        for column in reversed(stops[:-1]):
            _by_medians(column, stops[column[0].column + 1], right=True)


def _start(stop: Stop, height: dict[Item, float]) -> float:
    """Of a lane, half-way between where its edge comes from and where it goes."""
    if not stop.lane:
        return height[stop.item]
    ends, stack = [], list(stop.after)
    while stack:
        other = stack.pop()
        if other.lane:
            stack += other.after
        else:
            ends.append(height[other.item])
    return (height[stop.item] + sum(ends) / len(ends)) / 2


def _by_medians(column: list[Stop], beside: list[Stop], *, right: bool) -> None:
    """Sort a column by where its neighbours in another one stand; what has none there keeps its place."""
    place = {stop: k / max(len(beside) - 1, 1) for k, stop in enumerate(beside)}
    own = {stop: k / max(len(column) - 1, 1) for k, stop in enumerate(column)}

    def key(stop: Stop) -> float:
        near = stop.after if right else stop.before
        return median(sorted(place[other] for other in near)) if near else own[stop]

    keys = {stop: key(stop) for stop in column}
    column.sort(key=lambda stop: keys[stop])


def median(values: Sequence[float]) -> float:
    """Of sorted numbers, at least one: the middle one, or the mean of the two."""
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2
