"""`gather`: the row of a table that a number chooses, also one that is known only when the graph runs."""

from __future__ import annotations

from typing import Any, SupportsFloat

from ..errors import TypeMismatchError, shown
from ..scalar import Value
from ..scalar.nested import DEEPEST, too_deep
from ..scalar.numbers import as_number
from ._chosen import chosen
from ._parameter import Parameter, ParameterView

Span = tuple[Parameter, int, tuple[int, ...]]
"""A parameter, where in it a table begins, and its shape."""


def gather(table: Parameter | ParameterView, id: Value | SupportsFloat | list[Any] | tuple[Any, ...]) -> Any:
    """The row of `table` whose number is `id`: ``table[id]``, also where `id` is known only when the graph runs.

    Parameters
    ----------
    table : Parameter or a row of one
        Its first dimension is chosen from.
    id : Value, number, or a list of them, nested or not
        0, 1, ... up to ``len(table) - 1``. It gets no gradient.

    Returns
    -------
    Value or list
        A Value of a one-dimensional table, a list of Values of a matrix, nested lists of more; one of them for each
        id of a list.

    Raises
    ------
    TypeMismatchError
        `table` is no Parameter (lists of weights cannot be chosen from), or `id` no number.
    OutOfRangeError
        `id` is a number that the table does not have. One that an expression makes gives NaN instead.

    Examples
    --------
    >>> from scalarviz import nn
    >>> table = nn.Parameter([[1.0, 2.0], [3.0, 4.0]])
    >>> [w.data for w in gather(table, 1)]
    [3.0, 4.0]
    """
    return _chosen(_span(table), id, 0)


def _chosen(span: Span, id: Any, level: int) -> Any:
    if isinstance(id, list | tuple):
        if level >= DEEPEST:
            raise too_deep("gather: the id")
        return [_chosen(span, each, level + 1) for each in id]
    if not isinstance(id, Value):
        id = Value(as_number(id, "gather: the id"))
    return chosen(*span, id, ())


def _span(table: Any) -> Span:
    if isinstance(table, Parameter) and table.shape:
        return table, 0, table.shape
    if isinstance(table, ParameterView):
        return table.parameter, table.start, table.shape
    loose = isinstance(table, list | tuple)
    raise TypeMismatchError(
        f"gather: the table must be a Parameter with a row an id, got {type(table).__name__} {shown(table)}"
        + ("; weights in lists cannot be chosen from: make the table with nn.Embedding(num, dim)" if loose else "")
    )
