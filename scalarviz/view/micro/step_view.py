"""`Told`: all that a picture shows of one micro-step, as data; and numbers as the texts that stand there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Stage
from ...run.opened.micro import PHASES
from ...run.opened.rule import MINUS, Line, digits_apart, digits_of, digits_that_give
from ..ink.text import Printed, chip_text, delta_text, descent, exponent, number, product, rounds_to, sides_of
from ..panels.drawer import OpenedStep
from .light import Stop, Sums

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
    short: Formula | None = None  # what stands there where no formula has room: of an update w, its change, the new w


class CubeText(NamedTuple):
    """The two lines on a cube: how its number comes about, and the number."""

    above: str
    below: str


@dataclass(frozen=True, slots=True)
class Pulse:
    """Something that runs along a line of the picture; `back`: backwards, in the colour of gradients."""

    kind: str  # product, sum, unit, row, loss, delta or gradient
    index: int  # flat index of the weight, else the row
    stage: str = ""
    backward: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class GradientHistogram:
    """A histogram of the terms of one weight's gradient, one a sample; its bins go from -`reach` to `reach`."""

    counts: NDArray[np.int64]
    reach: float
    gradient: float
    probe_term: float | None  # the term of the one sample that is drawn
    words: str  # what the terms are of: "1,024 colours"
    noun: str  # what one of them is called
    reduction: str = "mean"  # or sum


class Output(NamedTuple):
    """One output of the last layer, its number, its delta (both NaN until they are there), and whether it is wanted."""

    name: str
    value: float
    delta: float
    is_target: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MicroStepView(OpenedStep):
    """One micro-step on the picture: what panels show of it, and what is drawn around and beside the cubes."""

    step: int
    position: int
    count: int
    phases: tuple[Phase, ...]
    quantity: str  # what the cubes show: weight or gradient
    weights: NDArray[np.int64]  # flat indices of those that this micro-step is about
    told: Sequence[NDArray[np.int64]]  # by module, and of those of which the number is made that its sentence tells of
    reached_modules: frozenset[str]  # modules that the forward pass has come to
    layer: Stage | None  # whose cubes are lit now, where they are products of one row
    input_row: str  # the rows before that layer and after it, by their stages
    output_row: str
    forward_factors: Floats  # (P,), what each weight is multiplied with on the way forward; NaN: nothing
    backward_factors: Floats  # the same on the way back
    stops: Sequence[Stop]  # of the window of a convolution or a pooling, one after the other
    marks: Mapping[str, NDArray[np.int64]]  # by row, numbers of maps from which what is told of on the way back comes
    sums: Mapping[str, Sums]  # of the layer that is worked out, by the row in which they will stand
    cube_texts: Mapping[int, CubeText]  # by flat index, of cubes whose number comes about in this phase
    sentence: Sentence
    pulses: Sequence[Pulse]
    table: Sequence[tuple[str, Sequence[str]]]  # where the deltas of the outputs come from, row by row
    outputs: Sequence[Output]  # where there are too many for the table, or the target is a class
    range_values: Floating  # all numbers that are lit one after the other, (P,), whose range the colours have
    loss: float | None  # of the sample that is drawn, at the weights before the step
    gradient_histogram: GradientHistogram | None
    rule: Sequence[Formula]  # the optimiser's lines, where there are several
    sample: tuple[Floating, Floating, Floating] | None  # input, output and target of the sample that is added up last

    @property
    def shows_means(self) -> bool:
        """Whether deltas and gradients are means over a batch."""
        return not self.trial and self.samples.startswith("mean") and not self.adding

    @property
    def headline(self) -> str:
        """The HUD's second line: where in the step this is."""
        mode = "trial step, the run keeps its weights" if self.trial else "real step"
        some = f"{self.adding:,} sample{'' if self.adding == 1 else 's'} added up"
        place = some if self.adding else f"micro-step {self.position} of {self.count}"
        where = f"paused inside step {self.step:,}  \N{MIDDLE DOT}  {place}"
        return f"{where}  \N{MIDDLE DOT}  {self.samples}: {mode}"


DIGITS = 4
"""That count, of a number in the optimiser's lines."""


# ---- Numbers as texts: on cubes in two lines, in formulas so that they are true as printed.


def product_text(weight: float, x: float) -> CubeText:
    """``−0.47 × 0.97`` over ``= −0.46``; with ``≈`` where so few digits do not give it."""
    return _factors_text(chip_text(weight, signed=True), chip_text(x), chip_text(weight * x, signed=True))


def gradient_text(gradient: float, factors: tuple[float, float] | None, reduction: str = "mean") -> CubeText:
    """``+0.060 × 0.97`` over ``≈ +0.0579``, ``=`` where the digits give it; without factors a mean, or a sum."""
    if factors is None:
        return CubeText(f"{reduction} δ·x", f"= {delta_text(gradient)}")
    delta, x = factors
    if x == 1.0:  # there is room for all of it
        return _factors_text(delta_text(delta), "1", delta_text(gradient))
    left = number(delta, 3, signed=True) if 0.005 <= abs(delta) < 10 else exponent(delta, signed=True)
    return _factors_text(left, chip_text(x), delta_text(gradient))


def _factors_text(left: str, right: str, made: str) -> CubeText:
    """A product and its result; ``=`` if the printed factors give that, rounded as it is, else ``≈``."""
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
    """As many as show the largest of some changes, two to six: all cubes have the same."""
    k = int(np.argmax(np.nan_to_num(np.abs(after - before))))
    return next((d for d in range(2, 7) if number(float(before[k]), d) != number(float(after[k]), d)), 4)


def update_text(before: float, after: float, digits: int) -> CubeText:
    """``w −0.4698`` over ``w' −0.4668``."""
    return CubeText(f"w {number(before, digits, signed=True)}", f"w' {number(after, digits, signed=True)}")


def product_formula(letters: str, a: float, b: float, result: float, *, violet: bool = True) -> Formula:
    """A product with its numbers; `violet`: a delta and what it makes are gradients."""
    tone: Tone = "violet" if violet else "plain"
    left, equals, made = sides_of(product(a, b, result))
    first, times, x = left.partition(" × ")
    return Formula(letters, (Word(first, tone), Word(times, "dim"), Word(x), Word(equals, "dim"),
                             Word(made, tone, True)))  # fmt: skip


def rule_formulas(lines: Sequence[Line], before: float, lr: float, gradient: float) -> tuple[Formula, ...]:
    """The optimiser's rule with its numbers, the new weight first; plain descent is true as printed."""
    if len(lines) == 1 and lines[0].formula == "w − lr · g":
        left, equals, result = sides_of(descent(before, lr, gradient, lines[0].result))
        rest, times, g = left.rpartition(" × ")
        words = Word(rest), Word(times, "dim"), Word(g, "violet"), Word(equals, "dim"), Word(result, bold=True)
        return (Formula("w − lr · g = w'", words),)
    return tuple(_rule_line(line, before) for line in (*lines[-1:], *lines[:-1]))


def _rule_line(line: Line, before: float) -> Formula:
    """With so many digits that what is printed gives the result, and a new weight is not the one `before`."""
    digits = digits_apart(before, line.result, DIGITS) if line.name == "w'" else DIGITS
    enough = digits_that_give(line.evaluate_rounded, line.result, digits)
    tones: list[Tone] = ["dim" if isinstance(t, str) else "violet" if t.name == "g" else "plain" for t in line.tokens]
    words = map(Word, line.pieces(enough or digits), tones)
    sign, made = " = " if enough is not None else " ≈ ", digits_of(line.result, digits, zeros=True)
    return Formula(f"{line.formula} = {line.name}", (*words, Word(sign, "dim"), Word(made, bold=True)))
