"""How long a hunt goes on and where it begins: ``make hunt HUNT=120`` hunts for two hours, with a new seed each day."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

MINUTES = float(os.environ.get("HUNT") or 30)
SEED = int(os.environ.get("HUNT_SEED") or time.strftime("%Y%m%d"))
SHARE = 0.2
"""Of the minutes, for one hunt: ten of them on two workers take all."""


def seeds() -> Iterator[int]:
    """Seeds, one after the other, until the hunt's share of the minutes is over; at least one.

    A failure is found again by ``HUNT_SEED=<the seed that was printed last> HUNT=0``.
    """
    until, seed = time.monotonic() + 60 * SHARE * MINUTES, SEED * 1000 if "HUNT_SEED" not in os.environ else SEED
    while True:
        print(f"HUNT_SEED={seed}")
        yield seed
        seed += 1
        if time.monotonic() > until:
            return
