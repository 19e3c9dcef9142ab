"""`Conv1d` and `Conv2d`: the same weighted sums at every place of a row or of a picture."""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

import numpy as np

from ..checks import flag
from ..errors import InputError
from ..onnx.export.sheet import Sheet, Tensor
from ..scalar import Value, Weight
from ..scalar.layer import affine_span
from ..scalar.nested import nest
from . import init as initialisers
from ._inputs import titled
from ._linear import count
from ._module import Module
from ._parameter import Parameter
from ._pictures import (
    Border,
    Pair,
    around,
    bordered,
    picture,
    plane_sides,
    planes_of,
    positions,
    sides_of,
    spread,
    windows,
)

Sides = tuple[int, ...]


class Conv(Module):
    """What the convolutions share.

    Parameters
    ----------
    in_channels, out_channels : int
    kernel_size, stride : int or a tuple of one for each dimension
    padding : int, tuple, "valid" or "same"
        A border of zeros: so many on both sides; none; or so many in all as leave the sides as they are (with stride
        1 only; of an odd number, one more behind).
    dilation : int or tuple
        From one place that the kernel reads to the next; 1: neighbours.
    groups : int
        The channels make so many groups, in their order: each group of outputs reads its group of inputs only. As many
        as `in_channels`: depthwise.
    bias : bool
        Whether to add one.
    init, seed
        As for :class:`Linear`.

    Attributes
    ----------
    weight : Parameter, shape (out_channels, in_channels / groups, *kernel_size)
    bias : Parameter, shape (out_channels,), or None

    Raises
    ------
    InputError
        A size is too small, "same" with another stride, channels that do not make such groups, or there is no memory
        for so many weights; when called: no sample of `in_channels` x L or x H x W, or one smaller than the kernel.

    Notes
    -----
    At one position the sums of all channels (of a group) read the same patch, so a recorded convolution is a layer a
    position over one block of weights. The border is one constant 0, shared by all patches: in objects and NumPy an
    infinite or NaN weight makes NaN of it (IEEE 754). The numba engine leaves these products out of batches, as PyTorch
    does of some. A Run stops at such a weight in every engine.
    """

    dimensions: ClassVar[int]
    in_channels: int
    out_channels: int
    kernel_size: Sides
    stride: Sides
    padding: Sides | str
    dilation: Sides
    groups: int
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] = 1,
        padding: int | tuple[int, ...] | str = 0,
        dilation: int | tuple[int, ...] = 1,
        groups: int = 1,
        bias: bool = True,
        *,
        init: initialisers.Function | None = None,
        seed: int | None = None,
    ) -> None:
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
            raise InputError(f"{name}: padding='same' goes with stride 1 only, got stride {self.stride}")
        return given

    def _groups(self, given: Any) -> int:
        name = type(self).__name__
        groups = count(given, f"{name}: groups")
        for channels, what in ((self.in_channels, "in_channels"), (self.out_channels, "out_channels")):
            if channels % groups:
                raise InputError(f"{name}: {channels} {what} do not make {groups} groups of the same size")
        return groups

    @property
    def _field(self) -> Pair:
        """From the first to the last place that the kernel reads, down and across."""
        return spread(plane_sides(self.kernel_size, 1), plane_sides(self.dilation, 1))

    @property
    def _border(self) -> Border:
        if isinstance(self.padding, str):
            left = [size - 1 if self.padding == "same" else 0 for size in self._field]
            return (left[0] // 2, left[0] - left[0] // 2), (left[1] // 2, left[1] - left[1] // 2)
        return around(plane_sides(self.padding, 0))

    def forward(self, x: Any) -> Any:
        """`out_channels` x L' of one sample `in_channels` x L; or x H' x W' of x H x W."""
        title = titled(self, f"{type(self).__name__}({self.in_channels}, {self.out_channels})")
        sides, border = picture(x, title, self.in_channels, self.dimensions), self._border
        size, stride, dilation = (plane_sides(n, 1) for n in (self.kernel_size, self.stride, self.dilation))
        rows, columns = positions(sides, size, stride, border, title, dilation)
        planes = planes_of(x, self.dimensions)
        if border != ((0, 0), (0, 0)):
            zero = Value(0.0)
            planes = [bordered(plane, border, zero) for plane in planes]
        made = (len(rows), len(columns))[-self.dimensions :]
        return [nest(channel, made) for channel in self._channels(planes, rows, columns)]

    def _channels(self, planes: Any, rows: range, columns: range) -> list[tuple[Value, ...]]:
        """The sums of each output channel at all positions: a layer a group, over its planes and its weights."""
        size, dilation = plane_sides(self.kernel_size, 1), plane_sides(self.dilation, 1)
        before, behind = self.in_channels // self.groups, self.out_channels // self.groups
        channels: list[tuple[Value, ...]] = []
        for group in range(self.groups):
            own = planes[group * before : (group + 1) * before]
            patches = windows(own, rows, columns, size, dilation)
            weights = range(group * behind, (group + 1) * behind)
            sums = affine_span(self.weight, weights, before * size[0] * size[1], self.bias, patches)
            channels += zip(*sums, strict=True)
        return channels

    def write_onnx(self, sheet: Sheet, x: Tensor) -> Tensor:
        """A Conv."""
        border = self._border[-self.dimensions :]
        return sheet.node(
            "Conv", x, sheet.weight(self.weight), *([] if self.bias is None else [sheet.weight(self.bias)]),
            shape=self.made_shape(x.shape), kernel_shape=self.kernel_size, strides=self.stride,
            pads=tuple(edge[side] for side in (0, 1) for edge in border), dilations=self.dilation, group=self.groups,
        )  # fmt: skip

    def made_shape(self, before: tuple[int, ...]) -> tuple[int, ...]:
        """The shape that it makes of a sample of the shape `before`."""
        border, field = self._border[-self.dimensions :], self._field[-self.dimensions :]
        sides = zip(before[1:], field, self.stride, border, strict=True)
        return self.out_channels, *((side + sum(edge) - size) // step + 1 for side, size, step, edge in sides)

    def fans(self, part: Parameter | Weight) -> tuple[int, int]:
        """Inputs of one sum, and sums that one input takes part in (stride 1), as PyTorch counts them."""
        places = prod(self.kernel_size)
        return self.in_channels // self.groups * places, self.out_channels * places

    def extra_repr(self) -> str:
        """PyTorch's text."""
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

    A sample is C x L. Without mirroring the kernel, as everywhere in deep learning. See :class:`Conv`.
    """

    stage: ClassVar[str] = "conv1d"
    dimensions = 1


class Conv2d(Conv):
    """Convolution of a picture; without mirroring the kernel, as everywhere in deep learning.

    ``out[o][y][x] = bias[o] + sum(weight[o][c][i][j] * in[c][y*stride + i - padding][x*stride + j - padding])``

    A sample is C x H x W, sizes are rows and columns; with a dilation ``i`` and ``j`` are multiplied by it in the
    input's places. See :class:`Conv`.
    """

    stage: ClassVar[str] = "conv2d"
    dimensions = 2
