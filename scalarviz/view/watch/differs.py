"""Whether a frame looks different from the one before it."""

from __future__ import annotations

import numpy as np

from ...run.core.frame import Frame


def differs(old: Frame | None, frame: Frame) -> bool:
    """Whether the picture of `frame` is another one than that of `old`."""
    if old is frame:
        return False
    return (
        old is None
        or any(getattr(old, name) != getattr(frame, name) for name in ("step", "edited", "next_lr", "units_step"))
        or old.state.keys() != frame.state.keys()
        or not np.array_equal(old.activations.get("input", ()), frame.activations.get("input", ()), equal_nan=True)
        or not all(
            np.array_equal(getattr(old, name), getattr(frame, name), equal_nan=name != "frozen")
            for name in ("loss", "values", "gradient", "frozen")
        )
    )
