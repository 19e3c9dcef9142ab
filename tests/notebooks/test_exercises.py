"""Every exercise of every lesson: empty, solved and with its usual slips; the messages are read."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from pathlib import Path

import pytest

from scalarviz.check import Report
from scalarviz.check.words import LOOKS

sys.path.append(str(Path(__file__).parent))
exercises = importlib.import_module("exercises")
TABLE = [(number, name) for number in exercises.numbers() for _, name in exercises.cells_of(number) if name]
each_exercise = pytest.mark.parametrize(("number", "name"), TABLE)


def exercise(number, name):
    return exercises.gone_through(number)[name]


def test_there_are_exercises():
    assert len(TABLE) >= 3 * len(exercises.numbers())


def test_every_notebook_is_small():
    sizes = {path.name: path.stat().st_size for path in exercises.NOTEBOOKS.glob("*.ipynb")}
    assert len(sizes) >= len(exercises.numbers())
    assert {name: size for name, size in sizes.items() if size > 300_000} == {}


@each_exercise
def test_empty_it_says_what_to_fill_in(number, name):
    report = exercise(number, name).empty
    assert isinstance(report, Report)
    assert (report.state, bool(report)) == ("empty", False), report
    assert re.search(r"(Fill in the \.\.\.|Put something in the place of the \.\.\.)", report.text)


@each_exercise
def test_the_solution_is_right(number, name):
    there = exercise(number, name)
    solved = [r for v, r in zip(there.variants, there.found, strict=True) if v.kind == "solution"]
    assert [bool(report) for report in solved] == [True], solved


@each_exercise
def test_slips_are_called_by_their_names(number, name):
    there = exercise(number, name)
    slips = [(v, r) for v, r in zip(there.variants, there.found, strict=True) if v.kind == "slip"]
    assert len(slips) >= 3
    for variant, report in slips:
        assert report.state in ("wrong", "failed"), (variant.source, report)
        assert report.cause == variant.cause, f"{variant.source}\n{report}"
        assert ("Looks like" in report.text) is (report.cause in LOOKS)
        assert "not yet" in report.text or "not " in report.text or report.state == "failed"


def hint_of(source):
    """What the author of an exercise says at the second try."""
    call = ast.parse(source).body[-1].value
    said = [word.value.value for word in call.keywords if word.arg == "hint"]
    return said[0] if said else ""


def test_every_answer_has_a_hint_of_its_own():
    """A number or a word says nothing of how it came about: nobody but the author can lead."""
    hints = {}
    for number, name in TABLE:
        source = exercise(number, name).source
        if "check.answer" in source:
            hints[number, name] = hint_of(source)
    assert [where for where, hint in hints.items() if len(hint.split()) < 4] == []
    assert len(set(hints.values())) == len(hints) > 20


@each_exercise
def test_the_second_time_there_is_a_hint_and_never_the_answer(number, name):
    there = exercise(number, name)
    (solution,) = (v.source for v in there.variants if v.kind == "solution")
    answer = solution.splitlines()[-1].partition("return ")[2] or solution.partition("= ")[2]
    for variant, first, second in zip(there.variants, there.found, there.again, strict=True):
        if variant.kind == "slip" and first.state == "wrong":
            assert not first.hint
            assert second.hint
            assert "Hint: " in second.text
            assert hint_of(there.source) in second.hint
            if len(answer) > 3:  # a single letter stands in many words
                assert answer not in second.text
