"""`MaxPool2d` and `AvgPool2d`: one number for each window of each channel."""

from __future__ import annotations

from typing import Any, ClassVar

from ..errors import InputError
from ..scalar import Value, dot, functions
from ..scalar.nested import nest
from ._inputs import titled
from ._module import Module
from ._pictures import Pair, bordered, brief, pair, picture, positions, windows


class Pool2d(Module):
    """What the pools share: windows that slide over each channel of a picture.

    Parameters
    ----------
    kernel_size : int or (int, int)
        Rows and columns of a window.
    stride : int or (int, int), optional
        From window to window. Default: `kernel_size`, windows side by side; a rest that fills no window is left out.
    padding : int or (int, int)
        Border on every side, at most half the window.

    Raises
    ------
    InputError
        A size is too small, or the padding too large; when called: no picture C x H x W, or one smaller than the
        window.
    """

    kernel_size: Pair
    stride: Pair
    padding: Pair

    def __init__(
        self,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] | None = None,
        padding: int | tuple[int, int] = 0,
    ) -> None:
        name = type(self).__name__
        self.kernel_size = pair(kernel_size, f"{name}: kernel_size", 1)
        self.stride = pair(self.kernel_size if stride is None else stride, f"{name}: stride", 1)
        self.padding = pair(padding, f"{name}: padding", 0)
        if any(2 * p > k for p, k in zip(self.padding, self.kernel_size, strict=True)):
            raise InputError(
                f"{name}: the padding may be at most half the window, got padding {self.padding} for {self.kernel_size}"
            )

    def _windows(self, x: Any, fill: Any) -> tuple[list[list[list[Any]]], tuple[int, int]]:
        """The windows of every channel, and how many there are down and across."""
        title = titled(self, f"{type(self).__name__}({brief(self.kernel_size)})")
        _, height, width = picture(x, title)
        rows, columns = positions((height, width), self.kernel_size, self.stride, self.padding, title)
        planes = x if self.padding == (0, 0) else [bordered(plane, self.padding, fill) for plane in x]
        return [windows([plane], rows, columns, self.kernel_size) for plane in planes], (len(rows), len(columns))

    def extra_repr(self) -> str:
        """PyTorch's text."""
        parts = (("kernel_size", self.kernel_size), ("stride", self.stride), ("padding", self.padding))
        return ", ".join(f"{name}={brief(sides)}" for name, sides in parts)


class MaxPool2d(Pool2d):
    """The largest number of each window; its gradient goes to the first one that is largest (row by row).

    The border counts as minus infinity. See :class:`Pool2d` for the parameters.
    """

    stage: ClassVar[str] = "max_pool2d"

    def forward(self, x: Any) -> list[list[list[Value]]]:
        """The picture C x H' x W' of one picture C x H x W."""
        channels, sides = self._windows(x, None)
        return [
            nest([functions.max([v for v in window if v is not None]) for window in channel], sides)
            for channel in channels
        ]


class AvgPool2d(Pool2d):
    """The mean of each window, the zeros of the border included. See :class:`Pool2d` for the parameters."""

    stage: ClassVar[str] = "avg_pool2d"

    def forward(self, x: Any) -> list[list[list[Value]]]:
        """The picture C x H' x W' of one picture C x H x W."""
        channels, sides = self._windows(x, Value(0.0))
        places = self.kernel_size[0] * self.kernel_size[1]
        shares = (Value(1.0 / places),) * places
        return [nest([dot(shares, window) for window in channel], sides) for channel in channels]
