"""`Scene`: the description that a view shows, with its story and options. Data only; no drawing, no training logic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...checks import flag, function, integer, real_array, text
from ...errors import InputError, TypeMismatchError, UnknownNameError, listing, shown
from ..controls import Control, Reader
from ..core.frame import Tensor
from ..edits import Edit
from ..panels import LossCurve, Panel
from ..run import Run
from ..source import Moment

if TYPE_CHECKING:
    from ...io import CsvTable


WIDEST = 400.0
"""Pixels of a room between plates, at most."""


def _check(fits: bool, given: object, wanted: str) -> None:
    """Raise TypeMismatchError unless it fits; `wanted` says what is allowed."""
    if not fits:
        raise TypeMismatchError(f"{wanted}, got {type(given).__name__} {shown(given)}")


def _is_number(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)


def _is_row(given: object, kind: type) -> bool:
    return isinstance(given, tuple | list) and all(isinstance(one, kind) for one in given)


@dataclass(frozen=True, slots=True)
class Placed:
    """One tensor in a plan, by its name (``"0.weight"``), with the title that it has in the picture.

    `turned`: its inputs are drawn downwards, its outputs across, so that its rows are those of a plate beside
    it.
    """

    tensor: str
    title: str
    turned: bool = False

    def __post_init__(self) -> None:
        text(self.tensor, "Placed: the tensor")
        text(self.title, "Placed: the title")
        flag(self.turned, "Placed: turned")


@dataclass(frozen=True, slots=True)
class Room:
    """Room between plates, in which a panel draws; panels find it by `name`.

    `width` is in pixels of the 1280x720 grid, more than 0 and at most `WIDEST`.
    """

    name: str
    width: float

    def __post_init__(self) -> None:
        text(self.name, "Room: the name")
        _check(_is_number(self.width), self.width, "Room: width must be a number of pixels")
        if not 0 < self.width <= WIDEST:
            raise InputError(f"Room: width must be more than 0 and at most {WIDEST:g} pixels, got {shown(self.width)}")


Column = tuple[Placed, ...] | Room


@dataclass(frozen=True, slots=True)
class Group:
    """Plates under one title: columns from left to right.

    A column is a tuple of :class:`Placed`, one below the other, or a :class:`Room`.
    """

    title: str
    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        text(self.title, "Group: the title")
        given: Any = self.columns
        columns = [c for c in given if not isinstance(c, Room)] if isinstance(given, tuple) else []
        fits = bool(columns) and all(c and isinstance(c, tuple) and _is_row(c, Placed) for c in columns)
        wanted = "Group: columns must be a tuple of Rooms and of tuples of Placed, at least one of these, such as "
        _check(fits, given, wanted + '((Placed("0.weight", "first"),),)')

    @property
    def plates(self) -> list[Placed]:
        """All of them, column by column."""
        return [placed for column in self.columns if isinstance(column, tuple) for placed in column]


@dataclass(frozen=True, slots=True)
class Plan:
    """The groups of a network, from left to right; `stream` is said of the line below them, if there is one."""

    groups: tuple[Group, ...]
    stream: str = ""

    def __post_init__(self) -> None:
        given: Any = self.groups
        fits = bool(given) and isinstance(given, tuple) and _is_row(given, Group)
        _check(fits, given, "Plan: groups must be a tuple of at least one Group")
        text(self.stream, "Plan: the stream")
        for what, names in (("tensor", [p.tensor for p in self.plates]), ("room", [r.name for r in self.rooms])):
            twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
            if twice is not None:
                raise InputError(f"Plan: the {what} {shown(twice)} occurs twice; each needs one place")

    @property
    def rooms(self) -> list[Room]:
        """Those that are left to pictures, in order."""
        return [c for group in self.groups for c in group.columns if isinstance(c, Room)]

    @property
    def plates(self) -> list[Placed]:
        """All of them, in order."""
        return [placed for group in self.groups for placed in group.plates]

    def check(self, tensors: Sequence[Tensor]) -> None:
        """Refuse a plan of another network: of unknown tensors, without all of them, or with one that is no matrix."""
        known = {tensor.name: tensor for tensor in tensors if tensor.role != "count"}
        for placed in self.plates:
            if placed.tensor not in known:
                raise UnknownNameError(f"Plan: there is no tensor {shown(placed.tensor)}; allowed: {listing(known)}")
            if len(known[placed.tensor].shape) != 2:
                raise InputError(
                    f"Plan: {placed.tensor} has the shape {known[placed.tensor].shape}; a plan places matrices"
                )
        if left_out := sorted(known.keys() - {placed.tensor for placed in self.plates}):
            raise InputError(f"Plan: {listing(left_out)} are missing; every tensor needs a place")


# ---- `Story`: what will happen, and what has happened


LONGEST = 120
"""Characters of a sentence: it is read within four seconds."""


@dataclass(frozen=True, slots=True)
class Story:
    """The sentence at the start of a scene, and the sentence at its end.

    Attributes
    ----------
    sentence : str
        What the weights learn ("They learn to turn every colour into its opposite."). In the present
        tense, without jargon, on one line of at most 120 characters.
    headline : str
        The line above it; default: the number of weights ("12 weights.").
    claim : callable or None
        ``claim(moment)`` returns a true sentence about that moment, or an empty text.
        The window calls it once, after the last step, if the loss has fallen.
    fall : float
        The share of the first loss by which the loss must have fallen, more than 0 and less than 1.
    reached : callable or None
        ``reached(moment)`` returns whether the goal is reached; default: the loss has fallen.
        With it, the window also shows the claim of a run that has not reached the goal.
    anew : callable or None
        ``anew(moment)`` returns the sentence after a user has changed the points or the network before the
        first step; default: the sentence.
    """

    sentence: str
    headline: str = ""
    claim: Callable[[Moment], str] | None = None
    fall: float = 0.5
    reached: Callable[[Moment], bool] | None = None
    anew: Callable[[Moment], str] | None = None

    def __post_init__(self) -> None:
        for what, words in (("sentence", self.sentence), ("headline", self.headline)):
            text(words, f"Story: {what}")
            if len(words) > LONGEST or len(words.splitlines()) > 1:
                raise InputError(f"Story: {what} has {len(words)} characters; allowed: one line of {LONGEST}")
        if not self.sentence.strip():
            raise InputError("Story: sentence is empty; try 'They learn to invert every colour.'")
        for what, asked in (("claim", self.claim), ("reached", self.reached), ("anew", self.anew)):
            if asked is not None:
                function(asked, f"Story: {what}")
        _check(_is_number(self.fall), self.fall, "Story: fall must be a share of the loss")
        if not 0 < self.fall < 1:
            raise InputError(f"Story: fall must be more than 0 and less than 1, got {shown(self.fall)}; try 0.5")

    def opening(self, weights: int) -> str:
        """The headline above the sentence, for so many weights."""
        return self.headline or weights_text(weights)


def weights_text(count: int) -> str:
    """The sentence ``12 weights.`` of a count."""
    return f"{count:,} weight{'' if count == 1 else 's'}."


def plain_story(run: Run) -> Story:
    """What can be said of any run."""
    samples: Any = run._problem.data.shape[1]
    they = "It" if run.n_weights == 1 else "They"
    return Story(f"{they} should learn {samples:,} example{'' if samples == 1 else 's'}.")


# ---- `Scene`: the description that a view shows. Data only; no drawing, no training logic


Float = NDArray[np.floating]

SIDES = (160, 8192)
"""Fewest and most pixels of a picture's side: less shows nothing, a framebuffer holds no more."""


@dataclass(frozen=True, slots=True)
class OwnFlags:
    """What a scene alone knows of its flags at a moment.

    Attributes
    ----------
    flags : callable
        ``flags(reader)``: values of options by their names, None for one that is left out. None in the place of all:
        the moment has no line.
    lost : callable
        ``lost(reader)``: what no flag says, as phrases.
    edits : tuple of type
        Kinds of edits that these flags say if they were done before the first step.
    """

    flags: Callable[[Reader], Mapping[str, Any] | None]
    lost: Callable[[Reader], Iterable[str]] = lambda reader: ()
    edits: tuple[type[Edit], ...] = ()


@dataclass(slots=True)
class Scene:
    """Data + network + loss + optimiser (all in `run`) + what to show.

    Attributes
    ----------
    name : str
        As on the command line.
    run : Run
        What trains.
    probe, probe_target : ndarray or None
        The one sample whose way through the network is drawn, and its target, shapes (n_in,) and (n_targets,).
        Without a probe it is the first sample of the data, with its target.
    input_names, output_names : tuple of str
        One name an input (``("r", "g", "b")``), one an output.
    panels : sequence of Panel
        All that stands beside the cubes, from top to bottom (:mod:`scalarviz.run.panels`). Default: the loss curve.
    notes : list of str
        Lines for the console.
    story : Story or None
        What is said before the first step and after the last one. Default: how many weights should learn how much.
    plan : Plan or None
        Where the tensors stand (:mod:`scalarviz.run.scene.scene`). Default: what the network's stages say.
    controls : sequence of Control
        What a hand may set beside what every run has (:mod:`scalarviz.run.controls`), from top to bottom.
    command : callable or None
        ``command(reader)``: the command line that shows the same as the moment does; None or an empty text: there is
        none. A scene that is loaded by its name or its path has one by itself.
    table : callable or None
        ``table(table)``: the edit that lets the run learn a :class:`scalarviz.io.CsvTable` that was pasted into the
        window or dropped on it; raises InputError for one that will not do. None: it takes none.
    hide : tuple of str
        Controls that are left out of the panel, by their names ("learning rate", "layers", "seed").
    options : object or None
        What it was built with; controls and command find it as ``reader.options``.
    whole_loss : bool
        The loss that is told is that of all samples at the numbers shown: the one of a small batch says little of the
        others. For data that are small.
    steps_a_frame : int or None
        Steps of each frame of a window or film after the first two seconds, which have one. Default: as many as let
        the most be seen in the time that there is.
    own_flags : OwnFlags or None
        What ``command`` says of data that change live, which only the scene knows.

    Raises
    ------
    TypeMismatchError, InputError
        A field is of another kind, or two controls have one name.
    UnknownNameError
        The plan names a tensor which the run has not.
    """

    name: str
    run: Run
    probe: Float | None = None
    probe_target: Float | None = None
    input_names: tuple[str, ...] = ()
    output_names: tuple[str, ...] = ()
    panels: tuple[Panel, ...] = (LossCurve(),)
    notes: list[str] = field(default_factory=list)
    story: Story | None = None
    plan: Plan | None = None
    controls: tuple[Control, ...] = ()
    command: Callable[[Reader], str | None] | None = None
    hide: tuple[str, ...] = ()
    table: Callable[[CsvTable], Edit] | None = None
    options: Any = None
    whole_loss: bool = False
    steps_a_frame: int | None = None
    own_flags: OwnFlags | None = None

    def __post_init__(self) -> None:
        text(self.name, "Scene: name")
        _check(isinstance(self.run, Run), self.run, "Scene: run must be a Run")
        for what in ("input_names", "output_names", "hide"):
            _check(_is_row(getattr(self, what), str), getattr(self, what), f"Scene: {what} must be a tuple of texts")
        for what, row in (("probe", self.probe), ("probe_target", self.probe_target)):
            if row is not None:
                real_array(row, f"Scene: {what}")
        kinds = "a tuple of panels, kinds of scalarviz.run.panels (LossCurve, Image, Table, ...) or subclasses of Panel"
        _check(
            _is_row(self.panels, Panel), self.panels, f"Scene: panels must be {kinds}, such as panels=(LossCurve(...),)"
        )
        self.panels = tuple(self.panels)
        sentence, plates = 'Story("They learn ...")', 'Plan((Group("layer", ((Placed("0.weight", "first"),),)),))'
        for what, kind, example in (("story", Story, sentence), ("plan", Plan, plates), ("own_flags", OwnFlags, "...")):
            given = getattr(self, what)
            wanted = f"Scene: {what} must be a {kind.__name__} or None, such as scalarviz.run.{example}"
            _check(given is None or isinstance(given, kind), given, wanted)
        if self.plan is not None:
            self.plan.check(self.run.tensors)
        wanted = "Scene: controls must be a tuple of Button, Slider, Segments and Switch of scalarviz.run.controls"
        _check(_is_row(self.controls, Control), self.controls, wanted)
        self.controls = tuple(self.controls)
        labels = [one.label for one in self.controls]
        twice = next((label for k, label in enumerate(labels) if label in labels[:k]), None)
        if twice is not None:
            raise InputError(f"Scene: two controls are called {shown(twice)}; each needs its own label")
        for what, called in (("command", self.command), ("table", self.table)):
            if called is not None:
                function(called, f"Scene: {what}")
        flag(self.whole_loss, "Scene: whole_loss")
        if self.steps_a_frame is not None:
            integer("Scene: steps_a_frame", self.steps_a_frame, 1)

    @property
    def told(self) -> Story:
        """Its story, or what can be said of any run."""
        return self.story or plain_story(self.run)


# ---- What is said of a scene's options: how a field of their pydantic model is called


def extra_of(field: Any) -> dict[str, Any]:
    """What a field says of itself beyond what pydantic knows."""
    return field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}


def flag_of(name: str, field: Any) -> str:
    """How a field is called on the command line."""
    extra = extra_of(field)
    if extra.get("argument"):
        return name.upper()
    return str(extra.get("flag", "--" + name.replace("_", "-")))


def sentence(model: Any, error: Any) -> str:
    """One line for the first thing that is wrong, of a pydantic model and its ValidationError."""
    first = error.errors()[0]
    name = str(first["loc"][0]) if first["loc"] else ""
    flag = flag_of(name, model.model_fields[name]) + ": " if name in model.model_fields else ""
    said = first["msg"].removeprefix("Value error, ")
    if first["type"] == "missing":
        what = model.model_fields[name].description if name in model.model_fields else ""
        return f"{flag}got no value" + (f"; expected: {what}" if what else "")
    if first["type"] == "value_error":  # one of our own: it names what it got
        return flag + str(said)
    return f"{flag}{said[:1].lower()}{said[1:]}, got {shown(first['input'])}"
