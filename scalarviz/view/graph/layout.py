"""`Layout`: the place of every node and the course of every edge, in pixels from the upper left corner."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from ...run.opened.digits import MINUS, chip_digits, exponent, number
from ...scalar.sums import Row, Total
from ...scalar.value import Value
from ..ink.sketch import Cubic, Point
from ..ink.text import measure
from .nodes import Item

SIZE = 13
"""Size of the letters in pixels."""
HIGH, LOW = 46.0, 24.0
"""Height of a node, and of a constant without a gradient."""
NARROW = 70.0
"""The least width of a node with two lines."""
CELL, BODY, AIR = 24.0, 46.0, 7.0
"""Width of an operation's cell; least width of its numbers; pixels between a text and the edge."""
ABOVE = 22.0
"""Height of the name over a result."""
BEHIND = 4.0
"""Pixels by which the frame behind a fold is offset to the right and above."""
LONGEST_NAME = 26
"""Most letters of a name on a node; the label at the pointer has all."""
PORT = 7.0
"""Pixels between two edges into one node."""


@dataclass(frozen=True, slots=True)
class Card:
    """The texts and the size of a node."""

    value: str
    gradient: str | None  # None: not computed; drawn hatched
    width: float
    height: float = HIGH
    left: str = ""  # upper line, left: the name of a leaf or a fold
    above: str = ""  # the name of a result
    sign: str = ""  # the operation
    cell: float = 0.0  # width of the sign's cell
    folded: bool = False  # whether it stands for several nodes

    @property
    def name_width(self) -> float:
        """Width of the name above the node."""
        return measure(self.above, SIZE + 1, True) if self.above else 0.0


def card_of(item: Item, *, computed: bool, digits: int | None = None) -> Card:
    """Return the card of an item. `computed`: some gradient of the graph is; `digits`: decimals, default up to two."""
    high = max(HIGH, 2 * AIR + (PORT - 1) * (len(item.operands) - 1))
    name = short(item.name)
    if item.kind in ("fold", "row"):  # name and class; below, the number of weights
        count, what = item.weights, "weight"
        if not count:
            count, what = len(item.held), "node" if item.operands or any(map(_op, item.held)) else "number"
        title, said = short(item.title or signs_of(item)), f"{count:,} {what}{'' if count == 1 else 's'}"
        return Card(title, said, max(NARROW, _width(name, title, said)) + BEHIND, high, name, folded=True)
    value = figure_of(item.value, digits)
    gradient = None if item.grad is None else figure_of(item.grad, digits)
    if item.kind == "op":
        sign = sign_of(item)
        cell = max(CELL, measure(sign, SIZE, True) + 12)
        body = max(BODY, measure(value, SIZE, True) + 2 * AIR, measure(gradient or "", SIZE) + 2 * AIR)
        return Card(value, gradient, cell + body, high, above=name, sign=sign, cell=cell)
    if item.kind == "leaf" and (not item.name or (computed and item.grad is None)):
        value = constant_text(item.value)
        return Card(value, None, _width(name, value, ""), LOW, name)
    return Card(value, gradient, max(NARROW, _width(name, value, gradient or "")), left=name)


def short(name: str) -> str:
    """Return a name in one line; the middle of a long name is cut out."""
    line = " ".join(name.split())
    half = LONGEST_NAME // 2
    return line if len(line) <= LONGEST_NAME else f"{line[: half - 1]}…{line[-half:]}"


def _width(left: str, right: str, below: str) -> float:
    """Return the width for two texts side by side and one below them."""
    beside = (measure(left, SIZE, True) + 8 if left else 0.0) + measure(right, SIZE)
    return max(beside, measure(below, SIZE)) + 2 * AIR


# ---- The label of a node under the pointer: its operation, its shape, the derivative from the table.


def item_words(item: Item) -> str:
    """Return lines that describe a node or a fold."""
    of = item.of
    if item.folded:
        said = f"{item.name} {item.title}".strip()
        return f"{said}: {len(item.held):,} nodes" + (f", {item.weights:,} weights" if item.weights else "")
    name = f"{item.name}: " if item.name else ""
    if isinstance(of, Row):
        return f"{name}{of.length:,} weights"
    what = {"weight": "weight", "leaf": "number"}.get(item.kind, f"{item.op} of {item.takes}")
    lines = [f"{name}{what}", f"value {_plain(item.value)}"]
    lines += [] if item.grad is None else [f"gradient {_plain(item.grad)}"]
    if item.kind == "op" and of._op is not None:  # ``d/da: 1 - y * y``, from the table of operations
        entry = of._op.entry
        lines.append(f"{entry.name}({', '.join(entry.args)}) = {entry.value}")
        for arg, partial in zip(entry.args, entry.partials, strict=True):
            lines.append(f"d/d{arg}: {'none' if partial is None else partial}")
    return "\n".join(lines)


def _plain(value: float) -> str:
    return f"{value:.6g}".replace("-", MINUS)


# ---- Text of operations and numbers on nodes.

SIGNS = {
    "add": "+", "sub": MINUS, "mul": "×", "div": "/", "neg": MINUS, "square": "²", "lt": "<", "le": "≤", "gt": ">",
    "ge": "≥", "first_max": "max", "held_max": "max",
}  # fmt: skip
"""Signs of operations that are not written by name."""

TINY = 0.005
"""Up to this size a number has an exponent: two decimals would be 0."""
HUGE = 9999.5
"""From this size on a number has an exponent, too."""


def figure_of(value: float, digits: int | None = None) -> str:
    """Return a number as on a node: two decimals or fewer, ``−2e−3`` for a small one, ``0``, ``NaN``, ``+∞``.

    `digits` sets the number of decimals.
    """
    size = abs(value)
    if not size < HUGE or (size <= TINY if digits is None else not float(f"{size:.{digits}f}")):
        return exponent(value, max(0, (digits or 2) - 2), signed=True)
    return number(value, chip_digits(value) if digits is None else digits, signed=True)


def constant_text(value: float) -> str:
    """Return a constant as people write it: ``2``, ``0.5``, ``−1e−8``."""
    if not math.isfinite(value) or value == 0.0:
        return figure_of(value)
    text = f"{value:.4g}"
    mantissa, _, power = text.partition("e")
    return f"{mantissa}e{int(power)}".replace("-", MINUS) if power else text.replace("-", MINUS)


SUMS = {"identity": "sum", "square": "sum ²", "abs": "sum abs"}
"""Signs of sums over a row of weights, by what is summed."""


def sign_of(item: Item) -> str:
    """Return the sign of an operation."""
    if isinstance(item.of, Total):
        return SUMS[item.of.how]
    if item.exponent is None or item.exponent == 2:
        return SIGNS["square"] if item.exponent else SIGNS.get(item.op, item.op)
    return f"**{constant_text(item.exponent)}"


def signs_of(item: Item) -> str:
    """Return the most frequent operations of a fold."""
    found = [SIGNS.get(op, op) for op, _ in Counter(filter(None, map(_op, item.held))).most_common()]
    return ", ".join([*found[:3], "…"] if len(found) > 4 else found)


def _op(of: object) -> str:
    return of.op if isinstance(of, Value) else ""


# ---- Places of cards.

# ---- From left to right: the column of each item, lanes for edges that cross columns, and the order in a column.

ORDERINGS = 2
"""Number of times that the columns are sorted by medians, from either side."""


@dataclass(slots=True, eq=False)
class ColumnPlace:
    """One place in a column: an item, or the lane of an edge that crosses the column."""

    item: Item  # of a lane, the item where the edge begins
    column: int
    lane: bool = False
    before: list[ColumnPlace] = field(default_factory=list)
    after: list[ColumnPlace] = field(default_factory=list)  # neighbours in the column before and after it, each once


def columns_of(items: Sequence[Item]) -> dict[Item, int]:
    """Return the column of each item; `items` has operands before results."""
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


def placed(items: Sequence[Item]) -> tuple[list[list[ColumnPlace]], dict[Item, list[ColumnPlace]]]:
    """Return the stops of each column from top to bottom, and for each item its stop with the lanes that begin there.

    Stops follow the order of operands at first, then the medians of their neighbours.
    """
    column = columns_of(items)
    end = {item: own + 1 for item, own in column.items()}
    for item in items:
        for operand in item.operands:
            end[operand] = max(end[operand], column[item])
    ways = {item: [ColumnPlace(item, k, lane=k > own) for k in range(own, end[item])] for item, own in column.items()}
    joined = [pair for way in ways.values() for pair in pairwise(way)]
    joined += [(ways[operand][column[item] - column[operand] - 1], ways[item][0])
               for item in items for operand in dict.fromkeys(item.operands)]  # fmt: skip
    for left, right in joined:
        left.after.append(right)
        right.before.append(left)
    stops: list[list[ColumnPlace]] = [[] for _ in range(max(column.values(), default=-1) + 1)]
    for stop in (stop for way in ways.values() for stop in way):
        stops[stop.column].append(stop)
    _order(stops, _by_operands(items))
    return stops, ways


def _by_operands(items: Sequence[Item]) -> dict[Item, float]:
    """Return the height of each item if the leaves are in the order of the formula."""
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


def _order(stops: list[list[ColumnPlace]], height: dict[Item, float]) -> None:
    for column in stops:
        column.sort(key=lambda stop: _start(stop, height))
    for _ in range(ORDERINGS):
        for column in stops[1:]:
            _by_medians(column, stops[column[0].column - 1], right=False)
        for column in reversed(stops[:-1]):
            _by_medians(column, stops[column[0].column + 1], right=True)


def _start(stop: ColumnPlace, height: dict[Item, float]) -> float:
    """Return the first height of a stop; that of a lane is half-way between the ends of its edge."""
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


def _by_medians(column: list[ColumnPlace], beside: list[ColumnPlace], *, right: bool) -> None:
    """Sort a column by the places of its neighbours in another one; a stop without neighbours keeps its place."""
    place = {stop: k / max(len(beside) - 1, 1) for k, stop in enumerate(beside)}
    own = {stop: k / max(len(column) - 1, 1) for k, stop in enumerate(column)}

    def key(stop: ColumnPlace) -> float:
        near = stop.after if right else stop.before
        return median([place[other] for other in near] or [own[stop]])

    column.sort(key={stop: key(stop) for stop in column}.__getitem__)


# ---- Heights of nodes: near their neighbours, without overlap.

MARGIN = 20.0
"""Pixels to the left and above."""
GAP = 5.0
"""Pixels between two nodes of a column."""
LANE = 5.0
"""Half the height of a lane."""
BETWEEN, STEEP, WIDEST = 22.0, 0.07, 110.0
"""Pixels between two columns: least, extra per pixel that an edge climbs there, most."""
HEAD = 7.0
"""Length of an arrow's head."""
UNIFORM = 120.0
"""Up to this width in pixels, the nodes of a column are equally wide."""

SWEEPS, STRAIGHT = 4, 4
"""Number of times that columns are moved towards their neighbours, and that lanes are straightened."""
STIFF, RIGID = 4.0, 60.0
"""Weight of a lane's height relative to an item's, in each: a straight lane reads as one line."""
COMMUTE = ("add", "mul", "dot", "total", "max", "minimum", "maximum", "logaddexp", "first_max", "held_max")
"""Operations whose edges can be in any order, so in the one without crossings."""


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """A node in the picture: its frame, with its name above."""

    item: Item
    card: Card
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """The course of an operand's edge into a result."""

    source: Box
    target: Box
    pieces: tuple[Cubic, ...]  # joined end to end, horizontal at both ends


class Layout:
    """A graph in the plane, with its width and height.

    `items` have operands before results; `digits` is the number of decimals. `found` has the height of each stop,
    `lefts` and `widths` are those of the columns.
    """

    def __init__(self, items: Sequence[Item], digits: int | None = None) -> None:
        computed = any(item.grad is not None for item in items)
        self.cards = {item: card_of(item, computed=computed, digits=digits) for item in items}
        self.stops, self.ways = placed(items)
        self.found: dict[ColumnPlace, float] = {}
        self._find_heights()
        self.lefts, self.widths, x = list[float](), list[float](), MARGIN
        for column in self.stops:
            cards = [self.cards[stop.item] for stop in column if not stop.lane]
            width = max((max(card.width, card.name_width) for card in cards), default=0.0)
            self.lefts.append(x)
            self.widths.append(width)
            climbs = (abs(self.found[stop] - self.found[other]) for stop in column for other in stop.after)
            x += width + min(BETWEEN + STEEP * max(climbs, default=0.0), WIDEST)
        self._boxes = {item: self._box(item) for item in items}
        self.boxes = tuple(self._boxes.values())
        self.edges = tuple(edge for item in items for edge in self._edges_into(item))
        self.width = max((x + w for x, w in zip(self.lefts, self.widths, strict=True)), default=0.0)
        self.height = max((up + self._extent(stop)[1] for stop, up in self.found.items()), default=0.0)

    def _box(self, item: Item) -> Box:
        stop, card = self.ways[item][0], self.cards[item]
        slot = self.widths[stop.column]
        width = slot if slot <= UNIFORM and card.height > LOW else card.width
        own = max(width, card.name_width)  # a long name begins at the column's left edge
        left, top = self.lefts[stop.column] + (own - width) / 2, self.found[stop] - card.height / 2
        return Box(item, card, left, top, width, card.height)

    # ---- edges

    def _edges_into(self, target: Item) -> list[Edge]:
        """Return the edges of all operands of an item."""
        box, end = self._boxes[target], self.ways[target][0].column
        ways = [self.ways[source][: end - self.ways[source][0].column] for source in target.operands]
        order = list(range(len(ways)))
        if target.folded or target.op in COMMUTE:
            order.sort(key=lambda k: self.found[ways[k][-1]])
        step = min(PORT, (box.height - 2 * AIR) / max(len(ways) - 1, 1))
        first = box.y + box.height / 2 - step * (len(ways) - 1) / 2
        ports = {k: first + step * place for place, k in enumerate(order)}
        return [Edge(self._boxes[source], box, self._pieces(ways[k], box, ports[k]))
                for k, source in enumerate(target.operands)]  # fmt: skip

    def _pieces(self, way: list[ColumnPlace], target: Box, port: float) -> tuple[Cubic, ...]:
        source = self._boxes[way[0].item]
        points: list[Point] = [(source.x + source.width, self.found[way[0]])]
        for here, following in pairwise([*way, None]):
            assert here is not None
            end = self.lefts[here.column] + self.widths[here.column]
            if end > points[-1][0]:  # across the rest of the column, in its own row
                points.append((end, points[-1][1]))
            if following is not None:
                points.append((self.lefts[following.column], self.found[following]))
        left = self.lefts[self.ways[target.item][0].column]
        if target.x - HEAD > left:  # its name is wider: continue straight below it
            points.append((left, port))
        return tuple(bend(*pair) for pair in pairwise([*points, (target.x - HEAD, port)]))

    # ---- heights

    def _extent(self, stop: ColumnPlace) -> tuple[float, float]:
        """Return how far a stop reaches above and below the height of its edges."""
        if stop.lane:
            return LANE, LANE
        card = self.cards[stop.item]
        return card.height / 2 + (ABOVE if card.above else 0.0), card.height / 2

    def _find_heights(self) -> None:
        stops = self.stops
        for column in stops:
            self._settle_column(column, [0.0] * len(column))
        for sweep in range(SWEEPS):
            for column in stops[1:]:
                self._towards(column, lambda stop: stop.before)
            for column in reversed(stops[:-1]):
                self._towards(column, lambda stop: stop.after)
            for column in stops if sweep == SWEEPS - 1 else ():
                self._towards(column, lambda stop: [*stop.before, *stop.after])
        for _ in range(STRAIGHT):
            self._straighten()
        for column in stops:  # items that the moved lanes left behind
            self._towards(column, lambda stop: [] if stop.lane else [*stop.before, *stop.after], RIGID)
        least = min((self.found[stop] - self._extent(stop)[0] for stop in self.found), default=0.0)
        self.found = {stop: height - least + MARGIN for stop, height in self.found.items()}

    def _towards(
        self, column: Sequence[ColumnPlace], near: Callable[[ColumnPlace], Sequence[ColumnPlace]], stiff: float = STIFF
    ) -> None:
        """Move the stops of a column towards the medians of their neighbours."""
        found = self.found
        middles = [median([found[other] for other in near(stop)] or [found[stop]]) for stop in column]
        self._settle_column(column, middles, stiff)

    def _straighten(self) -> None:
        """Bring the lanes of an edge to one height, their median; items stay near their places."""
        lanes: dict[Item, list[float]] = {}
        for stop, height in self.found.items():
            if stop.lane:
                lanes.setdefault(stop.item, []).append(height)
        middle = {item: median(heights) for item, heights in lanes.items()}
        for column in self.stops:
            self._settle_column(column, [middle[s.item] if s.lane else self.found[s] for s in column], RIGID)

    def _settle_column(self, column: Sequence[ColumnPlace], wanted: Sequence[float], stiff: float = STIFF) -> None:
        """Set the heights nearest to the wanted ones (least squares) without overlap.

        Without the distances between neighbours, wanted heights only have to increase: pool those that decrease
        (isotonic regression), then add the distances.
        """
        offsets = [0.0] * min(len(column), 1)
        for above, below in pairwise(column):
            offsets.append(offsets[-1] + (self._extent(above)[1] + GAP + self._extent(below)[0]))
        pools: list[tuple[float, float, int]] = []  # mean, weight, count
        for stop, want, off in zip(column, wanted, offsets, strict=True):
            mean, weight, count = want - off, stiff if stop.lane else 1.0, 1
            while pools and pools[-1][0] >= mean:
                other, heavy, many = pools.pop()
                mean = (mean * weight + other * heavy) / (weight + heavy)
                weight, count = weight + heavy, count + many
            pools.append((mean, weight, count))
        means = [mean for mean, _, count in pools for _ in range(count)]
        for stop, mean, off in zip(column, means, offsets, strict=True):
            self.found[stop] = mean + off


def bend(start: Point, end: Point) -> Cubic:
    """Return a cubic that is horizontal at both ends."""
    middle = (start[0] + end[0]) / 2
    return start, (middle, start[1]), (middle, end[1]), end
