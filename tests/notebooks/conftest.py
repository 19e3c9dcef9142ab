"""Notebooks made anew from their ``.py``, each once, in a kernel, by the command that CONTRIBUTING names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def made_anew(tmp_path_factory):
    """``made_anew("04")``: the notebook whose name begins so, as it is after all its cells ran."""
    away = ("DISPLAY", "WAYLAND_DISPLAY", "PYTHONWARNINGS")

    @cache
    def make(number):
        folder = tmp_path_factory.mktemp("notebooks")
        result = subprocess.run(
            [sys.executable, ROOT / ".ci" / "make_notebooks.py", folder, number],
            env={name: value for name, value in os.environ.items() if name not in away},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stdout + result.stderr
        (file,) = folder.iterdir()
        return json.loads(file.read_text(encoding="utf-8"))

    return make
