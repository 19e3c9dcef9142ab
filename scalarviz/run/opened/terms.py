"""`Terms`: what one weight's gradient is the sum of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .passes import Passes
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
        Where the weight is used. A use of no sample (by a number made of weights alone) has one term a step.
    """

    def __init__(self, index: int, passes: Passes, batch: NDArray[np.int64], most: int = MOST) -> None:
        self.index = index
        body, before = passes.network.uses_of(index)
        self.uses: tuple[Use, ...] = (*body, *before)
        self.sum, self.absolute, self.count = 0.0, 0.0, 0
        self._most = most
        self._parts: list[tuple[NDArray[Any], NDArray[np.int64]]] = []
        with np.errstate(all="ignore"):
            for block in passes.blocks() if body else ():
                places = np.arange(block.span.start, block.span.stop)
                for number, use in enumerate(body):
                    self._add(number, use, block.rows, block.adjoints, passes.theta, batch[block.span], places)
            for number, use in enumerate(before, len(body)):
                assert passes.before is not None
                assert passes.before_adjoints is not None
                nobody = np.array([-1])
                self._add(number, use, passes.before, passes.before_adjoints, passes.theta, nobody, nobody)
            self._prune()
        array, places = self._parts[0] if self._parts else (np.zeros(0, TERM), np.zeros(0, np.int64))
        self.array: NDArray[Any] = array[np.lexsort((array["position"], array["use"], places))]

    def _add(
        self,
        number: int,
        use: Use,
        rows: Float,
        adjoints: Float,
        theta: Float,
        samples: NDArray[np.int64],
        places: NDArray[np.int64],
    ) -> None:
        delta = adjoints[use.rows]
        x = np.broadcast_to(use.factor(rows, theta), delta.shape)
        products = delta * x
        self.sum += float(products.sum())
        self.absolute += float(np.abs(products).sum())
        self.count += products.size
        chosen = _largest(products.ravel(), self._most)
        position, lane = np.divmod(chosen, delta.shape[1])
        part = np.empty(len(chosen), TERM)
        part["sample"], part["position"], part["use"] = samples[lane], position, number
        part["delta"], part["x"] = delta.ravel()[chosen], x[position, lane]
        self._parts.append((part, places[lane]))
        if sum(len(part) for part, _ in self._parts) > 16 * self._most:
            self._prune()

    def _prune(self) -> None:
        if self._parts:
            array = np.concatenate([part for part, _ in self._parts])
            places = np.concatenate([place for _, place in self._parts])
            chosen = _largest(array["delta"] * array["x"], self._most)
            self._parts = [(array[chosen], places[chosen])]

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
