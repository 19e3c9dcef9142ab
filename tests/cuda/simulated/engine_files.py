"""Which files have tests that are made for every engine: the simulator's processes read no others."""

from __future__ import annotations

import re

OF_ENGINES = re.compile(r"""parametrize\(\s*[(\[]?\s*["'][^)]*?\bengine\b""")
"""How such a test begins."""


def has_engines(path):
    """Whether a file has any; only its text is looked at."""
    return OF_ENGINES.search(path.read_text(encoding="utf-8")) is not None
