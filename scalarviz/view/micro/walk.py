"""`Walk`: an opened step of a run as micro-steps, each as what a picture shows of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, shown
from ...run.core.frame import Frame, Stage
from ...run.core.gather import weight_name
from ...run.opened.between import SHARES
from ...run.opened.equations import DIFFERENCE, added, loss_of, share_of
from ...run.opened.micro import PHASES, MicroStep, called, counted, most_of
from ...run.opened.opened import Opened
from ...run.panels import WordBoard
from ...run.source import RunSource
from ...run.sources.played import RecordedSource
from ...run.sources.recording.recorded_step import Walked
from ..cubes.scale import in_words
from ..graph.figure import LOSS_NODE, Seen
from ..graph.layout import short as shortened
from ..ink.equation import decimals, neuron, sides_of
from ..ink.text import delta_text, figure, loss_text, number
from ..notes.layer import SYMBOLS
from ..panels.looks import BEGINNING
from ..panels.wording import noun
from ..shown.names import Names, who
from ..shown.subject import Subject
from ..space.layout import FEW
from .light import Lighting, Lit, Sums
from .told import (
    BACKWARD,
    FORWARD,
    GRADIENTS,
    LOSS,
    UPDATE,
    ZERO,
    Face,
    Floats,
    Formula,
    Layer,
    Output,
    Phase,
    Pulse,
    Sentence,
    Spread,
    Told,
    Tone,
    Word,
    decimals_of,
    face_of_gradient,
    face_of_product,
    face_of_update,
    of_product,
    of_rule,
)

Row = tuple[str, tuple[str, ...]]
MOST, LISTED = 4, 12
"""Outputs whose deltas are taken apart in a table, and outputs that are listed."""


# ---- The way through it.

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
        self._mean = not opened.trial and isinstance(opened, Opened)  # a recording keeps no inputs of a batch
        if self._mean and frame.activations:
            frame = replace(frame, activations={**frame.activations, **opened.means})
        self.opened, self.subject, self.frame = opened, subject, frame
        self._open_other = other
        self.steps = opened.micro_steps()
        self.phases = tuple(PHASES.index(step.phase) for step in self.steps)
        self.n_weights = sum(t.size for t in subject.tensors if not t.buffer)
        self.few = self.n_weights <= FEW
        self.joined = "mean" if opened.divisor != 1 else "sum"
        self.stages = {stage.name: stage for stage in subject.stages}
        done = [name for step in self.steps if step.phase == "forward" for name in (step.stage, *step.also)]
        self.order = tuple(dict.fromkeys(name for name in (*done, *self.stages) if name in self.stages))
        self._names = Names(subject)
        self._before = dict(zip(self.stages, ["input", *self.stages], strict=False))

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
        loss = opened.loss if phase >= LOSS else float("nan")
        frame = replace(
            self.frame, step=opened.step, loss=loss, shown_loss=loss, coming=None, gradient=gradient,
            computed=computed, values=np.asarray(values, np.float64), edited=False, next_lr=opened.lr, lr=opened.lr,
        )  # fmt: skip
        asked = now if selected is None or not isinstance(opened, Opened) else opened.about(now, selected)
        sentence = self.sentence(asked, selected, computed, adding)
        reached, joined = self._reached(done), self._deltas_of(done)
        deltas = joined
        if adding:  # the scene shows the sample that is added now, as the side does
            frame, deltas = replace(frame, activations=self._rows_of(adding)), self._deltas_added(adding)
        lit = self._lit(at, moved, deltas)
        if lit is not None:
            frame = replace(frame, state={**frame.state, lit.quantity: lit.numbers})
        layer = self.lighting.layer_of(at) if phase != UPDATE else None
        sums = self.lighting.sums(lit) if lit is not None and phase == FORWARD else {}
        stops = self.lighting.stops(at)
        if stops and len(now.weights):
            made = self.opened.means[now.stage]
            sums[stops[-1].row] = Sums(made, np.ones(len(made), bool))
        return Told(
            step=opened.step, at=at, count=len(self), phases=self._phases(at), phase=phase, trial=opened.trial,
            come=frozenset(called(step.stage) for step in done if step.phase == "forward"),
            weights=now.weights, stops=stops, sums=sums,
            layer=layer, met=self.lighting.met, back=self.lighting.back,
            reads="" if layer is None else self._sources(layer)[0], makes="" if layer is None else self.row_of(layer),
            samples=self.samples, frame=frame, before=self.frame, source=self.subject.source,
            quantity="gradient" if lit is None else lit.quantity, reached=reached, deltas=deltas,
            faces=self._sums(now, gradient) if adding else self._faces(done, phase), sentence=sentence,
            pulses=self._pulses(now), adding=adding, whole=opened.gradient if lit is None else lit.whole,
            loss=self.own_loss if phase >= LOSS and not adding else None,
            spread=self._spread(sentence.index) if phase > LOSS else None,
            layers=self._layers(computed, gradient), rule=self._rule(phase, sentence.index),
            sample=self._sample(adding), data=self._data, moved=moved, stage=now.stage,
            outputs=self.outputs(joined, reached), table=self.table(joined, reached),
            nodes=self._nodes(at, computed, np.asarray(values, np.float64)),
            node=self._node(now), looking=None if self._alone is None else self._alone.looking(at),
        )  # fmt: skip

    @cached_property
    def lighting(self) -> Lighting:
        """What its micro-steps light."""
        return Lighting(self)

    def _lit(self, at: int, moved: NDArray[np.bool_], deltas: Mapping[str, Floats]) -> Lit | None:
        """What the cubes show after micro-step `at`; None: the gradients that have come."""
        phase = self.phases[at - 1]
        if phase in (ZERO, GRADIENTS):
            return None
        if phase == UPDATE:
            return self.lighting.update(moved)
        return self.lighting.backward(at, deltas) if phase == BACKWARD else self.lighting.forward(at)

    def line(self, at: int) -> tuple[Sentence, tuple[int, Face] | None]:
        """What is said of micro-step `at`, and what it writes on which cube (a flat index)."""
        now = self.steps[at - 1]
        faces = self._faces([now], self.phases[at - 1])
        sentence = self.sentence(now, None, np.zeros(len(self.frame.values), bool))
        return sentence, next(iter(faces.items()), None)

    @property
    def samples(self) -> str:
        """Whose numbers they are, in words."""
        if self.opened.trial:
            return f"this {noun(self.subject)}"
        count = len(self.opened.batch)
        one = f"the one {noun(self.subject)}"
        return f"{self.joined} of {count:,} {noun(self.subject, count)}" if count > 1 else one

    def _weights_of(self, steps: Sequence[MicroStep], phase: int) -> NDArray[np.bool_]:
        found = np.zeros(len(self.frame.values), bool)
        for step in steps:
            if step.phase == PHASES[phase]:
                found[step.weights] = True
        return found

    def _reached(self, done: Sequence[MicroStep]) -> dict[str, NDArray[np.bool_]]:
        phase = PHASES.index(done[-1].phase)
        found = {stage.name: np.full(stage.outputs, phase > FORWARD) for stage in self.subject.stages}
        found["input"] = np.ones(self.subject.source.n_inputs, bool)
        for step in done:
            if step.phase == "forward" and step.kind != "product":
                for name in (step.stage, *step.also):
                    found[name][step.units] = True
        return found

    def _deltas_of(self, done: Sequence[MicroStep]) -> dict[str, Floats]:
        """Those that have come, and with a layer's those of all stages behind it.

        They are of the whole batch also while its outer products are added up: all of them had come before.
        """
        found = {stage.name: np.full(stage.outputs, np.nan) for stage in self.subject.stages}
        for step in done:
            if step.phase == "backward":
                own = (step.stage, *step.also)
                for name in own:
                    found[name][step.units] = self.opened.joined[name][step.units]
                for name in self.order[max(map(self.order.index, own)) + 1 :]:
                    found[name] = self.opened.joined[name]
        return found

    def _nodes(self, at: int, computed: NDArray[np.bool_], values: Floats) -> dict[str, Seen]:
        """The nodes of a formula and their numbers, as far as they have come; empty of any other network."""
        found: dict[str, Seen] = {}
        phase = self.phases[at - 1]
        for k, step in enumerate(self.steps):
            if step.kind == "node" and (step.phase == "forward" or k < at):
                value, name = step.value if k < at else None, self._named(step.words)
                found[name] = Seen(value) if step.phase == "forward" else found[name]._replace(delta=value)
        if not found:
            return {}
        opened, sample = self.opened, self.subject.sample
        for names, rows in ((sample.inputs, opened.inputs), (sample.outputs, opened.targets)):
            found |= {name: Seen(float(row.mean())) for name, row in zip(names, rows, strict=False)}
        for k in range(self.n_weights):
            found[weight_name(self.subject.tensors, k)] = Seen(
                float(values[k]), float(self.opened.gradient[k]) if computed[k] else None
            )
        done = self.opened.loss if phase >= LOSS else None, 1.0 if phase >= BACKWARD else None
        return {**found, LOSS_NODE: Seen(*done)}

    @cached_property
    def _alone(self) -> Walked | None:
        """The step of the one sample, where its positions look at each other."""
        looks = any(step.formula == SHARES for step in self.steps)
        return (self.opened if self.opened.trial else self._other) if looks else None

    def rows_in(self, at: int) -> int:
        """How many rows of maps micro-step `at` shows one after the other."""
        alone = self._alone if self.steps[at - 1].formula == SHARES else None
        looking = None if alone is None else alone.looking(at)
        return 1 if looking is None else looking.places

    def _node(self, step: MicroStep) -> str:
        """What the node is called that a micro-step is about, of a formula."""
        if step.kind in ("gradient", "update"):
            return weight_name(self.subject.tensors, int(step.weights[0]))
        return LOSS_NODE if step.kind == "loss" else self._named(step.words)

    def _named(self, words: str) -> str:
        """Words or a formula with the names that inputs and targets have on the screen."""
        sample = self.subject.sample

        def named(found: re.Match[str]) -> str:
            names, number = sample.inputs if found[1] == "input" else sample.outputs, int(found[2])
            return names[number] if number < len(names) else found[0]

        return re.sub(r"\b(input|target) (\d+)\b", named, words)

    def _phases(self, at: int) -> tuple[Phase, ...]:
        found = []
        for phase, span in enumerate(self.opened.phases()):
            done = min(max(at - span.start, 0), span.count)
            words = span.words
            if phase == LOSS:
                words = loss_text(self.opened.loss) if done else ""
            elif phase == UPDATE and not done:
                words = f"{words} wait"
            short = f"{self.n_weights:,}" if phase in (ZERO, GRADIENTS, UPDATE) else ""
            found.append(Phase(span.name, words, done, span.count, short))
        return tuple(found)

    def _faces(self, done: Sequence[MicroStep], phase: int) -> dict[int, Face]:
        """What stands on the cubes of a small net."""
        if not self.few:
            return {}
        kind = {FORWARD: "product", GRADIENTS: "gradient", UPDATE: "update"}.get(phase)
        mine = [step for step in done if step.kind == kind]
        lit = [step for step in mine if phase != FORWARD or step.stage == mine[-1].stage]  # one layer after the other
        return {int(step.weights[0]): self._face(step) for step in lit}

    def _face(self, step: MicroStep) -> Face:
        index = int(step.weights[0])
        value, gradient = float(self.frame.values[index]), float(self.opened.gradient[index])
        if step.kind == "product":
            return face_of_product(value, self.input_of(index))
        if step.kind == "update":
            after = self.opened.new_values
            return face_of_update(value, float(after[index]), decimals_of(self.frame.values, after))
        factors = (step.factors[0], step.factors[1]) if len(step.factors) == 2 else None
        return face_of_gradient(gradient, factors, "mean" if self.is_mean(index) else "Σ")

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
        """That of the one sample that is shown; None where means are."""
        if self.opened.trial:
            return self.opened.loss
        return None if self._mean else self.subject.probe_loss(self.frame)

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
                found.append(Layer(self._names.tensors[tensor.name], size))
        return tuple(found[:MOST_ROWS])

    def _rule(self, phase: int, index: int) -> tuple[Formula, ...]:
        """The optimiser's lines for a weight, in the order in which they are worked out, where there are several."""
        rule = self.rule(index) if index >= 0 and phase >= UPDATE else ()
        return (*rule[1:], rule[0]) if len(rule) > 1 else ()

    def _rows_of(self, adding: int) -> dict[str, Floats]:
        """The numbers of the sample that is added last, if the batch's are kept; else those of the probe."""
        if adding > self.opened.shown:
            return {name: np.asarray(row, np.float64) for name, row in self.frame.activations.items()}
        rows = {name: np.asarray(row[:, adding - 1]) for name, row in self.opened.rows.items()}
        k = adding - 1
        return {"input": self.opened.inputs[:, k], "target": self.opened.targets[:, k], **rows}

    def _deltas_added(self, adding: int) -> dict[str, Floats]:
        """Its own, before they are divided; those of the batch where they are not kept."""
        if adding > self.opened.shown:
            return self._deltas_of(self.steps)
        return {name: np.asarray(of[:, adding - 1]) * self.opened.divisor for name, of in self.opened.deltas.items()}

    def _sample(self, adding: int) -> tuple[Floats, Floats, Floats] | None:
        """Input, output and target of the sample that is added last, or their means; None: those of the probe."""
        opened, last = self.opened, self.subject.stages[-1].name if self.subject.stages else ""
        if not adding:
            return (opened.means["input"], opened.means[last], opened.means["target"]) if self._mean and last else None
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
        cubes = [k for tensor in tensors for k in range(tensor.start, tensor.start + tensor.size)]
        return {k: Face(words, f"= {delta_text(float(gradient[k]))}") for k in cubes}

    def added(self, step: MicroStep, count: int, computed: NDArray[np.bool_]) -> Floats:
        """The gradient with that layer's own as the sum over the first `count` samples, all of it marked `computed`."""
        stage = self.layer_of(step)
        gradient = self.opened.gradient.copy()
        if stage is None or stage.weight is None:
            return gradient
        deltas, inputs = self.opened.deltas[stage.name][:, :count], self.inputs(stage)[:, :count]
        gradient[stage.weight.span] = (deltas @ inputs.T).ravel()
        computed[stage.weight.span] = True
        if stage.bias is not None:
            gradient[stage.bias.span] = deltas.sum(axis=1)
            computed[stage.bias.span] = True
        return gradient

    # ---- numbers

    def _sources(self, stage: Stage) -> tuple[str, ...]:
        return stage.sources or (self._before[stage.name],)

    def inputs(self, stage: Stage) -> Floats:
        """What a stage reads, for the samples of the opened batch: (columns, shown)."""
        return np.concatenate([
            self.opened.inputs if name == "input" else self.opened.rows[name] for name in self._sources(stage)
        ])  # fmt: skip

    def row_of(self, stage: Stage) -> str:
        """The stage whose row shows a layer's sums, or what becomes of each of them."""
        after = self._after(stage)
        return stage.name if after is None else after.name

    def rows_before(self, stage: Stage) -> Floats | None:
        """The numbers of the sample that a stage reads; None where they are not known."""
        rows = [self.frame.activations.get(name) for name in self._sources(stage)]
        return None if any(row is None for row in rows) else np.concatenate(rows)  # type: ignore[arg-type]

    def input_of(self, index: int) -> float:
        """What the weight at a flat index is multiplied with, for the probe; 1 for a bias."""
        for stage in self.subject.stages:
            weight = stage.weight if stage.whole else None
            if weight is not None and weight.start <= index < weight.start + weight.size:
                rows = [self.frame.activations[name] for name in self._sources(stage)]
                return float(np.concatenate(rows)[(index - weight.start) % weight.shape[-1]])
        return 1.0

    # ---- the line below the cubes

    def sentence(self, step: MicroStep, selected: int | None, computed: NDArray[np.bool_], adding: int = 0) -> Sentence:
        """What the line says of a micro-step; about the `selected` weight where its number is there."""
        if adding:
            return self._of_sum(step, adding)
        if step.phase in ("gradients", "update"):
            return self._of_weight(step, selected if selected is not None and computed[selected] else None)
        if step.kind == "product":
            index = int(step.weights[0])
            known, x, w = who(self.subject, index), self.input_of(index), float(self.frame.values[index])
            made = of_product("w × x = product", w, x, w * x, violet=False)
            return Sentence(known.name, self._forward(""), (made,), index)
        if step.kind in ("sum", "unit"):
            return self._of_unit(step)
        if step.phase == "loss":
            formula = Formula("loss", (Word(loss_text(self.opened.loss), bold=True),))
            last = self.frame.activations.get(self.subject.stages[-1].name) if self.subject.stages else None
            if len(self.opened.batch) == 1 and last is not None and len(self.opened.targets):
                said = loss_of(np.asarray(last, np.float64), self.opened.targets[:, 0], self.opened.loss)
                formula = formula if said is None else _equation(*said, violet=False)
            return Sentence("loss", f"of {self._of_whom()}: what is to become smaller", (formula,))
        if step.kind == "node" or (step.op and not len(step.units)):
            return self._of_operation(step)
        if step.op:
            return self._of_largest(step)
        if step.phase == "backward":
            return self._of_delta(step)
        if step.kind == "stage":
            return Sentence(self._titles(step), self._forward(self._made(step)), _alone("output", step))
        return Sentence("zero", "every gradient is cleared, since what comes back is added up")

    def _of_operation(self, step: MicroStep) -> Sentence:
        """One operation of a formula, or what is made between modules, shown by one number."""
        back, (name, _, meaning) = step.phase == "backward", self._named(step.words).partition(": ")
        looks = None if step.formula != SHARES or not self.opened.trial else self.opened.attention(step.stage)
        numbers = step.numbers if looks is None else share_of(looks, *looks.which(SHARES, step.column))
        letters = f"{step.formula} = δ" if back else "" if step.kind == "node" else step.formula
        formula = _equation(self._named(letters), numbers, violet=back)
        said = f"δ of {shortened(name)}" if back else shortened(name)
        if back:
            meaning = "how the loss changes with this node"
        elif step.kind == "stage":
            meaning = f"{meaning}; {self._about(step)}"
        return Sentence(said, meaning, (formula,))

    def _place(self, step: MicroStep) -> tuple[Sequence[str], int]:
        """The letters of a word, and of which, from 1, a micro-step tells; 0: of none."""
        board = next((panel for panel in self.subject.panels if isinstance(panel, WordBoard)), None)
        names = (BEGINNING, *board.word) if board is not None and self.opened.trial else ()
        called_at = re.findall(r"\((\d+)\)\Z", step.stage)
        return names, len(names) if step.also else int(*called_at) if called_at else 0

    def _about(self, step: MicroStep) -> str:
        """Which number of what is made between modules a micro-step tells of: of a word, at which letter."""
        names, place = self._place(step)
        own, of = _letter(names, place), f" of {_letter(names, place)}" if place else ""
        looks = None if self._alone is None else self._alone.attention(step.stage)
        if looks is None:
            return f"number {step.column + 1}{of}"
        head, number = looks.which(step.formula, step.column)
        if step.formula == SHARES:
            return f"head {head + 1}: {own} looks at {_letter(names, number + 1)}"
        return f"head {head + 1}, number {number + 1}{of}"

    def _titles(self, step: MicroStep) -> str:
        """What the stages of a micro-step are called: ``q, k, v``."""
        return ", ".join(dict.fromkeys(map(self._title, (step.stage, *step.also))))

    def _of_largest(self, step: MicroStep) -> Sentence:
        """Many numbers at once, shown by the largest of them."""
        stage, back = self.stages[called((step.stage, *step.also)[-1])], step.phase == "backward"
        name, place = self._name(stage, step.column), self._names.place(stage, step.column)
        name = place if name.endswith(place) else f"class {name}" if name.isdecimal() else name
        name += f" of {_letter(*self._place(step))}" if self._place(step)[1] else ""
        title, first = f"{self._title(stage.name)}: {name}", "the largest" if step in self.steps else "one"
        made = f"{first} of {self._made(step)}"
        letters = " = ".join(filter(None, (step.formula, "δ"))) if back else step.formula
        formula = _equation(letters, step.numbers, violet=back)
        short = Formula(letters, formula.numbers[-1:])
        if back:
            return Sentence(f"δ of {title}", f"{made}, of {self._of_whom()}", (formula,), short=short)
        return Sentence(title, made, (formula,), short=short)

    def _made(self, step: MicroStep) -> str:
        """How many numbers a stage, or all calls of a module, have made."""
        stage, modules = self.stages[step.stage], len({*map(called, (step.stage, *step.also))})
        count = counted("number" if stage.weight is None else "sum", stage.outputs)
        return f"{count} at each of {(1 + len(step.also)) // modules} places" if len(step.also) >= modules else count

    def _of_whom(self) -> str:
        count = len(self.opened.batch)
        batch = f"the {self.joined} of {count:,} {noun(self.subject, count)}"
        return f"this {noun(self.subject)}" if self.opened.trial else batch

    def _forward(self, about: str) -> str:
        """Whose numbers they are on the way forward, if they are not those of one sample."""
        count = len(self.opened.batch)
        if self.opened.trial or count == 1:
            return about
        whose = (
            f"mean of {count:,} {noun(self.subject, count)}" if self._mean else f"of this {noun(self.subject)} alone"
        )
        return ", ".join(filter(None, (about, whose)))

    def _name(self, stage: Stage, row: int) -> str:
        """What a number of a row is called: what it becomes, if nothing else reads it."""
        return self._names.unit(self._after(stage) or stage, row)

    def _title(self, stage: str) -> str:
        """What a stage is called, whichever of several calls it is."""
        return called(self._names.stages[stage])

    def _after(self, stage: Stage) -> Stage | None:
        """The stage that makes each number of a row something else, and reads nothing beside it."""
        after = [s for s in self.subject.stages if self._sources(s) == (stage.name,)]
        good = len(after) == 1 and after[0].weight is None and after[0].outputs == stage.outputs
        return after[0] if good and "norm" not in after[0].kind else None

    def _of_unit(self, step: MicroStep) -> Sentence:
        stage, i = self.stages[step.stage], int(step.units[0])
        made = float(self.frame.activations[stage.name][i])
        if step.kind == "unit":
            entering, symbol = self.frame.activations[self._sources(stage)[0]], SYMBOLS.get(stage.kind, stage.kind)
            words = Word(f"{symbol}({decimals(float(entering[i]), 4).text})"), Word(" = ", "dim")
            becomes = Word(decimals(made, 4).text, bold=True)
            formula = Formula(f"{symbol}(sum) = output", (*words, becomes))
            if self._mean and len(self.opened.batch) > 1:  # a mean is made of no mean
                formula = Formula("mean output", (becomes,))
            kind = self._forward(in_words(stage.kind))
            return Sentence(f"output {self._name(stage, i)}", kind, (formula,))
        assert stage.weight is not None  # sums are of layers
        first, width = stage.weight.start + i * stage.weight.shape[-1], stage.weight.shape[-1]
        terms: list[tuple[float, float | None]]
        terms = [(float(self.frame.values[k]), self.input_of(k)) for k in range(first, first + width)]
        if stage.bias is not None:
            terms.append((float(self.frame.values[stage.bias.start + i]), None))
        left, sign, result = sides_of(next(neuron("sum", terms, made)).removeprefix("sum = "))
        summed = "the products" if stage.bias is None else "products and bias"
        numbers = (Word(left), Word(sign, "dim"), Word(result, bold=True))
        made_of = self._forward(summed)
        return Sentence(f"sum {self._name(stage, i)}", made_of, (Formula("", numbers),))

    def _of_delta(self, step: MicroStep) -> Sentence:
        stage = self.stages[step.stage]
        if step.kind != "delta":
            meaning = f"{self._made(step)}, backward: {self._of_whom()}"
            return Sentence(f"δ of {self._titles(step)}", meaning, _alone("δ", step, violet=True))
        unit = int(step.units[0])
        made = _violet("δ" if self.opened.trial else f"{self.joined} of δ", step.value)
        if len(step.factors) == 2:
            made = of_product(f"{step.formula} = δ", *step.factors, step.value)
        about = "how the loss changes with this sum"
        return Sentence(f"δ of {self._name(stage, unit)}", about, (made,))

    def _of_weight(self, step: MicroStep, selected: int | None) -> Sentence:
        """Gradient and update of the selected weight; else of that of the step, of several the one that shows most."""
        index = selected
        if index is None:
            index = most_of(step, self.opened.gradient, self.change)
        known, update, rule = who(self.subject, index), self.opened.update(index), self.rule(index)
        if update.why:
            moved = self.opened.follows(index)
            says = f"{figure(update.before)} becomes {figure(update.after)}" if moved else "stays"
            rule = (Formula("", (Word(f"{says}: {update.why}"),)),)
        what = "gradient" if step.phase == "gradients" else "change"
        meaning = f"the largest {what} here" if selected is None and len(step.weights) > 1 else ""
        left, sign, result = sides_of(added([update.before, update.after - update.before], update.after))
        short = Formula("", (Word(f"{left}{sign}"), Word(result, bold=True))) if step.phase == "update" else None
        if step.phase == "gradients":  # of a rule of several lines nothing is worked out yet
            told = step if step.op and index == step.weights[step.column] else None
            short = self._of_gradient(index) if told is not None else None
            rule = (self._of_gradient(index, told), *(rule if len(rule) == 1 else ()))
        return Sentence(known.name, meaning, rule, index, short=short)

    def rule(self, index: int) -> tuple[Formula, ...]:
        """The optimiser's lines for a weight with their numbers, the new weight first."""
        before, gradient = float(self.frame.values[index]), float(self.opened.gradient[index])
        return of_rule(self.opened.update(index).lines, before, self.opened.lr, gradient)

    @cached_property
    def change(self) -> Floats:
        """By how much the step moves each weight (P,)."""
        return np.asarray(self.opened.new_values - self.frame.values, np.float64)

    def _of_gradient(self, index: int, told: MicroStep | None = None) -> Formula:
        """The gradient of one weight as a product, or as what it is a sum of; `told` has the terms."""
        made, gradient = self.opened.made(index), float(self.opened.gradient[index])
        if made.terms == 1 and self.opened.trial:
            return of_product("δ · 1 = g" if made.bias else "δ · x = g", made.delta, made.x, gradient)
        if told is not None:
            return _equation(f"sum of {made.terms:,} δ · x = g", told.numbers, violet=True)
        joined = "mean" if self.is_mean(index) else "sum"
        return _violet(f"{joined} of {made.terms:,} δ · x = g" if made.terms else "g", gradient)

    def is_mean(self, index: int) -> bool:
        """Whether a gradient is the mean of what the samples ask for: of a weight used once, where losses are averaged.

        Several products of one sample are a sum.
        """
        return self.opened.divisor != 1 and self.opened.made(index).terms == len(self.opened.batch)

    def _of_sum(self, step: MicroStep, adding: int) -> Sentence:
        """A sum of outer products on its way."""
        count = len(self.opened.batch)
        numbers = (Word(f"{adding:,}", "violet", True), Word(f" of {count:,} {noun(self.subject, count)} added up"))
        letters = f"sum of δ · x ÷ {self.opened.divisor:,.10g}" if self.opened.divisor != 1 else "sum of δ · x"
        about = "each adds its own δ · x to every cube"
        return Sentence(f"gradient of {self._title(step.stage)}", about, (Formula(letters, numbers),))

    # ---- the outputs beside

    @cached_property
    def _last(self) -> Stage | None:
        """The last layer, where its outputs have names."""
        last = next((s for s in reversed(self.subject.stages) if s.weight is not None), None)
        return last if last is not None and len(self.subject.sample.outputs) == last.outputs else None

    def table(self, deltas: Mapping[str, Floats], reached: Mapping[str, NDArray[np.bool_]]) -> tuple[Row, ...]:
        """Where the deltas of the last sums come from, row by row; those that have not come yet are empty."""
        sums, end, sample = self._last, self.subject.stages[-1] if self.subject.stages else None, self.subject.sample
        if sums is None or end is None or sums.outputs > MOST or (sums is not end and self._after(sums) is not end):
            return ()
        own = deltas[sums.name]
        if not self.opened.trial:
            return (("mean δ" if self.joined == "mean" else "sum of δ", _cells(own)),)
        rows = [("output y", _plain(np.where(reached[end.name], self.frame.activations[end.name], np.nan)))]
        if sample.wanted is not None:
            rows.append(("target t", _plain(sample.wanted)))
        if sums is end:
            return (*rows, ("δ", _cells(own)))
        there, outer = own == own, self.opened.joined[end.name]
        slope = np.divide(self.opened.joined[sums.name], outer, out=np.full(len(outer), np.nan), where=outer != 0)
        rows.append((self._above(sums), _cells(np.where(there, outer, np.nan))))
        rows.append((f"slope of {SYMBOLS.get(end.kind, end.kind)}", _plain(np.where(there, slope, np.nan))))
        return (*rows, ("δ, their product", _cells(own)))

    def _above(self, sums: Stage) -> str:
        """What comes down to the output, as output and target give it where they do."""
        formula = next((s.formula for s in self.opened.micro_steps() if (s.kind, s.stage) == ("delta", sums.name)), "")
        before, difference, _ = formula.partition(DIFFERENCE)
        return before + difference if difference else "δ of output"

    def outputs(self, deltas: Mapping[str, Floats], reached: Mapping[str, NDArray[np.bool_]]) -> tuple[Output, ...]:
        """The outputs of the last layer one below the other, where a table has no column for each.

        Those of the one sample, or of a batch their means: the numbers beside each other are of the same samples.
        """
        sums, sample, trial = self._last, self.subject.sample, self.opened.trial
        if sums is None or not MOST < sums.outputs <= LISTED or not len(self.frame.activations):
            return ()
        own = self.frame.activations[sums.name] if trial else self.opened.means[sums.name]
        wanted, good = sample.wanted, sample.label
        if wanted is not None:
            good = int(np.argmax(wanted)) if wanted.max() > 0 else None
        rows = zip(sample.outputs, np.where(reached[sums.name], own, np.nan), deltas[sums.name], strict=True)
        return tuple(Output(n, float(v), float(d), trial and k == good) for k, (n, v, d) in enumerate(rows))


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


def _letter(names: Sequence[str], place: int) -> str:
    """What a place of a word is called, from 1."""
    return names[place - 1] if 0 < place <= len(names) else f"place {place}"


def _alone(letters: str, step: MicroStep, *, violet: bool = False) -> tuple[Formula, ...]:
    """The numbers of a stage that goes as one, where they are few."""
    return (_equation(letters, step.numbers, violet=violet),) if step.numbers else ()


def _equation(letters: str, numbers: str, *, violet: bool) -> Formula:
    """An equation that is written already; `violet`: of deltas."""
    left, sign, result = sides_of(numbers)
    tone: Tone = "violet" if violet else "plain"
    letters, left = (re.sub(r"\b[a-z]+_[a-z]+\b", lambda found: in_words(found[0]), t) for t in (letters, left))
    words = Word(left, tone), Word(sign, "dim"), Word(result, tone, True)
    return Formula(letters, tuple(word for word in words if word.text))


def _violet(letters: str, value: float) -> Formula:
    return Formula(letters, (Word(delta_text(value), "violet", True),))


def _cells(values: Floats) -> tuple[str, ...]:
    return tuple("" if v != v else delta_text(float(v)) for v in values)


def _plain(values: NDArray[np.floating]) -> tuple[str, ...]:
    return tuple("" if v != v else number(float(v), 4) for v in values)
