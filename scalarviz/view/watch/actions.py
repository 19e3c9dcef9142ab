"""What can be done to a picture that is watched: one table of actions and one of gestures.

Keys, the list of keys over the picture, the line below it and the docs read them; a viewer is told an action by name
and value (``viewer.send("step", 10)``). Where an action does nothing, the table says why in a few words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ...errors import InputError, TypeMismatchError, UnknownNameError, listing
from ...run.panels import WordBoard
from ..panels.registry import OWN
from ..panels.wording import noun
from .room_actions import TOUR, WALL
from .room_actions import lines as room_lines

if TYPE_CHECKING:
    from ..shown.subject import Subject

Kind = Literal["view", "time", "edit", "file", "host"]
"""What it changes: the picture, where training stands, the run, a file, or the window around the picture."""


@dataclass(frozen=True, slots=True)
class Here:
    """Where an action is to happen.

    Attributes
    ----------
    subject : Subject
        What is shown.
    trains : bool
        Whether the viewer trains it; else somebody else may.
    computed : bool
        Whether there is a gradient now.
    selected : bool
        Whether a weight is selected.
    host : bool
        Whether there is a window (or a notebook's cell) around the picture.
    """

    subject: Subject
    trains: bool = True
    computed: bool = True
    selected: bool = True
    host: bool = True

    @property
    def learns(self) -> bool:
        """Whether there can be gradients: plain arrays have none."""
        source = self.subject.source
        return source.can.edit or source.facts is not None


Reason = Callable[[Here], str]
"""Why not, in a few words; empty if there is no reason."""


def _nothing(here: Here) -> str:
    return ""


def _no_training(here: Here) -> str:
    return "" if here.trains else "this window only shows, it does not train"


def _no_past(here: Here) -> str:
    return "" if here.subject.source.can.go else "the past of these numbers is not kept"


def _no_steps(here: Here) -> str:
    return "" if here.trains or here.subject.source.can.go else "this window only shows, it does not train"


def _no_gradients(here: Here) -> str:
    return "" if here.learns else "plain numbers have no gradient"


def _no_gradient_yet(here: Here) -> str:
    return "" if here.computed else "no gradient yet: take a step"


def _no_updates(here: Here) -> str:
    return "" if here.learns else "plain numbers are not trained"


def _no_update_yet(here: Here) -> str:
    return "" if here.computed else "no update yet: take a step"


def _no_moments(here: Here) -> str:
    return _no_updates(here) or ("" if here.subject.source.moments else "the optimiser here keeps nothing of a weight")


def _no_host(here: Here) -> str:
    return "" if here.host else "there is no window"


def _nothing_to_open(here: Here) -> str:
    if not here.subject.source.can.predict:
        return "no picture and no weights can be opened here"
    return _no_host(here)


def no_edits(here: Here) -> str:
    """Why weights cannot be changed by hand there."""
    return "" if here.subject.source.can.edit else "these numbers are looked at, not touched"


def _no_word(here: Here) -> str:
    there = any(isinstance(panel, WordBoard) for panel in here.subject.panels)
    return "" if there else "no word is read here"


def no_swatch(here: Here) -> str:
    """Why no sample is shown as a colour there."""
    return "" if here.subject.sample.colours else "no sample is a colour here"


def _no_selection(here: Here) -> str:
    return no_edits(here) or _nothing_selected(here)


def _no_search(here: Here) -> str:
    return _no_past(here) or _nothing_selected(here)


def _nothing_selected(here: Here) -> str:
    return "" if here.selected else "click a cube first"


@dataclass(frozen=True, slots=True)
class Values:
    """The value that an action takes.

    Attributes
    ----------
    least, most : int
        Its range, whole numbers.
    usual, shifted : int
        What its key sends, alone and with Shift.
    """

    least: int
    most: int
    usual: int
    shifted: int

    def checked(self, name: str, value: object) -> int:
        """`value`, or the usual one for None.

        Raises
        ------
        TypeMismatchError, InputError
            No whole number, or one that is out of range.
        """
        if value is None:
            return self.usual
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeMismatchError(f"{name}: got {value!r:.60}; allowed: a whole number, such as {self.usual}")
        if not self.least <= value <= self.most:
            raise InputError(f"{name}: got {value}; allowed: {self.least:,} to {self.most:,}")
        return value


@dataclass(frozen=True, slots=True)
class Action:
    """Something that a viewer does when it is told to.

    Attributes
    ----------
    name : str
        As in ``viewer.send(name)``.
    kind : Kind
    keys : tuple of str
        As `keys.normalised` gives them; the first is the one shown, the others are aliases.
    does : str
        What the list of keys says.
    words, inside : str
        What the line at the bottom says, and what it says inside an opened step; empty leaves it out.
    values : Values or None
        The value that it takes, None for none.
    missing : callable
        Why it does nothing somewhere.
    remark : callable
        What is said besides when it is done, empty for nothing.
    """

    name: str
    kind: Kind
    keys: tuple[str, ...]
    does: str
    words: str = ""
    values: Values | None = None
    missing: Reason = _nothing
    remark: Reason = _nothing
    inside: str = ""

    def applies(self, here: Here) -> bool:
        """Whether it does something there."""
        return not self.missing(here)


@dataclass(frozen=True, slots=True)
class Gesture:
    """Something that hands do with pointer and wheel.

    Attributes
    ----------
    hand : str
        What they do ("Drag").
    kind : Kind
    does : str
        What happens.
    missing : callable
        Why nothing happens somewhere.
    """

    hand: str
    kind: Kind
    does: str
    missing: Reason = _nothing

    def applies(self, here: Here) -> bool:
        """Whether it does something there."""
        return not self.missing(here)


STEPS = Values(1, 10**9, 1, 10)

ACTIONS: tuple[Action, ...] = (
    Action("toggle_run", "time", ("Space", "T"), "run or pause", "run", missing=_no_training, inside="run"),
    Action("step", "time", ("Right",), "one training step (Shift: ten)", "step", STEPS, _no_steps,
           inside="finish the step"),
    Action("back", "time", ("Left",), "one step back (Shift: ten)", "back", STEPS, _no_past),
    Action("micro_next", "time", (".",), "into a step: the next micro-step", "micro-step", missing=_no_training,
           inside="next micro-step"),
    Action("micro_back", "time", (",",), "the micro-step before", missing=_no_training, inside="back"),
    Action("whose", "time", ("B",), "micro-steps of one sample or of the whole batch", missing=_no_training,
           inside="this {one} or whole batch"),
    Action("add_samples", "time", (";",), "inside a step: add up the batch, sample by sample", missing=_no_training,
           inside="add up the batch"),
    Action("first", "time", ("Home",), "the first step", missing=_no_past),
    Action("newest", "time", ("End",), "the newest step", missing=_no_past),
    Action("restart", "time", ("R",), "begin anew from the first weights", missing=_no_training),
    Action("undo", "edit", ("Ctrl+Z",), "undo: to the moment before the last change", "undo", missing=_no_training),
    Action("redo", "edit", ("Ctrl+Shift+Z", "Ctrl+Y"), "back to where undo came from", missing=_no_training),
    Action("break_on", "time", ("F9", "Ctrl+B"), "pause where a condition becomes true: type it", missing=_no_training),
    Action("toggle_controls", "view", ("P",), "a panel of controls: pace, learning rate, batch, layers", "controls",
           missing=_no_training),
    Action("name_moment", "time", ("N",), "set a flag at this moment, or take it away", "flag", missing=_no_training),
    Action("toggle_loop", "time", ("Shift+N",), "play round between two flags", missing=_no_training),
    Action("slower", "time", ("[",), "half the speed", missing=_no_training),
    Action("faster", "time", ("]",), "twice the speed, in the end no limit", "faster", missing=_no_training),
    Action("normal_speed", "time", ("\\",), "normal speed", missing=_no_training),
    Action("show_weights", "view", ("W",), "colour by value"),
    Action("show_gradients", "view", ("G",), "colour by gradient (again: by its size)", "gradient",
           missing=_no_gradients, remark=_no_gradient_yet),
    Action("show_updates", "view", ("U",), "colour by last update", missing=_no_updates, remark=_no_update_yet),
    Action("show_ratio", "view", ("Q",), "colour by update / value", missing=_no_updates, remark=_no_update_yet),
    Action("show_moment", "view", ("M",), "colour by what the optimiser keeps: m, v, velocity",
           missing=_no_moments, remark=_no_update_yet),
    Action("raise_rate", "edit", ("Up",), "twice the learning rate", missing=_no_training),
    Action("lower_rate", "edit", ("Down",), "half the learning rate", missing=_no_training),
    Action("type_value", "edit", ("Enter",), "type the clicked cube's value", missing=_no_selection),
    Action("nudge_up", "edit", ("=",), "(or +) a little more of the clicked cube", missing=_no_selection),
    Action("nudge_down", "edit", ("-",), "a little less", missing=_no_selection),
    Action("freeze", "edit", ("K",), "keep what is selected as it is, or free it", missing=_no_selection),
    Action("zero", "edit", ("X",), "set what is selected to 0", missing=_no_selection),
    Action("halve", "edit", ("/",), "half of what is selected", missing=_no_selection),
    Action("double", "edit", ("*",), "twice", missing=_no_selection),
    Action("redraw", "edit", ("I",), "let what is selected begin anew", missing=_no_selection),
    Action("find_sign", "time", ("V",), "go to where the clicked cube last changed its sign", missing=_no_search),
    Action("select_more", "view", ("A",), "select more: row, neuron, layer, all", missing=_nothing_selected),
    Action("type_word", "view", ("E",), "type a word that the network reads", "type a name", missing=_no_word),
    Action("cooler", "view", ("{",), "lower temperature of new words: the likeliest letters", missing=_no_word),
    Action("warmer", "view", ("}",), "higher temperature: more surprises", missing=_no_word),
    Action("toggle_sizes", "view", ("J",), "cubes as large as what they show (Hinton), or all alike"),
    Action("hide_more", "view", (">",), "hide cubes of small numbers: a higher threshold"),
    Action("hide_less", "view", ("<",), "a lower threshold"),
    Action("next_map", "view", ("C",), "next colour map"),
    Action("refit_range", "view", ("0",), "fit the range of the colours anew"),
    Action("fit", "view", ("F",), "fit the camera, and what was turned"),
    Action("screenshot", "file", ("S",), "save a screenshot", missing=_no_host),
    Action("open", "file", ("Ctrl+O",), "open a picture or weights (or drop them here)", missing=_nothing_to_open),
    Action("toggle_panels", "view", ("Tab",), "hide or show all panels", "hide panels"),
    Action("toggle_layers", "view", ("D",), "a table of the layers: gradients, updates, dead units",
           missing=_no_gradients),
    Action("toggle_theme", "view", ("L",), "light or dark"),
    Action("toggle_full_screen", "host", ("F11",), "full screen", missing=_no_host),
    Action("toggle_help", "view", ("?", "H"), "show or hide these keys", "all keys", inside="all keys"),
    Action("escape", "view", ("Escape",), "close what is open; twice: the window"),
    Action("close", "host", ("Ctrl+Q",), "close the window", missing=_no_host),
)  # fmt: skip

GESTURES: tuple[Gesture, ...] = (
    Gesture("Drag", "view", "turn the scene"),
    Gesture("Right drag", "view", "shift the scene"),
    Gesture("Drag, click", "time", "the time bar: go to that step", _no_past),
    Gesture("Click", "time", "a ring of the time bar: go to that branch", _no_past),
    Gesture("Wheel", "view", "zoom to the pointer"),
    Gesture("Click", "view", "a cube: look into it"),
    Gesture("Click", "view", "the input's swatch: show the way of the next sample", no_swatch),
    Gesture("Double click", "view", "a cube: select its neuron"),
    Gesture("Ctrl+Click", "view", "a cube: select it as well, or no more"),
    Gesture("Click", "view", "in a cube's column: a part, a sample, a moment"),
    Gesture("Shift+Wheel", "edit", "over a cube: change that weight", no_edits),
    Gesture("Drag", "edit", "a clicked cube's value: change it", no_edits),
    Gesture("Double click", "edit", "a clicked cube's value: type it", no_edits),
)
"""What no viewer needs to be told by name."""

BY_NAME = {action.name: action for action in ACTIONS}
_BY_KEY = {key: action for action in ACTIONS for key in action.keys}


def action_of(name: str) -> Action:
    """The action of a name.

    Raises
    ------
    UnknownNameError
    """
    try:
        return BY_NAME[name]
    except (KeyError, TypeError):
        raise UnknownNameError(f"no action {name!r:.60}; there are {listing(BY_NAME)}") from None


def told(name: str) -> tuple[str, str]:
    """The key of an action and what it does."""
    action = action_of(name)
    return action.keys[0], action.does


def find(key: str) -> Action | None:
    """The action that a normalised key belongs to."""
    return _BY_KEY.get(key)


def bottom_line(here: Here) -> tuple[tuple[str, str], ...]:
    """Key and words of the actions that the line at the bottom shows there."""
    return tuple((a.keys[0], a.words) for a in ACTIONS if a.words and a.applies(here))


def inside_line(here: Here) -> tuple[tuple[str, str], ...]:
    """The same inside an opened step, what walks through it first."""
    said = [a for a in ACTIONS if a.inside and a.applies(here)]
    one = noun(here.subject)
    return tuple((a.keys[0], a.inside.format(one=one)) for a in sorted(said, key=lambda a: "micro" not in a.name))


def help_lines(here: Here) -> tuple[tuple[str, str], ...]:
    """Keys and gestures, and what they do there: the list over the picture; those of panels come after them."""
    keys = tuple((" or ".join(a.keys), a.does) for a in ACTIONS if a.keys and a.applies(here))
    return keys + tuple((g.hand, g.does) for g in GESTURES if g.applies(here))


def markdown() -> str:
    """All tables as docs/window.md prints them."""
    keys = [(" or ".join(f"`{name}`" for name in a.keys), a.does) for a in ACTIONS if a.keys]
    hands = [(g.hand, g.does) for g in GESTURES]
    panels = [line for drawer in OWN.values() for line in (*drawer.gestures, *drawer.choices, *drawer.lessons)]
    tables = [_table(*told) for told in (("key", keys), ("mouse", hands), ("on a panel", panels))]
    rooms = (("on the wall of all scenes", WALL), ("in the tour", TOUR))
    return "\n".join([*tables, *(_table(head, room_lines(actions, "`")) for head, actions in rooms)])


def _table(head: str, lines: Sequence[tuple[str, str]]) -> str:
    rows = "\n".join(f"| {first} | {does} |" for first, does in lines)
    return f"| {head} | does |\n|---|---|\n{rows}\n"
