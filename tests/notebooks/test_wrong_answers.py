"""Wrong answers that people give: each check names what is wrong, for answers that nobody wrote it for, too.

``wrong/NN.txt`` has the answers of six readers, three of each to each exercise, stored before any check was changed
(``# %% name: reader``). The checks know those of half of the readers alone.
"""

import ast
import linecache
import re
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from kit.exercises import NUMBERS, cells_of, defined, handed_in, opened, run, variants_of
from scalarviz.check.edits import place_of_mistake
from scalarviz.check.report import Report

WRONG = Path(__file__).parent / "wrong"
ASIDE = ("pytorch", "biology", "self-taught")
"""Readers whose answers no check was written for."""
RIGHT = {("02", "bare-step", "weight.grad = None"), ("13", "own-norm", "x.var(-1, unbiased=False)")}
"""Answers that are right after all: the lesson, the exercise, and a part of the text."""
MOST = 0.05
"""The share of the answers that get no cause."""


def answers_of(number):
    """The answers to each exercise of a lesson, as (reader, source)."""
    text, found = (WRONG / f"{number}.txt").read_text(encoding="utf-8"), {}
    for name, reader, source in re.findall(r"^# %% ([\w-]+): ([\w-]+)\n((?:(?!# %%).*\n?)*)", text, re.MULTILINE):
        found.setdefault(name, []).append((reader, source.strip()))
    return found


def reports_of(number, readers):
    """What the checks say to these readers, as (exercise, source, report); None where an error of Python came first."""
    said, variants, solved = [], variants_of(number), {}
    with opened(number) as (namespace, _):
        for k, (source, name) in enumerate(cells_of(number)):
            if name:
                mine = [answer for reader, answer in answers_of(number)[name] if reader in readers]
                for j, answer in enumerate(mine):
                    sv.check.forget()
                    try:
                        report = run(handed_in(source, answer), {**namespace, **solved}, f"{number} {k} {j}")
                    except Exception:
                        report = None
                    said.append((name, answer, report))
                right, own = next(v[2] for v in variants[name] if v[0] == "solution"), {**namespace, **solved}
                run(handed_in(source, right), own, f"{number} {k} right")
                solved |= {each: own[each] for part in ast.parse(right).body for each in defined(part)}
            run(source, namespace, f"{number} {k}")
    return said


@pytest.mark.parametrize("number", NUMBERS)
def test_each_exercise_has_wrong_answers_of_all_readers(number):
    found = answers_of(number)
    assert set(found) == {name for _, name in cells_of(number) if name}
    for name, rows in found.items():
        assert (len(rows), len({reader for reader, _ in rows})) == (18, 6), name
        assert len(set(rows)) == 18, f"{name}: a reader says the same twice"


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore")
def test_the_checks_name_what_is_wrong_in_answers_that_they_have_not_seen():
    unnamed, count = [], 0
    for number in NUMBERS:
        for name, source, report in reports_of(number, ASIDE):
            count += 1
            if report is not None and report.passed:
                assert any(number == n and name == e and part in source for n, e, part in RIGHT), (number, name, source)
            elif report is None or (report.state == "wrong" and not report.cause):
                unnamed.append((number, name, source, str(report)))
    assert count > 450
    assert len(unnamed) <= MOST * count, unnamed


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def f(a, up):\n    return up * 2 * a + 1", "parentheses are missing"),
        ("def f(a, up):\n    return up * 2 * (up + 1)", "in the place of one `up`"),
        ("def f(a, up):\n    return a * 2 * (up + 1)", "`a` and `up` are exchanged"),
        ("def f(a, up):\n    return up * 2 * (a - 1)", "another operation belongs in `a - 1`"),
        ("def f(a, up):\n    return up * 2 * (a + 2)", "another number belongs in the place of 2"),
        ("def f(a, up):\n    return up * 2 * (a + 1) * abs(a)", "`abs(a)` does not belong"),
        ("def f(a, up):\n    return up * (a + 1)", "something is missing"),
        ("def f(a, up):\n    return 7.0", ""),
    ],
)
def test_one_change_that_makes_the_answer_right_says_where_the_mistake_is(source, words):
    """The right answer is ``up * 2 * (a + 1)``."""
    file, space = f"<edit {source}>", {"abs": abs}
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), space)

    def report(given):
        right = all(given(a, up) == up * 2 * (a + 1) for a, up in ((0.5, 2.0), (1.5, -1.0), (-2.0, 3.0)))
        return Report("f", "right" if right else "wrong", ("",), where="a")

    found = place_of_mistake(space["f"], report, report(space["f"]))
    assert words in found if words else not found


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def slopes(w, x):\n    return 2 * w + x, 3 * w", "another number belongs in the place of 3"),
        ("def slopes(w, x):\n    return w + x, 5 * x * x", "something is missing"),  # the second stays wrong
        (
            "def slopes(w, x):\n    k = 7.0 * w * x\n    return 2 * w + x + k - k, k",
            "",
        ),  # what breaks the first mends nothing
    ],
)
def test_a_change_that_breaks_another_slope_mends_nothing(source, words):
    """The right slopes are ``2 * w + x`` and ``2 * w``."""
    points, file, space = [(0.5, 2.0), (1.5, -1.0), (-2.0, 3.0)], f"<slopes {source}>", {}
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), space)

    def report(given):
        found = np.array([given(w, x) for w, x in points])
        wrong = np.abs(found - np.array([(2 * w + x, 2 * w) for w, x in points])).max(axis=0) > 1e-9
        if not wrong.any():
            return Report("f", "right", ("",))
        k = int(np.argmax(wrong))
        return Report("f", "wrong", ("",), where="wx"[k], got=found[0, k], given=found)

    found = place_of_mistake(space["slopes"], report, report(space["slopes"]))
    assert words in found if words else not found
