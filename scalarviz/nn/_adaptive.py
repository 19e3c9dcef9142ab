"""`AdaptiveAvgPool1d` and `AdaptiveAvgPool2d`: means of as many windows as are asked for, whatever the sides."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, shown
from ..onnx.export.sheet import Sheet, Tensor
from ..scalar import Value, dot
from ..scalar.nested import nest, shape_of
from ._inputs import titled
from ._linear import count
from ._module import Module
from ._pictures import picture, planes_of


class AdaptiveAvgPool(Module):
    """The mean of each of so many windows; they overlap where the sides do not go up in them.

    Parameters
    ----------
    output_size : int, or a tuple of one for each dimension
        Of the windows; None in a tuple: as many as the sample has there. Window i of n goes from ``i * side // n`` to
        ``(i + 1) * side / n``, rounded up.

    Raises
    ------
    InputError
        No such sizes; when called: no sample C x L or C x H x W.
    """

    dimensions: ClassVar[int]
    output_size: tuple[int | None, ...]

    def __init__(self, output_size: int | tuple[int | None, ...]) -> None:
        name, given = type(self).__name__, output_size
        sizes = tuple(given) if isinstance(given, tuple | list) else (given,) * self.dimensions
        if len(sizes) != self.dimensions:
            raise InputError(f"{name}: output_size needs {self.dimensions} whole numbers, got {shown(given)}")
        self.output_size = tuple(None if n is None else count(n, f"{name}: output_size") for n in sizes)

    def forward(self, x: Any) -> Any:
        """The means, C x `output_size`."""
        title = titled(self, f"{type(self).__name__}({self.output_size})")
        height, width = picture(x, title, dimensions=self.dimensions)
        made = self.made_shape(shape_of(x))[1:]
        rows, columns = _spans(height, made[0] if self.dimensions == 2 else 1), _spans(width, made[-1])
        channels = []
        for plane in planes_of(x, self.dimensions):
            windows = [[v for row in plane[a:b] for v in row[c:d]] for a, b in rows for c, d in columns]
            channels.append(nest([dot((Value(1.0 / len(w)),) * len(w), w) for w in windows], made))
        return channels

    def write_onnx(self, sheet: Sheet, x: Tensor) -> Tensor:
        """An AveragePool; of windows that overlap products with the shares of each dimension."""
        made, sides = self.made_shape(x.shape), x.shape[1:]
        if made[1:] == (1,) * self.dimensions:
            return sheet.node("GlobalAveragePool", x, shape=made)
        if all(side % n == 0 for side, n in zip(sides, made[1:], strict=True)):
            steps = tuple(side // n for side, n in zip(sides, made[1:], strict=True))
            return sheet.node("AveragePool", x, shape=made, kernel_shape=steps, strides=steps)
        across = sheet.numbers(_shares(sides[-1], made[-1]).T)
        x = sheet.node("MatMul", x, across, shape=(*x.shape[:-1], made[-1]))
        if self.dimensions == 2:
            x = sheet.node("MatMul", sheet.numbers(_shares(sides[0], made[1])), x, shape=made)
        return x

    def made_shape(self, before: tuple[int, ...]) -> tuple[int, ...]:
        """The shape that it makes of a sample of the shape `before`."""
        return before[0], *(n or side for n, side in zip(self.output_size, before[1:], strict=True))

    def extra_repr(self) -> str:
        """PyTorch's text."""
        return f"output_size={self.output_size[0] if len(set(self.output_size)) == 1 else self.output_size}"


class AdaptiveAvgPool1d(AdaptiveAvgPool):
    """:class:`AdaptiveAvgPool` of rows, a sample C x L."""

    stage: ClassVar[str] = "adaptive_avg_pool1d"
    dimensions = 1


class AdaptiveAvgPool2d(AdaptiveAvgPool):
    """:class:`AdaptiveAvgPool` of a picture C x H x W."""

    stage: ClassVar[str] = "adaptive_avg_pool2d"
    dimensions = 2


def _spans(side: int, n: int) -> list[tuple[int, int]]:
    return [(i * side // n, -(-(i + 1) * side // n)) for i in range(n)]


def _shares(side: int, n: int) -> NDArray[np.float64]:
    """By window, what each place counts for, (n, side)."""
    shares = np.zeros((n, side))
    for row, (start, stop) in zip(shares, _spans(side, n), strict=True):
        row[start:stop] = 1.0 / (stop - start)
    return shares
