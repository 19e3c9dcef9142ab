"""``scalarviz lessons``: the list, copies that overwrite nothing unasked, and what cannot be."""

from __future__ import annotations

import configparser
import json
from pathlib import Path

import pytest

from scalarviz.errors import ScalarvizError
from scalarviz.lessons import copy, lessons, shelf

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
NAMES = sorted(p.name for p in NOTEBOOKS.iterdir() if p.suffix in (".ipynb", ".py"))


def test_the_list(cli):
    result = cli("lessons")
    assert result.code == 0
    titles = [line.split("  ") for line in result.out.splitlines()]
    assert titles[0] == ["01", "One weight"]
    assert [number for number, _ in titles] == [name[:2] for name in NAMES if name.endswith(".ipynb")]
    assert "scalarviz lessons FOLDER" in result.err


def test_a_pupil_predicts_before_anything_is_there_to_read(cli, tmp_path):
    assert cli("lessons", "course").code == 0
    for name in NAMES:
        given, kept = (tmp_path / "course" / name).read_text("utf-8"), (NOTEBOOKS / name).read_text("utf-8")
        if name.endswith(".py"):
            assert given == kept
            continue
        given, kept = json.loads(given), json.loads(kept)
        assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code_of(given))
        assert any(cell["outputs"] for cell in code_of(kept))
        for cell in (*code_of(given), *code_of(kept)):
            del cell["outputs"], cell["execution_count"]
        assert given == kept
    again = cli("lessons", "course")
    assert (again.code, again.out) == (0, "")
    assert f"{len(NAMES)} of the files were there already" in again.err


def code_of(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_the_copies_with_outputs_are_the_files(cli, tmp_path):
    result = cli("lessons", "a/course", "--outputs")
    assert result.code == 0
    copied = tmp_path / "a" / "course"
    assert sorted(p.name for p in copied.iterdir()) == NAMES
    assert all((copied / name).read_bytes() == (NOTEBOOKS / name).read_bytes() for name in NAMES)
    assert result.out.count("wrote ") == len(NAMES)
    again = cli("lessons", "a/course", "--outputs")
    assert (again.code, again.out) == (0, "")
    assert f"{len(NAMES)} of the files were there already" in again.err


def test_what_somebody_worked_in_is_kept_unless_asked(cli, tmp_path):
    cli("lessons", "course")
    mine = tmp_path / "course" / NAMES[0]
    mine.write_text("my work")
    result = cli("lessons", "course")
    assert (result.code, result.out) == (0, "")
    assert f"kept {Path('course') / NAMES[0]}" in result.err
    assert "--overwrite" in result.err
    assert mine.read_text() == "my work"
    result = cli("lessons", "course", "--overwrite")
    assert result.out == f"replaced {Path('course') / NAMES[0]}\n"
    assert mine.read_bytes() == shelf.unrun((NOTEBOOKS / NAMES[0]).read_bytes())


@pytest.mark.parametrize("folder", ["text.txt", "text.txt/x", "", "a\0b", "x" * 300, "taken"])
def test_a_folder_that_cannot_be(cli, tmp_path, folder):
    (tmp_path / "text.txt").write_text("a file")
    (tmp_path / "taken" / NAMES[-1]).mkdir(parents=True)  # a folder where a file should be
    before = sorted(str(p) for p in tmp_path.rglob("*"))
    result = cli("lessons", folder)
    assert result.code == 2
    assert result.out == ""
    lines = result.err.splitlines()
    assert 1 <= len(lines) <= 2
    assert lines[0].startswith("scalarviz: ")
    assert sorted(str(p) for p in tmp_path.rglob("*")) == before


@pytest.mark.parametrize("arguments", [("--overwrite",), ("--outputs",), ("a", "b"), ("--force", "a"), ("--seed",)])
def test_wrong_use(cli, arguments):
    result = cli("lessons", *arguments)
    assert result.code == 2
    assert 1 <= len(result.err.splitlines()) <= 2


@pytest.mark.parametrize("folder", [None, 3, b"x"])
def test_python_is_refused_in_words_too(folder):
    with pytest.raises(ScalarvizError):
        copy(folder)


def test_bad_overwrite(tmp_path):
    with pytest.raises(ScalarvizError, match="overwrite"):
        copy(tmp_path, overwrite="yes")
    with pytest.raises(ScalarvizError, match="outputs"):
        copy(tmp_path, outputs="yes")


def test_a_copy_of_the_package_without_them_says_so(monkeypatch, tmp_path, cli):
    monkeypatch.setattr(shelf, "FOLDERS", (tmp_path / "notebooks", tmp_path))
    result = cli("lessons")
    assert result.code == 2
    assert "made without them" in result.err


def test_they_are_in_the_wheel():
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    assert "scalarviz.notebooks" in parser["options"]["packages"].split()
    assert "scalarviz.notebooks = notebooks" in parser["options"]["package_dir"]
    assert parser["options.package_data"]["scalarviz.notebooks"] == "*.ipynb, *.py"
    assert [one.notebook.name for one in lessons()] == [name for name in NAMES if name.endswith(".ipynb")]
