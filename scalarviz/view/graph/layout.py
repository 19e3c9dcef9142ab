"""`Layout`: where every node stands, and the way of every edge, in pixels from the upper left corner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .cards import ABOVE, AIR, PORT, Card, card_of
from .columns import Columns, Stop, placed
from .folds import Item
from .rows import heights

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

Point = tuple[float, float]
Cubic = tuple[Point, Point, Point, Point]


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
