"""``scalarviz lessons``: list the lessons, or copy their notebooks."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from ..errors import InputError
from ..io.atomic import path_text
from ..lessons import shelf
from .console import say, tell
from .flags import Command, argument, model_of


def command() -> Command:
    """Return the flags and the function of the command."""
    flags = {
        "folder": (str | None, argument("The folder into which to copy the notebooks.")),
        "overwrite": (bool, Field(False, description="Replace files in the folder that differ from the new copies.")),
        "outputs": (
            bool,
            Field(False, description="Include the outputs of the cells; without outputs, pupils predict first."),
        ),
    }
    return model_of("LessonsOptions", flags, ()), lessons


def lessons(options: Any) -> int:
    """List the lessons, or copy them into a folder; return the exit code."""
    if options.folder is None:
        for given, name in ((options.overwrite, "--overwrite"), (options.outputs, "--outputs")):
            if given:
                raise InputError(f"lessons: {name} needs a folder: scalarviz lessons FOLDER {name}")
        for one in shelf.lessons():
            tell(f"{one.number}  {one.title}")
        say("To copy them: scalarviz lessons FOLDER; to open them: jupyter lab FOLDER")
        return 0
    done = shelf.copy(options.folder, options.overwrite, options.outputs)
    for word, files in (("wrote", done.written), ("replaced", done.replaced)):
        for file in files:
            tell(f"{word} {path_text(file)}")
    for file in done.kept:
        say(f"kept {path_text(file)}: your copy differs; --overwrite replaces it")
    if done.same:
        say(f"{len(done.same)} of the files were already there")
    return 0
