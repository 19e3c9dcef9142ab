"""Pools of rows and of pictures: one number for each window of each channel."""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

from ..errors import InputError
from ..onnx.export.sheet import Sheet, Tensor
from ..scalar import Value, dot, functions
from ..scalar.nested import nest
from ._inputs import titled
from ._module import Module
from ._pictures import around, bordered, brief, picture, plane_sides, planes_of, positions, sides_of, windows

Sides = tuple[int, ...]


class Pool(Module):
    """What the pools share: windows that slide over each channel of a row C x L or of a picture C x H x W.

    Parameters
    ----------
    kernel_size : int or a tuple of one for each dimension
        Sides of a window.
    stride : int or tuple, optional
        From window to window. Default: `kernel_size`, windows side by side; a rest that fills no window is left out.
    padding : int or tuple
        Border on every side, at most half the window.

    Raises
    ------
    InputError
        A size is too small, or the padding too large; when called: no sample C x L or C x H x W, or one smaller than
        the window.
    """

    dimensions: ClassVar[int]
    kernel_size: Sides
    stride: Sides
    padding: Sides

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int | tuple[int, ...] = 0,
    ) -> None:
        name, n = type(self).__name__, self.dimensions
        self.kernel_size = sides_of(kernel_size, f"{name}: kernel_size", 1, n)
        self.stride = sides_of(self.kernel_size if stride is None else stride, f"{name}: stride", 1, n)
        self.padding = sides_of(padding, f"{name}: padding", 0, n)
        if any(2 * p > k for p, k in zip(self.padding, self.kernel_size, strict=True)):
            raise InputError(
                f"{name}: the padding may be at most half the window, got padding {self.padding} for {self.kernel_size}"
            )

    def _windows(self, x: Any, fill: Any) -> tuple[list[list[list[Any]]], Sides]:
        """The windows of every channel, and how many there are down and across."""
        title = titled(self, f"{type(self).__name__}({brief(self.kernel_size)})")
        sides, size = picture(x, title, dimensions=self.dimensions), plane_sides(self.kernel_size, 1)
        border = around(plane_sides(self.padding, 0))
        rows, columns = positions(sides, size, plane_sides(self.stride, 1), border, title)
        planes = planes_of(x, self.dimensions)
        if any(self.padding):
            planes = [bordered(plane, border, fill) for plane in planes]
        made = (len(rows), len(columns))[-self.dimensions :]
        return [windows([plane], rows, columns, size) for plane in planes], made

    def made_shape(self, before: Sides) -> Sides:
        """The shape that it makes of a sample of the shape `before`."""
        sides = zip(before[1:], self.kernel_size, self.stride, self.padding, strict=True)
        return before[0], *((side + 2 * border - size) // step + 1 for side, size, step, border in sides)

    def _onnx(self, sheet: Sheet, operator: str, x: Tensor, **more: Any) -> Tensor:
        made, size = self.made_shape(x.shape), self.kernel_size
        return sheet.node(
            operator, x, shape=made, kernel_shape=size, strides=self.stride, pads=self.padding * 2, **more
        )  # fmt: skip

    def extra_repr(self) -> str:
        """PyTorch's text."""
        parts = (("kernel_size", self.kernel_size), ("stride", self.stride), ("padding", self.padding))
        return ", ".join(f"{name}={brief(sides)}" for name, sides in parts)


class MaxPool(Pool):
    """The largest number of each window; its gradient goes to the first one that is largest (row by row).

    The border counts as minus infinity. See :class:`Pool` for the parameters.
    """

    def forward(self, x: Any) -> Any:
        """The windows' largest numbers, C x L' of C x L or C x H' x W' of C x H x W."""
        channels, sides = self._windows(x, None)
        return [
            nest([functions.max([v for v in window if v is not None]) for window in channel], sides)
            for channel in channels
        ]

    def write_onnx(self, sheet: Sheet, x: Tensor) -> Tensor:
        """A MaxPool."""
        return self._onnx(sheet, "MaxPool", x)


class AvgPool(Pool):
    """The mean of each window, the zeros of the border included. See :class:`Pool` for the parameters."""

    def forward(self, x: Any) -> Any:
        """The windows' means, C x L' of C x L or C x H' x W' of C x H x W."""
        channels, sides = self._windows(x, Value(0.0))
        places = prod(self.kernel_size)
        shares = (Value(1.0 / places),) * places
        return [nest([dot(shares, window) for window in channel], sides) for channel in channels]

    def write_onnx(self, sheet: Sheet, x: Tensor) -> Tensor:
        """An AveragePool."""
        return self._onnx(sheet, "AveragePool", x, count_include_pad=1)


class MaxPool1d(MaxPool):
    """:class:`MaxPool` of rows, a sample C x L."""

    stage: ClassVar[str] = "max_pool1d"
    dimensions = 1


class MaxPool2d(MaxPool):
    """:class:`MaxPool` of a picture C x H x W."""

    stage: ClassVar[str] = "max_pool2d"
    dimensions = 2


class AvgPool1d(AvgPool):
    """:class:`AvgPool` of rows, a sample C x L."""

    stage: ClassVar[str] = "avg_pool1d"
    dimensions = 1


class AvgPool2d(AvgPool):
    """:class:`AvgPool` of a picture C x H x W."""

    stage: ClassVar[str] = "avg_pool2d"
    dimensions = 2
