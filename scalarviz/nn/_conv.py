"""Layers on rows and pictures: windows slide over arrays of C x H x W numbers.

`Conv1d` and `Conv2d` compute the same weighted sums at every position; pools compute one number for each window of
each channel. `AdaptiveAvgPool1d` and `AdaptiveAvgPool2d` take the means of a fixed number of windows, for any size.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ..checks import flag
from ..errors import InputError, shown
from ..scalar import Value, Weight, dot, functions
from ..scalar.array import like
from ..scalar.nested import shape_of
from ..scalar.sums import affine_span
from ._draws import Function
from ._inputs import titled
from ._linear import count
from ._module import Module
from ._parameter import Parameter, check_size

Sides = tuple[int, ...]
Size = int | Sides
WIDEST = 1 << 16
"""The largest window, stride or border: every position is visited one by one."""


def sides_of(given: Any, what: str, least: int, dimensions: int) -> Sides:
    """Return a size with one number for each dimension."""
    sides = tuple(given) if isinstance(given, tuple | list) else (given,) * dimensions
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in sides)
    if len(sides) != dimensions or not whole or min(sides) < least:
        several = " or a pair of them (rows, columns)" if dimensions == 2 else ""
        raise InputError(f"{what} must be a whole number >= {least}{several}, got {shown(given)}")
    if max(sides) > WIDEST:
        raise InputError(f"{what} is {shown(given)}, too wide for any picture; give at most {WIDEST}")
    return tuple(map(int, sides))


def brief(sides: Any) -> str:
    """Return sides as PyTorch prints them: one number if all are equal."""
    return str(sides[0]) if len(set(sides)) == 1 else str(sides)


def picture(x: Any, title: str, channels: int | None, dimensions: int) -> Sides:
    """Return the shape of a sample C x H x W, or C x L; InputError if it has another number of sides or channels."""
    shape = shape_of(x)
    if len(shape) != dimensions + 1 or 0 in shape or channels not in (None, shape[0]):
        kind, sides = ("picture", "H, W") if dimensions == 2 else ("sample", "L")
        hint = f"; put nn.Unflatten((C, {sides})) before it" if len(shape) == 1 else ""
        many = "C" if channels is None else channels
        raise InputError(f"{title} takes a {kind} of shape ({many}, {sides}), got {shape}{hint}")
    return shape


class Sliding(Module):
    """Base of convolutions and pools: a window slides over every channel."""

    dimensions: ClassVar[int]
    kernel_size: Sides
    stride: Sides
    padding: Sides | str

    @property
    def _dilation(self) -> Sides:
        """The distance between neighbouring kernel positions; 1 for pools."""
        return getattr(self, "dilation", (1,) * self.dimensions)

    @property
    def _field(self) -> Sides:
        """The size of the window with its dilation."""
        return tuple((size - 1) * apart + 1 for size, apart in zip(self.kernel_size, self._dilation, strict=True))

    @property
    def _border(self) -> list[tuple[int, int]]:
        """The numbers of border rows and columns, each before and after."""
        if isinstance(self.padding, str):
            whole = [size - 1 if self.padding == "same" else 0 for size in self._field]
            return [(side // 2, side - side // 2) for side in whole]
        return [(side, side) for side in self.padding]

    def _windows(self, x: Any, title: str, channels: int | None, fill: Any) -> NDArray[np.object_]:
        """Return all windows of x with a border of `fill`: C x L' x size, or C x H' x W' x rows x columns."""
        shape, border, field = picture(x, title, channels, self.dimensions), self._border, self._field
        padded = tuple(side + sum(edge) for side, edge in zip(shape[1:], border, strict=True))
        if any(size > side for size, side in zip(field, padded, strict=True)):
            padding = tuple(before if before == behind else (before, behind) for before, behind in border)
            wider = f" with its padding {padding}" if any(padding) else ""
            raise InputError(f"{title}: a window of {field} is larger than the picture{wider}, {padded}")
        check_size((*self.made_shape(shape)[1:], *self.kernel_size), title, "numbers to read")
        wide = np.pad(np.ndarray.view(x, np.ndarray), ((0, 0), *border), constant_values=fill)
        found = sliding_window_view(wide, field, tuple(range(1, len(shape))))
        return found[:, *(np.s_[::step] for step in (*self.stride, *self._dilation))]

    def made_shape(self, before: Sides) -> Sides:
        """Return the output shape for a sample of the shape `before`."""
        sides = zip(before[1:], self._field, self.stride, self._border, strict=True)
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
        dilation: Size = 1, groups: int = 1, bias: bool = True, *, init: Function | None = None,
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
        self.initialize(init, seed)

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
        windows = np.moveaxis(self._windows(x, title, self.in_channels, Value(0.0)), 0, self.dimensions)
        made, before = windows.shape[: self.dimensions], self.in_channels // self.groups
        patches = windows.reshape(prod(made), self.groups, before * prod(self.kernel_size))
        behind, channels = self.out_channels // self.groups, list[tuple[Value, ...]]()
        for group in range(self.groups):  # each is one layer
            weights = range(group * behind, (group + 1) * behind)
            sums = affine_span(self.weight, weights, patches.shape[2], self.bias, patches[:, group].tolist())
            channels += zip(*sums, strict=True)
        return like(x, [v for channel in channels for v in channel], (-1, *made))

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

    def _each_window(self, x: Any, fill: Any, pool: Callable[[list[Any]], Value]) -> Any:
        """Return ``pool(window)`` for every window of every channel."""
        windows = self._windows(x, titled(self, f"{type(self).__name__}({brief(self.kernel_size)})"), None, fill)
        rows = windows.reshape(-1, prod(self.kernel_size)).tolist()
        return like(x, list(map(pool, rows)), windows.shape[: -self.dimensions])

    def extra_repr(self) -> str:
        parts = (("kernel_size", self.kernel_size), ("stride", self.stride), ("padding", self.padding))
        return ", ".join(f"{name}={brief(sides)}" for name, sides in parts)


class MaxPool(Pool):
    """The largest number of each window. Of equal numbers the first one (row by row) gets the gradient.

    The border counts as minus infinity. See :class:`Pool` for the parameters.
    """

    def forward(self, x: Any) -> Any:
        """Return the largest number of each window: C x L' for C x L, C x H' x W' for C x H x W."""
        return self._each_window(x, None, lambda window: functions.max([v for v in window if v is not None]))


class AvgPool(Pool):
    """The mean of each window, including the zeros of the border. See :class:`Pool` for the parameters."""

    def forward(self, x: Any) -> Any:
        """Return the mean of each window: C x L' for C x L, C x H' x W' for C x H x W."""
        shares = (Value(1.0 / prod(self.kernel_size)),) * prod(self.kernel_size)
        return self._each_window(x, Value(0.0), lambda window: dot(shares, window))


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
        made = self.made_shape(picture(x, title, None, self.dimensions))
        cuts = [*product(*map(self._spans, shape_of(x)[1:], made[1:]))]
        windows = [channel[cut].ravel().tolist() for channel in np.ndarray.view(x, np.ndarray) for cut in cuts]
        return like(x, [dot((Value(1.0 / len(w)),) * len(w), w) for w in windows], made)

    @staticmethod
    def _spans(side: int, n: int) -> list[slice]:
        return [slice(i * side // n, -(-(i + 1) * side // n)) for i in range(n)]

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
