"""`Walk`: an opened step of a run as micro-steps, each as the view that a picture shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, shown
from ...run.core.frame import Frame
from ...run.core.gather import weight_name
from ...run.core.tensors import Stage
from ...run.opened.attention import SHARES
from ...run.opened.digits import delta_column, number
from ...run.opened.equations import DIFFERENCE
from ...run.opened.micro import PHASES, MicroStep, module_path, shown_weights
from ...run.opened.opened import Opened
from ...run.source import RunSource
from ...run.sources.played import RecordedSource
from ..graph.figure import LOSS_NODE, NodeNumbers
from ..ink.sketch import CONSTANT, DELTA, Bound
from ..ink.text import delta_text, loss_text
from ..notes.layer import SYMBOLS
from ..panels.drawer import noun
from ..shown.subject import Subject
from ..space.layout import FEW
from .equations import bounds
from .light import Lighting, Lit, Sums
from .sentences import Sentences
from .step_view import (
    BACKWARD,
    FORWARD,
    GRADIENTS,
    LOSS,
    UPDATE,
    ZERO,
    CubeText,
    Floating,
    Floats,
    GradientHistogram,
    MicroStepView,
    Output,
    Phase,
    Pulse,
    Sentence,
    decimals_of,
    gradient_text,
    product_text,
    update_text,
)

TextRow = tuple[str, tuple[str, ...]]
MOST, LISTED = 4, 12
"""Up to `MOST` outputs have a table that explains their deltas; up to `LISTED` outputs are listed."""


# ---- All micro-steps of one step.

BINS = 24
"""Bins of the histogram of a gradient's terms."""


class Walk:
    """All micro-steps of one opened step: the coming one, or a trial with the probe alone.

    `frame` is the present frame of the run, with the rows of the probe; `other` opens the same step for the other
    side of the switch. Micro-steps are counted from 1; `phases` has the phase of each.
    """

    def __init__(
        self, opened: Opened, subject: Subject, frame: Frame, other: Callable[[], Opened | None] = lambda: None
    ) -> None:
        if opened.trial:  # its own rows: in training they may differ from those of a prediction
            rows = {stage.name: opened.rows[stage.name][:, 0] for stage in subject.stages}
            read = {"input": opened.data_means["input"]}  # of the one sample, recorded or not
            frame = replace(frame, activations={**read, **frame.activations, **rows})
        self._of_sample = frame  # for panels, also beside the means of a batch
        self.mean = not opened.trial
        if not opened.trial:
            frame = replace(frame, activations={**frame.activations, **opened.means, **opened.data_means})
        self.opened, self.subject, self.frame = opened, subject, frame
        self._open_other = other
        self.steps = opened.micro_steps()
        self.phases = tuple(PHASES.index(step.phase) for step in self.steps)
        self.n_weights = sum(t.size for t in subject.tensors if not t.buffer)
        self.few = self.n_weights <= FEW
        self.joined = "mean" if opened.divisor != 1 else "sum"
        self.stages = {stage.name: stage for stage in subject.stages}
        done = [name for step in self.steps if step.phase == "forward" for name in (step.stage, *step.other_calls)]
        self.order = tuple(dict.fromkeys(name for name in (*done, *self.stages) if name in self.stages))
        self._before = dict(zip(self.stages, ["input", *self.stages], strict=False))

    def __len__(self) -> int:
        return len(self.steps)

    def first_of(self, phase: int) -> int:
        """Return the first micro-step of a phase, or of the next phase that has any."""
        return 1 + next(k for k, of in enumerate(self.phases) if of >= phase)

    # ---- one micro-step

    @np.errstate(all="ignore")  # numbers that are lost
    def micro_step_at(self, at: int, selected: int | None = None, adding: int = 0) -> MicroStepView:
        """Return what the picture shows after micro-step `at`.

        Its sentence is about the `selected` weight (a flat index) if possible. In the gradients of a layer, `adding`
        is the number of samples that are added up so far; 0: all of them.
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
        asked = now if selected is None else opened.about(now, selected)
        sentence = self.sentences.sentence_for(asked, selected, computed, adding)
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
        return MicroStepView(
            step=opened.step, position=at, count=len(self), phases=self._phases(at), phase=phase, trial=opened.trial,
            reached_modules=frozenset(module_path(step.stage) for step in done if step.phase == "forward"),
            weights=now.weights, outlined=shown_weights(asked, opened), stops=stops, sums=sums,
            marks=self.lighting.marks(asked, sentence.index), layer=layer,
            forward_factors=self.lighting.forward_factors, backward_factors=self.lighting.backward_factors,
            input_row="" if layer is None else self.sources(layer)[0],
            output_row="" if layer is None else self.row_of(layer),
            samples=self.samples, frame=frame, before=self._of_sample, source=self.subject.source,
            quantity="gradient" if lit is None else lit.quantity, reached=reached, deltas=deltas,
            cube_texts=self._sums(now, gradient) if adding else self._faces(done, phase), sentence=sentence,
            pulses=self._pulses(now), adding=adding, range_values=opened.gradient if lit is None else lit.range_values,
            loss=self.own_loss if phase >= LOSS and not adding else None,
            gradient_histogram=self._spread(sentence.index) if phase > LOSS else None,
            rule=self.sentences.lines(phase, sentence.index),
            sample=self._sample(adding), data=self._data, moved=moved, stage=now.stage, done=self._done(at),
            outputs=self.outputs(joined, reached), table=self.table(joined, reached),
            table_numbers=self._table_numbers,
            nodes=self._nodes(at, computed, np.asarray(self.frame.values, np.float64)),
            current_node=self._node(now),
            looking=None if self.attention_step is None else self.attention_step.looking(at),
        )  # fmt: skip

    @cached_property
    def sentences(self) -> Sentences:
        """The sentences of the micro-steps."""
        return Sentences(self)

    @cached_property
    def lighting(self) -> Lighting:
        """The cubes that the micro-steps light."""
        return Lighting(self)

    def _lit(self, at: int, moved: NDArray[np.bool_], deltas: Mapping[str, Floats]) -> Lit | None:
        """Return what the cubes show after micro-step `at`; None: the gradients so far."""
        phase = self.phases[at - 1]
        if phase in (ZERO, GRADIENTS):
            return None
        if phase == UPDATE:
            return self.lighting.update(moved)
        return self.lighting.backward(at, deltas) if phase == BACKWARD else self.lighting.forward(at)

    def line(self, at: int) -> tuple[Sentence, tuple[int, CubeText] | None]:
        """Return the sentence of micro-step `at`; and the cube (a flat index) on which it writes, with the text."""
        now = self.steps[at - 1]
        faces = self._faces([now], self.phases[at - 1])
        sentence = self.sentences.sentence_for(now, None, np.zeros(len(self.frame.values), bool))
        return sentence, next(iter(faces.items()), None)

    @property
    def samples(self) -> str:
        """The samples whose numbers are shown, in words."""
        if self.opened.trial:
            return f"this {noun(self.subject)}"
        return f"{self.joined} of {self.batch}" if len(self.opened.batch) > 1 else f"the one {noun(self.subject)}"

    @property
    def batch(self) -> str:
        """The number of samples in words."""
        count = len(self.opened.batch)
        return f"{count:,} {noun(self.subject, count)}"

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
                for name in (step.stage, *step.other_calls):
                    found[name][step.units] = True
        return found

    def _done(self, at: int) -> frozenset[str]:
        """Return the modules whose numbers the next one reads already, after the forward micro-step `at`."""
        made = [step for step in self.steps[: at - 1] if step.phase == "forward" and len(step.units)]
        waits = all(step.phase == "forward" and not len(step.units) for step in self.steps[at - 1 : at + 1])
        names = (name for step in made[: len(made) - waits] for name in (step.stage, *step.other_calls))
        return frozenset(map(module_path, names))

    def _deltas_of(self, done: Sequence[MicroStep]) -> dict[str, Floats]:
        """Return the deltas so far, by stage; with a layer's, those of all stages after it.

        They are of the whole batch, even while its outer products are added up.
        """
        found = {stage.name: np.full(stage.outputs, np.nan) for stage in self.subject.stages}
        for step in done:
            if step.phase == "backward":
                own = (step.stage, *step.other_calls)
                for name in own:
                    found[name][step.units] = self.opened.delta_sums[name][step.units]
                for name in self.order[max(map(self.order.index, own)) + 1 :]:
                    found[name] = self.opened.delta_sums[name]
        return found

    def _nodes(self, at: int, computed: NDArray[np.bool_], values: Floats) -> dict[str, NodeNumbers]:
        """Return the nodes of a formula and their numbers so far; empty for any other network."""
        found: dict[str, NodeNumbers] = {}
        phase = self.phases[at - 1]
        for k, step in enumerate(self.steps):
            if step.kind == "node" and (step.phase == "forward" or k < at):
                value, name = step.value if k < at else None, self.named(step.words)
                found[name] = NodeNumbers(value) if step.phase == "forward" else found[name]._replace(delta=value)
        if not found:
            return {}
        opened, sample = self.opened, self.subject.sample
        for names, rows in ((sample.inputs, opened.inputs), (sample.outputs, opened.targets)):
            found |= {name: NodeNumbers(float(row.mean())) for name, row in zip(names, rows, strict=False)}
        for k in range(self.n_weights):
            slope = float(self.opened.gradient[k]) if computed[k] else None
            found[weight_name(self.subject.tensors, k)] = NodeNumbers(float(values[k]), slope)
        done = self.opened.loss if phase >= LOSS else None, 1.0 if phase >= BACKWARD else None
        return {**found, LOSS_NODE: NodeNumbers(*done)}

    @cached_property
    def attention_step(self) -> Opened | None:
        """The opened step of the one sample, if the network has attention."""
        looks = any(step.formula == SHARES for step in self.steps)
        return (self.opened if self.opened.trial else self._other_side) if looks else None

    def rows_in(self, at: int) -> int:
        """Return how many rows of attention maps micro-step `at` shows one after the other."""
        alone = self.attention_step if self.steps[at - 1].formula == SHARES else None
        looking = None if alone is None else alone.looking(at)
        return 1 if looking is None else looking.places

    def _node(self, step: MicroStep) -> str:
        """Return the name of the formula's node that a micro-step is about."""
        if step.kind in ("gradient", "update"):
            return weight_name(self.subject.tensors, int(step.weights[0]))
        return LOSS_NODE if step.kind == "loss" else self.named(step.words)

    def named(self, words: str) -> str:
        """Return words or a formula with the names that inputs and targets have on the screen."""
        sample = self.subject.sample

        def named(found: re.Match[str]) -> str:
            names, number = sample.inputs if found[1] == "input" else sample.outputs, int(found[2])
            return names[number] if number < len(names) else found[0]

        return re.sub(r"\b(input|target) (\d+)\b", named, words)

    @property
    def is_graph(self) -> bool:
        """True if the network is a formula, whose weights are multiplied by slopes of its operations."""
        return any(step.kind == "node" for step in self.steps)

    def lettered(self, formula: str, made: str = "output") -> str:
        """Return a formula with words for y (the number `made`) and t (the target) if an input has such a name.

        In the graph of a formula, the target always has its own name.
        """
        sample = self.subject.sample
        graph = len(sample.outputs) == 1 and self.is_graph
        if not (graph or {"y", "t"}.intersection(sample.inputs)):
            return formula
        words = {"y": "output" if made in sample.outputs else made, "t": sample.outputs[0] if graph else "target"}
        return re.sub(r"(?:(?:output|target) )?(?<![a-z])([yt])(?![a-z])", lambda found: words[found[1]], formula)

    def _phases(self, at: int) -> tuple[Phase, ...]:
        found = []
        for phase, span in enumerate(self.opened.phases()):
            done = min(max(at - span.start, 0), span.count)
            words = span.words
            if phase == LOSS:
                words = loss_text(self.opened.loss) if done else ""
            short = f"{self.n_weights:,}" if phase in (ZERO, GRADIENTS, UPDATE) else ""
            found.append(Phase(span.name, words, done, span.count, short))
        return tuple(found)

    def _faces(self, done: Sequence[MicroStep], phase: int) -> dict[int, CubeText]:
        """Return the texts on the cubes of a small network."""
        if not self.few:
            return {}
        kind = {FORWARD: "product", GRADIENTS: "gradient", UPDATE: "update"}.get(phase)
        mine = [step for step in done if step.kind == kind]
        lit = [step for step in mine if phase != FORWARD or step.stage == mine[-1].stage]  # one layer after the other
        return {int(step.weights[0]): self._face(step) for step in lit}

    def _face(self, step: MicroStep) -> CubeText:
        index = int(step.weights[0])
        value, gradient = float(self.frame.values[index]), float(self.opened.gradient[index])
        if step.kind == "product":
            return product_text(value, float(self.lighting.forward_factors[index]))
        if step.kind == "update":
            after = self.opened.new_values
            return update_text(value, float(after[index]), decimals_of(self.frame.values, after))
        factors = (step.factors[0], step.factors[1]) if len(step.factors) == 2 else None
        return gradient_text(gradient, factors, "mean" if self.is_mean(index) else "Σ")

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
    def _has_whole_batch(self) -> bool:
        """True if the numbers of every sample of the batch are kept."""
        return self.opened.shown == len(self.opened.batch)

    @cached_property
    def _data(self) -> tuple[Floats, Floats]:
        """Inputs and targets of the whole batch; no rows unless all of it is kept."""
        count = self.opened.shown if self._has_whole_batch else 0
        return self.opened.inputs.T[:count], self.opened.targets.T[:count]

    @cached_property
    def own_loss(self) -> float | None:
        """The loss of the one sample that is shown; None if means are shown."""
        if self.opened.trial:
            return self.opened.loss
        return None if self.mean else self.subject.probe_loss(self.frame)

    @cached_property
    def _other_side(self) -> Opened | None:
        return self._open_other()

    def _spread(self, index: int) -> GradientHistogram | None:
        """Return the histogram of a gradient's terms over the batch, with the probe's; None if unknown."""
        batch, one = (self._other_side, self.opened) if self.opened.trial else (self.opened, self._other_side)
        if not self.few or index < 0 or batch is None or len(batch.batch) < 2:
            return None
        products = batch.products(index)
        if products is None:  # used at several places: no number a sample; or a recording, which keeps none
            return None
        count, own = len(batch.batch), None if one is None else float(one.gradient[index])
        words = f"{count:,} {noun(self.subject, count)}", noun(self.subject), "mean" if batch.divisor != 1 else "sum"
        return spread_of(products, float(batch.gradient[index]), own, *words)

    def _rows_of(self, adding: int) -> dict[str, Floats]:
        """Return the numbers of the sample that is added last."""
        every = {"input": self.opened.inputs, "target": self.opened.targets, **self.opened.rows}
        return {name: np.asarray(rows[:, adding - 1]) for name, rows in every.items()}

    def _deltas_added(self, adding: int) -> dict[str, Floats]:
        """Return the deltas of the sample that is added last, before they are divided."""
        return {name: np.asarray(of[:, adding - 1]) * self.opened.divisor for name, of in self.opened.deltas.items()}

    def _sample(self, adding: int) -> tuple[Floating, Floating, Floating] | None:
        """Return input, output and target of the last sample added, or their means; None: the probe's."""
        rows = self._rows_of(adding) if adding else self.frame.activations if self.mean else {}
        if "target" not in rows or not self.stages:
            return None
        return rows["input"], rows[self.subject.stages[-1].name], rows["target"]

    # ---- a sum of outer products

    def layer_of(self, step: MicroStep) -> Stage | None:
        """Return the layer whose gradient comes in a micro-step, if it can be added up sample by sample."""
        if step.phase != "gradients" or self.opened.trial or not self._has_whole_batch:
            return None
        stages = (s for s in self.subject.stages if s.name == step.stage and s.weight is not None and s.whole)
        return next(stages, None)

    def _sums(self, step: MicroStep, gradient: Floats) -> dict[int, CubeText]:
        """Return the texts on the cubes of a layer while samples are added up."""
        stage = self.layer_of(step) if self.few else None
        tensors = [] if stage is None else [t for t in (stage.weight, stage.bias) if t is not None]
        words = f"sum ÷ {self.opened.divisor:,.10g}" if self.opened.divisor != 1 else "sum of δ·x"
        cubes = [k for tensor in tensors for k in range(tensor.start, tensor.start + tensor.size)]
        return {k: CubeText(words, f"= {delta_text(float(gradient[k]))}") for k in cubes}

    def added(self, step: MicroStep, count: int, computed: NDArray[np.bool_]) -> Floats:
        """Return the gradient with the layer's part from the first `count` samples; mark it `computed`."""
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

    def sources(self, stage: Stage) -> tuple[str, ...]:
        """Return the stages whose rows a stage reads."""
        return stage.sources or (self._before[stage.name],)

    def inputs(self, stage: Stage) -> Floats:
        """Return the inputs of a stage for the samples of the opened batch, (columns, shown)."""
        return np.concatenate([
            self.opened.inputs if name == "input" else self.opened.rows[name] for name in self.sources(stage)
        ])  # fmt: skip

    def after(self, stage: Stage) -> Stage | None:
        """Return the stage that changes each number of a row and reads nothing else, or None."""
        after = [s for s in self.subject.stages if self.sources(s) == (stage.name,)]
        good = len(after) == 1 and after[0].weight is None and after[0].outputs == stage.outputs
        return after[0] if good and "norm" not in after[0].kind else None

    @cached_property
    def change(self) -> Floats:
        """The change of each weight in the step, shape (P,)."""
        return np.asarray(self.opened.new_values - self.frame.values, np.float64)

    def is_mean(self, index: int) -> bool:
        """Return whether a gradient is a mean over samples: a weight used once, with averaged losses.

        Several products of one sample are a sum.
        """
        return self.opened.divisor != 1 and self.opened.made(index).terms == len(self.opened.batch)

    def row_of(self, stage: Stage) -> str:
        """Return the stage whose row shows a layer's sums, or what becomes of each of them."""
        after = self.after(stage)
        return stage.name if after is None else after.name

    def rows_before(self, stage: Stage) -> Floats | None:
        """Return the numbers of the sample that a stage reads; None if they are unknown."""
        rows = [self.frame.activations.get(name) for name in self.sources(stage)]
        return None if any(row is None for row in rows) else np.concatenate(rows)  # type: ignore[arg-type]

    # ---- the outputs beside

    @cached_property
    def _last(self) -> Stage | None:
        """The last layer, if its outputs have names; else None."""
        last = next((s for s in reversed(self.subject.stages) if s.weight is not None), None)
        return last if last is not None and len(self.subject.sample.outputs) == last.outputs else None

    def table(self, deltas: Mapping[str, Floats], reached: Mapping[str, NDArray[np.bool_]]) -> tuple[TextRow, ...]:
        """Return how the deltas of the last sums are made, row by row; unknown ones are empty."""
        sums, end, sample = self._last, self.subject.stages[-1] if self.subject.stages else None, self.subject.sample
        if sums is None or end is None or sums.outputs > MOST or (sums is not end and self.after(sums) is not end):
            return ()
        own = deltas[sums.name]
        if len(self.opened.batch) > 1:
            return (("mean δ" if self.joined == "mean" else "sum of δ", _cells(own)),)
        made = np.where(reached[end.name], self.frame.activations[end.name], np.nan)
        rows = [(self.lettered("output y"), _plain(made))]
        wanted = self.frame.activations.get("target", sample.target_values)
        if wanted is not None:
            rows.append((self.lettered("target t"), _plain(wanted)))
        if sums is end:
            return (*rows, ("δ", _cells(own)))
        above, times = self._above(sums)
        targets = [None] * sums.outputs if wanted is None or times is None else np.asarray(wanted, np.float64).tolist()
        texts = [self._column(sums, end, k, t, times or Fraction(1))[0] for k, t in enumerate(targets)]
        there, known = own == own, made == made

        def row(words: str, place: int, mask: NDArray[np.bool_]) -> TextRow:
            return words, tuple(text[place] if seen else "" for text, seen in zip(texts, mask, strict=True))

        rows = [row(self.lettered("output y"), 0, known)]
        if wanted is not None:
            full = np.ones(sums.outputs, bool)
            rows.append(
                (self.lettered("target t"), _plain(wanted))
                if times is None
                else row(self.lettered("target t"), 1, full)
            )
        rows += [row(above, 2, there), row(f"slope of {SYMBOLS.get(end.kind, end.kind)}", 3, there)]
        return (*rows, ("δ, their product", _cells(own)))

    @cached_property
    def _table_numbers(self) -> tuple[tuple[Bound, ...], ...]:
        """Which numbers the cells of the table show, if it explains the deltas by output, target and slope."""
        sums, end, wanted = self._last, (*self.subject.stages, None)[-1], self.frame.activations.get("target")
        if sums is not None and len(self.opened.batch) > 1:
            return (tuple(Bound(f"{DELTA}{sums.name}", k, "delta") for k in range(sums.outputs)),)
        wanted = self.subject.sample.target_values if wanted is None else wanted
        if not self.opened.trial or sums is None or end is None or sums is end or wanted is None:
            return ()
        times, columns = self._above(sums)[1], list[list[Bound]]()
        for k in range(sums.outputs if times is not None else 0):
            assert times is not None
            own = (f"{DELTA}{sums.name}", k), (end.name, k), ("target", k), (f"{DELTA}{end.name}", k)
            t, ratio = float(wanted[k]), times.as_integer_ratio()
            texts, (delta, y, outer) = self._column(sums, end, k, t, times)
            numbers = (*own, *((CONSTANT, part) for part in ratio))
            columns.append([*bounds("column", texts, numbers, (delta, y, t, outer, *ratio)), Bound(*own[0], "delta")])
        return tuple(zip(*columns, strict=True))

    def _column(
        self, sums: Stage, end: Stage, k: int, target: float | None, times: Fraction
    ) -> tuple[tuple[str, ...], tuple[float, float, float]]:
        """Return the texts about output `k` that explain its delta; and that delta, the output, and the output's own.

        `times` is the factor of output minus target in the output's own delta.
        """
        outer, delta = (float(self.opened.delta_sums[stage.name][k]) for stage in (end, sums))
        y, slope = float(self.frame.activations[end.name][k]), delta / outer if outer else float("nan")
        return delta_column(y, target, times, outer, slope, delta_text(delta)), (delta, y, outer)

    def _above(self, sums: Stage) -> tuple[str, Fraction | None]:
        """Return the words for the gradient that the output receives, and the factor of output minus target in it.

        Without that difference, the factor is None.
        """
        formula = next((s.formula for s in self.opened.micro_steps() if (s.kind, s.stage) == ("delta", sums.name)), "")
        before, difference, _ = formula.partition(DIFFERENCE)
        if not difference:
            return "δ of output", None
        return self.lettered(before + difference), Fraction(before.removesuffix(" · ") or 1)

    def outputs(self, deltas: Mapping[str, Floats], reached: Mapping[str, NDArray[np.bool_]]) -> tuple[Output, ...]:
        """Return the outputs of the last layer, if there are too many for a table.

        They are the one sample's, or means over a batch: numbers side by side are of the same samples.
        """
        sums, sample, trial = self._last, self.subject.sample, self.opened.trial
        if sums is None or not MOST < sums.outputs <= LISTED or not len(self.frame.activations):
            return ()
        own = self.frame.activations[sums.name] if trial else self.opened.means[sums.name]
        wanted, good = sample.target_values, sample.label
        if wanted is not None:
            good = int(np.argmax(wanted)) if wanted.max() > 0 else None
        rows = zip(sample.outputs, np.where(reached[sums.name], own, np.nan), deltas[sums.name], strict=True)
        return tuple(Output(n, float(v), float(d), trial and k == good) for k, (n, v, d) in enumerate(rows))


def spread_of(
    terms: NDArray[np.floating], gradient: float, own: float | None, words: str, noun: str, joined: str = "mean"
) -> GradientHistogram | None:
    """Return the histogram of some terms; None if one is not finite, or all are 0."""
    reach = float(np.abs(terms).max(initial=0.0))
    if not np.isfinite(reach) or reach == 0.0:
        return None
    counts, _ = np.histogram(terms, BINS, (-reach, reach))
    return GradientHistogram(counts, reach, gradient, own, words, noun, joined)


# ---- a micro-step for a picture that stands still


def micro_step_of(subject: Subject, frame: Frame, number: Any, *, whole_batch: bool = False) -> MicroStepView:
    """Return micro-step `number` (from 1, or negative from the last) of the step that follows a frame.

    It is the real step if `whole_batch`; else a trial with the drawn sample alone, if that has a target.
    Raises FileFormatError if a recording has no micro-steps, InputError if the subject is no run or has no
    such micro-step.
    """
    walk = Walk(open_step(subject, alone=not whole_batch and True in sides(subject)), subject, frame)
    at = int(number) if isinstance(number, int | np.integer) and not isinstance(number, bool) else 0
    at += len(walk) + 1 if at < 0 else 0
    if not 1 <= at <= len(walk):
        raise InputError(f"inside: got {shown(number)}; this step has micro-steps 1 to {len(walk)}, or -1 for the last")
    return walk.micro_step_at(at)


def sides(subject: Subject) -> frozenset[bool]:
    """Return which steps have micro-steps: the trial with the drawn sample (True), the real one (False)."""
    source, alone = subject.source, subject.probe is not None and subject.target is not None
    opens = isinstance(source, RunSource) or (isinstance(source, RecordedSource) and not source.lacks("micro"))
    return frozenset([False, alone] if opens else [])


def open_step(subject: Subject, *, alone: bool) -> Opened:
    """Return the coming step of a run, opened, or the step after a recording's present frame."""
    source, target = subject.source, subject.target
    sample = None if subject.probe is None or target is None or not alone else (subject.probe, target)
    if isinstance(source, RecordedSource):
        return source.open(sample)
    if not isinstance(source, RunSource):
        raise InputError(f"inside: {source.what} has no steps to open; allowed: a Run, a Scene or a recording")
    return source.run.open(sample=sample)


def lacks_first_gradient(subject: Subject, frame: Frame, quantity: str) -> bool:
    """Return whether cubes show gradients before the first step; the coming step has them (`with_first_gradient`)."""
    return "gradient" in quantity and subject.source.can.open and not (frame.step or frame.computed.any())


def with_first_gradient(frame: Frame, opened: Opened) -> Frame:
    """Return the frame of step 0 with the gradient of the coming step."""
    computed = np.arange(len(frame.values)) < sum(t.size for t in opened.tensors if not t.buffer)
    gradient = opened.gradient.astype(frame.gradient.dtype)
    return replace(frame, gradient=gradient, computed=computed, moved=frame.known("update"))


def _cells(values: Floats) -> tuple[str, ...]:
    return tuple("" if v != v else delta_text(float(v)) for v in values)


def _plain(values: NDArray[np.floating]) -> tuple[str, ...]:
    return tuple("" if v != v else number(float(v), 4) for v in values)
