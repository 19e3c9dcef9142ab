"""Checks of an optimiser's arguments: the weights and the numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..checks import integer
from ..errors import InputError, TypeMismatchError, typed
from ..scalar import Block, Weight
from ..scalar.number import checked_number
from ..scalar.weight import Indices, named_blocks

LAST_STEP = 2**53
"""A larger step number is not exact as a float."""


def steps_of(name: str, given: Any, least: int = 0) -> int:
    return integer(name, given, least, LAST_STEP)


def whole_numbers(given: object, what: str) -> list[int]:
    """Return a list of whole numbers that are at least 0."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeMismatchError(f"{what} must be a list of whole numbers, got {typed(given)}")
    return [steps_of(f"{what}[{i}]", one, 0) for i, one in enumerate(given)]


def held_by(params: Iterable[Block | Weight], title: str) -> list[tuple[Block, Indices]]:
    found = named_blocks(params, title, "params")
    if not found:
        raise InputError(f"{title}: no parameters to train; pass net.parameters() or a list of Weights")
    return found


def below_one(number: float, what: str) -> float:
    return checked_number(number, what, lambda x: 0 <= x < 1, "be >= 0 and < 1")


def finite(given: Any, what: str, least: float = -math.inf) -> float:
    bound = f" >= {least:g}" if least > -math.inf else ""
    return checked_number(given, what, lambda x: math.isfinite(x) and x >= least, f"be a finite number{bound}")
