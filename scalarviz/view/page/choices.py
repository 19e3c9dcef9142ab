"""With what a page can train instead of what was recorded: other optimisers."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...engine.js.module import update_alone
from ...optim import Optimizer
from ...run.core.optimizer import record_update
from ...run.edits.change import OPTIMIZERS
from ...run.scene.own_controls import MOMENTUM, RULES, USUAL_MOMENTUM, family, usual_rate
from ...run.sources.recording.programs import Rule
from ...scalar import Block
from ...tape import Plan

CORRECTED = ("Adam", "AdamW")
"""Optimisers with a bias correction that a page can leave out."""


class Choices(NamedTuple):
    """What a page is told of each choice, and the programs of the choices after the first, the recorded one."""

    told: list[dict[str, Any]]
    programs: list[str]


def optimisers(rule: Rule, rate: float, own: Optimizer | None, options: Any) -> Choices:
    """Return the recorded optimiser and those of the window; only the first for several parameter groups.

    `own` is the recorded run's optimiser, if the run is there; `options` may say usual rates.
    """
    said, problem = rule.said, rule.training.problem
    recorded = MOMENTUM if said.optimizer == "SGD" and said.state else said.optimizer
    if own is None and said.optimizer in OPTIMIZERS:
        own = OPTIMIZERS[said.optimizer]([Block(1).weight(0)])
    starts = [0.0 if own is None else own.state_start(name) for name in said.state]
    told = [_told(recorded, said.optimizer, rate, problem.update, starts)]
    programs = list[str]()
    for name in RULES if len(said.rules) == 1 else ():
        if name == recorded:
            continue
        kind, more = ("SGD", {"momentum": USUAL_MOMENTUM}) if name == MOMENTUM else (name, {})
        made = OPTIMIZERS[kind]([Block(1).weight(0)], **more)
        update, starts = record_update(made, problem.limits), [made.state_start(one) for one in made.state]
        told.append(_told(name, kind, usual_rate(name, options), update, starts))
        programs.append(update_alone(update, len(starts), problem.store.value.dtype.name))
    return Choices(told, programs)


def _told(name: str, kind: str, rate: float, update: Plan, starts: list[float]) -> dict[str, Any]:
    return {"name": name, "kind": kind, "rate": rate, "family": family(name), "corrects": name in CORRECTED,
            "starts": starts, "numbers": update.n_parameters + update.n_derived}  # fmt: skip
