"""`Sentences`: the line below the cubes for each micro-step, with its formulas."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...run.core.tensors import Stage
from ...run.opened.attention import BETWEEN, SHARES
from ...run.opened.digits import Term, decimals, neuron, sides_of
from ...run.opened.equations import FEW as LARGEST_LOSS
from ...run.opened.equations import GAP
from ...run.opened.micro import MicroStep, counted, loss_texts, module_path, share_text, shown_call, weight_to_show
from ...run.opened.rule import Quantity, RuleFormula, hatted
from ...run.panels import WordBoard
from ...scalar.ops import TABLE
from ..cubes.scale import in_words
from ..graph.layout import short as shortened
from ..ink.sketch import (
    BACK,
    BEND,
    CONSTANT,
    DELTA,
    FACTOR,
    GRADIENT,
    NEW_WEIGHT,
    NODES,
    RATE,
    RULE,
    RUN_LOSS,
    WEIGHT,
    Bound,
)
from ..ink.text import delta_text, figure, loss_text
from ..notes.layer import SYMBOLS
from ..panels.attention import BEGINNING, quoted
from ..panels.drawer import noun
from ..shown.names import Names, tensor_of, who
from .captions import Captions
from .equations import EQUATIONS, OF_DIGITS, Number, bounds
from .step_view import DIGITS, UPDATE, Formula, Sentence, Tone, Word, product_formula, rule_formulas

if TYPE_CHECKING:
    from .walk import Walk


SQUARES = "the square of a mean is not the mean of squares"
PRODUCTS = "the mean of products is not the product of means"
NOISE = 1e-12
"""A mean over samples that is not larger consists of rounding errors, and every engine has others."""


class Sentences:
    """Writes the lines of one walk."""

    def __init__(self, walk: Walk) -> None:
        self._walk, self._opened, self._subject, self._frame = walk, walk.opened, walk.subject, walk.frame
        self._names, self.captions = Names(walk.subject), Captions(walk)
        board = next((panel for panel in walk.subject.panels if isinstance(panel, WordBoard)), None)
        self._word = (BEGINNING, *board.word) if board is not None and walk.opened.trial else ()
        self._follow = () if board is None else (*map(quoted, board.letters), "end")

    def sentence_for(
        self, step: MicroStep, selected: int | None, computed: NDArray[np.bool_], adding: int = 0
    ) -> Sentence:
        """Return the line of a micro-step; it is about the `selected` weight if that number is `computed`."""
        said = self._line(step, selected, computed, adding)
        caption = self.captions.caption_for(step, said.name, said.index, self._about, adding)
        if step.kind not in ("stage", "statistic"):
            why = () if adding else tuple(self.captions.why(step, said.index))
            bound = self.captions.bound_for(step)
            return replace(said, caption=caption, bound=bound, passing=step.phase != "zero", why=why)
        formulas = tuple(_unbound(formula) for formula in said.formulas)  # in another step it may be about another one
        short = None if said.short is None else _unbound(said.short)
        return replace(said, caption=caption, formulas=formulas, short=short, chosen=True)

    def _line(self, step: MicroStep, selected: int | None, computed: NDArray[np.bool_], adding: int) -> Sentence:
        if adding:
            return self._of_sum(step, adding)
        if step.phase in ("gradients", "update"):
            return self._of_weight(step, selected if selected is not None and computed[selected] else None)
        if step.kind == "product":
            index = int(step.weights[0])
            w, x = self._factors(index)
            made = product_formula("w × x = product", w, x, w * x, violet=False)
            made = _bound(made, "product", ((WEIGHT, index), (FACTOR, index)), (w, x))
            about = self._forward("w: weight, x: input" * self._opened.trial)
            return Sentence(who(self._subject, index).name, about, (made,), index)
        if step.kind in ("sum", "unit"):
            return self._of_unit(step)
        if step.phase == "loss":
            own = Bound(RUN_LOSS, 0, "loss")
            formula = Formula("loss", (Word(loss_text(self._opened.loss), bold=True, bound=own),))
            if (said := loss_texts(self._opened)) is not None:
                formula = self._of_squares(_equation(self._walk.lettered(said[0]), said[1], violet=False))
            elif samples := self._opened.of_samples(step):
                over = f" / {self._opened.divisor:,.10g}" * (self._opened.divisor != 1)
                formula = _ending(_equation(f"Σ loss{over}", samples, violet=False), (RUN_LOSS, 0), self._opened.loss)
            short = Formula(formula.letters, formula.numbers[-1:])
            whose = f"of {self._of_whom()}" if self._opened.trial else f"{self._walk.joined} over {self._walk.batch}"
            first = f"first the share of end after {self._letter(len(self._word))}; " if self._word else ""
            return Sentence("loss", f"{first}{whose}: training makes it smaller", (formula,), short=short)
        if step.kind == "node" or (step.op and not len(step.units)):
            return self._of_operation(step)
        if step.op and step.kind != "delta":
            return self._of_largest(step)
        if step.phase == "backward":
            return self._of_delta(step)
        if step.kind == "stage":
            return Sentence(self._titles(step), self._forward(self._count_words(step)), _stage_formulas("output", step))
        zero = Formula(
            counted("gradient", len(step.weights)), (Word("= ", "dim", False, None), Word("0", bold=True, bound=None))
        )
        return Sentence("zero", "backward adds to each gradient, so all begin at 0", (zero,))

    def _of_operation(self, step: MicroStep) -> Sentence:
        """Return the line of an operation of a formula or between modules, shown by one number."""
        back, (name, _, meaning) = step.phase == "backward", self._walk.named(step.words).partition(": ")
        numbers = (share_text(step, self._opened) if step.formula == SHARES else "") or step.numbers
        letters = f"{step.formula} = δ" if back else "" if step.kind == "node" else step.formula
        formula = _equation(self._walk.named(letters), numbers, violet=back)
        if step.kind == "node":
            own = f"{DELTA}{NODES}" if back else NODES, step.column
            if samples := self._opened.of_samples(step):
                formula = _equation(f"{self._joined} δ" if back else "", samples, violet=back)
            elif step.op in EQUATIONS and not back:
                formula = self._numbered(
                    formula, step.op, (own, *((NODES, row) for row in self._operands(step.column)))
                )
            if formula.passes and abs(step.value) > NOISE:
                formula = _ending(formula, own, step.value)
        name = "residual stream" if back and step.formula.startswith("residual sum") else name
        said = f"δ of {shortened(name)}" if back else shortened(name)
        if back:
            meaning = "slope of the loss with respect to this node"
            if step.kind == "stage":
                said = f"{said}: {self._about(step)}"
                layers = ", ".join(map(self._title, self._walk.lighting.beside(step.stage)))
                meaning = f"read by {layers}" if step.formula == "Σ w · δ" else meaning.replace("node", "number")
        elif step.kind == "node":
            meaning = self._forward("", step.op)
        elif step.kind == "stage":
            meaning = f"{meaning}; {self._about(step)}"
        return Sentence(said, meaning, (formula,), short=Formula(formula.letters, formula.numbers[-1:]))

    def _operands(self, row: int) -> tuple[int, ...]:
        """Return the rows that a node of a formula takes."""
        tape = self._opened._passes.network.formula
        return () if tape is None else tape.nodes[row].args

    def _place(self, step: MicroStep) -> int:
        """Return the letter of a word that a micro-step shows, from 1; 0 for none."""
        called_at = re.findall(r"\((\d+)\)\Z", shown_call(step, self._opened))
        return int(*called_at) if called_at else 0

    def _letter(self, place: int) -> str:
        """Return the name of a place of a word, from 1."""
        return quoted(self._word[place - 1]) if 0 < place <= len(self._word) else f"place {place}"

    def _about(self, step: MicroStep) -> str:
        """Return which number between modules a micro-step shows; in a word, at which letter."""
        place = self._place(step)
        own, of = self._letter(place), f" of {self._letter(place)}" if place else ""
        looks = None if self._walk.attention_step is None else self._walk.attention_step.attention(step.stage)
        if looks is None:
            return f"number {step.column + 1}{of}"
        formula = dict(BETWEEN.values()).get(step.words, step.formula)
        head, number = looks.which(step.formula, step.column)
        if step.phase == "backward" and formula == SHARES:
            head, number = divmod(step.column, len(looks.shares[0]))
        if formula == SHARES:
            return f"head {head + 1}: {own} looks at {self._letter(number + 1)}"
        return f"head {head + 1}, number {number + 1}{of}"

    def _titles(self, step: MicroStep) -> str:
        """Return the names of a micro-step's stages: ``q, k, v``."""
        return ", ".join(dict.fromkeys(map(self._title, (step.stage, *step.other_calls))))

    def _of_largest(self, step: MicroStep) -> Sentence:
        """Return the line of many numbers at once, shown by one of them."""
        stage, back = self._walk.stages[module_path((step.stage, *step.other_calls)[-1])], step.phase == "backward"
        name, place = self._name(stage, step.column), self._names.place(stage, step.column)
        name = place if name.endswith(place) else f"class {name}" if name.isdecimal() else name
        ends = module_path(stage.name) == module_path(self._subject.stages[-1].name)
        says = ends and len(self._follow) == stage.outputs
        said, link = (self._follow[step.column], "after") if says else (name, "of")
        said += f" {link} {self._letter(at)}" if (at := self._place(step)) else ""
        sizes = np.abs((self._opened.delta_sums if back else self._opened.means)[shown_call(step, self._opened)])
        first = "the largest" + " in size" * (step.value < 0) if sizes[step.column] >= sizes.max() else "one"
        title, made = f"{self._title(stage.name)}: {said}", self._count_words(step)
        made = f"{first} of {made}" if stage.outputs > 1 else made
        made = f"share p minus target t; {made}" if "p −" in step.formula else made
        made = f"after {in_words(before)}; {made}" if (before := step.words.rpartition(", then ")[0]) else made
        made += "; max' is 1 for the largest of a pool" * (back and "max'" in step.formula)
        if ends and not back and (share := share_text(step, self._opened)):
            made += f"; share = {share}"
        letters = f"{step.formula} = δ".removeprefix(" = ")
        letters = self._walk.lettered(letters, name) if back else self._walk.named(step.formula)
        whose = self._joined if back else f"mean of {len(self._opened.batch):,}"
        samples = "" if step.factors else self._opened.of_samples(step)
        numbers = samples or step.numbers.removeprefix(f"{whose} = ")
        letters = letters if numbers == step.numbers else f"{whose}: {letters}".removesuffix(": ")
        formula = _equation(letters, numbers, violet=back)
        short = Formula(formula.letters, formula.numbers[-1:])
        if back:
            return Sentence(f"δ of {title}", made, (formula,), short=short)
        return Sentence(title, made, (formula,), short=short)

    def _count_words(self, step: MicroStep) -> str:
        """Return how many numbers a stage, or all calls of a module, have made."""
        stage, modules = self._walk.stages[step.stage], len({*map(module_path, (step.stage, *step.other_calls))})
        count = counted("number" if stage.weight is None else "sum", stage.outputs)
        where = f"{len(self._word)} letters" if self._word else f"{(1 + len(step.other_calls)) // modules} places"
        return f"{count}, as at each of {where}" if len(step.other_calls) >= modules else count

    def _of_whom(self) -> str:
        return f"this {noun(self._subject)}" if self._opened.trial else f"the {self._walk.joined} of {self._walk.batch}"

    @property
    def _joined(self) -> str:
        return f"{self._walk.joined} of {len(self._opened.batch):,}"

    def _forward(self, about: str, op: str = "") -> str:
        """Return `about` with the samples of forward numbers, unless these are one sample's; `op` made them."""
        if self._opened.trial or len(self._opened.batch) == 1:
            return about
        bent = self._walk.mean and op in TABLE and len(TABLE[op].args) == 1 and op != "neg"
        symbol = SYMBOLS.get(op, in_words(op))
        apart = f"{symbol} of a mean is not the mean of {symbol}" if op != "square" else SQUARES
        whose = f"mean of {self._walk.batch}" if self._walk.mean else f"of this {noun(self._subject)} alone"
        return ", ".join(filter(None, (about, whose))) + f"; {apart}" * bent

    def _name(self, stage: Stage, row: int) -> str:
        """Return the name of a number of a row: that of what it becomes, if nothing else reads it."""
        return self._names.unit(self._walk.after(stage) or stage, row)

    def _title(self, stage: str) -> str:
        """Return the name of a stage, without the number of its call."""
        return module_path(self._names.stages[stage])

    def _of_unit(self, step: MicroStep) -> Sentence:
        stage, i = self._walk.stages[step.stage], int(step.units[0])
        made = float(self._frame.activations[stage.name][i])
        if step.kind == "unit":
            letters, short = f"{step.formula} = output", None
            needs = self._bent(stage)
            if self._walk.mean and len(self._opened.batch) > 1:  # a mean is made of no mean
                bound = Bound(stage.name, i, "plain")
                short = formula = Formula("mean output", (Word(decimals(made, 4).text, bold=True, bound=bound),))
                if samples := self._opened.of_samples(step):
                    formula = _ending(_equation("mean output", samples, violet=False), (stage.name, i), made)
            else:
                made_so = _equation(letters, step.numbers.rpartition(": ")[2], violet=False)
                of = [(name, i) for name in self._walk.sources(stage)] * (2 if step.formula.startswith("x") else 1)
                formula = self._numbered(replace(made_so, needs=needs), stage.kind, ((stage.name, i), *of))
            kind = self._forward(in_words(stage.kind), stage.kind)
            return Sentence(f"output {self._name(stage, i)}", kind, (formula,), short=short, needs=needs)
        assert stage.weight is not None  # sums are of layers
        first, width = stage.weight.start + i * stage.weight.shape[-1], stage.weight.shape[-1]
        terms: list[Term] = [self._factors(k) for k in range(first, first + width)]
        if stage.bias is not None:
            terms.append((float(self._frame.values[stage.bias.start + i]), None))
        left, sign, result = sides_of(next(neuron("sum", terms, made)).removeprefix("sum = "))
        summed = "the products" if stage.bias is None else "products and bias"
        numbers = (Word(left), Word(sign, "dim"), Word(result, bold=True))
        of = [(name, k) for k in range(first, first + width) for name in (WEIGHT, FACTOR)]
        of += [(WEIGHT, stage.bias.start + i)] if stage.bias is not None else []
        formula = self._numbered(Formula("", numbers), "sum", ((stage.name, i), *of))
        made_of = self._forward(summed)
        short = _equation("", step.numbers.rpartition(": ")[2], violet=False)
        return Sentence(f"sum {self._name(stage, i)}", made_of, (formula,), short=short)

    def _factors(self, index: int) -> tuple[float, float]:
        """Return a weight, and its factor on the way forward."""
        return float(self._frame.values[index]), float(self._walk.lighting.forward_factors[index])

    def _of_delta(self, step: MicroStep) -> Sentence:
        stage = self._walk.stages[step.stage]
        if step.kind != "delta":
            meaning = f"{self._count_words(step)}, backward: {self._of_whom()}"
            return Sentence(f"δ of {self._titles(step)}", meaning, _stage_formulas("δ", step, violet=True))
        unit = int(step.units[0])
        formula = self._walk.lettered(step.formula, self._name(stage, unit))
        one = " = ".join(filter(None, (formula, "δ")))
        own = f"{DELTA}{stage.name}", unit
        made = _violet(one if self._opened.trial else f"{self._walk.joined} of δ", step.value, own)
        short = made
        if len(step.factors) == 2 and step.op in ("", "mul"):
            made = product_formula(f"{formula} = δ", *step.factors, step.value)
        elif step.factors:
            made = _equation(f"{formula} = δ", step.numbers, violet=True)
        if step.factors:
            made = self._of_slopes(made, step, stage, unit)
        elif samples := self._opened.of_samples(step):
            made = _ending(_equation(f"{self._joined} δ", samples, violet=True), own, step.value)
        meaning = "slope of the loss with respect to this sum"
        return Sentence(f"δ of {self._name(stage, unit)}", meaning, (made,), short=short)

    def _of_weight(self, step: MicroStep, selected: int | None) -> Sentence:
        """Return the line of a gradient or update: of the selected weight, or of the one that is shown."""
        index = weight_to_show(step, self._walk.steps, self._opened) if selected is None else selected
        known, update, rule = who(self._subject, index), self._opened.update(index), self._rule(index, hats=True)
        if update.why:
            moved = self._opened.follows(index)
            says = f"{figure(update.before)} becomes {figure(update.after)}" if moved else "stays"
            rule = (Formula("", (Word(f"{says}: {update.why}"),)),)
        what, of = ("gradient", self._opened.gradient) if step.phase == "gradients" else ("change", self._walk.change)
        largest = len(step.weights) > 1 and abs(of[index]) >= np.abs(of[step.weights]).max()
        meaning = f"the largest {what} here" if largest else ""
        tensor, rows = tensor_of(self._subject, index), (*self._follow[:-1], "start or end")
        if self._follow and tensor.shape[:1] == (len(rows),):
            row = rows[(index - tensor.start) * len(rows) // tensor.size]
            meaning = f"{meaning}; row of {row}".removeprefix("; ")
        left, sign, result = EQUATIONS["moved"](update.before, update.after)
        added = Formula("w + Δw = w'", (Word(left), Word(sign, "dim"), Word(result, bold=True)))
        short: Formula | None = self._numbered(added, "moved", ((WEIGHT, index), (NEW_WEIGHT, index)))
        if step.phase == "gradients":  # no number of the rule is worked out yet
            summed = step if step.op and index == step.weights[step.column] else None
            made, short = self._of_gradient(index, summed), None
            meaning = meaning or "δ: slope, x: input" * made.letters.endswith("δ · x = g")
            samples = "" if summed is not None else self._opened.of_samples(step, index)
            if summed is not None or samples:
                short = self._of_gradient(index)
            if samples:
                made = _ending(
                    _equation(made.letters, samples, violet=True), (GRADIENT, index), self._opened.gradient[index]
                )
                if self._walk.is_mean(index) and self._opened.varies(index):
                    meaning = "; ".join(filter(None, (meaning, "each sample has its own δ · x", PRODUCTS)))
            coming = tuple(replace(one, numbers=()) for one in rule if len(rule) == 1 and one.letters)
            rule = (made, *coming)
        else:
            averages = [line for line in update.lines[:-1] if "g" in names_of(line)]
            hats = {line.formula.partition(" / (")[0]: f"{line.name} = {line.formula}" for line in hatted(update.lines)}
            said = [words for line in averages
                    for words in self._of_average(line, update.gradient, hats.get(line.name, ""))]  # fmt: skip
            meaning = "; ".join(filter(None, (meaning, *said))) or "lr: learning rate" * (len(rule) == 1)
        return Sentence(known.name, meaning, rule, index, short=short)

    def _of_average(self, line: RuleFormula, gradient: float, corrected: str) -> Iterator[str]:
        """Yield a line of the rule that takes the gradient, and a note if its state has the opposite sign.

        The line of the squares has its correction in place of letters, which are like those of the first line.
        """
        if "²" in line.formula and corrected:
            yield f"{line.name} = {line.equation(DIGITS)}, {corrected}"
            return
        yield f"{line.name} = {line.formula} = {line.equation(DIGITS)}"
        before = names_of(line).get(line.name.removesuffix("'"), 0.0)
        if before * line.result > 0 > line.result * gradient:
            yield f"{line.name} still has the sign of earlier gradients"

    def _rule(self, index: int, *, hats: bool = False) -> tuple[Formula, ...]:
        """Return a weight's optimiser lines with numbers, the new weight first; `hats`: as in textbooks."""
        before, gradient = float(self._frame.values[index]), float(self._opened.gradient[index])
        lines = self._opened.update(index).lines
        found = rule_formulas(hatted(lines) if hats else lines, before, self._opened.lr, gradient)
        found = tuple(replace(formula, needs=RULE) for formula in found)
        if len(found) != 1:
            return found
        of = (WEIGHT, index), (RATE, 0), (GRADIENT, index), (NEW_WEIGHT, index)
        return (self._numbered(found[0], "descent", of),)

    def _of_gradient(self, index: int, summed: MicroStep | None = None) -> Formula:
        """Return the gradient of one weight as a product, or as a sum, whose terms `summed` has."""
        made, gradient = self._opened.made(index), float(self._opened.gradient[index])
        factor, of = "slope" if self._walk.is_graph else "x", (GRADIENT, index)
        if made.terms == 1 and self._opened.trial:
            formula = product_formula(
                f"δ · {'1' if made.bias and factor == 'x' else factor} = g", made.delta, made.x, gradient
            )
            formula = self._numbered(formula, "product", (*self._factors_of(index), of))
            return _ending(formula, of, gradient) if formula.passes else formula
        if summed is not None:
            known = 0.0 in summed.factors  # the largest terms are listed: where one is 0, so are those left out
            letters = self._summed(made.terms, (len(self._word) - int(np.count_nonzero(summed.factors))) * known)
            return _equation(f"{letters} δ · {factor} = g", summed.numbers, violet=True)
        joined = f"mean of {made.terms:,}" if self._walk.is_mean(index) else self._summed(made.terms)
        return _violet(f"{joined} δ · {factor} = g" if made.terms else "g", gradient, of)

    def _factors_of(self, index: int) -> tuple[Number, Number]:
        """Return the δ and the slope, or input, whose product is a weight's gradient."""
        tape = self._opened._passes.network.formula
        if tape is not None:
            own = next(k for k, node in enumerate(tape.nodes) if node.code == "param" and node.index == index)
            user, *others = [k for k, node in enumerate(tape.nodes) if own in node.args]
            node = tape.nodes[user]
            if not others and node.code == "add":
                return (f"{DELTA}{NODES}", user), (CONSTANT, 1)
            if not others and node.code == "mul":
                a, b = node.args
                return (f"{DELTA}{NODES}", user), (NODES, a if b == own else b)
        return (BACK, index), (FACTOR, index)

    # ---- the numbers of formulas, for a browser that has others

    def _numbered(self, formula: Formula, form: str, numbers: Sequence[Number]) -> Formula:
        """Return a formula that says which numbers it shows, if it is an equation of that form."""
        return _bound(formula, form, numbers, [self._value(name, index) for name, index in numbers])

    def _value(self, name: str, index: float) -> float:
        """Return a number by its name and index, as a page has it."""
        opened, k = self._opened, int(index)
        own: dict[str, NDArray[np.floating]] = {
            NODES: opened._passes.means, f"{DELTA}{NODES}": opened._passes.adjoint_sums, WEIGHT: self._frame.values,
            NEW_WEIGHT: opened.new_values, GRADIENT: opened.gradient, FACTOR: self._walk.lighting.forward_factors,
        }  # fmt: skip
        if name in own:
            return float(own[name][k])
        if name in (CONSTANT, RUN_LOSS, RATE):
            return {CONSTANT: index, RUN_LOSS: opened.loss, RATE: opened.lr}[name]
        if name == BACK:
            return opened.made(k).delta
        if name == "target":
            wanted = opened.data_means["target"]
            return float(wanted[k]) if k < len(wanted) else float("nan")  # a class is one number for all outputs
        if name.startswith(DELTA):
            return float(opened.delta_sums[name.removeprefix(DELTA)][k])
        row = self._frame.activations.get(name)
        return float("nan") if row is None else float(row[k])

    def _of_squares(self, formula: Formula) -> Formula:
        """Return the loss of one sample with its numbers, if it is that of squared errors."""
        last = self._subject.stages[-1]
        if len(self._opened.targets) != last.outputs or last.outputs > LARGEST_LOSS:
            return formula
        of = [(name, k) for k in range(last.outputs) for name in (last.name, "target")]
        return self._numbered(formula, "squares", ((RUN_LOSS, 0), *of))

    def _of_slopes(self, formula: Formula, step: MicroStep, stage: Stage, unit: int) -> Formula:
        """Return the delta of a sum with its numbers: those of its activation, and of the sums that read it."""
        own, after = (f"{DELTA}{stage.name}", unit), self._walk.after(stage)
        if step.op == GAP:
            factor = Fraction(step.factors[2]).limit_denominator(1000)
            of = (stage.name, unit), ("target", unit), (CONSTANT, factor.numerator), (CONSTANT, factor.denominator)
            return self._numbered(formula, "gap", (own, *of))
        if after is None:
            return formula
        y, formula = (after.name, unit), replace(formula, needs=self._bent(after))
        if len(step.factors) == 2:
            return self._numbered(formula, f"through {after.kind}", (own, (f"{DELTA}{after.name}", unit), y))
        reader = next((s for s in self._subject.stages if self._walk.sources(s) == (after.name,)), None)
        if reader is None or reader.weight is None or len(reader.weight.shape) != 2:
            return formula
        pairs = [((WEIGHT, reader.weight.start + row * reader.weight.shape[1] + unit), (f"{DELTA}{reader.name}", row))
                 for row in range(reader.outputs)]  # fmt: skip
        if len(pairs) == 1:
            return self._numbered(formula, f"times {after.kind}", (own, *pairs[0], y))
        return self._numbered(formula, f"passed {after.kind}", (own, y, *(number for pair in pairs for number in pair)))

    def _bent(self, stage: Stage) -> str:
        """Return what the equations of an activation need: that of hidden layers may be another one in a page."""
        return BEND if stage.weight is None and stage.name in self._names.hidden else ""

    def _summed(self, terms: int, zeros: int = 0) -> str:
        """Return the words for the sum of a gradient's `terms`; `zeros` of a word's terms are left out."""
        places = terms // len(self._opened.batch)
        some = f"over {self._walk.batch} × {places} places:" if 1 < places < terms else f"of {terms:,}"
        some = f"over {len(self._word)} letters{f', {zeros} of them 0' * (zeros > 0)}:" if self._word else some
        return f"sum {some}"

    def _of_sum(self, step: MicroStep, adding: int) -> Sentence:
        """Return the line of a sum of outer products of the first `adding` samples."""
        numbers = Word(f"{adding:,}", "violet", True), Word(f" of {self._walk.batch} added up")
        letters = f"sum of δ · x ÷ {self._opened.divisor:,.10g}" if self._opened.divisor != 1 else "sum of δ · x"
        about = "each sample adds its δ · x to every cube"
        return Sentence(f"gradient of {self._title(step.stage)}", about, (Formula(letters, numbers),))

    def lines(self, phase: int, index: int) -> tuple[Formula, ...]:
        """Return a weight's optimiser lines in the order of computation; empty unless there are several."""
        rule = self._rule(index) if index >= 0 and phase >= UPDATE else ()
        return (*rule[1:], rule[0]) if len(rule) > 1 else ()


def _bound(formula: Formula, form: str, numbers: Sequence[Number], values: Sequence[float]) -> Formula:
    """Return a formula with the numbers of its words, as pieces of an equation."""
    own = bounds(form, [word.text for word in formula.numbers], numbers, values, formula.needs)
    return replace(
        formula, numbers=tuple(word._replace(bound=one) for word, one in zip(formula.numbers, own, strict=True))
    )


def _unbound(formula: Formula) -> Formula:
    return replace(formula, numbers=tuple(word._replace(bound=Bound(None)) for word in formula.numbers))


def names_of(line: RuleFormula) -> dict[str, float]:
    """Return the numbers that a line takes, by their names."""
    return {token.name: token.value for token in line.tokens if isinstance(token, Quantity)}


def _stage_formulas(letters: str, step: MicroStep, *, violet: bool = False) -> tuple[Formula, ...]:
    """Return the numbers of a stage as a formula, if they are few."""
    return (_equation(letters, step.numbers, violet=violet),) if step.numbers else ()


def _equation(letters: str, numbers: str, *, violet: bool) -> Formula:
    """Return a written equation as a formula; `violet`: its numbers are deltas."""
    left, sign, result = sides_of(numbers)
    tone: Tone = "violet" if violet else "plain"
    letters, left = (re.sub(r"\b[a-z]+_[a-z]+\b", lambda found: in_words(found[0]), t) for t in (letters, left))
    parts = re.split(r"(?= [+−/] )", left)
    whole = all(term.count("(") == term.count(")") for term in parts)  # a part of a bracket has no sign of its own
    terms = (Word(term, tone if whole else "plain") for term in parts)
    words = *terms, Word(sign, "dim"), Word(result, tone, True)
    return Formula(letters, tuple(word for word in words if word.text))


def _violet(letters: str, value: float, of: Number = ("", 0)) -> Formula:
    """Return a formula with one delta or gradient; `of` is its name and index in a page."""
    return Formula(letters, (Word(delta_text(value), "violet", True, Bound(of[0], int(of[1]), "delta")),))


def _ending(formula: Formula, of: Number, value: float) -> Formula:
    """Return an equation over samples whose result alone a page knows in other steps."""
    *terms, sign, result = formula.numbers
    own = (bounds(form, [result.text], [of], [value])[0] for form in OF_DIGITS)
    bound = next((one for one in own if one.name), Bound(None))
    return replace(formula, numbers=(*terms, sign, result._replace(bound=bound)))
