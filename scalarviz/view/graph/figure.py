"""The figure of a graph: from results to drawn items, nodes with their numbers, edges with arrow heads, the legend."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ...contexts import collection_paused
from ...nn import Module
from ...run.opened.rule import Writer, text_of
from ...run.questions.ranges import weight_extent
from ...scalar.array import Values
from ...scalar.sums import Row
from ...scalar.value import Value
from ...scalar.weight import Weight
from ...tape import Node, Tape
from ..ink.figure import Figure
from ..ink.sketch import Box as Frame
from ..ink.sketch import Cubic, Point, Sketch
from ..ink.text import measure
from ..ink.theme import Theme, get_map, hexed, hue, mixed, text_colour
from ..ink.widgets import pointer_label
from .layout import AIR, BEHIND, HEAD, LOW, MARGIN, SIZE, Box, Card, Edge, Layout, figure_of, item_words
from .nodes import LONG, MANY, MOST, Calls, FoldedGraph, GraphObjects, Item, Key, key_of, owners_of, walked

RADIUS = 7.0
SHARE = 0.8
"""Share of the colour map for the largest weight; beside cubes it is 1, as theirs."""
LEGEND = (138.0, 46.0)
"""Width and height of the legend."""
THIN = 1.4
"""Width of an edge in pixels."""
AIR_ABOVE = 16.0
"""Pixels above the legend when it has a line of its own."""


LOSS_NODE = "the loss"
"""Name of a formula's last node in an opened step."""


class NodeNumbers(NamedTuple):
    """The value of a node, and the gradient of the loss with respect to it; None: not computed yet."""

    value: float | None
    delta: float | None = None


class GraphFigure(Figure):
    """The figure. Each node is a spot: its value is the node's index in the layout, its tip describes the node.

    `of` names the result of the gradients, for the legend; None: no legend. The largest weight has a `share` of the
    colour map; it is `v`, by default that of the graph. `wrong` names active mistakes, in a line at the bottom. Nodes
    in `seen` show these numbers, and the node `now` is highlighted.
    """

    def __init__(
        self, layout: Layout, theme: Theme, of: str | None, *, share: float = SHARE, v: float | None = None,
        wrong: str = "", seen: Mapping[Item, NodeNumbers] = MappingProxyType({}), now: Item | None = None,
    ) -> None:  # fmt: skip
        self.layout, self.theme, self._share, self._seen, self._now = layout, theme, share, seen, now
        weights = (of.data for box in layout.boxes for of in box.item.held if isinstance(of, Weight))
        self._v = v if v is not None else weight_extent(np.array([*weights], np.float64))
        self._map = get_map("weight", theme)
        self._cell, self._stripe = (hexed(mixed(theme.text3, theme.panel, share)) for share in (0.28, 0.4))
        ends, ground, parts = {id(edge.source) for edge in layout.edges}, Sketch(), [self._edges(layout.edges)]
        for number, box in enumerate(layout.boxes):
            parts.append(Sketch())
            parts[-1].spot((box.x, box.y, box.width, box.height), "node", number, tip=item_words(box.item))
            self._node(parts[-1], box, root=id(box) not in ends)
        corner, width, height = _corner(layout) if of is not None else ((0.0, 0.0), layout.width, layout.height)
        if of is not None:
            parts.append(Sketch())
            self._legend(parts[-1], corner, of, any(box.item.grad is not None for box in layout.boxes))
        if wrong:
            parts.append(Sketch())
            height += AIR_ABOVE + SIZE
            parts[-1].text(MARGIN, height, wrong, SIZE, theme.text1, bold=True)
            width = max(width, MARGIN + parts[-1].texts[0].width)
        super().__init__(math.ceil(width + MARGIN), math.ceil(height + MARGIN), [ground, *parts])
        ground.rect(0.0, 0.0, self.width, self.height, fill=theme.background)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        return self.width, self.height

    def box_at(self, at: Point) -> Box | None:
        """Return the node at a point of the figure, or None."""
        spot = self.spot(at)
        return None if spot is None else self.layout.boxes[int(spot.value)]

    def _weight(self, value: float) -> tuple[str, str]:
        """Return the fill colour of a weight and the colour of the text on it."""
        if math.isnan(value):
            return self.theme.panel, self.theme.text1
        colour = self._map(self._share * float(np.clip(value / self._v, -1.0, 1.0)))
        return hexed(colour), text_colour(colour)

    def _node(self, ink: Sketch, box: Box, *, root: bool) -> None:
        """Draw a node with its numbers; `root`: no other node uses it."""
        card, theme, value, seen = box.card, self.theme, box.item.value, self._seen.get(box.item)
        if seen is not None:
            value = math.nan if seen.value is None else seen.value
            said = [None if x is None else figure_of(x) for x in seen]
            card = replace(card, value=said[0] or "", gradient=said[1])
        x, y, width, height = box.x, box.y, box.width, box.height
        if card.folded:
            width -= BEHIND
            ink.rect(x + BEHIND, y - BEHIND, width, height, fill=theme.panel, stroke=theme.flow, radius=RADIUS)
        ink.rect(x, y, width, height, fill=theme.panel, radius=RADIUS)
        colour = theme.text1
        if box.item.kind == "weight":  # the upper half: only the upper corners are round
            fill, colour = self._weight(value)
            ink.rect(x, y, width, height / 2, fill=fill, radius=RADIUS)
            ink.rect(x, y + RADIUS, width, height / 2 - RADIUS, fill=fill)
        if card.cell:  # at the left: only the left corners are round
            ink.rect(x, y, card.cell, height, fill=self._cell, radius=RADIUS)
            ink.rect(x + RADIUS, y, card.cell - RADIUS, height, fill=self._cell)
            ink.text(x + card.cell / 2, y + height / 2 + 5, card.sign, SIZE, theme.text1, bold=True, anchor="middle")
        self._numbers(ink, card, (x, y, width, height), colour)
        edge, border = (theme.text1, 1.8) if root else (theme.flow, 1.0)
        edge, border = (theme.pulse, 3.0) if box.item is self._now else (edge, border)
        ink.rect(x, y, width, height, stroke=edge, border=border, radius=RADIUS)
        over = theme.text1 if root else theme.text2
        ink.text(box.x + box.width / 2, y - 8, card.above, SIZE + 1, over, bold=True, anchor="middle")

    def _numbers(self, ink: Sketch, card: Card, frame: Frame, colour: str) -> None:
        """Draw name and value in the upper line, the gradient in the lower one."""
        x, y, width, height = frame
        theme, right, middle = self.theme, x + width - AIR, y + height / 2
        if card.height == LOW:
            ink.text(right, middle + 5, card.value, SIZE, theme.text1, anchor="right")
            ink.text(x + AIR, middle + 5, card.left, SIZE, theme.text2, bold=True)
            return
        ink.rect(x + card.cell, middle - 0.5, width - card.cell, 1, fill=theme.border)
        ink.text(x + AIR, middle - 7, card.left, SIZE, colour, bold=True)
        quiet = theme.text2 if card.folded else colour
        if not card.value:
            self._hatch(ink, (x + card.cell + 1, y + 2, width - card.cell - 2, 21))
        ink.text(right, middle - 7, card.value, SIZE, quiet, bold=bool(card.cell), anchor="right")
        if card.gradient is None:
            self._hatch(ink, (x + card.cell + 1, middle + 1, width - card.cell - 2, 21))
        else:
            said = theme.text2 if card.folded else hue(theme, card.gradient)
            ink.text(right, middle + 16, card.gradient, SIZE, said, anchor="right")

    def _hatch(self, ink: Sketch, frame: Frame) -> None:
        """Draw slanted stripes in a rectangle with rounded lower corners, for a missing number."""
        x, y, width, height = frame
        inset, thick, step = 5.0, 1.2, 6.0
        at, right, top, foot = x + inset, x + width - inset, y + inset - 1, y + height - inset
        rise = foot - top
        while at + rise <= right + 0.01:
            ink.polygon(((at, foot), (at + thick, foot), (at + rise + thick, top), (at + rise, top)), self._stripe)
            at += step

    def _edges(self, edges: Iterable[Edge]) -> Sketch:
        """Draw all edges; a common part of edges from one node is drawn once."""
        ink, drawn = Sketch(), set[Cubic | Point]()
        for edge in edges:
            for piece in edge.pieces:
                if piece not in drawn:
                    ink.curve((piece,), self.theme.text3, THIN)
            x, y = edge.pieces[-1][3]
            if (x, y) not in drawn:
                ink.polygon(((x + HEAD, y), (x, y - 3.2), (x, y + 3.2)), self.theme.text3)
            drawn |= {*edge.pieces, (x, y)}
        return ink

    def _legend(self, ink: Sketch, corner: Point, of: str, computed: bool) -> None:
        """Draw which number is where in a node, and the result that the gradients are of."""
        (x, y), (width, height), theme = corner, LEGEND, self.theme
        middle = y + height / 2
        ink.rect(x, y, width, height, stroke=theme.border, radius=RADIUS)
        ink.rect(x, middle - 0.5, width, 1, fill=theme.border)
        ink.text(x + width / 2, middle - 7, "name, value", SIZE, theme.text2, anchor="middle")
        if computed:
            words = f"gradient of {of}" if of and measure(f"gradient of {of}", SIZE) <= width - 2 * AIR else "gradient"
            ink.text(x + width / 2, middle + 16, words, SIZE, theme.pulse, anchor="middle")
            return
        words = "no gradient yet"
        room = measure(words, SIZE) + 2 * AIR
        ink.text(x + AIR, middle + 16, words, SIZE, theme.text2)
        self._hatch(ink, (x + room - AIR, middle + 1, width - room + AIR, 21))


def _corner(layout: Layout) -> tuple[Point, float, float]:
    """Return the legend's corner and the figure's size. The legend is at the lower right, or below everything."""
    wide, high = LEGEND
    width = max(layout.width, wide + MARGIN)
    x, y = width - wide, layout.height - high
    corners = [[(box.x + box.width, box.y + box.height)] for box in layout.boxes]
    corners += [[point for piece in edge.pieces for point in piece] for edge in layout.edges]
    reach = (map(max, zip(*points, strict=True)) for points in corners)
    if y < MARGIN or any(right > x - AIR_ABOVE and foot > y - AIR_ABOVE for right, foot in reach):
        y = layout.height + AIR_ABOVE
    return (x, y), width, max(layout.height, y + high)


def node_label(box: Box, at: Point, size: tuple[float, float], theme: Theme) -> Sketch:
    """Return the label of a node beside the pointer."""
    head, *more = item_words(box.item).splitlines()
    return pointer_label(at, size, head, "", more, theme)


# ---- From results to drawn items, as one function.


@dataclass(frozen=True, slots=True)
class Wish:
    """Options for drawing a graph."""

    chains: bool = False  # whether sums of sums are drawn as they are
    unfold: tuple[str, ...] = ()  # names that are not folded
    whole: bool = False  # whether nothing is folded
    names: Mapping[int, str] = field(default_factory=dict)
    digits: int | None = None  # decimals of the numbers; None: two or fewer


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """The drawn part of a graph."""

    objects: Sequence[Value | Row]  # all nodes of it
    items: list[Item]  # operands before results
    folds: tuple[str, ...]  # what can be unfolded

    @property
    def of(self) -> str:
        """The name of the one item without users; empty for several, or without a name."""
        used = {operand for item in self.items for operand in item.operands}
        ends = [item for item in self.items if item not in used]
        return ends[0].name if len(ends) == 1 and not ends[0].folded else ""


@collection_paused()
def shown_of(roots: Sequence[Value], wish: Wish, model: Module | None = None, calls: Calls | None = None) -> Shown:
    """Return the drawn part of the graph that leads to `roots`, with the current numbers."""
    unfold = frozenset(wish.unfold)
    walk = walked(roots, unfold, LONG, None if wish.whole else MOST)
    large = walk is None
    if walk is None:
        walk = walked(roots, unfold, MANY)
        assert walk is not None
    ends = set(map(key_of, roots))
    graph = FoldedGraph(walk, owners_of(walk, model, calls), wish.names, gradients_of(walk), wish.unfold)
    graph.shorten(ends, sums=not wish.chains)
    folds = graph.folds()
    graph.check(folds)
    return Shown(list(graph.objects.values()), graph.items(ends, whole=not large), tuple(folds))


def formulas_of(items: Sequence[Item]) -> dict[str, Item]:
    """Return the items by their formulas of numbers and named weights, the names of the micro-steps of a formula.

    A sum of sums is one item; its inner sums come before its own.
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
    """Return the numbers of each node in an opened step, and the current item; the node without users is the loss.

    A node that is no micro-step of its own is a part of the loss, and is computed with it.
    """
    words, last = formulas_of([box.item for box in layout.boxes]), layout.boxes[-1].item
    words |= {} if any(said in nodes and item is last for said, item in words.items()) else {LOSS_NODE: last}
    seen: dict[Item, NodeNumbers] = {}
    for said, item in words.items():
        if (now := nodes.get(said)) is not None and (now.value is not None or item not in seen):
            seen[item] = now  # of a sum of sums, the last one computed
    loss = seen.get(last)
    for item in words.values():
        if loss is not None and item.op and item not in seen:
            value, slope = (None if at is None else own for at, own in zip(loss, (item.value, item.grad), strict=True))
            seen[item] = NodeNumbers(value, slope)
    return seen, words.get(name)


# ---- Which gradients were computed: a 0 that was not computed must not be shown.


def gradients_of(walk: GraphObjects) -> dict[Key, float]:
    """Return the gradients of a graph: none for nodes that no ``backward()`` reached, NaN for a row that one reached.

    Weights and rows know whether theirs was computed. Another node was reached if its gradient is not 0; so were all
    nodes that get a derivative from it, even with a gradient of 0.
    """
    found: dict[Key, float] = {}
    lit: set[Key] = set()
    for key, of in reversed(walk.objects.items()):
        if type(of) is Value and of.grad == 0.0 and key not in lit:  # nearly all are, before ``backward()``
            continue
        if isinstance(of, Row):
            if np.asarray(of.block.computed[of.start : of.start + of.length]).any():
                found[key] = math.nan
        elif isinstance(of, Weight):
            if of.has_grad:
                found[key] = of.grad
        elif of.grad != 0.0 or key in lit:
            found[key], op = of.grad, of._op
            below = walk.below[key]  # conditions and the like get no derivative
            lit.update(below if op is None or not op.partly else [below[k] for k in op.flowing])
    return found


# ---- Nodes without a name get that of a variable in the calling code.

LISTED = 64
"""Most elements of a list or array that are searched."""


def variables(scope: Mapping[str, Any]) -> dict[int, str]:
    """Return names of Values by their ids: variables, and elements of lists and arrays as ``h[0]``.

    The first name counts. Names that begin with an underscore are left out, because notebooks store results under such
    names.
    """
    found: dict[int, str] = {}
    listed: dict[int, str] = {}
    for name, held in list(scope.items()):
        if name.startswith("_"):
            continue
        if isinstance(held, Value):
            found.setdefault(id(held), name)
        elif isinstance(held, list | tuple | Values):
            places = np.ndenumerate(held) if isinstance(held, Values) else (((k,), item) for k, item in enumerate(held))
            for place, item in islice(places, LISTED):
                if isinstance(item, Value):
                    listed.setdefault(id(item), name + "".join(f"[{k}]" for k in place))
    return {**listed, **found}
