"""Marks for notebooks that pupils have handed in: ``scalarviz lessons --check FOLDER``.

Each notebook runs in processes of its own, with limits of time and memory. It is a pupil's program: it may do what any
program may do, and it could write its own marks. Run files of strangers in a container.
"""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any

from ..engine.cost import processors
from ..errors import InputError, MissingDependencyError
from ..io.atomic import path_text, write_bytes

NUMBER = re.compile(r"""check\.exercise\(\s*["'](\d+b?\.\d+)["']""")
LONGEST = 300
"""The most characters of what a check said, in a table."""
SPARE = 20.0
"""Seconds for the start and the end of a notebook's processes, beside its own time."""


@dataclass
class Marked:
    """The marks of one notebook: of each exercise whether it is right, and what the check said last."""

    file: Path
    points: dict[str, tuple[int, str]] = field(default_factory=dict)
    remark: str = ""


def handed_in(folder: Path) -> dict[str, list[Path]]:
    """Return the notebooks of each student: those in a subfolder of that name, or one in the folder itself.

    InputError if there are none.
    """
    if not folder.is_dir():
        raise InputError(f"lessons: --check needs a folder of notebooks; {path_text(folder)} is none")
    found: dict[str, list[Path]] = {}
    for file in sorted(folder.rglob("*.ipynb")):
        inside = file.relative_to(folder).parts
        if not any(part.startswith(".") for part in inside):
            found.setdefault(inside[0] if len(inside) > 1 else file.stem, []).append(file)
    if not found:
        raise InputError(f"lessons: {path_text(folder)} has no notebooks (*.ipynb)")
    return found


def marks_of(files: list[Path], seconds: float, megabytes: int) -> Iterator[Marked]:
    """Yield the marks of notebooks, in order; several run at the same time."""
    missing = [name for name in ("nbclient", "nbformat", "ipykernel") if find_spec(name) is None]
    if missing:
        raise MissingDependencyError(
            f"lessons: --check needs {' and '.join(missing)}; install the extra notebook (see docs/install.md)"
        )
    with ThreadPoolExecutor(processors()) as pool:
        try:
            yield from pool.map(partial(_marked, seconds=seconds, megabytes=megabytes), files)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _marked(file: Path, seconds: float, megabytes: int) -> Marked:
    """Run a notebook in a process and return its marks, whatever becomes of the process."""
    found = Marked(file)
    with tempfile.TemporaryDirectory(prefix="scalarviz-marks-") as place:
        said = Path(place) / "said.jsonl"
        code = (
            f"from {__name__} import execute; execute({str(file.resolve())!r}, {place!r}, {seconds!r}, {megabytes!r})"
        )
        try:
            done = subprocess.run(
                [sys.executable, "-c", code],
                capture_output=True,
                timeout=seconds + SPARE,
                check=False,
                encoding="utf-8",
                errors="replace",
            )
            found.remark = done.stdout.strip()
            if done.returncode and not found.remark:
                found.remark = f"it could not be run: {(done.stderr.strip().splitlines() or ['no reason'])[-1]}"
        except subprocess.TimeoutExpired:
            found.remark = f"stopped after {seconds:g} s"
        with suppress(OSError):
            for line in said.read_text(encoding="utf-8", errors="replace").splitlines():
                with suppress(ValueError, TypeError):
                    number, right, text = json.loads(line)
                    found.points[str(number)] = int(right), str(text)
    return found


def execute(file: str, place: str, seconds: float, megabytes: int) -> None:
    """Run the cells of a notebook one after another, also after one that fails; print a remark if that cannot be."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    try:
        notebook: Any = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]
        cells = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    except Exception as error:
        print(f"it cannot be read: {' '.join(str(error).split())[:200] or type(error).__name__}")
        return
    said = Path(place) / "said.jsonl"
    with said.open("w", encoding="utf-8") as file_:
        for number in sorted({number for cell in cells for number in NUMBER.findall(cell.source)}):
            file_.write(json.dumps([number, 0, "not reached"]) + "\n")
    first = f"import {__name__} as _marking; _marking.begin({str(said)!r}, {megabytes})"
    notebook.cells = [nbformat.v4.new_code_cell(first), *cells]  # type: ignore[no-untyped-call]
    end = monotonic() + seconds
    client = NotebookClient(
        notebook, allow_errors=True, kernel_name="python3", resources={"metadata": {"path": place}},
        timeout_func=lambda cell: max(1, round(end - monotonic())), shutdown_kernel="immediate",
    )  # fmt: skip
    try:
        client.execute()
    except CellTimeoutError:
        print(f"stopped after {seconds:g} s; what had been checked until then counts")
    except DeadKernelError:
        print(f"it ended the kernel (its limit is {megabytes} MB of memory)")


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
        name = f"0{number}" if re.match(r"\d[.b]", str(number)) else str(number)
        with open(said, "a", encoding="utf-8") as file:
            file.write(json.dumps([name, int(report.passed), str(report)]) + "\n")
        return report

    sv.check.exercise = exercise
    nothing = lambda *given, **more: np.zeros((4, 4, 3), np.uint8)  # noqa: E731
    for owner, name in ((sv, "live"), (sv, "player"), (sv, "lesson"), (sv.view, "render"), (sv.view, "picture")):
        setattr(owner, name, nothing)


def table(rows: dict[str, list[Marked]]) -> str:
    """Return marks as a table: a row for each student, two columns for each exercise that somebody handed in."""
    numbers = sorted({number for marked in rows.values() for one in marked for number in one.points}, key=_order)
    text = io.StringIO()
    write = csv.writer(text).writerow
    write(
        [
            "student",
            "points",
            "of",
            *(_safe(name) for number in numbers for name in (number, f"{number} said")),
            "remarks",
        ]
    )
    for student, marked in rows.items():
        best = {number: max(one.points[number] for one in marked if number in one.points)
                for number in numbers if any(number in one.points for one in marked)}  # fmt: skip
        cells = [cell for number in numbers for cell in _cells(best.get(number))]
        remarks = "; ".join(f"{one.file.name}: {one.remark}" for one in marked if one.remark)
        write([_safe(student), sum(right for right, _ in best.values()), len(best), *cells, _safe(remarks)])
    return text.getvalue()


def _order(number: str) -> tuple[str, int]:
    lesson, _, exercise = number.partition(".")
    return lesson, int(exercise) if exercise.isdigit() else 0


def _cells(marks: tuple[int, str] | None) -> tuple[int | str, str]:
    return ("", "") if marks is None else (marks[0], _safe(" ".join(marks[1].split())[:LONGEST]))


def _safe(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def write_table(path: Path, rows: dict[str, list[Marked]]) -> None:
    """Write the table, with the mark by which spreadsheets know UTF-8."""
    write_bytes(path, table(rows).encode("utf-8-sig"))
