"""What can be done to a picture that is watched: one table of actions and one of gestures.

Keys, the list of keys over the picture, the line below it and the docs read them; a viewer is told an action by name
and value (``viewer.send("step", 10)``). Where an action does nothing, the table says why in a few words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from ...errors import InputError, TypeMismatchError, UnknownNameError, listing
from ..panels.registry import OWN
from ..panels.wording import noun
from .reasons import (
    Here,
    Reason,
    no_edits,
    no_gradient_yet,
    no_gradients,
    no_host,
    no_inspector,
    no_layer_table,
    no_layers,
    no_micro_steps,
    no_moments,
    no_past,
    no_playing,
    no_ratio,
    no_samples,
    no_search,
    no_selection,
    no_steps,
    no_swatch,
    no_table,
    no_training,
    no_update_yet,
    no_updates,
    no_word,
    nothing,
    nothing_selected,
    nothing_to_open,
)
from .room_actions import RUNS, TOUR, WALL
from .room_actions import lines as room_lines

if TYPE_CHECKING:
    pass


Kind = Literal["view", "time", "edit", "file", "host"]
"""What it changes: the picture, where training stands, the run, a file, or the window around the picture."""


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

    @property
    def all(self) -> range:
        """Each of them."""
        return range(self.least, self.most + 1)

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
    numbered : bool
        Whether its keys send their numbers: the first 1, the second 2.
    """

    name: str
    kind: Kind
    keys: tuple[str, ...]
    does: str
    words: str = ""
    values: Values | None = None
    missing: Reason = nothing
    remark: Reason = nothing
    inside: str = ""
    numbered: bool = False

    @property
    def pressed(self) -> tuple[str, ...]:
        """Its keys as they are listed: the first and the last of many."""
        return (f"{self.keys[0]} to {self.keys[-1]}",) if self.numbered else self.keys

    def value_of(self, key: str, *, shift: bool = False) -> int | None:
        """The value that one of its keys sends; None for the usual one."""
        if self.numbered:
            return self.keys.index(key) + 1
        return self.values.shifted if self.values is not None and shift else None

    def applies(self, here: Here) -> bool:
        """Whether it does something there."""
        return not self.missing(here)

    def said(self, here: Here) -> Words:
        """What is said of it there: of a recording in words of its own."""
        own = Words(self.does, self.words, self.inside)
        return PLAYED.get(self.name, own) if here.recorded else own


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
    missing: Reason = nothing

    def applies(self, here: Here) -> bool:
        """Whether it does something there."""
        return not self.missing(here)


STEPS = Values(1, 10**9, 1, 10)
VIEWS = Values(1, 9, 1, 1)

ACTIONS: tuple[Action, ...] = (
    Action("toggle_run", "time", ("Space", "T"), "run or pause", "run", missing=no_playing, inside="run"),
    Action("step", "time", ("Right",), "one training step (Shift: ten)", "step", STEPS, no_steps,
           inside="finish the step"),
    Action("back", "time", ("Left",), "one step back (Shift: ten)", "back", STEPS, no_past),
    Action("micro_next", "time", (".",), "into a step: the next micro-step", "micro-step", missing=no_micro_steps,
           inside="next micro-step"),
    Action("micro_back", "time", (",",), "the micro-step before", missing=no_micro_steps, inside="back"),
    Action("whose", "time", ("B",), "micro-steps of one sample or of the whole batch", missing=no_micro_steps,
           inside="this {one} or whole batch"),
    Action("add_samples", "time", (";",), "inside a step: add up the batch, sample by sample", missing=no_samples,
           inside="add up the batch"),
    Action("first", "time", ("Home",), "the first step", missing=no_past),
    Action("newest", "time", ("End",), "the newest step", missing=no_past),
    Action("restart", "time", ("R",), "begin anew from the first weights", missing=no_training),
    Action("undo", "edit", ("Ctrl+Z",), "undo: to the moment before the last change", "undo", missing=no_training),
    Action("redo", "edit", ("Ctrl+Shift+Z", "Ctrl+Y"), "back to where undo came from", missing=no_training),
    Action("break_on", "time", ("F9", "Ctrl+B"), "pause where a condition becomes true: type it", missing=no_training),
    Action("toggle_controls", "view", ("P",), "a panel of controls: pace, learning rate, batch, layers", "controls",
           missing=no_training),
    Action("name_moment", "time", ("N",), "set a flag at this moment, or take it away", "flag", missing=no_training),
    Action("toggle_loop", "time", ("Shift+N",), "play round between two flags", missing=no_training),
    Action("slower", "time", ("[",), "half the speed", missing=no_playing),
    Action("faster", "time", ("]",), "twice the speed, in the end no limit", "faster", missing=no_playing),
    Action("normal_speed", "time", ("\\",), "normal speed", missing=no_playing),
    Action("show_weights", "view", ("W",), "colour by value"),
    Action("show_gradients", "view", ("G",), "colour by gradient (again: by its size)", "gradient",
           missing=no_gradients, remark=no_gradient_yet),
    Action("show_updates", "view", ("U",), "colour by last update", missing=no_updates, remark=no_update_yet),
    Action("show_ratio", "view", ("Q",), "colour by update / value", missing=no_ratio, remark=no_update_yet),
    Action("show_moment", "view", ("M",), "colour by what the optimiser keeps: m, v, velocity",
           missing=no_moments, remark=no_update_yet),
    Action("raise_rate", "edit", ("Up",), "twice the learning rate", missing=no_training),
    Action("lower_rate", "edit", ("Down",), "half the learning rate", missing=no_training),
    Action("type_value", "edit", ("Enter",), "type the clicked cube's value", missing=no_selection),
    Action("nudge_up", "edit", ("=",), "(or +) a little more of the clicked cube", missing=no_selection),
    Action("nudge_down", "edit", ("-",), "a little less", missing=no_selection),
    Action("freeze", "edit", ("K",), "keep what is selected as it is, or free it", missing=no_selection),
    Action("zero", "edit", ("X",), "set what is selected to 0", missing=no_selection),
    Action("halve", "edit", ("/",), "half of what is selected", missing=no_selection),
    Action("double", "edit", ("*",), "twice", missing=no_selection),
    Action("redraw", "edit", ("I",), "let what is selected begin anew", missing=no_selection),
    Action("find_sign", "time", ("V",), "go to where the clicked cube last changed its sign", missing=no_search),
    Action("select_more", "view", ("A",), "select more: row, neuron, layer, all", missing=nothing_selected),
    Action("type_word", "view", ("E",), "type a word that the network reads", "type a name", missing=no_word),
    Action("cooler", "view", ("{",), "lower temperature of new words: the likeliest letters", missing=no_word),
    Action("warmer", "view", ("}",), "higher temperature: more surprises", missing=no_word),
    Action("toggle_sizes", "view", ("J",), "cubes as large as what they show (Hinton), or all alike"),
    Action("hide_more", "view", (">",), "hide cubes of small numbers: a higher threshold"),
    Action("hide_less", "view", ("<",), "a lower threshold"),
    Action("next_map", "view", ("C",), "next colour map"),
    Action("refit_range", "view", ("0",), "fit the range of the colours anew"),
    Action("fit", "view", ("F",), "fit the camera, and what was turned"),
    Action("go_view", "view", tuple(map(str, VIEWS.all)), "go to a view that was kept", values=VIEWS, numbered=True),
    Action("keep_view", "view", tuple(f"Ctrl+{n}" for n in VIEWS.all), "keep this view", values=VIEWS, numbered=True),
    Action("toggle_parallel", "view", ("O",), "parallel lines, or perspective"),
    Action("toggle_turntable", "view", ("Y",), "let the scene turn by itself, or stand still"),
    Action("toggle_apart", "view", ("Z",), "plates apart, or where they belong", missing=no_layers),
    Action("layer_after", "view", ("PageDown",), "the next layer alone, in the end all", missing=no_layers),
    Action("layer_before", "view", ("PageUp",), "the layer before alone", missing=no_layers),
    Action("screenshot", "file", ("S",), "save a screenshot", missing=no_host),
    Action("film", "file", ("Ctrl+S",), "begin a film of what is shown; again: end it", missing=no_host),
    Action("open", "file", ("Ctrl+O",), "open a picture or weights (or drop them here)", missing=nothing_to_open),
    Action("paste", "edit", ("Ctrl+V",), "learn the table on the clipboard (or drop a .csv here)", missing=no_table),
    Action("toggle_panels", "view", ("Tab",), "hide or show all panels", "hide panels"),
    Action("toggle_layers", "view", ("D",), "a table of the layers: gradients, updates, dead units",
           missing=no_layer_table),
    Action("toggle_theme", "view", ("L",), "light or dark"),
    Action("toggle_full_screen", "host", ("F11",), "full screen", missing=no_host),
    Action("toggle_help", "view", ("?", "H"), "show or hide these keys", "all keys", inside="all keys"),
    Action("escape", "view", ("Escape",), "close what is open; twice: the window"),
    Action("close", "host", ("Ctrl+Q",), "close the window", missing=no_host),
)  # fmt: skip

GESTURES: tuple[Gesture, ...] = (
    Gesture("Drag", "view", "turn the scene"),
    Gesture("Right drag", "view", "shift the scene"),
    Gesture("Drag, click", "time", "the time bar: go to that step", no_past),
    Gesture("Click", "time", "a ring of the time bar: go to that branch", no_past),
    Gesture("Click", "time", "a divergence that is said: back to the last good step", no_past),
    Gesture("Wheel", "view", "zoom to the pointer"),
    Gesture("Click", "view", "a cube: look into it"),
    Gesture("Click", "view", "the input's swatch: show the way of the next sample", no_swatch),
    Gesture("Double click", "view", "a cube: select its neuron", no_inspector),
    Gesture("Ctrl+Click", "view", "a cube: select it as well, or no more", no_inspector),
    Gesture("Click", "view", "nothing: close the controls", no_training),
    Gesture("Click", "view", "in a cube's column: a part, a sample, a moment", no_inspector),
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


def told(name: str, here: Here) -> tuple[str, str]:
    """The key of an action and what it does there."""
    action = action_of(name)
    return action.keys[0], action.said(here).does


def find(key: str) -> Action | None:
    """The action that a normalised key belongs to."""
    return _BY_KEY.get(key)


def bottom_line(here: Here) -> tuple[tuple[str, str], ...]:
    """Key and words of the actions that the line at the bottom shows there."""
    said = [(a.keys[0], a.said(here).words) for a in ACTIONS if a.applies(here)]
    return tuple((key, words) for key, words in said if words)


def inside_line(here: Here) -> tuple[tuple[str, str], ...]:
    """The same inside an opened step, what walks through it first."""
    one = noun(here.subject)
    there = sorted((a for a in ACTIONS if a.applies(here)), key=lambda a: "micro" not in a.name)
    said = [(a.keys[0], a.said(here).inside.format(one=one)) for a in there]
    return tuple((key, words) for key, words in said if words)


def help_lines(here: Here) -> tuple[tuple[str, str], ...]:
    """Keys and gestures, and what they do there: the list over the picture; those of panels come after them."""
    keys = tuple((" or ".join(a.pressed), a.said(here).does) for a in ACTIONS if a.keys and a.applies(here))
    return keys + tuple((g.hand, g.does) for g in GESTURES if g.applies(here))


def markdown() -> str:
    """All tables as docs/window.md prints them."""
    keys = [(" or ".join(f"`{name}`" for name in a.pressed), a.does) for a in ACTIONS if a.keys]
    hands = [(g.hand, g.does) for g in GESTURES]
    panels = [line for drawer in OWN.values() for line in (*drawer.gestures, *drawer.choices, *drawer.lessons)]
    tables = [_table(*told) for told in (("key", keys), ("mouse", hands), ("on a panel", panels))]
    rooms = (("on the wall of all scenes", WALL), ("in the tour", TOUR), ("on a wall of runs", RUNS))
    return "\n".join([*tables, *(_table(head, room_lines(actions, "`")) for head, actions in rooms)])


def _table(head: str, lines: Sequence[tuple[str, str]]) -> str:
    rows = "\n".join(f"| {first} | {does} |" for first, does in lines)
    return f"| {head} | does |\n|---|---|\n{rows}\n"


# ---- What actions are called where a recording is shown: nothing trains there, steps are those that were recorded.


class Words(NamedTuple):
    """What is said of an action.

    Attributes
    ----------
    does : str
        What the list of keys says.
    words, inside : str
        What the line at the bottom says, and what it says inside an opened step; empty leaves it out.
    """

    does: str
    words: str = ""
    inside: str = ""


PLAYED = {
    "toggle_run": Words("play or pause", "play", "play"),
    "step": Words("the next recorded step (Shift: ten)", "next", "next recorded step"),
    "back": Words("the one before (Shift: ten)", "back"),
    "micro_next": Words("into the step that follows: the next micro-step", "micro-step", "next micro-step"),
    "first": Words("the first recorded step"),
    "newest": Words("the last one"),
    "faster": Words("twice the speed", "faster"),
}
