"""Every lesson runs from top to bottom without a network, is what its ``.py`` says, is small, and has all its parts."""

from __future__ import annotations

import ast
import base64
import html
import io
import json
import re
from pathlib import Path

import jupytext
import nbconvert
import nbformat
import numpy as np
import pytest
from PIL import Image

pytestmark = pytest.mark.gl

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {source.name[:2]: source for source in sorted((ROOT / "notebooks").glob("*.py")) if source.name[:2] != "01"}
LARGEST = 300_000
"""Bytes of a notebook."""
LONGEST = 13
"""Lines of a cell: more do not fit on a slide."""
each_lesson = pytest.mark.parametrize("number", SOURCES)


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


def results(notebook):
    """Of each cell, in which forms its result is there."""
    return [[sorted(o["data"]) for o in cell["outputs"] if "data" in o] for cell in code(notebook)]


def decoded(files):
    return [np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int) for data in files]


@each_lesson
def test_it_runs_and_is_what_its_py_says(number, made_anew):
    fresh, kept = made_anew(number), stored(number)
    for notebook in (fresh, kept):
        cells = code(notebook)
        assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
        kinds = {o["output_type"] for cell in cells for o in cell["outputs"]}
        assert kinds <= {"stream", "execute_result", "display_data"}
        assert {o["name"] for cell in cells for o in cell["outputs"] if o["output_type"] == "stream"} == {"stdout"}
    sources = [[(cell["id"], cell["cell_type"], "".join(cell["source"])) for cell in n["cells"]] for n in (fresh, kept)]
    assert sources[0] == sources[1], "run: make notebooks"
    assert printed(fresh) == printed(kept)
    assert results(fresh) == results(kept)


@each_lesson
def test_its_pictures_are_those_of_a_fresh_run(number, made_anew, pictures_of):
    found = [decoded(pictures_of(notebook)) for notebook in (made_anew(number), stored(number))]
    for fresh, kept in zip(*found, strict=True):
        assert fresh.shape == kept.shape
        assert (np.abs(fresh - kept).max(axis=2) > 24).mean() < 0.01  # edges differ by the driver
        assert (np.abs(kept - kept[0, 0]).max(axis=2) > 24).mean() > 0.01  # something is drawn


@each_lesson
def test_it_is_small(number):
    notebook = stored(number)
    assert SOURCES[number].with_suffix(".ipynb").stat().st_size <= LARGEST
    lengths = [len("".join(cell["source"]).splitlines()) for cell in code(notebook)]
    assert max(lengths) <= LONGEST
    assert 25 <= len(notebook["cells"]) <= 70


@each_lesson
def test_it_opens_offline(number):
    """Nothing is loaded from anywhere: no address, no picture, script or style of another file."""
    text = SOURCES[number].with_suffix(".ipynb").read_text(encoding="utf-8")
    addresses = set(re.findall(r"https?://[^\s\"\\')<]+", text))
    assert {address for address in addresses if not address.startswith("http://www.w3.org/")} == set()
    assert not re.search(r"<(script|link|iframe)[^>]*(src|href)=", text)
    assert "![" not in "".join(texts(stored(number)))


@each_lesson
def test_it_has_a_question_a_prediction_exercises_and_a_sentence_to_remember(number):
    notebook = stored(number)
    said = texts(notebook)
    assert said[0].startswith("# ")
    assert "**The question of this lesson: " in said[0]
    assert "minutes" in said[0]
    assert any("**Predict" in text or "## Predict first" in text for text in said[1:4])
    sentence = re.fullmatch(r"## To remember\n\n\*\*([^*]+)\*\*", said[-1])
    assert sentence, said[-1]
    assert sentence[1].count(".") == 1
    exercises = [cell for cell in code(notebook) if any(tag.startswith("exercise: ") for tag in tags(cell))]
    assert 3 <= len(exercises) <= 5
    for cell in exercises:
        source = "".join(cell["source"])
        assert "..." in source
        last = ast.parse(source).body[-1]
        assert isinstance(last, ast.Expr)
        assert re.match(r"sv\.check\.\w+\(", ast.unparse(last))


def tags(cell):
    return cell["metadata"].get("tags", ())


@each_lesson
def test_its_headlines_are_slides(number):
    for cell in stored(number)["cells"]:
        kind = cell["metadata"]["slideshow"]["slide_type"]
        source = "".join(cell["source"])
        expected = (
            ("slide" if source.startswith(("# ", "## ")) else "subslide") if cell["cell_type"] == "markdown" else "-"
        )
        assert kind == expected


@each_lesson
def test_the_names_of_its_exercises_are_those_of_its_solutions(number):
    cells = jupytext.read(SOURCES[number]).cells
    names = [tag.removeprefix("exercise: ") for cell in cells for tag in tags(cell)]
    written = (ROOT / "tests" / "notebooks" / "solutions" / f"{number}.py").read_text(encoding="utf-8")
    blocks = re.findall(r"^# %% ([\w-]+): (solution|slip)", written, re.MULTILINE)
    for name in names:
        kinds = [kind for of, kind in blocks if of == name]
        assert kinds.count("solution") == 1
        assert kinds.count("slip") >= 3
    assert {name for name, _ in blocks} == set(names)
    assert len(set(names)) == len(names)


@each_lesson
def test_it_becomes_a_script_of_python_by_the_tools_of_others(number, monkeypatch):
    monkeypatch.setenv("JUPYTER_PATH", str(Path(nbformat.__file__).parents[4] / "share" / "jupyter"))
    notebook = nbformat.read(SOURCES[number].with_suffix(".ipynb"), as_version=4)
    source, resources = nbconvert.ScriptExporter().from_notebook_node(notebook)
    assert resources["output_extension"] == ".py"
    ast.parse(source)


def with_images(notebook):
    """The outputs that most notebooks show as an image of ours."""
    outputs = [o for cell in code(notebook) for o in cell["outputs"] if "data" in o]
    return [o for o in outputs if "<img" in "".join(o["data"].get("text/html", ""))]


@pytest.mark.parametrize("number", ["01", *SOURCES])
def test_its_pictures_have_words_and_an_image_for_who_shows_no_html(number):
    (path,) = (ROOT / "notebooks").glob(f"{number}-*.ipynb")
    found = with_images(json.loads(path.read_text(encoding="utf-8")))
    assert found
    for output in found:
        data, words = output["data"], "".join(output["data"]["text/plain"])
        alt, size = re.search(r'alt="([^"]+)" width="(\d+)"', "".join(data["text/html"])).groups()
        assert html.unescape(alt) == words
        assert len(words.split()) >= 5
        seen = decoded([base64.b64decode("".join(data["image/jpeg"]))])[0]
        (drawn,) = decoded([base64.b64decode(re.search('base64,([^"]+)', "".join(data["text/html"]))[1])])
        assert seen.shape == drawn.shape
        assert seen.shape[1] == int(size)
        assert (np.abs(seen - drawn).max(axis=2) > 96).mean() < 0.01


def test_without_html_every_picture_is_in_what_a_notebook_becomes(monkeypatch):
    """LaTeX shows no HTML; Markdown of a notebook whose HTML somebody took out."""
    monkeypatch.setenv("JUPYTER_PATH", str(Path(nbformat.__file__).parents[4] / "share" / "jupyter"))
    notebook = nbformat.read(SOURCES["09"].with_suffix(".ipynb"), as_version=4)
    count = len(with_images(notebook))
    assert count == 2  # a picture, and what was live
    without_text = nbformat.v4.new_notebook(
        cells=code(notebook)
    )  # of which Pandoc, which is none of Python's, makes LaTeX
    _, resources = nbconvert.LatexExporter().from_notebook_node(without_text)
    assert sum(name.endswith((".jpg", ".jpeg")) for name in resources["outputs"]) == count
    for output in with_images(notebook):
        del output["data"]["text/html"]
    text, resources = nbconvert.MarkdownExporter().from_notebook_node(notebook)
    files = [name for name in resources["outputs"] if name.endswith((".jpg", ".jpeg"))]
    assert len(files) == count
    assert all(f"]({name})" in text for name in files)
    assert all(decoded([resources["outputs"][name]])[0].std() > 10 for name in files)
