"""`Embedding`: a table with a row of weights for each id; `gather` selects a row, also while a graph runs."""

from __future__ import annotations

from typing import Any, ClassVar, SupportsFloat

from ..checks import position
from ..errors import TypeMismatchError, typed
from ..scalar import Value, Weight
from ..scalar.array import as_objects, like
from ..scalar.nested import flatten
from ..scalar.value import as_value
from ._draws import Function, normal
from ._linear import count
from ._module import Module
from ._parameter import Parameter, ParameterView, chosen

Span = tuple[Parameter, int, tuple[int, ...]]
"""A parameter, the flat index where a table begins in it, and the shape of the table."""


def gather(table: Parameter | ParameterView, id: Value | SupportsFloat | list[Any] | tuple[Any, ...]) -> Any:
    """Return the row of `table` with the number `id`: ``table[id]``, also if `id` is known only when the graph runs.

    Parameters
    ----------
    table : Parameter or a row of one
        `id` selects along its first dimension.
    id : Value, number, or an array or list of them, nested or not
        0, 1, ... up to ``len(table) - 1``. It gets no gradient.

    Returns
    -------
    Value or array of Values
        For one id a Value if the table has one dimension, else an array. For several ids its dimensions come behind
        those of the ids.

    Raises
    ------
    TypeMismatchError
        `table` is no Parameter (lists of weights do not work), or `id` is no number.
    OutOfRangeError
        The table has no row `id`. An `id` that the graph computes gives NaN instead.

    Examples
    --------
    >>> from scalarviz import nn
    >>> table = nn.Parameter([[1.0, 2.0], [3.0, 4.0]])
    >>> gather(table, 1).data.tolist(), gather(table, [1, 0, 1]).shape
    ([3.0, 4.0], (3, 2))
    """
    span, ids = _span(table), as_objects(id, "gather: the id")
    found = [chosen(*span, as_value(one), ()) for one in ids.ravel().tolist()]
    if not ids.ndim and isinstance(found[0], Value):
        return found[0]
    return like(id, [v for row in found for v in flatten(row)], (*ids.shape, *span[2][1:]))


def _span(table: Any) -> Span:
    if isinstance(table, Parameter) and table.shape:
        return table, 0, table.shape
    if isinstance(table, ParameterView):
        return table.parameter, table.start, table.shape
    loose = isinstance(table, list | tuple)
    raise TypeMismatchError(
        f"gather: the table must be a Parameter with one row per id, got {typed(table)}"
        + ("; a list of weights cannot be indexed by a Value: use nn.Embedding(num, dim)" if loose else "")
    )


class Embedding(Module):
    """A table with a row for each id: ``embedding(id)`` is the row of weights with that number.

    Ids are ordinary numbers of a sample. Ids get no gradient; rows that a batch does not use get 0.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        Number of rows, and number of weights in each row.
    padding_idx : int, optional
        The row of this id starts as zeros and is frozen; negative ids count from the end.
    init : Initializer, optional
        Default: ``init.normal(0.0, 1.0)``, as in PyTorch.
    seed : int, optional
        Seed of the initial values, see :class:`Linear`.

    Attributes
    ----------
    weight : Parameter, shape (num_embeddings, embedding_dim)

    Raises
    ------
    InputError
        A size is below 1, or the weights need too much memory.
    OutOfRangeError
        `padding_idx` is no row. When called: an id is not a whole number from 0 to ``num_embeddings - 1``. In a Run, an
        id that the model computes gives NaN instead.

    Examples
    --------
    >>> letters = Embedding(27, 4, seed=0)
    >>> letters(3).shape, letters([0, 13]).shape
    ((4,), (2, 4))
    """

    stage: ClassVar[str] = "embedding"

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
        init: Function | None = None, seed: int | None = None,
    ) -> None:  # fmt: skip
        self.num_embeddings = count(num_embeddings, "Embedding: num_embeddings")
        self.embedding_dim = count(embedding_dim, "Embedding: embedding_dim")
        self.padding_idx = (
            None if padding_idx is None else position(padding_idx, self.num_embeddings, "Embedding (padding_idx)")
        )
        shape = self.num_embeddings, self.embedding_dim
        self.weight = Parameter.filled(0.0, shape, f"Embedding({self.extra_repr()})")
        self.initialize(normal() if init is None else init, seed)
        if self.padding_idx is not None:
            self.weight[self.padding_idx].frozen = True

    def forward(self, x: Any) -> Any:
        """Return the row of one id, or the rows of an array of ids."""
        return gather(self.weight, x)

    def fans(self, part: Parameter | Weight) -> tuple[int, int]:
        """Return the fans as PyTorch counts them for this matrix: its columns and its rows."""
        return self.embedding_dim, self.num_embeddings

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"
