"""Random numbers that a function draws while it is recorded: they would be the same in every step, in silence."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

SAID = (
    "the recorded function drew random numbers ({}): they are constants of the graph, the same for every sample and "
    "step. nn.Dropout draws anew; numbers that shall stay are drawn once, before the function"
)


@contextmanager
def drawing_is_said() -> Iterator[None]:
    """Warn where the generators that everybody shares, `random` and ``np.random``, have moved on meanwhile.

    Generators of one's own are not seen.
    """
    before = _states()
    yield
    moved = [name for name, state in _states().items() if state != before[name]]
    if moved:
        warnings.warn_explicit(SAID.format(" and ".join(moved)), RuntimeWarning, "scalarviz", 0)


def _states() -> dict[str, tuple[Any, ...]]:
    state: Any = np.random.get_state(legacy=False)
    legacy = state["state"]
    return {"random": random.getstate(), "np.random": (legacy["pos"], bytes(legacy["key"]), state["has_gauss"])}
