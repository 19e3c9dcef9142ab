"""Every lesson is what its ``.py`` says, is small and has its parts; two are made anew by what ``make notebooks`` runs.

That the code of all lessons runs and prints what is stored is a test of `test_exercises`; ``make hunt`` makes all anew.
"""

import ast
import base64
import html
import importlib
import io
import json
import os
import re
import sys
from pathlib import Path
from unittest import mock

import jupytext
import nbconvert
import nbformat
import numpy as np
import pytest
from PIL import Image

pytestmark = pytest.mark.gl

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / ".ci"))
SOURCES = {source.name.partition("-")[0]: source for source in sorted((ROOT / "notebooks").glob("*.py"))}
HELD = re.compile(r'<img (?:class="[\w-]+" )?alt="([^"]+)" width="(\d+)" src="data:image/webp;base64,([^"]+)">')
"""A picture of ours, with words; of what was live the picture has a class, too."""
LONGEST = 13
"""Lines of a cell: more do not fit on a slide."""
each_lesson = pytest.mark.parametrize("number", SOURCES)
WORDS, CELL, EXERCISE = 150, 0.4, 4
"""Words a minute, minutes for a cell and for an exercise: the estimate of docs/lessons.md."""


def made_anew(number, folder):
    """The notebook as it is after all its cells ran in a kernel."""
    # Here and not in a process of its own: what makes notebooks takes two seconds to load.
    maker = importlib.import_module("make_notebooks")
    with mock.patch.dict(os.environ):
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "PYTHONWARNINGS"):
            os.environ.pop(name, None)
        return maker.made(SOURCES[number], folder)


def stored(number):
    return json.loads(SOURCES[number].with_suffix(".ipynb").read_text(encoding="utf-8"))


def code(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def texts(notebook):
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"]


def printed(notebook):
    """What each cell printed."""
    return [
        "".join("".join(o["text"]) for o in cell["outputs"] if o["output_type"] == "stream") for cell in code(notebook)
    ]


def held(notebook):
    """The outputs that most notebooks show as an image of ours, each with its words, width and file."""
    outputs = [(o, "".join(o.get("data", {}).get("text/html", ""))) for cell in code(notebook) for o in cell["outputs"]]
    return [(output, *HELD.search(text).groups()) for output, text in outputs if "<img" in text]


def decoded(file):
    return np.asarray(Image.open(io.BytesIO(file)).convert("RGB")).astype(int)


def pictures(notebook):
    return [decoded(base64.b64decode(file)) for _, _, _, file in held(notebook)]


def apart(one, other, by):
    """The share of the pixels that differ."""
    return (np.abs(one - other).max(axis=2) > by).mean()


def forms(notebook):
    return [[sorted(o["data"]) for o in cell["outputs"] if "data" in o] for cell in code(notebook)]


RUN = [n if n in ("04", "09") else pytest.param(n, marks=pytest.mark.hunt) for n in SOURCES]


@pytest.mark.parametrize("number", RUN)
def test_made_anew_it_is_what_is_stored(number, tmp_path):
    fresh, kept = made_anew(number, tmp_path), stored(number)
    assert sources(fresh) == sources(kept)
    assert printed(fresh) == printed(kept)
    assert forms(fresh) == forms(kept)
    for new, old in zip(pictures(fresh), pictures(kept), strict=True):
        assert new.shape == old.shape
        assert apart(new, old, 24) < 0.01  # edges differ by the driver
        assert apart(old, old[0, 0], 24) > 0.01  # something is drawn


def sources(notebook):
    return [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]


@each_lesson
def test_it_is_what_its_py_says_and_every_cell_ran(number):
    kept = stored(number)
    assert sources(kept) == sources(jupytext.read(SOURCES[number])), "run: make notebooks"
    assert [cell["execution_count"] for cell in code(kept)] == list(range(1, len(code(kept)) + 1))
    outputs = [o for cell in code(kept) for o in cell["outputs"]]
    assert {o["output_type"] for o in outputs} <= {"stream", "execute_result", "display_data"}
    assert {o["name"] for o in outputs if o["output_type"] == "stream"} == {"stdout"}
    assert not any("image/png" in o.get("data", ()) for o in outputs)


@each_lesson
def test_it_is_small_and_opens_offline(number):
    """Nothing is loaded from anywhere: no address, no picture, script or style of another file."""
    path, notebook = SOURCES[number].with_suffix(".ipynb"), stored(number)
    assert path.stat().st_size <= 300_000
    assert max(len("".join(cell["source"]).splitlines()) for cell in code(notebook)) <= LONGEST
    assert 25 <= len(notebook["cells"]) <= 56
    text = path.read_text(encoding="utf-8")
    addresses = set(re.findall(r"https?://[^\s\"\\')<]+", text))
    assert {address for address in addresses if not address.startswith("http://www.w3.org/")} == set()
    assert not re.search(r"<(script|link|iframe)[^>]*(src|href)=", text)
    assert "![" not in "".join(texts(notebook))


@each_lesson
def test_it_has_a_question_a_prediction_and_exercises(number):
    notebook = stored(number)
    said = texts(notebook)
    assert "**The question of this lesson: " in said[0]
    assert any("**Predict" in text or "## Predict first" in text for text in said)
    assert sum(text.startswith("## To remember") for text in said) == 1
    exercises = [c for c in code(notebook) if any(t.startswith("exercise: ") for t in c["metadata"].get("tags", ()))]
    assert 3 <= len(exercises) <= 5
    for cell in exercises:
        source = "".join(cell["source"])
        assert "..." in source
        assert re.match(r"sv\.check\.\w+\(", ast.unparse(ast.parse(source).body[-1]))


@each_lesson
def test_its_code_is_a_script_and_its_pictures_have_words(number):
    notebook = nbformat.read(SOURCES[number].with_suffix(".ipynb"), as_version=4)
    ast.parse(nbconvert.ScriptExporter().from_notebook_node(notebook)[0])
    assert held(notebook)
    for output, alt, width, file in held(notebook):
        words = "".join(output["data"]["text/plain"])
        assert html.unescape(alt) == words
        assert len(words.split()) >= 5
        seen, drawn = (decoded(base64.b64decode("".join(d))) for d in (output["data"]["image/jpeg"], file))
        assert seen.shape == drawn.shape
        assert seen.shape[1] == int(width)
        assert apart(seen, drawn, 96) < 0.01


def numbers_after(notebook, word, count):
    """The first `count` decimal numbers that any cell printed after `word`."""
    text = "\n".join(printed(notebook)).split(word, 1)[1]
    return [float(number) for number in re.findall(r"[-+]?\d+\.\d*", text)[:count]]


def test_the_first_lessons_numbers_are_true():
    """By hand: (2w - 4)**2 from w = -3 with lr 0.05 leaves 0.6 of the distance; inverting a colour."""
    assert numbers_after(stored("01"), "w: ", 8) == pytest.approx([2 - 5 * 0.6**k for k in range(8)], abs=5e-4)
    kept = stored("01b")
    total = 0.8 * 0.9 - 0.4 * 0.5 + 0.3 * 0.1 + 0.2
    out = 1 / (1 + np.exp(-total))
    assert numbers_after(kept, "z = ", 3) == pytest.approx([total, out, (out - 0.1) ** 2], abs=5e-5)
    slope = 2 * (out - 0.1) * out * (1 - out)
    found = [numbers_after(kept, f"{name}: value", 2)[1] for name in ("w0", "w1", "w2", "bias")]
    assert found == pytest.approx([slope * x for x in (0.9, 0.5, 0.1, 1.0)], abs=5e-5)
    assert numbers_after(kept, "-> [", 3) == pytest.approx([0.1, 0.5, 0.9], abs=0.06)


@each_lesson
def test_a_lesson_and_the_page_of_the_course_state_the_minutes_that_follow_from_its_length(number):
    cells = jupytext.read(SOURCES[number]).cells
    read = [cell.source for cell in cells if cell.cell_type == "markdown" and not cell.source.startswith("<details>")]
    words = sum(len(re.findall(r"\w+", text)) for text in read)
    code = [cell for cell in cells if cell.cell_type == "code"]
    exercises = sum("exercise: " in " ".join(cell.metadata.get("tags", ())) for cell in code)
    minutes = 5 * round((words / WORDS + CELL * (len(code) - exercises) + EXERCISE * exercises) / 5)
    told = re.findall(r"takes about (\d+)\s+minutes", "\n".join(cell.source for cell in cells))
    (row,) = re.findall(rf"^\| {number} [^|]+\| (\d+) \|", (ROOT / "docs/lessons.md").read_text("utf-8"), re.MULTILINE)
    assert [*map(int, told), int(row)] == [minutes, minutes]


def test_every_lesson_has_its_session_of_90_minutes_which_leaves_time_for_questions():
    plans = (ROOT / "docs/lesson-plans.md").read_text("utf-8").split("\n## ")[1:]
    parts = {plan.split()[0]: plan.partition("* **Minutes.** ")[2].partition("\n* **")[0] for plan in plans}
    minutes = {name: sum(map(int, re.findall(r"(\d+)\)", text))) for name, text in parts.items()}
    rows = re.findall(r"^\| \d \| ([\w, ]+) \|", (ROOT / "docs/lecturers.md").read_text("utf-8"), re.MULTILINE)
    sessions = [row.split(", ") for row in rows]
    assert sorted(lesson for session in sessions for lesson in session) == sorted(SOURCES) == sorted(minutes)
    assert all(40 <= sum(minutes[lesson] for lesson in session) <= 70 for session in sessions)
