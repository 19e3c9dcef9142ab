"""A page that trains: the program, the numbers and the samples with which a browser goes on where a recording ends."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import rng
from ...engine.js.module import lacks, module, runtime, settings, update_alone, viewer
from ...engine.problem import Problem
from ...errors import FileFormatError, ScalarvizError
from ...optim import Optimizer
from ...run.core.gather import drawn_weights, laws_of_weights
from ...run.core.optimizer import record_update
from ...run.edits.change import ACTIVATIONS, OPTIMIZERS
from ...run.opened.equations import slope
from ...run.opened.network import Network
from ...run.run import Run
from ...run.scene.own_controls import BENDS, MOMENTUM, RULES, USUAL_MOMENTUM, family, usual_rate
from ...run.scene.scene import Scene
from ...run.sources.played import RecordedSource
from ...run.sources.recording.programs import Rule
from ...run.sources.recording.recorded import Recorded
from ...run.sources.recording.steps import leading, training_at
from ...scalar import Block
from ...tape import Plan, Tape, lower
from ..cubes.scale import in_words
from ..ink.listed import encoded
from ..ink.text import rate_text
from ..notes.layer import SYMBOLS
from ..panels.drawer import Slot, noun
from ..shown.names import Names
from ..shown.subject import Subject
from .pack import array_text, deflated, dense_text
from .scripts import bare, joined, plain
from .trials import Trial, bent, trial_of

DATA_LIMIT = 4_000_000
"""Most bytes of a page's training data, where nobody sets another limit."""

PLAYS = "it does not train on"
OTHER = "Dropout and BatchNorm show other numbers than they train with"
MOST_KEYS, MOST_RATES = 16, 4_000
"""Most states from which a page trains, and most runs of equal rates between them; else it has the last one alone."""
MOST_COMING = 500
"""Most runs of equal rates that a schedule still has ahead; a page then stays at the last one."""


PHOTO = 90
"""WebP quality of a picture whose colours are inputs: a seventh of its bytes, within some 2 of 255 of each colour."""

Rates = tuple[float, ...]


class Trains(NamedTuple):
    """The parts of a page that trains; `said` is a clause about them, or why the page only plays.

    `wide` is a name of an optimiser, in whose place the head of a picture has room for that of each choice.
    """

    said: str
    parts: Mapping[str, str] = MappingProxyType({})
    told: Mapping[str, Any] = MappingProxyType({})
    wide: str = ""
    program: str = ""  # for a worker of its own; the page's policy contains its hash
    network: slice = slice(0)  # the part of the program that is about the network


def trains_of(
    source: RecordedSource, subject: Subject, frames: Sequence[int], slots: Mapping[str, Slot],
    recorded: object, limit: int, *, opens: bool,
) -> Trains:  # fmt: skip
    """Return what a browser needs to go on from any of the `frames`; it paints the `slots` of panels.

    What was `recorded`, a scene or a run, if it is there, tells how the run drew its first weights, and how its
    schedule goes on. Training data of more than `limit` bytes are left out: then the page only plays. A page that
    `opens` no step gets no program for opened ones.
    """
    record, keys = source.record, list[dict[str, Any]]()
    try:
        places, past = _leading(record, frames)
        for place in places:  # the last one is that of the program, which has one training
            rule, rates = training_at(record, frames[place])
            keys.append(_key(place, rule))
    except ScalarvizError as error:
        return Trains(f"{PLAYS}: {error}")
    problem, network, probe = rule.training.problem, rule.network, source.probe
    if probe is None:
        return Trains(f"{PLAYS}: its recording has no activations")
    why = lacks(problem) or ("it rounds to float16" if rule.said.scale is not None else "")
    if why or (view := _view(network, network.tape)) is None:
        return _player(why or OTHER)
    names, plan, look = view
    count = problem.plan.n_inputs + problem.plan.n_targets
    samples = array_text(np.asarray(problem.data[:count]))
    if len(samples) > limit:
        need = -(-len(samples) // 100_000) / 10
        more = f"try data_limit={round(need * 1e6):_}, or --html-data {need:g}"
        return (
            _player(f"its training data need {need:,.1f} MB", more) if limit else Trains(f"{PLAYS}: it holds no data")
        )
    value, scene = problem.store.value, recorded if isinstance(recorded, Scene) else None
    run = recorded if isinstance(recorded, Run) else None if scene is None else scene.run
    rules = optimisers(rule, rates[0], None if run is None else run.optimizer, None if scene is None else scene.options)
    coming, unknown = _coming(run, record, rates, problem.epoch) if rule.said.schedule else ([], "")
    coming = coming or [(1, rates)]
    stays = f"its rate stays at {rate_text(rates[0])}, because {unknown}" if unknown else ""
    if stays and run is not None:  # of a file, only the page says so
        warnings.warn(f"the page trains on, {stays}", RuntimeWarning, stacklevel=5)
    (bends, tapes), target = activations(network, subject), subject.sample.target
    told = {
        "settings": settings(problem), "rates": list(coming[-1][1]), "dtype": value.dtype.name, "rows": names,
        "probe": [*probe.tolist(), *([] if target is None else np.ravel(target).tolist())],
        "inputs": problem.plan.n_inputs, "groups": len(rule.said.rules), "whole": subject.whole_loss,
        "every": int(np.diff(record.steps[-2:]).sum()) or 1,
        "slots": [_slot(name, one, problem) for name, one in slots.items()],
        "view": {"parameters": plan.n_parameters + plan.n_derived, "features": plan.n_features},
        "keys": [{name: part for name, part in one.items() if name != "arrays"} for one in keys],
        "past": [*past, *coming[:-1]], "laws": [] if run is None else _laws(run, value),
        "rules": rules.told, "bends": bends, "wide": max((one["kind"] for one in rules.told), key=len),
        "columns": [column.tolist() for column in problem.columns],
        "shares": None if (shares := problem.shares()) is None else shares.tolist(),
        "lossOf": "" if (facts := subject.source.facts) is None else facts.loss_of(subject.whole_loss, noun(subject)),
    }  # fmt: skip
    alone = trial_of(problem, network, subject) if opens else None
    told["trial"] = None if alone is None else alone.told
    parts = {"start": array_text(np.stack([array for one in keys for array in one["arrays"]])), "samples": samples}
    made, others = module(problem), list[str]()
    for tape in tapes[1:]:
        if look_so := _view(network, tape):
            trained = module(replace(problem, plan=lower(tape.only(loss=True))))
            opened = alone and trial_of(problem, bent(network, tape), subject)
            others.append(f"[{', '.join(map(_called, (trained, look_so[2], _opener(opened))))}]")
    programs = {"MADE": made, "VIEW": look, "TRIAL": _opener(alone)}
    consts = [f"const {name} = {_called(text)};\n" for name, text in programs.items()]
    consts.append(f"const RULES = [{', '.join(['MADE', *map(_called, rules.programs)])}];\n")
    consts.append(f"const BENDS = [{', '.join(['[MADE, VIEW, TRIAL]', *others])}];\n")
    begin = f"(() => {{\n{bare(plain(runtime()))}"  # names apart from those of the page, where there is no worker
    part = "".join(consts)
    program = f"{begin}{part}{bare(joined('worker.js'))}}})();\n"
    parts["engine"] = dense_text(deflated(program.encode()))
    many = problem.data.shape[1]
    held = f"{many:,} sample{'s' * (many > 1)}, {math.ceil(len(samples) / 1000):,} kB"
    takes = any(one["canvas"] and one["canvas"]["size"][0] for one in told["slots"])
    drop = "; drop a picture on the page, and it learns that one" if takes else ""
    return Trains(
        f"holds the training data ({held}): who gets this file gets the data{drop}{'; ' * bool(stays)}{stays}",
        parts, told, told["wide"], program, slice(len(begin), len(begin) + len(part)),
    )  # fmt: skip


def training_text(told: Mapping[str, Any]) -> str:
    """Return what a page is told of its training, as JSON that cannot end an element."""
    return json.dumps({**told}, separators=(",", ":")).replace("<", "\\u003c")


def _opener(trial: Trial | None) -> str:
    return "return null;" if trial is None else trial.program


def _called(body: str) -> str:
    return f"(() => {{\n{body}\n}})()"


def _player(why: str, more: str = "") -> Trains:
    """Return that a page only plays; the author hears it when the page is written, with what to try."""
    said = f"{PLAYS}: {why}"
    warnings.warn("; ".join(filter(None, (f"the page plays, but {said}", more))), RuntimeWarning, stacklevel=6)
    return Trains(said)


def _leading(record: Recorded, frames: Sequence[int]) -> tuple[list[int], list[tuple[int, Rates]]]:
    """Return the places of the frames that the page keeps states of, and the rates of all steps from the first one."""
    with suppress(FileFormatError):
        places, past = leading(record, frames)
        if len(places) <= MOST_KEYS and len(past) <= MOST_RATES:
            return places, past
    return [len(frames) - 1], []


def _coming(run: Run | None, record: Recorded, now: Rates, epoch: int) -> tuple[list[tuple[int, Rates]], str]:
    """Return the rates that a run's schedule still has ahead, as runs of equal ones; or why they are unknown."""
    if run is None or run.steps != int(record.steps[-1]):
        return [], "a recording does not hold how its schedule goes on"
    moment = run.optimizer.lr_pace.moment()
    if (schedule := moment.schedule) is None:
        return [], ""
    if schedule.most(moment.standing, epoch) is not None:
        return [], f"{type(schedule).__name__} follows the loss"
    made = schedule.table(moment.standing, moment.rates, MOST_COMING, epoch)
    if schedule.moving:
        made = np.hstack([made, schedule.momenta(moment.standing, MOST_COMING, epoch)])
    rest = now[made.shape[1] :]
    return [(len([*same]), (*rates, *rest)) for rates, same in groupby(map(tuple, made.tolist()))], ""


def _key(place: int, rule: Rule) -> dict[str, Any]:
    """Return where a training stands; its arrays are copies."""
    training, problem = rule.training, rule.training.problem
    return {
        "frame": place, "steps": training.steps, "before": problem.t_start,
        "trained": problem.trained.astype(int).tolist(), "frozen": problem.store.frozen.astype(int).tolist(),
        "arrays": [problem.store.value.copy(), *(array.copy() for array in problem.state)],
    }  # fmt: skip


def _laws(run: Run, value: NDArray[Any]) -> list[list[Any]]:
    """Return the laws of a run's first weights as JSON data, so that a page draws others; empty if one is unknown.

    A law is: the kind of its draws, its place, its first weight, its size, its lowest numbers, its spans.
    """
    known, seed = np.zeros(len(value), bool), 1
    drawn, found = drawn_weights(run.model, run._tape, seed, by_hand=False)[0], list[list[Any]]()
    for start, law in laws_of_weights(run.model, run._tape):
        size = law.low.size
        draw = np.zeros(size)
        if law.kind:
            draw = getattr(rng, law.kind)(seed, rng.Stream.WEIGHTS, law.place, size)
        made = np.ravel(law.low) + np.ravel(law.span) * draw
        known[start : start + size] = made.astype(value.dtype) == drawn[start : start + size].astype(value.dtype)
        ends = [float(part.flat[0]) if (part == part.flat[0]).all() else np.ravel(part).tolist()
                for part in (law.low, law.span)]  # fmt: skip
        found.append([law.kind, law.place, start, size, *ends])
    return found if known.all() else []


def _slot(panel: str, slot: Slot, problem: Problem) -> dict[str, Any]:
    """Return a slot as JSON data; if its inputs are colours of a picture, they are one.

    A map has its ground only if each target is one of both ends of its span, and each sample counts as one.
    """
    first, ground = problem.plan.n_inputs, slot.ground
    if ground is not None:
        targets = np.unique(problem.data[first : first + problem.plan.n_targets])
        plain = problem.plan.n_targets == 1 and problem.shares() is None
        ground = ground if plain and np.array_equal(targets, np.asarray(slot.span, targets.dtype)) else None
    canvas = slot.canvas
    if canvas is not None and not _learns(problem, canvas.size):
        canvas = canvas._replace(size=(0, 0))
    inputs = np.asarray(slot.inputs, np.float32)
    asked = json.loads(array_text(inputs.T))  # one input after the other, which is shorter
    if slot.kind == "image" and slot.output < 0 and canvas is None:
        pixels = np.rint(255 * inputs).astype(np.uint8).reshape(*slot.size, -1)
        asked = dense_text(encoded(pixels, "WEBP", quality=PHOTO, method=6))
    tables = {name: table.tobytes().hex() for name, table in slot.tables.items()}
    parts = {"ground": ground, "canvas": canvas, "piles": slot.piles}
    more = {"panel": panel, "inputs": asked, "tables": tables, "levels": [one._asdict() for one in slot.levels]}
    return {**slot._asdict(), **more, **{name: part and part._asdict() for name, part in parts.items()}}


def _learns(problem: Problem, size: tuple[int, int]) -> bool:
    """Return whether the samples are the middles of a picture's pixels, row by row, with a colour each."""
    (high, wide), plan = size, problem.plan
    if (plan.n_inputs, plan.n_targets, problem.data.shape[1]) != (2, 3, high * wide):
        return False
    y, x = ((np.arange(count) + 0.5) / count for count in size)
    return np.allclose(problem.data[:2], [np.tile(x, high), np.repeat(y, wide)], atol=1e-6)


OF_SAMPLE = "loss of the sample"
"""The name of its row, which no stage has; the stage of a network that is one layer has the name ""."""


def _view(network: Network, tape: Tape) -> tuple[list[tuple[str, int]], Plan, str] | None:
    """Return the rows that a page shows by name and length, and the program that computes them; None if it cannot.

    The last row is the sample's loss.
    """
    plan = lower(tape.only(outputs=True, taps=True, loss=True))
    if plan.body.has_masks or plan.body.couples:
        return None
    body, taps = plan.body, zip(network.stages, network.forward.taps, strict=True)
    rows = {stage.name: body.outputs if number < 0 else body.taps[number][1] for stage, number in taps}
    names = [*((name, len(one)) for name, one in rows.items()), (OF_SAMPLE, 1)]
    return names, plan, viewer(plan, np.concatenate([*rows.values(), [body.loss]]))


# ---- What a page can train instead of what was recorded: other optimisers, and other activations.

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
    between = [(s, n) for s, n in zip(stages[:last], network.forward.taps, strict=False) if s.weight is None]
    rows = {row for _, number in between if number >= 0 for row in tape.taps[number][1]}
    kinds = {s.kind for s, _ in between}
    alone = len(kinds) == 1 and kinds <= {*ACTIVATIONS} and all(s.name in names.hidden for s, _ in between)
    if not alone or any(tape.nodes[row].code not in kinds or len(tape.nodes[row].args) != 1 for row in rows):
        return [{"name": "", "labels": {}, "sign": "", "slope": ""}], [tape]
    (recorded,) = kinds
    told, tapes = list[dict[str, Any]](), list[Tape]()
    for name in (recorded, *(name for name in BENDS if name != recorded)):
        word = in_words(name) if name == recorded else SYMBOLS.get(name, in_words(name))  # there is little room
        labels = {s.name: names.stages[s.name].replace(in_words(recorded), word) for s, _ in between}
        told.append({"name": name, "labels": labels, "sign": SYMBOLS.get(name, name), "slope": slope(name)})
        nodes = (replace(node, code=name) if row in rows else node for row, node in enumerate(tape.nodes))
        tapes.append(replace(tape, nodes=tuple(nodes)))
    return told, tapes
