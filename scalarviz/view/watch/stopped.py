"""What stopped the training, as a window says it: the way back is a click there or a key, and no line of Python."""

from __future__ import annotations

from ...errors import DivergedError
from ...run.training import WAYS_BACK
from .actions import action_of


def stopped_by(error: Exception | None, *, keys: bool = True) -> str:
    """The words of the banner; empty where nothing went wrong. Without `keys` arrows belong to somebody else."""
    if error is None:
        return ""
    good = last_good(error)
    if good is None:
        undo = f"press {action_of('undo').keys[0]} for the moment before the last change"
        return str(error).replace(f"go back with {WAYS_BACK}", undo)
    press = f" or press {action_of('back').keys[0]}" if keys else ""
    back = f"click here{press} to go back to step {good:,}, the last good one,"
    return str(error).replace(DivergedError.way_back(good), back)


def last_good(error: Exception | None) -> int | None:
    """The step to which a click on the banner leads; None: nowhere."""
    return error.good if isinstance(error, DivergedError) else None
