"""The words and formulas of an opened step: `Sayings` of its micro-steps, and numbers as they stand on cubes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame, Stage
from ...run.opened.micro import DIFFERENCE, MicroStep, counted
from ...run.opened.rule import MINUS, Line, digits_of, digits_that_give
from ...run.sources.recording.recorded_step import Walked
from ..ink.equation import Printed, decimals, descent, neuron, product, rounds_to
from ..ink.text import chip_text, delta_text, exponent, figure, loss_text, number
from ..notes.layer import SYMBOLS
from ..panels.neuron_maps import units_of
from ..panels.wording import noun
from ..screen.selection import who
from ..shown.subject import Subject
from .told import Face, Formula, Output, Sentence, Tone, Word

Floats = NDArray[np.float64]
Row = tuple[str, tuple[str, ...]]
MOST, LISTED = 4, 12
"""Outputs whose deltas are taken apart in a table, and outputs that are listed."""
DIGITS = 4
"""That count, of a number in the optimiser's lines."""


class Sayings:
    """What is said of an opened step; `frame` has the rows of the probe."""

    def __init__(self, opened: Walked, subject: Subject, frame: Frame) -> None:
        self.opened, self.subject, self.frame = opened, subject, frame
        self.joined = "mean" if opened.divisor != 1 else "sum"
        self._stages = {stage.name: stage for stage in subject.stages}
        self._hidden = units_of(subject)
        self._before = dict(zip(self._stages, ["input", *self._stages], strict=False))

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
            return Sentence(known.name, self._forward(known.meaning), (made,), index)
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
            return Sentence(_called(stage), meaning, _alone("output", step))
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
        """What a number of a row is called: an output has a name."""
        last, names = self.subject.stages[-1], self.subject.sample.outputs
        after = self._after(stage)
        for made in filter(None, (stage, after)):
            if made.name in self._hidden:
                return self._hidden[made.name].name(row)
        return names[row] if last in (stage, after) and row < len(names) else f"{stage.name}[{row}]"

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
            return Sentence(f"output {self._name(stage, i)}", self._forward(stage.kind), (formula,))
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
            return Sentence(f"δ of {_called(stage)}", meaning, _alone("δ", step, violet=True))
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
        meaning = known.meaning
        if selected is None and len(step.weights) > 1:
            meaning = f"{meaning}, the largest gradient here" if meaning else "the largest gradient here"
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
        return Sentence(f"gradient of {_called(self._stages[step.stage])}", about, (Formula(letters, numbers),))

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


def _called(stage: Stage) -> str:
    """A stage by its place in the model and what it is: ``3 tanh``."""
    return stage.name if stage.kind in stage.name else f"{stage.name} {stage.kind}"


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
