"""`Told`: all that a picture shows of one micro-step of an opened step. Data alone, so that drawing needs no run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...run.opened.micro import PHASES
from ..panels.drawer import Inner

Floats = NDArray[np.floating]
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
    whole: Floats | None  # the gradient that a sum of outer products comes to
    loss: float | None  # of the sample that is drawn, at the weights before the step
    spread: Spread | None
    layers: Sequence[Layer]  # of a larger net
    rule: Sequence[Formula]  # the optimiser's lines, where there are several
    sample: tuple[Floats, Floats, Floats] | None  # input, output and target of the sample that is added up last

    @property
    def mean(self) -> bool:
        """Whether deltas and gradients are means over a batch."""
        return not self.trial and self.samples.startswith("mean")

    @property
    def headline(self) -> str:
        """The HUD's second line: where in the step this is."""
        mode = "a trial step, leaving it changes nothing" if self.trial else "the real step"
        some = f"{self.adding:,} sample{'' if self.adding == 1 else 's'} added up"
        place = some if self.adding else f"micro-step {self.at} of {self.count}"
        where = f"paused inside step {self.step:,}  \N{MIDDLE DOT}  {place}"
        return f"{where}  \N{MIDDLE DOT}  {self.samples}: {mode}"
