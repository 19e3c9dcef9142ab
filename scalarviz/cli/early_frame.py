"""Show the frame of a command's window before the command is read.

Loading the flags, the scene, numba and the view takes seconds. The command line alone tells the title of the window, so
its frame opens at once and becomes the window later. A line with an unknown flag, or a flag without its value, opens
none: the flags are read from the text of the options. If the command is refused later, the frame closes. This module
imports nothing heavy.
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
"""Flags that open no window."""
ALL = "all scenes"
"""Title of the window with the wall of scenes."""
_OF_A_FILE = ("replay", "view")


@contextmanager
def early_frame(arguments: Sequence[str]) -> Iterator[None]:
    """Show the frame of the window that a command line asks for, and close it if no window opens."""
    try:
        if display.has_display() and (name := window_name(arguments)):
            display.open_early(name, _size(_flag_value(arguments, "--size")), _flag_value(arguments, "--theme"))
        yield
    finally:
        display.close_early()


def window_name(arguments: Sequence[str]) -> str:
    """Return the title of a command line's window; empty if it opens none."""
    if not arguments:
        return ALL if sys.stdout is not None and sys.stdout.isatty() else ""
    if arguments[0] == "watch":  # flags after the script belong to the script
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


# ---- Flags, from the text of the classes that declare them.


def _has_flags(arguments: Sequence[str], scene: Path, options: Path) -> bool:
    """Return whether a scene has these flags, each with a value unless it is a switch."""
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
    """Yield the fields of a file's classes: name, whether it is a switch, and constants of its declaration."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        for line in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                words = line.value.keywords if isinstance(line.value, ast.Call) else ()
                more = {word.arg: word.value.value for word in words if isinstance(word.value, ast.Constant)}
                yield line.target.id, ast.unparse(line.annotation) == "bool", more


def _flag_value(arguments: Sequence[str], flag: str) -> str:
    """Return the value of a flag, as typed; empty without it."""
    for place, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name == flag:
            return value if equals else next(iter(arguments[place + 1 :]), "")
    return ""


def _size(typed: str) -> tuple[int, int]:
    """Return a size in pixels; the default for an invalid one, which the command will refuse."""
    found = re.fullmatch(r"(\d{2,4})[xX×](\d{2,4})", typed)
    return (int(found[1]), int(found[2])) if found else display.SIZE
