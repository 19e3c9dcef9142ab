"""Other folders' tables of models, losses and edits are used here by import: names of test files are unique."""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).parents[2]
sys.path += [str(TESTS / folder) for folder in ("engine", "nn", "run")]
