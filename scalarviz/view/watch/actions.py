"""Actions of the windows: keys, gestures, and why one does nothing in a context.

All keys of actions are bound here. `ACTIONS` belong to every viewer (``viewer.send("step", 10)`` runs one by name);
`WALL`, `RUNS`, `TOUR` and `GRAPH` belong to windows that show no run. Key presses, the list of keys, the bottom line
and the docs read these tables. A viewer's `handlers` maps the names to functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from ...errors import InputError, TypeMismatchError, UnknownNameError, listing
from ...run.panels import WordBoard
from ...run.sources.watched import Watched

if TYPE_CHECKING:
    from ..shown.subject import Subject

# ---- names of keys

_NAMES = {
    "ARROWLEFT": "Left", "ARROWRIGHT": "Right", "ARROWUP": "Up", "ARROWDOWN": "Down", " ": "Space", "SPACEBAR": "Space",
    "ESC": "Escape", "\t": "Tab", "QUESTION": "?", "BRACKETLEFT": "[", "BRACKETRIGHT": "]", "BACKSLASH": "\\",
    "PAGEUP": "PageUp", "PAGEDOWN": "PageDown", "PAGE_UP": "PageUp", "PAGE_DOWN": "PageDown",
    "BACKTAB": "Tab", "RETURN": "Enter", "NUMPADENTER": "Enter", "+": "=", "PLUS": "=",
}  # fmt: skip
MODIFIERS = frozenset(
    {"SHIFT", "SHIFTLEFT", "SHIFTRIGHT", "CONTROL", "CONTROLLEFT", "CONTROLRIGHT", "CTRL", "ALT", "ALTLEFT", "ALTRIGHT",
     "ALTGRAPH", "META", "METALEFT", "METARIGHT", "OS", "SUPER", "CAPSLOCK", "CAPS_LOCK", "NUMLOCK", "SCROLLLOCK"}
)  # fmt: skip
"""Keys without a meaning of their own."""


def normalised(name: str | None, text: str = "", *, ctrl: bool = False, shift: bool = False) -> str:
    """Return the name of a key as in the tables; '' for a key like Shift alone.

    Backends differ: Qt through vispy sends ``Right``, a browser ``ArrowRight`` or ``KeyW``, some only the character.
    `text` is what the key types; it decides ``?`` and brackets on other keyboards. `ctrl` is the Command key on macOS.
    """
    if name and name.upper() in MODIFIERS:
        return ""
    plain = _plain(name, text)
    return f"{'Ctrl+' * ctrl}{'Shift+' * shift}{plain}" if plain else ""


def _plain(name: str | None, text: str) -> str:
    if text and text in "?[]\\0*/=-+{}<>":
        return "=" if text == "+" else text
    if not name:
        return text.upper() if text.isprintable() else ""
    upper = name.upper()
    if upper in _NAMES:
        return _NAMES[upper]
    if len(upper) == 4 and upper.startswith("KEY"):
        return upper[3]
    if upper[-1].isdigit() and upper[:-1] in ("DIGIT", "NUMPAD"):
        return upper[-1]
    return upper if len(upper) == 1 or (upper[0] == "F" and upper[1:].isdigit()) else name.capitalize()


# ---- reasons


@dataclass(frozen=True, slots=True)
class ActionContext:
    """The context of an action: the subject and what is possible now."""

    subject: Subject
    trains: bool = True  # whether the viewer trains what it shows
    computed: bool = True  # whether there is a gradient now
    moved: bool = True  # whether the update of the last step is known
    selected: bool = True  # whether a weight is selected
    host: bool = True  # whether the picture is in a window or a notebook cell
    layers: int = 2  # number of layers that can be shown alone

    @property
    def recorded(self) -> bool:
        """True if a recording is shown."""
        return self.subject.source.recorded


Reason = Callable[[ActionContext], str]
"""Returns why an action does nothing in a context; '' if it does something."""


def _nothing(here: ActionContext) -> str:
    return ""


def _unless(true: Callable[[ActionContext], object], words: str) -> Reason:
    return lambda here: "" if true(here) else words


def _recorded(words: str) -> Reason:
    """Return a reason that holds for recordings."""
    return _unless(lambda here: not here.recorded, words)


def _first(*reasons: Reason) -> Reason:
    """Return a reason that gives the first non-empty of several."""
    return lambda here: next(filter(None, (reason(here) for reason in reasons)), "")


def _no_micro_steps(here: ActionContext) -> str:
    return here.subject.source.lacks("micro") if here.recorded else _no_training(here)


def _no_playing(here: ActionContext) -> str:
    return "" if here.recorded else _no_training(here)


def _no_gradients(here: ActionContext) -> str:
    return here.subject.source.lacks("gradient") if here.subject.source.learns else "plain numbers have no gradient"


def _no_gradient_yet(here: ActionContext) -> str:
    if here.computed or (here.trains and here.subject.source.can.open):  # cubes show that of the coming step
        return ""
    if isinstance(here.subject.source, Watched) and here.subject.source.counted:
        return "no gradient: call backward() before the step, or update(grads=...)"
    return f"no gradient yet{_first_step(here)}"


def _no_updates(here: ActionContext) -> str:
    return here.subject.source.lacks("update") if here.subject.source.learns else "plain numbers are not trained"


def _no_update_yet(here: ActionContext) -> str:
    return "" if here.moved else f"no update yet{_first_step(here)}"


def _first_step(here: ActionContext) -> str:
    return ": none before the first step" if here.recorded else ": take a step"


NO_PAST = "past steps are not kept here"
_SHOWS = "this window does not train"
_no_training = _first(_recorded("a recording does not train"), _unless(lambda here: here.trains, _SHOWS))
_no_past = _unless(lambda here: here.subject.source.can.go, NO_PAST)
_no_steps = _unless(lambda here: here.trains or here.subject.source.can.go, _SHOWS)
_no_ratio = _first(_no_updates, lambda here: here.subject.source.lacks("update/value"))
_no_moments = _first(
    _recorded("the optimiser's state was not recorded"),
    _no_updates,
    _unless(lambda here: here.subject.source.moments, "this optimiser stores nothing per weight; try Adam"),
)
_no_host = _unless(lambda here: here.host, "there is no window")
_no_table = _first(_unless(lambda here: here.subject.table is not None, "this scene takes no table"), _no_host)
_nothing_to_open = _first(
    _recorded("a recording opens no picture and no weights"),
    _unless(lambda here: here.subject.source.can.predict, "this view opens no picture and no weights"),
    _no_host,
)
no_edits = _first(
    _recorded("a recording cannot be changed"),
    _unless(lambda here: here.subject.source.can.edit, "these numbers cannot be changed here"),
)
_no_layers = _unless(lambda here: here.layers > 1, "there is only one layer")
_no_word = _unless(
    lambda here: any(isinstance(p, WordBoard) for p in here.subject.panels), "this network reads no words"
)
_no_swatch = _first(
    _recorded("only this sample was recorded"),
    _unless(lambda here: here.subject.sample.colours, "the samples are not colours"),
)
_no_inspector = _unless(lambda here: not here.subject.source.of, "click a cube to see its numbers in both")
_no_layer_table = _first(
    _no_gradients, _unless(lambda here: not here.subject.source.of, "a comparison has no table of layers")
)
_nothing_selected = _first(_no_inspector, _unless(lambda here: here.selected, "click a cube first"))
_no_selection = _first(no_edits, _nothing_selected)
_no_search = _first(_no_past, _nothing_selected)


# ---- actions


class Words(NamedTuple):
    """The texts of an action: in the list of keys, in the bottom line, and in the bottom line of an opened step."""

    does: str
    words: str = ""
    inside: str = ""


Kind = Literal["view", "time", "edit", "file", "host"]
"""The target of an action: the picture, the step shown, the run, a file, or the window."""
_FILES = "files and window"
FIRST = "basics"
HEADINGS: dict[Kind, str] = {
    "time": "steps and time", "edit": "numbers", "view": "picture", "file": _FILES, "host": _FILES
}  # fmt: skip
"""The heading of each kind in the list of keys."""


@dataclass(frozen=True, slots=True)
class Values:
    """The whole numbers that an action takes, and the ones that its key sends alone and with Shift."""

    least: int
    most: int
    usual: int
    shifted: int

    @property
    def all(self) -> range:
        """All allowed values."""
        return range(self.least, self.most + 1)

    def checked(self, name: str, value: object) -> int:
        """Return `value`, or the usual one for None; raise TypeMismatchError or InputError if it is not allowed."""
        if value is None:
            return self.usual
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeMismatchError(f"{name}: got {value!r:.60}; allowed: a whole number, such as {self.usual}")
        if not self.least <= value <= self.most:
            raise InputError(f"{name}: got {value}; allowed: {self.least:,} to {self.most:,}")
        return value


@dataclass(frozen=True, slots=True)
class Action:
    """Something that a viewer, or a `Room`, does on request."""

    name: str
    kind: Kind
    keys: tuple[str, ...]  # as `normalised` returns them; the first one is shown
    does: str  # text in the list of keys
    words: str = ""  # text in the bottom line; empty leaves it out
    values: Values | None = None
    missing: Reason = _nothing  # why it does nothing in a context
    remark: Reason = _nothing  # note shown after it was done
    inside: str = ""  # text in the bottom line of an opened step
    numbered: bool = False  # whether its keys send their numbers, from 1
    hand: str = ""  # a gesture that does the same
    first: bool = False  # whether it is listed under the basics

    @property
    def pressed(self) -> tuple[str, ...]:
        """The keys for the list; of numbered keys the first and the last."""
        return (f"{self.keys[0]} to {self.keys[-1]}",) if self.numbered else self.keys

    def line(self) -> tuple[str, str]:
        """Return the keys, each between two marks, with the gesture; and what the action does."""
        return " or ".join(filter(None, (*self.pressed, self.hand))), self.does

    def value_of(self, key: str, *, shift: bool = False) -> int | None:
        """Return the value that a key sends; None stands for the usual one."""
        if self.numbered:
            return self.keys.index(key) + 1
        return self.values.shifted if self.values is not None and shift else None

    def applies(self, here: ActionContext) -> bool:
        """Return whether the action does something in this context."""
        return not self.missing(here)

    def words_in(self, here: ActionContext) -> Words:
        """Return the texts in this context; recordings have their own."""
        own = Words(self.does, self.words, self.inside)
        return PLAYED.get(self.name, own) if here.recorded else own


def _by_hand(hand: str, kind: Kind, does: str, missing: Reason = _nothing, *, first: bool = False) -> Action:
    """Return a gesture of pointer or wheel, which has no name to send."""
    return Action("", kind, (), does, missing=missing, hand=hand, first=first)


STEPS = Values(1, 10**9, 1, 10)
VIEWS = Values(1, 9, 1, 1)

ACTIONS: tuple[Action, ...] = (
    Action("toggle_run", "time", ("Space", "T"), "run or pause", "run", missing=_no_playing, inside="play", first=True),
    Action("step", "time", ("Right",), "train one step (Shift: ten)", "step", STEPS, _no_steps,
           inside="finish the step", first=True),
    Action("back", "time", ("Left",), "go one step back (Shift: ten)", values=STEPS, missing=_no_past, first=True),
    Action("micro_next", "time", (".",), "look inside a step, one product at a time", "inside a step",
           missing=_no_micro_steps, inside="next", first=True),
    Action("micro_back", "time", (",",), "go to the previous micro-step", missing=_no_micro_steps, inside="back"),
    Action("whose", "time", ("B",), "switch between one sample and the whole batch", missing=_no_micro_steps),
    Action("add_samples", "time", (";",), "inside a step: add up the gradients of the samples", missing=_no_micro_steps,
           inside="add up the batch"),
    Action("predict", "time", ("Shift+P",), "inside a step: predict if each weight rises or falls",
           missing=_no_micro_steps),
    Action("first", "time", ("Home",), "go to the first step", missing=_no_past),
    Action("newest", "time", ("End",), "go to the newest step", missing=_no_past),
    Action("restart", "time", ("R",), "restart at step 0 with the first weights", missing=_no_training),
    Action("undo", "edit", ("Ctrl+Z",), "undo the last change", missing=_no_training, first=True),
    Action("redo", "edit", ("Ctrl+Shift+Z", "Ctrl+Y"), "redo the undone change", missing=_no_training),
    Action("break_on", "time", ("F9", "Ctrl+B"), "set a breakpoint: type a condition", missing=_no_training),
    Action("toggle_controls", "view", ("P",), "show the controls: pace, learning rate, batch, layers", "controls",
           missing=_no_training, first=True),
    Action("name_moment", "time", ("N",), "mark this step with a flag, or remove the flag", missing=_no_training),
    Action("toggle_loop", "time", ("Shift+N",), "replay in a loop between two flags", missing=_no_training),
    Action("slower", "time", ("[",), "halve the speed", missing=_no_playing),
    Action("faster", "time", ("]",), "double the speed; the last has no limit", missing=_no_playing, first=True),
    Action("normal_speed", "time", ("\\",), "return to normal speed", missing=_no_playing),
    Action("show_weights", "view", ("W",), "colour the cubes by value"),
    Action("show_gradients", "view", ("G",), "colour by gradient (press again: by its size)",
           missing=_no_gradients, remark=_no_gradient_yet, first=True),
    Action("show_updates", "view", ("U",), "colour by last update", missing=_no_updates, remark=_no_update_yet),
    Action("show_ratio", "view", ("Q",), "colour by update / value", missing=_no_ratio, remark=_no_update_yet),
    Action("show_moment", "view", ("M",), "colour by the optimiser's m, v or velocity",
           missing=_no_moments, remark=_no_update_yet),
    Action("raise_rate", "edit", ("Up",), "double the learning rate", missing=_no_training),
    Action("lower_rate", "edit", ("Down",), "halve the learning rate", missing=_no_training),
    Action("type_value", "edit", ("Enter",), "type the value of the clicked weight", missing=_no_selection),
    Action("nudge_up", "edit", ("=",), "increase the clicked weight a little (also +)", missing=_no_selection),
    Action("nudge_down", "edit", ("-",), "decrease the clicked weight a little", missing=_no_selection),
    Action("freeze", "edit", ("K",), "freeze or unfreeze the selected weights", missing=_no_selection),
    Action("zero", "edit", ("X",), "set the selected weights to 0", missing=_no_selection),
    Action("halve", "edit", ("/",), "halve the selected weights", missing=_no_selection),
    Action("double", "edit", ("*",), "double the selected weights", missing=_no_selection),
    Action("redraw", "edit", ("I",), "re-initialise the selected weights", missing=_no_selection),
    Action("find_sign", "time", ("V",), "go to the clicked weight's last change of sign", missing=_no_search),
    Action("select_more", "view", ("A",), "extend the selection: row, neuron, layer, all", missing=_nothing_selected),
    Action("type_word", "view", ("E",), "type a word for the network to read", missing=_no_word),
    Action("cooler", "view", ("{",), "lower the temperature: more likely letters", missing=_no_word),
    Action("warmer", "view", ("}",), "raise the temperature: more unusual letters", missing=_no_word),
    Action("toggle_sizes", "view", ("J",), "switch: larger cubes for larger numbers, or equal cubes"),
    Action("hide_more", "view", (">",), "hide more small numbers: raise the threshold"),
    Action("hide_less", "view", ("<",), "hide fewer small numbers: lower the threshold"),
    Action("next_map", "view", ("C",), "choose the next colour map"),
    Action("refit_range", "view", ("0",), "fit the colour range to the present numbers"),
    Action("fit", "view", ("F",), "reset the camera"),
    Action("go_view", "view", tuple(map(str, VIEWS.all)), "go to a saved view", values=VIEWS, numbered=True),
    Action("keep_view", "view", tuple(f"Ctrl+{n}" for n in VIEWS.all), "save this view", values=VIEWS, numbered=True),
    Action("toggle_parallel", "view", ("O",), "switch between parallel projection and perspective"),
    Action("toggle_turntable", "view", ("Y",), "start or stop the automatic rotation"),
    Action("toggle_apart", "view", ("Z",), "move the plates apart, or back together", missing=_no_layers),
    Action("layer_after", "view", ("PageDown",), "show the next layer alone; after the last: all", missing=_no_layers),
    Action("layer_before", "view", ("PageUp",), "show the previous layer alone", missing=_no_layers),
    Action("screenshot", "file", ("S",), "save a screenshot", missing=_no_host),
    Action("film", "file", ("Ctrl+S",), "start or stop filming the window", missing=_no_host),
    Action("open", "file", ("Ctrl+O",), "open a picture or weights (or drop the file)", missing=_nothing_to_open),
    Action("paste", "edit", ("Ctrl+V",), "train on the table in the clipboard (or drop a .csv)", missing=_no_table),
    Action("toggle_panels", "view", ("Tab",), "switch: all panels, only the cubes, or the first layout", "all panels"),
    Action("toggle_layers", "view", ("D",), "show a table of layers: gradients, updates, dead units",
           missing=_no_layer_table),
    Action("toggle_theme", "view", ("L",), "switch between light and dark"),
    Action("toggle_full_screen", "host", ("F11",), "enter or leave full screen", missing=_no_host),
    Action("toggle_help", "view", ("?", "H", "F1"), "show or hide these keys", "all keys", inside="all keys"),
    Action("escape", "view", ("Escape",), "close what is open; press twice: close the window"),
    Action("close", "host", ("Ctrl+Q",), "close the window", missing=_no_host),
)  # fmt: skip

GESTURES = (
    _by_hand("Drag", "view", "turn the scene", first=True),
    _by_hand("Right drag", "view", "move the scene"),
    _by_hand("Drag or click", "time", "on the time bar: go to that step", _no_past),
    _by_hand("Click", "time", "on a ring of the time bar: go to that branch", _no_past),
    _by_hand("Click", "time", "on a divergence warning: return to the last good step", _no_past),
    _by_hand("Wheel", "view", "zoom to the pointer"),
    _by_hand("Click", "view", "on a cube: inspect it", first=True),
    _by_hand("Click", "view", "on the input's coloured square: show the next sample", _no_swatch),
    _by_hand("Double click", "view", "on a cube: select its neuron", _no_inspector),
    _by_hand("Ctrl+Click", "view", "on a cube: add it to the selection, or remove it", _no_inspector),
    _by_hand("Click", "view", "on empty space: close the controls", _no_training),
    _by_hand("Click", "view", "in the inspector: choose a part, sample or step", _no_inspector),
    _by_hand("Shift+Wheel", "edit", "over a cube: change its weight", no_edits),
    _by_hand("Drag", "edit", "on the inspector's value: change it", no_edits),
    _by_hand("Double click", "edit", "on the inspector's value: type it", no_edits),
)

WALL = (
    Action("left", "view", ("Left",), "choose the previous scene"),
    Action("right", "view", ("Right",), "choose the next scene", "next"),
    Action("up", "view", ("Up",), "choose the scene above"),
    Action("down", "view", ("Down",), "choose the scene below"),
    Action("enter", "view", ("Enter", "Space"), "open the chosen scene; Escape returns", "go in", hand="Click"),
    Action("tour", "view", ("T",), "start the one-minute tour", "tour"),
    Action("open", "view", ("Ctrl+O",), "open a picture, a table (.csv) or weights (or drop the file)",
           "open a file"),
    Action("escape", "view", ("Escape",), "close what is open; press twice: close the window"),
)  # fmt: skip

RUNS = (
    Action("left", "view", ("Left",), "choose the previous run"),
    Action("right", "view", ("Right",), "choose the next run", "next"),
    Action("up", "view", ("Up",), "choose the run above"),
    Action("down", "view", ("Down",), "choose the run below"),
    Action("page_up", "view", ("PageUp",), "scroll one page up (wheel: one row)", hand="Wheel"),
    Action("page_down", "view", ("PageDown",), "scroll one page down"),
    Action("first", "view", ("Home",), "go to the first run"),
    Action("last", "view", ("End",), "go to the last run"),
    Action("enter", "view", ("Enter", "Space"), "open the chosen run and train it further; Escape returns", "open",
           hand="Click"),
    Action("faces", "view", ("P",), "show the cubes or the panel of each run", "cubes or panel"),
    Action("kinds", "view", ("F",), "filter: all runs, those that learnt, the others", "filter"),
    Action("plots", "view", ("Tab",), "switch between plots and runs", "plots"),
    Action("larger", "view", ("=",), "enlarge the pictures"),
    Action("smaller", "view", ("-",), "shrink the pictures"),
    Action("escape", "view", ("Escape",), "close what is open; press twice: close the window"),
)  # fmt: skip

TOUR = (
    Action("next", "view", ("Right", "Space"), "go to the next station", "next"),
    Action("before", "view", ("Left",), "go to the previous station", "back"),
    Action("end", "view", ("Escape",), "end the tour and go to the wall", "end"),
)

GRAPH = (
    Action("closer", "view", ("=",), "zoom in; the wheel zooms both ways", hand="Wheel"),
    Action("farther", "view", ("-",), "zoom out"),
    Action("left", "view", ("Left",), "move left; a drag moves anywhere", hand="Drag"),
    Action("right", "view", ("Right",), "move right"),
    Action("up", "view", ("Up",), "move up"),
    Action("down", "view", ("Down",), "move down"),
    Action("fit", "view", ("Home",), "fit the whole graph", "fit", hand="Double click"),
    Action("unfold", "view", (), "unfold a folded module", hand="Click"),
    Action("fold", "view", ("Backspace",), "fold the module that was unfolded last", "fold again"),
    Action("escape", "view", ("Escape",), "close what is open; press twice: close the window"),
)

SHARED = ("toggle_theme", "toggle_full_screen", "screenshot", "film", "toggle_help", "close")
"""Actions that the windows of these tables share, with the same keys."""

PLAYED = {
    "toggle_run": Words("play or pause", "play", "play"),
    "step": Words("go to the next recorded step (Shift: ten)", "next", "next recorded step"),
    "back": Words("go to the previous one (Shift: ten)", "back"),
    "micro_next": Words("look inside the next step", "inside a step", "next"),
    "first": Words("go to the first recorded step"),
    "newest": Words("go to the last recorded step"),
    "faster": Words("double the speed"),
}
"""Texts of actions for a recording, whose steps are the recorded ones."""

BY_NAME = {action.name: action for action in ACTIONS}
_BY_KEY = {key: action for action in ACTIONS for key in action.keys}


def action_of(name: str) -> Action:
    """Return the action with this name, or raise UnknownNameError."""
    try:
        return BY_NAME[name]
    except (KeyError, TypeError):
        raise UnknownNameError(f"there is no action {name!r:.60}; allowed: {listing(BY_NAME)}") from None


def action_words(name: str, here: ActionContext) -> tuple[str, str]:
    """Return the first key of an action and what it does in this context."""
    action = action_of(name)
    return action.keys[0], action.words_in(here).does


def action_for_key(key: str) -> Action | None:
    """Return the action bound to a normalised key, or None."""
    return _BY_KEY.get(key)


def bottom_line(here: ActionContext) -> tuple[tuple[str, str], ...]:
    """Return key and text of each action in the bottom line."""
    return tuple((a.keys[0], a.words_in(here).words) for a in ACTIONS if a.applies(here) and a.words_in(here).words)


def inside_line(here: ActionContext) -> tuple[tuple[str, str], ...]:
    """Return key and text of each action in the bottom line of an opened step; micro-step keys come first."""
    there = [a for a in ACTIONS if a.applies(here) and a.words_in(here).inside]
    there.sort(key=lambda a: "micro" not in a.name)
    return tuple((a.keys[0], a.words_in(here).inside) for a in there)


def help_lines(here: ActionContext) -> tuple[tuple[str, str], ...]:
    """Return keys and gestures with what they do in this context, for the list of keys: the basics, then all in groups.

    A heading has no key.
    """
    groups: dict[str, list[tuple[str, str]]] = {heading: [] for heading in (FIRST, *HEADINGS.values(), "mouse")}
    for action in (*ACTIONS, *GESTURES):
        line = action.line()[0], action.words_in(here).does
        for heading in (*[FIRST] * action.first, HEADINGS[action.kind] if action.name else "mouse"):
            groups[heading] += [line] * action.applies(here)
    return tuple(line for heading, lines in groups.items() if lines for line in (("", heading), *lines))


def table_of(actions: Iterable[Action]) -> list[tuple[str, str]]:
    """Return the list of keys of a window that shows no run."""
    return [a.line() for a in (*actions, *map(action_of, SHARED))]
