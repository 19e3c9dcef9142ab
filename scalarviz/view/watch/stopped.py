"""What stopped the training, as a window says it: the way back is a click there, and no line of Python."""

from __future__ import annotations

from ...errors import DivergedError


def stopped_by(error: Exception | None) -> str:
    """The words of the banner; empty where nothing went wrong."""
    if error is None:
        return ""
    good = last_good(error)
    if good is None:
        return str(error)
    back = f"click here to go back to step {good:,}, the last good one,"
    return str(error).replace(DivergedError.way_back(good), back)


def last_good(error: Exception | None) -> int | None:
    """The step to which a click on the banner leads; None: nowhere."""
    return error.good if isinstance(error, DivergedError) else None
