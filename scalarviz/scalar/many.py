"""`Many`: what holds several Values or weights, so that an operation with it is one with each of them."""

from __future__ import annotations


class Many:
    """A mark: ``value * many`` is left to the other operand, which knows how many it is."""

    __slots__ = ()
