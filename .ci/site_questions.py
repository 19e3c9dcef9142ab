"""The exercises of a lesson on the site: a question with a field where a number or a word is asked, else a link.

The rules of a question come from the table of `sv.check.exercise` and from the words of its check: a page then only
looks up which rule holds an answer (``docs/site/static/questions.js``).
"""

from __future__ import annotations

import ast
import base64
import json
import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from nbformat import NotebookNode

from scalarviz.check import answer, forget
from scalarviz.check.answer import COUNTED, FACTORS, USUAL, plain
from scalarviz.check.answers import ANSWERS, Exercise

NUMBERS_OF_CODE = ("07.1", "07.2")
"""Exercises about numbers that no page shows: the pupil's code computes them."""
TRIED = (0.37, 0.71, 1.37, 2.9, 17.3, 101.7)
"""Times the right number (or times 1): wrong answers that are far from all others."""
Rule = list[Any]
"""The centre and the largest distance of numbers, or a word and 0; then the words for this answer, and the hint."""


def exercise_of(cell: NotebookNode) -> ast.Call | None:
    """The call that checks the exercise of a cell, if it is the cell's last line."""
    if cell.cell_type != "code" or "sv.check.exercise(" not in cell.source:
        return None
    last = ast.parse(cell.source).body[-1]
    found = isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and last.value
    return found if found and ast.unparse(found.func) == "sv.check.exercise" else None


def number_of(call: ast.Call) -> str:
    """The number of the exercise that a call checks."""
    return str(ast.literal_eval(call.args[0]))


def needs_code(cell: NotebookNode, call: ast.Call) -> bool:
    """Whether an exercise asks for more than a number or a word in the place of ``answer = ...``."""
    number = number_of(call)
    plain = "answer = ..." in cell.source.splitlines() and ast.unparse(call.args[1]) == "answer"
    return not plain or ANSWERS[number].check is not answer or number in NUMBERS_OF_CODE


def question_of(cell: NotebookNode, call: ast.Call, sources: Iterable[str]) -> str:
    """A field for the answer, as HTML; `sources` are the cells of the notebook, which may draw the right answer."""
    number = number_of(call)
    right = value_of(call.args[2], sources) if len(call.args) > 2 else ANSWERS[number].right
    rules = json.dumps(rules_of(right, ANSWERS[number]), separators=(",", ":"))
    hidden, name = base64.b64encode(rules.encode()).decode(), f"answer-{number.replace('.', '-')}"
    return (
        f'<form class="question" data-rules="{hidden}"><label for="{name}">{escape(label_of(cell, number))}</label>'
        f'<input id="{name}" autocomplete="off" autocapitalize="off" spellcheck="false"><button>Check</button>'
        '<p role="status"></p></form>'
    )


def label_of(cell: NotebookNode, number: str) -> str:
    """The name of a field: the exercise's number, or what its tag says (``exercise: patient-a``)."""
    tag = next((tag for tag in cell.metadata.get("tags", ()) if tag.startswith("exercise: ")), "")
    patient = re.fullmatch(r"exercise: (\w+-[a-z])", tag)
    return patient[1].replace("-", " ").title() if patient else f"Answer {number.partition('.')[2]}"


def value_of(expression: ast.expr, sources: Iterable[str]) -> Any:
    """The value of an expression, computed with the imports and assignments of a notebook that it needs."""
    wanted, needed, place = names_in(expression), list[ast.stmt](), dict[str, Any]()
    for statement in reversed([one for source in sources for one in ast.parse(source).body]):
        match statement:
            case ast.Import(names) | ast.ImportFrom(names=names):
                bound = {(one.asname or one.name).partition(".")[0] for one in names}
            case ast.Assign(targets):
                bound = set[str]().union(*map(names_in, targets))
            case _:
                continue
        if bound & wanted:
            needed.insert(0, statement)
            wanted |= names_in(statement)
    exec(compile(ast.Module(needed, []), "<lesson>", "exec"), place)
    return eval(compile(ast.Expression(expression), "<lesson>", "eval"), place)


def names_in(node: ast.AST) -> set[str]:
    """The names in a piece of code."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def rules_of(right: Any, entry: Exercise) -> dict[str, Any]:
    """What a page needs to check an answer: its rules, of which the first that holds decides, and words for others."""
    if isinstance(right, str):
        words = [right, *(slip for slip in entry.slips if isinstance(slip, str))]
        rules = [[plain(word), 0, *said(word or "?", right, entry)] for word in words]
        return {"rules": rules, "others": [said("?", right, entry)] * 3, "word": True}
    rules = list[Rule]()
    for centre, room in ranges(right, entry):
        others = [at for at in (centre, centre - 0.9 * room, centre + 0.9 * room)
                  if not any(abs(at - rule[0]) <= rule[1] for rule in rules)]  # fmt: skip
        if others:
            rules.append([centre, room, *said(others[0], right, entry)])
    tried = [sign * factor * (right or 1) for factor in TRIED for sign in (1, -1)]
    far = {answer(one, right, slips=entry.slips).cause: one for one in tried}
    beyond = [said(far[cause], right, entry) if cause in far else ["", ""] for cause in ("side", "large", "small")]
    return {"rules": rules, "others": beyond, "hint": entry.hint}


def ranges(right: float, entry: Exercise) -> Iterator[tuple[float, float]]:
    """The centre and the largest distance of numbers with words of their own, in the order in which the check asks."""
    room = near_one(right)
    yield float(right), min(room, COUNTED) if isinstance(right, int) else room
    for slip in entry.slips:
        if not isinstance(slip, str):
            yield float(slip), near_one(slip)
            yield from ((round(slip, digits), 0) for digits in range(2, 6) if round(slip, digits))
    yield -float(right), near_one(right)
    yield from ((factor * right, USUAL * abs(factor * right)) for factor in FACTORS if right)
    yield from ((round(right, digits), 0) for digits in range(1, 6) if round(right, digits))


def near_one(number: float) -> float:
    """The largest distance of an answer from a number that it may stand for."""
    return USUAL * max(1.0, abs(number))


def said(given: Any, right: Any, entry: Exercise) -> list[str]:
    """What the check says of an answer beside the answer itself, and the hint of its second wrong try."""
    forget()
    first, second = (answer(given, right, hint=entry.hint, slips=entry.slips) for _ in range(2))
    forget()
    return ["\n".join(line.strip() for line in first.text.splitlines()[1:]), second.hint]
