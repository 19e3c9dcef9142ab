"""`Drawer`: how one kind of panel is drawn and touched.

A kind is a description, a subclass of this, and their entry in the registry; nothing else knows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from traceback import extract_tb
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import ScalarvizError
from ...run.core.frame import Frame
from ...run.edits import Edit
from ...run.opened.attention import AttentionState
from ...run.panels import Panel
from ...run.source import Moment, Source
from ..cubes.scale import LegendScale
from ..graph.figure import NodeNumbers
from ..ink.boxes import ABOUT, COLUMN, LABEL
from ..ink.overlay import pointer_label
from ..ink.sketch import Box, Sketch
from ..ink.text import measure
from ..ink.theme import Theme
from ..shown.subject import Forecast, Subject
from ..space.arrangement import Blueprint, Project
from ..space.plate import Plate

# ---- `Inner`: an opened step, as far as it has come, for panels that stand beside it.

Floats = NDArray[np.floating]


@dataclass(frozen=True, slots=True, eq=False)
class OpenedStep:
    """What there is of an opened step; the micro-step shown is about `stage` (empty: about none)."""

    frame: Frame  # its numbers so far: gradients that have come are `computed`, moved weights are at their new values
    before: Frame  # where the run stands
    phase: int  # zero, forward, loss, backward, gradients, update: 0 to 5
    deltas: Mapping[str, Floats]  # by stage, the derivative of the loss by each of its numbers; NaN: not there yet
    moved: NDArray[np.bool_]  # (P,), which weights are at their new values
    source: Source
    data: tuple[Floats, Floats]  # inputs and targets that it learns from, a row a sample; no rows where none are kept
    samples: str  # which they are, in words
    trial: bool  # a trial step with one sample alone; else the real step of the whole batch
    reached: Mapping[str, NDArray[np.bool_]]  # by stage, the numbers of its row that the forward pass has come to
    stage: str = ""
    done: frozenset[str] = frozenset()  # modules whose numbers have become what the next one reads
    adding: int = 0  # samples that the gradient of that stage holds so far; 0: all of them
    nodes: Mapping[str, NodeNumbers] = field(default_factory=dict)  # of a formula, as formulas of inputs and weights
    current_node: str = ""  # that of now
    looking: AttentionState | None = None  # of a network whose positions look at each other
    progress: float = 1.0  # how much of its time the micro-step has gone, 0 to 1

    @property
    def added_words(self) -> str:
        """How many samples that gradient holds so far, in words; empty where it is all of them."""
        return f"{self.adding:,} of {len(self.data[0]):,} samples so far" if 0 < self.adding < len(self.data[0]) else ""


P = TypeVar("P", bound=Panel)
Point = tuple[float, float]
Tip = tuple[str, str, Sequence[str]]


@dataclass(slots=True, eq=False)
class Ground:
    """What all drawers of one picture share."""

    subject: Subject  # what is shown; its source is asked and, by a hand, edited
    theme: Theme
    hints: bool = False  # whether there is a hand: a window, which also must not wait for what is dear
    shows_all: bool = False  # whether somebody asked for all that there is; at rest a picture shows its first look
    probes: int = 0  # changes of the subject's probe by a hand: activations from before are of another sample
    choices: int = 0  # how many of them chose a sample that was there already
    # what samples (N, n_inputs) are to become by now; at first they were `plain`
    current_targets: Callable[[ArrayLike, ArrayLike], NDArray[Any]] = lambda samples, plain: np.asarray(plain)
    reread_sample: Callable[[], tuple[ArrayLike, ArrayLike | None]] | None = (
        None  # the sample that is drawn, as it is now
    )
    notes: list[str] = field(default_factory=list)  # lines for the console, to be told and taken out
    ahead: Forecast | None = None  # what the coming steps will be, where that is known
    extent: float | None = None  # V of the colours that weights have as cubes
    pointed: int | None = None  # flat index of the number under the pointer, or of the selected one
    writes: bool = True  # whether the picture writes its words in this frame: those of a panel wait for it
    words_frame: Frame | None = None  # of which frame they are
    words_late: bool = False  # that is another one than the one shown: they are to be written soon
    failures: dict[str, str] = field(default_factory=dict)  # what was said last of functions of the scene that raise
    opened_step: OpenedStep | None = None  # the step that is open

    @property
    def sample(self) -> Floats | None:
        """The sample whose numbers are shown, of a batch the one that is added up; None: those of several, or none."""
        if self.opened_step is None or self.opened_step.trial:
            return self.subject.probe
        rows, adding = self.opened_step.data[0], self.opened_step.adding
        return rows[adding - 1] if len(rows) == 1 or 0 < adding <= len(rows) else None

    @property
    def answered(self) -> bool:
        """Whether what the network says of it may be shown: inside a step only once it is there."""
        last = () if self.opened_step is None else self.subject.stages[-1:]
        return all(
            np.all(self.opened_step.reached.get(stage.name, True)) for stage in last if self.opened_step is not None
        )

    def set_opened_step(self, inner: OpenedStep | None) -> bool:
        """A step is open, or none; whether this is another one of its micro-steps."""
        was, self.opened_step = self.opened_step, inner
        return (was and was.frame) is not (inner and inner.frame)

    def follow(self, frame: Frame, *, writes: bool) -> None:
        """A frame is shown while the picture `writes` its words, or does not."""
        if writes or self.words_frame is None or frame.step < self.words_frame.step:
            self.words_frame = frame
        self.writes, self.words_late = writes, frame is not self.words_frame

    def report_failure(self, name: str, error: Exception) -> str:
        """What a scene's own function raised, in words; the console is told once, and the line."""
        said, (*_, last) = words_of(error), extract_tb(error.__traceback__)
        if self.failures.get(name) != said:
            self.notes.append(f"{name}: {said} ({last.filename}, line {last.lineno})")
        self.failures[name] = said
        return said

    def edit(self, edit: Edit | None) -> None:
        """Do what a hand wants; None: nothing."""
        if edit is not None:
            self.subject.source.edit(edit)

    @property
    def can_teach(self) -> bool:
        """Whether a hand can change what is learnt."""
        return self.hints and self.subject.source.can.edit

    def can_choose(self, count: int | None = None) -> bool:
        """Whether a hand can choose the sample whose way is drawn: one of `count` numbers, or any."""
        probe = self.subject.probe
        fits = probe is not None and count in (None, probe.size)
        return self.hints and fits and self.subject.source.can.predict

    def choose_tips(self, count: int | None = None) -> list[str]:
        """What a tip says of that."""
        return ["click: choose it"] if self.can_choose(count) else []

    def choose(self, sample: ArrayLike, target: ArrayLike | None = None) -> None:
        """Draw the way of another sample."""
        self.choose_by(lambda: (sample, target))

    def choose_by(self, reread: Callable[[], tuple[ArrayLike, ArrayLike | None]]) -> None:
        """The same of what `again()` returns, which is asked anew when what is wanted of samples changes."""
        self.subject.choose(*reread())
        self.reread_sample = reread
        self.probes += 1
        self.choices += 1

    def choose_again(self) -> None:
        """What is wanted of the sample that is drawn may be another thing now; one that was drawn by hand stays."""
        subject = self.subject
        drawn = subject.probe is None or subject.given is None or not np.array_equal(subject.probe, subject.given)
        if self.reread_sample is not None and not drawn:
            subject.choose(*self.reread_sample())
            self.probes += 1


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """A picture in which a panel draws among the cubes, in logical pixels."""

    blueprint: Blueprint | None  # the rooms of a planned one; None while the camera looks from elsewhere
    plates: Mapping[str, Plate]  # by the names of their tensors; rows of activations by those of their stages
    project: Project  # world points (N, 3) to pixels (N, 2)
    window: Box  # what would leave it is left out
    strip: Box  # below the cubes
    turns: bool = False  # whether the rows in `plates` are places that are left to pictures
    reserved: Sequence[Box] = ()  # where something else stands

    def contains(self, box: Box) -> bool:
        """Whether a box is inside the window."""
        (x, y, wide, high), (left, top, width, height) = box, self.window
        return left <= x and top <= y and x + wide <= left + width and y + high <= top + height


class Headline(NamedTuple):
    """A number of a panel that the HUD shows too; `fresh`: it is of the frame that is shown."""

    words: str
    value: str
    fresh: bool = True


class Drawer(Generic[P]):
    """Draws and touches one panel. The base takes no touch; subclasses define what they answer to.

    Points are in logical pixels. ``draw`` is called for a new frame, after a touch that set `stale`, and while
    `moving`.

    Attributes
    ----------
    name : str
        Of the kind.
    height, most : float
        Logical pixels in the column, title included; a kind whose `most` is larger grows up to that.
    least : float
        With so many it can still be read, beside the controls; 0: no fewer than `height`.
    overlay : (float, float)
        Width and height over the scene; a height of 0 is that of the column.
    above : float
        Height above the cubes.
    beside : (float, float) or None
        Width and height beside a stage; None: it cannot stand there.
    wide : bool
        Whether it is read from left to right, and needs width rather than height.
    worth : int
        `ABOUT`: it shows what is learnt, and stands in every picture. Kinds of less stand at rest only where no panel
        is worth more, else when they are asked for. In a narrow picture the highest is kept.
    first : bool
        Whether it is kept before all others.
    needs : tuple of str
        Names of what its source has to be able to (fields of ``Can``); without it a sentence is drawn.
    gestures, choices, lessons : tuple of (str, str)
        Keys and gestures that it answers to, and what they do; choices take another sample whose way is drawn, lessons
        change what is learnt.
    stale : bool
        Set by a touch that changes what is drawn.
    box : Box or None
        Where it stands; None: nowhere.
    within : float
        The least height in which it draws an opened step; 0: it does not.
    spread : float or None
        Its height where it also draws among the cubes of a planned picture and in the strip; None: it cannot.
    setting : Setting or None
        That picture, while it does; of a kind that stands among the cubes also any other.
    carries : bool
        Whether it is the floor that the cubes of a scene stand on: then it has all of the scene, and while they do
        (`borne`) they stand where `stands` says.
    ends : float
        Pixels that it takes at the end of the network, right of the cubes of a wide scene, while it has no place in the
        column; 0: it does not stand there.
    at_end : bool
        Whether it draws there beside its own place, among any cubes.
    turns : bool
        Whether it needs room where units leave a layer: then the flow of small layers turns at each.
    """

    name = "panel"
    height = 120.0
    most = 0.0
    least = 0.0
    overlay: tuple[float, float] = (COLUMN, 0.0)
    above = 300.0
    beside: tuple[float, float] | None = None
    spread: float | None = None
    within = 0.0
    carries = False
    borne = False
    ends = 0.0
    at_end = False
    stands: Point | None = None
    turns = False
    wide = False
    worth = ABOUT
    first = False
    needs: tuple[str, ...] = ()
    gestures: tuple[tuple[str, str], ...] = ()
    choices: tuple[tuple[str, str], ...] = ()
    lessons: tuple[tuple[str, str], ...] = ()

    def __init__(self, panel: P, ground: Ground) -> None:
        self.panel, self.ground = panel, ground
        self.box: Box | None = None
        self.setting: Setting | None = None
        self.stale = True
        self.pointer: Point | None = None

    def keep(self, other: Drawer[Any]) -> None:
        """What a hand has set at the drawer of the panel as it was a moment before."""

    # ---- what it looks like

    def lay_out(self, box: Box) -> None:
        """Work out what depends on place and theme alone; called again when one of them changes."""

    def look(self, moment: Moment, seconds: float | None) -> None:
        """Work out what all its parts need of a moment; called once before them."""

    def around(self, setting: Setting) -> Sequence[Sketch]:
        """What it draws among the cubes, of the moment that it looked at."""
        return ()

    def below(self, strip: Box) -> Sequence[Sketch]:
        """What it draws in the strip."""
        return ()

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """The panel at a moment; `seconds` since the last call of a window, None where every moment is drawn."""
        return ()

    def inside(self, inner: OpenedStep, box: Box) -> Sequence[Sketch]:
        """What it draws of an opened step in its place."""
        return ()

    @property
    def alive(self) -> bool:
        """Whether something of it is to be seen: itself, what it draws among the cubes, or its number in the HUD."""
        return self.box is not None or self.setting is not None or self.measures

    @property
    def measures(self) -> bool:
        """Whether the HUD shows a number of it also while the panel itself has no place."""
        return False

    def measure(self, moment: Moment, seconds: float | None) -> None:
        """Find that number where it is due: instead of `draw` while the panel has no place."""

    @property
    def moving(self) -> bool:
        """Whether it goes on changing while the frame stays."""
        return False

    def beside_cubes(self, width: float, height: float) -> float:
        """Pixels that it takes left of the cubes, of a scene of this size."""
        return 0.0

    @property
    def scale(self) -> LegendScale | None:
        """What the legend of its own colours says, where it needs one beside that of the cubes."""
        return None

    @property
    def headline(self) -> Headline | None:
        """A number that the HUD shows too."""
        return None

    def marks(self) -> Sequence[Sketch]:
        """What lies right over the panel: rings, outlines."""
        return ()

    def label(self, moment: Moment, size: tuple[float, float]) -> Sequence[Sketch]:
        """What stands beside the pointer while it is over the panel, within a picture of `size`."""
        at = self.pointer
        said = None if at is None else self._tip(moment, at)
        return () if at is None or said is None else [pointer_label(at, size, *said, self.ground.theme)]

    def _tip(self, moment: Moment, at: Point) -> Tip | None:
        """What is said of a point: a name, a value, and more lines."""
        return None

    # ---- hands

    def press(self, at: Point, button: str) -> bool:
        """A button went down. True: from now on until the release every movement belongs to this panel."""
        return False

    def drag(self, at: Point, by: Point, button: str) -> bool:
        """The pointer moved `by` with the button held that went down on this panel. False: turn the scene."""
        return False

    def release(self, at: Point) -> None:
        """The button went up after a press that was taken."""

    def click(self, at: Point) -> bool:
        """Pressed and released on one point; returns whether it meant something."""
        return False

    def shift_click(self, at: Point) -> bool:
        """The same while Shift is held: what a mere look must not do, such as to teach."""
        return False

    def double_click(self, at: Point) -> bool:
        """The second click on one point, which comes instead of one; returns whether it meant something."""
        return False

    def zoom(self, at: Point, factor: float) -> bool:
        """The wheel turned over the panel; returns whether that is its own, or else the scene's."""
        return False

    def under(self, at: Point) -> object | None:
        """What there is at a point that a label or a click is about."""
        return None

    def hover(self, at: Point | None) -> bool:
        """The pointer is over the panel (None: no more); returns whether the picture changes.

        `pointer` is where it is, as long as something is under it.
        """
        before, self.pointer = self.pointer, None if at is None or self.under(at) is None else at
        return before != self.pointer

    def covers(self, at: Point) -> bool:
        """Whether a point outside of its box belongs to it."""
        return False

    @property
    def typing(self) -> bool:
        """Whether something is being typed into it: keys are its own first."""
        return False

    @property
    def takes_strip(self) -> bool:
        """Whether what it draws in the strip was used just now: nothing else may stand there."""
        return False

    def end_typing(self) -> None:
        """Something else was clicked: what was typed stays."""

    def key(self, name: str, text: str) -> bool:
        """A key, by its normalised name and what it types, while the pointer is over the panel; whether it is taken."""
        return False

    def take(self, picture: NDArray[np.floating]) -> str | None:
        """A picture, sRGB in 0..1 (H, W, 3), was opened: what was done with it, or why not; None: nothing for it."""
        return None

    def let_go(self) -> bool:
        """Escape: give up what was begun; returns whether there was something."""
        return False

    def fit(self) -> None:
        """As it was at first: what was turned turns back."""


def words_of(error: Exception) -> str:
    """An error in one line; our own say what is wrong without their class."""
    return str(error) if isinstance(error, ScalarvizError) else f"{type(error).__name__}: {error}"


def title_of(sketch: Sketch, box: Box, theme: Theme, title: str, note: str = "") -> None:
    """The line above a panel: bold title, dim note at the right; what does not fit is cut, the note first."""
    x, y, width, _ = box
    shown = cut(title, width, bold=True)
    sketch.text(x, y + 14, shown, LABEL, theme.text1, bold=True)
    if note and measure(shown, LABEL, True) + 12 + measure(note, LABEL) <= width:
        sketch.text(x + width, y + 14, note, LABEL, theme.text3, anchor="right")


def ring_around(at: Point, radius: float, theme: Theme) -> Sketch:
    """A ring around the sample whose way is drawn, above all else."""
    sketch = Sketch(over=True)
    sketch.disc(*at, radius + 1.0, stroke=theme.background, border=4.4)
    sketch.disc(*at, radius, stroke=theme.selection, border=2.2)
    return sketch


def sentence(box: Box, theme: Theme, text: str) -> Sketch:
    """One line in the place of a panel that cannot be drawn."""
    sketch = Sketch()
    x, y, width, height = box
    sketch.rect(x, y, width, min(height, 30.0), stroke=theme.border, radius=6)
    sketch.text(x + 8, y + 20, cut(text, width - 16), LABEL, theme.text2)
    return sketch


def cut(text: str, width: float, size: float = LABEL, *, bold: bool = False) -> str:
    """`text` as far as it fits, with an ellipsis where something is missing."""
    line = " ".join(text.split())
    if measure(line, size, bold) <= width:
        return line
    while line and measure(line + "…", size, bold) > width:
        line = line[:-1]
    return line.rstrip() + "…" if line else ""
