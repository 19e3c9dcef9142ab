"""The style sheets beside the scripts, as text."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def style(name: str) -> str:
    """The text of one of them, such as ``"cell.css"``."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
