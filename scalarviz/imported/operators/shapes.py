"""The same numbers in other shapes: nothing is computed."""

from __future__ import annotations

from math import prod

import numpy as np

from ...errors import shown
from .alike import Array, axis_of, made, room
from .table import Call, operator


@operator("Identity")
def identity(call: Call) -> list[Array]:
    """What it is given."""
    return [call.input(0)]


@operator("Reshape")
def reshape(call: Call) -> list[Array]:
    """Another shape: one side may be -1, and 0 (unless `allowzero`) is the side that was there."""
    x, wanted = call.input(0), call.whole(1, "the shape")
    if not call.attribute("allowzero", 0):
        if any(side == 0 and k >= x.ndim for k, side in enumerate(wanted)):
            raise call.wrong(f"the shape {shown(wanted)} keeps a side that the input of shape {x.shape} has not")
        wanted = [x.shape[k] if side == 0 else side for k, side in enumerate(wanted)]
    return [_shaped(call, x, wanted)]


def _shaped(call: Call, x: Array, wanted: list[int]) -> Array:
    try:
        return x.reshape(tuple(wanted))
    except ValueError:
        raise call.wrong(f"{x.size} numbers of the shape {x.shape} do not fit into the shape {shown(wanted)}") from None


@operator("Flatten")
def flatten(call: Call) -> list[Array]:
    """A matrix: the axes before `axis`, and the others."""
    x = call.input(0)
    axis = axis_of(call.attribute("axis", 1), x.ndim)
    return [x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:]))]


def _axes(call: Call, changed: int) -> list[int] | None:
    """The axes of a node: an input from version `changed` on, an attribute before."""
    if call.version < changed:
        found: list[int] | None = call.listed("axes")
        return found
    return call.whole(1, "the axes") if call.given(1) else None


@operator("Squeeze")
def squeeze(call: Call) -> list[Array]:
    """Without axes of length 1."""
    x, axes = call.input(0), _axes(call, 13)
    gone = {k for k, side in enumerate(x.shape) if side == 1} if axes is None else {axis_of(a, x.ndim) for a in axes}
    if any(k >= x.ndim or x.shape[k] != 1 for k in gone):
        raise call.wrong(f"the axes {shown(axes)} of the shape {x.shape} are not all of length 1")
    return [x.reshape(tuple(side for k, side in enumerate(x.shape) if k not in gone))]


@operator("Unsqueeze")
def unsqueeze(call: Call) -> list[Array]:
    """With axes of length 1 more."""
    x, axes = call.input(0), _axes(call, 13)
    if axes is None:
        raise call.wrong("its axes are missing; this operator needs them")
    places = {axis_of(a, x.ndim + len(axes)) for a in axes}
    if len(places) != len(axes) or any(not 0 <= k < x.ndim + len(axes) for k in places):
        raise call.wrong(f"the axes {shown(axes)} do not fit the shape {x.shape}")
    sides = iter(x.shape)
    return [x.reshape(tuple(1 if k in places else next(sides) for k in range(x.ndim + len(axes))))]


@operator("Transpose")
def transpose(call: Call) -> list[Array]:
    """The axes in another order, backwards by default."""
    x = call.input(0)
    order = call.listed("perm", list(range(x.ndim))[::-1])
    if sorted(order) != list(range(x.ndim)):
        raise call.wrong(f"the order {shown(order)} is none of the {x.ndim} axes of the shape {x.shape}")
    return [np.transpose(x, order)]


@operator("Expand")
def expand(call: Call) -> list[Array]:
    """Repeated along axes of length 1, until the shape is there; both shapes are broadcast."""
    x, wanted = call.input(0), call.whole(1, "the shape")
    try:
        shape = np.broadcast_shapes(x.shape, tuple(wanted))
    except ValueError:
        raise call.wrong(f"the shape {x.shape} cannot be expanded to {shown(wanted)}") from None
    room(shape, made(x))
    return [np.broadcast_to(x, shape, subok=True)]


@operator("Tile")
def tile(call: Call) -> list[Array]:
    """Repeated so often along each axis."""
    x, repeats = call.input(0), call.whole(1, "the repeats")
    if len(repeats) != x.ndim or min(repeats, default=0) < 0:
        raise call.wrong(f"the repeats {shown(repeats)} do not fit the shape {x.shape}: one number >= 0 for each axis")
    room([side * times for side, times in zip(x.shape, repeats, strict=True)], made(x))
    return [np.tile(x, repeats)]


@operator("Shape")
def shape(call: Call) -> list[Array]:
    """The sides, or some of them."""
    sides = call.input(0).shape
    start, end = call.attribute("start", 0), call.attribute("end", len(sides))
    return [np.array(sides[start:end], np.int64)]


@operator("Size")
def size(call: Call) -> list[Array]:
    """How many numbers there are."""
    return [np.array(call.input(0).size, np.int64)]
