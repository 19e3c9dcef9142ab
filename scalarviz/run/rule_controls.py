"""The optimiser for a hand: which rule makes steps of gradients, and its momentum.

A rule that comes back has the numbers that it had, its rate among them; one that was not there yet begins with the rate
that is usual for it, in the scene if that knows one.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, MutableMapping
from typing import Any

from .controls import Reader, Segments, Slider
from .edits import Change, Edit, SetOptimizer
from .edits.change import OPTIMIZERS

MOMENTUM = "momentum"
USUAL_MOMENTUM = 0.9
MOMENTA = (0.1, 0.99)
"""Ends of the track of the momentum; 0 is the rule without it, and more may be typed."""
RULES = ("SGD", MOMENTUM, "Adam", "AdamW")
_PLAIN = ("SGD", MOMENTUM)
_RATE = {"SGD": 0.1, MOMENTUM: 0.1}  # where the rule before was of another family, and the scene knows none
_USUAL_RATE = 0.01

Had = Mapping[str, Mapping[str, Any]]
"""By the names of rules that there were the numbers that they had last."""


def rule_of(reader: Reader) -> str | None:
    """The rule of a moment; of plain descent with momentum that. None where nothing is trained."""
    settings = reader.settings
    if settings is None:
        return None
    return MOMENTUM if settings.optimizer == "SGD" and settings.numbers.get("momentum") else settings.optimizer


def keep_rule(had: MutableMapping[str, Mapping[str, Any]], reader: Reader) -> None:
    """Note the numbers of the rule of a moment in `had`."""
    rule, settings = rule_of(reader), reader.settings
    if rule is not None and settings is not None and settings.optimizer in OPTIMIZERS:
        had[rule] = settings.numbers


def rule_control(had: Had) -> Segments:
    """The choice of a rule; those that there were and that a name brings back are offered beside the usual ones."""

    def change(value: str, reader: Reader) -> Edit | None:
        return _edit(value, reader, had)

    more = [rule for rule in had if rule not in RULES]
    return Segments(
        "optimiser", "--optimizer", "What a step makes of the gradient: Adam gives every weight a stride of its own.",
        choices=(*RULES, *more), value=rule_of, change=change,
    )  # fmt: skip


def _edit(value: str, reader: Reader, had: Had) -> Edit | None:
    """Momentum is a number of SGD's and keeps what it has; a rule of the same family keeps the rate."""
    now, settings = rule_of(reader), reader.settings
    if value == now or settings is None:
        return None
    before, rate = had.get(value, {}), settings.numbers.get("lr")
    momentum = before.get(MOMENTUM, USUAL_MOMENTUM) if value == MOMENTUM else 0.0
    if value in _PLAIN and now in _PLAIN:
        return _set_momentum(momentum, settings.numbers, before)
    kind = "SGD" if value in _PLAIN else value
    if not ((value in _PLAIN) == (now in _PLAIN) and now in OPTIMIZERS and rate is not None):
        rate = before.get("lr", usual_rate(value, reader))
    numbers = {"lr": rate, **_special(kind, before), **({MOMENTUM: momentum} if value == MOMENTUM else {})}
    return Change(optimizer=kind, numbers=tuple(numbers.items()))


def usual_rate(rule: str, reader: Reader) -> float:
    """The rate with which a rule begins: the scene's own (``options.rate_of(name)``), or a common one."""
    known = getattr(reader.options, "rate_of", None)
    return float(known(rule.lower())) if callable(known) and rule in RULES else _RATE.get(rule, _USUAL_RATE)


def _special(kind: str, numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are not what the constructor takes by itself, but for the rate."""
    usual = inspect.signature(OPTIMIZERS[kind]).parameters
    return {
        name: number
        for name, number in numbers.items()
        if name != "lr" and name in usual and number != usual[name].default
    }


def _momentum_of(reader: Reader) -> float | None:
    """None where the rule has none: without it, it is the rule itself that is chosen."""
    settings = reader.settings
    found = None if settings is None else settings.numbers.get(MOMENTUM)
    return float(found) if isinstance(found, float | int) and found else None


def _momentum_edit(value: float, reader: Reader) -> Edit:
    return _set_momentum(float(value), {} if reader.settings is None else reader.settings.numbers, {})


def _set_momentum(momentum: float, now: Mapping[str, Any], before: Mapping[str, Any]) -> Edit:
    """Without momentum SGD cannot look ahead, and with it again it does so where it did before."""
    ahead = bool(momentum and before.get("nesterov") and not now.get("dampening"))
    changes = ahead or (not momentum and now.get("nesterov"))
    return SetOptimizer(((MOMENTUM, momentum), *((("nesterov", ahead),) if changes else ())))


MOMENTUM_CONTROL = Slider(
    MOMENTUM, "", "How much of the last step the next one keeps: more rolls on through dips, and past the goal.",
    least=MOMENTA[0], most=MOMENTA[1], usual=USUAL_MOMENTUM, value=_momentum_of, change=_momentum_edit,
)  # fmt: skip
