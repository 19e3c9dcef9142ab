"""Schedules of the learning rate, with PyTorch's names and arguments.

Read `_scheduler` first: a schedule gives the rates after a number of its steps. `_schedules` holds those with one
formula and `LambdaLR`; `_plateau` holds those that depend on more. `_pace` stores the rates of an optimiser.

Examples
--------
>>> from scalarviz import nn, optim
>>> optimizer = optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)
>>> schedule = optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
>>> for _ in range(3):
...     optimizer.step(); schedule.step()
>>> optimizer.lr
0.05
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..arguments import explain, module_names
from ..checks import mapping, text
from ..errors import InputError, listing, shown
from ._checked import steps_of
from ._optimizer import Optimizer
from ._pace import Pace
from ._plateau import ReduceLROnPlateau, SequentialLR
from ._scheduler import LRScheduler, Standing, numbers
from ._schedules import CosineAnnealingLR, ExponentialLR, LambdaLR, LinearLR, MultiStepLR, OneCycleLR, StepLR

__all__ = [
    "CosineAnnealingLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "OneCycleLR",
    "ReduceLROnPlateau", "SequentialLR", "Standing", "StepLR",
]  # fmt: skip

_ABSENT = {"verbose": "run.lr and get_last_lr() give the rates"}

KINDS: dict[str, type[LRScheduler]] = {
    name: globals()[name] for name in __all__ if name not in ("LRScheduler", "LambdaLR", "Standing")
}
"""The schedules that numbers describe; a LambdaLR has functions."""

for _kind in (LambdaLR, *KINDS.values()):  # Python checks users' schedules itself
    explain(_kind, _ABSENT)

_OWN = "use LambdaLR for any function of the count, SequentialLR to chain schedules"
_SCHEDULES = dict.fromkeys(
    ("ChainedScheduler", "ConstantLR", "CosineAnnealingWarmRestarts", "CyclicLR", "MultiplicativeLR", "PolynomialLR"),
    _OWN,
)
"""PyTorch's schedules that are missing here, with advice."""

if not TYPE_CHECKING:
    __dir__, __getattr__ = module_names(__name__, __all__, _SCHEDULES)


# ---- Schedules as plain data: describe one, and make it again.


_APART = ("self", "optimizer", "last_epoch", "epochs", "steps_per_epoch", "schedulers")


def described(schedule: Any) -> dict[str, Any]:
    """Return the ``"kind"``, ``"base_lrs"`` and, if they are numbers, the ``"arguments"``, as plain data."""
    found: dict[str, Any] = {"kind": type(schedule).__name__, "base_lrs": list(schedule.base_lrs)}
    parts = schedule.schedulers if type(schedule) is SequentialLR else []
    if KINDS.get(found["kind"]) is not type(schedule) or any(type(part) is LambdaLR for part in parts):
        return found
    if schedule._first:
        found["first"] = schedule._first
    names = [name for name in inspect.signature(type(schedule).__init__).parameters if name not in _APART]
    numbered = ((name, getattr(schedule, name)) for name in names)
    found["arguments"] = {name: list(part) if isinstance(part, tuple) else part for name, part in numbered}
    if parts:
        found["arguments"]["schedulers"] = [described(part) for part in parts]
    return found


def remade(said: Any, optimizer: Optimizer, groups: int) -> LRScheduler:
    """Make the schedule from the result of :func:`described`, for an optimiser with this many `groups`.

    The optimiser is not changed. A schedule with functions is copied from it, with the described initial rates.
    """
    given = mapping(said, "the schedule")
    kind, own = text(given.get("kind"), "the schedule: its kind"), optimizer.lr_schedule
    base = numbers(given.get("base_lrs"), f"the schedule {kind:.60}: base_lrs", groups)
    if own is not None and described(own) == dict(given):
        return own
    if "arguments" in given and kind in KINDS:
        return _made(given, optimizer, base)
    if own is None or type(own).__name__ != kind:
        raise InputError(f"a {kind:.60} cannot be rebuilt from its numbers; create one for the optimiser first")
    if own.base_lrs == base:
        return own
    if len(own.base_lrs) != len(base):
        raise InputError(f"the {kind} has {len(base)} parameter groups, but the run has {len(own.base_lrs)}")
    twin = own.rebound(optimizer)
    twin.base_lrs = base
    return twin


def _made(said: Mapping[str, Any], optimizer: Optimizer, base: tuple[float, ...]) -> LRScheduler:
    kind, title = KINDS[said["kind"]], f"the schedule {said['kind']}"
    arguments = dict(mapping(said["arguments"], f"{title}: the arguments"))
    bare = copy.copy(optimizer)
    bare._pace, bare._rules = Pace(base), ()  # the rules belong to the optimiser
    if kind is SequentialLR:
        parts = arguments.get("schedulers")
        if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
            raise InputError(f"{title}: schedulers must be a list of schedules, got {shown(parts)}")
        known = [isinstance(part.get("kind"), str) and part["kind"] in KINDS and "arguments" in part for part in parts]
        if not all(known):
            raise InputError(f"{title}: its parts must be among {listing(KINDS)}")
        arguments["schedulers"] = [
            _made(part, bare, numbers(part.get("base_lrs"), f"{title}: base_lrs", len(base))) for part in parts
        ]
        bare.lr_pace.restore(Pace(base).moment())
    try:
        made = kind(bare, **arguments)
    except TypeError as error:
        raise InputError(f"{title}: {error}") from None
    made.base_lrs, made._first = base, steps_of(f"{title}: first", said.get("first", 0))
    return made.rebound(optimizer)
