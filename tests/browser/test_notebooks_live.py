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

CELLS = [
    "import importlib, json, threading\nimport scalarviz as sv\n"
    "scene = importlib.import_module('scalarviz.scenes.rgb')\nscene = scene.build(scene.Options())\n"
    "w = sv.live(scene, size=(480, 320))\nw",
    "import time\ntime.sleep(3)",
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
            "XDG_CONFIG_HOME": str(folder / "xdg"), "SCALARVIZ_WARMUP": "0", "JUPYTER_PATH": str(SHARED)}  # fmt: skip
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
        page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=30_000)
        return page, folder / name

    yield make
    for context in contexts:
        context.close()


def run(page, number):
    """Run a cell, as the triangle above the notebook does; a kernel that is not there yet passes it over."""
    prompt = page.locator(".jp-CodeCell").nth(number).locator(".jp-InputPrompt")
    deadline = time.monotonic() + 60
    while prompt.inner_text().strip() in ("[ ]:", ""):
        assert time.monotonic() < deadline
        prompt.click()
        page.click("button[data-command='notebook:run-cell-and-select-next'], [title^='Run this cell']")
        page.wait_for_timeout(500)


def printed(page, number, timeout=20_000):
    output = page.locator(".jp-CodeCell").nth(number).locator(".jp-OutputArea-output pre")
    output.first.wait_for(timeout=timeout)
    return output.first.inner_text().strip()


CELL = "document.querySelector('.scalarviz-around').parentElement.scalarviz"


def test_jupyterlab(opened):
    """Numbers, slider, edit, a cell that sleeps, and the picture that the saved notebook keeps."""
    page, path = opened(CELLS, "live.ipynb")
    run(page, 0)
    page.wait_for_selector(".scalarviz-cell canvas", timeout=30_000)
    page.wait_for_function(f"{CELL}.answered > 0", timeout=30_000)
    assert page.locator("img[class^=scalarviz-still]").count() == 1
    assert not page.locator("img[class^=scalarviz-still]").is_visible()  # while the widget lives
    page.click(".tools [data-name=toggle_run]")
    page.wait_for_function(f"{CELL}.frame.step > 5", timeout=30_000)
    # a cell that sleeps
    run(page, 1)
    before = page.evaluate(f"{CELL}.frame.number")
    number = page.locator("input[aria-label='learning rate, typed']")
    number.fill("0.25")
    number.press("Enter")
    page.wait_for_function(f"{CELL}.known.head.set.includes('lr 0.25')", timeout=2500)
    page.wait_for_function(f"{CELL}.frame.number > {before} + 5", timeout=2500)
    page.screenshot(path="/tmp/lab.png")
    page.click(".tools [data-name=toggle_run]")
    page.wait_for_function(f"!{CELL}.known.running", timeout=15_000)
    page.evaluate(f"{CELL}.say({{kind: 'set', index: 2, value: 0.375}})")
    page.wait_for_function(f"{CELL}.player.frame.texels.weight[2] === 0.375", timeout=10_000)
    drawn = page.evaluate(f"[{CELL}.player.frame.step, Array.from({CELL}.player.frame.texels.weight)]")
    run(page, 2)
    steps, rate, values = json.loads(printed(page, 2))
    assert (drawn[0], rate, values[2]) == (steps, 0.25, 0.375)
    assert np.array_equal(np.array(drawn[1][:12], np.float32), np.array(values, np.float32))
    run(page, 3)
    assert printed(page, 3) == "[]"
    page.wait_for_function(f"{CELL}?.over || !document.querySelector('.scalarviz-cell')", timeout=10_000)
    page.keyboard.press("Control+s")
    deadline = time.monotonic() + 20
    while f"step {steps}" not in path.read_text() and time.monotonic() < deadline:
        page.wait_for_timeout(100)
    saved = nbformat.read(path, 4)
    still = [one for one in saved.cells[0].outputs if "text/html" in one.get("data", {})]
    assert f"step {steps}, loss" in still[0].data["text/html"]
    assert not page.complaints
