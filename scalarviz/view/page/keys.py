"""The keys of a page: those of the table of actions that a recording in a browser can do, in its own words."""

from __future__ import annotations

from typing import Any

from ..watch.actions import PLAYED, Words, action_of

RECORDED = {
    "toggle_run": None, "step": None, "back": None, "micro_next": None, "micro_back": None, "whose": None,
    "first": None, "newest": None, "slower": None, "faster": Words("twice the speed"), "normal_speed": None,
    "show_weights": None, "show_gradients": Words(""), "show_updates": None, "show_ratio": None,
    "fit": Words("fit the camera", "fit"),
    "toggle_theme": None, "toggle_help": Words("", "all keys"), "escape": Words("close what is open"),
}  # fmt: skip
"""An action of a page, and what it is called there; None: what recordings say of it in a window, and what is empty is
what the table says."""
NEEDS = {
    "micro_next": {"micro"},
    "micro_back": {"micro"},
    "whose": {"micro"},
    "show_gradients": {"gradient"},
    "show_updates": {"update"},
    "show_ratio": {"weight", "update"},
}
"""What has to be recorded."""
GESTURES = (
    ("Drag", "turn the scene"),
    ("Right drag, two fingers", "shift the scene"),
    ("Wheel, two fingers", "zoom"),
    ("Click, tap", "a cube: look into it"),
    ("Drag", "the time bar: go to that step"),
)


def keys_of(recorded: set[str]) -> list[dict[str, Any]]:
    """Name, keys and words of each action, for a page with these quantities."""
    found: list[dict[str, Any]] = []
    for name, own in RECORDED.items():
        action, (does, words, _) = action_of(name), own or PLAYED.get(name, Words(""))
        if NEEDS.get(name, set()) <= recorded:
            found.append({"name": name, "keys": list(action.keys), "does": does or action.does, "words": words})
    return found
