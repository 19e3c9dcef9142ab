"""``scalarviz lessons``: the list of the lessons, and copies of their notebooks."""

from __future__ import annotations

from ..errors import InputError
from ..io.atomic import path_text
from ..lessons import shelf
from .console import say, tell


def lessons(folder: str | None, overwrite: bool, outputs: bool) -> int:
    """List the lessons, or copy them into `folder`; gives the exit code."""
    if folder is None:
        for given, name in ((overwrite, "--overwrite"), (outputs, "--outputs")):
            if given:
                raise InputError(f"lessons: {name} is about a folder: scalarviz lessons FOLDER {name}")
        for one in shelf.lessons():
            tell(f"{one.number}  {one.title}")
        say("Copy them with: scalarviz lessons FOLDER; then: jupyter lab FOLDER")
        return 0
    done = shelf.copy(folder, overwrite, outputs)
    for word, files in (("wrote", done.written), ("replaced", done.replaced)):
        for file in files:
            tell(f"{word} {path_text(file)}")
    for file in done.kept:
        say(f"kept {path_text(file)}: yours is another one; --overwrite replaces it")
    if done.same:
        say(f"{len(done.same)} of the files were there already")
    return 0
