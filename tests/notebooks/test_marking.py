"""Marks for a folder of notebooks: whatever a notebook does costs its own points and nothing else."""

import csv
import json
from pathlib import Path

import nbformat
import pytest

from scalarviz.errors import InputError
from scalarviz.lessons import marking

BEGIN = "import scalarviz as sv"
RIGHT = 'sv.check.exercise("01.1", -40 + 58)'
RULE = 'def rule(w, x, upstream):\n    return upstream * x, upstream * w\n\nsv.check.exercise("01.2", rule)'
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
    assert points["anna"] == ("2", "2"), "the better answer counts"
    assert points["'=ben"] == ("1", "2"), "a cell that fails ends nothing"
    assert rows["'=ben"]["01.1 said"].startswith("✗ 01.1: not 6.")
    assert points["carla"] == ("0", "1")
    assert "nothing to check yet" in rows["carla"]["01.1 said"]
    for name, remark in (("endless", "stopped after 20 s"), ("ending", "ended the kernel")):
        assert (points[name], rows[name]["01.2 said"]) == (("1", "2"), "not reached"), name
        assert remark in rows[name]["remarks"]
    assert points["hungry"] == ("2", "2"), "a cell without memory fails as others do"
    for name in ("broken", "empty", "no-notebook"):
        assert points[name] == ("0", "0")
        assert "01.ipynb: it cannot be read" in rows[name]["remarks"]
    assert sorted(path.name for path in folder.rglob("*.ipynb")).count("01.ipynb") == 9, "nothing else is written there"
    again = cli("lessons", "--check", str(folder), "--table", str(table))
    assert (again.code, "--overwrite replaces it" in again.err) == (2, True)


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


def test_a_spreadsheet_takes_no_text_for_a_formula():
    marked = marking.Marked(Path("a.ipynb"), {"01.1": (0, "=1+1"), "01.10": (1, "x" * 999)}, "@now")
    head, row = csv.reader(marking.table({"+eve": [marked]}).splitlines())
    assert head == ["student", "points", "of", "01.1", "01.1 said", "01.10", "01.10 said", "remarks"]
    assert row[:5] == ["'+eve", "1", "2", "0", "'=1+1"]
    assert len(row[6]) == marking.LONGEST
    assert row[7] == "a.ipynb: @now"
