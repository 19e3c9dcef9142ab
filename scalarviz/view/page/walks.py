"""Micro-steps of a recording as a page has them: their words, and numbers, most of which follow from others there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ScalarvizError
from ...run.core.frame import Frame
from ...run.opened.micro import PHASES, MicroStep
from ...run.sources.played import RecordedSource
from ...run.sources.recording.recorded_step import RecordedStep
from ..ink.text import loss_text
from ..micro.told import Formula
from ..micro.walk import Walk
from ..shown.subject import Subject
from .pack import EXACT, packed_text
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
    given: list[float | str] = []
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
                given = given or _inputs(frame)
    finally:
        source.stand(here)
    if not rows:
        return None
    order = sorted(range(len(walks)), key=lambda k: not walks[k]["alone"])  # each side changes slowly
    said = {
        "plans": plans, "walks": [walks[k] for k in order], "rows": lengths, "of": len(there), "input": given,
    }  # fmt: skip
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
        lines.append([sentence.name, sentence.meaning, [_formula(f) for f in sentence.formulas[:2]], face])
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


def _inputs(frame: Frame) -> list[float | str]:
    """The sample whose way is drawn."""
    row = np.ravel(frame.activations.get("input", np.zeros(0))).astype(np.float32)
    return [json_number(float(number)) for number in row]


# ---- Their numbers as short texts.


def walk_parts(said: Mapping[str, Any], rows: Float32, document: Mapping[str, Any], weights: Float32) -> dict[str, str]:
    """Packed tables by the names of their parts, of what `walks_of` gave and the page's own `weights` (frames, texels).

    ``"steps"`` (rows and deltas), ``"after"`` (new weights), and as far as there are such walks ``"alone"`` and
    ``"whole"``: the gradients of one sample, and those of batches.
    """
    count, alone = document["parameters"], sum(walk["alone"] for walk in said["walks"])
    gradients, after, rest = np.split(rows, [count, 2 * count], axis=1)
    known = weights.size <= EXACT  # else the page has not these bits
    tables: dict[str, tuple[Float32, Float32 | None]] = {
        "steps": (rest, None),
        "after": (after, led_weights(said, gradients, weights[:, :count]) if known else None),
        "alone": (gradients[:alone], led_slopes(said, rest[:alone], document)),
        "whole": (gradients[alone:], None),
    }
    return {name: packed_text(np.ascontiguousarray(table), exact=True, led=led)
            for name, (table, led) in tables.items() if len(table)}  # fmt: skip


def led_weights(said: Mapping[str, Any], gradients: Float32, weights: Float32) -> Float32:
    """What plain gradient descent makes of the weights of each walk's frame, (W, P)."""
    frames, rates = ([walk[name] for walk in said["walks"]] for name in ("frame", "lr"))
    lrs = np.array([float(rate) if math.isfinite(float(rate)) else 0.0 for rate in rates])
    with np.errstate(over="ignore", invalid="ignore"):
        wide: NDArray[np.float64] = weights[frames].astype(np.float64) - lrs[:, None] * gradients.astype(np.float64)
        return wide.astype(np.float32)


def led_slopes(said: Mapping[str, Any], rest: Float32, document: Mapping[str, Any]) -> Float32:
    """Delta times input of every layer that has one row of inputs, (W, P); 0 of all other parameters."""
    led = np.zeros((len(rest), document["parameters"]), np.float32)
    spans, at = dict[str, slice](), 0
    for name, count in said["rows"]:
        spans[name] = slice(at, at + count)
        at += count
    made, deltas = rest[:, :at], rest[:, at:]
    tensors, before = {tensor["name"]: tensor for tensor in document["tensors"]}, "input"
    for stage in document["stages"]:
        source = (stage["sources"] or [before])[0]
        before = stage["name"]
        if len(stage["sources"]) > 1 or stage["weight"] is None or not stage["whole"]:
            continue
        delta = deltas[:, spans[before]].astype(np.float64)
        if source in spans:
            given = made[:, spans[source]].astype(np.float64)
        else:
            given = np.tile(np.array(said["input"], np.float64), (len(rest), 1))
        weight, bias = tensors[stage["weight"]], tensors.get(stage["bias"])
        if weight["shape"] != [delta.shape[1], given.shape[1]]:
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            slopes = (delta[:, :, None] * given[:, None, :]).astype(np.float32)
        led[:, weight["start"] : weight["start"] + slopes[0].size if len(rest) else 0] = slopes.reshape(len(rest), -1)
        if bias is not None and bias["shape"] == [delta.shape[1]]:
            led[:, bias["start"] : bias["start"] + delta.shape[1]] = delta
    return led
