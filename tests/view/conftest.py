"""A screen for tests of the window."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session")
def screen(display):
    """DISPLAY of an X server that nobody else draws on, set in this process too; no window manager."""
    former = {name: os.environ.get(name) for name in ("DISPLAY", "QT_QPA_PLATFORM")}
    os.environ.update(DISPLAY=display, QT_QPA_PLATFORM="xcb")
    yield display
    for name, value in former.items():
        if value is None:
            os.environ.pop(name)
        else:
            os.environ[name] = value
