"""`Card`: what is written on the node of an item, and how much room that takes."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from ...scalar.sums import Row, Total
from ...scalar.value import Value
from ..ink.text import MINUS, chip_digits, exponent, measure, number
from .folds import Item

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
    high = max(HIGH, 2 * AIR + (PORT - 1) * (len(item.operands) - 1))
    name = short(item.name)
    if item.kind in ("fold", "row"):  # its name and class, and below how many it holds
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


# ---- How operations and numbers are written on nodes.

SIGNS = {
    "add": "+", "sub": MINUS, "mul": "×", "div": "/", "neg": MINUS, "square": "**2", "lt": "<", "le": "≤", "gt": ">",
    "ge": "≥", "first_max": "max", "held_max": "max",
}  # fmt: skip
"""Operations that are not written by their names."""

TINY = 0.005
"""Up to this a number is written with an exponent: two decimals would say 0."""
HUGE = 9999.5
"""From here on as well."""


def figure_of(value: float, digits: int | None = None) -> str:
    """A number on a node: two decimals or fewer, ``−2e−3`` where they would say nothing, ``0``, ``NaN``, ``+∞``.

    With `digits` there are that many decimals.
    """
    size = abs(value)
    if not size < HUGE or (size <= TINY if digits is None else not float(f"{size:.{digits}f}")):
        return exponent(value, max(0, (digits or 2) - 2), signed=True)
    return number(value, chip_digits(value) if digits is None else digits, signed=True)


def constant_text(value: float) -> str:
    """A constant as a person writes it: ``2``, ``0.5``, ``−1e−8``."""
    if not math.isfinite(value) or value == 0.0:
        return figure_of(value)
    text = f"{value:.4g}"
    mantissa, _, power = text.partition("e")
    return f"{mantissa}e{int(power)}".replace("-", MINUS) if power else text.replace("-", MINUS)


SUMS = {"identity": "sum", "square": "sum **2", "abs": "sum abs"}
"""How sums over a row of weights are written, by what is summed of each."""


def sign_of(item: Item) -> str:
    """How an operation is written."""
    if isinstance(item.of, Total):
        return SUMS[item.of.how]
    return SIGNS.get(item.op, item.op) if item.exponent is None else f"**{constant_text(item.exponent)}"


def signs_of(item: Item) -> str:
    """The most frequent operations of a fold."""
    found = [SIGNS.get(op, op) for op, _ in Counter(filter(None, map(_op, item.held))).most_common()]
    return ", ".join([*found[:3], "…"] if len(found) > 4 else found)


def _op(of: object) -> str:
    return of.op if isinstance(of, Value) else ""
