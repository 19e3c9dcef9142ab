"""The same numbers in other shapes, numbers that a graph has of its own or makes of shapes, and casts between types."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...errors import shown
from .alike import Array, axis_of, bare, dressed, each, made, room
from .arithmetic import truth
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


TYPES: dict[int, type[np.generic]] = {
    1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_,
    10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64,
}  # fmt: skip
"""The standard's numbers of element types."""


@operator("Constant")
def constant(call: Call) -> list[Array]:
    """What the file says."""
    kinds: dict[str, Any] = {"value_float": np.float32, "value_floats": np.float32}
    for name in ("value", "value_float", "value_floats", "value_int", "value_ints"):
        if name in call.node.attributes:
            found = np.asarray(call.node.attributes[name])
            kind = found.dtype if name == "value" else np.dtype(kinds.get(name, np.int64))
            return [found.astype(kind)]
    raise call.wrong("it holds no numbers; texts and sparse tensors are not known here")


@operator("ConstantOfShape")
def constant_of_shape(call: Call) -> list[Array]:
    """One number everywhere."""
    shape = call.whole(0, "the shape")
    room(shape)
    value = np.asarray(call.attribute("value", np.zeros(1, np.float32))).reshape(())
    return [np.full(shape, value)]


@operator("Range")
def steps(call: Call) -> list[Array]:
    """From a start to before a limit, in steps."""
    start, limit, step = (call.numbers(k, "a bound") for k in range(3))
    room([max(0, int(np.ceil((float(limit.item()) - float(start.item())) / float(step.item()))))])
    return [np.arange(start.item(), limit.item(), step.item()).astype(start.dtype)]


@operator("EyeLike")
def eye(call: Call) -> list[Array]:
    """A matrix of zeros with a diagonal of ones."""
    x = call.input(0)
    kind = call.attribute("dtype")
    own: np.dtype[Any] = np.dtype(np.float32) if made(x) else x.dtype
    rows, columns = x.shape
    return [np.eye(rows, columns, int(call.attribute("k", 0)), own if kind is None else _type(call, int(kind)))]


@operator("OneHot")
def one_hot(call: Call) -> list[Array]:
    """A row for each index: one value where it points to, another elsewhere.

    Computed indices count from 0, and what is behind their point does not count.
    """
    indices, depth, pair = call.input(0), call.whole(1, "the depth")[0], call.input(2)
    room([*indices.shape, depth], made(indices, pair))
    axis = int(call.attribute("axis", -1))
    at = axis if axis >= 0 else axis + indices.ndim + 1
    row = np.arange(depth).reshape([-1 if k == at else 1 for k in range(indices.ndim + 1)])
    off, on = bare(pair)
    there = dressed(np.expand_dims(bare(indices), axis))
    if made(indices):
        meant = each("mul", each("ge", there, row), each("lt", there, row + 1))
        return [each("where", meant, on, off)]
    inside = (there >= -depth) & (there < depth)
    return [dressed(np.where((np.mod(there, depth) == row) & inside, on, off))]


@operator("NonZero")
def places_of_truth(call: Call) -> list[Array]:
    """The indices of all numbers that are not 0."""
    return [np.array(np.nonzero(np.atleast_1d(call.only_numbers()[0])), np.int64)]


@operator("Cast")
def cast(call: Call) -> list[Array]:
    """Another type."""
    return [_cast(call, _type(call, int(call.attribute("to", 0))))]


@operator("CastLike")
def cast_like(call: Call) -> list[Array]:
    """The type of the second operand."""
    like = call.dtypes[1] if len(call.dtypes) > 1 else None
    if like is None and call.input(1).dtype != object:
        like = call.input(1).dtype
    if like is None:
        raise call.wrong("the type that it shall have is not known")
    return [_cast(call, like)]


def _type(call: Call, number: int) -> np.dtype[Any]:
    if number not in TYPES:
        raise call.wrong(
            f"the element type {number} is not known here; floats of 16 to 64 bits, whole numbers and truths are"
        )
    return np.dtype(TYPES[number])


def _cast(call: Call, to: np.dtype[Any]) -> Array:
    """Values have the type that a Run computes in: a cast to a float changes nothing, one to a truth makes 0 and 1.

    Computed numbers are not cut off at the point: that has no derivative. Whole ones, as the file says, stay.
    """
    x = call.input(0)
    if to not in {np.dtype(kind) for kind in TYPES.values()}:
        raise call.wrong(f"the type {to} is not known here; floats of 16 to 64 bits, whole numbers and truths are")
    if x.dtype != object:
        return x.astype(to)
    if to.kind == "f":
        return x
    if to.kind == "b":
        return truth(x)
    before = call.dtypes[0] if call.dtypes else None
    if before is not None and before.kind in "iub":
        return x
    raise call.wrong(f"computed numbers are not rounded to {to}: that has no derivative")
