"""Texts with a formula or a condition in them: ``grad > 10``, ``0.weight[2][1] crosses 0``, ``x**2 + sin(y)``.

Open `parser` first: the grammar stands there. `expression` is what a text becomes (NumPy evaluates it, never ``eval``),
`formula` computes one with Values. `conditions` are texts about a run, `breakpoints` stop it where one becomes true.
Beside them stand questions that need no text: `diagnosis`, `ranges`.
"""

from __future__ import annotations

from .expression import Expression
from .formula import Formula, formula
from .parser import Vocabulary, parse

__all__ = ["Expression", "Formula", "Vocabulary", "formula", "parse"]
