"""Transposed convolutions: every number is handed to a window of places, where what comes is summed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...scalar import Value
from .alike import Array, bare, dressed, objects, room
from .convolutions import sums_of_numbers, sums_of_values
from .table import Call, operator
from .windows import Sides, Windows


@operator("ConvTranspose")
def transposed(call: Call) -> list[Array]:
    """As a convolution of the numbers with zeros between them, with the kernel turned round."""
    x, weight = call.input(0), call.input(1)
    bias = call.inputs[2] if call.given(2) else None
    groups = int(call.attribute("group", 1))
    if x.ndim < 3 or weight.ndim != x.ndim or weight.shape[0] != x.shape[1] or groups < 1 or len(weight) % groups:
        raise call.wrong(f"an input of the shape {x.shape} and weights {weight.shape} do not fit with {groups} groups")
    size, sides = weight.shape[2:], x.shape[2:]
    stride, dilation = (tuple(call.listed(name, [1] * len(size))) for name in ("strides", "dilations"))
    if len(stride) != len(size) or len(dilation) != len(size) or min((*stride, *dilation, *size)) < 1:
        raise call.wrong(f"strides {stride} and dilations {dilation} do not fit the kernel {size}")
    reach = tuple((n - 1) * d + 1 for n, d in zip(size, dilation, strict=True))
    before, made = _border(call, sides, reach, stride)
    zero: Any = Value(0.0) if not call.known else 0
    spread = _spread(x if call.known else bare(objects(x)), zero, stride, reach, before, made)
    ones = (1,) * len(size)
    places = Windows(size, ones, dilation, (0,) * len(size), (0,) * len(size), made)
    turned = bare(weight)[(slice(None), slice(None), *[slice(None, None, -1)] * len(size))]
    starts = [None] * groups if bias is None else np.split(bare(bias), groups)
    function = sums_of_numbers if call.known else sums_of_values
    parts = zip(np.split(spread, groups, 1), np.split(turned, groups), starts, strict=True)
    found = [function(places, part, kernel.swapaxes(0, 1), start) for part, kernel, start in parts]
    return [dressed(np.concatenate([bare(part) for part in found], 1))]


def _border(call: Call, sides: Sides, reach: Sides, stride: Sides) -> tuple[Sides, Sides]:
    """What is cut off before, and the sides of the result."""
    rank, how = len(sides), call.attribute("auto_pad", "NOTSET")
    more = call.listed("output_padding", [0] * rank)
    whole = [(s - 1) * step + wide for s, step, wide in zip(sides, stride, reach, strict=True)]
    wanted = call.listed("output_shape")
    if wanted is None and how in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [s * step for s, step in zip(sides, stride, strict=True)]
    if wanted is not None:
        left = [max(0, w + m - n) for w, m, n in zip(whole, more, wanted[-rank:], strict=True)]
        first = [t // 2 if how == "SAME_UPPER" else t - t // 2 for t in left]
        return tuple(first), tuple(wanted[-rank:])
    pads = call.listed("pads", [0] * (2 * rank)) if how == "NOTSET" else [0] * (2 * rank)
    if len(pads) != 2 * rank or len(more) != rank or min((*pads, *more)) < 0:
        raise call.wrong(f"pads {pads} and output_padding {more} do not fit the sides {sides}")
    made = [w + m - a - b for w, m, a, b in zip(whole, more, pads[:rank], pads[rank:], strict=True)]
    if min(made) < 1:
        raise call.wrong(f"pads {pads} leave nothing of the sides {whole}")
    return tuple(pads[:rank]), tuple(made)


def _spread(x: Array, zero: Any, stride: Sides, reach: Sides, before: Sides, made: Sides) -> Array:
    """The numbers with zeros between and around them, so that a window stands at each place of the result."""
    sides = [(m + wide - 1) for m, wide in zip(made, reach, strict=True)]
    room([*x.shape[:2], *sides])
    found = np.full((*x.shape[:2], *sides), zero, x.dtype)
    to, of = [slice(None)] * 2, [slice(None)] * 2
    for side, step, wide, cut, length in zip(x.shape[2:], stride, reach, before, sides, strict=True):
        first = wide - 1 - cut  # where the first number comes to stand
        skipped = max(0, -(first // step)) if first < 0 else 0
        count = max(0, min(side, -(-(length - first) // step)) - skipped)
        start = first + skipped * step
        to.append(slice(start, start + count * step, step) if count else slice(0, 0))
        of.append(slice(skipped, skipped + count))
    found[tuple(to)] = x[tuple(of)]
    return found
