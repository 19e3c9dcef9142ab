"""Each room has a budget of lines; `python tests/house/test_budgets.py` prints today's figures in the table's form.

A room that needs more has to find it in another: lower one row of ``budgets.txt`` where you raise one.
"""

from __future__ import annotations

import ast
import collections
import io
import subprocess
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("budgets.txt")
COLUMNS = ("code", "docs", "files", "skips", "scripts")
"""Lines that are neither blank, comment nor docstring; lines of docstrings; Python files; ``fmt: skip``; lines of
scripts, shaders and style sheets that are not blank."""
SCRIPTS = (".js", ".glsl", ".css", ".html")
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def measured_python(text: str) -> dict[str, int]:
    """The figures of one Python file."""
    lines, docs, comments = text.splitlines(), set(), set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            docs |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and lines[token.start[0] - 1].lstrip().startswith("#"):
            comments.add(token.start[0])
    code = sum(bool(line.strip()) and k not in docs and k not in comments for k, line in enumerate(lines, 1))
    skips = sum("# fmt: skip" in line for line in lines)
    return {"code": code, "docs": len(docs), "files": 1, "skips": skips}


def room_of(path: Path) -> str | None:
    """The room that a file counts for: a folder of the package or of the tests, else a folder of the project."""
    top, *inner = path.parts
    if top not in ("scalarviz", "scenes", "tests", "benchmarks"):
        return None
    return "/".join([top, inner[0]]) if top in ("scalarviz", "tests") and len(inner) > 1 else top


def measured() -> dict[str, collections.Counter[str]]:
    """Today's figures of each room."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for path in map(Path, listed.stdout.splitlines()):
        room = room_of(path)
        if room is None or not (ROOT / path).is_file():
            continue
        if path.suffix == ".py":
            found[room].update(measured_python((ROOT / path).read_text(encoding="utf-8")))
        elif path.suffix in SCRIPTS:
            lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
            found[room]["scripts"] += sum(bool(line.strip()) for line in lines)
    return found


def written(figures: dict[str, collections.Counter[str]]) -> str:
    """The table as text."""
    rows = [("room", *COLUMNS), *((room, *(str(figures[room][c]) for c in COLUMNS)) for room in sorted(figures))]
    return "".join(f"{row[0]:22}" + "".join(f"{cell:>8}" for cell in row[1:]) + "\n" for row in rows)


def budgets() -> dict[str, dict[str, int]]:
    """The table of the budgets."""
    _, *rows = (line.split() for line in TABLE.read_text(encoding="utf-8").splitlines())
    return {room: dict(zip(COLUMNS, map(int, cells), strict=True)) for room, *cells in rows}


@pytest.mark.ci
def test_no_room_is_larger_than_its_budget():
    allowed, figures_now = budgets(), measured()
    over = [f"{room} is no more: remove its row" for room in sorted(set(allowed) - set(figures_now))]
    for room, figures in sorted(figures_now.items()):
        if room not in allowed:
            over.append(f"{room} has no budget: give it a row in {TABLE.name}, taken from others")
            continue
        over += [
            f"{room}: {figures[column]} {column}, {figures[column] - most} over its budget of {most}"
            for column, most in allowed[room].items() if figures[column] > most
        ]  # fmt: skip
    assert not over, "\n".join(over)


def test_a_file_is_measured_by_hand():
    text = '"""One\ntwo."""\n\n# why\nx = [1,\n     2]  # fmt: skip\n\n\ndef f():\n    """Three."""\n    return x\n'
    assert measured_python(text) == {"code": 4, "docs": 3, "files": 1, "skips": 1}


if __name__ == "__main__":
    print(written(measured()), end="")
