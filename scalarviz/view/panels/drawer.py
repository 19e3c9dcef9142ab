"""`Drawer`: how one kind of panel is drawn and touched; and the words beside a number about its samples and its moment.

A kind consists of a description, a subclass of this, and their entry in the registry; nothing else knows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from traceback import extract_tb
from types import MappingProxyType
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import ScalarvizError
from ...run.core.frame import UPDATES, Frame
from ...run.edits import Edit
from ...run.opened.attention import AttentionState
from ...run.panels import Panel
from ...run.source import Moment, Source
from ..cubes.scale import QUANTITIES, LegendScale
from ..graph.figure import NodeNumbers
from ..ink.boxes import ABOUT, COLUMN, LABEL
from ..ink.sketch import Bound, Box, Sketch
from ..ink.text import loss_text, measure
from ..ink.theme import Theme
from ..ink.widgets import pointer_label
from ..shown.subject import Forecast, Subject
from ..space.arrangement import Blueprint, Plate, Project

# ---- `OpenedStep`: the numbers of an opened step so far, for panels beside it.

Floats = NDArray[np.floating]


@dataclass(frozen=True, slots=True, eq=False)
class OpenedStep:
    """The numbers of an opened step; the current micro-step is about `stage` (empty: about none)."""

    frame: Frame  # its numbers so far: known gradients are `computed`, moved weights have their new values
    before: Frame  # the run's present frame
    phase: int  # zero, forward, loss, backward, gradients, update: 0 to 5
    deltas: Mapping[str, Floats]  # by stage, loss gradient of each number; NaN: not computed
    moved: NDArray[np.bool_]  # (P,), which weights have their new values
    source: Source
    data: tuple[Floats, Floats]  # training inputs and targets, one row per sample; no rows if none are stored
    samples: str  # these samples in words
    trial: bool  # a trial step with one sample alone; else the real step of the whole batch
    reached: Mapping[str, NDArray[np.bool_]]  # by stage, the numbers that the forward pass has computed
    stage: str = ""
    done: frozenset[str] = frozenset()  # modules whose numbers have become what the next one reads
    adding: int = 0  # samples in the gradient of that stage so far; 0: all
    nodes: Mapping[str, NodeNumbers] = field(default_factory=dict)  # of a formula, by their formulas
    current_node: str = ""  # the current one
    looking: AttentionState | None = None  # of a network with attention
    progress: float = 1.0  # elapsed share of the micro-step's time, 0 to 1

    @property
    def added_words(self) -> str:
        """Return how many samples the gradient holds so far, in words; empty if it holds all."""
        return f"{self.adding:,} of {len(self.data[0]):,} samples so far" if 0 < self.adding < len(self.data[0]) else ""


P = TypeVar("P", bound=Panel)
Point = tuple[float, float]
Tip = tuple[str, str, Sequence[str]]


@dataclass(slots=True, eq=False)
class SharedState:
    """State that all drawers of one picture share."""

    subject: Subject  # the subject; users edit its source
    theme: Theme
    hints: bool = False  # whether a user is there: a window, which must not wait for costly work
    shows_all: bool = False  # whether all panels are asked for; default: the first look
    probes: int = 0  # number of changes of the probe by the user: earlier activations are of another sample
    choices: int = 0  # how many of these chose an existing sample
    # the present targets of samples (N, n_inputs), given their first targets `plain`
    current_targets: Callable[[ArrayLike, ArrayLike], NDArray[Any]] = lambda samples, plain: np.asarray(plain)
    reread_sample: Callable[[], tuple[ArrayLike, ArrayLike | None]] | None = None  # the probe and its present target
    notes: list[str] = field(default_factory=list)  # lines for the console, removed once they are printed
    ahead: Forecast | None = None  # forecast of the coming steps, if known
    extent: float | None = None  # V of the colours of the weights' cubes
    pointed: int | None = None  # flat index of the number under the pointer, or of the selected one
    writes: bool = True  # whether the picture writes its words in this frame; panels write theirs then
    words_frame: Frame | None = None  # the frame of the words
    words_late: bool = False  # the words are of another frame than the one shown
    failures: dict[str, str] = field(default_factory=dict)  # last error of each function of the scene
    opened_step: OpenedStep | None = None  # the step that is open

    @property
    def sample(self) -> Floats | None:
        """The sample whose numbers are shown: the probe, or the one being added. None: several, or none."""
        if self.opened_step is None or self.opened_step.trial:
            return self.subject.probe
        rows, adding = self.opened_step.data[0], self.opened_step.adding
        return rows[adding - 1] if len(rows) == 1 or 0 < adding <= len(rows) else None

    @property
    def answered(self) -> bool:
        """True if the network's output may be shown; inside a step only after it was computed."""
        step, last = self.opened_step, self.subject.stages[-1:]
        return step is None or all(np.all(step.reached.get(stage.name, True)) for stage in last)

    def set_opened_step(self, inner: OpenedStep | None) -> bool:
        """Set the opened step, or None; return whether its micro-step changed."""
        was, self.opened_step = self.opened_step, inner
        return (was and was.frame) is not (inner and inner.frame)

    def follow(self, frame: Frame, *, writes: bool) -> None:
        """Take over a frame; `writes`: the picture writes its words for it."""
        if writes or self.words_frame is None or frame.step < self.words_frame.step:
            self.words_frame = frame
        self.writes, self.words_late = writes, frame is not self.words_frame

    def report_failure(self, name: str, error: Exception) -> str:
        """Return the error of a scene's own function in words; a new one also goes to the console, with its line."""
        said, (*_, last) = words_of(error), extract_tb(error.__traceback__)
        if self.failures.get(name) != said:
            self.notes.append(f"{name}: {said} ({last.filename}, line {last.lineno})")
        self.failures[name] = said
        return said

    def edit(self, edit: Edit | None) -> None:
        """Make the edit that a user asked for; None: nothing."""
        if edit is not None:
            self.subject.source.edit(edit)

    @property
    def can_teach(self) -> bool:
        """True if the user can change the training data."""
        return self.hints and self.subject.source.can.edit

    def can_choose(self, count: int | None = None) -> bool:
        """Return whether the user can choose another probe sample: one of `count` numbers, or any."""
        probe = self.subject.probe
        fits = probe is not None and count in (None, probe.size)
        return self.hints and fits and self.subject.source.can.predict

    def choose_tips(self, count: int | None = None) -> list[str]:
        """Return the line about choosing a sample for a tip."""
        return ["click: choose it"] if self.can_choose(count) else []

    def choose(self, sample: ArrayLike, target: ArrayLike | None = None) -> None:
        """Make another sample the probe sample."""
        self.choose_by(lambda: (sample, target))

    def choose_by(self, reread: Callable[[], tuple[ArrayLike, ArrayLike | None]]) -> None:
        """Choose the sample and target that `reread()` returns; it is called again when the targets change."""
        self.subject.choose(*reread())
        self.reread_sample = reread
        self.probes += 1
        self.choices += 1

    def choose_again(self) -> None:
        """Read the target of the probe sample again after a change of targets; a sample drawn by hand stays."""
        subject = self.subject
        drawn = subject.probe is None or subject.given is None or not np.array_equal(subject.probe, subject.given)
        if self.reread_sample is not None and not drawn:
            subject.choose(*self.reread_sample())
            self.probes += 1


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """The picture in which a panel draws among the cubes, in logical pixels."""

    blueprint: Blueprint | None  # rooms of a planned picture; None while the camera has moved
    plates: Mapping[str, Plate]  # by name of tensor; rows of activations by name of stage
    project: Project  # world points (N, 3) to pixels (N, 2)
    window: Box  # what does not fit in it is left out
    strip: Box  # below the cubes
    turns: bool = False  # whether the rows in `plates` are places for pictures
    reserved: Sequence[Box] = ()  # boxes of other parts

    def contains(self, box: Box) -> bool:
        """Return whether a box is inside the window."""
        (x, y, wide, high), (left, top, width, height) = box, self.window
        return left <= x and top <= y and x + wide <= left + width and y + high <= top + height


class Headline(NamedTuple):
    """A panel's number that the HUD shows too; `fresh`: it is of the frame that is shown."""

    words: str
    value: str
    fresh: bool = True


class Ground(NamedTuple):
    """A plane whose samples are a place, then constants, and have one of two targets: a page can add others."""

    across: Point  # both ends
    up: Point
    says: tuple[str, str]  # of both targets
    inks: Mapping[str, Sequence[str]]  # of their discs, by theme
    rest: Sequence[float]  # inputs after the place


class Canvas(NamedTuple):
    """Pictures of a network's colours, of the target, and of the error, which a page does not compute."""

    size: tuple[int, int]  # rows and columns of the target, whose pixels are the samples: a page takes other colours
    stale: Sequence[str]  # words that only the recorded step has


class Piles(NamedTuple):
    """Columns of pictures, one for each output; those read rightly are lowest."""

    labels: list[int]
    tile: list[float]  # width and height of a picture that is alone in its row
    columns: tuple[float, float]  # x of the first one's middle, and from one to the next
    bottom: float
    packings: list[tuple[int, float, float]]  # by count: pictures side by side, their widths, and from row to row
    words: str  # behind the number of those read wrongly


class Level(NamedTuple):
    """A plot of losses over a span of a weight."""

    box: Box
    across: tuple[float, float]
    up: tuple[float, float]
    stays: Sequence[Any]  # records of its title and its axes


class Slot(NamedTuple):
    """The part of a panel that shows what the network makes of `inputs`, for a page that trains.

    The outputs are colours; or one of them has its colour in a table from `low` to `high`, for each theme. Of a curve,
    the last inputs are those of samples. Texts are numbers of samples: output, output - target, loss. Losses over a
    weight are those of all samples together, which have their targets. Numbers are those of the frame.
    """

    kind: Literal["image", "points", "curve", "text", "sprites", "losses", "numbers"]  # of the records of its list
    number: int  # of the record among those; of texts, minus how many they are: the last ones; of losses, the weight's
    inputs: NDArray[Any]  # (N, n_inputs): pixels row by row, or discs; of texts, samples with their targets
    size: tuple[int, int] = (0, 0)  # rows and columns of an image
    output: int = -1  # -1: all are colours
    span: tuple[float, float] = (0.0, 1.0)
    tables: Mapping[str, NDArray[np.uint8]] = MappingProxyType({})  # (K, 3) by theme
    line: Sequence[Sequence[Any]] = ()  # where an output is in the middle of its span: colours and widths, lowest first
    whole: bool = True  # whether all of the panel follows from its inputs, so that a page can paint recorded steps, too
    box: Box = (0.0, 0.0, 0.0, 0.0)  # of a curve, whose heights are the `span`
    share: float = 1.0  # from the sum of all samples' losses to the loss
    levels: Sequence[Level] = ()  # of losses over a weight, each twice as wide as the one before
    # records with bound numbers: what moves along losses; of numbers those after a step, after a change of a weight and
    # before any step
    lists: Sequence[Sequence[Any]] = ()
    spots: Sequence[float] = ()  # x and y of the samples with a line to the curve
    canvas: Canvas | None = None
    piles: Piles | None = None  # of sprites, which stand in the column of their largest output
    ground: Ground | None = None  # of a map, whose first "cells" are the samples; the targets are the `span`


class Drawer(Generic[P]):
    """Draws one panel and handles its input. The base handles none; subclasses override the methods they need.

    Points are in logical pixels. ``draw`` is called for a new frame, after input that set `stale`, and while `moving`.

    Attributes
    ----------
    name : str
        Name of the kind.
    height, most : float
        Logical pixels in the column, title included; a panel with a larger `most` grows up to that.
    least : float
        Least readable height beside the controls; 0: `height`.
    overlay : (float, float)
        Width and height over the scene; a height of 0 is that of the column.
    above, least_across : float
        Height above the cubes, and the least width of a scene for it.
    beside : (float, float) or None
        Width and height beside a stage; None: it cannot be there.
    aspect, narrowest : float
        Width / height, and least width, of a picture that is scaled as a whole; 0: the panel fills its box.
    frame : (float, float)
        Heights of the words above and below its picture; a tile shows only the picture.
    wide : bool
        Whether it is read from left to right, and needs width rather than height.
    worth : int
        `ABOUT`: it shows what is learnt, and is in every picture. Kinds of less worth appear only if no panel is worth
        more, or on request. A narrow picture keeps the highest.
    first : bool
        Whether it is kept before all others.
    needs : tuple of str
        Abilities that its source must have (fields of ``Abilities``); without them a sentence is drawn.
    gestures, choices, lessons : tuple of (str, str)
        Keys and gestures with their actions; choices change the probe sample, lessons change the training data.
    stale : bool
        Set by input that changes the drawing.
    box : Box or None
        Its box; None: it is not shown.
    within : float
        Least height in which it draws an opened step; 0: it does not.
    spread : float or None
        Its height if it also draws among the cubes of a planned picture and in the strip; None: it cannot.
    setting : Setting or None
        That picture, while it draws there; for a kind among the cubes, any picture.
    ends : (float, float) or None
        Width and height at the end of the network, right of the cubes of a wide scene, instead of in the column; it
        then also draws among the cubes. None: it cannot be there.
    turns : bool
        Whether it needs room at the output of each layer; then the flow of small layers turns at each.
    """

    name = "panel"
    height = 120.0
    most = 0.0
    least = 0.0
    aspect, narrowest = 0.0, 0.0
    overlay: tuple[float, float] = (COLUMN, 0.0)
    above, least_across = 300.0, 0.0
    beside: tuple[float, float] | None = None
    frame: tuple[float, float] = (0.0, 0.0)
    spread: float | None = None
    within = 0.0
    ends: tuple[float, float] | None = None
    turns = False
    wide = False
    worth = ABOUT
    first = False
    needs: tuple[str, ...] = ()
    gestures: tuple[tuple[str, str], ...] = ()
    choices: tuple[tuple[str, str], ...] = ()
    lessons: tuple[tuple[str, str], ...] = ()

    def __init__(self, panel: P, shared: SharedState) -> None:
        self.panel, self.shared = panel, shared
        self.box: Box | None = None
        self.setting: Setting | None = None
        self.stale = True
        self.pointer: Point | None = None

    def keep(self, other: Drawer[Any]) -> None:
        """Take over the user's settings from the former drawer of this panel."""

    # ---- drawing

    def lay_out(self, box: Box) -> None:
        """Prepare everything that depends on place and theme; called again when one of them changes."""

    def look(self, moment: Moment, seconds: float | None) -> None:
        """Prepare what all parts need of a moment; called once before them."""

    def around(self, setting: Setting) -> Sequence[Sketch]:
        """Return the sketches among the cubes, for the moment of the last `look`."""
        return ()

    def below(self, strip: Box) -> Sequence[Sketch]:
        """Return the sketches in the strip."""
        return ()

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """Return the panel at a moment. `seconds`: time since the last call in a window; None: each moment is drawn."""
        return ()

    def slot(self) -> Slot | None:
        """Return the part that a page which trains can paint; None if there is none."""
        return None

    def inside(self, inner: OpenedStep, box: Box) -> Sequence[Sketch]:
        """Return the panel for an opened step."""
        return ()

    @property
    def alive(self) -> bool:
        """True if the panel, its sketches among the cubes, or its number in the HUD is visible."""
        return self.box is not None or self.setting is not None or self.measures

    @property
    def measures(self) -> bool:
        """True if the HUD shows the panel's number even while the panel has no place."""
        return False

    def measure(self, moment: Moment, seconds: float | None) -> None:
        """Compute that number if it is due; called instead of `draw` while the panel has no place."""

    @property
    def moving(self) -> bool:
        """True if the panel keeps changing while the frame stays."""
        return False

    def beside_cubes(self, width: float, height: float) -> float:
        """Return the pixels that it needs left of the cubes in a scene of this size."""
        return 0.0

    @property
    def scale(self) -> LegendScale | None:
        """The legend of its own colours, if they need one beside that of the cubes."""
        return None

    @property
    def headline(self) -> Headline | None:
        """The panel's number for the HUD, or None."""
        return None

    def marks(self) -> Sequence[Sketch]:
        """Return sketches directly over the panel: rings, outlines."""
        return ()

    def label(self, moment: Moment, size: tuple[float, float]) -> Sequence[Sketch]:
        """Return the label beside the pointer, within a picture of `size`."""
        at = self.pointer
        said = None if at is None else self._tip(moment, at)
        return () if at is None or said is None else [pointer_label(at, size, *said, self.shared.theme)]

    def _tip(self, moment: Moment, at: Point) -> Tip | None:
        """Return the label's texts for a point: name, value and further lines; None for no label."""
        return None

    # ---- input

    def press(self, at: Point, button: str) -> bool:
        """A mouse button was pressed. True: this panel gets every movement until the release."""
        return False

    def drag(self, at: Point, by: Point, button: str) -> bool:
        """The pointer moved `by` with the button pressed on this panel. False: turn the scene."""
        return False

    def release(self, at: Point) -> None:
        """The button was released after a press that the panel took."""

    def click(self, at: Point) -> bool:
        """Handle a press and release at one point; return whether it had an effect."""
        return False

    def shift_click(self, at: Point) -> bool:
        """Handle a click with Shift, which may change the training data; return whether it had an effect."""
        return False

    def double_click(self, at: Point) -> bool:
        """Handle the second of two clicks at one point; return whether it had an effect."""
        return False

    def zoom(self, at: Point, factor: float) -> bool:
        """Handle the wheel over the panel; return False to zoom the scene."""
        return False

    def under(self, at: Point) -> object | None:
        """Return the part at a point that a label or a click refers to, or None."""
        return None

    def hover(self, at: Point | None) -> bool:
        """Put the pointer over the panel (None: gone); return whether the picture changes.

        `pointer` is its position while it is over a part.
        """
        before, self.pointer = self.pointer, None if at is None or self.under(at) is None else at
        return before != self.pointer

    def covers(self, at: Point) -> bool:
        """Return whether a point outside of its box belongs to it."""
        return False

    @property
    def typing(self) -> bool:
        """True while the user types text into the panel; it gets keys first then."""
        return False

    @property
    def takes_strip(self) -> bool:
        """True if the panel needs the whole strip because the user just used its part there."""
        return False

    def end_typing(self) -> None:
        """End typing after a click elsewhere; the text stays."""

    def key(self, name: str, text: str) -> bool:
        """Handle a key, by normalised name and typed text, with the pointer over the panel; return if it is taken."""
        return False

    def take(self, picture: NDArray[np.floating]) -> str | None:
        """Take an opened picture, sRGB in 0..1 (H, W, 3); return what was done, or why not. None: takes no pictures."""
        return None

    def let_go(self) -> bool:
        """Handle Escape: give up what was begun; return whether there was something."""
        return False

    def fit(self) -> None:
        """Return to the initial view."""


def words_of(error: BaseException) -> str:
    """Return an error in one line, without the class for errors of this library."""
    return str(error) if isinstance(error, ScalarvizError) else f"{type(error).__name__}: {error}"


def title_of(
    sketch: Sketch, box: Box, theme: Theme, title: str, note: str = "", bound: Bound | None = None
) -> None:  # fmt: skip
    """Draw the line above a panel: bold title, dim note at the right; the note is dropped before the title is cut."""
    x, y, width, _ = box
    shown = cut(title, width, bold=True)
    sketch.text(x, y + 14, shown, LABEL, theme.text1, bold=True)
    if note and measure(shown, LABEL, True) + 12 + measure(note, LABEL) <= width:
        sketch.text(x + width, y + 14, note, LABEL, theme.text3, anchor="right", bound=bound)


def ring_around(at: Point, radius: float, theme: Theme) -> Sketch:
    """Return a ring around the probe sample, above everything."""
    sketch = Sketch(over=True)
    sketch.disc(*at, radius + 1.0, stroke=theme.background, border=4.4)
    sketch.disc(*at, radius, stroke=theme.selection, border=2.2)
    return sketch


def sentence(box: Box, theme: Theme, text: str) -> Sketch:
    """Return one line in the place of a panel that cannot be drawn."""
    sketch = Sketch()
    x, y, width, height = box
    sketch.rect(x, y, width, min(height, 30.0), stroke=theme.border, radius=6)
    sketch.text(x + 8, y + 20, cut(text, width - 16), LABEL, theme.text2)
    return sketch


def cut(text: str, width: float, size: float = LABEL, *, bold: bool = False) -> str:
    """Return `text` shortened to the width, with an ellipsis if something is missing."""
    line = " ".join(text.split())
    if measure(line, size, bold) <= width:
        return line
    while line and measure(line + "…", size, bold) > width:
        line = line[:-1]
    return line.rstrip() + "…" if line else ""


# ---- Words beside a number about its samples and its moment.
#
# The chips of a picture show one sample, its cubes a gradient of many; and after a change by hand the loss and the
# gradient are still those of the earlier numbers. These words say so.

BEFORE = "before the change"
"""Words for a loss, gradient or update of weights or data before a change by hand."""


def test_loss(loss: float) -> tuple[str, str]:
    """Return the label and the text of a test loss."""
    return "test loss", loss_text(loss)


def test_share(share: float) -> tuple[str, str]:
    """Return the label and the text of a test accuracy."""
    return "test accuracy", f"{100 * share:.1f} %"


def noun(subject: Subject, count: int = 1) -> str:
    """Return the word for `count` samples: ``colour`` or ``sample``."""
    return ("colour" if subject.sample.colours else "sample") + ("s" if count != 1 else "")


@dataclass(frozen=True, slots=True)
class Batch:
    """The samples of a gradient and a loss."""

    kind: str  # reduction over the samples: mean or sum
    count: int
    samples: str  # ``1,024 colours``, ``all 64 samples``, ``one colour``

    def __str__(self) -> str:
        return f"of {self.samples}" if self.count == 1 else f"{self.kind} of {self.samples}"


def batch_of(subject: Subject) -> Batch | None:
    """Return the batch of a subject, or None without training."""
    facts = subject.source.facts
    if facts is None:
        return None
    count, name = facts.batch_size, noun(subject, facts.batch_size)
    whole = "all " if facts.whole else ""
    return Batch(facts.reduction, count, f"{whole}{count:,} {name}" if count > 1 else f"one {name}")


def loss_words(subject: Subject, frame: Frame) -> str:
    """Return the samples of a frame's loss (:meth:`Subject.loss`), or its moment if that is another one."""
    facts, now = subject.source.facts, frame.settings
    if facts is None or not (frame.step or frame.coming is not None or frame.shown_loss is not None):
        return BEFORE if frame.edited and frame.loss == frame.loss else ""
    if frame.coming is None and frame.shown_loss is None:
        return f"before step {frame.step:,}"
    batch = facts.batch_size if now is None else now.batch_size
    return facts.loss_of(subject.whole_loss, noun(subject), batch)


def coming_words(subject: Subject, frame: Frame) -> str:
    """Return the samples of single steps' losses if they differ from those of the loss shown, else ""."""
    facts = subject.source.facts
    batch = 0 if facts is None else facts.batch_size if frame.settings is None else frame.settings.batch_size
    other = facts is not None and subject.whole_loss and batch < facts.samples
    return facts.loss_of(False, noun(subject), batch) if other and facts is not None else ""


def gradient_words(subject: Subject, frame: Frame) -> str:
    """Return the remark on the gradients of a frame."""
    batch = batch_of(subject)
    if batch is None or not frame.computed.any():
        return ""
    moment = "next step" if frame.step == 0 else BEFORE if frame.edited else ""
    return ", ".join(filter(None, (str(batch), moment)))


def quantity_words(quantity: str, subject: Subject, frame: Frame) -> str:
    """Return the remark on the quantity of the cubes; empty for weights, which are always current."""
    if quantity in ("gradient", "|gradient|"):
        return gradient_words(subject, frame)
    if quantity not in QUANTITIES and quantity not in subject.source.moments:
        return "not stored by this optimiser"
    if quantity not in UPDATES or not frame.known(quantity).any():
        return ""
    return f"over the last {frame.together:,} steps" if frame.together > 1 else BEFORE if frame.edited else ""


def update_names(frame: Frame) -> tuple[str, ...]:
    """Return labels of an update, the longest first."""
    return ("last update",) if frame.together == 1 else (f"last {frame.together:,} updates", "last updates")


def newest_beyond(frame: Frame) -> int:
    """Return the newest step if a frame is of the past, else 0."""
    past = frame.past
    return past.newest if past is not None and frame.step < past.newest else 0


def time_jumped(old: Frame | None, new: Frame) -> bool:
    """Return whether two frames are not simply successive: one is of the past, or of another branch."""
    if old is None or old is new or old.past is None or new.past is None:
        return False
    lines = [next((b.number for b in frame.past.branches if b.current), None) for frame in (old, new) if frame.past]
    return lines[0] != lines[1] or (old.step != new.step and (newest_beyond(old) > 0 or newest_beyond(new) > 0))


def changed_by_hand(old: Frame | None, new: Frame) -> bool:
    """Return whether an edit or another sample separates two frames of one step; then text changes at once."""
    if old is None or old is new:
        return False
    if not np.array_equal(old.activations.get("input", ()), new.activations.get("input", ()), equal_nan=True):
        return True
    if old.step != new.step:
        return False
    told = (old.edited, old.next_lr) != (new.edited, new.next_lr)
    return told or not np.array_equal(old.values, new.values, equal_nan=True)
