"""What a key is called.

Backends name keys differently: Qt through vispy says ``Right``, a browser ``ArrowRight``, some send the character.
:func:`normalised` brings them to the names of the table in `actions`.
"""

from __future__ import annotations

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
"""Keys that mean nothing by themselves."""


def normalised(name: str | None, text: str = "", *, ctrl: bool = False, shift: bool = False) -> str:
    """The name of a key in the table's form, whatever the backend calls it.

    Parameters
    ----------
    name : str or None
        The backend's name (``"Right"``, ``"ArrowRight"``, ``"w"``, ``"KeyW"``).
    text : str
        The character that it types, which decides for ``?`` and brackets on other keyboards.
    ctrl : bool
        Whether the Control key (on macOS: Command) is down.
    shift : bool
        Whether the Shift key is to be part of the name.

    Returns
    -------
    str
        ``"Right"``, ``"W"``, ``"?"``, ``"Ctrl+Q"``, ``"Ctrl+Shift+Z"``; empty for nothing, and for a key like Shift
        alone.
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
