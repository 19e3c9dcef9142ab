"""`walks_of`: the micro-steps of a recording as a page has them: their words, and the numbers of their cubes.

What is said of each micro-step is written here, by the functions that write it in the window; which cubes show what at
which of them follows from the plan of the step, which the page reads.
"""

from __future__ import annotations

import json
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
from ..draw.text import loss_text
from ..draw.theme import THEMES, mixed
from ..micro.chips import delta_text
from ..micro.told import Formula
from ..micro.walk import Walk
from ..shown.subject import Subject
from .page import json_number

MOST = 60
"""Steps of which a page holds micro-steps."""
MOST_BYTES = 400_000
"""Bytes of their numbers, unpacked."""


def walks_of(
    subject: Subject, source: RecordedSource, places: Sequence[int], document: Mapping[str, Any]
) -> tuple[dict[str, Any], NDArray[np.float32]] | None:
    """The micro-steps after some of a recording's frames.

    Parameters
    ----------
    subject : Subject
    source : RecordedSource
        It stands afterwards where it stood.
    places : sequence of int
        Of the frames of the page.
    document : mapping
        Of :func:`~scalarviz.view.browser.document.document_of`.

    Returns
    -------
    (dict, ndarray of float32), or None
        What JSON takes, and a row of numbers for each walk: gradients, new weights, rows, deltas. None where there are
        no micro-steps.
    """
    here, found = source.place, _Walks(subject, source, document)
    there = [number for number, place in enumerate(places) if source.record.sides(place)]
    try:
        for number in _evenly(there, found.most):
            source.stand(places[number])
            found.add(number)
    finally:
        source.stand(here)
    if not found.rows:
        return None
    chip = {name: _hex(mixed(theme.gradient[3], theme.panel, 0.3)) for name, theme in THEMES.items()}
    order = sorted(range(len(found.walks)), key=lambda k: not found.walks[k]["alone"])  # each side changes slowly
    said = {
        "plans": found.plans,
        "walks": [found.walks[k] for k in order],
        "rows": found.lengths,
        "of": len(there),
        "input": found.input,
        "chip": chip,
    }
    return said, np.stack([found.rows[k] for k in order])


def _evenly(numbers: Sequence[int], most: int) -> list[int]:
    count = min(most, len(numbers))
    return [numbers[k] for k in np.unique(np.linspace(0, len(numbers) - 1, count).round().astype(int))]


class _Walks:
    """Collects them.

    Attributes
    ----------
    plans, walks : list of dict
    lengths : list of (str, int)
        Of the rows, in their order.
    rows : list of ndarray
    input : list of float
        The sample of the first walk.
    """

    def __init__(self, subject: Subject, source: RecordedSource, document: Mapping[str, Any]) -> None:
        self._single = document["words"]["single"]
        self._subject, self._source, self._parameters = subject, source, int(document["parameters"])
        self.lengths = [(stage.name, stage.outputs) for stage in subject.stages]
        self.plans: list[dict[str, Any]] = []
        self._known: dict[str, int] = {}
        self.walks: list[dict[str, Any]] = []
        self.rows: list[NDArray[np.float32]] = []
        self.input: list[float | str] = []

    @property
    def most(self) -> int:
        """Of how many frames there is room for micro-steps."""
        bytes_ = 2 * 4 * (2 * self._parameters + 2 * sum(count for _, count in self.lengths))
        return max(2, min(MOST, MOST_BYTES // bytes_))

    def add(self, number: int) -> None:
        """The micro-steps of the step after the frame where the source stands, which is this one of the page."""
        frame = self._source.frame()
        for alone in sorted(self._source.sides(), reverse=True):
            try:
                opened = self._source.opened(alone=alone)
                walk = Walk(opened, self._subject, frame)
            except ScalarvizError:  # what cannot be read is not there
                continue
            self.walks.append({"frame": number, **self._told(walk, opened)})
            self.rows.append(self._numbers(walk, opened))
            self.input = self.input or _inputs(frame)

    def _numbers(self, walk: Walk, opened: RecordedStep) -> NDArray[np.float32]:
        made = [walk.frame.activations[name] for name, _ in self.lengths]
        deltas = [opened.joined[name] for name, _ in self.lengths]
        parts = [opened.gradient[: self._parameters], opened.new_values[: self._parameters], *made, *deltas]
        with np.errstate(over="ignore"):
            return np.concatenate([np.ravel(part) for part in parts]).astype(np.float32)

    def _told(self, walk: Walk, opened: RecordedStep) -> dict[str, Any]:
        first, last = walk.told(1), walk.told(len(walk))
        own = walk.own_loss
        lines = []
        for at in range(1, len(walk) + 1):
            sentence, face = walk.line(at)
            lines.append([sentence.name, sentence.meaning, [_formula(f) for f in sentence.formulas[:2]], face])
        return {
            "alone": opened.trial, "lr": json_number(opened.lr), "plan": self._plan(walk, opened), "step": opened.step,
            "loss": loss_text(opened.loss), "own": None if own is None else loss_text(own), "samples": first.samples,
            "mean": last.mean, "about": first.headline.split("  \N{MIDDLE DOT}  ")[-1],
            "lines": lines, "table": last.table, "deltas": [delta_text(float(x)) for x in self._sums(opened)],
        }  # fmt: skip

    def _sums(self, opened: RecordedStep) -> NDArray[np.float64]:
        """Deltas of the sums of a single layer, which stand under its outputs."""
        single = self._single
        return opened.joined[single["sums"]] if single else np.zeros(0)

    def _plan(self, walk: Walk, opened: RecordedStep) -> int:
        """The number of what is the same in many steps."""
        phases = [[p.name, span.start, p.count, p.words] for p, span in
                  zip(walk.told(1).phases, opened.phases(), strict=True)]  # fmt: skip
        plan = {"steps": [_step(step, self.lengths) for step in opened.micro_steps()], "phases": phases}
        key = json.dumps(plan)
        if key not in self._known:
            self._known[key] = len(self.plans)
            self.plans.append(plan)
        return self._known[key]


def _inputs(frame: Frame) -> list[float | str]:
    """The sample whose way is drawn."""
    row = np.ravel(frame.activations.get("input", np.zeros(0))).astype(np.float32)
    return [json_number(float(number)) for number in row]


def _step(step: MicroStep, stages: Sequence[tuple[str, int]]) -> list[Any]:
    """Phase, kind, stage, units and weights (as runs)."""
    names = [name for name, _ in stages]
    stage = names.index(step.stage) if step.stage in names else -1
    return [PHASES.index(step.phase), step.kind, stage, _runs(step.units), _runs(step.weights)]


def _runs(numbers: NDArray[np.int64]) -> list[list[int]]:
    if not len(numbers):
        return []
    cuts = [0, *(np.flatnonzero(np.diff(numbers) != 1) + 1).tolist(), len(numbers)]
    return [[int(numbers[a]), int(numbers[b - 1]) + 1] for a, b in pairwise(cuts)]


def _hex(colour: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)


def _formula(formula: Formula) -> list[Any]:
    return [formula.letters, [[word.text, word.tone, int(word.bold)] for word in formula.numbers]]
