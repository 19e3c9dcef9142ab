"""`sv.live` in JupyterLab and in marimo, as a user has it: a server, a kernel, a browser."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import numpy as np
import pytest
from scalarviz.scenes import rgb

import scalarviz as sv
from scalarviz.view.cell.shown import Shown

from .players import pixels_of

CELLS = [
    "import importlib, json, threading\nimport scalarviz as sv\n"
    "scene = importlib.import_module('scalarviz.scenes.rgb')\nscene = scene.build(scene.Options())\n"
    "w = sv.live(scene, size=(480, 320))\nw",
    "import pathlib, time\nbegun = time.monotonic()\n"
    "while not pathlib.Path('awake').exists() and time.monotonic() - begun < 60:\n    time.sleep(0.05)\n"
    "print(pathlib.Path('awake').exists())",
    "print(json.dumps([scene.run.steps, scene.run.lr, scene.run.values.tolist()]))",
    "w.close()\nprint(sorted(t.name for t in threading.enumerate() if 'scalarviz' in t.name))",
]

SHARED = Path(nbformat.__file__).parents[4] / "share" / "jupyter"
"""Where the packages of this environment have put their extensions of JupyterLab, wherever Python itself is."""


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.contextmanager
def server(command, ready, folder):
    """A server as a process of its own; gone, with its kernels, in the end."""
    away = ("DISPLAY", "WAYLAND_DISPLAY")
    env = {name: value for name, value in os.environ.items() if name not in away}
    env |= {"JUPYTER_CONFIG_DIR": str(folder / "config"), "JUPYTER_DATA_DIR": str(folder / "data"),
            "JUPYTER_RUNTIME_DIR": str(folder / "runtime"), "IPYTHONDIR": str(folder / "ipython"),
            "XDG_CONFIG_HOME": str(folder / "xdg"), "JUPYTER_PATH": str(SHARED)}  # fmt: skip
    log = (folder / "server.log").open("w")
    process = subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log, start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        while True:
            assert process.poll() is None, (folder / "server.log").read_text()
            with contextlib.suppress(OSError):
                urllib.request.urlopen(ready, timeout=2).close()
                break
            assert time.monotonic() < deadline, (folder / "server.log").read_text()
            time.sleep(0.1)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(5)
        log.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Address and token of a JupyterLab whose folder is given too."""
    pytest.importorskip("jupyterlab", reason="no JupyterLab (extra test)")
    folder = tmp_path_factory.mktemp("lab")
    port, token = free_port(), secrets.token_hex(16)
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}",
               f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}", "--allow-root",
               "--ServerApp.port_retries=0", "--LabApp.news_url=None", "--LabApp.check_for_updates_class="
               "jupyterlab.NeverCheckForUpdate"]  # fmt: skip
    with server(command, f"http://127.0.0.1:{port}/api/status?token={token}", folder):
        yield f"http://127.0.0.1:{port}", token, folder


@pytest.fixture
def opened(lab, chromium):
    """Opens a notebook in the lab: ``opened(cells)`` -> page, path."""
    address, token, folder = lab
    contexts = []

    def make(cells, name, outputs=None):
        made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
        made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        for cell, output in (outputs or {}).items():
            made.cells[cell].outputs = output
        nbformat.write(made, folder / name)
        contexts.append(chromium.new_context(viewport={"width": 1100, "height": 900}))
        page = contexts[-1].new_page()
        page.complaints = []
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.goto(f"{address}/doc/tree/{name}?token={token}")
        page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
        page.wait_for_function(IDLE, timeout=60_000)
        return page, folder / name

    yield make
    for context in contexts:
        context.close()


IDLE = "() => /[|] Idle/.test(document.querySelector('#jp-main-statusbar')?.innerText)"
"""JupyterLab drops a widget that is opened before a new kernel has said that it is there."""


def until(page, holds, pause=100):
    """Wait for what no script in the page can say."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        page.wait_for_timeout(pause)


def begin(page, number):
    """Press the triangle above the notebook for a cell."""
    page.locator(".jp-CodeCell").nth(number).locator(".jp-InputPrompt").click()
    page.click("button[data-command='notebook:run-cell-and-select-next'], [title^='Run this cell']")


def run(page, number):
    """Run a cell; a kernel that is not there yet passes it over."""
    prompt = page.locator(".jp-CodeCell").nth(number).locator(".jp-InputPrompt")
    until(page, lambda: prompt.inner_text().strip() not in ("[ ]:", "") or begin(page, number), 500)


def press(page, *keys):
    """Keys, on the first live cell."""
    page.locator(STAGE).first.focus()
    for key in keys:
        page.keyboard.press(key)


def printed(page, number, timeout=60_000):
    output = page.locator(".jp-CodeCell").nth(number).locator(".jp-OutputArea-output pre")
    output.first.wait_for(timeout=timeout)
    return output.first.inner_text().strip()


MARIMO = """
import marimo
app = marimo.App()

@app.cell
def _():
    import importlib
    import marimo as mo
    import scalarviz as sv
    scene = importlib.import_module("scalarviz.scenes.rgb")
    scene = scene.build(scene.Options())
    shown = mo.ui.anywidget(sv.live(scene, size=(480, 320)))
    shown
    return

if __name__ == "__main__":
    app.run()
"""

SAYS = """() => Object.entries(document.querySelector('.scalarviz-cell').parentElement.scalarviz.picture.known).some(
  ([name, list]) => name.startsWith("list ") && list.some((one) => one[0] === "text" && one[3].includes("{}")))"""
"""Whether the picture says something."""
RATE = """() => Object.entries(document.querySelector('.scalarviz-cell')?.parentElement.scalarviz.picture.known ?? {})
  .filter(([name]) => name.startsWith("list ")).flatMap(([, list]) => list)
  .map((one) => Number(String(one[3]).match(/^lr ([\\d.]+)( |$)/)?.[1])).find((found) => found > 0)"""
"""The learning rate that the picture says: a smaller one drops it where the test loss takes its room."""
CELL = "document.querySelector('.scalarviz-cell')?.parentElement.scalarviz"
STAGE = ".scalarviz-cell .stage"


def test_jupyterlab(opened):
    """Numbers, a key, a cell that sleeps, and the picture that the saved notebook keeps."""
    page, path = opened(CELLS, "live.ipynb")
    run(page, 0)
    page.wait_for_selector(".scalarviz-cell canvas", timeout=60_000)
    page.wait_for_function(f"{CELL}?.answered > 0", timeout=60_000)
    assert page.locator("img[class^=scalarviz-still]").count() == 1
    assert not page.locator("img[class^=scalarviz-still]").is_visible()  # while the widget lives
    assert not page.get_by_text("This picture does not move").is_visible()
    press(page, "Space")
    page.wait_for_function(f"{CELL}.frame.step > 5", timeout=60_000)
    count = page.locator(".jp-CodeCell").count()
    press(page, "d", "d")  # would delete the notebook's cell
    assert page.locator(".jp-CodeCell").count() == count
    # a cell that sleeps
    run(page, 1)
    before = page.evaluate(f"{CELL}.frame.number")
    press(page, "ArrowDown")  # halve the learning rate
    page.wait_for_function(SAYS.format("lr 0.25"), timeout=60_000)
    page.wait_for_function(f"{CELL}.frame.number > {before} + 5", timeout=60_000)
    (path.parent / "awake").touch()  # the cell has slept until now
    assert printed(page, 1) == "True"
    press(page, "Space")
    page.wait_for_function(f"!{CELL}.frame.running && {CELL}.answered === {CELL}.frame.number", timeout=60_000)
    page.wait_for_timeout(500)  # what was on its way when it paused
    drawn = page.evaluate(f"[{CELL}.picture.known.frame.step, Array.from({CELL}.picture.numbers)]")
    run(page, 2)
    steps, rate, values = json.loads(printed(page, 2))
    assert (drawn[0], rate) == (steps, 0.25)
    assert np.array_equal(np.array(drawn[1][:12], np.float32), np.array(values, np.float32))
    run(page, 3)
    assert printed(page, 3) == "[]"
    page.wait_for_function(f"{CELL}?.over || !document.querySelector('.scalarviz-cell')", timeout=60_000)
    page.keyboard.press("Control+s")
    until(page, lambda: f"step {steps:,}" in path.read_text())
    saved = nbformat.read(path, 4)
    still = [one for one in saved.cells[0].outputs if "text/html" in one.get("data", {})]
    assert f"step {steps:,}, loss" in still[0].data["text/html"]
    assert not page.complaints


WATCHED = [
    "import json, time\nimport numpy as np\nimport scalarviz as sv\nw, done = np.zeros((2, 3)), 0\n"
    "def loop(steps):\n    global w, done\n    for _ in range(steps):\n        done += 1\n        w = w + done\n"
    "        cell.update({'w': w}, loss=1 / done)\n        time.sleep(0.01)\n"
    "cell = sv.live({'w': w}, size=(480, 320))\ncell",
    "loop(10**6)",
    "loop(20)\nprint(done, w[0, 0])",
]


def test_a_loop_of_the_users_own_is_watched_interrupted_and_goes_on(opened):
    """Numbers of one step while the cell computes, a step back meanwhile, and what the last step did."""
    page, _ = opened(WATCHED, "watched.ipynb")
    run(page, 0)
    page.wait_for_function(f"{CELL}?.answered > 0", timeout=60_000)
    begin(page, 1)
    moment, before = f"(({{picture}}) => [picture.known.frame.step, picture.numbers[5]])({CELL})", 0
    for _ in range(3):
        known = f"{CELL}.picture.known.frame.step > {before} && {moment}"
        before, value = page.wait_for_function(known, timeout=60_000).json_value()
        assert value == before * (before + 1) / 2
    press(page, "ArrowLeft")
    page.wait_for_function(f"{CELL}.picture.known.past", timeout=60_000)
    step, value = page.evaluate(moment)
    assert value == step * (step + 1) / 2
    page.click("[data-command='notebook:interrupt-kernel'], [title^='Interrupt']")
    page.locator(".jp-CodeCell").nth(1).get_by_text("KeyboardInterrupt").first.wait_for(timeout=60_000)
    run(page, 2)
    done, value = printed(page, 2).split()
    press(page, "End")
    page.wait_for_function(f"!{CELL}.picture.known.past && {CELL}.picture.numbers[5] === {value}", timeout=60_000)
    page.keyboard.press("u")  # without gradients too: each step adds its number
    page.wait_for_function(f"{CELL}.picture.numbers[5] < {value} / 2", timeout=60_000)
    last, seen = int(done), page.evaluate(f"{CELL}.picture.numbers[5]")
    together = next(k for k in range(1, last) if sum(range(last - k + 1, last + 1)) == seen)
    page.wait_for_function(SAYS.format(f"over the last {together} steps" if together > 1 else "update"))
    assert last >= 20
    assert not page.complaints


def test_a_notebook_that_is_not_trusted_shows_the_last_step(opened):
    """JupyterLab takes the player's frame out of it; a widget without a kernel has its picture below it."""
    scene = rgb.build(rgb.Options())
    scene.run.step(20)
    with sv.Recording(scene, every=5) as record:
        scene.run.step(20)
        player = sv.player(record, size=(480, 360))
    shown = Shown(scene, (480, 360))
    shown.appear()
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "gone", "version_major": 2, "version_minor": 0}}
    outputs = {
        0: [nbformat.v4.new_output("display_data", {"text/html": player._repr_html_(), "text/plain": "Player"})],
        1: [nbformat.v4.new_output("display_data", {**view, "text/plain": "Live(rgb)"}),
            nbformat.v4.new_output("display_data", {"text/html": shown.still.output.html, "text/plain": "x"})],
    }  # fmt: skip
    page, _ = opened(["sv.player(record)", "sv.live(scene)"], "untrusted.ipynb", outputs)
    for number, words in ((0, "rgb: a recording of steps 20 to 40"), (1, "rgb, step 40, loss 0.")):
        image = page.locator(".jp-CodeCell").nth(number).locator(".jp-OutputArea-output img")
        image.wait_for(timeout=60_000)
        assert image.get_attribute("alt").startswith(words)
        assert image.is_visible()
        assert image.evaluate("e => e.complete && e.naturalWidth") == 480
    assert not page.locator("iframe.scalarviz-player").count()
    assert "pip install anywidget" in page.get_by_text("This picture does not move").inner_text()
    assert "jupyter-widgets:not(:has(*))" in shown.still.output.html  # it hides the words for a widget that is gone


SCENE = "import threading\nimport scalarviz as sv\nfrom scalarviz.scenes import rgb\nscene = rgb.build(rgb.Options())\n"
WAITS = (
    "import time\nuntil = time.monotonic() + 60\nwhile scene.run.steps < 10 and time.monotonic() < until:\n"
    "    time.sleep(0.05)\nprint(scene.run.steps)"
)


def test_when_a_kernel_is_restarted_the_last_picture_stays_and_the_cell_can_be_run_again(opened):
    page, _ = opened([SCENE + "w = sv.live(scene, size=(480, 320))\nw"], "weather.ipynb")
    run(page, 0)
    page.wait_for_function(f"{CELL}?.answered > 0", timeout=60_000)
    press(page, "Space")
    page.wait_for_function(f"{CELL}.frame.step > 3", timeout=60_000)
    page.click("[data-command='notebook:restart-kernel'], [title^='Restart the kernel']")
    page.locator(".jp-Dialog button", has_text="Restart").last.click()
    page.wait_for_function(f"{CELL}.over", timeout=60_000)
    assert "the kernel was restarted" in page.inner_text(".scalarviz-cell .news")
    assert pixels_of(page.locator(".scalarviz-cell .cubes").screenshot()).std() > 20  # the picture over the last frame
    page.locator(".scalarviz-cell .cubes").evaluate("e => e.isOld = true")
    page.wait_for_function(IDLE, timeout=60_000)
    begin(page, 0)
    page.wait_for_function(f"!document.querySelector('.cubes')?.isOld && {CELL}?.answered > 0", timeout=60_000)
    press(page, "ArrowRight")
    page.wait_for_function(f"{CELL}.frame.step === 1", timeout=60_000)
    # the new kernel's own log of a widget manager that it does not know comes through with its address still on
    other = "Kernel message validation error: Unexpected token 's', \"stream.stderr\" is not valid JSON"
    assert [words for words in page.complaints if words != other] == []


def test_pictures_by_jupyter_rfb(opened):
    """The window's picture in the cell: it is not blank, it is light as the notebook is, and a key acts."""
    pytest.importorskip("jupyter_rfb", reason="no jupyter_rfb (extra notebook)")
    cells = [SCENE + "w = sv.live(scene, display='pictures', size=(480, 320))\nw", WAITS,
             "w.close()\nprint(sorted(t.name for t in threading.enumerate() if 'scalarviz' in t.name))"]  # fmt: skip
    page, _ = opened(cells, "pictures.ipynb")
    run(page, 0)
    shown = page.locator("img.renderview-view")
    shown.wait_for(timeout=60_000)
    # until then it is dark, or nothing yet
    until(page, lambda: (now := pixels_of(shown.screenshot())).mean() > 128 and now.std() > 20)
    before = pixels_of(shown.screenshot())
    assert not page.locator("img[class^=scalarviz-still]").is_visible()
    shown.click(position={"x": 6, "y": 6})
    page.keyboard.press("Shift+ArrowRight")
    run(page, 1)
    assert printed(page, 1) == "10"
    # other numbers, not other dust of a JPEG
    until(page, lambda: (np.abs(pixels_of(shown.screenshot()) - before).max(2) > 64).mean() >= 0.002)
    run(page, 2)
    assert printed(page, 2) == "[]"
    assert not page.complaints


def test_a_page_that_is_loaded_again_and_a_notebook_that_is_closed_and_opened(opened):
    """The kernel lives on, and so does training: the picture comes back, and a key acts."""
    page, path = opened([SCENE + "w = sv.live(scene, size=(540, 400))\nw"], "again.ipynb")
    run(page, 0)
    page.wait_for_function(f"{CELL}?.answered > 0", timeout=60_000)
    press(page, "Space")
    page.wait_for_function(f"{CELL}.frame.step > 3", timeout=60_000)
    press(page, "Control+s")  # means nothing to the cell: the notebook hears it
    until(page, lambda: "widget-view" in path.read_text())

    def rate():
        return page.wait_for_function(RATE, timeout=60_000).json_value()

    def back():
        """A key halves the learning rate; it is pressed again where the page was not ready to hear it."""
        page.wait_for_function(f"{CELL}?.answered > 0", timeout=60_000)
        first = rate()
        until(page, lambda: rate() < first or press(page, "ArrowDown"), 2000)
        before = page.evaluate(f"{CELL}.frame.step")
        page.wait_for_function(f"{CELL}.frame.step > {before} || !{CELL}.frame.running", timeout=60_000)
        assert before > 3

    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()  # in the middle of its frames
    back()
    page.goto(page.url.replace("/doc/tree/", "/lab/tree/"))
    back()
    page.keyboard.press("Control+s")
    page.locator(".lm-DockPanel-tabBar .lm-mod-current .lm-TabBar-tabCloseIcon").click()
    page.wait_for_selector(".jp-Notebook", state="detached", timeout=60_000)
    listed = page.locator(".jp-DirListing-item", has_text="again.ipynb")
    if not listed.is_visible():
        page.locator(".jp-SideBar [data-id=filebrowser]").click()
    listed.dblclick()
    back()
    assert not page.complaints


def test_marimo(chromium, tmp_path):
    """Numbers, keys and the wheel, in another notebook than Jupyter's."""
    pytest.importorskip("marimo", reason="no marimo (extra test)")
    port, token = free_port(), secrets.token_hex(16)
    (tmp_path / "cell.py").write_text(MARIMO, encoding="utf-8")
    command = [sys.executable, "-m", "marimo", "run", "cell.py", "--headless", "--host=127.0.0.1", f"--port={port}",
               "--token", f"--token-password={token}"]  # fmt: skip
    with server(command, f"http://127.0.0.1:{port}/health", tmp_path):
        context = chromium.new_context(viewport={"width": 1000, "height": 900})
        try:
            page = context.new_page()
            complaints = []
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.goto(f"http://127.0.0.1:{port}/?access_token={token}")
            around = page.locator(".scalarviz-cell")
            around.locator("canvas").first.wait_for(timeout=60_000)

            def holds(words):
                until(page, lambda: around.evaluate(f"e => (cell => {words})(e.parentElement.scalarviz)"))

            holds("cell.answered > 0")
            press(page, "Space")
            holds("cell.frame.step > 5")
            press(page, "Space")
            holds("!cell.frame.running && cell.answered === cell.frame.number")
            pose = around.evaluate("e => e.parentElement.scalarviz.picture.known.pose.scale")
            around.hover(position={"x": 120, "y": 150})
            page.mouse.wheel(0, -300)  # the stage has the focus, in a tree of marimo's own
            holds(f"cell.picture.known.pose.scale !== {pose}")
            page.wait_for_timeout(500)
            step, drawn = around.evaluate(
                "e => [e.parentElement.scalarviz.picture].flatMap(p => [p.known.frame.step, Array.from(p.numbers)])"
            )
            alone = rgb.build(rgb.Options()).run
            alone.step(step)
            assert np.array_equal(np.array(drawn[:12], np.float32), alone.values.astype(np.float32))
            assert not complaints
        finally:
            context.close()
