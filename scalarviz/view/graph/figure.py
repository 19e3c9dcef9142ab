"""The ink of a layout: nodes with their numbers, edges with their heads, and the legend."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ...run.questions.ranges import extent
from ..draw.maps import get_map, text_colour
from ..draw.text import measure
from ..draw.theme import Theme, mixed
from .cards import AIR, BEHIND, SIZE, Card
from .folds import Item
from .ink import Group, Ink, Letters, Path, Polygon, Rect, Shape
from .layout import HEAD, MARGIN, Box, Edge, Layout, Point

RADIUS = 7.0
SHARE = 0.8
"""Of the map that the largest weight has: beside cubes it is all of it, as theirs."""
LEGEND = (138.0, 46.0)
"""Width and height of the legend."""
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
) -> Ink:
    """The figure.

    Parameters
    ----------
    layout : Layout
    theme : Theme
    of : str
        What the gradients are derivatives of, for the legend.
    said : callable
        What is said of an item where a pointer rests on it.
    share : float
        Of the colour map that the largest weight has.
    v : float, optional
        What that weight is: the end of the colours' range; default: the graph's own.
    wrong : str
        What is wrong with the numbers, a line below all.
    """
    palette = Palette(theme, [box.item for box in layout.boxes], share, v)
    ends = {id(edge.source) for edge in layout.edges}
    edges = Group([shape for edge in layout.edges for shape in _edge(edge, palette)])
    edges.shapes = list(dict.fromkeys(edges.shapes))  # the common part of edges from one node
    nodes = [Group(_node(box, palette, root=id(box) not in ends), said(box.item)) for box in layout.boxes]
    corner, size = _corner(layout)
    computed = any(box.item.node.grad is not None for box in layout.boxes)
    legend = Group(_legend(corner, palette, of, computed), cut=False)  # its frame comes first
    words = [Letters(MARGIN, size[1] + AIR_ABOVE + SIZE, wrong, SIZE, theme.text1, True)] if wrong else []
    width, height = (max(size[0], MARGIN + words[0].width), size[1] + AIR_ABOVE + SIZE) if words else size
    ink = Ink(math.ceil(width + MARGIN), math.ceil(height + MARGIN))
    ground = Group([Rect(0.0, 0.0, ink.width, ink.height, fill=palette.page)])
    ink.groups = [ground, edges, *nodes, legend, *([Group(list[Shape](words))] if words else [])]
    return ink


def _hex(colour: Sequence[float]) -> str:
    return "#" + "".join(f"{round(255 * float(part)):02x}" for part in colour[:3])


# ---- nodes


def _node(box: Box, palette: Palette, *, root: bool) -> list[Shape]:
    card, theme = box.card, palette.theme
    shapes: list[Shape] = []
    x, y, width, height = box.x, box.y, box.width, box.height
    if card.folded:
        width -= BEHIND
        shapes.append(Rect(x + BEHIND, y - BEHIND, width, height, palette.ground, palette.frame, 1.0, RADIUS))
    shapes.append(Rect(x, y, width, height, palette.ground, None, 0.0, RADIUS))
    ink = theme.text1
    if box.item.node.kind == "weight" and not card.folded:
        fill, ink = palette.weight(box.item.node.value)
        shapes += _upper(x, y, width, height / 2, fill)
    if card.cell:
        shapes += _left(x, y, card.cell, height, palette.cell)
        shapes.append(Letters(x + card.cell / 2, y + height / 2 + 5, card.sign, SIZE, theme.text1, True, "middle"))
    shapes += _numbers(card, (x, y, width, height), palette, ink)
    shapes.append(Rect(x, y, width, height, None, theme.text1 if root else palette.frame, 1.8 if root else 1.0, RADIUS))
    if card.above:
        middle = box.x + box.width / 2
        shapes.append(
            Letters(middle, y - 8, card.above, SIZE + 1, theme.text1 if root else theme.text2, True, "middle")
        )
    return shapes


def _upper(x: float, y: float, width: float, height: float, fill: str) -> list[Shape]:
    """The upper half of a node, rounded above only."""
    return [Rect(x, y, width, height, fill, None, 0.0, RADIUS), Rect(x, y + RADIUS, width, height - RADIUS, fill)]


def _left(x: float, y: float, width: float, height: float, fill: str) -> list[Shape]:
    """The cell at the left of a node, rounded there only."""
    return [Rect(x, y, width, height, fill, None, 0.0, RADIUS), Rect(x + RADIUS, y, width - RADIUS, height, fill)]


def _numbers(card: Card, frame: tuple[float, float, float, float], palette: Palette, ink: str) -> list[Shape]:
    """Name and value in the upper line, the gradient in the lower one."""
    x, y, width, height = frame
    theme, right = palette.theme, x + width - AIR
    if card.lines == 1:
        base = y + height / 2 + 5
        found: list[Shape] = [Letters(right, base, card.value, SIZE, theme.text1, False, "right")]
        return found + ([Letters(x + AIR, base, card.left, SIZE, theme.text2, True)] if card.left else [])
    middle = y + height / 2
    upper, lower = middle - 7, middle + 16
    shapes: list[Shape] = [Rect(x + card.cell, middle - 0.5, width - card.cell, 1, palette.rule)]
    if card.left:
        shapes.append(Letters(x + AIR, upper, card.left, SIZE, ink, True))
    quiet = theme.text2 if card.folded else ink
    shapes.append(Letters(right, upper, card.value, SIZE, quiet, bool(card.cell), "right"))
    if card.gradient is None:
        shapes += _hatch((x + card.cell + 1, middle + 1, width - card.cell - 2, 21), palette)
    else:
        colour = theme.text2 if card.folded else theme.pulse
        shapes.append(Letters(right, lower, card.gradient, SIZE, colour, False, "right"))
    return shapes


def _hatch(frame: tuple[float, float, float, float], palette: Palette) -> list[Shape]:
    """Slanted stripes inside a rectangle whose lower corners are rounded: what is not there has no number."""
    x, y, width, height = frame
    inset, thick, step = 5.0, 1.2, 6.0
    left, right, top, bottom = x + inset, x + width - inset, y + inset - 1, y + height - inset
    stripes: list[Shape] = []
    rise = bottom - top
    at = left
    while at + rise <= right + 0.01:
        stripes.append(
            Polygon(((at, bottom), (at + thick, bottom), (at + rise + thick, top), (at + rise, top)), palette.stripe)
        )
        at += step
    return stripes


# ---- edges


def _edge(edge: Edge, palette: Palette) -> list[Shape]:
    x, y = edge.pieces[-1][3]
    head = Polygon(((x + HEAD, y), (x, y - 3.2), (x, y + 3.2)), palette.edge)
    return [*(Path((piece,), palette.edge) for piece in edge.pieces), head]


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


def _legend(corner: Point, palette: Palette, of: str, computed: bool) -> list[Shape]:
    (x, y), (width, height), theme = corner, LEGEND, palette.theme
    middle = y + height / 2
    shapes: list[Shape] = [
        Rect(x, y, width, height, None, palette.rule, 1.0, RADIUS),
        Rect(x, middle - 0.5, width, 1, palette.rule),
        Letters(x + width / 2, middle - 7, "name, value", SIZE, theme.text2, False, "middle"),
    ]
    if computed:
        words = f"gradient of {of}" if of and measure(f"gradient of {of}", SIZE) <= width - 2 * AIR else "gradient"
        return [*shapes, Letters(x + width / 2, middle + 16, words, SIZE, theme.pulse, False, "middle")]
    words = "no gradient yet"
    room = measure(words, SIZE) + 2 * AIR
    shapes.append(Letters(x + AIR, middle + 16, words, SIZE, theme.text2))
    return [*shapes, *_hatch((x + room - AIR, middle + 1, width - room + AIR, 21), palette)]
