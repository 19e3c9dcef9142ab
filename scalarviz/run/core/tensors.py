"""What a network consists of, as data: named tensors in the flat array of all weights, and stages in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating]
BoolArray = NDArray[np.bool_]

Role = Literal["weight", "bias", "value", "buffer", "count"]
BUFFERS = ("buffer", "count")
"""Roles that no optimiser trains."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One named block of the flat arrays of a Frame.

    Attributes
    ----------
    name : str
        As in ``named_parameters`` (``"0.weight"``).
    shape : tuple of int
        ``(out, in)`` for a weight matrix, ``(out,)`` for a bias, ``()`` for a lone Weight.
    start : int
        Index of its first element in the flat arrays, C order.
    role : {"weight", "bias", "value", "buffer", "count"}
        How the block is drawn. The network reads a ``"buffer"`` and no optimiser trains it (the running mean of a
        norm). A ``"count"`` is a buffer that counts; it is not drawn.
    """

    name: str
    shape: tuple[int, ...]
    start: int
    role: Role = "weight"

    @property
    def size(self) -> int:
        """Number of scalars."""
        return prod(self.shape)

    @property
    def buffer(self) -> bool:
        """True if the tensor is no weight, so that it gets no gradient."""
        return self.role in BUFFERS

    @property
    def span(self) -> slice:
        """Slice of the block in the flat arrays."""
        return slice(self.start, self.start + self.size)

    def of(self, flat: FloatArray) -> FloatArray:
        """Return the block of `flat` in its own shape (a view)."""
        return flat[self.span].reshape(self.shape)

    def stored(self, flat: FloatArray) -> NDArray[Any]:
        """Return a copy of the block as files have it: counts are int64."""
        block = self.of(flat)
        with np.errstate(invalid="ignore"):
            return block.astype(np.int64) if self.role == "count" else block.copy()


@dataclass(frozen=True, slots=True)
class Stage:
    """The output of one call of a module, as the picture draws it.

    Attributes
    ----------
    name : str
        Module path (``"0"``), followed by a number from the second call on (``"0 (2)"``); ``"output"`` for the
        return value of the model. Also the key in :attr:`Frame.activations`.
    kind : str
        ``"linear"``, the name of the activation (``"sigmoid"``, ``"tanh"``), or the module's name for its stage
        (``"conv2d"``, ``"max_pool2d"``, ``"softmax"``).
    outputs : int
        Length of its output row (a picture C x H x W in C order).
    weight, bias : Tensor or None
        Only for ``"linear"``.
    shape, input_shape : tuple of int
        Shapes of output and input: (C, H, W) of pictures, (n,) of rows; empty if unknown.
    sources : tuple of str
        The stages whose rows it reads, ``"input"`` for the sample, in order; empty: the stage before it.
    whole : bool
        For ``"linear"``: whether its columns are all numbers of those rows, one row after the other.
    """

    name: str
    kind: str
    outputs: int
    weight: Tensor | None = None
    bias: Tensor | None = None
    shape: tuple[int, ...] = ()
    input_shape: tuple[int, ...] = ()
    sources: tuple[str, ...] = ()
    whole: bool = True


def is_chain(stages: Sequence[Stage]) -> bool:
    """Return whether every stage reads only the row of the stage before it, and no layer occurs twice."""
    before = ["input", *(stage.name for stage in stages)]
    called = [stage.weight.start for stage in stages if stage.weight is not None]
    return len(called) == len(set(called)) and all(
        stage.whole and stage.sources in ((), (name,)) for stage, name in zip(stages, before, strict=False)
    )
