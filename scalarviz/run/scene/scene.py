"""`Scene`: the description that a view shows, with its story and options. Data only; no drawing, no training logic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...checks import flag, function, integer, real_array, text
from ...errors import InputError, TypeMismatchError, UnknownNameError, listing, shown, typed
from ...io import CsvTable
from ..controls import Control, Reader
from ..core.tensors import Tensor
from ..edits import Edit
from ..panels import LossCurve, Panel
from ..run import Run
from ..source import Float, Moment

WIDEST = 400.0
"""Largest width of a room between plates, in pixels."""


def _check(fits: bool, given: object, wanted: str) -> None:
    """Raise TypeMismatchError unless `fits`; `wanted` says what is allowed."""
    if not fits:
        raise TypeMismatchError(f"{wanted}, got {typed(given)}")


def _is_number(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)


def _is_row(given: object, kind: type) -> bool:
    return isinstance(given, tuple | list) and all(isinstance(one, kind) for one in given)


@dataclass(frozen=True, slots=True)
class Placed:
    """The place of one tensor in a plan: its name (``"0.weight"``) and its title in the picture.

    With `turned`, inputs run downwards and outputs across, so that its rows line up with those of a plate beside it.
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
    """An empty space between plates in which a panel draws; panels find it by `name`.

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
        """All plates, column by column."""
        return [placed for column in self.columns if isinstance(column, tuple) for placed in column]


@dataclass(frozen=True, slots=True)
class Plan:
    """The groups of a network, from left to right; `stream` labels the line below them, if there is one."""

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
        """The rooms for panels, in order."""
        return [c for group in self.groups for c in group.columns if isinstance(c, Room)]

    @property
    def plates(self) -> list[Placed]:
        """All plates, in order."""
        return [placed for group in self.groups for placed in group.plates]

    def check(self, tensors: Sequence[Tensor]) -> None:
        """Check that the plan has every tensor of the network and no other, and only matrices; raise otherwise."""
        known = {tensor.name: tensor for tensor in tensors if tensor.role != "count"}
        for placed in self.plates:
            if placed.tensor not in known:
                raise UnknownNameError(f"Plan: there is no tensor {shown(placed.tensor)}; allowed: {listing(known)}")
            if len(known[placed.tensor].shape) != 2:
                raise InputError(
                    f"Plan: {placed.tensor} has the shape {known[placed.tensor].shape}; a plan places matrices"
                )
        if left_out := sorted(known.keys() - {placed.tensor for placed in self.plates}):
            raise InputError(f"Plan: missing {listing(left_out)}; every tensor needs a place")


# ---- `Story`: the sentences before the first step and after the last one


LONGEST = 120
"""Most characters of a sentence: a viewer reads it within four seconds."""


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
                raise InputError(f"Story: {what} has {len(words)} characters; allowed: one line of up to {LONGEST}")
        if not self.sentence.strip():
            raise InputError("Story: sentence is empty; try 'They learn to invert every colour.'")
        for what, asked in (("claim", self.claim), ("reached", self.reached), ("anew", self.anew)):
            if asked is not None:
                function(asked, f"Story: {what}")
        _check(_is_number(self.fall), self.fall, "Story: fall must be a share of the loss")
        if not 0 < self.fall < 1:
            raise InputError(f"Story: fall must be more than 0 and less than 1, got {shown(self.fall)}; try 0.5")

    def opening(self, weights: int) -> str:
        """Return the headline above the sentence, for a number of weights."""
        return self.headline or weights_text(weights)


def weights_text(count: int) -> str:
    """Return the sentence ``12 weights.`` for a count."""
    return f"{count:,} weight{'' if count == 1 else 's'}."


def purpose_of(headline: str, sentence: str, weights: int) -> str:
    """Return what a network is for in one line, as ``12 weights learn to invert colours.``, from its story."""
    they, _, does = sentence.partition(" ")
    return (
        f"{weights_text(weights)[:-1]} {does}"
        if they in ("It", "They") and not headline
        else f"{headline} {sentence}".strip()
    )


def plain_story(run: Run) -> Story:
    """Return a story that fits any run."""
    samples: Any = run._problem.data.shape[1]
    they = "It" if run.n_weights == 1 else "They"
    return Story(f"{they} should learn {samples:,} example{'' if samples == 1 else 's'}.")


# ---- `Scene`: the description that a view shows. Data only; no drawing, no training logic


SIDES = (160, 8192)
"""Fewest and most pixels of a picture's side: a smaller one shows nothing, a framebuffer holds no larger one."""


@dataclass(frozen=True, slots=True)
class OwnFlags:
    """Flags that only the scene can tell from a moment.

    Attributes
    ----------
    flags : callable
        ``flags(reader)``: values of options by name; None leaves an option out. If it returns None, the moment has no
        command line.
    lost : callable
        ``lost(reader)``: what no flag can say, as phrases.
    edits : tuple of type
        Kinds of edits that these flags cover if they were made before the first step.
    """

    flags: Callable[[Reader], Mapping[str, Any] | None]
    lost: Callable[[Reader], Iterable[str]] = lambda reader: ()
    edits: tuple[type[Edit], ...] = ()


@dataclass(slots=True)
class Scene:
    """Data + network + loss + optimiser (all in `run`), and what to show.

    Attributes
    ----------
    name : str
        As on the command line.
    run : Run
        The run to train.
    probe, probe_target : ndarray or None
        The sample whose way through the network is drawn, and its target, shapes (n_in,) and (n_targets,).
        Default: the first sample of the data, with its target.
    input_names, output_names : tuple of str
        One name per input (``("r", "g", "b")``), one per output.
    panels : sequence of Panel
        Panels beside the cubes, from top to bottom (:mod:`scalarviz.run.panels`). Default: the loss curve.
    notes : list of str
        Lines for the console.
    story : Story or None
        The sentences before the first step and after the last one. Default: a story with the number of samples.
    plan : Plan or None
        Places of the tensors. Default: from the network's stages.
    controls : sequence of Control
        Controls beside those of every run (:mod:`scalarviz.run.controls`), from top to bottom.
    command : callable or None
        ``command(reader)``: the command line that shows the same as the moment; None or an empty text for none.
        A scene that is loaded by its name or its path has one by itself.
    table : callable or None
        ``table(table)``: the edit that makes the run learn a :class:`scalarviz.io.CsvTable` that was pasted into the
        window or dropped on it; InputError if the table does not fit. None: the scene takes no table.
    hide : tuple of str
        Controls to leave out of the panel, by name ("learning rate", "layers", "seed").
    options : object or None
        The options that the scene was built with; controls and command find them as ``reader.options``.
    whole_loss : bool
        Show the loss of all samples at the current weights. For small data: the loss of a small batch says little about
        the other samples.
    steps_a_frame : int or None
        Steps per frame of a window or film after the first two seconds, which have one step per frame. Default: chosen
        to show the most in the available time.
    own_flags : OwnFlags or None
        Flags for data that change live, which only the scene knows.
    other_layers : callable or None
        ``other_layers(units)``: this scene with hidden layers of these numbers of units, such as ``(8, 8)``, before its
        first step. A page that trains offers some of them.

    Raises
    ------
    TypeMismatchError, InputError
        A field has another type, or two controls have one name.
    UnknownNameError
        The plan names a tensor that the run does not have.
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
    other_layers: Callable[[tuple[int, ...]], Scene] | None = None

    def __post_init__(self) -> None:
        text(self.name, "Scene: name")
        _check(isinstance(self.run, Run), self.run, "Scene: run must be a Run")
        for what in ("input_names", "output_names", "hide"):
            _check(_is_row(getattr(self, what), str), getattr(self, what), f"Scene: {what} must be a tuple of texts")
        for what, row in (("probe", self.probe), ("probe_target", self.probe_target)):
            if row is not None:
                real_array(row, f"Scene: {what}")
        kinds = "a tuple of panels of scalarviz.run.panels, or of your own subclasses of Panel"
        wanted = f"Scene: panels must be {kinds}, such as (LossCurve(),)"
        _check(_is_row(self.panels, Panel), self.panels, wanted)
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
        for what, called in (("command", self.command), ("table", self.table), ("other_layers", self.other_layers)):
            if called is not None:
                function(called, f"Scene: {what}")
        flag(self.whole_loss, "Scene: whole_loss")
        if self.steps_a_frame is not None:
            integer("Scene: steps_a_frame", self.steps_a_frame, 1)

    @property
    def shown_story(self) -> Story:
        """The scene's story, or one that fits any run."""
        return self.story or plain_story(self.run)


# ---- Names and errors of a scene's options: the fields of their pydantic model


def extra_of(field: Any) -> dict[str, Any]:
    """Return the extra entries of a field that pydantic does not use."""
    return field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}


def flag_of(name: str, field: Any) -> str:
    """Return the name of a field on the command line."""
    extra = extra_of(field)
    if extra.get("argument"):
        return name.upper()
    return str(extra.get("flag", "--" + name.replace("_", "-")))


def sentence(model: Any, error: Any) -> str:
    """Return one line about the first error in a pydantic ValidationError; `model` is the class."""
    first = error.errors()[0]
    name = str(first["loc"][0]) if first["loc"] else ""
    flag = flag_of(name, model.model_fields[name]) + ": " if name in model.model_fields else ""
    said = first["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    if first["type"] == "missing":
        what = model.model_fields[name].description if name in model.model_fields else ""
        return f"{flag}got no value" + (f"; expected: {what}" if what else "")
    if first["type"] == "value_error":  # one of our own: it names the value
        return flag + str(said)
    return f"{flag}{said[:1].lower()}{said[1:]}, got {shown(first['input'])}"
