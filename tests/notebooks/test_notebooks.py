"""Every lesson runs from top to bottom without a network, is what its ``.py`` says, is small and has its parts.

Each notebook is made anew once, in a kernel, by what ``make notebooks`` runs.
"""

from __future__ import annotations

import ast
import base64
import html
import importlib
import io
import json
import os
import re
import sys
from functools import cache
from pathlib import Path
from unittest import mock

import nbconvert
import nbformat
import numpy as np
import pytest
from PIL import Image

pytestmark = pytest.mark.gl

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / ".ci"))
SOURCES = {source.name[:2]: source for source in sorted((ROOT / "notebooks").glob("*.py"))}
HELD = re.compile(r'<img (?:class="[\w-]+" )?alt="([^"]+)" width="(\d+)" src="data:image/webp;base64,([^"]+)">')
"""A picture of ours, with words; of what was live the picture has a class, too."""
LONGEST = 13
"""Lines of a cell: more do not fit on a slide."""
each_lesson = pytest.mark.parametrize("number", SOURCES)


@pytest.fixture(scope="module")
def made_anew(tmp_path_factory):
    """``made_anew("04")``: the notebook whose name begins so, as it is after all its cells ran."""
    # Here and not in a process of its own: what makes notebooks takes two seconds to load.
    maker = importlib.import_module("make_notebooks")

    @cache
    def make(number):
        with mock.patch.dict(os.environ):
            for name in ("DISPLAY", "WAYLAND_DISPLAY", "PYTHONWARNINGS"):
                os.environ.pop(name, None)
            return maker.made(SOURCES[number], tmp_path_factory.mktemp("notebook"))

    return make


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


@each_lesson
def test_it_runs_and_is_what_its_py_says(number, made_anew):
    fresh, kept = made_anew(number), stored(number)
    for notebook in (fresh, kept):
        cells = code(notebook)
        assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
        outputs = [o for cell in cells for o in cell["outputs"]]
        assert {o["output_type"] for o in outputs} <= {"stream", "execute_result", "display_data"}
        assert {o["name"] for o in outputs if o["output_type"] == "stream"} == {"stdout"}
        assert not any("image/png" in o.get("data", ()) for o in outputs)
    sources = [[(cell["id"], cell["cell_type"], "".join(cell["source"])) for cell in n["cells"]] for n in (fresh, kept)]
    assert sources[0] == sources[1], "run: make notebooks"
    assert printed(fresh) == printed(kept)
    forms = [[[sorted(o["data"]) for o in c["outputs"] if "data" in o] for c in code(n)] for n in (fresh, kept)]
    assert forms[0] == forms[1]
    for new, old in zip(pictures(fresh), pictures(kept), strict=True):
        assert new.shape == old.shape
        assert apart(new, old, 24) < 0.01  # edges differ by the driver
        assert apart(old, old[0, 0], 24) > 0.01  # something is drawn


@each_lesson
def test_it_is_small_and_opens_offline(number):
    """Nothing is loaded from anywhere: no address, no picture, script or style of another file."""
    path, notebook = SOURCES[number].with_suffix(".ipynb"), stored(number)
    assert path.stat().st_size <= 300_000
    assert max(len("".join(cell["source"]).splitlines()) for cell in code(notebook)) <= LONGEST
    assert 25 <= len(notebook["cells"]) <= 75
    text = path.read_text(encoding="utf-8")
    addresses = set(re.findall(r"https?://[^\s\"\\')<]+", text))
    assert {address for address in addresses if not address.startswith("http://www.w3.org/")} == set()
    assert not re.search(r"<(script|link|iframe)[^>]*(src|href)=", text)
    assert "![" not in "".join(texts(notebook))


@each_lesson
def test_it_has_a_question_a_prediction_exercises_and_a_sentence_to_remember(number):
    notebook = stored(number)
    said = texts(notebook)
    assert said[0].startswith("# ")
    assert "**The question of this lesson: " in said[0]
    if number != "01":  # which is two lessons in one
        assert "minutes" in said[0]
        assert any("**Predict" in text or "## Predict first" in text for text in said[1:4])
        sentence = re.fullmatch(r"## To remember\n\n\*\*([^*]+)\*\*", said[-1])
        assert sentence, said[-1]
        assert sentence[1].count(".") == 1
    assert any("**Predict" in text or "## Predict first" in text for text in said)
    assert sum(text.startswith("## To remember") for text in said) == 1
    exercises = [c for c in code(notebook) if any(t.startswith("exercise: ") for t in c["metadata"].get("tags", ()))]
    assert 3 <= len(exercises) <= 5
    for cell in exercises:
        source = "".join(cell["source"])
        assert "..." in source
        last = ast.parse(source).body[-1]
        assert isinstance(last, ast.Expr)
        assert re.match(r"sv\.check\.\w+\(", ast.unparse(last))


@each_lesson
def test_its_headlines_are_slides_its_code_a_script_and_its_pictures_have_words(number, monkeypatch):
    monkeypatch.setenv("JUPYTER_PATH", str(Path(nbformat.__file__).parents[4] / "share" / "jupyter"))
    notebook = nbformat.read(SOURCES[number].with_suffix(".ipynb"), as_version=4)
    source, resources = nbconvert.ScriptExporter().from_notebook_node(notebook)
    assert resources["output_extension"] == ".py"
    ast.parse(source)
    for cell in notebook["cells"]:
        headline = "".join(cell["source"]).startswith(("# ", "## "))
        wanted = ("slide" if headline else "subslide") if cell["cell_type"] == "markdown" else "-"
        assert cell["metadata"]["slideshow"]["slide_type"] == wanted
    assert held(notebook)
    for output, alt, width, file in held(notebook):
        words = "".join(output["data"]["text/plain"])
        assert html.unescape(alt) == words
        assert len(words.split()) >= 5
        seen, drawn = (decoded(base64.b64decode("".join(d))) for d in (output["data"]["image/jpeg"], file))
        assert seen.shape == drawn.shape
        assert seen.shape[1] == int(width)
        assert apart(seen, drawn, 96) < 0.01


def test_without_html_every_picture_is_in_what_a_notebook_becomes(monkeypatch):
    """LaTeX shows no HTML; Markdown of a notebook whose HTML somebody took out."""
    monkeypatch.setenv("JUPYTER_PATH", str(Path(nbformat.__file__).parents[4] / "share" / "jupyter"))
    notebook = nbformat.read(SOURCES["09"].with_suffix(".ipynb"), as_version=4)
    assert len(held(notebook)) == 2  # a picture, and what was live
    of_code = nbformat.v4.new_notebook(cells=code(notebook))  # of text Pandoc makes LaTeX
    _, resources = nbconvert.LatexExporter().from_notebook_node(of_code)
    assert sum(name.endswith((".jpg", ".jpeg")) for name in resources["outputs"]) == 2
    for output, *_ in held(notebook):
        del output["data"]["text/html"]
    text, resources = nbconvert.MarkdownExporter().from_notebook_node(notebook)
    files = [name for name in resources["outputs"] if name.endswith((".jpg", ".jpeg"))]
    assert len(files) == 2
    assert all(f"]({name})" in text for name in files)
    assert all(decoded(resources["outputs"][name]).std() > 10 for name in files)


def numbers_after(notebook, word, count):
    """The first `count` decimal numbers that any cell printed after `word`."""
    text = "\n".join(printed(notebook)).split(word, 1)[1]
    return [float(number) for number in re.findall(r"[-+]?\d+\.\d*", text)[:count]]


def test_the_first_lessons_numbers_and_colours_are_true(made_anew):
    """By hand: (2w - 4)**2 from w = -3 with lr 0.05 leaves 0.6 of the distance; inverting a colour."""
    fresh = made_anew("01")
    assert numbers_after(fresh, "w: ", 8) == pytest.approx([2 - 5 * 0.6**k for k in range(8)], abs=5e-4)
    total = 0.8 * 0.9 - 0.4 * 0.5 + 0.3 * 0.1 + 0.2
    out = 1 / (1 + np.exp(-total))
    assert numbers_after(fresh, "z = ", 3) == pytest.approx([total, out, (out - 0.1) ** 2], abs=5e-5)
    slope = 2 * (out - 0.1) * out * (1 - out)
    found = [numbers_after(fresh, f"{name}: value", 2)[1] for name in ("w0", "w1", "w2", "bias")]
    assert found == pytest.approx([slope * x for x in (0.9, 0.5, 0.1, 1.0)], abs=5e-5)
    assert numbers_after(fresh, "-> [", 3) == pytest.approx([0.1, 0.5, 0.9], abs=0.06)
    one, path, _, before, gradient, after = (picture[100:400] for picture in pictures(fresh))
    red, green, blue = np.moveaxis(one, 2, 0)
    assert (red > blue + 100).sum() > 1000 > (blue > red + 100).sum()  # -3 is orange
    for red, blue in ((shown[..., 0], shown[..., 2]) for shown in (path, after)):  # numbers of either sign
        assert min((red > blue + 60).sum(), (blue > red + 60).sum()) > 1000
    red, green, blue = np.moveaxis(gradient, 2, 0)
    assert (blue > green + 50).sum() > 1000 > (red > blue + 60).sum()  # every one is positive: violet
    for a, b in ((before, gradient), (gradient, after), (before, after)):
        assert apart(a, b, 40) > 0.05
