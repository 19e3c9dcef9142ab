"""`Told`: all that a picture shows of one micro-step of an opened step. Data alone, so that drawing needs no run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ...run.opened.micro import PHASES
from .figures import Layer, Output, Spread

Floats = NDArray[np.floating]
Bools = NDArray[np.bool_]
Tone = Literal["plain", "dim", "violet"]
"""In which of the theme's colours a word stands: what it is about, what it is not, and all that is a gradient."""
ZERO, FORWARD, LOSS, BACKWARD, GRADIENTS, UPDATE = range(len(PHASES))
"""Places of the phases."""


@dataclass(frozen=True, slots=True)
class Phase:
    """One arrow of the ribbon.

    Attributes
    ----------
    name : str
        Of `PHASES`.
    words, short : str
        The line below it (``"9 products, 3 sums, 3 σ"``), and what stands there where that has no room.
    done, count : int
        How many of its micro-steps were shown, and how many there are.
    """

    name: str
    words: str
    done: int
    count: int
    short: str = ""


class Word(NamedTuple):
    """A piece of a formula.

    Attributes
    ----------
    text : str
    tone : Tone
    bold : bool
    """

    text: str
    tone: Tone = "plain"
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula in letters, and the same with its numbers.

    Attributes
    ----------
    letters : str
        ``"δ · x = g"``.
    numbers : tuple of Word
    """

    letters: str
    numbers: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """What the line below the cubes says of a micro-step.

    Attributes
    ----------
    name, meaning : str
        ``"0.weight[2][2]"``, ``"from b to b"``.
    index : int
        Flat, of the weight that it is about; -1 where it is about none.
    formulas : tuple of Formula
        The first is of now; others are left out where there is no room.
    """

    name: str
    meaning: str = ""
    formulas: tuple[Formula, ...] = ()
    index: int = -1


class Face(NamedTuple):
    """The two lines on a cube: how its number comes about, and the number."""

    above: str
    below: str


@dataclass(frozen=True, slots=True)
class Pulse:
    """Something that runs along a line while a micro-step is shown.

    Attributes
    ----------
    kind : {"product", "sum", "unit", "row", "loss", "delta", "gradient"}
        Along which lines of the picture.
    index : int
        Flat index of the weight, else the row.
    stage : str
        Of which stage.
    back : bool
        Whether it runs backwards, in the colour of gradients.
    """

    kind: str
    index: int
    stage: str = ""
    back: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """One micro-step on the picture.

    Attributes
    ----------
    step : int
        Of the opened step, from 1.
    at, count : int
        Which micro-step it is, from 1, and how many there are.
    phases : tuple of Phase
        All six.
    phase : int
        The place of the current one.
    trial : bool
        Whether it is a trial step with one sample alone; else the real step of the whole batch.
    samples : str
        Whose numbers: ``"this colour"``, ``"mean of 1,024 colours"``.
    frame : Frame
        The numbers of the picture: of the gradient those that have arrived are `computed`.
    quantity : {"weight", "gradient"}
        What the cubes show.
    reached : mapping of str to ndarray of bool
        By stage, which numbers of its row the forward pass has come to.
    deltas : mapping of str to ndarray
        By stage, the loss's derivative by each number of its row; NaN where the backward pass has not come to it.
    targets : ndarray or None
        What the outputs should be, where that is a number for each.
    faces : mapping of int to Face
        By flat index, of the cubes whose number comes about in this phase.
    sentence : Sentence
    pulses : sequence of Pulse
    table : sequence of (str, sequence of str)
        Where the deltas of the outputs come from, row by row; empty for none.
    adding : int
        How many samples a sum of outer products holds so far; 0 where there is none.
    whole : ndarray or None
        The gradient that such a sum comes to.
    loss : float or None
        Of the one sample whose way is drawn, at the weights before the step; None before the loss is there.
    spread : Spread or None
        Of the weight that the line is about.
    outputs : sequence of Output
        Where there are too many for the table, or the target is a class.
    layers : sequence of Layer
        Of a larger net.
    rule : sequence of Formula
        The optimiser's lines for the weight that the line is about, where there are several.
    now : Frame or None
        Where the run stands: what panels show that are of whole steps.
    sample : tuple of ndarray, or None
        Input, output and target of the sample that is just being added up.
    data : tuple of ndarray, or None
        Inputs (N, n_inputs) and targets (N, n_targets) that the step learns from; None where they are not all kept.
    moved : ndarray of bool, or None
        Which weights are at their new values.
    stage : str
        That the micro-step is about; empty for none.
    """

    step: int
    at: int
    count: int
    phases: tuple[Phase, ...]
    phase: int
    trial: bool
    samples: str
    frame: Frame
    quantity: str
    reached: Mapping[str, Bools] = field(default_factory=dict)
    deltas: Mapping[str, Floats] = field(default_factory=dict)
    targets: Floats | None = None
    faces: Mapping[int, Face] = field(default_factory=dict)
    sentence: Sentence = field(default_factory=lambda: Sentence(""))
    pulses: Sequence[Pulse] = ()
    table: Sequence[tuple[str, Sequence[str]]] = ()
    adding: int = 0
    whole: Floats | None = None
    loss: float | None = None
    spread: Spread | None = None
    outputs: Sequence[Output] = ()
    layers: Sequence[Layer] = ()
    rule: Sequence[Formula] = ()
    now: Frame | None = None
    sample: tuple[Floats, Floats, Floats] | None = None
    data: tuple[Floats, Floats] | None = None
    moved: Bools | None = None
    stage: str = ""

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
