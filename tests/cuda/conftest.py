"""Tests of the numba-CUDA engine: the machine that executes PTX is a package of this folder (no ``__init__``)."""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = str(Path(__file__).parent)
if FOLDER not in sys.path:
    sys.path.append(FOLDER)
