"""`Walk`: an opened step of a run as micro-steps. `Told`: all that a picture shows of one of them, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, shown
from ...run.core.frame import Frame, Stage
from ...run.opened.micro import DIFFERENCE, PHASES, MicroStep, counted
from ...run.opened.rule import MINUS, Line, digits_of, digits_that_give
from ...run.source import RunSource
from ...run.sources.played import RecordedSource
from ...run.sources.recording.recorded_step import Walked
from ..cubes.scale import in_words
from ..ink.equation import Printed, decimals, descent, neuron, product, rounds_to
from ..ink.text import chip_text, delta_text, exponent, figure, loss_text, number
from ..notes.layer import SYMBOLS
from ..panels.drawer import Inner
from ..panels.wording import noun
from ..shown.names import Names, who
from ..shown.subject import Subject
from ..space.layout import FEW

Floating = NDArray[np.floating]
Floats = NDArray[np.float64]
Tone = Literal["plain", "dim", "violet"]
"""In which of the theme's colours a word stands: what it is about, what it is not, and all that is a gradient."""
ZERO, FORWARD, LOSS, BACKWARD, GRADIENTS, UPDATE = range(len(PHASES))
"""Places of the phases."""


@dataclass(frozen=True, slots=True)
class Phase:
    """One arrow of the ribbon: how many of its micro-steps were shown, and the words below its name."""

    name: str
    words: str
    done: int
    count: int
    short: str = ""  # what stands there where `words` have no room


class Word(NamedTuple):
    """A piece of a formula."""

    text: str
    tone: Tone = "plain"
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula in letters (``"δ · x = g"``), and the same with its numbers."""

    letters: str
    numbers: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """The line below the cubes: ``"0.weight[2][2]"``, ``"from b to b"``, and formulas, of which the first is of now."""

    name: str
    meaning: str = ""
    formulas: tuple[Formula, ...] = ()
    index: int = -1  # flat, of the weight that it is about; -1 where it is about none


class Face(NamedTuple):
    """The two lines on a cube: how its number comes about, and the number."""

    above: str
    below: str


@dataclass(frozen=True, slots=True)
class Pulse:
    """Something that runs along a line of the picture; `back`: backwards, in the colour of gradients."""

    kind: str  # product, sum, unit, row, loss, delta or gradient
    index: int  # flat index of the weight, else the row
    stage: str = ""
    back: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """A histogram of the terms of one weight's gradient, one a sample; its bins go from -`reach` to `reach`."""

    counts: NDArray[np.int64]
    reach: float
    gradient: float
    own: float | None  # the term of the one sample that is drawn
    words: str  # what the terms are of: "1,024 colours"
    noun: str  # what one of them is called
    joined: str = "mean"  # or sum


class Layer(NamedTuple):
    """One layer's gradients: its name, and the largest by size (NaN: not there yet)."""

    name: str
    largest: float


class Output(NamedTuple):
    """One output of the last layer, its number, its delta (both NaN until they are there), and whether it is wanted."""

    name: str
    value: float
    delta: float
    wanted: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Told(Inner):
    """One micro-step on the picture: what panels show of it, and what is drawn around and beside the cubes."""

    step: int
    at: int
    count: int
    phases: tuple[Phase, ...]
    trial: bool  # a trial step with one sample alone; else the real step of the whole batch
    quantity: str  # what the cubes show: weight or gradient
    reached: Mapping[str, NDArray[np.bool_]]  # by stage, the numbers of its row that the forward pass has come to
    faces: Mapping[int, Face]  # by flat index, of cubes whose number comes about in this phase
    sentence: Sentence
    pulses: Sequence[Pulse]
    table: Sequence[tuple[str, Sequence[str]]]  # where the deltas of the outputs come from, row by row
    outputs: Sequence[Output]  # where there are too many for the table, or the target is a class
    whole: Floating | None  # the gradient that a sum of outer products comes to
    loss: float | None  # of the sample that is drawn, at the weights before the step
    spread: Spread | None
    layers: Sequence[Layer]  # of a larger net
    rule: Sequence[Formula]  # the optimiser's lines, where there are several
    sample: tuple[Floating, Floating, Floating] | None  # input, output and target of the sample that is added up last

    @property
    def mean(self) -> bool:
        """Whether deltas and gradients are means over a batch."""
        return not self.trial and self.samples.startswith("mean") and not self.adding

    @property
    def headline(self) -> str:
        """The HUD's second line: where in the step this is."""
        mode = "a trial step, leaving it changes nothing" if self.trial else "the real step"
        some = f"{self.adding:,} sample{'' if self.adding == 1 else 's'} added up"
        place = some if self.adding else f"micro-step {self.at} of {self.count}"
        where = f"paused inside step {self.step:,}  \N{MIDDLE DOT}  {place}"
        return f"{where}  \N{MIDDLE DOT}  {self.samples}: {mode}"


Row = tuple[str, tuple[str, ...]]
MOST, LISTED = 4, 12
"""Outputs whose deltas are taken apart in a table, and outputs that are listed."""
DIGITS = 4
"""That count, of a number in the optimiser's lines."""


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
        self.opened, self.subject, self.frame = opened, subject, frame
        self._open_other = other
        self.steps = opened.micro_steps()
        self.phases = tuple(PHASES.index(step.phase) for step in self.steps)
        self.n_weights = sum(t.size for t in subject.tensors if not t.buffer)
        self.few = self.n_weights <= FEW
        self.joined = "mean" if opened.divisor != 1 else "sum"
        self._stages = {stage.name: stage for stage in subject.stages}
        self._called = Names(subject)
        self._before = dict(zip(self._stages, ["input", *self._stages], strict=False))

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
        sentence = self.sentence(now, selected, computed, adding)
        reached, joined = self._reached(done), self._deltas_of(done)
        deltas = joined
        if adding:  # the scene shows the sample that is added now, as the side does
            frame, deltas = replace(frame, activations=self._rows_of(adding)), self._deltas_added(adding)
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
            outputs=self.outputs(joined, reached), table=self.table(joined, reached),
        )  # fmt: skip

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
        return {int(step.weights[0]): self._face(step) for step in done if step.kind == kind}

    def _face(self, step: MicroStep) -> Face:
        index = int(step.weights[0])
        value, gradient = float(self.frame.values[index]), float(self.opened.gradient[index])
        if step.kind == "product":
            return face_of_product(value, self.input_of(index))
        if step.kind == "update":
            return face_of_update(value, float(self.opened.new_values[index]))
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
                found.append(Layer(self._called.tensors[tensor.name], size))
        return tuple(found[:MOST_ROWS])

    def _rule(self, phase: int, index: int) -> tuple[Formula, ...]:
        """The optimiser's lines for a weight, in the order in which they are worked out, where there are several."""
        rule = self.rule(index) if index >= 0 and phase >= GRADIENTS else ()
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
            return Sentence("loss", f"of {self._of_whom()}: what is to become smaller", (formula,))
        if step.phase == "backward":
            return self._of_delta(step)
        if step.kind == "stage":
            stage = self._stages[step.stage]
            meaning = f"{counted('number', stage.outputs)} of this {noun(self.subject)}, forward"
            return Sentence(self._called.stages[stage.name], meaning, _alone("output", step))
        return Sentence("zero", "every gradient is cleared, since what comes back is added up")

    def _of_whom(self) -> str:
        count = len(self.opened.batch)
        batch = f"the {self.joined} of {count:,} {noun(self.subject, count)}"
        return f"this {noun(self.subject)}" if self.opened.trial else batch

    def _forward(self, about: str) -> str:
        """What is worked out on the way forward is of the sample that is shown, also where the step is the batch's."""
        if self.opened.trial or len(self.opened.batch) == 1:
            return about
        return ", ".join(filter(None, (about, f"of this {noun(self.subject)} alone")))

    def _name(self, stage: Stage, row: int) -> str:
        """What a number of a row is called: what it becomes, if nothing else reads it."""
        return self._called.unit(self._after(stage) or stage, row)

    def _after(self, stage: Stage) -> Stage | None:
        """The stage that makes each number of a row something else, and reads nothing beside it."""
        after = [s for s in self.subject.stages if self._sources(s) == (stage.name,)]
        good = len(after) == 1 and after[0].weight is None and after[0].outputs == stage.outputs
        return after[0] if good else None

    def _of_unit(self, step: MicroStep) -> Sentence:
        stage, i = self._stages[step.stage], int(step.units[0])
        made = float(self.frame.activations[stage.name][i])
        if step.kind == "unit":
            entering, symbol = self.frame.activations[self._sources(stage)[0]], SYMBOLS.get(stage.kind, stage.kind)
            words = Word(f"{symbol}({decimals(float(entering[i]), 4).text})"), Word(" = ", "dim")
            formula = Formula(f"{symbol}(sum) = output", (*words, Word(decimals(made, 4).text, bold=True)))
            return Sentence(f"output {self._name(stage, i)}", self._forward(in_words(stage.kind)), (formula,))
        assert stage.weight is not None  # sums are of layers
        first, width = stage.weight.start + i * stage.weight.shape[-1], stage.weight.shape[-1]
        terms: list[tuple[float, float | None]]
        terms = [(float(self.frame.values[k]), self.input_of(k)) for k in range(first, first + width)]
        if stage.bias is not None:
            terms.append((float(self.frame.values[stage.bias.start + i]), None))
        left, sign, result = _sides(next(neuron("sum", terms, made)).removeprefix("sum = "))
        summed = "the products" if stage.bias is None else "products and bias"
        numbers = (Word(left), Word(sign, "dim"), Word(result, bold=True))
        return Sentence(f"sum {self._name(stage, i)}", self._forward(summed), (Formula("", numbers),))

    def _of_delta(self, step: MicroStep) -> Sentence:
        stage = self._stages[step.stage]
        if step.kind != "delta":
            meaning = f"{counted('number', stage.outputs)}, backward: {self._of_whom()}"
            return Sentence(f"δ of {self._called.stages[stage.name]}", meaning, _alone("δ", step, violet=True))
        name, about = f"δ of {self._name(stage, int(step.units[0]))}", "how the loss changes with this sum"
        if len(step.factors) == 2:
            return Sentence(name, about, (of_product(f"{step.formula} = δ", *step.factors, step.value),))
        return Sentence(name, about, (_violet("δ" if self.opened.trial else f"{self.joined} of δ", step.value),))

    def _of_weight(self, step: MicroStep, selected: int | None) -> Sentence:
        """Gradient and update of the selected weight; else of that of the step, of several the one that moves most."""
        index = selected
        if index is None:
            index = int(step.weights[np.argmax(np.abs(np.nan_to_num(self.opened.gradient[step.weights])))])
        known, update, rule = who(self.subject, index), self.opened.update(index), self.rule(index)
        if update.why:
            moved = self.opened.follows(index)
            says = f"{figure(update.before)} becomes {figure(update.after)}" if moved else "stays"
            rule = (Formula("", (Word(f"{says}: {update.why}"),)),)
        meaning = "the largest gradient here" if selected is None and len(step.weights) > 1 else ""
        formulas = (self._of_gradient(index), *rule[:1]) if step.phase == "gradients" else rule
        return Sentence(known.name, meaning, formulas, index)

    def rule(self, index: int) -> tuple[Formula, ...]:
        """The optimiser's lines for a weight with their numbers, the new weight first."""
        before, gradient = float(self.frame.values[index]), float(self.opened.gradient[index])
        return of_rule(self.opened.update(index).lines, before, self.opened.lr, gradient)

    def _of_gradient(self, index: int) -> Formula:
        """The gradient of one weight as a product, or as what it is a sum of."""
        made, gradient = self.opened.made(index), float(self.opened.gradient[index])
        if made.terms == 1 and self.opened.trial:
            return of_product("δ · 1 = g" if made.bias else "δ · x = g", made.delta, made.x, gradient)
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
        return Sentence(f"gradient of {self._called.stages[step.stage]}", about, (Formula(letters, numbers),))

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


def _alone(letters: str, step: MicroStep, *, violet: bool = False) -> tuple[Formula, ...]:
    """The numbers of a stage that goes as one, where they are few."""
    words = Word(step.numbers, "violet" if violet else "plain", True)
    return (Formula(letters, (words,)),) if step.numbers else ()


def _violet(letters: str, value: float) -> Formula:
    return Formula(letters, (Word(delta_text(value), "violet", True),))


def _cells(values: Floats) -> tuple[str, ...]:
    return tuple("" if v != v else delta_text(float(v)) for v in values)


def _plain(values: NDArray[np.floating]) -> tuple[str, ...]:
    return tuple("" if v != v else number(float(v), 4) for v in values)


# ---- Numbers as texts: on cubes in two lines, in formulas so that they are true as printed.


def face_of_product(weight: float, x: float) -> Face:
    """``−0.47 × 0.97`` over ``= −0.46``; with ``≈`` where so few digits do not give it."""
    return _face(chip_text(weight, signed=True), chip_text(x), chip_text(weight * x, signed=True))


def face_of_gradient(gradient: float, factors: tuple[float, float] | None, joined: str = "mean") -> Face:
    """``+0.060 × 0.97`` over ``≈ +0.0579``, ``=`` where the digits give it; without factors a mean, or a sum."""
    if factors is None:
        return Face(f"{joined} δ·x", f"= {delta_text(gradient)}")
    delta, x = factors
    if x == 1.0:  # there is room for all of it
        return _face(delta_text(delta), "1", delta_text(gradient))
    left = number(delta, 3, signed=True) if 0.005 <= abs(delta) < 10 else exponent(delta, signed=True)
    return _face(left, chip_text(x), delta_text(gradient))


def _face(left: str, right: str, made: str) -> Face:
    """A product and its result; ``=`` if the printed factors give that, rounded as it is, else ``≈``."""
    sign = "="
    try:
        a, b, result = (Decimal(text.replace(MINUS, "-").replace(",", "")) for text in (left, right, made))
        place = result.as_tuple().exponent
        if a.is_finite() and b.is_finite() and isinstance(place, int):
            sign = "=" if rounds_to(a * b, Printed(made, result, Decimal(1).scaleb(place))) else "≈"
    except InvalidOperation:  # infinite, or no number
        pass
    return Face(f"{left} × {right}", f"{sign} {made}")


def face_of_update(before: float, after: float) -> Face:
    """``w −0.4698`` over ``w' −0.4668``, with as many decimals as show the change, up to six."""
    digits = next((d for d in range(2, 7) if number(before, d) != number(after, d)), 4)
    return Face(f"w {number(before, digits, signed=True)}", f"w' {number(after, digits, signed=True)}")


def _sides(equation: str) -> tuple[str, str, str]:
    """What stands left of the last sign of an equation, the sign, and what stands right of it."""
    return equation.rpartition(" = " if " = " in equation else " ≈ ")


def of_product(letters: str, a: float, b: float, result: float, *, violet: bool = True) -> Formula:
    """A product with its numbers; `violet`: a delta and what it makes are gradients."""
    tone: Tone = "violet" if violet else "plain"
    left, equals, made = _sides(product(a, b, result))
    first, times, x = left.partition(" × ")
    return Formula(letters, (Word(first, tone), Word(times, "dim"), Word(x), Word(equals, "dim"),
                             Word(made, tone, True)))  # fmt: skip


def of_rule(lines: Sequence[Line], before: float, lr: float, gradient: float) -> tuple[Formula, ...]:
    """The optimiser's rule with its numbers, the new weight first; plain descent is true as printed."""
    if len(lines) == 1 and lines[0].formula == "w − lr · g":
        left, equals, result = _sides(descent(before, lr, gradient, lines[0].result))
        rest, times, g = left.rpartition(" × ")
        words = Word(rest), Word(times, "dim"), Word(g, "violet"), Word(equals, "dim"), Word(result, bold=True)
        return (Formula("w − lr · g = w'", words),)
    return tuple(_rule_line(line) for line in (*lines[-1:], *lines[:-1]))


def _rule_line(line: Line) -> Formula:
    """With so many digits that what is printed gives the result."""
    enough = digits_that_give(line.again, line.result, DIGITS)
    words: list[Word] = []
    for token in line.tokens:
        if isinstance(token, str):
            words.append(Word(token, "dim"))
            continue
        text = digits_of(token.value, enough or DIGITS)
        first = not words or words[-1].text.endswith(("(", ", "))
        bracketed = text.startswith(MINUS) and not first
        words.append(Word(f"({text})" if bracketed else text, "violet" if token.name == "g" else "plain"))
    words.append(Word(" = " if enough is not None else " ≈ ", "dim"))
    words.append(Word(digits_of(line.result, DIGITS, zeros=True), bold=True))
    return Formula(f"{line.formula} = {line.name}", tuple(words))
