"""`sv.live` in a kernel without a browser: a picture appears in the output, and nothing is left behind."""

import base64
import importlib
import io
import re
import sys
import types

import nbformat
import numpy as np
import pytest
from PIL import Image

import scalarviz as sv
from scalarviz import nn
from scalarviz.errors import MissingDependencyError, UnknownNameError
from scalarviz.view.cell.live import heard_where_sent, live_class
from scalarviz.view.described import words_of
from scalarviz.view.page.pictures import output_of
from scalarviz.view.shown.subject import subject_of

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
SHOWN = (1, 4, 5, 6)
"""The cells that show something."""


@pytest.fixture(scope="module")
def notebook():
    from nbclient import NotebookClient

    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    NotebookClient(made, timeout=60, kernel_name="python3", store_widget_state=False).execute()
    return made


def decoded(data):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")).astype(int)


def test_the_output_is_the_widget_and_below_it_the_same_picture_in_every_form(notebook):
    names = set()
    for cell in SHOWN:
        widget, still = (one for one in notebook.cells[cell].outputs if one.output_type == "display_data")
        assert "application/vnd.jupyter.widget-view+json" in widget.data
        image = r'<img class="(scalarviz-still-\w+)" alt="([^"]+)" width="\d+" src="data:image/webp;base64,(.+)">'
        name, words, data = re.fullmatch(image, still.data["text/html"]).groups()
        names.add(name)
        assert decoded(data).std() > 20  # cubes, not an empty ground
        assert np.abs(decoded(still.data["image/jpeg"]) - decoded(data)).mean() < 4  # for who shows no HTML
        assert still.data["text/plain"] == still.metadata["image/jpeg"]["alt"] == words
        if cell == 1:
            assert words.startswith("rgb, step 25, loss 0.")
            picture = decoded(data)
    assert len(names) == len(SHOWN)  # each has a place of its own
    module = importlib.import_module("scalarviz.scenes.rgb")
    scene = module.build(module.Options())
    scene.run.step(25)
    for step, share in ((25, (0.0, 0.02)), (0, (0.02, 1.0))):  # that of the step where it was closed
        scene.run.to(step)
        far = np.abs(picture - sv.render(scene, (320, 240), theme="light").astype(int)).max(2) > 48
        assert share[0] <= far.mean() < share[1]


def test_nothing_fails_or_stays_and_no_thread_is_there_before_anybody_looks(notebook):
    outputs = [[one for one in cell.outputs if one.output_type in ("stream", "error")] for cell in notebook.cells]
    said = {
        k: ({one.name for one in some}, "".join(one.text for one in some)) for k, some in enumerate(outputs) if some
    }
    assert said == {2: ({"stdout"}, "[]\n"), 3: ({"stdout"}, "25 Live(rgb)\nNone\n"), 7: ({"stdout"}, "[]\n")}


def test_words_say_what_is_drawn_and_are_escaped_and_a_name_that_cannot_be_hidden_is_refused():
    with pytest.raises(UnknownNameError, match="hide has 'speed'; there are"):
        sv.live(nn.Linear(2, 2), hide=("speed",))
    said = output_of(None, 'x"><script>alert(1)</script>', "a").html
    assert said == '<p class="a">x&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;</p>'
    assert words_of("linear", subject_of(nn.Linear(2, 3)).frame(), counted=False) == "linear: 9 numbers as cubes"


def test_without_the_package_it_says_what_to_install(monkeypatch):
    live_class.cache_clear()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    try:
        with pytest.raises(MissingDependencyError, match=re.escape("pip install 'scalarviz[notebook]'")):
            sv.live(nn.Linear(2, 2))
    finally:
        live_class.cache_clear()


def test_what_the_browser_says_is_heard_in_the_shell_that_it_is_said_to():
    """ipykernel answers a comm where it was last used from, which of a thread's frames is the shell that is busy."""
    comm = importlib.import_module("ipykernel.comm.comm").BaseComm(primary=False)
    comm._reply_subshell_id = None  # the main shell, which runs a cell
    heard_where_sent(types.SimpleNamespace(comm=comm))
    if hasattr(comm, "_reply_subshell_for"):  # from 7.4 on
        assert comm._reply_subshell_for({"content": {"kind": "drawn"}}, "the browser's") == "the browser's"
    heard_where_sent(types.SimpleNamespace(comm=None))  # nobody there: marimo's, or no kernel
