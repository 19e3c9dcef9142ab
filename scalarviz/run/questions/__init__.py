"""Texts with a formula or a condition in them: ``grad > 10``, ``0.weight[2][1] crosses 0``, ``x**2 + sin(y)``.

Open `parser` first: the grammar stands there. `expression` is what a text becomes (NumPy evaluates it, never ``eval``),
`formula` computes one with Values. `conditions` are texts about a run, `breakpoints` stop it where one becomes true.
Beside them stand questions that need no text: `diagnosis`, `ranges`.
"""

from __future__ import annotations

from collections.abc import Iterable

from .expression import Expression
from .formula import Formula, distinct_names, formula
from .parser import Vocabulary, parse

__all__ = ["Expression", "Formula", "Vocabulary", "expression", "formula", "parse"]


def expression(text: str, names: Iterable[str], what: str = "the formula") -> Expression:
    """Read a formula of numbers that are called `names`.

    Parameters
    ----------
    text : str
        As in :mod:`scalarviz.run.questions.parser`, with the functions of the operations table.
    names : iterable of str
    what : str
        How messages call it.

    Raises
    ------
    ExpressionError
        The text is no formula of these names; the message says where, what stands there and what may.
    InputError
        More than 10,000 characters.
    TypeMismatchError
        No text, or names that are none.

    Examples
    --------
    >>> expression("max(x, 0) + y", ["x", "y"]).evaluate({"x": [-1.0, 2.0], "y": 1.0}).tolist()
    [1.0, 3.0]
    """
    return parse(text, Vocabulary(tuple(distinct_names(names, what))), what, "number")
