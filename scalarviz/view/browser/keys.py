"""The keys of a page: those of the table of actions that a recording in a browser can do, in its own words."""

from __future__ import annotations

from typing import Any

from ..watch.actions import action_of

RECORDED = {
    "toggle_run": ("play or pause", "play"),
    "step": ("the next recorded step (Shift: ten)", "next"),
    "back": ("the one before (Shift: ten)", "back"),
    "micro_next": ("into the step that follows: the next micro-step", "micro-step"),
    "micro_back": ("the micro-step before", ""),
    "whose": ("", ""),
    "first": ("the first recorded step", ""),
    "newest": ("the last one", ""),
    "slower": ("", ""),
    "faster": ("twice the speed", ""),
    "normal_speed": ("", ""),
    "show_weights": ("", ""),
    "show_gradients": ("", ""),
    "show_updates": ("", ""),
    "show_ratio": ("", ""),
    "fit": ("fit the camera", "fit"),
    "toggle_theme": ("", ""),
    "toggle_help": ("", "all keys"),
    "escape": ("close what is open", ""),
}
"""What an action does there, and what the line of keys says; empty: what the table says, and nothing."""
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
    for name, (does, words) in RECORDED.items():
        action = action_of(name)
        if NEEDS.get(name, set()) <= recorded:
            found.append({"name": name, "keys": list(action.keys), "does": does or action.does, "words": words})
    return found
