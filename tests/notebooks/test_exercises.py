"""Every exercise of every lesson: empty, solved and with its usual slips; the messages are read.

The other cells run too, and print what the notebook has stored; ``laws/NN.py`` says what is true after a cell.

A lesson's exercise is a cell with the tag ``exercise: name`` that ends in a call of ``sv.check.exercise``. What usual
wrong numbers and words mean stands in ``scalarviz/check/answers.py``. ``solutions/NN.py`` has percent cells
``# %% name: solution`` and ``# %% name: slip cause``. Each stands in the place of the statements of the exercise that
define the same names. ``# slip cause: old => new`` in the cell of a solution is that solution with `new` for `old`.
"""

import ast
import itertools
import json
import re
from functools import cache

import numpy as np
import pytest

import scalarviz as sv
from kit.exercises import NOTEBOOKS, NUMBERS, SOLUTIONS, cells_of, defined, handed_in, opened, run, variants_of
from scalarviz.check import Report
from scalarviz.check.answers import ANSWERS
from scalarviz.check.report import CAUSE_TEXTS
from scalarviz.check.walks import ordered

LAWS = SOLUTIONS.with_name("laws")
LEAST = 6
"""Wrong answers that each exercise knows."""


def laws_of(number):
    """What is true after cells of a lesson: pairs of a line of the cell and statements, in the order of the cells."""
    text = (LAWS / f"{number}.py").read_text(encoding="utf-8")
    return re.findall(r"^# %% after: (.+)\n((?:(?!# %%).*\n)*)", text, re.MULTILINE)


@cache
def gone_through(number):
    """Of each exercise of a lesson: its source, the report of the empty cell, variants with their two reports.

    Also what the other cells printed, by number.
    """
    variants, found, printed, laws, solved = variants_of(number), {}, {}, laws_of(number), {}
    with opened(number) as (namespace, said):
        for k, (source, name) in enumerate(cells_of(number)):
            title = f"lesson {number}, cell {k}"
            if not name:
                before = len(said.getvalue())
                run(source, namespace, title)
                printed[k] = said.getvalue()[before:]
                if laws and laws[0][0].strip() in map(str.strip, source.splitlines()):
                    holds(laws.pop(0)[1], {"np": np, **namespace}, title)
                continue
            sv.check.forget()
            tried = []
            for j, variant in enumerate(variants[name]):
                changed = handed_in(source, variant[2])
                own = {**namespace, **solved}
                reports = [run(changed, own, f"{title}, variant {j}") for _ in range(2)]
                if variant[0] == "solution":
                    names = set().union(*(defined(statement) for statement in ast.parse(variant[2]).body))
                    theirs = {each: own[each] for each in names}
                tried.append((*variant, *reports))
                sv.check.forget()
            solved |= theirs
            found[name] = source, run(source, namespace, title), tried
    assert laws == [], f"no cell has the line {laws[0][0]}"
    return found, printed


def holds(law, namespace, title):
    """Run the statements of a law, and say which of its asserts does not hold."""
    for statement in ast.parse(law).body:
        code = compile(ast.Module([statement], []), title, "exec")
        try:
            exec(code, namespace)
        except AssertionError:
            pytest.fail(f"{title}: {ast.unparse(statement)}")


@pytest.mark.parametrize("number", NUMBERS)
def test_a_cell_may_be_run_twice_and_with_another_rate(number):
    """Solved exercises stand in, so that cells behind them use what a pupil wrote."""
    solutions = {name: next(t[2] for t in tried if t[0] == "solution") for name, tried in variants_of(number).items()}
    with opened(number) as (namespace, _):
        for k, (source, name) in enumerate(cells_of(number)):
            whole = handed_in(source, solutions[name]) if name else source
            slower = re.sub(r"(?<=lr=)\d+\.?\d*", lambda rate: str(float(rate[0]) / 2), whole)
            for again in (whole, slower):
                report = run(again, namespace, f"lesson {number}, cell {k}")
            assert not name or report, report


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


def number_of(source):
    """The exercise that a cell is checked as, ``"01.1"``."""
    return re.search(r'sv\.check\.exercise\("(\w+\.\d)"', source)[1]


def asked_of(entry, given, number):
    """The report on an answer that stands in the table; patients of lesson 08 are drawn by lot."""
    truth = next(word for word in entry.slips if word != given) if entry.right == "" else None
    sv.check.forget()
    return sv.check.exercise(number, given, truth)


@each_exercise
def test_each_wrong_answer_has_its_message_and_the_second_time_there_is_a_hint(number, name):
    source, _, tried = gone_through(number)[0][name]
    (solution,) = (text for kind, _, text, *_ in tried if kind == "solution")
    answer = solution.splitlines()[-1].partition("return ")[2] or solution.partition("= ")[2]
    entry, known = ANSWERS[number_of(source)], 0
    for wrong, words in entry.slips.items():
        report = asked_of(entry, wrong, number_of(source))
        assert (report.state, report.cause, words in report.text) == ("wrong", "slip", True), f"{wrong}\n{report}"
        known += 1
    for kind, cause, text, first, second in tried:
        if kind == "solution":
            continue
        known += 1
        assert first.state in ("wrong", "failed"), (text, first)
        assert first.cause == cause, f"{text}\n{first}"
        if first.state == "failed":
            continue
        assert CAUSE_TEXTS[cause].partition("{")[0] in first.text
        assert cause or len(first.lines) > 1
        assert not first.hint
        assert "Hint: " in second.text
        assert entry.hint in second.hint
        if len(answer) > 3:  # a single letter stands in many words
            assert answer not in second.text
    assert known >= LEAST


PLAIN = [name for name, entry in ANSWERS.items() if entry.check is sv.check.answer]


@pytest.mark.parametrize("name", PLAIN)
def test_a_number_for_a_word_and_a_word_for_a_number(name):
    entry = ANSWERS[name]
    asked = asked_of(entry, 3 if isinstance(entry.right, str) else "three", name)
    expected = "a word in quotation marks; you gave 3" if isinstance(entry.right, str) else "a number; you gave 'three'"
    assert (asked.state, f"Expected {expected}." in asked.text) == ("failed", True)
    assert asked_of(entry, None, name).state == "failed"


@pytest.mark.parametrize("name", ["03.1", "03.2"])
def test_whatever_a_unit_says_has_its_words(name):
    numbers = np.arange(-2, 2.5, 0.5)
    for weights in itertools.product(numbers, repeat=3):
        said = " ".join(str(int(np.dot(weights, (*bits, 1)) > 0)) for bits in ((0, 0), (0, 1), (1, 0), (1, 1)))
        assert said in ANSWERS[name].slips or sv.check.exercise(name, said), said


def test_every_order_of_lesson_04_but_the_right_one_has_its_words():
    orders = {" ".join(order) for order in itertools.permutations("pqst")}
    assert orders - set(ANSWERS["04.3"].slips) == {ANSWERS["04.3"].right}


def test_a_walk_over_leaves_is_told_so():
    """The answer of lesson 04 has leaves in its list, where lesson 12 wants none."""

    def push(node):
        a, b = node.parents
        a.grad += node.grad * node.local_gradients[0]
        b.grad += node.grad * node.local_gradients[1]

    def backward(root):
        root.grad = 1.0
        for node in reversed(ordered(root)):
            push(node)

    report = sv.check.exercise("12.3", backward)
    assert (report.state, "without parents" in report.looks) == ("failed", True)


def test_helpers_that_the_exercise_forbids_and_names_in_the_place_of_nodes_have_advice():
    found = gone_through("02")[0]["bare-step"][2], gone_through("04")[0]["whole-walk"][2]
    said = [[first.text for _, cause, _, first, _ in tried if cause == "raises"] for tried in found]
    for name, text in zip(("zero_grad", "step"), said[0], strict=True):
        assert f"here a weight has no {name}(): use its data and its grad" in text
    assert ["a name is no node" in text for text in said[1]] == [True]


@pytest.mark.parametrize("given", ["3a*a", "3 * a^2", "3 * x", "", 3.0])
def test_a_formula_that_is_none_is_told_and_not_raised(given):
    report = sv.check.exercise("10.1", given)
    assert (report.state, report.cause) == ("failed", "kind")


def test_every_exercise_of_the_table_is_asked_once():
    assert sorted(number_of(source) for source in EXERCISES.values()) == sorted(ANSWERS)
