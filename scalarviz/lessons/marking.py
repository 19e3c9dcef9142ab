"""Marks for notebooks that pupils have handed in: ``scalarviz lessons --check FOLDER``.

Each notebook runs in processes of its own, with limits of time and memory. It is a pupil's program: it may do what any
program may do, and it could write its own marks. Run files of strangers in a container.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any

from ..engine.cost import processors
from ..errors import InputError, MissingDependencyError, listing
from ..io.atomic import append_bytes, path_text, write_bytes

NUMBER = re.compile(r"""check\.exercise\(\s*["'](\d+b?\.\d+)["']""")
LESSON = re.compile(r"(\d\db?)(?![\da-z]).*\.ipynb")
"""The name of a file that begins with the number of a lesson."""
HIDDEN = re.compile(r"\.|__MACOSX$")
NOT_REACHED = "not reached"
LONGEST = 300
"""The most characters of what a check said, in a table."""
SPARE = 60.0
"""Seconds for the start and the end of a notebook's processes, beside its own time."""
BESIDE = 16 << 20
"""The most bytes of files beside a notebook that are copied for it."""


@dataclass
class Marked:
    """The marks of one notebook: of each exercise whether it is right, and what the check said last."""

    file: Path
    points: dict[str, tuple[int, str]] = field(default_factory=dict)
    remark: str = ""


def handed_in(folder: Path) -> dict[str, list[Path]]:
    """Return the notebooks of each student: those in a subfolder of that name, or one in the folder itself.

    A subfolder without a notebook stands in the list itself. InputError if there are no notebooks at all.
    """
    if not folder.is_dir():
        raise InputError(f"lessons: --check needs a folder of notebooks; {path_text(folder)} is none")
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        if not HIDDEN.match(path.name):
            if path.is_dir():
                found[path.name] = [file for file in _inside(path) if file.suffix == ".ipynb"] or [path]
            elif path.suffix == ".ipynb":
                found.setdefault(path.stem, []).append(path)
    if not any(file.suffix == ".ipynb" for mine in found.values() for file in mine):
        raise InputError(f"lessons: {path_text(folder)} has no notebooks (*.ipynb)")
    return found


def _inside(folder: Path) -> list[Path]:
    """Return what a folder contains at any depth, without subfolders and hidden files."""
    files = (path for path in sorted(folder.rglob("*")) if not path.is_dir())
    return [file for file in files if not any(HIDDEN.match(part) for part in file.relative_to(folder).parts)]


def marks_of(files: list[Path], seconds: float, megabytes: int) -> Iterator[Marked]:
    """Yield the marks of notebooks, in order; several run at the same time."""
    missing = [name for name in ("nbclient", "nbformat", "ipykernel") if find_spec(name) is None]
    if missing:
        needed = f"lessons: --check needs {' and '.join(missing)}"
        raise MissingDependencyError(f"{needed}; install the extra notebook (see docs/install.md)")
    with ThreadPoolExecutor(processors()) as pool:
        try:
            yield from pool.map(partial(_marked, seconds=seconds, megabytes=megabytes), files)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _marked(file: Path, seconds: float, megabytes: int) -> Marked:
    """Return the marks of a notebook, whatever it is."""
    found = Marked(file)
    try:
        if file.is_dir():
            names = listing(other.relative_to(file).as_posix() for other in _inside(file))
            found.remark = f"no notebook; there is {names[:200] or 'nothing'}"
        elif file.is_file():
            _run(found, seconds, megabytes)
        else:  # a pipe would never end
            found.remark = "it cannot be read: it is not a regular file"
    except Exception as error:
        found.remark = f"it cannot be read: {_words(error)}"
    if unknown := listing(number for number in found.points if number not in _exercises()):
        found.remark = f"no lesson has the exercise {unknown}; {found.remark}".removesuffix("; ")
    elif not (found.remark or best_of([found])):
        found.remark = "no exercise of a lesson was found"
    return found


def _run(found: Marked, seconds: float, megabytes: int) -> None:
    """Run a notebook in a process, whatever becomes of the process."""
    with tempfile.TemporaryDirectory(prefix="scalarviz-marks-", ignore_cleanup_errors=True) as place:
        work, room = Path(place) / "work", BESIDE
        work.mkdir()
        for other in sorted(found.file.parent.iterdir()):
            with suppress(OSError):
                wanted = other.is_file() and not other.is_symlink() and other.suffix != ".ipynb"
                if wanted and other.stat().st_size <= room:
                    room -= shutil.copyfile(other, work / other.name).stat().st_size
        given = str(found.file.absolute()), place, seconds, megabytes
        try:
            done = subprocess.run(
                [sys.executable, "-c", f"from {__name__} import execute; execute{given!r}"], capture_output=True,
                timeout=seconds + SPARE, check=False, encoding="utf-8", errors="replace",
            )  # fmt: skip
            found.remark = "; ".join(done.stdout.split("\n")).strip("; ")
            if done.returncode and not found.remark:
                found.remark = f"it could not be run: {(done.stderr.strip().splitlines() or ['no reason'])[-1]}"
        except subprocess.TimeoutExpired:
            found.remark = f"stopped after {seconds + SPARE:g} s; run it again with a larger --seconds"
        found.points = _said(Path(place) / "said.jsonl")


def _words(error: object) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def _name(number: Any) -> str:
    """Return the number of an exercise as the table of exercises writes it: 01.1 also for 1.1."""
    return f"0{number}" if re.match(r"\d[.b]", str(number)) else str(number)


def _said(file: Path) -> dict[str, tuple[int, str]]:
    """Return the marks that stand in a file: of each exercise the best ones, and the last of these."""
    best: dict[str, tuple[int, str]] = {}
    with suppress(OSError):
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            with suppress(ValueError, TypeError):
                number, right, text = json.loads(line)
                marks = int(bool(right)), str(text)
                if marks[0] >= best.get(str(number), marks)[0]:
                    best[str(number)] = marks
    return best


def execute(file: str, place: str, seconds: float, megabytes: int) -> None:
    """Run the cells of a notebook one after another, also after one that fails; print a remark if that cannot be."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    try:
        notebook: Any = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]
        codes = [cell.source for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
        asked = {_name(number): index for index, code in enumerate(codes, 1)
                 for number in NUMBER.findall(re.sub("#.*", "", code))}  # fmt: skip
    except Exception as error:
        print(f"it cannot be read: {_words(error)}")
        return
    said, ended, until = Path(place) / "said.jsonl", dict[int, str](), list[float]()

    def note(cell: Any, cell_index: int, execute_reply: Any) -> None:
        reply = execute_reply["content"]
        ended[cell_index] = _words(f"{reply['ename']}: {reply['evalue']}") if reply["status"] == "error" else ""
        until.append(monotonic() + seconds)  # the first one counts: the kernel is ready

    _write(said, *((number, 0, NOT_REACHED) for number in asked))
    codes.insert(0, f"import {__name__} as _marking; _marking.begin({str(said)!r}, {megabytes})")
    notebook.cells = [nbformat.v4.new_code_cell(code) for code in codes]  # type: ignore[no-untyped-call]
    client = NotebookClient(
        notebook, allow_errors=True, kernel_name="python3", resources={"metadata": {"path": f"{place}/work"}},
        timeout_func=lambda cell: max(1, round(until[0] - monotonic())) if until else None,
        on_cell_executed=note, shutdown_kernel="immediate",
    )  # fmt: skip
    try:
        client.execute()
    except CellTimeoutError:
        print(f"stopped after {seconds:g} s, in cell {len(ended)}; what had been checked until then counts")
    except DeadKernelError:
        print(f"its kernel ended: too much memory (its limit is {megabytes} MB), or exit()")
    if ended.get(0):
        print(f"its kernel could not start: {ended[0]}")
        return
    for number, (_, text) in _said(said).items():
        index = asked.get(number)
        if index in ended and text == NOT_REACHED:
            stops = (f"cell {i} stopped: {error}" for i, error in ended.items() if error and i <= index)
            _write(said, (number, 0, next(stops) if ended[index] else "its check did not answer: was it replaced?"))


def _write(said: Path, *marks: tuple[str, int, str]) -> None:
    with said.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(one) + "\n" for one in marks)


def begin(said: str, megabytes: int) -> None:
    """Prepare a kernel for a pupil's cells: a limit of memory, no pictures, and a list of what the checks say."""
    import numpy as np

    sv: Any = import_module("scalarviz")  # what the pupil's cells import
    with suppress(ImportError, ValueError, OSError):  # Windows has no such limit
        import resource

        limit = megabytes << 20
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    check = sv.check.exercise

    def exercise(number: Any, *given: Any, **more: Any) -> Any:
        report = check(number, *given, **more)
        _write(Path(said), (_name(number), int(report.passed), str(report)))
        return report

    sv.check.exercise = exercise
    nothing = lambda *given, **more: np.zeros((4, 4, 3), np.uint8)  # noqa: E731
    for owner, name in ((sv, "live"), (sv, "player"), (sv, "lesson"), (sv.view, "render"), (sv.view, "picture")):
        setattr(owner, name, nothing)


@cache
def _exercises() -> dict[str, str]:
    """Return the lesson of each exercise, in order."""
    from ..check.answers import ANSWERS  # building its networks takes time

    return {number: number.partition(".")[0] for number in ANSWERS}


def best_of(marked: list[Marked]) -> dict[str, tuple[int, str]]:
    """Return a student's best marks in all exercises of the lessons that were handed in.

    These are the lessons of which a notebook asks an exercise, and those with whose numbers its name begins.
    """
    known = _exercises()
    lessons = {name[1] for one in marked if (name := LESSON.match(one.file.name))}
    lessons |= {known.get(number, "") for one in marked for number in one.points}
    return {
        number: max((one.points[number] for one in marked if number in one.points),
                    default=(0, "the exercise is missing"))
        for number, lesson in known.items() if lesson in lessons
    }  # fmt: skip


def remarks_of(marked: list[Marked]) -> str:
    """Return the remarks on a student's notebooks."""
    return "; ".join(f"{one.file.name}: {one.remark}" for one in marked if one.remark)


class Table:
    """Marks in a file: a row for each student, two columns for each exercise of the lessons handed in.

    The file is whole after each student, with the mark by which spreadsheets know UTF-8.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, tuple[dict[str, tuple[int, str]], str]] = {}  # the best marks, and the remarks
        self._numbers: list[str] = []

    def add(self, student: str, marked: list[Marked]) -> None:
        """Write a student's row behind the others; the first marks of a lesson add columns to all rows."""
        best = best_of(marked)
        self.rows[student] = best, remarks_of(marked)
        numbers = [number for number in _exercises() if number in best or number in self._numbers]
        if self.path.is_file() and numbers == self._numbers and len(self.rows) > 1:
            append_bytes(self.path, self._text(self._row(student)).encode("utf-8", "backslashreplace"))
            return
        self._numbers = numbers
        said = (name for number in numbers for name in (number, f"{number} said"))
        every = (self._row(name) for name in self.rows)
        text = self._text(["student", "points", "of", *said, "remarks"], *every)
        write_bytes(self.path, text.encode("utf-8-sig", "backslashreplace"))

    def _row(self, student: str) -> list[Any]:
        best, remarks = self.rows[student]
        row: list[Any] = [_safe(student), sum(right for right, _ in best.values()), len(best)]
        for number in self._numbers:
            right, said = best.get(number, ("", ""))
            row += [right, _safe(" ".join(said.split())[:LONGEST])]
        return [*row, _safe(remarks)]

    @staticmethod
    def _text(*rows: list[Any]) -> str:
        text = io.StringIO()
        csv.writer(text).writerows(rows)
        return text.getvalue()


def _safe(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
