"""Numbers that a graph has of its own, or makes of shapes; and casts from one type to another."""

from __future__ import annotations

from typing import Any

import numpy as np

from .alike import Array, bare, dressed, each, made, room
from .logic import truth
from .table import Call, operator

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
