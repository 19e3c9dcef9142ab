"""`sv.live` in a kernel without a browser: a picture appears in the output, and nothing is left behind."""

import base64
import importlib
import io
import re
import types

import nbformat
import numpy as np
import pytest
from PIL import Image

import scalarviz as sv
from scalarviz import nn
from scalarviz.errors import InputError, TypeMismatchError, UnknownNameError
from scalarviz.view.cell.live import heard_where_sent, live_class
from scalarviz.view.described import words_of
from scalarviz.view.page.pictures import output_of

pytestmark = pytest.mark.gl

CELLS = [
    "import threading, importlib\nimport scalarviz as sv\n"
    "scene = importlib.import_module('scalarviz.scenes.rgb')\nscene = scene.build(scene.Options())\n"
    "def threads():\n    return sorted(t.name for t in threading.enumerate() if 'scalarviz' in t.name)",
    "w = sv.live(scene, size=(320, 240))\nw",
    "print(threads())\nw.act('step', 25)",
    "import time\nuntil = time.time() + 20\nwhile scene.run.steps < 25 and time.time() < until:\n    time.sleep(0.05)\n"
    "print(scene.run.steps, w)\nw.close()\nprint(scene.run._store.gate)",
    "sv.live(scene, size=(320, 240))",
    "sv.live(scene, size=(320, 240))",
    "weights = [sv.Weight(0.5, name='a')]\nv = sv.live(weights, size=(240, 200))\nv",
    "weights[0].data = 0.25\nv.update(loss=0.5)\nprint(threads())",
]


@pytest.fixture(scope="module")
def notebook():
    from nbclient import NotebookClient

    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    NotebookClient(made, timeout=60, kernel_name="python3", store_widget_state=False).execute()
    return made


def outputs(notebook, cell, kind="display_data"):
    return [one for one in notebook.cells[cell].outputs if one.output_type == kind]


def picture(output):
    image = r'<img class="(scalarviz-still-\w+)" alt="([^"]+)" width="\d+" src="data:image/webp;base64,(.+)">'
    found = re.fullmatch(image, output.data["text/html"])
    return found[1], found[2], np.asarray(Image.open(io.BytesIO(base64.b64decode(found[3]))).convert("RGB"))


def printed(notebook, cell):
    return "".join(one.text for one in outputs(notebook, cell, "stream") if one.name == "stdout")


def test_the_output_is_the_widget_and_below_it_the_picture(notebook):
    widget, still = outputs(notebook, 1)
    assert "application/vnd.jupyter.widget-view+json" in widget.data
    _, words, pixels = picture(still)
    assert pixels.shape == (240, 320, 3)
    assert pixels.std() > 20  # cubes, not an empty ground
    assert words.startswith("rgb, step 25, loss 0.")


def test_the_picture_is_that_of_the_step_where_it_was_closed(notebook):
    module = __import__("scalarviz.scenes.rgb", fromlist=["build"])
    scene = module.build(module.Options())
    scene.run.step(25)
    wanted = sv.render(scene, (320, 240), theme="light").astype(int)
    _, _, pixels = picture(outputs(notebook, 1)[1])
    far = np.abs(pixels.astype(int) - wanted).max(2) > 48  # what WebP loses at edges
    assert far.mean() < 0.02
    scene.run.to(0)
    begun = sv.render(scene, (320, 240), theme="light").astype(int)
    assert (np.abs(pixels.astype(int) - begun).max(2) > 48).mean() > 0.02


def test_no_thread_before_anybody_looks_and_none_after_the_close(notebook):
    assert printed(notebook, 2) == "[]\n"
    assert printed(notebook, 3) == "25 Live(rgb)\nNone\n"
    assert printed(notebook, 7) == "[]\n"


def test_nothing_is_printed_and_nothing_fails(notebook):
    streams = [one for cell in notebook.cells for one in cell.outputs if one.output_type == "stream"]
    assert [one.text for one in streams if one.name == "stderr"] == []
    assert not [one for cell in notebook.cells for one in cell.outputs if one.output_type == "error"]


def test_every_cell_has_a_picture_of_its_own(notebook):
    names = [picture(outputs(notebook, cell)[1])[0] for cell in (1, 4, 5, 6)]
    assert len(set(names)) == 4


def test_a_picture_in_an_output_is_escaped():
    said = output_of(None, 'x"><script>alert(1)</script>', "a").html
    assert "<script" not in said
    assert said == '<p class="a">x&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;</p>'


def test_the_output_has_the_same_picture_for_who_shows_no_html_and_words_for_who_shows_none(notebook):
    for cell in (1, 4, 5, 6):
        output = outputs(notebook, cell)[1]
        _, words, pixels = picture(output)
        image = Image.open(io.BytesIO(base64.b64decode(output.data["image/jpeg"])))
        assert np.abs(np.asarray(image.convert("RGB")).astype(int) - pixels).mean() < 4
        assert output.data["text/plain"] == words
        assert output.metadata["image/jpeg"]["alt"] == words


def test_words_say_what_is_drawn():
    frame = nn.Linear(2, 3)
    subject = sv.view.shown.subject.subject_of(frame)
    assert words_of("linear", subject.frame(), counted=False) == "linear: 9 numbers as cubes"


@pytest.mark.parametrize("bad", [None, 3, "rgb", object(), [], {}])
def test_what_has_no_weights_is_refused(bad):
    with pytest.raises((TypeMismatchError, InputError)):
        sv.live(bad)


@pytest.mark.parametrize(
    ("named", "error", "said"),
    [
        ({"display": "video"}, InputError, "live: the display must be one of values, pictures"),
        ({"display": None}, InputError, "got None"),
        ({"size": (10, 10)}, InputError, "160"),
        ({"size": "large"}, InputError, "size"),
        ({"hide": 3}, TypeMismatchError, "hide is several names"),
        ({"hide": [3]}, TypeMismatchError, "hide is several names"),
        ({"hide": ("speed",)}, UnknownNameError, "hide has 'speed'; there are"),
        ({"controls": "yes"}, TypeMismatchError, "live: controls"),
    ],
)
def test_bad_arguments_are_said(named, error, said):
    with pytest.raises(error, match=re.escape(said)):
        sv.live(nn.Linear(2, 2), **named)


def test_without_the_package_it_says_what_to_install(monkeypatch):
    import sys

    live_class.cache_clear()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    try:
        with pytest.raises(sv.errors.MissingDependencyError, match=re.escape("pip install 'scalarviz[notebook]'")):
            sv.live(nn.Linear(2, 2))
    finally:
        live_class.cache_clear()


def test_what_the_browser_says_is_heard_in_the_shell_that_it_is_said_to():
    """ipykernel answers a comm where it was last used from, which of a thread's frames is the shell that is busy."""
    comm = importlib.import_module("ipykernel.comm.comm").BaseComm(primary=False)
    comm._reply_subshell_id = None  # the main shell, which runs a cell
    widget = types.SimpleNamespace(comm=comm)
    heard_where_sent(widget)
    if hasattr(comm, "_reply_subshell_for"):  # from 7.4 on
        assert comm._reply_subshell_for({"content": {"kind": "drawn"}}, "the browser's") == "the browser's"
    heard_where_sent(types.SimpleNamespace(comm=None))  # nobody there: marimo's, or no kernel
