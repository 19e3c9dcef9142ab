"""Notebooks made anew from their ``.py``, each once, in a kernel, by what ``make notebooks`` runs."""

from __future__ import annotations

import base64
import importlib
import os
import re
import sys
from functools import cache
from pathlib import Path
from unittest import mock

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / ".ci"))


HELD = re.compile(r'<img alt="[^"]+" width="\d+" src="data:image/webp;base64,([^"]+)">')
"""A picture of ours, with words; of what was live the picture has a class, too."""


@pytest.fixture(scope="session")
def pictures_of():
    """``pictures_of(notebook)``: the files of the pictures that its cells ended with, as most notebooks show them."""

    def find(notebook):
        outputs = [o for cell in notebook["cells"] for o in cell.get("outputs", ())]
        found = [HELD.fullmatch("".join(o.get("data", {}).get("text/html", ""))) for o in outputs]
        return [base64.b64decode(one[1]) for one in found if one]

    return find


@pytest.fixture(scope="session")
def made_anew(tmp_path_factory):
    """``made_anew("04")``: the notebook whose name begins so, as it is after all its cells ran."""
    # Here and not in a process of its own: what makes notebooks takes two seconds to load.
    maker = importlib.import_module("make_notebooks")

    @cache
    def make(number):
        (source,) = maker.NOTEBOOKS.glob(f"{number}-*.py")
        with mock.patch.dict(os.environ):
            for name in ("DISPLAY", "WAYLAND_DISPLAY", "PYTHONWARNINGS"):
                os.environ.pop(name, None)
            return maker.made(source, tmp_path_factory.mktemp("notebook"))

    return make
