"""Windows that slide over the last axes of an array: where they stand, and what each sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .alike import Array, room
from .table import Call

Sides = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of a convolution or a pool.

    Attributes
    ----------
    size, stride, dilation : tuple of int
        One for each of the last axes.
    before, behind : tuple of int
        Places of the border.
    made : tuple of int
        How many windows there are along each axis.
    """

    size: Sides
    stride: Sides
    dilation: Sides
    before: Sides
    behind: Sides
    made: Sides

    def places(self, axis: int) -> Array:
        """Where the windows look along an axis of the bordered array, shape (made, size)."""
        starts = np.arange(self.made[axis])[:, None] * self.stride[axis]
        return np.asarray(starts + np.arange(self.size[axis])[None, :] * self.dilation[axis])

    def bordered(self, x: Array, fill: Any) -> Array:
        """`x` with so many of `fill` around it, and as many more behind as the last windows reach to."""
        rank = len(self.size)
        sides = x.shape[-rank:]
        last = zip(self.made, self.stride, self.size, self.dilation, strict=True)
        reach = [(count - 1) * step + (n - 1) * apart + 1 for count, step, n, apart in last]
        rest = [max(0, r - b - s) for r, b, s in zip(reach, self.before, sides, strict=True)]
        widths = [(0, 0)] * (x.ndim - rank) + [(b, r) for b, r in zip(self.before, rest, strict=True)]
        room([side + before + behind for side, (before, behind) in zip(x.shape, widths, strict=True)])
        return np.pad(x, widths, constant_values=fill)

    def seen(self, bordered: Array) -> Array:
        """What each window sees, shape (..., *made, *size)."""
        rank = len(self.size)
        outer = bordered.ndim - rank
        room([*bordered.shape[:outer], *self.made, *self.size])
        found = bordered
        for k in range(rank):
            axis = outer + 2 * k
            places = self.places(k)
            found = np.take(found, places.ravel(), axis)
            found = found.reshape(*found.shape[:axis], *places.shape, *found.shape[axis + 1 :])
        order = [*range(outer), *range(outer, outer + 2 * rank, 2), *range(outer + 1, outer + 2 * rank, 2)]
        return found.transpose(order)

    def counted(self, sides: Sides, border: bool) -> Array:
        """How many places of each window are numbers, or (`border`) numbers or border; shape `made`."""
        rank = len(self.size)
        found = np.ones((), np.int64)
        for k, side in enumerate(sides):
            places = self.places(k) - self.before[k]
            low, high = (-self.before[k], side + self.behind[k]) if border else (0, side)
            inside = ((places >= low) & (places < high)).sum(axis=1)
            found = found * inside.reshape([-1 if j == k else 1 for j in range(rank)])
        return found


def windows(call: Call, sides: Sides, size: Sides) -> Windows:
    """The windows of a node over an array whose last sides are `sides`.

    Raises
    ------
    InputError
        A window is larger than the bordered array, or the attributes do not fit it.
    """
    rank = len(size)
    stride, dilation = (tuple(call.listed(name, [1] * rank)) for name in ("strides", "dilations"))
    if rank != len(sides) or len(stride) != rank or len(dilation) != rank or min((*stride, *dilation, *size)) < 1:
        raise call.wrong(f"a window {size}, strides {stride} and dilations {dilation} do not fit the sides {sides}")
    reach = tuple((n - 1) * d + 1 for n, d in zip(size, dilation, strict=True))
    before, behind = _border(call, sides, reach, stride)
    up = bool(call.attribute("ceil_mode", 0))
    made = []
    for side, a, b, wide, step in zip(sides, before, behind, reach, stride, strict=True):
        left = side + a + b - wide
        if left < 0:
            raise call.wrong(f"a window {reach} is larger than the input {sides} with its border {before}, {behind}")
        count = (-(-left // step) if up else left // step) + 1
        made.append(count - (up and (count - 1) * step >= side + a))  # one that begins in the border behind is none
    room([*made, *size])
    return Windows(size, stride, dilation, before, behind, tuple(made))


def _border(call: Call, sides: Sides, reach: Sides, stride: Sides) -> tuple[Sides, Sides]:
    rank, how = len(sides), call.attribute("auto_pad", "NOTSET")
    if how == "VALID":
        return (0,) * rank, (0,) * rank
    if how in ("SAME_UPPER", "SAME_LOWER"):
        totals = [
            max(0, (-(-s // step) - 1) * step + wide - s) for s, wide, step in zip(sides, reach, stride, strict=True)
        ]
        less, more = tuple(t // 2 for t in totals), tuple(t - t // 2 for t in totals)
        return (less, more) if how == "SAME_UPPER" else (more, less)
    if how != "NOTSET":
        raise call.wrong(f"auto_pad {how!r}; NOTSET, VALID, SAME_UPPER and SAME_LOWER are known")
    pads = call.listed("pads", [0] * (2 * rank))
    if len(pads) != 2 * rank or min(pads) < 0:
        raise call.wrong(f"pads {pads} do not fit the sides {sides}: one number >= 0 before and one behind each")
    return tuple(pads[:rank]), tuple(pads[rank:])
