"""A screen of its own for tests of the window."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest


@pytest.fixture(scope="session")
def screen():
    """DISPLAY of an X server that nobody else draws on; no window manager."""
    if shutil.which("Xvfb") is None or shutil.which("xdotool") is None:
        pytest.skip("no Xvfb and xdotool (apt-get install xvfb xdotool)")
    read, write = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-screen", "0", "1500x1000x24", "-nolisten", "tcp"],
        pass_fds=[write],
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    with os.fdopen(read) as pipe:
        display = f":{pipe.readline().strip()}"
    former = {name: os.environ.get(name) for name in ("DISPLAY", "QT_QPA_PLATFORM")}
    os.environ.update(DISPLAY=display, QT_QPA_PLATFORM="xcb")
    yield display
    for name, value in former.items():
        if value is None:
            os.environ.pop(name)
        else:
            os.environ[name] = value
    server.terminate()
    server.wait(10)
