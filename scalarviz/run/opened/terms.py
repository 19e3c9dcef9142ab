"""`Terms`: what one weight's gradient is the sum of."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .passes import Block, Passes
from .places import Place
from .uses import Float, Use

TERM = np.dtype(
    [("sample", np.int64), ("position", np.int64), ("use", np.int64), ("delta", np.float64), ("x", np.float64)]
)
MOST = 1024
"""Terms that are listed; sums are of all."""


class Terms:
    """The terms ``delta * x`` of one weight's gradient.

    Attributes
    ----------
    array : ndarray, shape (listed,)
        Fields ``sample`` (number in the data; -1: of no sample of it), ``position`` (of a layer that stands at several,
        as a convolution's), ``use`` (which of `uses`), ``delta`` (what comes from the loss of the batch to the place
        where the weight is used) and ``x`` (what the weight meets there). In the order of the batch; where there are
        more than `most`, the largest ones.
    count : int
        How many there are.
    sum, absolute : float
        Of all, and of their sizes: the sum is the gradient to rounding, which `absolute` is the measure of.
    uses : tuple of Use
        Where the weight is used.
    """

    def __init__(self, index: int, passes: Passes, batch: NDArray[np.int64], most: int = MOST) -> None:
        self.index = index
        self.uses: tuple[Use, ...] = passes.uses_of(index)
        self.sum, self.absolute, self.count = 0.0, 0.0, 0
        self._most, self._network = most, passes.network
        self._parts: list[tuple[NDArray[Any], NDArray[np.int64]]] = []
        with np.errstate(all="ignore"):
            for block in passes.blocks() if self.uses else ():
                for number, use in enumerate(self.uses):
                    self._add(number, use, block, passes, batch[block.span])
            self._prune()
        array, places = self._parts[0] if self._parts else (np.zeros(0, TERM), np.zeros(0, np.int64))
        self.array: NDArray[Any] = array[np.lexsort((array["position"], array["use"], places))]

    def _add(self, number: int, use: Use, block: Block, passes: Passes, samples: NDArray[np.int64]) -> None:
        delta = block.adjoints[use.rows] / passes.loss_scale
        x = np.broadcast_to(use.x(block.rows, passes.theta) * passes.loss_scale, delta.shape)
        products = delta * x
        self.sum += float(products.sum())
        self.absolute += float(np.abs(products).sum())
        self.count += products.size
        chosen = _largest(products.ravel(), self._most)
        position, lane = np.divmod(chosen, delta.shape[1])
        part = np.empty(len(chosen), TERM)
        part["sample"], part["position"], part["use"] = samples[lane], position, number
        part["delta"], part["x"] = delta.ravel()[chosen], x[position, lane]
        self._parts.append((part, block.span.start + lane))
        if sum(len(part) for part, _ in self._parts) > 16 * self._most:
            self._prune()

    def _prune(self) -> None:
        if self._parts:
            array = np.concatenate([part for part, _ in self._parts])
            places = np.concatenate([place for _, place in self._parts])
            chosen = _largest(array["delta"] * array["x"], self._most)
            self._parts = [(array[chosen], places[chosen])]

    @cached_property
    def at(self) -> tuple[Place, ...]:
        """Of each use, the stage and the units that `delta` belongs to."""
        return tuple(self._network.places.of(use.rows) for use in self.uses)

    @cached_property
    def met(self) -> tuple[Place | None, ...]:
        """Of each use, the stage and the units that `x` is read from; None where x is no number of a stage."""
        return tuple(None if use.read is None else self._network.places.of(use.read) for use in self.uses)

    @property
    def products(self) -> Float:
        """``delta * x`` of those that are listed."""
        found: Float = self.array["delta"] * self.array["x"]
        return found

    @property
    def said(self) -> str:
        """How many are listed: ``"1,024 of 65,536"``, or ``"1,024"`` where they are all."""
        return f"{len(self.array):,}" if len(self.array) == self.count else f"{len(self.array):,} of {self.count:,}"

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, key: Any) -> Any:
        return self.array[key]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.array, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"Terms({self.said}, sum {self.sum:.6g})"


def _largest(products: Float, most: int) -> NDArray[np.int64]:
    """Where the `most` largest by size stand, in their order; a NaN is larger than any number."""
    if len(products) <= most:
        return np.arange(len(products))
    sizes = np.where(np.isnan(products), np.inf, np.abs(products))
    return np.sort(np.argpartition(-sizes, most - 1)[:most])
