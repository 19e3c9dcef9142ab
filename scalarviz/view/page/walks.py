"""Micro-steps of a recording as a page has them: their words and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ScalarvizError
from ...run.opened.micro import PHASES, MicroStep
from ...run.sources.played import RecordedSource
from ...run.sources.recording.recorded_step import RecordedStep
from ..ink.text import loss_text
from ..micro.walk import Formula, Walk
from ..shown.subject import Subject
from .page import json_number
from .pictures import chosen

Float32 = NDArray[np.float32]
MOST = 60  # steps of which a page holds micro-steps
MOST_BYTES = 400_000  # bytes of their numbers, unpacked
Lengths = Sequence[tuple[str, int]]  # of rows, in their order


def walks_of(
    subject: Subject, source: RecordedSource, places: Sequence[int], document: Mapping[str, Any]
) -> tuple[dict[str, Any], Float32] | None:
    """The micro-steps after some of the frames that a page shows; None where there are none.

    What JSON takes, and a row of numbers for each walk: gradients, new weights, rows, deltas. The source stands
    afterwards where it stood.
    """
    lengths, count = [(stage.name, stage.outputs) for stage in subject.stages], int(document["parameters"])
    plans: list[dict[str, Any]] = []  # what is the same in many steps
    walks: list[dict[str, Any]] = []
    rows: list[Float32] = []
    here, there = source.place, [k for k, place in enumerate(places) if source.record.sides(place)]
    room = MOST_BYTES // (2 * 4 * (2 * count + 2 * sum(length for _, length in lengths)))
    try:
        for number in chosen(there, max(2, min(MOST, room))):
            source.stand(places[number])
            frame = source.frame()
            for alone in sorted(source.sides(), reverse=True):
                try:
                    opened = source.opened(alone=alone)
                    walk = Walk(opened, subject, frame)
                except ScalarvizError:  # what cannot be read is not there
                    continue
                if (plan := _plan(walk, opened, lengths)) not in plans:
                    plans.append(plan)
                walks.append({"frame": number, **_told(walk, opened, plans.index(plan))})
                rows.append(_numbers(walk, opened, lengths, count))
    finally:
        source.stand(here)
    if not rows:
        return None
    order = sorted(range(len(walks)), key=lambda k: not walks[k]["alone"])  # each side changes slowly
    said = {"plans": plans, "walks": [walks[k] for k in order], "rows": lengths}
    return said, np.stack([rows[k] for k in order])


def _numbers(walk: Walk, opened: RecordedStep, lengths: Lengths, count: int) -> Float32:
    made = [walk.frame.activations[name] for name, _ in lengths]
    deltas = [opened.joined[name] for name, _ in lengths]
    with np.errstate(over="ignore"):
        parts = [opened.gradient[:count], opened.new_values[:count], *made, *deltas]
        return np.concatenate([np.ravel(part) for part in parts]).astype(np.float32)


def _told(walk: Walk, opened: RecordedStep, plan: int) -> dict[str, Any]:
    first, last, own = walk.told(1), walk.told(len(walk)), walk.own_loss
    lines = []
    for at in range(1, len(walk) + 1):
        sentence, face = walk.line(at)
        lines.append([sentence.name, sentence.meaning, [_formula(f) for f in sentence.formulas[:1]], face])
    return {
        "alone": opened.trial, "lr": json_number(opened.lr), "plan": plan, "step": opened.step,
        "loss": loss_text(opened.loss), "own": None if own is None else loss_text(own), "samples": first.samples,
        "mean": last.mean, "about": first.headline.split("  \N{MIDDLE DOT}  ")[-1],
        "lines": lines, "table": last.table,
    }  # fmt: skip


def _formula(formula: Formula) -> list[Any]:
    return [formula.letters, [[word.text, word.tone, int(word.bold)] for word in formula.numbers]]


def _plan(walk: Walk, opened: RecordedStep, lengths: Lengths) -> dict[str, Any]:
    phases = zip(walk.told(1).phases, opened.phases(), strict=True)
    return {"steps": [_step(step, lengths) for step in opened.micro_steps()],
            "phases": [[one.name, span.start, one.count, one.words] for one, span in phases]}  # fmt: skip


def _step(step: MicroStep, lengths: Lengths) -> list[Any]:
    """Phase, kind, stage, units and weights (as runs)."""
    names = [name for name, _ in lengths]
    stage = names.index(step.stage) if step.stage in names else -1
    return [PHASES.index(step.phase), step.kind, stage, _runs(step.units), _runs(step.weights)]


def _runs(numbers: NDArray[np.int64]) -> list[list[int]]:
    if not len(numbers):
        return []
    cuts = [0, *(np.flatnonzero(np.diff(numbers) != 1) + 1).tolist(), len(numbers)]
    return [[int(numbers[a]), int(numbers[b - 1]) + 1] for a, b in pairwise(cuts)]
