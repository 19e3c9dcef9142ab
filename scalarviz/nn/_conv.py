"""`Conv2d`: the same weighted sums at every place of a picture."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..checks import flag
from ..scalar import Value, Weight
from ..scalar.layer import affine_each
from ..scalar.nested import nest
from . import init as initialisers
from ._inputs import titled
from ._linear import count
from ._module import Module
from ._parameter import Parameter
from ._pictures import Pair, bordered, pair, picture, positions, windows


class Conv2d(Module):
    """Convolution of a picture; without mirroring the kernel, as everywhere in deep learning.

    ``out[o][y][x] = bias[o] + sum(weight[o][c][i][j] * x[c][y*stride + i - padding][x*stride + j - padding])``

    Parameters
    ----------
    in_channels, out_channels : int
    kernel_size, stride, padding : int or (int, int)
        Rows and columns. The padding is a border of zeros.
    bias : bool
        Whether to add one. By its name only: PyTorch has other arguments at its place.
    init, seed
        As for :class:`Linear`.

    Attributes
    ----------
    weight : Parameter, shape (out_channels, in_channels, rows, columns)
    bias : Parameter, shape (out_channels,), or None

    Raises
    ------
    InputError
        A size is too small, or there is no memory for so many weights; when called: no picture of `in_channels` x
        H x W, or one smaller than the kernel.

    Notes
    -----
    At one position the sums of all channels read the same patch, so a recorded convolution is a layer a position
    over one block of weights. The border is one constant 0, shared by all patches: in objects and NumPy an infinite or
    NaN weight makes NaN of it (IEEE 754). The numba engine leaves these products out of batches, as PyTorch does of
    some. A Run stops at such a weight in every engine.
    """

    stage: ClassVar[str] = "conv2d"
    in_channels: int
    out_channels: int
    kernel_size: Pair
    stride: Pair
    padding: Pair
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] = 0,
        *,
        bias: bool = True,
        init: initialisers.Function | None = None,
        seed: int | None = None,
    ) -> None:
        self.in_channels = count(in_channels, "Conv2d: in_channels")
        self.out_channels = count(out_channels, "Conv2d: out_channels")
        self.kernel_size = pair(kernel_size, "Conv2d: kernel_size", 1)
        self.stride = pair(stride, "Conv2d: stride", 1)
        self.padding = pair(padding, "Conv2d: padding", 0)
        shape = (self.out_channels, self.in_channels, *self.kernel_size)
        self.weight = Parameter.filled(0.0, shape, f"Conv2d{shape[1::-1]}")
        self.bias = Parameter(np.zeros(self.out_channels)) if flag(bias, "Conv2d: bias") else None
        initialisers.apply(self, init, seed)

    def forward(self, x: Any) -> list[list[list[Value]]]:
        """The picture `out_channels` x H' x W' of one picture `in_channels` x H x W."""
        title = titled(self, f"Conv2d({self.in_channels}, {self.out_channels})")
        _, height, width = picture(x, title, self.in_channels)
        rows, columns = positions((height, width), self.kernel_size, self.stride, self.padding, title)
        planes = x
        if self.padding != (0, 0):
            zero = Value(0.0)
            planes = [bordered(plane, self.padding, zero) for plane in x]
        patches = windows(planes, rows, columns, self.kernel_size)
        sums = affine_each(self.weight, self.out_channels, self.bias, patches)
        return [nest(channel, (len(rows), len(columns))) for channel in zip(*sums, strict=True)]

    def fans(self, part: Parameter | Weight) -> tuple[int, int]:
        """Inputs of one sum, and sums that one input takes part in (stride 1), as PyTorch counts them."""
        places = self.kernel_size[0] * self.kernel_size[1]
        return self.in_channels * places, self.out_channels * places

    def extra_repr(self) -> str:
        """PyTorch's text."""
        padding = f", padding={self.padding}" if self.padding != (0, 0) else ""
        bias = "" if self.bias is not None else ", bias=False"
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
            f"{padding}{bias}"
        )
