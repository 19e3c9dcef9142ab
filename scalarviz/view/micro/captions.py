"""`Captions`: the caption of each micro-step, from numbers of a walk and names on the screen; and the one at rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ...run.core.tensors import Stage, Tensor
from ...run.opened import captions
from ...run.opened.attention import SHARES
from ...run.opened.captions import Caption, Cause, named
from ...run.opened.micro import PHASES, MicroStep, counted, module_path, shown_call
from ...run.opened.rule import PLAIN, SIGNS
from ..ink.sketch import DELTA, NEW_WEIGHT, OTHER, RATE, RULE, WEIGHT, Bound
from ..ink.text import WRITTEN
from ..ink.widgets import BoundCaption
from ..notes.layer import SYMBOLS
from ..panels.drawer import noun
from ..shown.names import Names, tensor_of
from ..shown.subject import Subject
from .equations import EQUATIONS
from .step_view import FORWARD, UPDATE, Word

if TYPE_CHECKING:
    from .walk import Walk

Floats = NDArray[np.float64]
SLOPES = {"sigmoid": lambda y: y * (1 - y), "tanh": lambda y: 1 - y * y}
"""Slopes of activations, from their outputs."""
FUNCTIONS = {"relu": "ReLU", "sigmoid": "sigmoid", "tanh": "tanh"}


def output_name(subject: Subject, number: int) -> str:
    """Return the name of an output in a sentence: ``output r``, ``class 7``, ``the output``."""
    name = Names.of_sample(subject.sample.outputs, number, "output")
    if name.isdecimal():
        return f"class {name}"
    return "the output" if name == "output" else named(name if name.startswith("output ") else f"output {name}")


def ways_missed(subject: Subject, outputs: Floats, targets: Floats) -> tuple[Caption, ...]:
    """Return what is wrong with the outputs of one sample: that farthest from its target, or its class's share.

    The first caption is the longest.
    """
    if len(targets) == len(outputs):
        gaps = np.abs(outputs - targets)
        worst = int(np.argmax(gaps))
        alone = len(gaps) > 1 and int(np.sum(gaps >= gaps[worst])) == 1
        y, t = float(outputs[worst]), float(targets[worst])
        return captions.ways_missed(output_name(subject, worst), y, t, farthest=alone)
    if len(targets) == 1 and 0 <= targets[0] < len(outputs):
        with np.errstate(all="ignore"):  # a run that diverged
            shares = np.exp(outputs - outputs.max())
            shares /= shares.sum()
        return (captions.voted(output_name(subject, int(targets[0])), float(shares[int(targets[0])])),)
    return ()


def has_target(subject: Subject) -> bool:
    """Return whether it is known what the outputs of the sample that is drawn should be."""
    known = subject.sample.target_values is not None or subject.sample.label is not None
    return known and subject.target is not None and bool(subject.stages)


def caption_at_rest(subject: Subject, frame: Frame, before: str = "") -> BoundCaption | None:
    """Return what is wrong with the outputs of the sample that is drawn; None if its target is unknown.

    `before` stands before the sentence.
    """
    made = frame.activations.get(subject.stages[-1].name) if has_target(subject) else None
    if made is None:
        return None
    return of_outputs(subject, np.asarray(made, np.float64), np.asarray(subject.target, np.float64), before)


def of_outputs(subject: Subject, outputs: Floats, targets: Floats, before: str = "") -> BoundCaption | None:
    """Return the caption of the outputs of one sample, which a browser writes again for others."""
    ways = ways_missed(subject, outputs, targets)
    if not ways:
        return None
    names = [_capital(output_name(subject, k)) for k in range(len(outputs))]
    longest, most = max(names, key=len), ", the farthest of all outputs" * (len(outputs) > 1)
    usual = f"{longest} is \N{MINUS SIGN}8.88; its target is \N{MINUS SIGN}8.88. It is too high by 8.88{most}."
    if len(targets) < len(outputs):
        usual = captions.voted(longest, 0.88).text
    last = subject.stages[-1].name
    asked = [("target", k) for k in range(len(targets))] if len(targets) == len(outputs) else [("=", int(targets[0]))]
    numbers = (*((last, k) for k in range(1, len(outputs))), *asked)
    bound = Bound(last, 0, before="|".join(names), after=before, more=numbers)
    return BoundCaption(tuple(before + way.text for way in ways), before + usual, bound)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _number(value: float, of: tuple[str, int], form: str = "chip") -> Word:
    """Return a number of the moment, which a browser writes too."""
    return Word(WRITTEN[form](value), bold=True, bound=Bound(*of, form))


def _either(words: str, values: tuple[float, float], *of: tuple[str, int]) -> Word:
    """Return one of three ``"low|equal|high"`` words: how the first value, or its difference to the second, is."""
    a, b = values
    return Word(words.split("|")[1 + (a > b) - (a < b)], bound=Bound(*of[0], "either", words, more=of[1:]))


def _needing(what: str, word: Word) -> Word:
    """Return a word that a page shows only where its step has what the word needs."""
    return word._replace(bound=replace(word.bound or Bound(None), needs=what))


class Captions:
    """Writes the captions of one walk."""

    def __init__(self, walk: Walk) -> None:
        self._walk, self._opened, self._subject = walk, walk.opened, walk.subject
        self._names = Names(walk.subject)
        self._last = walk.subject.stages[-1] if walk.subject.stages else None
        self._single = walk.opened.trial or len(walk.opened.batch) == 1

    def caption_for(
        self, step: MicroStep, said: str, index: int, about: Callable[[MicroStep], str], adding: int = 0
    ) -> Caption:
        """Return the caption of a micro-step whose line is named `said`, and is about the weight `index` or none.

        `about` says which number between modules a micro-step shows.
        """
        if adding:
            return Caption(f"the products of {adding:,} of {{batch}} are added up.", {}, {"batch": self._walk.batch})
        if step.phase == "zero":
            return captions.cleared()
        if step.phase == "loss":
            return self._of_loss()
        if step.phase in ("gradients", "update") and index >= 0:
            return self._of_gradient(index) if step.phase == "gradients" else self._of_update(index)
        if step.kind == "product":
            return self._of_product(int(step.weights[0]))
        back = step.phase == "backward"
        if step.kind in ("sum", "unit"):
            return self._of_unit(step)
        if step.kind == "node":
            name = named(said.removeprefix("δ of "))
            if back:
                return captions.delta(name, step.value, summed=False, samples=self._samples)
            return captions.number(f"the part {name}", step.value, samples=self._samples)
        if step.kind == "delta" or (step.value == step.value and len(step.units)):
            place = int(step.units[0]) if step.kind == "delta" else step.column
            return self._of_number(step, place, said, back=back)
        if step.value == step.value and step.op:
            return self._between(step, said, about(step), back=back)
        count = counted("number" if self._stage(step).weight is None else "sum", self._stage(step).outputs)
        what = "δ of {count}" if back else "{count}"
        return Caption(f"{{title}}: {what} at once.", {}, {"title": named(said), "count": count})

    # ---- names

    @property
    def _samples(self) -> str:
        """The samples of a mean in words; empty for one sample."""
        return "" if self._single else self._walk.batch

    def _stage(self, step: MicroStep) -> Stage:
        stages, path = self._walk.stages, module_path(shown_call(step, self._opened))
        return stages[path if path in stages else step.stage]

    def _is_output(self, stage: Stage) -> bool:
        after = self._walk.after(stage) or stage
        return self._last is not None and module_path(after.name) == module_path(self._last.name)

    def _unit(self, stage: Stage, number: int) -> str:
        """Return the name of a unit: ``output r``, ``unit h3``, ``class 7``."""
        name = self._names.unit(self._walk.after(stage) or stage, number)
        if self._is_output(stage):
            return output_name(self._subject, number)
        return named(f"unit {name}" if name.isalnum() else name)

    def _ends(self, index: int) -> tuple[str, str, Stage | None, int]:
        """Return the names of a weight's input (empty for a bias) and unit, the layer, and the unit's number."""
        tensor = tensor_of(self._subject, index)
        way = self._subject.way
        at = next((k for k, stage in enumerate(way) if tensor in (stage.weight, stage.bias)), None)
        if at is None or len(tensor.shape) not in (1, 2) or tensor.buffer:
            return "its input", "its unit", None, -1
        row, column = divmod(index - tensor.start, tensor.shape[1] if len(tensor.shape) == 2 else 1)
        target = self._unit(way[at], row)
        if len(tensor.shape) == 1:
            return "", target, way[at], row
        source = self._names.source(at, column)
        plain = self._walk.sources(way[at]) == ("input",)
        if plain and not source.startswith(("input", "its ")):
            source = f"input {source}"
        return named(f"unit {source}" if source.isalnum() else source), target, way[at], row

    # ---- what the target asks of one weight, in words that hold for any numbers

    def why(self, step: MicroStep, index: int) -> Iterator[tuple[Word, ...]]:
        """Yield lines: the output or δ of one sample behind a micro-step, and where its weight `index` goes."""
        stage, row = self._walk.stages.get(step.stage), int(step.units[0]) if len(step.units) == 1 else -1
        if index >= 0:
            _, _, stage, row = self._ends(index)
        if index >= 0 and self._walk.is_graph:
            yield self._goes(step, index, "weight")
        if stage is None or row < 0 or (index < 0 and step.kind not in ("sum", "unit", "delta")):
            return
        name, opened, own = self._unit(stage, row), self._opened, (f"{DELTA}{stage.name}", row)
        gap, known = self._gap(stage, row), stage.weight is not None and stage.name in opened.delta_sums
        of_bias = index >= 0 and tensor_of(self._subject, index) is stage.bias
        if not opened.trial:
            gap, known = None, False
            if index < 0:
                return
            each = f"Its gradient: the {self._walk.joined} of each {noun(self._subject)}'s δ"
            yield (Word(f"{each}{'' if of_bias else ' · x'}.", bound=None),)
        if gap is not None:
            last = self._subject.stages[-1].name, row
            yield (
                Word(f"{name[:1].upper()}{name[1:]} is ", bound=None), _number(gap[0], last),
                Word(", its target ", bound=None), _number(gap[1], ("target", row), "target"), Word(": ", bound=None),
                _either("too low.|exact.|too high.", gap, last, ("target", row)),
            )  # fmt: skip
        if known and (gap is None or step.kind == "sum"):
            delta, be = float(opened.delta_sums[stage.name][row]), "will be" if step.phase == PHASES[FORWARD] else "is"
            yield (Word(f"δ of {name} {be} ", bound=None), _number(delta, own, "delta"),
                   Word(": its sum must ", bound=None), _either("rise.|stay.|fall.", (delta, 0.0), own))  # fmt: skip
        if step.kind == "delta":
            yield (Word("The gradient of each of its weights is δ · input.", bound=None),)
        elif index >= 0:
            yield self._goes(step, index, "bias" if of_bias else "weight")

    def _goes(self, step: MicroStep, index: int, thing: str) -> tuple[Word, ...]:
        """Return a line about where a weight goes, and by what: the rate of plain descent, or the optimiser's name.

        A page shows the name, too, where another rule than the recorded one moves the weight.
        """
        update, of = self._opened.update(index), ((WEIGHT, index), (NEW_WEIGHT, index))
        verbs = "falls|stays|rises" if step.phase == PHASES[UPDATE] else "will fall|will stay|will rise"
        before, to, after = EQUATIONS["move"](update.before, update.after)
        facts = self._subject.source.facts
        by = "its optimiser" if facts is None else facts.optimizer
        ends = [Word(text, bound=None) for text in (" (", by, ").")]
        if [line.formula for line in update.lines] == [PLAIN]:
            rate = _number(self._opened.lr, (RATE, 0), "rate")
            own = Word(" (lr ", bound=None), rate, Word(").", bound=None)
            ends = [*(_needing(RULE, word) for word in own), *(_needing(OTHER + RULE, word) for word in ends)]
        return (
            Word(f"This {thing} ", bound=None), _either(verbs, (update.after, update.before), *of[::-1]),
            Word(" from ", bound=None), *(Word(text, bold=text != to, bound=Bound(*of[0], f"move:{k}", more=of[1:]))
                                         for k, text in enumerate((before, to, after))), *ends,
        )  # fmt: skip

    # ---- phases

    def _of_product(self, index: int) -> Caption:
        source, target, _, _ = self._ends(index)
        weight = float(self._walk.frame.values[index])
        x = float(self._walk.lighting.forward_factors[index])
        return captions.product(source, x, weight, target, mean=not self._single)

    def _of_unit(self, step: MicroStep) -> Caption:
        stage, unit = self._walk.stages[step.stage], int(step.units[0])
        made = float(self._walk.frame.activations[stage.name][unit])
        target = self._unit(stage, unit)
        if step.kind == "sum":
            width = 0 if stage.weight is None else stage.weight.shape[-1]
            return captions.added(target, width, made, bias=stage.bias is not None, mean=not self._single)
        if not self._single or stage.kind in SIGNS:  # of two numbers, as x · x: the equation says it
            return captions.number(target, made, samples=self._samples)
        entering = float(self._walk.frame.activations[self._walk.sources(stage)[0]][unit])
        return captions.bent(target, FUNCTIONS.get(stage.kind, SYMBOLS.get(stage.kind, stage.kind)), entering, made)

    def _of_loss(self) -> Caption:
        """Return what is wrong with the outputs of one sample, or the loss of a batch."""
        if ways := ways_missed(self._subject, *self._outputs):
            return captions.first_fitting(*ways)
        whose, joined = f"this {noun(self._subject)}", "" if self._single else self._walk.joined
        return captions.whole_loss(self._opened.loss, whose if self._single else self._walk.batch, joined)

    def bound_for(self, step: MicroStep) -> BoundCaption | None:
        """Return the caption of a loss, which a browser writes again for another step, if it is of one sample."""
        return of_outputs(self._subject, *self._outputs) if step.phase == "loss" else None

    @property
    def _outputs(self) -> tuple[Floats, Floats]:
        """Outputs and targets of a trial step's sample; empty if there is none, or no target for each output."""
        if self._last is None or not self._opened.trial or self._walk.attention_step is not None:
            return np.zeros(1), np.zeros(0)
        return self._opened.rows[self._last.name][:, 0], self._opened.targets[:, 0]

    def _of_number(self, step: MicroStep, place: int, said: str, *, back: bool) -> Caption:
        """Return the caption of one number of a stage, or of its δ."""
        stage = self._stage(step)
        after = self._walk.after(stage)
        target = self._unit(stage, place)
        if " after " in said:  # a letter of a word
            target = named(said.rpartition(": ")[2])
        elif not (self._is_output(stage) or target.startswith("unit ")):
            target = named(said.removeprefix("δ of ").replace(": ", ", "))
        summed = stage.weight is not None or after is not None
        if back:
            slope = None
            if self._single and after is not None and after.kind in SLOPES and step.kind == "delta":
                slope = float(SLOPES[after.kind](float(self._walk.frame.activations[after.name][place])))
            return captions.delta(target, step.value, summed=summed, samples=self._samples, slope=slope)
        numbers = self._opened.means[shown_call(step, self._opened)]
        largest = abs(numbers[place]) >= np.abs(numbers).max() and len(numbers) > 1
        kind = "sums" if summed else "numbers"
        remark = f", the largest{' in size' if step.value < 0 else ''} of {len(numbers)} {kind}" if largest else ""
        what = f"the sum of {target}" if summed else target
        return captions.number(what, step.value, samples=self._samples, remark=remark)

    def _between(self, step: MicroStep, said: str, about: str, *, back: bool) -> Caption:
        """Return the caption of a number between modules, such as an attention share; `about` says which one."""
        if back:
            name = named(said.removeprefix("δ of ").replace(": ", ", "))
            return captions.delta(name, step.value, summed=False, samples=self._samples)
        alone = self._walk.attention_step
        looks = None if alone is None or step.formula != SHARES else alone.attention(step.stage)
        if looks is not None:
            share = captions.percent(float(looks.shares[looks.which(SHARES, step.column)]))
            return Caption("{about} with a share of {p}.", {"p": share}, {"about": about})
        return captions.number(named(f"{said}, {about}"), step.value, samples=self._samples)

    def _layer(self, tensor: Tensor) -> Floats:
        """Return all gradients of a weight's layer, with its biases."""
        stage = next((s for s in self._subject.stages if tensor in (s.weight, s.bias)), None)
        tensors = [tensor] if stage is None else [t for t in (stage.weight, stage.bias) if t is not None]
        return np.concatenate([self._opened.gradient[t.span] for t in tensors])

    def _of_gradient(self, index: int) -> Caption:
        opened, tensor = self._opened, tensor_of(self._subject, index)
        made, value = opened.made(index), float(opened.gradient[index])
        others = self._layer(tensor)
        source, target, stage, row = self._ends(index)
        if made.terms == 1 and self._single and stage is not None:
            gap = self._gap(stage, row)
            return captions.gradient(Cause("" if made.bias else source, made.x, target, made.delta, gap), others)
        over = f"for this {noun(self._subject)}" if self._single else f"over {self._walk.batch}"
        return captions.slope(value, others, over, bias=source == "")

    def outcome_behind(self, index: int) -> tuple[str, float, float] | None:
        """Return name, output and target of the output to whose sum a weight adds; None for another weight."""
        _, target, stage, row = self._ends(index)
        gap = None if stage is None or not self._single else self._gap(stage, row)
        return None if gap is None else (target, *gap)

    def _gap(self, stage: Stage, row: int) -> tuple[float, float] | None:
        """Return an output and its target, if the stage leads to the outputs of one sample."""
        last, targets = self._last, self._opened.targets
        if last is None or not self._is_output(stage) or len(targets) != last.outputs:
            return None
        return float(self._opened.rows[last.name][row, 0]), float(targets[row, 0])

    def _of_update(self, index: int) -> Caption:
        update = self._opened.update(index)
        rate = self._opened.lr if [line.formula for line in update.lines] == [PLAIN] else None
        return captions.update(update.before, update.after, update.gradient, rate, update.why)
