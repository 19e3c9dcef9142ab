"""The frame of a command's window, shown before the command is read.

Reading the flags, the scene, numba and the view take seconds. What a window is called can be told from the words of a
command line alone: so its frame stands at once, and becomes the window later. A line that will be refused for what one
flag says alone gets none: the flags are read in the text of the options, where a scene has them. What is refused for
more takes its frame back. Imports nothing heavy.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from operator import ge, gt, le, lt
from pathlib import Path
from typing import Any

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
    if arguments[0] == "watch":  # flags behind the script are the script's
        return Path(arguments[1]).stem if len(arguments) > 1 and Path(arguments[1]).is_file() else ""
    if any(argument.partition("=")[0] in NO_WINDOW for argument in arguments):
        return ""
    (command, *more), scenes = arguments, scene_files()
    if command in scenes and not _heard(more, scenes[command], scenes["rgb"].with_name("options.py")):
        return ""
    if command == "tour" or command in scenes:
        return command
    file = command if command.endswith(".py") else more[0] if command in _OF_A_FILE and more else ""
    return Path(file).stem if file and Path(file).is_file() else ""


# ---- Flags, by the text of the classes that declare them.

_BOUNDS: dict[str, Callable[[float, float], bool]] = {"ge": ge, "gt": gt, "le": le, "lt": lt}
Field = tuple[str, dict[str, Any]]
"""The annotation of a flag, without None, and what else its text says."""


def _heard(arguments: Sequence[str], scene: Path, options: Path) -> bool:
    """Whether a scene may hear these arguments: it has these flags, and each value is one that its text allows."""
    flags, kinds, places, rest = dict[str, Field](), dict[str, Field](), 0, [*arguments]
    for name, (kind, more) in (*_fields(options, kinds), *_fields(scene, kinds)):
        flags[more.get("name") or "--" + name.replace("_", "-")] = kind, more
        places += bool(more.get("argument"))
    while rest:
        flag, equals, value = rest.pop(0).partition("=")
        if not flag.startswith("-"):
            places -= 1
        elif flag not in flags:
            return False
        elif flags[flag][0] == "bool":
            if equals:
                return False
        elif not (equals or rest) or not _allowed(value if equals else rest.pop(0), *flags[flag]):
            return False
    return places >= 0


def _allowed(typed: str, kind: str, more: Mapping[str, Any]) -> bool:
    value: Any = typed
    if kind in ("int", "float"):
        try:
            value = int(typed) if kind == "int" else float(typed)
        except ValueError:
            return False
        if not all(holds(value, more[name]) for name, holds in _BOUNDS.items() if name in more):
            return False
    return value in more["choices"] if more.get("choices") else True


def _fields(path: Path, kinds: dict[str, Field]) -> Iterator[tuple[str, Field]]:
    """The fields of a file's classes by name; to `kinds` come those types that the file gives a name."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("Annotated["):
            kind, *more = node.value.slice.elts  # type: ignore[attr-defined] # of such a text
            kinds[ast.unparse(node.targets[0])] = ast.unparse(kind), _literals(more)
        for line in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                kind = ast.unparse(line.annotation).removesuffix(" | None")
                kind, more = kinds.get(kind, (kind, {}))
                if kind.startswith("Literal["):
                    more = {"choices": ast.literal_eval(f"({kind[8:-1]},)")}
                yield line.target.id, (kind, more | _literals([line.value]))


def _literals(calls: Sequence[ast.expr | None]) -> dict[str, Any]:
    """What is given by name in calls, where it is written out."""
    found = dict[str, Any]()
    for word in (word for call in calls if isinstance(call, ast.Call) for word in call.keywords):
        with suppress(ValueError):
            found[str(word.arg)] = ast.literal_eval(word.value)
    return found


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
