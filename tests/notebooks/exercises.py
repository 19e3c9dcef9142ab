"""Lessons gone through in this process, with every exercise empty, solved, and with slips.

A lesson's exercise is a cell with the tag ``exercise: name`` that ends in a call of ``sv.check``. ``solutions/NN.py``
has percent cells ``# %% name: solution`` and ``# %% name: slip cause`` (no cause: one that no check can know). Each
stands in the place of the statements of the exercise that define the same names.
"""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import re
import sys
import types
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import jupytext
import numpy as np

import scalarviz as sv

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS, SOLUTIONS = ROOT / "notebooks", Path(__file__).parent / "solutions"
TAG = "exercise: "


@dataclass(frozen=True)
class Variant:
    """What somebody hands in.

    Attributes
    ----------
    kind : str
        "solution" or "slip".
    cause : str
        What the report should call a slip.
    source : str
    """

    kind: str
    cause: str
    source: str


@dataclass
class Exercise:
    """An exercise and what its check said: of the empty cell, of each variant, and of each at the second call."""

    name: str
    source: str
    variants: tuple[Variant, ...]
    empty: object = None
    found: list = field(default_factory=list)
    again: list = field(default_factory=list)


def numbers():
    """The lessons that have solutions: ``02``, ``03`` ..."""
    return sorted(path.stem for path in SOLUTIONS.glob("*.py"))


def cells_of(number):
    """The code cells of a lesson as (source, name of the exercise or "")."""
    (source,) = NOTEBOOKS.glob(f"{number}-*.py")
    cells = [cell for cell in jupytext.read(source).cells if cell.cell_type == "code"]
    tags = [[t.removeprefix(TAG) for t in cell.metadata.get("tags", ()) if t.startswith(TAG)] for cell in cells]
    return [(cell.source, names[0] if names else "") for cell, names in zip(cells, tags, strict=True)]


def variants_of(number):
    """What is handed in, by the name of the exercise."""
    text = (SOLUTIONS / f"{number}.py").read_text(encoding="utf-8")
    parts = re.split(r"^# %% (.+)$", text, flags=re.MULTILINE)[1:]
    found = {}
    for head, source in zip(parts[::2], parts[1::2], strict=True):
        name, kind, cause = re.fullmatch(r"([\w-]+): (solution|slip) ?(\w*)", head.strip()).groups()
        found.setdefault(name, []).append(Variant(kind, cause, source.strip()))
    return {name: tuple(all_of) for name, all_of in found.items()}


def defined(statement):
    """The names that a statement defines."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    names = [node for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return {node.id for node in names}


def handed_in(cell, source):
    """The exercise with a variant in the place of what it defines."""
    own = ast.parse(source).body
    names = set().union(*(defined(statement) for statement in own))
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


def no_pictures(*args, **options):
    """Instead of a picture, or of what moves in a cell."""
    return np.zeros((4, 4, 3), np.uint8)


@contextlib.contextmanager
def without_pictures():
    """They are looked at elsewhere: here they would cost half the time."""
    names = [(sv, name) for name in ("live", "player", "lesson")] + [(sv.view, name) for name in ("render", "picture")]
    own = [(owner, name, getattr(owner, name)) for owner, name in names if hasattr(owner, name)]
    for owner, name, _ in own:
        setattr(owner, name, no_pictures)
    try:
        yield
    finally:
        for owner, name, kept in own:
            setattr(owner, name, kept)


@cache
def gone_through(number):
    """The exercises of a lesson with all that their checks said."""
    module = types.ModuleType(f"lesson_{number}")
    sys.modules[module.__name__] = module  # dataclasses look for it
    namespace, variants, found = vars(module), variants_of(number), {}
    with without_pictures(), contextlib.redirect_stdout(io.StringIO()):
        for k, (source, name) in enumerate(cells_of(number)):
            title = f"lesson {number}, cell {k}"
            if not name:
                run(source, namespace, title)
                continue
            exercise = found[name] = Exercise(name, source, variants.get(name, ()))
            sv.check.forget()
            for j, variant in enumerate(exercise.variants):
                changed = handed_in(source, variant.source)
                exercise.found.append(run(changed, dict(namespace), f"{title}, variant {j}"))
                exercise.again.append(run(changed, dict(namespace), f"{title}, variant {j}"))
                sv.check.forget()
            exercise.empty = run(source, namespace, title)
    return found
