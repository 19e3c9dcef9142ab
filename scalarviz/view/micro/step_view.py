"""`MicroStepView`: all that a picture shows of one micro-step, as data; and numbers as texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...run.core.tensors import Stage
from ...run.opened.captions import Caption
from ...run.opened.digits import (
    MINUS,
    Printed,
    descent,
    digits_apart,
    digits_of,
    digits_that_give,
    number,
    product,
    rounds_to,
    sides_of,
)
from ...run.opened.micro import PHASES
from ...run.opened.rule import PLAIN, RuleFormula
from ..ink.sketch import Bound
from ..ink.text import chip_text, delta_text
from ..ink.widgets import BoundCaption
from ..panels.drawer import OpenedStep
from .light import Sums, WindowPosition

Floating = NDArray[np.floating]
Floats = NDArray[np.float64]
Tone = Literal["plain", "dim", "violet"]
"""The theme's colour of a word: plain for the subject, dim for the rest, violet for gradients."""
ZERO, FORWARD, LOSS, BACKWARD, GRADIENTS, UPDATE = range(len(PHASES))
"""Indices of the phases."""


@dataclass(frozen=True, slots=True)
class Phase:
    """One arrow of the ribbon; the picture has shown `done` of its `count` micro-steps."""

    name: str
    words: str
    done: int
    count: int
    short: str = ""  # used if `words` have no room


class Word(NamedTuple):
    """A piece of a formula."""

    text: str
    tone: Tone = "plain"
    bold: bool = False
    bound: Bound | None = Bound(None)  # the number of the moment that it shows


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula in letters (``"δ · x = g"``), and with its numbers."""

    letters: str
    numbers: tuple[Word, ...]
    needs: str = ""  # as of a `Bound`

    @property
    def passes(self) -> bool:
        """Whether no page can write its numbers for another step."""
        return bool(self.numbers) and all(word.bound is not None and word.bound.name is None for word in self.numbers)

    @property
    def of_letters(self) -> Bound | None:
        """What a page needs to know of the letters: they pass with their numbers."""
        return Bound(None) if self.passes else Bound(None, needs=self.needs) if self.needs else None


@dataclass(frozen=True, slots=True)
class Sentence:
    """The line below the cubes: ``"0.weight[2][2]"``, ``"from b to b"``, and formulas, the current first."""

    name: str
    meaning: str = ""
    formulas: tuple[Formula, ...] = ()
    index: int = -1  # flat index of the weight that it is about; -1 for none
    short: Formula | None = None  # used if no formula has room; for an update: w, its change, the new w
    caption: Caption = field(default_factory=Caption)  # why the number is what it is, in one sentence
    bound: BoundCaption | None = None  # the caption, if a browser can write it for another step
    passing: bool = True  # whether the caption is true of the numbers of one step alone
    why: tuple[tuple[Word, ...], ...] = ()  # lines about one sample: what its target asks, and where the weight goes
    chosen: bool = False  # whether it is about one of many numbers, which was chosen by its size
    needs: str = ""  # what its meaning needs, as a `Bound`

    @property
    def instead(self) -> tuple[str, Formula | None]:
        """What the first formula lacks in other steps of a page (empty: its numbers), and what can stand there."""
        first, short = self.formulas[:1], self.short
        if not first or short is None or short.passes or not (first[0].passes or first[0].needs):
            return "", None
        letters = "" if short.letters == first[0].letters else short.letters  # which need the same
        return "" if first[0].passes else first[0].needs, replace(short, letters=letters)

    def solved(self, texts: Iterable[str]) -> bool:
        """Return whether the result of a formula is among `texts`; True without a result."""
        formulas = [*self.formulas[:1], *filter(None, (self.short,))]
        made = {word.text for formula in formulas for word in formula.numbers if word.bold}
        return not made or not made.isdisjoint(texts)


class CubeText(NamedTuple):
    """The two lines on a cube: how its number is made, and the number."""

    above: str
    below: str
    factors: tuple[float, ...] = ()  # the numbers that make them, if it is a product


@dataclass(frozen=True, slots=True)
class Pulse:
    """Something that runs along a line of the picture; `backward`: back, in the colour of gradients."""

    kind: str  # product, sum, unit, row, loss, delta or gradient
    index: int  # flat index of the weight, else the row's unit
    stage: str = ""
    backward: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class GradientHistogram:
    """A histogram of a gradient's terms, one per sample; its bins go from -`reach` to `reach`."""

    counts: NDArray[np.int64]
    reach: float
    gradient: float
    probe_term: float | None  # the term of the sample that is drawn
    words: str  # the samples of the terms: "1,024 colours"
    noun: str  # the word for one sample
    reduction: str = "mean"  # "mean" or "sum"


class Output(NamedTuple):
    """One output of the last layer: number and delta (NaN until known), and whether it is the target."""

    name: str
    value: float
    delta: float
    is_target: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MicroStepView(OpenedStep):
    """One micro-step in a picture: what panels show of it, and what is drawn around and beside the cubes."""

    step: int
    position: int
    count: int
    phases: tuple[Phase, ...]
    quantity: str  # the numbers that the cubes show, such as weight or gradient
    weights: NDArray[np.int64]  # flat indices of the weights that this micro-step is about
    outlined: Sequence[NDArray[np.int64]]  # by module, the weights that make the number in its sentence
    reached_modules: frozenset[str]  # modules that the forward pass has reached
    layer: Stage | None  # the layer whose cubes are lit, if they are products of one row
    input_row: str  # input_row and output_row: the stages whose rows stand before and after that layer
    output_row: str
    forward_factors: Floats  # (P,), the factor of each weight on the way forward; NaN: none
    backward_factors: Floats  # the same on the way back
    stops: Sequence[WindowPosition]  # positions of the window of a convolution or a pooling, in order
    marks: Mapping[str, NDArray[np.int64]]  # by row, numbers of maps that make the backward number
    sums: Mapping[str, Sums]  # partial sums of the current layer, by the row in which they will stand
    cube_texts: Mapping[int, CubeText]  # by flat index, for cubes whose numbers this phase makes
    sentence: Sentence
    pulses: Sequence[Pulse]
    table: Sequence[tuple[str, Sequence[str]]]  # where the deltas of the outputs come from, row by row
    table_numbers: Sequence[Sequence[Bound]]  # which numbers its cells show; empty if that is unknown
    outputs: Sequence[Output]  # the outputs of the last layer, if there are too many for the table
    range_values: Floating  # (P,), all numbers that are lit one after the other; the colours have their range
    loss: float | None  # loss of the sample that is drawn, at the weights before the step
    gradient_histogram: GradientHistogram | None
    rule: Sequence[Formula]  # the optimiser's lines, if there are several
    sample: tuple[Floating, Floating, Floating] | None  # of the last sample added: input, output, target
    asks: bool = False  # whether it asks if the weight of its sentence rises or falls
    predicts: bool = False  # whether such questions are on
    score: str = ""  # the count of right answers

    @property
    def shows_means(self) -> bool:
        """True if deltas and gradients are means over a batch."""
        return not self.trial and self.samples.startswith("mean") and not self.adding

    @property
    def headline(self) -> str:
        """The HUD's second line: the position in the step."""
        mode = "trial step: undone before the real one" if self.trial else f"{self.samples}: real step"
        some = f"{self.adding:,} sample{'' if self.adding == 1 else 's'} added up"
        place = some if self.adding else f"micro-step {self.position} of {self.count}"
        parts = f"paused inside step {self.step:,}", mode, place  # the last may have no room
        return "  \N{MIDDLE DOT}  ".join(parts)


DIGITS = 4
"""Significant digits of a number in the optimiser's lines."""


# ---- Numbers as texts: two lines on cubes, and formulas that are true as printed.


def product_text(weight: float, x: float) -> CubeText:
    """Return ``−0.47 × 0.97`` over ``= −0.46``; ``≈`` if the printed digits do not give it."""
    texts = chip_text(weight, signed=True), chip_text(x), chip_text(weight * x, signed=True)
    return _factors_text(*texts)._replace(factors=(weight, x))


def gradient_text(gradient: float, factors: tuple[float, float] | None, reduction: str = "mean") -> CubeText:
    """Return ``+0.060 × 0.97`` over ``≈ +0.0579``, ``=`` if the digits give it; without factors, a mean or sum."""
    if factors is None:
        return CubeText(f"{reduction} δ·x", f"= {delta_text(gradient)}")
    delta, x = factors
    if x == 1.0:  # there is room for all of it
        texts = delta_text(delta), "1", delta_text(gradient)
        return _factors_text(*texts)._replace(factors=(gradient, delta, x))
    left = number(delta, 3, signed=True) if 0.005 <= abs(delta) < 10 else delta_text(delta)
    return _factors_text(left, chip_text(x), delta_text(gradient))._replace(factors=(gradient, delta, x))


def _factors_text(left: str, right: str, made: str) -> CubeText:
    """Return a product and its result; ``=`` if the printed factors give the printed result, else ``≈``."""
    sign = "="
    try:
        a, b, result = (Decimal(text.replace(MINUS, "-").replace(",", "")) for text in (left, right, made))
        place = result.as_tuple().exponent
        if a.is_finite() and b.is_finite() and isinstance(place, int):
            sign = "=" if rounds_to(a * b, Printed(made, result, Decimal(1).scaleb(place))) else "≈"
    except InvalidOperation:  # infinite, or no number
        pass
    return CubeText(f"{left} × {right}", f"{sign} {made}")


def decimals_of(before: Floating, after: Floating) -> int:
    """Return the number of decimals, 2 to 6, that shows the largest change; all cubes have the same."""
    k = int(np.argmax(np.nan_to_num(np.abs(after - before))))
    return next((d for d in range(2, 7) if number(float(before[k]), d) != number(float(after[k]), d)), 4)


def update_text(before: float, after: float, digits: int) -> CubeText:
    """Return ``w −0.4698`` over ``w' −0.4668``."""
    return CubeText(f"w {number(before, digits, signed=True)}", f"w' {number(after, digits, signed=True)}")


def product_formula(letters: str, a: float, b: float, result: float, *, violet: bool = True) -> Formula:
    """Return a product with its numbers; `violet`: the first factor and the result are gradients."""
    tone: Tone = "violet" if violet else "plain"
    left, equals, made = sides_of(product(a, b, result))
    first, times, x = left.partition(" × ")
    return Formula(letters, (Word(first, tone), Word(times, "dim"), Word(x), Word(equals, "dim"),
                             Word(made, tone, True)))  # fmt: skip


def rule_formulas(lines: Sequence[RuleFormula], before: float, lr: float, gradient: float) -> tuple[Formula, ...]:
    """Return the optimiser's rule with its numbers, the new weight first; plain SGD is true as printed."""
    if len(lines) == 1 and lines[0].formula == PLAIN:
        left, equals, result = sides_of(descent(before, lr, gradient, lines[0].result))
        rest, times, g = left.rpartition(" × ")
        words = Word(rest), Word(times, "dim"), Word(g, "violet"), Word(equals, "dim"), Word(result, bold=True)
        return (Formula("w − lr · g = w'", words),)
    return tuple(_rule_line(line, before) for line in (*lines[-1:], *lines[:-1]))


def _rule_line(line: RuleFormula, before: float) -> Formula:
    """Return a line with enough digits to give its result, and to tell a new weight from the one `before`."""
    digits = digits_apart(before, line.result, DIGITS) if line.name == "w'" else DIGITS
    enough = digits_that_give(line.evaluate_rounded, line.result, digits)
    tones: list[Tone] = ["dim" if isinstance(t, str) else "violet" if t.name == "g" else "plain" for t in line.tokens]
    words = map(Word, line.pieces(enough or digits), tones)
    sign, made = " = " if enough is not None else " ≈ ", digits_of(line.result, digits, zeros=True)
    return Formula(f"{line.formula} = {line.name}", (*words, Word(sign, "dim"), Word(made, bold=True)))
