"""The exercises of the lessons, as a pupil meets them: cells, what is handed in, and a namespace for each lesson."""

import ast
import contextlib
import io
import linecache
import re
import sys
import types
from functools import cache
from pathlib import Path

import jupytext
import numpy as np
import pytest

import scalarviz as sv

SOLUTIONS = Path(__file__).parents[1] / "notebooks" / "solutions"
NOTEBOOKS = SOLUTIONS.parents[2] / "notebooks"
NUMBERS = sorted(path.stem for path in SOLUTIONS.glob("*.py"))


@cache
def cells_of(number):
    """The code cells of a lesson as (source, name of the exercise or "")."""
    (source,) = NOTEBOOKS.glob(f"{number}-*.py")
    cells = [cell for cell in jupytext.read(source).cells if cell.cell_type == "code"]
    tags = [" ".join(cell.metadata.get("tags", ())).partition("exercise: ")[2] for cell in cells]
    return [(cell.source, name) for cell, name in zip(cells, tags, strict=True)]


def variants_of(number):
    """What is handed in, by the name of the exercise: "solution" or "slip", its cause, its source."""
    text = (SOLUTIONS / f"{number}.py").read_text(encoding="utf-8")
    found = {name: [] for _, name in cells_of(number) if name}
    for head, cell in re.findall(r"^# %% (.+)\n((?:(?!# %%).*\n)*)", text, re.MULTILINE):
        name, kind, cause = re.fullmatch(r"([\w-]+): (solution|slip) ?(\w*)", head.strip()).groups()
        slips = re.findall(r"^# slip ?(\w*): (.+) => (.+)$", cell, re.MULTILINE)
        source = re.sub(r"^# slip.*\n", "", cell, flags=re.MULTILINE).strip()
        assert all(source.count(old) == 1 for _, old, _ in slips), name
        found[name].append((kind, cause, source))
        found[name] += [("slip", cause, source.replace(old, new)) for cause, old, new in slips]
    return found


def defined(statement):
    """The names that a statement defines."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    names = [node for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return {node.id for node in names}


def handed_in(cell, source):
    """The exercise with a variant in the place of what it defines."""
    names = set().union(*(defined(statement) for statement in ast.parse(source).body))
    kept = [statement for statement in ast.parse(cell).body if not defined(statement) & names]
    return "\n\n".join([source, *(ast.get_source_segment(cell, statement) for statement in kept)])


def run(source, namespace, title):
    """Run a cell; gives its last expression."""
    file = f"<{title}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), file, "exec"), namespace)
    return None if last is None else eval(compile(ast.Expression(last.value), file, "eval"), namespace)


@contextlib.contextmanager
def opened(number):
    """The empty namespace of a lesson, and what is printed. Pictures, which cost half the time, are not drawn."""
    module = types.ModuleType(f"lesson_{number}")
    sys.modules[module.__name__] = module  # dataclasses look for it
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as said:
        for owner, name in ((sv, "live"), (sv, "player"), (sv, "lesson"), (sv.view, "render"), (sv.view, "picture")):
            patch.setattr(owner, name, lambda *_, **__: np.zeros((4, 4, 3), np.uint8), raising=False)
        yield vars(module), said
