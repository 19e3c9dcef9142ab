"""`Many`: what holds several Values or weights, so that an operation with it is one with each of them."""

from __future__ import annotations

from typing import Any


class Many:
    """``value * many`` is left to the other operand, which knows how many it is; functions ask it too."""

    __slots__ = ()

    def each(self, name: str, *operands: Any) -> Any:
        """The operation `name` of the table with each of the numbers of its operands, of which it is one."""
        raise NotImplementedError

    def as_values(self) -> Any:
        """The array of the objects."""
        raise NotImplementedError

    def reduced(self, name: str) -> Any:
        """Its ``sum``, ``mean``, ``max`` or ``min``."""
        return getattr(self, name)()
