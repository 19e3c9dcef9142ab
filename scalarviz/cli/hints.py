"""What helps after a command line that was refused: where to read more, and the usual slips of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePath

from ..errors import listing
from .here import scene_names

SHOWN_BY = {".svs": "view", ".onnx": "view", ".safetensors": "view", ".svz": "replay"}
"""Which command shows a file, by its ending."""
TYPED_APART = "unexpected extra argument"
"""What typer says of a word that no flag takes."""


def hint(arguments: Sequence[str], name: str, commands: Sequence[str], said: str) -> str:
    """The line below an error.

    Parameters
    ----------
    arguments : sequence of str
        What was typed.
    name : str
        The command; empty where none was named.
    commands : sequence of str
        Those that are no scenes.
    said : str
        The error.
    """
    if name == "sweep":
        return _of_sweep(arguments, said)
    if command := SHOWN_BY.get(PurePath(name).suffix.lower()):
        return f"Try: scalarviz {command} {name}"
    if not name or name in scene_names() or name in commands or name.endswith(".py"):
        return f"Try: scalarviz {name + ' ' if name else ''}--help"
    return f"Try: scalarviz --help; the scenes are {listing(scene_names())}"


def scene_in(arguments: Sequence[str]) -> str | None:
    """The scene that a command line of `sweep` names."""
    return next((a for a in arguments if a in scene_names() or (a.endswith(".py") and not a.startswith("-"))), None)


def _of_sweep(arguments: Sequence[str], said: str) -> str:
    scene = scene_in(arguments)
    if TYPED_APART in said and any(a == "--grid" or a.startswith("--grid=") for a in arguments):
        return 'Try: one pair of quotation marks around an option and its values: --grid "lr=0.1 0.5 1"'
    flag, values = _several(arguments, said)
    if flag:
        return f'Try: --grid "{flag.lstrip("-")}={values}", which tries each of them'
    return f"Try: scalarviz sweep {scene + ' ' if scene else ''}--help"


def _several(arguments: Sequence[str], said: str) -> tuple[str, str]:
    """A flag with several values, which was refused, and these with blanks between; empty where there is none."""
    for flag, value in pairwise(arguments):
        values = value.replace(",", " ").split()
        if flag.startswith("--") and len(values) > 1 and f"'{flag}'" in said:
            return flag, " ".join(values)
    return "", ""
