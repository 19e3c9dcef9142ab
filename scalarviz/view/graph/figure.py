"""The figure of a layout: nodes with their numbers, edges with their heads, and the legend."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ...run.questions.ranges import extent
from ..ink.figure import Figure
from ..ink.maps import get_map, text_colour
from ..ink.sketch import Cubic, Point, Sketch
from ..ink.text import measure
from ..ink.theme import Theme, mixed
from .cards import AIR, BEHIND, SIZE, Card
from .folds import Item
from .layout import HEAD, MARGIN, Box, Edge, Layout

RADIUS = 7.0
SHARE = 0.8
"""Of the map that the largest weight has: beside cubes it is all of it, as theirs."""
LEGEND = (138.0, 46.0)
"""Width and height of the legend."""
THIN = 1.4
"""Pixels of an edge."""
AIR_ABOVE = 16.0
"""Above the legend, where it has a line of its own."""


class Palette:
    """The colours of one look."""

    def __init__(self, theme: Theme, items: Sequence[Item], share: float, v: float | None) -> None:
        self.theme, self._share = theme, share
        self.page, self.ground = theme.background, theme.panel
        self.cell = _hex(mixed(theme.text3, theme.panel, 0.28))
        self.stripe = _hex(mixed(theme.text3, theme.panel, 0.4))
        self.frame, self.rule, self.edge = theme.flow, theme.border, theme.text3
        numbers = [node.value for item in items for node in item.members if node.kind == "weight"]
        self._scale = extent(np.array(numbers, np.float64)) if v is None else v
        self._map = get_map("weight", theme)

    def weight(self, value: float) -> tuple[str, str]:
        """The ground of a weight and the text on it."""
        if math.isnan(value):
            return self.ground, self.theme.text1
        place = self._share * float(np.clip(value / self._scale, -1.0, 1.0))
        colour = self._map(place)
        return _hex(tuple(colour)), text_colour(colour)


def ink_of(
    layout: Layout,
    theme: Theme,
    of: str,
    *,
    said: Callable[[Item], str] = lambda item: "",
    share: float = SHARE,
    v: float | None = None,
    wrong: str = "",
) -> Figure:
    """The figure."""
    palette = Palette(theme, [box.item for box in layout.boxes], share, v)
    ends = {id(edge.source) for edge in layout.edges}
    parts = [_edges(layout.edges, palette)]
    for box in layout.boxes:
        parts.append(Sketch(tip=said(box.item)))
        _node(parts[-1], box, palette, root=id(box) not in ends)
    corner, size = _corner(layout)
    parts.append(Sketch(cut=False))
    _legend(parts[-1], corner, palette, of, any(box.item.node.grad is not None for box in layout.boxes))
    width, height = size
    if wrong:
        parts.append(Sketch())
        height += AIR_ABOVE + SIZE
        parts[-1].text(MARGIN, height, wrong, SIZE, theme.text1, bold=True)
        width = max(width, MARGIN + parts[-1].texts[0].width)
    figure, ground = Figure(math.ceil(width + MARGIN), math.ceil(height + MARGIN)), Sketch()
    ground.rect(0.0, 0.0, figure.width, figure.height, fill=palette.page)
    figure.parts = [ground, *parts]
    return figure


def _hex(colour: Sequence[float]) -> str:
    return "#" + "".join(f"{round(255 * float(part)):02x}" for part in colour[:3])


# ---- nodes


def _node(ink: Sketch, box: Box, palette: Palette, *, root: bool) -> None:
    card, theme = box.card, palette.theme
    x, y, width, height = box.x, box.y, box.width, box.height
    if card.folded:
        width -= BEHIND
        ink.rect(x + BEHIND, y - BEHIND, width, height, fill=palette.ground, stroke=palette.frame, radius=RADIUS)
    ink.rect(x, y, width, height, fill=palette.ground, radius=RADIUS)
    colour = theme.text1
    if box.item.node.kind == "weight" and not card.folded:  # the upper half, rounded above only
        fill, colour = palette.weight(box.item.node.value)
        ink.rect(x, y, width, height / 2, fill=fill, radius=RADIUS)
        ink.rect(x, y + RADIUS, width, height / 2 - RADIUS, fill=fill)
    if card.cell:  # at the left, rounded there only
        ink.rect(x, y, card.cell, height, fill=palette.cell, radius=RADIUS)
        ink.rect(x + RADIUS, y, card.cell - RADIUS, height, fill=palette.cell)
        ink.text(x + card.cell / 2, y + height / 2 + 5, card.sign, SIZE, theme.text1, bold=True, anchor="middle")
    _numbers(ink, card, (x, y, width, height), palette, colour)
    edge, border = (theme.text1, 1.8) if root else (palette.frame, 1.0)
    ink.rect(x, y, width, height, stroke=edge, border=border, radius=RADIUS)
    if card.above:
        over = theme.text1 if root else theme.text2
        ink.text(box.x + box.width / 2, y - 8, card.above, SIZE + 1, over, bold=True, anchor="middle")


def _numbers(ink: Sketch, card: Card, frame: tuple[float, float, float, float], palette: Palette, colour: str) -> None:
    """Name and value in the upper line, the gradient in the lower one."""
    x, y, width, height = frame
    theme, right, middle = palette.theme, x + width - AIR, y + height / 2
    if card.lines == 1:
        ink.text(right, middle + 5, card.value, SIZE, theme.text1, anchor="right")
        ink.text(x + AIR, middle + 5, card.left, SIZE, theme.text2, bold=True)
        return
    upper, lower = middle - 7, middle + 16
    ink.rect(x + card.cell, middle - 0.5, width - card.cell, 1, fill=palette.rule)
    ink.text(x + AIR, upper, card.left, SIZE, colour, bold=True)
    quiet = theme.text2 if card.folded else colour
    ink.text(right, upper, card.value, SIZE, quiet, bold=bool(card.cell), anchor="right")
    if card.gradient is None:
        _hatch(ink, (x + card.cell + 1, middle + 1, width - card.cell - 2, 21), palette)
    else:
        ink.text(right, lower, card.gradient, SIZE, theme.text2 if card.folded else theme.pulse, anchor="right")


def _hatch(ink: Sketch, frame: tuple[float, float, float, float], palette: Palette) -> None:
    """Slanted stripes inside a rectangle whose lower corners are rounded: what is not there has no number."""
    x, y, width, height = frame
    inset, thick, step = 5.0, 1.2, 6.0
    at, right, top, bottom = x + inset, x + width - inset, y + inset - 1, y + height - inset
    rise = bottom - top
    while at + rise <= right + 0.01:
        ink.polygon(((at, bottom), (at + thick, bottom), (at + rise + thick, top), (at + rise, top)), palette.stripe)
        at += step


# ---- edges


def _edges(edges: Iterable[Edge], palette: Palette) -> Sketch:
    """All edges; the common part of those from one node is drawn once."""
    ink, drawn = Sketch(), set[Cubic | Point]()
    for edge in edges:
        for piece in edge.pieces:
            if piece not in drawn:
                ink.curve((piece,), palette.edge, THIN)
        x, y = edge.pieces[-1][3]
        if (x, y) not in drawn:
            ink.polygon(((x + HEAD, y), (x, y - 3.2), (x, y + 3.2)), palette.edge)
        drawn |= {*edge.pieces, (x, y)}
    return ink


# ---- the legend


def _corner(layout: Layout) -> tuple[Point, tuple[float, float]]:
    """Where the legend stands, and the size of the whole: in the lower right corner, below all where that is taken."""
    wide, high = LEGEND
    width = max(layout.width, wide + MARGIN)
    x, y = width - wide, layout.height - high
    if (
        y >= MARGIN
        and not any(_meets(box, x, y) for box in layout.boxes)
        and not any(_runs(e, x, y) for e in layout.edges)
    ):
        return (x, y), (width, layout.height)
    return (x, layout.height + AIR_ABOVE), (width, layout.height + AIR_ABOVE + high)


def _meets(box: Box, x: float, y: float) -> bool:
    return box.x + box.width > x - AIR_ABOVE and box.y + box.height > y - AIR_ABOVE


def _runs(edge: Edge, x: float, y: float) -> bool:
    points = [point for piece in edge.pieces for point in piece]
    return max(p[0] for p in points) > x - AIR_ABOVE and max(p[1] for p in points) > y - AIR_ABOVE


def _legend(ink: Sketch, corner: Point, palette: Palette, of: str, computed: bool) -> None:
    (x, y), (width, height), theme = corner, LEGEND, palette.theme
    middle = y + height / 2
    ink.rect(x, y, width, height, stroke=palette.rule, radius=RADIUS)  # the first: whether it is seen decides of all
    ink.rect(x, middle - 0.5, width, 1, fill=palette.rule)
    ink.text(x + width / 2, middle - 7, "name, value", SIZE, theme.text2, anchor="middle")
    if computed:
        words = f"gradient of {of}" if of and measure(f"gradient of {of}", SIZE) <= width - 2 * AIR else "gradient"
        ink.text(x + width / 2, middle + 16, words, SIZE, theme.pulse, anchor="middle")
        return
    words = "no gradient yet"
    room = measure(words, SIZE) + 2 * AIR
    ink.text(x + AIR, middle + 16, words, SIZE, theme.text2)
    _hatch(ink, (x + room - AIR, middle + 1, width - room + AIR, 21), palette)
