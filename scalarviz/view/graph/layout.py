"""`Layout`: where every node stands, and the way of every edge, in pixels from the upper left corner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..ink.sketch import Cubic, Point
from .cards import ABOVE, AIR, PORT, Card, card_of
from .columns import Columns, Stop, median, placed
from .folds import Item

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
    """A node in the picture.

    Attributes
    ----------
    item : Item
    card : Card
    x, y, width, height : float
        Of its frame; a name stands above it.
    """

    item: Item
    card: Card
    x: float
    y: float
    width: float
    height: float

    def holds(self, at: Point) -> bool:
        """Whether a point is on it."""
        return self.x <= at[0] <= self.x + self.width and self.y <= at[1] <= self.y + self.height


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """The way of an operand into a result.

    Attributes
    ----------
    source, target : Box
    place : int
        Which operand it is.
    pieces : tuple of Cubic
        Each begins where the one before it ends, all horizontally at both ends; straight ones too.
    """

    source: Box
    target: Box
    place: int
    pieces: tuple[Cubic, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """A graph in the plane.

    Attributes
    ----------
    boxes : tuple of Box
        Operands before results.
    edges : tuple of Edge
    width, height : float
        Where its right and its lower edge are.
    """

    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    width: float
    height: float

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
    """The height of each stop, downwards.

    Parameters
    ----------
    stops : sequence of sequences of Stop
        Of each column, in their order.
    extent : callable
    gap : float
        At least so much is between the lower edge of one and the upper edge of the next.
    top : float
        Where the uppermost edge of all is.
    """
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
