"""`Card`: what is written on the node of an item, and how much room that takes."""

from __future__ import annotations

from dataclasses import dataclass

from ..draw.text import measure
from .folds import Item, counted
from .signs import SIGNS, constant_text, figure_of

SIZE = 13
"""Of the letters, in pixels."""
HIGH, LOW = 46.0, 24.0
"""Height of a node, and of a constant without a gradient."""
NARROW = 70.0
"""The least width of a node with two lines."""
CELL, BODY, AIR = 24.0, 46.0, 7.0
"""The cell of an operation and the room of its numbers, at least; between a text and the edge."""
ABOVE = 22.0
"""Height of the name over a result."""
PORT = 7.0
"""Between two edges into one node."""


@dataclass(frozen=True, slots=True)
class Card:
    """The texts of a node, and its size.

    Attributes
    ----------
    left : str
        In the upper line at the left: the name of a leaf, or of a fold.
    above : str
        The name of a result.
    sign : str
        The operation.
    cell : float
        Width of the cell that the sign has, 0 without one.
    value : str
    gradient : str or None
        None: not computed, which is hatched.
    lines : int
        1 or 2.
    folded : bool
        Whether it stands for many.
    width, height : float
    """

    left: str
    above: str
    sign: str
    cell: float
    value: str
    gradient: str | None
    lines: int
    folded: bool
    width: float
    height: float

    @property
    def name_width(self) -> float:
        """Of the name above."""
        return measure(self.above, SIZE + 1, True) if self.above else 0.0


def card_of(item: Item, *, computed: bool, digits: int | None = None) -> Card:
    """The card of an item; `computed`: whether any gradient of the graph was; `digits`: decimals, by default few."""
    node = item.node
    high = max(HIGH, 2 * AIR + (PORT - 1) * (len(item.operands) - 1))
    if item.folded or node.kind == "row":
        return _many(item, high)
    value = figure_of(node.value, digits)
    gradient = None if node.grad is None else figure_of(node.grad, digits)
    if not node.leaf:
        sign = node.sign or SIGNS.get(node.op, node.op)
        cell = max(CELL, measure(sign, SIZE, True) + 12)
        body = max(BODY, measure(value, SIZE, True) + 2 * AIR, measure(gradient or "", SIZE) + 2 * AIR)
        return Card("", node.name, sign, cell, value, gradient, 2, False, cell + body, high)
    if node.kind == "leaf" and (not node.name or (computed and node.grad is None)):
        value = constant_text(node.value)
        return Card(node.name, "", "", 0.0, value, None, 1, False, _width(node.name, value, ""), LOW)
    return Card(node.name, "", "", 0.0, value, gradient, 2, False,
                max(NARROW, _width(node.name, value, gradient or "")), HIGH)  # fmt: skip


def _many(item: Item, high: float) -> Card:
    """A fold or a row: its name and class, and below how many it holds."""
    count, what = (item.weights, "weight") if item.weights else (
        counted(item.members), "number" if item.node.leaf else "node")  # fmt: skip
    said = f"{count:,} {what}{'' if count == 1 else 's'}"
    name = item.name or item.node.name
    return Card(name, "", "", 0.0, item.title, said, 2, True, max(NARROW, _width(name, item.title, said)), high)


def _width(left: str, right: str, below: str) -> float:
    """So that two texts stand beside each other and one below them."""
    beside = (measure(left, SIZE, True) + 8 if left else 0.0) + measure(right, SIZE)
    return max(beside, measure(below, SIZE)) + 2 * AIR
