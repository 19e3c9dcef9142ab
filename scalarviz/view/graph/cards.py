"""`Card`: what is written on the node of an item, and how much room that takes."""

from __future__ import annotations

from dataclasses import dataclass

from ...scalar.sums import Row
from ..ink.text import MINUS, measure
from .folds import Item, counted
from .nodes import SIGNS, constant_text, figure_of

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
BEHIND = 4.0
"""By how much the frame behind a fold stands out at the right and above."""
LONGEST_NAME = 26
"""Letters of a name that are written; a pointer is told all of them."""
PORT = 7.0
"""Between two edges into one node."""


@dataclass(frozen=True, slots=True)
class Card:
    """The texts of a node, and its size."""

    value: str
    gradient: str | None  # None: not computed, which is hatched
    width: float
    height: float = HIGH
    left: str = ""  # in the upper line at the left: the name of a leaf, or of a fold
    above: str = ""  # the name of a result
    sign: str = ""  # the operation
    cell: float = 0.0  # width of the cell that the sign has
    folded: bool = False  # whether it stands for many

    @property
    def name_width(self) -> float:
        """Of the name above."""
        return measure(self.above, SIZE + 1, True) if self.above else 0.0


def card_of(item: Item, *, computed: bool, digits: int | None = None) -> Card:
    """The card of an item; `computed`: whether any gradient of the graph was; `digits`: decimals, by default few."""
    node = item.node
    high = max(HIGH, 2 * AIR + (PORT - 1) * (len(item.operands) - 1))
    name = short(item.name or node.name)
    if item.folded or node.kind == "row":  # its name and class, and below how many it holds
        count, what = item.weights, "weight"
        if not count:
            count, what = counted(item.members), "number" if node.leaf else "node"
        title, said = short(item.title), f"{count:,} {what}{'' if count == 1 else 's'}"
        return Card(title, said, max(NARROW, _width(name, title, said)) + BEHIND, high, name, folded=True)
    value = figure_of(node.value, digits)
    gradient = None if node.grad is None else figure_of(node.grad, digits)
    if not node.leaf:
        sign = node.sign or SIGNS.get(node.op, node.op)
        cell = max(CELL, measure(sign, SIZE, True) + 12)
        body = max(BODY, measure(value, SIZE, True) + 2 * AIR, measure(gradient or "", SIZE) + 2 * AIR)
        return Card(value, gradient, cell + body, high, above=name, sign=sign, cell=cell)
    if node.kind == "leaf" and (not node.name or (computed and node.grad is None)):
        value = constant_text(node.value)
        return Card(value, None, _width(name, value, ""), LOW, name)
    return Card(value, gradient, max(NARROW, _width(name, value, gradient or "")), left=name)


def short(name: str) -> str:
    """A name in one line; where it is long, how it begins and how it ends."""
    line = " ".join(name.split())
    half = LONGEST_NAME // 2
    return line if len(line) <= LONGEST_NAME else f"{line[: half - 1]}…{line[-half:]}"


def _width(left: str, right: str, below: str) -> float:
    """So that two texts stand beside each other and one below them."""
    beside = (measure(left, SIZE, True) + 8 if left else 0.0) + measure(right, SIZE)
    return max(beside, measure(below, SIZE)) + 2 * AIR


# ---- What is said of a node on which a pointer rests: its operation, its shape, the derivative as the table has it.


def said_of(item: Item) -> str:
    """Lines of words about a node or a fold."""
    if item.folded:
        said = f"{item.name} {item.title}".strip()
        return f"{said}: {counted(item.members):,} nodes" + (f", {item.weights:,} weights" if item.weights else "")
    node, of = item.node, item.node.of
    name = f"{node.name}: " if node.name else ""
    if isinstance(of, Row):
        return f"{name}{node.count:,} weights"
    what = "weight" if node.kind == "weight" else "number" if node.leaf else f"{node.op} of {len(node.operands)}"
    lines = [f"{name}{what}", f"value {_plain(node.value)}"]
    lines += [] if node.grad is None else [f"gradient {_plain(node.grad)}"]
    if not node.leaf and of._op is not None:  # ``d/da: 1 - y * y``, from the table of operations
        entry = of._op.entry
        lines.append(f"{entry.name}({', '.join(entry.args)}) = {entry.value}")
        for arg, partial in zip(entry.args, entry.partials, strict=True):
            lines.append(f"d/d{arg}: {'none' if partial is None else partial}")
    return "\n".join(lines)


def _plain(value: float) -> str:
    return f"{value:.6g}".replace("-", MINUS)
