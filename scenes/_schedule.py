"""The flag ``--schedule``: what it may say, and the schedule that it makes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from scalarviz.errors import InputError, listing
from scalarviz.optim import Optimizer, lr_scheduler

Plan = tuple[str, int | None]
"""A name of `SCHEDULES`, and its number where one was given."""

TENTH = 0.1
SCHEDULES: dict[str, Callable[[Optimizer, int], Any]] = {
    "constant": lambda optimizer, steps: None,
    "linear": lambda optimizer, steps: lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=steps),
    "cosine": lambda optimizer, steps: lr_scheduler.SequentialLR(  # down to 0, and there it stays
        optimizer,
        [lr_scheduler.CosineAnnealingLR(optimizer, steps), lr_scheduler.MultiStepLR(optimizer, [0], 0.0)],
        [steps],
    ),
    "decay": lambda optimizer, steps: lr_scheduler.SequentialLR(  # flat, then down to a tenth, and there it stays
        optimizer,
        [
            lr_scheduler.LinearLR(optimizer, 1.0, 1.0, total_iters=1),
            lr_scheduler.LinearLR(optimizer, 1.0, TENTH, total_iters=max(1, steps - steps * 3 // 5)),
        ],
        [max(1, steps * 3 // 5)],
    ),
    "cycle": lambda optimizer, steps: lr_scheduler.OneCycleLR(optimizer, optimizer.lr, steps),
    "step": lambda optimizer, steps: lr_scheduler.StepLR(optimizer, steps, TENTH),
    "plateau": lambda optimizer, steps: lr_scheduler.ReduceLROnPlateau(optimizer, factor=TENTH, every=steps),
}
MOST = 10**12


def parse_schedule(value: Any) -> Any:
    """``cosine:1000`` as ("cosine", 1000), ``cosine`` as ("cosine", None)."""
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"([a-z]+)(?::([0-9]{1,13}))?", value.strip())
    if match is None or match[1] not in SCHEDULES or not 1 <= int(match[2] or 1) <= MOST:
        raise InputError(
            f"there is no schedule {value[:80]!r}; allowed: {listing(SCHEDULES)}, as cosine or cosine:1000"
        )
    if match[1] == "constant" and match[2]:
        raise InputError(f"a constant rate has no number of steps, got {value!r}")
    if match[1] in ("step", "plateau") and not match[2]:
        raise InputError(f"{match[1]} wants a number of steps, as {match[1]}:1000")
    return match[1], None if match[2] is None else int(match[2])


def follow(plan: Plan | None, optimizer: Optimizer, steps: int) -> None:
    """Let the rates of `optimizer` follow a plan, over `steps` where it does not say how many."""
    if plan is not None:
        name, own = plan
        SCHEDULES[name](optimizer, own or steps)
