"""Layers on rows and pictures: windows slide over arrays of C x H x W numbers.

`Conv1d` and `Conv2d` compute the same weighted sums at every position; pools compute one number for each window of
each channel. `AdaptiveAvgPool1d` and `AdaptiveAvgPool2d` take the means of a fixed number of windows, for any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..checks import flag, integer
from ..errors import InputError, shown
from ..onnx.export.sheet import Sheet, Tensor
from ..scalar import Value, Weight, dot, functions
from ..scalar.array import like
from ..scalar.nested import shape_of
from ..scalar.sums import affine_span
from . import init as initialisers
from ._inputs import titled
from ._linear import count
from ._module import Module
from ._parameter import Parameter, check_size

Pair = tuple[int, int]
Sides = tuple[int, ...]
Size = int | Sides
Border = tuple[Pair, Pair]
"""The numbers of border rows and columns, each before and after."""
WIDEST = 1 << 16
"""The largest window, stride or border: every position is visited one by one."""


def pair(given: Any, what: str, least: int) -> Pair:
    sides = tuple(given) if isinstance(given, tuple | list) else (given, given)
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in sides)
    if len(sides) != 2 or not whole or min(sides) < least:
        raise InputError(
            f"{what} must be a whole number >= {least} or a pair of them (rows, columns), got {shown(given)}"
        )
    if max(sides) > WIDEST:
        raise InputError(f"{what} is {shown(given)}, too wide for any picture; give at most {WIDEST}")
    return int(sides[0]), int(sides[1])


def sides_of(given: Any, what: str, least: int, dimensions: int) -> tuple[int, ...]:
    if dimensions == 2:
        return pair(given, what, least)
    one = given[0] if isinstance(given, tuple | list) and len(given) == 1 else given
    return (integer(what, one, least, WIDEST),)


def plane_sides(sides: tuple[int, ...], other: int) -> Pair:
    """Return sizes as (rows, columns); with one dimension `other` stands for the rows."""
    return (other, sides[0]) if len(sides) == 1 else (sides[0], sides[1])


def planes_of(x: Any, dimensions: int) -> Any:
    """Return the channels as lists of rows; with one dimension each is a single row."""
    return [[channel] for channel in x.tolist()] if dimensions == 1 else x.tolist()


def brief(sides: Any) -> str:
    """Return sides as PyTorch prints them: one number if all are equal."""
    return str(sides[0]) if len(set(sides)) == 1 else str(sides)


def picture(x: Any, title: str, channels: int | None = None, dimensions: int = 2) -> Pair:
    """Return the sides H x W of a picture C x H x W; for rows C x L they are 1 x L."""
    shape = shape_of(x)
    if len(shape) != dimensions + 1 or 0 in shape or channels not in (None, shape[0]):
        kind, sides = ("picture", "H, W") if dimensions == 2 else ("sample", "L")
        hint = f"; put nn.Unflatten((C, {sides})) before it" if len(shape) == 1 else ""
        many = "C" if channels is None else channels
        raise InputError(f"{title} takes a {kind} of shape ({many}, {sides}), got {shape}{hint}")
    return plane_sides(shape[1:], 1)


def bordered(plane: Sequence[Sequence[Any]], border: Border, fill: Any) -> list[list[Any]]:
    (above, below), (left, right) = border
    width = len(plane[0]) + left + right
    inner = [[*[fill] * left, *row, *[fill] * right] for row in plane]
    return [*([fill] * width for _ in range(above)), *inner, *([fill] * width for _ in range(below))]


class Sliding(Module):
    """Base of convolutions and pools: a window slides over every channel."""

    dimensions: ClassVar[int]
    kernel_size: Sides
    stride: Sides
    padding: Sides | str

    @property
    def _dilation(self) -> Pair:
        """The distance between neighbouring kernel positions, down and across; 1 for pools."""
        return plane_sides(getattr(self, "dilation", (1,)), 1)

    @property
    def _field(self) -> Pair:
        """The size of the window with its dilation, down and across."""
        size, apart = plane_sides(self.kernel_size, 1), self._dilation
        return (size[0] - 1) * apart[0] + 1, (size[1] - 1) * apart[1] + 1

    @property
    def _border(self) -> Border:
        if isinstance(self.padding, str):
            left = [size - 1 if self.padding == "same" else 0 for size in self._field]
            return (left[0] // 2, left[0] - left[0] // 2), (left[1] // 2, left[1] - left[1] // 2)
        down, across = plane_sides(self.padding, 0)
        return (down, down), (across, across)

    def _planes(self, x: Any, title: str, channels: int | None, fill: Any) -> tuple[Any, range, range]:
        """Return the channels with a border of `fill`, and the rows and columns where windows begin."""
        sides, border, field = picture(x, title, channels, self.dimensions), self._border, self._field
        padded = (sides[0] + sum(border[0]), sides[1] + sum(border[1]))
        if field[0] > padded[0] or field[1] > padded[1]:
            padding = tuple(before if before == behind else (before, behind) for before, behind in border)
            wider = f" with its padding {padding}" if padding != (0, 0) else ""
            raise InputError(f"{title}: a window of {field} is larger than the picture{wider}, {padded}")
        steps = plane_sides(self.stride, 1)
        rows, columns = (range(0, p - s + 1, step) for p, s, step in zip(padded, field, steps, strict=True))
        check_size((len(rows), len(columns), *plane_sides(self.kernel_size, 1)), title, "numbers to read")
        planes = planes_of(x, self.dimensions)
        bare = border == ((0, 0), (0, 0))
        return planes if bare else [bordered(plane, border, fill) for plane in planes], rows, columns

    def _patches(self, planes: Any, rows: range, columns: range) -> list[list[Any]]:
        """Return the numbers of all planes (C x H x W) in each window, position by position in C order."""
        (high, wide), (down, across) = self._field, self._dilation
        return [
            [x for plane in planes for row in plane[top : top + high : down] for x in row[left : left + wide : across]]
            for top in rows
            for left in columns
        ]

    def made_shape(self, before: Sides) -> Sides:
        """Return the output shape for a sample of the shape `before`."""
        border, field = self._border[-self.dimensions :], self._field[-self.dimensions :]
        sides = zip(before[1:], field, self.stride, border, strict=True)
        made = ((side + sum(edge) - size) // step + 1 for side, size, step, edge in sides)
        return getattr(self, "out_channels", before[0]), *made


class Conv(Sliding):
    """Base of the convolutions.

    Parameters
    ----------
    in_channels, out_channels : int
    kernel_size, stride : int or a tuple of one for each dimension
    padding : int, tuple, "valid" or "same"
        A border of zeros. A number: this many on both sides. "valid": none. "same": enough to keep the sides (stride 1
        only; an odd number puts one more at the end).
    dilation : int or tuple
        Distance between the positions that the kernel reads; 1: neighbours.
    groups : int
        Each group of output channels reads only its group of input channels. `in_channels` groups: depthwise.
    bias, init, seed
        As for :class:`Linear`.

    Attributes
    ----------
    weight : Parameter, shape (out_channels, in_channels / groups, *kernel_size)
    bias : Parameter, shape (out_channels,), or None

    Raises
    ------
    InputError
        A size is too small, "same" with another stride, channels that do not form such groups, or the weights need too
        much memory; when called: no sample of `in_channels` x L or x H x W, or one smaller than the kernel.

    Notes
    -----
    The border is one constant 0, shared by all patches. So an infinite or NaN weight gives NaN there in the objects and
    numpy engines (IEEE 754). The numba engine skips these products in batches. A Run stops at such a weight in every
    engine.
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size = 1, padding: Size | str = 0,
        dilation: Size = 1, groups: int = 1, bias: bool = True, *, init: initialisers.Function | None = None,
        seed: int | None = None,
    ) -> None:  # fmt: skip
        name, n = type(self).__name__, self.dimensions
        self.in_channels = count(in_channels, f"{name}: in_channels")
        self.out_channels = count(out_channels, f"{name}: out_channels")
        self.kernel_size = sides_of(kernel_size, f"{name}: kernel_size", 1, n)
        self.stride = sides_of(stride, f"{name}: stride", 1, n)
        self.padding = self._padding(padding)
        self.dilation = sides_of(dilation, f"{name}: dilation", 1, n)
        self.groups = self._groups(groups)
        shape = (self.out_channels, self.in_channels // self.groups, *self.kernel_size)
        self.weight = Parameter.filled(0.0, shape, f"{name}({self.in_channels}, {self.out_channels})")
        self.bias = Parameter(np.zeros(self.out_channels)) if flag(bias, f"{name}: bias") else None
        initialisers.apply(self, init, seed)

    def _padding(self, given: Any) -> Sides | str:
        name = type(self).__name__
        if not isinstance(given, str):
            return sides_of(given, f"{name}: padding", 0, self.dimensions)
        if given not in ("valid", "same"):
            raise InputError(f"{name}: padding must be whole numbers, 'valid' or 'same', got {given!r}")
        if given == "same" and set(self.stride) != {1}:
            raise InputError(f"{name}: padding='same' needs stride 1, got stride {self.stride}")
        return given

    def _groups(self, given: Any) -> int:
        name = type(self).__name__
        groups = count(given, f"{name}: groups")
        for channels, what in ((self.in_channels, "in_channels"), (self.out_channels, "out_channels")):
            if channels % groups:
                raise InputError(f"{name}: groups={groups} must divide the {channels} {what}")
        return groups

    def forward(self, x: Any) -> Any:
        """Return `out_channels` x L' for a sample `in_channels` x L, or x H' x W' for x H x W."""
        title = titled(self, f"{type(self).__name__}({self.in_channels}, {self.out_channels})")
        planes, rows, columns = self._planes(x, title, self.in_channels, Value(0.0))
        made = (len(rows), len(columns))[-self.dimensions :]
        return like(x, [v for channel in self._channels(planes, rows, columns) for v in channel], (-1, *made))

    def _channels(self, planes: Any, rows: range, columns: range) -> list[tuple[Value, ...]]:
        """Return the sums of each output channel at all positions; each group is one layer."""
        before, behind = self.in_channels // self.groups, self.out_channels // self.groups
        channels: list[tuple[Value, ...]] = []
        for group in range(self.groups):
            patches = self._patches(planes[group * before : (group + 1) * before], rows, columns)
            weights = range(group * behind, (group + 1) * behind)
            sums = affine_span(self.weight, weights, before * prod(self.kernel_size), self.bias, patches)
            channels += zip(*sums, strict=True)
        return channels

    def write_onnx(self, sheet: Sheet, x: Tensor) -> Tensor:
        border = self._border[-self.dimensions :]
        return sheet.node(
            "Conv", x, sheet.weight(self.weight), *([] if self.bias is None else [sheet.weight(self.bias)]),
            shape=self.made_shape(x.shape), kernel_shape=self.kernel_size, strides=self.stride,
            pads=tuple(edge[side] for side in (0, 1) for edge in border), dilations=self.dilation, group=self.groups,
        )  # fmt: skip

    def fans(self, part: Parameter | Weight) -> tuple[int, int]:
        """Return the inputs of one sum, and the sums that use one input (at stride 1), as PyTorch counts them."""
        places = prod(self.kernel_size)
        return self.in_channels // self.groups * places, self.out_channels * places

    def extra_repr(self) -> str:
        padding = f", padding={self.padding}" if isinstance(self.padding, str) or any(self.padding) else ""
        dilation = f", dilation={self.dilation}" if set(self.dilation) != {1} else ""
        groups = f", groups={self.groups}" if self.groups != 1 else ""
        bias = "" if self.bias is not None else ", bias=False"
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
            f"{padding}{dilation}{groups}{bias}"
        )


class Conv1d(Conv):
    """Convolution of rows, ``out[o][x] = bias[o] + sum(weight[o][c][j] * in[c][x*stride + j - padding])``.

    A sample is C x L. The kernel is not mirrored, as usual in deep learning. See :class:`Conv`.
    """

    stage: ClassVar[str] = "conv1d"
    dimensions = 1


class Conv2d(Conv):
    """Convolution of a picture; the kernel is not mirrored, as usual in deep learning.

    ``out[o][y][x] = bias[o] + sum(weight[o][c][i][j] * in[c][y*stride + i - padding][x*stride + j - padding])``

    A sample is C x H x W; sizes are (rows, columns). A dilation multiplies ``i`` and ``j`` in the input's indices. See
    :class:`Conv`.
    """

    stage: ClassVar[str] = "conv2d"
    dimensions = 2


class Pool(Sliding):
    """Base of the pools: windows slide over each channel of a row C x L or of a picture C x H x W.

    Parameters
    ----------
    kernel_size : int or a tuple of one for each dimension
        Size of the window.
    stride : int or tuple, optional
        Distance between windows. Default: `kernel_size`, windows side by side. An incomplete window is left out.
    padding : int or tuple
        Border on every side, at most half the window.

    Raises
    ------
    InputError
        A size is too small, or the padding too large; when called: no sample C x L or C x H x W, or one smaller than
        the window.
    """

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None:
        name, n = type(self).__name__, self.dimensions
        self.kernel_size = sides_of(kernel_size, f"{name}: kernel_size", 1, n)
        self.stride = sides_of(self.kernel_size if stride is None else stride, f"{name}: stride", 1, n)
        self.padding = sides_of(padding, f"{name}: padding", 0, n)
        if any(2 * p > k for p, k in zip(self.padding, self.kernel_size, strict=True)):
            raise InputError(
                f"{name}: the padding may be at most half the window, got {self.padding} for {self.kernel_size}"
            )

    def _windows(self, x: Any, fill: Any) -> tuple[list[list[list[Any]]], Sides]:
        """Return the windows of every channel, and the numbers of windows down and across."""
        title = titled(self, f"{type(self).__name__}({brief(self.kernel_size)})")
        planes, rows, columns = self._planes(x, title, None, fill)
        made = (len(rows), len(columns))[-self.dimensions :]
        return [self._patches([plane], rows, columns) for plane in planes], made

    def _onnx(self, sheet: Sheet, operator: str, x: Tensor, **more: Any) -> Tensor:
        made, size = self.made_shape(x.shape), self.kernel_size
        pads = self.padding * 2
        return sheet.node(operator, x, shape=made, kernel_shape=size, strides=self.stride, pads=pads, **more)

    def extra_repr(self) -> str:
        parts = (("kernel_size", self.kernel_size), ("stride", self.stride), ("padding", self.padding))
        return ", ".join(f"{name}={brief(sides)}" for name, sides in parts)


class MaxPool(Pool):
    """The largest number of each window. Of equal numbers the first one (row by row) gets the gradient.

    The border counts as minus infinity. See :class:`Pool` for the parameters.
    """

    def forward(self, x: Any) -> Any:
        """Return the largest number of each window: C x L' for C x L, C x H' x W' for C x H x W."""
        channels, sides = self._windows(x, None)
        windows = (window for channel in channels for window in channel)
        return like(x, [functions.max([v for v in window if v is not None]) for window in windows], (-1, *sides))

    def write_onnx(self, sheet: Sheet, x: Tensor) -> Tensor:
        return self._onnx(sheet, "MaxPool", x)


class AvgPool(Pool):
    """The mean of each window, including the zeros of the border. See :class:`Pool` for the parameters."""

    def forward(self, x: Any) -> Any:
        """Return the mean of each window: C x L' for C x L, C x H' x W' for C x H x W."""
        channels, sides = self._windows(x, Value(0.0))
        places = prod(self.kernel_size)
        shares = (Value(1.0 / places),) * places
        return like(x, [dot(shares, window) for channel in channels for window in channel], (-1, *sides))

    def write_onnx(self, sheet: Sheet, x: Tensor) -> Tensor:
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


class AdaptiveAvgPool(Module):
    """The means of a fixed number of windows. They overlap if the side is no multiple of that number.

    Parameters
    ----------
    output_size : int, or a tuple of one for each dimension
        The number of windows; None in a tuple: as many as the sample has. Window i of n spans ``i * side // n`` to
        ``(i + 1) * side / n``, rounded up.

    Raises
    ------
    InputError
        `output_size` is no such size; when called: the input is no sample C x L or C x H x W.
    """

    dimensions: ClassVar[int]

    def __init__(self, output_size: int | tuple[int | None, ...]) -> None:
        name, given = type(self).__name__, output_size
        sizes = tuple(given) if isinstance(given, tuple | list) else (given,) * self.dimensions
        if len(sizes) != self.dimensions:
            raise InputError(f"{name}: output_size needs {self.dimensions} whole numbers, got {shown(given)}")
        self.output_size = tuple(None if n is None else count(n, f"{name}: output_size") for n in sizes)

    def forward(self, x: Any) -> Any:
        """Return the means, C x `output_size`."""
        title = titled(self, f"{type(self).__name__}({self.output_size})")
        height, width = picture(x, title, dimensions=self.dimensions)
        made = self.made_shape(shape_of(x))[1:]
        rows, columns = _spans(height, made[0] if self.dimensions == 2 else 1), _spans(width, made[-1])
        means = []
        for plane in planes_of(x, self.dimensions):
            windows = [[v for row in plane[a:b] for v in row[c:d]] for a, b in rows for c, d in columns]
            means += [dot((Value(1.0 / len(w)),) * len(w), w) for w in windows]
        return like(x, means, (-1, *made))

    def write_onnx(self, sheet: Sheet, x: Tensor) -> Tensor:
        """Write an AveragePool; for overlapping windows, products with the shares along each dimension."""
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

    def made_shape(self, before: Sides) -> Sides:
        return before[0], *(n or side for n, side in zip(self.output_size, before[1:], strict=True))

    def extra_repr(self) -> str:
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
    """Return the share of each position in the mean of each window, (n, side)."""
    shares = np.zeros((n, side))
    for row, (start, stop) in zip(shares, _spans(side, n), strict=True):
        row[start:stop] = 1.0 / (stop - start)
    return shares
