"""A number that a loop of the user's own tells: its loss, its learning rate, its step."""

from __future__ import annotations

from contextlib import suppress
from operator import index
from typing import Any

from ...checks import integer
from ...errors import InputError, TypeMismatchError, shown
from ..checks import LAST_STEP


def told_step(told: Any) -> int:
    """`told` as the number of a step: whole numbers, arrays and tensors of one such number.

    Raises
    ------
    InputError
        It is none, or below 0.
    """
    if hasattr(told, "shape"):
        with suppress(TypeError, ValueError, RuntimeError):
            told = index(told)
    return min(integer("step", told, 0), LAST_STEP)


def told_number(name: str, told: Any) -> float | None:
    """`told` as a float: numbers, Values, arrays and tensors of one number. None stays None.

    Raises
    ------
    InputError, TypeMismatchError
        No number, or one that no float can hold.
    """
    if told is None:
        return None
    try:
        if isinstance(told, str | bytes | bool):
            raise TypeError
        bare = getattr(told, "detach", None)  # PyTorch warns of losses that are still part of a graph
        return float(bare() if callable(bare) else told)
    except OverflowError:
        raise InputError(f"{name}: got {shown(told)}; allowed: a number that a float can hold") from None
    except (TypeError, ValueError, RuntimeError):
        raise TypeMismatchError(f"{name}: got {type(told).__name__}; allowed: one number, such as 0.5") from None
