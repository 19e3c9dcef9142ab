"""`Layout`: where every node stands, and the way of every edge, in pixels from the upper left corner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..ink.sketch import Cubic, Point
from .cards import ABOVE, AIR, PORT, Card, card_of
from .folds import Item

# ---- From left to right: the column of each item, lanes for edges that cross columns, and the order in a column.

ORDERINGS = 2
"""How often the columns are ordered by the medians of their neighbours, from either side."""


@dataclass(slots=True, eq=False)
class Stop:
    """One place in a column: an item, or the lane of an edge on its way."""

    item: Item  # of a lane, the one from which the edge comes
    column: int
    lane: bool = False
    before: list[Stop] = field(default_factory=list)
    after: list[Stop] = field(default_factory=list)  # neighbours in the column before and after it, each once


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The places of a graph."""

    stops: list[list[Stop]]  # of each column, from top to bottom
    of: dict[Item, Stop]
    lanes: dict[Item, list[Stop]]  # the lanes that begin at an item, from left to right

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
    for _ in range(ORDERINGS):
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


# ---- Where every node stands.

MARGIN = 20.0
"""Left of and above all."""
GAP = 5.0
"""Between two nodes of a column."""
LANE = 5.0
"""Half the height of a lane."""
BETWEEN, STEEP, WIDEST = 22.0, 0.07, 110.0
"""Between two columns: at least, more for each pixel that an edge climbs there, at most."""
HEAD = 7.0
"""Length of an arrow's head."""
UNIFORM = 120.0
"""Nodes of a column are equally wide up to this."""

COMMUTE = ("add", "mul", "dot", "total", "max", "minimum", "maximum", "logaddexp", "first_max", "held_max")
"""Operations whose edges may come in any order: that in which they do not cross."""


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """A node in the picture."""

    item: Item
    card: Card
    x: float
    y: float
    width: float
    height: float  # of its frame; a name stands above it

    def holds(self, at: Point) -> bool:
        """Whether a point is on it."""
        return self.x <= at[0] <= self.x + self.width and self.y <= at[1] <= self.y + self.height


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """The way of an operand into a result."""

    source: Box
    target: Box
    place: int  # which operand it is
    pieces: tuple[Cubic, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """A graph in the plane."""

    boxes: tuple[Box, ...]  # operands before results
    edges: tuple[Edge, ...]
    width: float
    height: float  # where its right and its lower edge are

    def at(self, point: Point) -> Box | None:
        """The node at a point."""
        return next((box for box in self.boxes if box.holds(point)), None)


def laid_out(items: Sequence[Item], digits: int | None = None) -> Layout:
    """Where the items stand (operands before results), their numbers with so many decimals."""
    computed = any(node.grad is not None for item in items for node in item.members)
    cards = {item: card_of(item, computed=computed, digits=digits) for item in items}
    columns = placed(items)
    found = heights(columns.stops, lambda stop: _extent(stop, cards), GAP, MARGIN)
    lefts, widths = _across(columns, cards, found)
    boxes = {item: _box(item, cards[item], columns, found, lefts, widths) for item in items}
    ways = _Ways(columns, found, boxes, lefts, widths)
    edges = tuple(edge for item in items for edge in ways.into(item))
    width = max((x + w for x, w in zip(lefts, widths, strict=True)), default=0.0)
    height = max((found[stop] + _extent(stop, cards)[1] for stop in found), default=0.0)
    return Layout(tuple(boxes.values()), edges, width, height)


def _extent(stop: Stop, cards: dict[Item, Card]) -> tuple[float, float]:
    """How far it reaches above and below the height of its edges."""
    if stop.lane:
        return LANE, LANE
    card = cards[stop.item]
    return card.height / 2 + (ABOVE if card.above else 0.0), card.height / 2


def _slot(card: Card) -> float:
    """What a card takes across, the name above it included."""
    return max(card.width, card.name_width)


def _across(columns: Columns, cards: dict[Item, Card], found: dict[Stop, float]) -> tuple[list[float], list[float]]:
    """Left edge and width of each column."""
    widths = [max((_slot(cards[s.item]) for s in column if not s.lane), default=0.0) for column in columns.stops]
    lefts, x = [], MARGIN
    for k, width in enumerate(widths):
        lefts.append(x)
        climbs = (abs(found[s] - found[other]) for s in columns.stops[k] for other in s.after)
        x += width + min(BETWEEN + STEEP * max(climbs, default=0.0), WIDEST)
    return lefts, widths


def _box(
    item: Item, card: Card, columns: Columns, found: dict[Stop, float], lefts: list[float], widths: list[float]
) -> Box:
    stop = columns.of[item]
    slot = widths[stop.column]
    width = slot if slot <= UNIFORM and card.lines == 2 else card.width
    own = max(width, card.name_width)  # a long name begins where the column does
    return Box(item, card, lefts[stop.column] + (own - width) / 2, found[stop] - card.height / 2, width, card.height)


class _Ways:
    """The ways of the edges of one layout."""

    def __init__(
        self, columns: Columns, found: dict[Stop, float], boxes: dict[Item, Box], lefts: list[float],
        widths: list[float],
    ) -> None:  # fmt: skip
        self.columns, self.found, self.boxes, self.lefts, self.widths = columns, found, boxes, lefts, widths

    def into(self, target: Item) -> list[Edge]:
        """Those of all operands of an item."""
        before = [[self.columns.of[source], *self.columns.way(source, target)] for source in target.operands]
        ports = self._ports(target, [self.found[way[-1]] for way in before])
        return [
            Edge(self.boxes[source], self.boxes[target], place, self._pieces(way, self.boxes[target], ports[place]))
            for place, (source, way) in enumerate(zip(target.operands, before, strict=True))
        ]

    def _ports(self, target: Item, come_from: list[float]) -> list[float]:
        """The height at which each edge ends."""
        box, count = self.boxes[target], len(come_from)
        order = list(range(count))
        if target.folded or target.node.op in COMMUTE:
            order.sort(key=lambda k: come_from[k])
        step = min(PORT, (box.height - 2 * AIR) / max(count - 1, 1))
        first = box.y + box.height / 2 - step * (count - 1) / 2
        ends = [0.0] * count
        for place, k in enumerate(order):
            ends[k] = first + step * place
        return ends

    def _pieces(self, way: list[Stop], target: Box, port: float) -> tuple[Cubic, ...]:
        source = self.boxes[way[0].item]
        at: Point = source.x + source.width, self.found[way[0]]
        pieces: list[Cubic] = []
        for here, following in zip(way, [*way[1:], None], strict=True):
            end = self.lefts[here.column] + self.widths[here.column]
            if end > at[0]:  # across the rest of the column, in its own row
                pieces.append(bend(at, (end, at[1])))
                at = pieces[-1][3]
            goal = (
                (target.x - HEAD, port) if following is None else (self.lefts[following.column], self.found[following])
            )
            if following is None and goal[0] > self.lefts[self.columns.of[target.item].column]:
                into = self.lefts[self.columns.of[target.item].column]  # its name is wider: go on straight below it
                pieces.append(bend(at, (into, port)))
                at = pieces[-1][3]
            pieces.append(bend(at, goal))
            at = goal
        return tuple(pieces)


def bend(start: Point, end: Point) -> Cubic:
    """A cubic that is horizontal at both ends."""
    middle = (start[0] + end[0]) / 2
    return start, (middle, start[1]), (middle, end[1]), end


# ---- From top to bottom: heights at which the stops of a column stand, near their neighbours and never in each other.

SWEEPS = 4
"""How often all columns are moved towards their neighbours, from either side."""
STRAIGHT = 4
"""How often the lanes of an edge are brought to one height after that."""
STIFF, RIGID = 4.0, 60.0
"""How much more a lane insists on its height than an item, in each: straight lanes are read as one line."""

Extent = Callable[[Stop], tuple[float, float]]
"""How far a stop reaches above and below its height."""


def heights(stops: Sequence[Sequence[Stop]], extent: Extent, gap: float, top: float) -> dict[Stop, float]:
    """The height of each stop, downwards."""
    found: dict[Stop, float] = {}
    for column in stops:
        _stand(column, [0.0] * len(column), extent, gap, found)
    for sweep in range(SWEEPS):
        for column in stops[1:]:
            _towards(column, found, extent, gap, lambda stop: stop.before)
        for column in reversed(stops[:-1]):
            _towards(column, found, extent, gap, lambda stop: stop.after)
        if sweep == SWEEPS - 1:
            for column in stops:
                _towards(column, found, extent, gap, lambda stop: [*stop.before, *stop.after])
    for _ in range(STRAIGHT):
        _straighten(stops, found, extent, gap)
    for column in stops:  # what was left behind when lanes moved
        _towards(column, found, extent, gap, lambda stop: [] if stop.lane else [*stop.before, *stop.after], RIGID)
    least = min((found[stop] - extent(stop)[0] for stop in found), default=0.0)
    return {stop: height - least + top for stop, height in found.items()}


def _towards(
    column: Sequence[Stop], found: dict[Stop, float], extent: Extent, gap: float,
    near: Callable[[Stop], Sequence[Stop]], stiff: float = STIFF,
) -> None:  # fmt: skip
    """Move a column towards the medians of the neighbours of its stops."""
    wanted = []
    for stop in column:
        others = sorted(found[other] for other in near(stop))
        wanted.append(median(others) if others else found[stop])
    _stand(column, wanted, extent, gap, found, stiff)


def _straighten(stops: Sequence[Sequence[Stop]], found: dict[Stop, float], extent: Extent, gap: float) -> None:
    """Bring the lanes of an edge to one height, the median of theirs; items stay near where they are."""
    lanes: dict[Item, list[float]] = {}
    for stop, height in found.items():
        if stop.lane:
            lanes.setdefault(stop.item, []).append(height)
    middle = {item: median(sorted(heights)) for item, heights in lanes.items()}
    for column in stops:
        wanted = [middle[stop.item] if stop.lane else found[stop] for stop in column]
        _stand(column, wanted, extent, gap, found, RIGID)


def _stand(
    column: Sequence[Stop], wanted: Sequence[float], extent: Extent, gap: float, found: dict[Stop, float],
    stiff: float = STIFF,
) -> None:  # fmt: skip
    """The heights nearest to those that are wanted (least squares) at which nothing overlaps.

    Without the distances that neighbours keep, wanted heights only have to grow: pool those that fall (isotonic
    regression), and put the distances back.
    """
    offset, offsets = 0.0, []
    for k, stop in enumerate(column):
        if k:
            offset += extent(column[k - 1])[1] + gap + extent(stop)[0]
        offsets.append(offset)
    pools: list[tuple[float, float, int]] = []  # mean, weight, how many
    for stop, want, off in zip(column, wanted, offsets, strict=True):
        mean, weight, count = want - off, stiff if stop.lane else 1.0, 1
        while pools and pools[-1][0] >= mean:
            other, heavy, many = pools.pop()
            mean = (mean * weight + other * heavy) / (weight + heavy)
            weight, count = weight + heavy, count + many
        pools.append((mean, weight, count))
    means = [mean for mean, _, count in pools for _ in range(count)]
    for stop, mean, off in zip(column, means, offsets, strict=True):
        found[stop] = mean + off
