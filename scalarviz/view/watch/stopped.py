"""What stopped the training, as a window says it: the way back is a click there or a key, and no line of Python."""

from __future__ import annotations

from ...errors import SLOWER, DivergedError
from .actions import action_of


def stopped_by(error: Exception | None, *, keys: bool = True) -> str:
    """The words of the banner; empty where nothing went wrong. Without `keys` arrows belong to somebody else."""
    if isinstance(error, DivergedError) and error.good is not None:
        press = f" or press {action_of('back').keys[0]}" if keys else ""
        back = f"click here{press} to go back to step {error.good:,}, the last good one,"
        return f"{error.fact}; {back} and {SLOWER}"
    if isinstance(error, DivergedError) and error.spoilt:
        return f"{error.fact}: press {action_of('undo').keys[0]} for the moment before the last change"
    return "" if error is None else str(error)


def last_good(error: Exception | None) -> int | None:
    """The step to which a click on the banner leads; None: nowhere."""
    return error.good if isinstance(error, DivergedError) else None
