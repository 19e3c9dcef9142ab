"""`Walk`: an opened step of a run as micro-steps, each told as a picture shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, shown
from ...run.core.frame import Frame, Stage
from ...run.opened.micro import PHASES, MicroStep
from ...run.source import RunSource
from ...run.sources.played import RecordedSource
from ...run.sources.recording.recorded_step import Walked
from ..ink.text import delta_text, loss_text
from ..panels.wording import noun
from ..shown.subject import Subject
from ..space.layout import FEW
from .saying import Sayings, face_of_gradient, face_of_product, face_of_update
from .told import (
    BACKWARD,
    FORWARD,
    GRADIENTS,
    LOSS,
    UPDATE,
    ZERO,
    Face,
    Formula,
    Layer,
    Phase,
    Pulse,
    Sentence,
    Spread,
    Told,
)

Floats = NDArray[np.float64]
MOST_ROWS = 12
"""Blocks of weights whose gradients are listed."""
BINS = 24
"""Of the histogram of a gradient's terms."""


class Walk:
    """The way through one step, opened as the coming one or as a trial with the probe alone.

    `frame` is where the run stands, with the rows of the probe; `other` opens the same step as the other side of the
    switch has it. Micro-steps are counted from 1; `phases` has the phase of each.
    """

    def __init__(
        self, opened: Walked, subject: Subject, frame: Frame, other: Callable[[], Walked | None] = lambda: None
    ) -> None:
        if opened.trial:  # its own rows: in training they may be others than those of a prediction
            rows = {stage.name: opened.rows[stage.name][:, 0] for stage in subject.stages}
            frame = replace(frame, activations={**frame.activations, **rows})
        self.opened, self.subject, self.frame = opened, subject, frame
        self._open_other = other
        self.steps = opened.micro_steps()
        self.phases = tuple(PHASES.index(step.phase) for step in self.steps)
        self.n_weights = sum(t.size for t in subject.tensors if not t.buffer)
        self.few = self.n_weights <= FEW
        self._sayings = Sayings(opened, subject, frame)

    def __len__(self) -> int:
        return len(self.steps)

    def first_of(self, phase: int) -> int:
        """The first micro-step of a phase, or of the next that has any."""
        return 1 + next(k for k, of in enumerate(self.phases) if of >= phase)

    # ---- one micro-step

    def told(self, at: int, selected: int | None = None, adding: int = 0) -> Told:
        """What the picture shows after micro-step `at`.

        The line below is about the `selected` weight (a flat index), where it can. In the gradients of a layer
        `adding` samples have been added up so far; 0: all of them.
        """
        opened, done, now = self.opened, self.steps[:at], self.steps[at - 1]
        phase = self.phases[at - 1]
        computed, moved = self._weights_of(done, GRADIENTS), self._weights_of(done, UPDATE)
        gradient = self.added(now, adding, computed) if adding else opened.gradient
        values = np.where(moved, opened.new_values, self.frame.values) if moved.any() else self.frame.values
        frame = replace(
            self.frame, step=opened.step, loss=opened.loss if phase >= LOSS else float("nan"), gradient=gradient,
            computed=computed, values=np.asarray(values, np.float64), edited=False, next_lr=opened.lr, lr=opened.lr,
        )  # fmt: skip
        sentence = self._sayings.sentence(now, selected, computed, adding)
        reached, deltas = self._reached(done), self._deltas_of(done)
        return Told(
            step=opened.step, at=at, count=len(self), phases=self._phases(at), phase=phase, trial=opened.trial,
            samples=self.samples, frame=frame, before=self.frame, source=self.subject.source,
            quantity="gradient" if phase in (ZERO, BACKWARD, GRADIENTS) else "weight", reached=reached, deltas=deltas,
            faces=self._sums(now, gradient) if adding else self._faces(done, phase), sentence=sentence,
            pulses=self._pulses(now), adding=adding, whole=opened.gradient if adding else None,
            loss=self.own_loss if phase >= LOSS else None,
            spread=self._spread(sentence.index) if phase > LOSS else None,
            layers=self._layers(computed, gradient), rule=self._rule(phase, sentence.index),
            sample=self._sample(adding), data=self._data, moved=moved, stage=now.stage,
            outputs=self._sayings.outputs(deltas, reached), table=self._sayings.table(deltas, reached),
        )  # fmt: skip

    def line(self, at: int) -> tuple[Sentence, tuple[int, Face] | None]:
        """What is said of micro-step `at`, and what it writes on which cube (a flat index)."""
        now = self.steps[at - 1]
        faces = self._faces([now], self.phases[at - 1])
        sentence = self._sayings.sentence(now, None, np.zeros(len(self.frame.values), bool))
        return sentence, next(iter(faces.items()), None)

    @property
    def samples(self) -> str:
        """Whose numbers they are, in words."""
        if self.opened.trial:
            return f"this {noun(self.subject)}"
        count = len(self.opened.batch)
        one = f"the one {noun(self.subject)}"
        return f"{self._sayings.joined} of {count:,} {noun(self.subject, count)}" if count > 1 else one

    def _weights_of(self, steps: Sequence[MicroStep], phase: int) -> NDArray[np.bool_]:
        found = np.zeros(len(self.frame.values), bool)
        for step in steps:
            if step.phase == PHASES[phase]:
                found[step.weights] = True
        return found

    def _reached(self, done: Sequence[MicroStep]) -> dict[str, NDArray[np.bool_]]:
        phase = PHASES.index(done[-1].phase)
        found = {stage.name: np.full(stage.outputs, phase > FORWARD) for stage in self.subject.stages}
        found["input"] = np.full(self.subject.source.n_inputs, phase >= FORWARD)
        for step in done:
            if step.phase == "forward" and step.kind != "product":
                found[step.stage][step.units] = True
        return found

    def _deltas_of(self, done: Sequence[MicroStep]) -> dict[str, Floats]:
        """Those that have come, and with a layer's those of all stages behind it.

        They are of the whole batch also while its outer products are added up: all of them had come before.
        """
        found = {stage.name: np.full(stage.outputs, np.nan) for stage in self.subject.stages}
        names = list(found)
        for step in done:
            if step.phase == "backward":
                found[step.stage][step.units] = self.opened.joined[step.stage][step.units]
                for name in names[names.index(step.stage) + 1 :]:
                    found[name] = self.opened.joined[name]
        return found

    def _phases(self, at: int) -> tuple[Phase, ...]:
        found = []
        for number, span in enumerate(self.opened.phases()):
            done = min(max(at - span.start, 0), span.count)
            words = span.words
            if number == LOSS:
                words = loss_text(self.opened.loss) if done else ""
            elif number == UPDATE and not done:
                words = f"{words} wait"
            short = f"{self.n_weights:,}" if number in (ZERO, GRADIENTS, UPDATE) else ""
            found.append(Phase(span.name, words, done, span.count, short))
        return tuple(found)

    def _faces(self, done: Sequence[MicroStep], phase: int) -> dict[int, Face]:
        """What stands on the cubes of a small net."""
        if not self.few:
            return {}
        kind = {FORWARD: "product", GRADIENTS: "gradient", UPDATE: "update"}.get(phase)
        return {int(step.weights[0]): self._face(step) for step in done if step.kind == kind}

    def _face(self, step: MicroStep) -> Face:
        index = int(step.weights[0])
        value, gradient = float(self.frame.values[index]), float(self.opened.gradient[index])
        if step.kind == "product":
            return face_of_product(value, self._sayings.input_of(index))
        if step.kind == "update":
            return face_of_update(value, float(self.opened.new_values[index]))
        factors = (step.factors[0], step.factors[1]) if len(step.factors) == 2 else None
        return face_of_gradient(gradient, factors, "mean" if self._sayings.is_mean(index) else "Σ")

    def _pulses(self, now: MicroStep) -> tuple[Pulse, ...]:
        back = now.phase in ("backward", "gradients")
        if now.kind == "loss":
            last = self.subject.stages[-1] if self.subject.stages else None
            return () if last is None else tuple(Pulse("loss", i, last.name) for i in range(last.outputs))
        if now.kind in ("product", "gradient"):
            return (Pulse(now.kind, int(now.weights[0]), now.stage, back),)
        if now.kind in ("sum", "unit", "delta"):
            return (Pulse(now.kind, int(now.units[0]), now.stage, back),)
        if now.kind == "stage" and now.phase != "update":
            return (Pulse("gradient" if now.phase == "gradients" else "row", -1, now.stage, back),)
        return ()

    # ---- figures

    @property
    def _kept(self) -> bool:
        """Whether every sample of the batch is there; else some alone."""
        return self.opened.shown == len(self.opened.batch)

    @cached_property
    def _data(self) -> tuple[Floats, Floats]:
        """Of the whole batch; no rows where not all of it is kept."""
        count = self.opened.shown if self._kept else 0
        return self.opened.inputs.T[:count], self.opened.targets.T[:count]

    @cached_property
    def own_loss(self) -> float | None:
        """The probe's own."""
        return self.opened.loss if self.opened.trial else self.subject.probe_loss(self.frame)

    @cached_property
    def _other(self) -> Walked | None:
        return self._open_other()

    def _spread(self, index: int) -> Spread | None:
        """All terms of a weight's gradient in the batch, and where the probe's is among them."""
        batch, one = (self._other, self.opened) if self.opened.trial else (self.opened, self._other)
        if not self.few or index < 0 or batch is None or len(batch.batch) < 2:
            return None
        products = batch.products(index)
        if products is None:  # used at several places: no number a sample; or a recording, which keeps none
            return None
        count, own = len(batch.batch), None if one is None else float(one.gradient[index])
        words = f"{count:,} {noun(self.subject, count)}", noun(self.subject), "mean" if batch.divisor != 1 else "sum"
        return spread_of(products, float(batch.gradient[index]), own, *words)

    def _layers(self, computed: NDArray[np.bool_], gradient: Floats) -> tuple[Layer, ...]:
        """The largest gradient of each block of a larger net, as far as they have come."""
        found = []
        for tensor in (t for t in self.subject.tensors if not (self.few or t.buffer)):
            there = bool(computed[tensor.span].all())
            size = float(np.abs(gradient[tensor.span]).max(initial=0.0)) if there else float("nan")
            if tensor.role != "bias" or len(self.subject.tensors) <= MOST_ROWS:
                found.append(Layer(tensor.name, size))
        return tuple(found[:MOST_ROWS])

    def _rule(self, phase: int, index: int) -> tuple[Formula, ...]:
        """The optimiser's lines for a weight, in the order in which they are worked out, where there are several."""
        rule = self._sayings.rule(index) if index >= 0 and phase >= GRADIENTS else ()
        return (*rule[1:], rule[0]) if len(rule) > 1 else ()

    def _sample(self, adding: int) -> tuple[Floats, Floats, Floats] | None:
        """Input, output and target of the sample that is added last."""
        if not adding:
            return None
        opened, last = self.opened, self.subject.stages[-1].name
        return opened.inputs[:, adding - 1], opened.rows[last][:, adding - 1], opened.targets[:, adding - 1]

    # ---- a sum of outer products

    def layer_of(self, step: MicroStep) -> Stage | None:
        """The layer whose gradient a micro-step brings, if it is a sum of outer products of what the picture shows."""
        if step.phase != "gradients" or self.opened.trial or not self._kept:
            return None
        stages = (s for s in self.subject.stages if s.name == step.stage and s.weight is not None and s.whole)
        return next(stages, None)

    def _sums(self, step: MicroStep, gradient: Floats) -> dict[int, Face]:
        """What stands on the cubes of a layer while samples are added up."""
        stage = self.layer_of(step) if self.few else None
        tensors = [] if stage is None else [t for t in (stage.weight, stage.bias) if t is not None]
        words = f"sum ÷ {self.opened.divisor:,.10g}" if self.opened.divisor != 1 else "sum of δ·x"
        return {
            k: Face(words, f"= {delta_text(float(gradient[k]))}")
            for t in tensors
            for k in range(t.start, t.start + t.size)
        }

    def added(self, step: MicroStep, count: int, computed: NDArray[np.bool_]) -> Floats:
        """The gradient with that layer's own as the sum over the first `count` samples, all of it marked `computed`."""
        stage = self.layer_of(step)
        gradient = self.opened.gradient.copy()
        if stage is None or stage.weight is None:
            return gradient
        deltas, inputs = self.opened.deltas[stage.name][:, :count], self._sayings.inputs(stage)[:, :count]
        gradient[stage.weight.span] = (deltas @ inputs.T).ravel()
        computed[stage.weight.span] = True
        if stage.bias is not None:
            gradient[stage.bias.span] = deltas.sum(axis=1)
            computed[stage.bias.span] = True
        return gradient


def spread_of(
    terms: NDArray[np.floating], gradient: float, own: float | None, words: str, noun: str, joined: str = "mean"
) -> Spread | None:
    """The histogram of some terms; None where they are no numbers, or nothing but zeros."""
    reach = float(np.abs(terms).max(initial=0.0))
    if not np.isfinite(reach) or reach == 0.0:
        return None
    counts, _ = np.histogram(terms, BINS, (-reach, reach))
    return Spread(counts, reach, gradient, own, words, noun, joined)


# ---- a micro-step for a picture that stands still


def told_of(subject: Subject, frame: Frame, number: Any, *, whole_batch: bool = False) -> Told:
    """Micro-step `number` (from 1, or negative from the last) of the step that follows a frame of the subject's run.

    It is the real step if `whole_batch`; else a trial with the sample alone that is drawn, where that has a target.
    FileFormatError where a recording has no micro-steps, InputError where the subject is no run or there is no such
    micro-step.
    """
    walk = Walk(opened(subject, alone=not whole_batch and True in sides(subject)), subject, frame)
    at = number if isinstance(number, int) and not isinstance(number, bool) else 0
    at += len(walk) + 1 if at < 0 else 0
    if not 1 <= at <= len(walk):
        raise InputError(f"inside: got {shown(number)}; this step has micro-steps 1 to {len(walk)}, or -1 for the last")
    return walk.told(at)


def sides(subject: Subject) -> frozenset[bool]:
    """Of which steps there are micro-steps: that with the drawn sample alone (True), the real one."""
    if isinstance(subject.source, RecordedSource):
        return subject.source.sides()
    alone = subject.probe is not None and subject.target is not None
    return frozenset([False, alone] if isinstance(subject.source, RunSource) else [])


def opened(subject: Subject, *, alone: bool) -> Walked:
    """The coming step of a run, or the one after the frame of a recording where it stands."""
    source, target = subject.source, subject.target
    if isinstance(source, RecordedSource):
        return source.opened(alone=alone)
    if not isinstance(source, RunSource):
        raise InputError(f"inside: {source.what} has no steps to be opened; give a Run, a Scene or a recording")
    sample = None if subject.probe is None or target is None else (subject.probe, target)
    return source.run.open(sample=sample if alone else None)
