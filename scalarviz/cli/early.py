"""The frame of a command's window, shown before the command is read.

Reading the flags, the scene, numba and the view take seconds. What a window is called can be told from the words of a
command line alone: so its frame stands at once, and becomes the window later. A line that is refused takes it back.
Imports nothing heavy.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .. import display
from .here import scene_files

NO_WINDOW = ("-h", "--help", "--help-all", "--headless", "--html", "--out", "--version")
"""Flags with which a command opens none."""
ALL = "all scenes"
"""What the wall's window is called."""
_OF_A_FILE = ("replay", "view")


@contextmanager
def early(arguments: Sequence[str]) -> Iterator[None]:
    """Show the frame of the window that a command line asks for, and take it back if no window came."""
    try:
        if display.has_display() and (name := window_name(arguments)):
            display.open_early(name, _size(_given(arguments, "--size")), _given(arguments, "--theme"))
        yield
    finally:
        display.close_early()


def window_name(arguments: Sequence[str]) -> str:
    """What the window of a command line is called; empty where it opens none."""
    if not arguments:
        return ALL if sys.stdout is not None and sys.stdout.isatty() else ""
    if any(argument.partition("=")[0] in NO_WINDOW for argument in arguments):
        return ""
    command, *more = arguments
    if command == "tour" or command in scene_files():
        return command
    file = command if command.endswith(".py") else more[0] if command in _OF_A_FILE and more else ""
    return Path(file).stem if file and Path(file).is_file() else ""


def _given(arguments: Sequence[str], flag: str) -> str:
    """The value of a flag, as it was typed; empty without it."""
    for place, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name == flag:
            return value if equals else next(iter(arguments[place + 1 :]), "")
    return ""


def _size(typed: str) -> tuple[int, int]:
    """A size of pixels; the usual one for what is none, which the command refuses."""
    found = re.fullmatch(r"(\d{2,4})[xX×](\d{2,4})", typed)
    return (int(found[1]), int(found[2])) if found else display.SIZE
