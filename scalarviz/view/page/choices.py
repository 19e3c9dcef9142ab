"""With what a page can train instead of what was recorded: other optimisers, and other activations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from ...engine.js.module import update_alone
from ...optim import Optimizer
from ...run.core.optimizer import record_update
from ...run.edits.change import ACTIVATIONS, OPTIMIZERS
from ...run.opened.equations import slope
from ...run.opened.network import Network
from ...run.scene.own_controls import BENDS, MOMENTUM, RULES, USUAL_MOMENTUM, family, usual_rate
from ...run.sources.recording.programs import Rule
from ...scalar import Block
from ...tape import Plan, Tape
from ..cubes.scale import in_words
from ..notes.layer import SYMBOLS
from ..shown.names import Names
from ..shown.subject import Subject

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


def activations(network: Network, subject: Subject) -> tuple[list[dict[str, Any]], list[Tape]]:
    """Return the hidden activation and those of the window, and the tapes with these; only the first tape if none fits.

    Of each, a page is told its name, the words beside its cubes, and its sign and slope in formulas. All hidden layers
    have the same activation, and their units have names without it.
    """
    tape, names, stages = network.tape, Names(subject), network.stages
    last = max((k for k, stage in enumerate(stages) if stage.weight is not None), default=0)
    bent = [(s, n) for s, n in zip(stages[:last], network.forward.taps, strict=False) if s.weight is None]
    rows, kinds = {row for _, number in bent if number >= 0 for row in tape.taps[number][1]}, {s.kind for s, _ in bent}
    alone = len(kinds) == 1 and kinds <= {*ACTIVATIONS} and all(s.name in names.hidden for s, _ in bent)
    if not alone or any(tape.nodes[row].code not in kinds or len(tape.nodes[row].args) != 1 for row in rows):
        return [{"name": "", "labels": {}, "sign": "", "slope": ""}], [tape]
    (recorded,) = kinds
    told, tapes = list[dict[str, Any]](), list[Tape]()
    for name in (recorded, *(name for name in BENDS if name != recorded)):
        word = in_words(name) if name == recorded else SYMBOLS.get(name, in_words(name))  # there is little room
        labels = {s.name: names.stages[s.name].replace(in_words(recorded), word) for s, _ in bent}
        told.append({"name": name, "labels": labels, "sign": SYMBOLS.get(name, name), "slope": slope(name)})
        nodes = (replace(node, code=name) if row in rows else node for row, node in enumerate(tape.nodes))
        tapes.append(replace(tape, nodes=tuple(nodes)))
    return told, tapes
