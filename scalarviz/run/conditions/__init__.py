"""Texts with a formula or a condition in them: ``grad > 10``, ``0.weight[2][1] crosses 0``, ``x**2 + sin(y)``.

Open `parser` first: the grammar stands there. Nothing here calls ``eval``.

* `letters` (a text to words), `parser` (words to instructions), `expression` (instructions to numbers, by NumPy),
  `functions` (what can be called: the operations table, and functions of arrays), `faults` (what is said of bad texts)
* `formula` (a text that is computed with Values, so that it has a graph and derivatives)

:func:`expression` reads a formula of any names; it needs no run. Of a run are

* `numbers` (what the names stand for), `condition` (when a text about it becomes true), `breakpoints` (the list),
  `watch` (what looks at them while steps are done), `find` (when it last was so)
"""

from __future__ import annotations

from collections.abc import Iterable

from .expression import Expression
from .formula import Formula, formula
from .names import distinct_names
from .parser import Vocabulary, parse

__all__ = ["Expression", "Formula", "Vocabulary", "expression", "formula", "parse"]


def expression(text: str, names: Iterable[str], what: str = "the formula") -> Expression:
    """Read a formula of numbers that are called `names`.

    Parameters
    ----------
    text : str
        As in :mod:`scalarviz.run.conditions.parser`, with the functions of the operations table.
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
