"""``scalarviz lessons``: list the lessons, copy their notebooks, or mark those that pupils have handed in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from ..errors import InputError
from ..io.atomic import check_target, path_text
from ..lessons import marking, shelf
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
        "only": (
            str | None,
            Field(None, description="The numbers of the lessons to copy, such as 01,01b,02; without it, all."),
        ),
        "check": (
            str | None,
            Field(None, description="Run the notebooks in this folder (a subfolder for each student) and mark them."),
        ),
        "table": (
            str,
            Field("marks.csv", description="The file for the marks.", json_schema_extra={"written": True}),
        ),
        "seconds": (float, Field(120.0, gt=0, description="The most time for one notebook.")),
        "megabytes": (int, Field(2048, ge=512, description="The most memory for one notebook.")),
    }
    return model_of("LessonsOptions", flags, ()), lessons


def lessons(options: Any) -> int:
    """List the lessons, or copy them into a folder; return the exit code."""
    if options.check is not None:
        return _mark(options)
    for name in ("table", "seconds", "megabytes"):
        if name in options.model_fields_set:
            raise InputError(f"lessons: --{name} needs --check: scalarviz lessons --check FOLDER --{name} ...")
    if options.folder is None:
        needing = (options.overwrite, "--overwrite"), (options.outputs, "--outputs"), (options.only, "--only")
        for given, name in needing:
            if given:
                raise InputError(f"lessons: {name} needs a folder: scalarviz lessons FOLDER {name}")
        for one in shelf.lessons():
            tell(f"{one.number}  {one.title}")
        say("To copy them: scalarviz lessons FOLDER; to open them: jupyter lab FOLDER")
        return 0
    numbers = () if options.only is None else options.only.split(",")
    done = shelf.copy(options.folder, options.overwrite, options.outputs, numbers)
    for word, files in (("wrote", done.written), ("replaced", done.replaced)):
        for file in files:
            tell(f"{word} {path_text(file)}")
    for file in done.kept:
        say(f"kept {path_text(file)}: your copy differs; --overwrite replaces it")
    if done.same:
        say(f"{len(done.same)} of the files were already there")
    return 0


def _mark(options: Any) -> int:
    """Mark the notebooks of a folder; a table is there after each student, also if the command is interrupted."""
    path = Path(options.table)
    table = marking.Table(path)
    if options.folder is not None or options.outputs or options.only:
        raise InputError("lessons: --check takes its folder itself: scalarviz lessons --check FOLDER --table marks.csv")
    if path.exists() and not options.overwrite:
        raise InputError(f"lessons: {path_text(path)} exists; --overwrite replaces it, or give another --table")
    check_target(path)
    students = marking.handed_in(Path(options.check))
    files = [file for mine in students.values() for file in mine]
    notebooks = _counted(sum(file.suffix == ".ipynb" for file in files), "notebook")
    say(f"{notebooks} of {_counted(len(students), 'student')} run now: this runs the students' own programs")
    marks = marking.marks_of(files, options.seconds, options.megabytes)
    try:
        for student, mine in students.items():
            table.add(student, [next(marks) for _ in mine])
            best, remarks = table.rows[student]
            right = sum(points for points, _ in best.values())
            tell(f"{student}: {right} of {len(best)} right{remarks and f'; {remarks}'}")
    except KeyboardInterrupt:
        if table.rows:
            say(f"{len(table.rows)} of {_counted(len(students), 'student')} are in {path_text(path)}")
        raise
    tell(f"wrote {path_text(path)}")
    return 0


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"
