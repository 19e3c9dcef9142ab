"""The keys: one table that feeds the window, the overlay, the line at the bottom, the README and a test.

Backends name keys differently (Qt through vispy says ``Right``, a browser ``ArrowRight``, some send the character):
:func:`normalised` brings them to the names of this table.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Key:
    """One line of the table.

    Attributes
    ----------
    keys : tuple of str
        Normalised names; the first is the one shown, the others are aliases.
    action : str
        Name of the method of the window's commands that it calls.
    does : str
        What the overlay says.
    short : str
        What the line at the bottom says; empty leaves it out.
    """

    keys: tuple[str, ...]
    action: str
    does: str
    short: str = ""


TABLE: tuple[Key, ...] = (
    Key(("Space", "T"), "toggle_run", "run or pause", "run"),
    Key(("Right",), "step", "one training step (Shift: ten)", "step"),
    Key(("[",), "slower", "half the speed"),
    Key(("]",), "faster", "twice the speed, in the end no limit", "faster"),
    Key(("\\",), "normal_speed", "normal speed"),
    Key(("W",), "show_weights", "colour by value"),
    Key(("G",), "show_gradients", "colour by gradient", "gradient"),
    Key(("U",), "show_updates", "colour by last update"),
    Key(("Up",), "raise_rate", "twice the learning rate"),
    Key(("Down",), "lower_rate", "half the learning rate"),
    Key(("C",), "next_map", "next colour map"),
    Key(("0",), "refit_range", "fit the range of the colours anew"),
    Key(("F",), "fit", "fit the camera"),
    Key(("S",), "screenshot", "save a screenshot"),
    Key(("Tab",), "toggle_panels", "hide or show all panels", "hide panels"),
    Key(("L",), "toggle_theme", "light or dark"),
    Key(("F11",), "toggle_full_screen", "full screen"),
    Key(("?", "H"), "toggle_help", "show or hide these keys", "all keys"),
    Key(("Escape",), "escape", "close this list, let go of a cube, close the window"),
)

_NAMES = {
    "ARROWLEFT": "Left", "ARROWRIGHT": "Right", "ARROWUP": "Up", "ARROWDOWN": "Down", " ": "Space", "SPACEBAR": "Space",
    "ESC": "Escape", "\t": "Tab", "QUESTION": "?", "BRACKETLEFT": "[", "BRACKETRIGHT": "]", "BACKSLASH": "\\",
    "DIGIT0": "0", "NUMPAD0": "0", "BACKTAB": "Tab",
}  # fmt: skip
_BY_KEY = {name: key for key in TABLE for name in key.keys}


def normalised(name: str | None, text: str = "") -> str:
    """The name of a key in the table's form, whatever the backend calls it.

    Parameters
    ----------
    name : str or None
        The backend's name (``"Right"``, ``"ArrowRight"``, ``"w"``, ``"KeyW"``).
    text : str
        The character that it types, which decides for ``?`` and brackets on other keyboards.

    Returns
    -------
    str
        ``"Right"``, ``"W"``, ``"?"``; empty for nothing.
    """
    if text and text in "?[]\\0":
        return text
    if not name:
        return text.upper()
    upper = name.upper()
    if upper in _NAMES:
        return _NAMES[upper]
    if len(upper) == 4 and upper.startswith("KEY"):
        return upper[3]
    return upper if len(upper) == 1 or (upper[0] == "F" and upper[1:].isdigit()) else name.capitalize()


def find(name: str) -> Key | None:
    """The line of the table that the normalised key `name` belongs to."""
    return _BY_KEY.get(name)


def bottom_line(viewer: type) -> tuple[tuple[str, str], ...]:
    """Key and short text of the entries that the line at the bottom shows, for a class that has their actions."""
    return tuple((key.keys[0], key.short) for key in TABLE if key.short and hasattr(viewer, key.action))


def help_lines(viewer: type | None = None) -> tuple[tuple[str, str], ...]:
    """Keys and what they do, for the overlay and the README; those that `viewer`, a class, has actions for."""
    known = (key for key in TABLE if viewer is None or hasattr(viewer, key.action))
    return tuple((" or ".join(key.keys), key.does) for key in known)


def markdown() -> str:
    """The table as the README prints it."""
    rows = "\n".join(f"| {' or '.join(f'`{name}`' for name in key.keys)} | {key.does} |" for key in TABLE)
    return f"| key | does |\n|---|---|\n{rows}\n"


MOUSE: tuple[tuple[str, str, str], ...] = (
    ("Drag", "move", "turn the scene, or the colour cube (right button: shift)"),
    ("Wheel", "scroll", "zoom; over a cube: change that weight"),
    ("Click", "click", "a cube: look into it"),
    ("Click", "retarget", "a colour of the cube, then its new target"),
)
"""Gesture, the method that it calls, and what it does."""


def mouse_lines(viewer: type | None = None) -> tuple[tuple[str, str], ...]:
    """Gestures and what they do, after :func:`help_lines`."""
    return tuple((gesture, does) for gesture, action, does in MOUSE if viewer is None or hasattr(viewer, action))
