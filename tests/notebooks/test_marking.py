"""Marks for a folder of notebooks: whatever a notebook does costs its own points and nothing else."""

import csv
import errno
import json
import os
from pathlib import Path

import nbformat
import pytest

from scalarviz.check.answers import ANSWERS
from scalarviz.errors import InputError
from scalarviz.lessons import marking

BEGIN = "import scalarviz as sv"
RIGHT = 'sv.check.exercise("01.1", -40 + 58)'
RULE = 'def rule(w, x, upstream):\n    return upstream * x, upstream * w\n\nsv.check.exercise("01.2", rule)'
WRONG = 'sv.check.exercise("01.1", 6)'
HUNGRY = "import numpy as np\nkept = np.ones(3 << 30, np.uint8)"


def notebook(path, *cells):
    path.parent.mkdir(parents=True, exist_ok=True)
    found = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(found, path)


def rows_of(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


@pytest.fixture
def folder(tmp_path):
    """A class of nine: what each of them handed in."""
    place = tmp_path / "handed-in"
    notebook(place / "anna" / "01.ipynb", BEGIN, RIGHT, RULE)
    notebook(place / "anna" / "again.ipynb", BEGIN, 'sv.check.exercise("01.1", 6)')
    notebook(place / "=ben" / "01.ipynb", BEGIN, 'sv.check.exercise("01.1", 6)', "1 / 0", RULE)
    notebook(
        place / "carla.ipynb",
        BEGIN,
        'sv.check.exercise("01.1", ...)',
        'sv.lesson("01")',
        "sv.view.picture(sv.Value(1.0))",
    )
    notebook(place / "endless" / "01.ipynb", BEGIN, RIGHT, "while True:\n    pass", RULE)
    notebook(place / "hungry" / "01.ipynb", BEGIN, RIGHT, HUNGRY, RULE)
    notebook(place / "ending" / "01.ipynb", BEGIN, RIGHT, "import os\nos._exit(3)", RULE)
    for name, text in (("broken", "{"), ("empty", ""), ("no-notebook", json.dumps({"cells": "none"}))):
        (place / name).mkdir()
        (place / name / "01.ipynb").write_text(text)
    notebook(place / "anna" / ".ipynb_checkpoints" / "01.ipynb", RULE)
    return place


@pytest.mark.ci
def test_a_class_is_marked_and_a_bad_notebook_costs_nothing_but_its_own_points(cli, folder, tmp_path):
    table = tmp_path / "marks.csv"
    result = cli("lessons", "--check", str(folder), "--table", str(table), "--seconds", "20")
    assert result.code == 0, result.err
    assert "10 notebooks of 9 students" in result.err
    assert "the students' own programs" in result.err
    rows = rows_of(table)
    points = {name: (row["points"], row["of"]) for name, row in rows.items()}
    assert {of for _, of in points.values()} == {"3"}, "all exercises of the lesson count, also those not handed in"
    assert points["anna"] == ("2", "3"), "the better answer counts"
    assert "anna: 2 of 3 right" in result.out
    assert rows["anna"]["01.3 said"] == "the exercise is missing"
    assert points["'=ben"] == ("1", "3"), "a cell that fails ends nothing"
    assert rows["'=ben"]["01.1 said"].startswith("✗ 01.1: not 6.")
    assert points["carla"] == ("0", "3")
    assert "nothing to check yet" in rows["carla"]["01.1 said"]
    for name, remark in (("endless", "stopped after 20 s, in cell 3"), ("ending", "its kernel ended: too much memory")):
        assert (points[name], rows[name]["01.2 said"]) == (("1", "3"), "not reached"), name
        assert remark in rows[name]["remarks"]
    assert points["hungry"] == ("2", "3"), "a cell without memory fails as others do"
    for name in ("broken", "empty", "no-notebook"):
        assert points[name] == ("0", "3"), "the file's name says the lesson"
        assert "01.ipynb: it cannot be read" in rows[name]["remarks"]
    assert sorted(path.name for path in folder.rglob("*.ipynb")).count("01.ipynb") == 9, "nothing else is written there"
    again = cli("lessons", "--check", str(folder), "--table", str(table))
    assert (again.code, "--overwrite replaces it" in again.err) == (2, True)


@pytest.mark.ci
def test_every_student_has_a_row_that_says_why_points_are_missing(cli, tmp_path):
    place = tmp_path / "handed-in"
    for name, inside in (("zoe", "abgabe.zip"), ("yan", "01.py"), ("__MACOSX", "01.zip"), (".git", "01.zip")):
        (place / name).mkdir(parents=True)
        (place / name / inside).write_text("")
    (place / "xenia").mkdir()
    (place / "loop").mkdir()
    (place / "loop" / "self.ipynb").symlink_to("self.ipynb")
    if hasattr(os, "mkfifo"):
        os.mkfifo(place / "loop" / "pipe.ipynb")
    notebook(place / "gone" / "mine.ipynb", "1 / 1", RIGHT, RULE)
    notebook(place / "fake" / "mine.ipynb", BEGIN, "sv.check.exercise = print", RIGHT)
    notebook(place / "notes" / "mine.ipynb", "1 + 1")
    odd = '# sv.check.exercise("02.1", 1)\nsv.check.exercise("99.9", 1)'
    notebook(place / "odd" / "mine.ipynb", BEGIN, odd, RIGHT, WRONG, RULE.replace("01.2", "1.2"))
    (place / "helped").mkdir()
    (place / "helped" / "helper.py").write_text(RULE.partition("\n\n")[0])
    helped = RULE.replace(RULE.partition("\n\n")[0], "from helper import rule")
    notebook(place / "helped" / "mine.ipynb", BEGIN, helped)
    table = tmp_path / "marks.csv"
    result = cli("lessons", "--check", str(place), "--table", str(table))
    assert result.code == 0, result.err
    rows = rows_of(table)
    said = {name: [row["points"], row["of"], row["remarks"]] for name, row in rows.items()}
    assert said["zoe"] == ["0", "0", "zoe: no notebook; there is abgabe.zip"]
    assert said["yan"] == ["0", "0", "yan: no notebook; there is 01.py"]
    assert said["xenia"] == ["0", "0", "xenia: no notebook; there is nothing"]
    assert said["notes"] == ["0", "0", "mine.ipynb: no exercise of a lesson was found"]
    assert all(row["remarks"] for row in rows.values() if row["of"] == "0")
    assert "self.ipynb: it cannot be read: it is not a regular file" in said["loop"][2]
    assert "__MACOSX" not in rows
    assert ".git" not in rows
    for number in ("01.1", "01.2"):
        assert rows["gone"][f"{number} said"] == "cell 2 stopped: NameError: name 'sv' is not defined"
    assert rows["fake"]["01.1 said"] == "its check did not answer: was it replaced?"
    assert said["odd"] == ["2", "3", "mine.ipynb: no lesson has the exercise 99.9"], (
        "a later wrong answer takes nothing"
    )
    assert said["helped"] == ["1", "3", ""], "the files beside a notebook are there"
    assert {name for name in rows["odd"] if name in ANSWERS} == {"01.1", "01.2", "01.3"}


def test_an_interrupted_table_says_whom_it_has(cli, tmp_path, monkeypatch):
    def interrupted(files, seconds, megabytes):
        yield marking.Marked(files[0], {"01.1": (1, "")})
        raise KeyboardInterrupt

    monkeypatch.setattr(marking, "marks_of", interrupted)
    for name in ("anna", "ben"):
        notebook(tmp_path / "all" / f"{name}.ipynb", RIGHT)
    table = tmp_path / "marks.csv"
    result = cli("lessons", "--check", str(tmp_path / "all"), "--table", str(table))
    assert result.code == 130
    assert "1 of 2 students are in" in result.err
    assert list(rows_of(table)) == ["anna"]
    monkeypatch.setattr(marking, "marks_of", lambda files, *limits: map(marking.Marked, files))
    (tmp_path / "all" / "ben.ipynb").unlink()
    result = cli("lessons", "--check", str(tmp_path / "all"), "--table", str(table), "--overwrite")
    assert "1 notebook of 1 student run" in result.err


def test_students_are_subfolders_or_files(folder, tmp_path):
    found = marking.handed_in(folder)
    assert [(name, len(files)) for name, files in found.items()][:3] == [("=ben", 1), ("anna", 2), ("broken", 1)]
    assert found["carla"] == [folder / "carla.ipynb"]
    for place, said in ((tmp_path / "gone", "is none"), (Path(tmp_path), None)):
        if said:
            with pytest.raises(InputError, match=said):
                marking.handed_in(place)
    (tmp_path / "nothing").mkdir()
    with pytest.raises(InputError, match="has no notebooks"):
        marking.handed_in(tmp_path / "nothing")


def test_a_row_is_added_to_the_table_which_is_whole_after_each_student(tmp_path, monkeypatch):
    """Only the first marks of a lesson write it anew; a disk that is full takes no part of a row."""
    whole, rows = [], []
    written = marking.write_bytes
    monkeypatch.setattr(marking, "write_bytes", lambda *given: (whole.append(given), written(*given)))
    table = marking.Table(tmp_path / "marks.csv")
    for k, number in enumerate(["01.1", "01.1", "02.4", "01.1", "01.2"]):
        said = "line\nline" + "é" * k
        table.add(f"student {k}", [marking.Marked(Path("a.ipynb"), {number: (1, said)})])
        fresh = marking.Table(tmp_path / "again.csv")
        for name, (best, _) in table.rows.items():
            fresh.add(name, [marking.Marked(Path("a.ipynb"), best)])
        rows.append(table.path.read_bytes())
        assert rows[-1] == fresh.path.read_bytes()
    assert [given[0] for given in whole].count(table.path) == 2
    assert rows[-1].startswith(rows[2])

    def full(file):
        raise OSError(errno.ENOSPC, "No space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="no space left"):
        table.add("student 5", [marking.Marked(Path("a.ipynb"), {"01.1": (1, "")})])
    assert table.path.read_bytes() == rows[-1]


def test_a_spreadsheet_takes_no_text_for_a_formula(tmp_path):
    marked = marking.Marked(Path("a.ipynb"), {"01.1": (0, "=1+1"), "01.2": (1, "x" * 999)}, "@now")
    table = marking.Table(tmp_path / "marks.csv")
    table.add("+eve", [marked])
    head, row = csv.reader(table.path.read_text(encoding="utf-8-sig").splitlines())
    assert head[:7] == ["student", "points", "of", "01.1", "01.1 said", "01.2", "01.2 said"]
    assert row[:5] == ["'+eve", "1", "3", "0", "'=1+1"]
    assert len(row[6]) == marking.LONGEST
    assert row[-1] == "a.ipynb: @now"
