"""The figure of a layout: nodes with their numbers, edges with arrow heads, and the legend."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ...run.questions.ranges import weight_extent
from ...scalar.weight import Weight
from ..ink.figure import Figure
from ..ink.maps import get_map, hexed, text_colour
from ..ink.overlay import pointer_label
from ..ink.sketch import Box as Frame
from ..ink.sketch import Cubic, Point, Sketch
from ..ink.text import measure
from ..ink.theme import Theme, hue, mixed
from .folds import Item
from .layout import AIR, BEHIND, HEAD, LOW, MARGIN, SIZE, Box, Card, Edge, Layout, figure_of, item_words

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
