"""A JupyterLab with one notebook, and a headless Chromium that looks at it."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import nbformat

FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
SECONDS = 90.0


@contextlib.contextmanager
def lab(cells: Sequence[str]) -> Iterator[Any]:
    """A page that shows a notebook of these cells, none of them run yet."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, served(Path(folder), cells) as address, sync_playwright() as browsers:
        found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        browser = browsers.chromium.launch(executable_path=found, args=FLAGS)
        try:
            page = browser.new_page(viewport={"width": 1100, "height": 900})
            page.goto(address)
            page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=SECONDS * 1000)
            yield page
        finally:
            browser.close()


@contextlib.contextmanager
def served(folder: Path, cells: Sequence[str]) -> Iterator[str]:
    """The address of the notebook, on a server of its own that is gone in the end."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(made, folder / "live.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token, shared = secrets.token_hex(16), Path(nbformat.__file__).parents[4] / "share" / "jupyter"
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}", "--allow-root",
               f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}"]  # fmt: skip
    env = {**os.environ, "JUPYTER_PATH": str(shared), "JUPYTER_CONFIG_DIR": str(folder / "config")}
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)  # fmt: skip
    try:
        deadline = time.monotonic() + SECONDS
        while True:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api/status?token={token}", timeout=2).close()
                break
            if time.monotonic() > deadline or process.poll() is not None:
                raise SystemExit("JupyterLab did not start")
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/doc/tree/live.ipynb?token={token}"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)


def run(page: Any, number: int) -> None:
    """Run a cell."""
    prompt = page.locator(".jp-CodeCell").nth(number).locator(".jp-InputPrompt")
    deadline = time.monotonic() + SECONDS
    while prompt.inner_text().strip() in ("[ ]:", "") and time.monotonic() < deadline:
        prompt.click()
        page.click("button[data-command='notebook:run-cell-and-select-next'], [title^='Run this cell']")
        page.wait_for_timeout(500)
