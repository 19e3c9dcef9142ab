"""`Walk`: an opened step of a run as micro-steps, each told as a picture shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame, Stage
from ...run.opened.micro import PHASES, MicroStep
from ...run.sources.recording.recorded_step import Walked
from ..ink.text import loss_text
from ..panels.wording import noun
from ..shown.subject import Subject
from ..space.layout import FEW
from .chips import delta_text
from .figures import Layer, Spread, spread_of
from .saying import Sayings, outputs
from .told import BACKWARD, FORWARD, GRADIENTS, LOSS, UPDATE, ZERO, Face, Formula, Phase, Pulse, Sentence, Told
from .writing import face_of_gradient, face_of_product, face_of_update, of_rule

Floats = NDArray[np.float64]
MOST_ROWS = 12
"""Blocks of weights whose gradients are listed."""


class Walk:
    """The way through one step.

    Parameters
    ----------
    opened : Walked
        The coming step, or a trial with the probe alone.
    subject : Subject
    frame : Frame
        Where the run stands, with the rows of the probe.
    other : callable, optional
        Opens the same step as the other side of the switch has it: of the batch, or of the probe alone.

    Attributes
    ----------
    steps : tuple of MicroStep
    phases : tuple of int
        The phase of each.
    """

    def __init__(
        self, opened: Walked, subject: Subject, frame: Frame, other: Callable[[], Walked | None] | None = None
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
        self.deltas: Mapping[str, Floats] = opened.joined
        self._sayings = Sayings(opened, subject, frame, self.deltas)

    def __len__(self) -> int:
        return len(self.steps)

    def first_of(self, phase: int) -> int:
        """The first micro-step of a phase, or of the next that has any, counting from 1."""
        return 1 + next(k for k, of in enumerate(self.phases) if of >= phase)

    # ---- one micro-step

    def told(self, at: int, selected: int | None = None, adding: int = 0) -> Told:
        """What the picture shows after micro-step `at` (from 1).

        Parameters
        ----------
        at : int
        selected : int, optional
            Flat index of the weight that the line below is to be about, where it can.
        adding : int
            In the gradients of a layer: how many samples have been added up so far; 0: all of them.
        """
        opened, done, now = self.opened, self.steps[:at], self.steps[at - 1]
        phase = self.phases[at - 1]
        computed, moved = self._weights_of(done, GRADIENTS), self._weights_of(done, UPDATE)
        gradient = self.added(now, adding, computed) if adding else opened.gradient
        frame = replace(
            self.frame, step=opened.step, loss=opened.loss if phase >= LOSS else float("nan"), gradient=gradient,
            computed=computed, values=self._values(moved), edited=False, next_lr=opened.lr, lr=opened.lr,
        )  # fmt: skip
        sentence = self._sayings.sentence(now, selected, computed, adding)
        spread = self._spread(sentence.index) if phase > LOSS else None
        faces = self._sums(now, gradient) if adding else self._faces(done, phase)
        quantity = "gradient" if phase in (ZERO, BACKWARD, GRADIENTS) else "weight"
        return Told(
            step=opened.step, at=at, count=len(self), phases=self._phases(at), phase=phase, trial=opened.trial,
            samples=self.samples, frame=frame, quantity=quantity,
            reached=self._reached(done), deltas=self._deltas_of(done), targets=self.subject.sample.wanted,
            faces=faces, sentence=sentence,
            pulses=self._pulses(now), adding=adding, whole=opened.gradient if adding else None,
            loss=self.own_loss if phase >= LOSS else None, spread=spread,
            layers=self._layers(computed, gradient), rule=self._rule(phase, sentence.index), now=self.frame,
            sample=self._sample(adding), data=self._data, moved=moved, stage=now.stage,
            outputs=outputs(opened, self.subject, self.frame, self._deltas_of(done), self._reached(done)),
            table=self._sayings.table(self._deltas_of(done), self._reached(done)),
        )  # fmt: skip

    def line(self, at: int) -> tuple[Sentence, tuple[int, Face] | None]:
        """What is said of micro-step `at` (from 1), and what it writes on which cube (a flat index)."""
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
        joined = "mean" if self.opened.divisor != 1 else "sum"
        return f"{joined} of {count:,} {noun(self.subject, count)}" if count > 1 else f"the one {noun(self.subject)}"

    def _weights_of(self, steps: Sequence[MicroStep], phase: int) -> NDArray[np.bool_]:
        found = np.zeros(len(self.frame.values), bool)
        for step in steps:
            if step.phase == PHASES[phase]:
                found[step.weights] = True
        return found

    def _values(self, moved: NDArray[np.bool_]) -> Floats:
        if not moved.any():
            return np.asarray(self.frame.values, np.float64)
        return np.where(moved, self.opened.new_values, self.frame.values)

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
                found[step.stage][step.units] = self.deltas[step.stage][step.units]
                for name in names[names.index(step.stage) + 1 :]:
                    found[name] = self.deltas[name]
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
        if not self.few or phase not in (FORWARD, GRADIENTS, UPDATE):
            return {}
        faces: dict[int, Face] = {}
        for step in done:
            if step.kind not in ("product", "gradient", "update"):
                continue
            index = int(step.weights[0])
            if step.kind == "product" and phase == FORWARD:
                faces[index] = face_of_product(float(self.frame.values[index]), self._sayings.input_of(index))
            elif step.kind == "gradient" and phase == GRADIENTS:
                factors = (step.factors[0], step.factors[1]) if len(step.factors) == 2 else None
                joined = "mean" if self._sayings.is_mean(index) else "Σ"
                faces[index] = face_of_gradient(float(self.opened.gradient[index]), factors, joined)
            elif step.kind == "update":
                faces[index] = face_of_update(float(self.frame.values[index]), float(self.opened.new_values[index]))
        return faces

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

    @cached_property
    def _data(self) -> tuple[Floats, Floats] | None:
        """Of the whole batch, where all of it is kept."""
        opened = self.opened
        return (opened.inputs.T, opened.targets.T) if opened.shown == len(opened.batch) else None

    @cached_property
    def own_loss(self) -> float | None:
        """The probe's own."""
        return self.opened.loss if self.opened.trial else self.subject.probe_loss(self.frame)

    @cached_property
    def _other(self) -> Walked | None:
        return None if self._open_other is None else self._open_other()

    def _spread(self, index: int) -> Spread | None:
        """All terms of a weight's gradient in the batch, and where the probe's is among them."""
        pair = (self._other, self.opened) if self.opened.trial else (self.opened, self._other)
        batch, one = pair
        if not self.few or index < 0 or batch is None or len(batch.batch) < 2:
            return None
        products = batch.products(index)
        if products is None:  # used at several places: no number a sample; or a recording, which keeps none
            return None
        count, own = len(batch.batch), None if one is None else float(one.gradient[index])
        words, name = f"{count:,} {noun(self.subject, count)}", noun(self.subject)
        return spread_of(products, float(batch.gradient[index]), own, words, name)

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
        if index < 0 or phase < GRADIENTS:
            return ()
        lines = self.opened.update(index).lines
        rule = of_rule(lines, float(self.frame.values[index]), self.opened.lr, float(self.opened.gradient[index]))
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
        if step.phase != "gradients" or self.opened.trial or self.opened.shown < len(self.opened.batch):
            return None
        stage = next((s for s in self.subject.stages if s.name == step.stage and s.weight is not None), None)
        return stage if stage is not None and stage.whole else None

    def _sums(self, step: MicroStep, gradient: Floats) -> dict[int, Face]:
        """What stands on the cubes of a layer while samples are added up."""
        stage = self.layer_of(step)
        if stage is None or not self.few:
            return {}
        tensors = [t for t in (stage.weight, stage.bias) if t is not None]
        places = [k for t in tensors for k in range(t.start, t.start + t.size)]
        words = f"sum ÷ {self.opened.divisor:,.10g}" if self.opened.divisor != 1 else "sum of δ·x"
        return {k: Face(words, f"= {delta_text(float(gradient[k]))}") for k in places}

    def added(self, step: MicroStep, count: int, computed: NDArray[np.bool_]) -> Floats:
        """The gradient with that layer's own as the sum over the first `count` samples of the batch.

        It is marked as `computed`, all of it.
        """
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
