"""The frame of a command's window, shown before the command is read.

Reading the flags, the scene, numba and the view take seconds. What a window is called can be told from the words of a
command line alone: so its frame stands at once, and becomes the window later. A line with a flag that the scene lacks,
or without the value of one, gets none: the names are read in the text of the options. What is refused for more takes
its frame back. Imports nothing heavy.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .. import display
from .scene_files import scene_files

NO_WINDOW = ("-h", "--help", "--help-all", "--headless", "--html", "--out", "--version")
"""Flags with which a command opens none."""
ALL = "all scenes"
"""What the wall's window is called."""
_OF_A_FILE = ("replay", "view")


@contextmanager
def early_frame(arguments: Sequence[str]) -> Iterator[None]:
    """Show the frame of the window that a command line asks for, and take it back if no window came."""
    try:
        if display.has_display() and (name := window_name(arguments)):
            display.open_early(name, _size(_flag_value(arguments, "--size")), _flag_value(arguments, "--theme"))
        yield
    finally:
        display.close_early()


def window_name(arguments: Sequence[str]) -> str:
    """What the window of a command line is called; empty where it opens none."""
    if not arguments:
        return ALL if sys.stdout is not None and sys.stdout.isatty() else ""
    if arguments[0] == "watch":  # flags behind the script are the script's
        return Path(arguments[1]).stem if len(arguments) > 1 and Path(arguments[1]).is_file() else ""
    if any(argument.partition("=")[0] in NO_WINDOW for argument in arguments):
        return ""
    (command, *more), scenes = arguments, scene_files()
    if command in scenes and not _has_flags(more, scenes[command], scenes["rgb"].with_name("options.py")):
        return ""
    if command == "tour" or command in scenes:
        return command
    file = command if command.endswith(".py") else more[0] if command in _OF_A_FILE and more else ""
    return Path(file).stem if file and Path(file).is_file() else ""


# ---- Flags, by the text of the classes that declare them.


def _has_flags(arguments: Sequence[str], scene: Path, options: Path) -> bool:
    """Whether a scene has these flags, each with its value, or without where it is a switch."""
    switches, places, rest = dict[str, bool](), 0, [*arguments]
    for name, is_switch, more in (*_fields(options), *_fields(scene)):
        switches[more.get("name") or "--" + name.replace("_", "-")] = is_switch
        places += bool(more.get("argument"))
    while rest:
        flag, equals, _ = rest.pop(0).partition("=")
        if not flag.startswith("-"):
            places -= 1
        elif flag not in switches or (switches[flag] and equals) or not (switches[flag] or equals or rest):
            return False
        elif not (switches[flag] or equals):
            rest.pop(0)
    return places >= 0


def _fields(path: Path) -> Iterator[tuple[str, bool, dict[str | None, Any]]]:
    """The fields of a file's classes: name, whether it is a switch, and what its text says of it by name."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        for line in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                words = line.value.keywords if isinstance(line.value, ast.Call) else ()
                more = {word.arg: word.value.value for word in words if isinstance(word.value, ast.Constant)}
                yield line.target.id, ast.unparse(line.annotation) == "bool", more


def _flag_value(arguments: Sequence[str], flag: str) -> str:
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
