"""The least that a graph of scalars can be in Python: objects with slots on one tape; sums, products and ReLU alone.

No names, no checks, no formulas from a table, no recording, one graph at a time. It says what Python itself costs.
"""

from __future__ import annotations

from typing import Any, ClassVar


class Slot:
    """A number, its two operands and the derivatives by them."""

    __slots__ = ("a", "b", "by_a", "by_b", "data", "grad")

    tape: ClassVar[list[Slot]] = []

    def __init__(self, data: float) -> None:
        self.data, self.grad = data, 0.0

    def __add__(self, other: Any) -> Slot:
        if type(other) is not Slot:
            other = Slot(other)
        return _node(self.data + other.data, self, other, 1.0, 1.0)

    __radd__ = __add__

    def __mul__(self, other: Any) -> Slot:
        if type(other) is not Slot:
            other = Slot(other)
        return _node(self.data * other.data, self, other, other.data, self.data)

    def relu(self) -> Slot:
        """``max(0, self)``."""
        positive = self.data > 0
        return _node(self.data if positive else 0.0, self, _NOTHING, 1.0 if positive else 0.0, 0.0)

    def backward(self) -> None:
        """Walk the tape back, and forget it."""
        self.grad = 1.0
        for node in reversed(Slot.tape):
            upstream = node.grad
            node.a.grad += upstream * node.by_a
            node.b.grad += upstream * node.by_b
        Slot.tape.clear()


def _node(data: float, a: Slot, b: Slot, by_a: float, by_b: float) -> Slot:
    node = _new(Slot)
    node.data, node.grad = data, 0.0
    node.a, node.b, node.by_a, node.by_b = a, b, by_a, by_b
    _append(node)
    return node


_new, _append, _NOTHING = Slot.__new__, Slot.tape.append, Slot(0.0)
