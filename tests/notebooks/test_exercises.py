"""Every exercise of every lesson: empty, solved and with its usual slips; the messages are read.

The other cells run too, and print what the notebook has stored.

A lesson's exercise is a cell with the tag ``exercise: name`` that ends in a call of ``sv.check``.
``solutions/NN.py`` has percent cells ``# %% name: solution`` and ``# %% name: slip cause`` (no cause: one that no
check can know). Each stands in the place of the statements of the exercise that define the same names.
``# slip cause: old => new`` in the cell of a solution is that solution with `new` for `old`.
"""

import ast
import contextlib
import io
import json
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
from scalarviz.check import Report

SOLUTIONS = Path(__file__).parent / "solutions"
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
    found = {}
    for head, cell in re.findall(r"^# %% (.+)\n((?:(?!# %%).*\n)*)", text, re.MULTILINE):
        name, kind, cause = re.fullmatch(r"([\w-]+): (solution|slip) ?(\w*)", head.strip()).groups()
        slips = re.findall(r"^# slip ?(\w*): (.+) => (.+)$", cell, re.MULTILINE)
        source = re.sub(r"^# slip.*\n", "", cell, flags=re.MULTILINE).strip()
        assert all(source.count(old) == 1 for _, old, _ in slips), name
        found.setdefault(name, []).append((kind, cause, source))
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


@cache
def gone_through(number):
    """Of each exercise of a lesson: its source, the report of the empty cell, variants with their two reports.

    Also what the other cells printed, by number. Pictures are looked at elsewhere: here they would cost half the time.
    """
    module = types.ModuleType(f"lesson_{number}")
    sys.modules[module.__name__] = module  # dataclasses look for it
    namespace, variants, found, printed = vars(module), variants_of(number), {}, {}
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as said:
        for owner, name in ((sv, "live"), (sv, "player"), (sv, "lesson"), (sv.view, "render"), (sv.view, "picture")):
            patch.setattr(owner, name, lambda *_, **__: np.zeros((4, 4, 3), np.uint8), raising=False)
        for k, (source, name) in enumerate(cells_of(number)):
            title = f"lesson {number}, cell {k}"
            if not name:
                before = len(said.getvalue())
                run(source, namespace, title)
                printed[k] = said.getvalue()[before:]
                continue
            sv.check.forget()
            tried = []
            for j, variant in enumerate(variants.get(name, ())):
                changed = handed_in(source, variant[2])
                reports = [run(changed, dict(namespace), f"{title}, variant {j}") for _ in range(2)]
                tried.append((*variant, *reports))
                sv.check.forget()
            found[name] = source, run(source, namespace, title), tried
    assert variants.keys() == found.keys()
    return found, printed


@pytest.mark.parametrize("number", NUMBERS)
def test_the_cells_print_what_is_stored(number):
    (notebook,) = NOTEBOOKS.glob(f"{number}-*.ipynb")
    cells = [c for c in json.loads(notebook.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]
    streams = [["".join(o["text"]) for o in cell["outputs"] if o["output_type"] == "stream"] for cell in cells]
    for k, said in gone_through(number)[1].items():
        assert said == "".join(streams[k]), f"lesson {number}, cell {k}"


EXERCISES = {(number, name): source for number in NUMBERS for source, name in cells_of(number) if name}
each_exercise = pytest.mark.parametrize(("number", "name"), EXERCISES)


@each_exercise
def test_empty_it_says_what_to_fill_in_and_the_solution_is_right(number, name):
    _, empty, tried = gone_through(number)[0][name]
    assert isinstance(empty, Report)
    assert (empty.state, bool(empty)) == ("empty", False), empty
    assert re.search(r"(Fill in the \.\.\.|Put something in the place of the \.\.\.)", empty.text)
    solved = [first for kind, _, _, first, _ in tried if kind == "solution"]
    assert [bool(report) for report in solved] == [True], solved


@each_exercise
def test_slips_are_called_by_their_names_and_the_second_time_there_is_a_hint(number, name):
    source, _, tried = gone_through(number)[0][name]
    (solution,) = (text for kind, _, text, *_ in tried if kind == "solution")
    answer = solution.splitlines()[-1].partition("return ")[2] or solution.partition("= ")[2]
    slips = [variant for variant in tried if variant[0] == "slip"]
    assert len(slips) >= 3
    for _, cause, text, first, second in slips:
        assert first.state in ("wrong", "failed"), (text, first)
        assert first.cause == cause, f"{text}\n{first}"
        assert "not " in first.text or first.state == "failed"
        if first.state == "wrong":
            assert not first.hint
            assert second.hint
            assert "Hint: " in second.text
            assert hint_of(source) in second.hint
            if len(answer) > 3:  # a single letter stands in many words
                assert answer not in second.text


def hint_of(source):
    """What the author of an exercise says at the second try."""
    said = [word.value.value for word in ast.parse(source).body[-1].value.keywords if word.arg == "hint"]
    return said[0] if said else ""
