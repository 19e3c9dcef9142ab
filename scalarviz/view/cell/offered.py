"""What a cell of numbers has of a window's actions: one list; of all others why not, and what to do instead."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..watch.actions import ACTIONS, Action

OWN = {
    "fit": "fit the camera", "toggle_theme": "light or dark", "refit_range": "fit the range of the colours anew",
    "toggle_parallel": "parallel lines, or perspective", "type_value": "type the clicked cube's value",
    "toggle_help": "show or hide these keys", "break_on": "pause where a condition becomes true: type it",
}  # fmt: skip
"""Actions that the browser does by itself, and what they do there."""
_PICTURES = 'the window\'s picture has it: `display="pictures"`'
_BROWSER = "the browser's own key"
NOT_HERE = {
    "toggle_controls": "the controls always stand below the cubes",
    "toggle_panels": f'{_BROWSER}; `hide=("panels",)` leaves the panels out', "toggle_layers": _PICTURES,
    "type_word": _PICTURES, "escape": "Escape lets go of the clicked cube", "open": "load a file in Python",
    "paste": "learn a table in Python", "go_view": _BROWSER, "keep_view": _BROWSER, "toggle_turntable": _PICTURES,
    "toggle_apart": _PICTURES, "layer_after": _PICTURES, "layer_before": _PICTURES,
    "screenshot": "the last frame stays in the saved notebook", "film": "`sv.Recording` and `sv.player`",
    "toggle_full_screen": "a cell has no window", "close": "`w.close()`",
}  # fmt: skip
"""Actions that there are not, and why or what instead."""
ALLOWED = tuple(one.name for one in ACTIONS if one.name not in NOT_HERE and one.name not in OWN)
"""Names of actions that may be asked for."""
COVERS = {
    "learning rate": ("raise_rate", "lower_rate"), "pace": ("slower", "faster", "normal_speed"),
    "timeline": ("first", "newest", "name_moment", "toggle_loop"),
    "micro_next": ("micro_back", "whose", "add_samples"), "pause when": ("break_on",),
    "toggle_run": (), "step": (), "back": (), "restart": (),
    "inspector": ("nudge_up", "nudge_down", "freeze", "zero", "halve", "double", "redraw", "find_sign", "select_more",
                  "type_value"),
}  # fmt: skip
"""What is left out together with a control: keys do the same as its slider."""


def covered(hidden: Collection[str]) -> frozenset[str]:
    """Names that are left out, with what goes with them."""
    return frozenset(hidden).union(*(COVERS.get(name, ()) for name in hidden))


def keys_of(hidden: Collection[str]) -> list[dict[str, object]]:
    """Name, keys and words of the actions of a cell, and of what its browser does by itself."""
    left_out = covered(hidden)
    return [{"name": one.name, "keys": list(one.keys), "does": OWN.get(one.name, one.does), "own": one.name in OWN,
             "takes": one.values is not None}
            for one in ACTIONS if one.name not in NOT_HERE and one.name not in left_out]  # fmt: skip


def markdown() -> str:
    """The tables as docs/notebooks.md prints them."""
    there = [(_keys(one), OWN.get(one.name, one.does)) for one in ACTIONS if one.name not in NOT_HERE]
    away = [(f"{_keys(one)} {one.does}", NOT_HERE[one.name]) for one in ACTIONS if one.name in NOT_HERE]
    return "\n".join((_table(("key", "does"), there), _table(("not in a cell", "instead"), away)))


def _keys(action: Action) -> str:
    return " or ".join(f"`{name}`" for name in action.pressed)


def _table(head: tuple[str, str], rows: Iterable[tuple[str, str]]) -> str:
    lines = [head, ("---", "---"), *rows]
    return "".join(f"| {first} | {second} |\n".replace("| --- | --- |", "|---|---|") for first, second in lines)
