"""Where a program's input rows come from, as kernels read it: a line for each stretch of a sample's numbers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...tape import Program
from ..data import Data
from .cache.loader import kernel_address
from .wire import FEED

Part = NDArray[Any]


class Feeder:
    """Writes the lines of a program's inputs (``wire.FEED``), for one dtype.

    Parameters
    ----------
    program : Program
    plain : bool
        True: no vector kernels.
    """

    def __init__(self, program: Program, plain: bool = False) -> None:
        self._index, self._rows, self._plain = program.input_index, program.input_rows, plain
        self._widths: tuple[int, ...] | None = None
        self._held: tuple[Part, ...] = ()
        self._lines = np.zeros((0, FEED), np.int64)
        self._stretches: list[tuple[int, int, int, int]] = []

    def lines(self, data: Data) -> NDArray[np.int64]:
        """The lines for these numbers, shape (stretches, FEED); valid until it is asked for the next ones."""
        parts = data.parts  # whoever lays the data out anew leaves these as they are
        if parts is self._held:
            return self._lines
        widths = tuple(map(len, parts))
        if widths != self._widths:
            self._stretches, self._widths = list(stretches(self._index, self._rows, widths)), widths
        lines = np.zeros((len(self._stretches), FEED), np.int64)
        for line, (k, to, count, row) in zip(lines, self._stretches, strict=True):
            part = parts[k]
            apart, on = part.strides
            kernel = kernel_address(_kernel_for(part.dtype, data.dtype, self._plain), data.dtype.name)
            line[:] = kernel, to, count, part.ctypes.data + row * apart, apart, on
        self._held, self._lines = parts, lines
        return lines


def stretches(
    index: NDArray[np.int64], rows: NDArray[np.int64], widths: tuple[int, ...]
) -> Iterator[tuple[int, int, int, int]]:
    """Part, first row of the program, how many, first row of the part: inputs that follow one another in both."""
    part_of = np.repeat(np.arange(len(widths)), widths)[index]
    starts = np.cumsum([0, *widths])[:-1]
    cuts = np.flatnonzero((np.diff(index) != 1) | (np.diff(rows) != 1) | (np.diff(part_of) != 0)) + 1
    ends = [0, *cuts.tolist(), len(index)]
    for first, end in pairwise(ends):
        if end > first:
            part = int(part_of[first])
            yield part, int(rows[first]), end - first, int(index[first] - starts[part])


@lru_cache(maxsize=64)
def _kernel_for(source: np.dtype[Any], real: np.dtype[Any], plain: bool) -> str:
    """Name of the kernel that loads numbers of a dtype."""
    source = np.dtype(np.uint8) if source.kind == "b" else source  # a bool is a byte, 0 or 1
    return ("load" if source == real else f"load_{source.name}") + ("_plain" if plain else "")
