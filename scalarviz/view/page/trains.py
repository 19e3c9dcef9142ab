"""A page that trains: the program, the numbers and the samples with which a browser goes on where a recording ends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ...engine.js.module import lacks, module, runtime, settings, viewer
from ...errors import ScalarvizError
from ...run.opened.network import Network
from ...run.sources.played import RecordedSource
from ...run.sources.recording.steps import training_at
from ...tape import Plan, lower
from ..panels.drawer import Slot
from ..shown.subject import Subject
from .pack import array_text, deflated, dense_text
from .scripts import bare, joined, plain

MOST_DATA = 4_000_000
"""Most letters of a page's samples."""


class Trains(NamedTuple):
    """The parts of a page that trains; `said` is a clause about them, or why the page only plays."""

    said: str
    parts: Mapping[str, str] = MappingProxyType({})
    program: str = ""  # for a worker of its own; the page's policy contains its hash


def trains_of(source: RecordedSource, subject: Subject, slots: Mapping[str, Slot]) -> Trains:
    """Return what a browser needs to go on from the last frame of the branch; it paints the `slots` of panels."""
    record = source.record
    try:
        rule, rates = training_at(record, len(record) - 1)
    except ScalarvizError:
        return Trains("")  # the page says why its steps do not open
    problem, network, probe = rule.training.problem, rule.network, source.probe
    if probe is None:
        return Trains("it does not train on: its recording has no activations")
    why = lacks(problem) or ("it rounds to float16" if rule.said.scale is not None else "")
    if why or (view := _view(network, subject)) is None:
        return Trains(f"it does not train on: {why or 'Dropout and BatchNorm show other numbers than they train with'}")
    names, plan, look = view
    count = problem.plan.n_inputs + problem.plan.n_targets
    samples = array_text(np.asarray(problem.data[:count]))
    if len(samples) > MOST_DATA:
        return Trains(f"it does not train on: its samples need {len(samples) / 1e6:.0f} MB")
    value = problem.store.value
    target = subject.sample.target
    told = {
        "settings": settings(problem), "rates": list(rates), "dtype": value.dtype.name, "rows": names,
        "probe": [*probe.tolist(), *([] if target is None else np.ravel(target).tolist())],
        "inputs": problem.plan.n_inputs, "groups": len(rule.said.rules), "whole": subject.whole_loss,
        "every": int(np.diff(record.steps[-2:]).sum()) or 1,
        "slots": [_slot(name, one) for name, one in slots.items()],
        "view": {"parameters": plan.n_parameters + plan.n_derived, "features": plan.n_features},
        "steps": rule.training.steps, "trained": problem.trained.astype(int).tolist(),
        "frozen": problem.store.frozen.astype(int).tolist(),
        "columns": [column.tolist() for column in problem.columns],
        "shares": None if (shares := problem.shares()) is None else shares.tolist(),
    }  # fmt: skip
    parts = {"start": array_text(np.stack([value, *problem.state])), "samples": samples,
             "training": json.dumps(told, separators=(",", ":"))}  # fmt: skip
    made = [f"const {name} = (() => {{\n{text}\n}})();\n" for name, text in (("MADE", module(problem)), ("VIEW", look))]
    body = "".join([bare(plain(runtime())), *made, bare(joined("worker.js"))])
    program = f"(() => {{\n{body}}})();\n"  # names apart from those of the page, where there is no worker
    parts["engine"] = dense_text(deflated(program.encode()))
    many = problem.data.shape[1]
    return Trains(f"holds {many:,} sample{'s' * (many > 1)}", parts, program)


def _slot(panel: str, slot: Slot) -> dict[str, Any]:
    """Return a slot as JSON data; the inputs of a picture's colours are bytes, as its pixels are."""
    unit = 255.0 if slot.output < 0 and slot.kind == "image" else 1.0
    inputs = np.asarray(slot.inputs, np.float32)
    numbers = json.loads(array_text(np.rint(unit * inputs) if unit > 1 else inputs))
    tables = {name: table.tobytes().hex() for name, table in slot.tables.items()}
    return {**slot._asdict(), "panel": panel, "unit": unit, "inputs": numbers, "tables": tables}


def _view(network: Network, subject: Subject) -> tuple[list[tuple[str, int]], Plan, str] | None:
    """Return the rows that a page shows by name and length, and the program that computes them; None if it cannot.

    The last row is the sample's loss, if its target is known.
    """
    target = subject.sample.target
    known = target is not None and not np.isnan(target).any()
    plan = lower(network.tape.only(outputs=True, taps=True, loss=known))
    if plan.body.has_masks or plan.body.couples:
        return None
    body, taps = plan.body, zip(network.stages, network.forward.taps, strict=True)
    rows = {stage.name: body.outputs if number < 0 else body.taps[number][1] for stage, number in taps}
    wanted = [*rows.values(), *([np.array([body.loss])] if known else [])]
    names = [*((name, len(one)) for name, one in rows.items()), *([("", 1)] if known else [])]
    return names, plan, viewer(plan, np.concatenate(wanted))
