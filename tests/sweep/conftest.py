"""Processes of a sweep import what builds its runs by the name that it has here."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
