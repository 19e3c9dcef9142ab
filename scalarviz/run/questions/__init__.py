"""Texts with a formula or a condition: ``grad > 10``, ``0.weight[2][1] crosses 0``, ``x**2 + sin(y)``.

Open `parser` first: it has the grammar. A text becomes an `expression`, which NumPy evaluates (never ``eval``), or
a `Formula` of Values. `conditions` are texts about a run; `breakpoints` stop it when one becomes true. `diagnosis` and
`ranges` are questions without a text.
"""

from __future__ import annotations

from .expression import Expression
from .parser import Formula, Vocabulary, formula, parse

__all__ = ["Expression", "Formula", "Vocabulary", "formula", "parse"]
