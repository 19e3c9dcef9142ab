"""`Sayings`: the words and formulas of the micro-steps of one opened step."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame, Stage
from ...run.opened.micro import DIFFERENCE, MicroStep, counted
from ...run.sources.recording.recorded_step import Walked
from ..ink.equation import neuron
from ..ink.text import figure, loss_text, number
from ..notes.layer import SYMBOLS
from ..panels.wording import noun
from ..screen.selection import who
from ..shown.subject import Subject
from .chips import delta_text
from .figures import Output
from .told import Formula, Sentence, Word
from .writing import of_function, of_product, of_rule

Floats = NDArray[np.float64]
Row = tuple[str, tuple[str, ...]]
MOST = 4
"""Outputs whose deltas are taken apart in a table."""
LISTED = 12
"""Outputs that are listed."""


class Sayings:
    """What is said of an opened step.

    Parameters
    ----------
    opened : Walked
    subject : Subject
    frame : Frame
        With the rows of the probe.
    deltas : mapping of str to ndarray
        By stage: of the one sample, or added up over the batch.
    """

    def __init__(self, opened: Walked, subject: Subject, frame: Frame, deltas: Mapping[str, Floats]) -> None:
        self.opened, self.subject, self.frame, self.deltas = opened, subject, frame, deltas
        self._stages = {stage.name: stage for stage in subject.stages}
        self._before = dict(zip(self._stages, ["input", *self._stages], strict=False))

    # ---- numbers

    def inputs(self, stage: Stage) -> Floats:
        """What a stage reads, for the samples of the opened batch: (columns, shown)."""
        sources = stage.sources or (self._before[stage.name],)
        rows = [self.opened.inputs if name == "input" else self.opened.rows[name] for name in sources]
        return np.concatenate(rows)

    def _layer(self, index: int) -> tuple[Stage, int, int] | None:
        """The layer that holds a weight with its row and column; of a bias the column is -1."""
        for stage in self.subject.stages:
            if stage.weight is not None and stage.whole:
                if stage.weight.start <= index < stage.weight.start + stage.weight.size:
                    return stage, *divmod(index - stage.weight.start, stage.weight.shape[-1])
                if stage.bias is not None and stage.bias.start <= index < stage.bias.start + stage.bias.size:
                    return stage, index - stage.bias.start, -1
        return None

    def input_of(self, index: int) -> float:
        """What the weight at a flat index is multiplied with, for the probe; 1 for a bias."""
        found = self._layer(index)
        if found is None or found[2] < 0:
            return 1.0
        stage, _, column = found
        rows = [self.frame.activations[name] for name in stage.sources or (self._before[stage.name],)]
        return float(np.concatenate(rows)[column])

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
            product = of_product("w × x = product", w, x, w * x, violet=False)
            return Sentence(known.name, self._forward(known.meaning), (product,), index)
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
        one = noun(self.subject)
        count = len(self.opened.batch)
        joined = "the mean of" if self.opened.divisor != 1 else "the sum of"
        return f"this {one}" if self.opened.trial else f"{joined} {count:,} {noun(self.subject, count)}"

    def _forward(self, about: str) -> str:
        """What is worked out on the way forward is of the sample that is shown, also where the step is the batch's."""
        if self.opened.trial or len(self.opened.batch) == 1:
            return about
        return ", ".join(filter(None, (about, f"of this {noun(self.subject)} alone")))

    def _name(self, stage: Stage, row: int) -> str:
        """What a number of a row is called: an output has a name."""
        last = self.subject.stages[-1]
        names = self.subject.sample.outputs
        if (stage is last or self._after(stage) is last) and row < len(names):
            return names[row]
        return f"{stage.name}[{row}]"

    def _after(self, stage: Stage) -> Stage | None:
        """The stage that makes each number of a row something else, and reads nothing beside it."""
        after = [s for s in self.subject.stages if (s.sources or (self._before[s.name],)) == (stage.name,)]
        good = len(after) == 1 and after[0].weight is None and after[0].outputs == stage.outputs
        return after[0] if good else None

    def _of_unit(self, step: MicroStep) -> Sentence:
        stage = self._stages[step.stage]
        rows, i = self.frame.activations, int(step.units[0])
        if step.kind == "unit":
            before = rows[(stage.sources or (self._before[stage.name],))[0]]
            symbol = SYMBOLS.get(stage.kind, stage.kind)
            formula = of_function(f"{symbol}(sum) = output", symbol, float(before[i]), float(rows[stage.name][i]))
            return Sentence(f"output {self._name(stage, i)}", self._forward(stage.kind), (formula,))
        assert stage.weight is not None  # sums are of layers
        first = stage.weight.start + i * stage.weight.shape[-1]
        weights = self.frame.values[first : first + stage.weight.shape[-1]]
        terms: list[tuple[float, float | None]]
        terms = [(float(w), self.input_of(first + j)) for j, w in enumerate(weights)]
        if stage.bias is not None:
            terms.append((float(self.frame.values[stage.bias.start + i]), None))
        line = next(neuron("sum", terms, float(rows[stage.name][i])))
        left, sign, result = line.removeprefix("sum = ").rpartition(" = " if " = " in line[6:] else " ≈ ")
        numbers = (Word(left), Word(sign, "dim"), Word(result, bold=True))
        summed = "the products" if stage.bias is None else "products and bias"
        return Sentence(f"sum {self._name(stage, i)}", self._forward(summed), (Formula("", numbers),))

    def _of_delta(self, step: MicroStep) -> Sentence:
        stage = self._stages[step.stage]
        if step.kind != "delta":
            meaning = f"{counted('number', stage.outputs)}, backward: {self._of_whom()}"
            return Sentence(f"δ of {_called(stage)}", meaning, _alone("δ", step, violet=True))
        row = int(step.units[0])
        name, about = f"δ of {self._name(stage, row)}", "how the loss changes with this sum"
        if len(step.factors) == 2:
            return Sentence(name, about, (of_product(f"{step.formula} = δ", *step.factors, step.value),))
        letters = "δ" if self.opened.trial else "mean of δ" if self.opened.divisor != 1 else "sum of δ"
        return Sentence(name, about, (Formula(letters, (_violet(delta_text(step.value)),)),))

    def _of_weight(self, step: MicroStep, selected: int | None) -> Sentence:
        """Gradient and update of the selected weight; else of that of the step, of several the one that moves most."""
        index = selected
        if index is None:
            index = int(step.weights[np.argmax(np.abs(np.nan_to_num(self.opened.gradient[step.weights])))])
        known, g = who(self.subject, index), float(self.opened.gradient[index])
        update, before = self.opened.update(index), float(self.frame.values[index])
        rule = of_rule(update.lines, before, self.opened.lr, g)
        if update.why:
            moved = self.opened.follows(index)
            says = f"{figure(update.before)} becomes {figure(update.after)}" if moved else "stays"
            rule = (Formula("", (Word(f"{says}: {update.why}"),)),)
        meaning = known.meaning
        if selected is None and len(step.weights) > 1:
            meaning = f"{meaning}, the largest gradient here" if meaning else "the largest gradient here"
        formulas = (self._of_gradient(index, g), *rule[:1]) if step.phase == "gradients" else rule
        return Sentence(known.name, meaning, formulas, index)

    def _of_gradient(self, index: int, gradient: float) -> Formula:
        """The gradient of one weight as a product, or as what it is a sum of."""
        made = self.opened.made(index)
        if made.terms == 1 and self.opened.trial:
            return of_product("δ · 1 = g" if made.bias else "δ · x = g", made.delta, made.x, gradient)
        letters = f"{'mean' if self.is_mean(index) else 'sum'} of {made.terms:,} δ · x = g" if made.terms else "g"
        return Formula(letters, (_violet(delta_text(gradient)),))

    def is_mean(self, index: int) -> bool:
        """Whether a gradient is the mean of what the samples ask for: of a weight used once, where losses are averaged.

        Several products of one sample are a sum.
        """
        return self.opened.divisor != 1 and self.opened.made(index).terms == len(self.opened.batch)

    def _of_sum(self, step: MicroStep, adding: int) -> Sentence:
        """A sum of outer products on its way."""
        count = len(self.opened.batch)
        numbers = (Word(f"{adding:,}", "violet", True), Word(f" of {count:,} {noun(self.subject, count)} added up"))
        about = "each adds its own δ · x to every cube"
        letters = f"sum of δ · x ÷ {self.opened.divisor:,.10g}" if self.opened.divisor != 1 else "sum of δ · x"
        return Sentence(f"gradient of {_called(self._stages[step.stage])}", about, (Formula(letters, numbers),))

    # ---- the table beside

    def table(self, deltas: Mapping[str, Floats], reached: Mapping[str, NDArray[np.bool_]]) -> tuple[Row, ...]:
        """Where the deltas of the last sums come from, row by row; those that have not come yet are empty."""
        stages, sample = self.subject.stages, self.subject.sample
        sums = next((s for s in reversed(stages) if s.weight is not None), None)
        if sums is None or sums.outputs > MOST or len(sample.outputs) != sums.outputs:
            return ()
        if sums is not stages[-1] and self._after(sums) is not stages[-1]:
            return ()
        own = deltas[sums.name]
        if not self.opened.trial:
            words = "mean δ" if self.opened.divisor != 1 else "sum of δ"
            return ((words, _cells(own)),)
        output = np.where(reached[stages[-1].name], self.frame.activations[stages[-1].name], np.nan)
        rows: list[Row] = [("output y", _plain(output))]
        if sample.wanted is not None:
            rows.append(("target t", _plain(sample.wanted)))
        if sums is not stages[-1]:
            there = own == own
            outer = self.deltas[stages[-1].name]
            slope = np.divide(self.deltas[sums.name], outer, out=np.full(len(outer), np.nan), where=outer != 0)
            symbol = SYMBOLS.get(stages[-1].kind, stages[-1].kind)
            rows.append((self._above(sums), _cells(np.where(there, outer, np.nan))))
            rows.append((f"slope of {symbol}", _plain(np.where(there, slope, np.nan))))
        return (*rows, ("δ, their product" if sums is not stages[-1] else "δ", _cells(own)))

    def _above(self, sums: Stage) -> str:
        """What comes down to the output, as output and target give it where they do."""
        formula = next((s.formula for s in self.opened.micro_steps() if (s.kind, s.stage) == ("delta", sums.name)), "")
        before, difference, _ = formula.partition(DIFFERENCE)
        return before + difference if difference else "δ of output"


def outputs(
    opened: Walked,
    subject: Subject,
    frame: Frame,
    deltas: Mapping[str, Floats],
    reached: Mapping[str, NDArray[np.bool_]],
) -> tuple[Output, ...]:
    """The outputs of the last layer one below the other, where a table has no column for each.

    Those of the one sample, or of a batch their means: the numbers beside each other are of the same samples.
    """
    stages, names = subject.stages, subject.sample.outputs
    sums = next((s for s in reversed(stages) if s.weight is not None), None)
    if sums is None or not MOST < sums.outputs <= LISTED or len(names) != sums.outputs or not len(frame.activations):
        return ()
    own = frame.activations[sums.name] if opened.trial else opened.means[sums.name]
    wanted, label = subject.sample.wanted, subject.sample.label
    good = label if wanted is None else int(np.argmax(wanted)) if wanted.max() > 0 else None
    good = good if opened.trial else None
    rows = zip(names, np.where(reached[sums.name], own, np.nan), deltas[sums.name], strict=True)
    return tuple(Output(name, float(v), float(d), k == good) for k, (name, v, d) in enumerate(rows))


def _called(stage: Stage) -> str:
    """A stage by its place in the model and what it is: ``3 tanh``."""
    return stage.name if stage.kind in stage.name else f"{stage.name} {stage.kind}"


def _alone(letters: str, step: MicroStep, *, violet: bool = False) -> tuple[Formula, ...]:
    """The numbers of a stage that goes as one, where they are few."""
    words = Word(step.numbers, "violet" if violet else "plain", True)
    return (Formula(letters, (words,)),) if step.numbers else ()


def _violet(text: str) -> Word:
    return Word(text, "violet", True)


def _cells(values: Floats) -> tuple[str, ...]:
    return tuple("" if v != v else delta_text(float(v)) for v in values)


def _plain(values: NDArray[np.floating]) -> tuple[str, ...]:
    return tuple("" if v != v else number(float(v), 4) for v in values)
