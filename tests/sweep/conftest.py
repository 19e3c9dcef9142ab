"""Processes of a sweep import what builds its runs by the name that it has here."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
