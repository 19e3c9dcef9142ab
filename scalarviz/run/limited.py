"""Penalties and clipping as part of the optimiser's rule, and what is given for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..engine.problem import Limits
from ..errors import InputError, shown
from ..optim import Optimizer
from ..scalar import Value, clip
from ..scalar.single import as_number, at_least_zero
from ..tape import Tape


def limited_rule(optimizer: Optimizer, limits: Limits, group: int | None = None) -> Tape:
    """The recorded update of one weight; its gradient gets the penalties' on top, and is scaled and cut.

    What it is scaled by is a third number of the rule, behind the rate and the number of the step. `group`: that of
    the weights of one parameter group alone.
    """

    def limited(w: Value, g: Value, numbers: Sequence[Value]) -> Value:
        if limits.l1:
            sign: Any = (w > 0.0) - (w < 0.0)
            g = g + limits.l1 * sign
        if limits.l2:
            g = g + (2 * limits.l2) * w
        for factor in numbers:
            g = factor * g
        if limits.clip_value is not None:
            g = clip(g, -limits.clip_value, limits.clip_value)
        return g

    found, more = (None if limits == Limits() else limited), 0 if limits.clip_norm is None else 1
    return optimizer.tape(found, more) if group is None else optimizer.rule_tape(group, found, more)


def limits_of(l1: Any, l2: Any, clip_norm: Any, clip_value: Any) -> Limits:
    """What was given for them, checked.

    Raises
    ------
    InputError
        A penalty is negative, a limit is not above 0, or one is no finite number.
    """
    return Limits(at_least_zero(l1, "l1"), at_least_zero(l2, "l2"), _limit(clip_norm, "clip_norm"),
                  _limit(clip_value, "clip_value"))  # fmt: skip


def _limit(given: Any, what: str) -> float | None:
    if given is None:
        return None
    number = as_number(given, what)
    if not (math.isfinite(number) and number > 0):
        raise InputError(f"{what} must be a finite number above 0, or None for no limit; got {shown(given)}")
    return number
