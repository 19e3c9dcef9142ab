"""`Embedding`: a row of weights for each of so many things."""

from __future__ import annotations

from typing import Any, ClassVar

from ..onnx.export.sheet import Sheet, Tensor
from ..scalar import Weight
from . import init as initialisers
from ._gather import gather
from ._inputs import titled
from ._linear import count
from ._module import Module
from ._parameter import Parameter


class Embedding(Module):
    """A table with a row for each id: ``embedding(id)`` is the row of weights with that number.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        How many rows, and how many weights a row.
    init : Initializer, optional
        Default: ``init.normal(0.0, 1.0)``, as in PyTorch.
    seed : int, optional
        Of the initial values, see :class:`Linear`.

    Attributes
    ----------
    weight : Parameter, shape (num_embeddings, embedding_dim)
    num_embeddings, embedding_dim : int

    Raises
    ------
    InputError
        A size is below 1, or there is no memory for so many weights.
    OutOfRangeError
        When called: an id is no whole number from 0 to ``num_embeddings - 1``. A Run says so of its data, by sample and
        column; an id that the model computes gives NaN there.

    Notes
    -----
    Ids are ordinary numbers of a sample. They get no gradient, and the rows that a batch does not name get 0.

    Examples
    --------
    >>> letters = Embedding(27, 4, seed=0)
    >>> len(letters(3)), [len(row) for row in letters([0, 13])]
    (4, [4, 4])
    """

    stage: ClassVar[str] = "embedding"
    onnx_stacks: ClassVar[bool] = True
    onnx_ids: ClassVar[bool] = True
    num_embeddings: int
    embedding_dim: int
    weight: Parameter

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        init: initialisers.Function | None = None,
        seed: int | None = None,
    ) -> None:
        self.num_embeddings = count(num_embeddings, "Embedding: num_embeddings")
        self.embedding_dim = count(embedding_dim, "Embedding: embedding_dim")
        self.weight = Parameter.filled(0.0, (self.num_embeddings, self.embedding_dim), self._title())
        initialisers.apply(self, initialisers.normal() if init is None else init, seed)

    def forward(self, x: Any) -> list[Any]:
        """The row of one id, a list of `embedding_dim` Values; of a sequence of ids a list of rows."""
        found: list[Any] = gather(self.weight, x)
        return found

    def write_onnx(self, sheet: Sheet, x: Tensor) -> Tensor:
        """A Gather."""
        made = (*x.shape, self.embedding_dim)
        return sheet.node("Gather", sheet.weight(self.weight), sheet.ids(x), shape=made, axis=0)

    def fans(self, part: Parameter | Weight) -> tuple[int, int]:
        """PyTorch's for a matrix of this shape: its columns, and its rows."""
        return self.embedding_dim, self.num_embeddings

    def _title(self) -> str:
        return titled(self, f"Embedding({self.num_embeddings}, {self.embedding_dim})")

    def extra_repr(self) -> str:
        """PyTorch's text."""
        return f"{self.num_embeddings}, {self.embedding_dim}"
