"""Operators that move numbers: shapes, slices, joins, gathers; also constants, and casts between types."""

from __future__ import annotations

from itertools import accumulate
from math import prod
from typing import Any, Literal

import numpy as np

from ...errors import OutOfRangeError, listing, shown
from ...scalar import Value, dot, functions, tracing
from ...scalar.functions import Gathered
from ...scalar.value import as_value
from .arithmetic import truth
from .arrays import Array, alike, any_values, axis_of, bare, check_size, dressed, each, either, objects, padded, values
from .products import neighbours
from .table import OperatorCall, operator


@operator("Identity")
def identity(call: OperatorCall) -> list[Array]:
    """Return the input."""
    return [call.input(0)]


@operator("Reshape")
def reshape(call: OperatorCall) -> list[Array]:
    """Return the array in another shape: one side may be -1, and 0 keeps the old side (unless `allowzero`)."""
    x, wanted = call.input(0), call.integers(1, "the shape")
    if not call.attribute("allowzero", 0):
        if any(side == 0 and k >= x.ndim for k, side in enumerate(wanted)):
            raise call.wrong(f"the shape {shown(wanted)} keeps a side that the input of shape {x.shape} does not have")
        wanted = [x.shape[k] if side == 0 else side for k, side in enumerate(wanted)]
    try:
        return [x.reshape(tuple(wanted))]
    except ValueError:
        raise call.wrong(f"{x.size} numbers of the shape {x.shape} do not fit into the shape {shown(wanted)}") from None


@operator("Flatten")
def flatten(call: OperatorCall) -> list[Array]:
    """Return a matrix: the axes before `axis`, and the others."""
    x = call.input(0)
    axis = axis_of(call.attribute("axis", 1), x.ndim)
    return [x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:]))]


def _axes(call: OperatorCall) -> Any:
    """Return the axes of a node: an input from version 13 on, an attribute before."""
    return call.listed("axes") if call.version < 13 else call.row(1, "the axes")


@operator("Squeeze")
def squeeze(call: OperatorCall) -> list[Array]:
    """Return the array without axes of length 1."""
    x, axes = call.input(0), _axes(call)
    gone = {k for k, side in enumerate(x.shape) if side == 1} if axes is None else {axis_of(a, x.ndim) for a in axes}
    if any(k >= x.ndim or x.shape[k] != 1 for k in gone):
        raise call.wrong(f"the axes {shown(axes)} of the shape {x.shape} are not all of length 1")
    return [x.reshape(tuple(side for k, side in enumerate(x.shape) if k not in gone))]


@operator("Unsqueeze")
def unsqueeze(call: OperatorCall) -> list[Array]:
    """Return the array with further axes of length 1."""
    x, axes = call.input(0), _axes(call)
    if axes is None:
        raise call.wrong("its axes are missing; this operator needs them")
    places = {axis_of(a, x.ndim + len(axes)) for a in axes}
    if len(places) != len(axes) or any(not 0 <= k < x.ndim + len(axes) for k in places):
        raise call.wrong(f"the axes {shown(axes)} do not fit the shape {x.shape}")
    sides = iter(x.shape)
    return [x.reshape(tuple(1 if k in places else next(sides) for k in range(x.ndim + len(axes))))]


@operator("Transpose")
def transpose(call: OperatorCall) -> list[Array]:
    """Return the array with its axes in another order, reversed by default."""
    x = call.input(0)
    order = call.listed("perm", list(range(x.ndim))[::-1])
    if sorted(order) != list(range(x.ndim)):
        raise call.wrong(f"the order {shown(order)} is not an order of the {x.ndim} axes of the shape {x.shape}")
    return [np.transpose(x, order)]


@operator("Expand")
def expand(call: OperatorCall) -> list[Array]:
    """Return the array broadcast to a shape; both shapes are broadcast."""
    x, wanted = call.input(0), call.integers(1, "the shape")
    shape = np.broadcast_shapes(x.shape, tuple(wanted))
    check_size(shape, any_values(x))
    return [np.broadcast_to(x, shape, subok=True)]


@operator("Tile")
def tile(call: OperatorCall) -> list[Array]:
    """Return the array repeated along each axis."""
    x, repeats = call.input(0), call.integers(1, "the repeats")
    if len(repeats) != x.ndim or min(repeats, default=0) < 0:
        raise call.wrong(f"the repeats {shown(repeats)} do not fit the shape {x.shape}: one number >= 0 for each axis")
    check_size([side * times for side, times in zip(x.shape, repeats, strict=True)], any_values(x))
    return [dressed(np.tile(bare(x), repeats))]


@operator("Shape")
def shape(call: OperatorCall) -> list[Array]:
    """Return the shape, or a part of it."""
    sides = call.input(0).shape
    return [np.array(sides[call.attribute("start", 0) : call.attribute("end", len(sides))], np.int64)]


@operator("Size")
def size(call: OperatorCall) -> list[Array]:
    """Return the number of elements."""
    return [np.array(call.input(0).size, np.int64)]


TYPES: dict[int, type[np.generic]] = {
    1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_,
    10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64,
}  # fmt: skip
"""The standard's numbers of element types."""
KNOWN, TYPED = {*map(np.dtype, TYPES.values())}, "allowed: floats of 16 to 64 bits, integers and booleans"


@operator("ConstantOfShape")
def constant_of_shape(call: OperatorCall) -> list[Array]:
    """Return an array of one number."""
    shape = call.integers(0, "the shape")
    check_size(shape)
    value = np.asarray(call.attribute("value", np.zeros(1, np.float32))).reshape(())
    return [np.full(shape, value)]


@operator("Range")
def steps(call: OperatorCall) -> list[Array]:
    """Return the numbers from a start to before a limit, in steps."""
    start, limit, step = (call.numbers(k, "a bound") for k in range(3))
    check_size([max(0, int(np.ceil((float(limit.item()) - float(start.item())) / float(step.item()))))])
    return [np.arange(start.item(), limit.item(), step.item()).astype(start.dtype)]


@operator("EyeLike")
def eye(call: OperatorCall) -> list[Array]:
    """Return a matrix of zeros with a diagonal of ones."""
    x, kind = call.input(0), call.attribute("dtype")
    own: np.dtype[Any] = np.dtype(np.float32) if any_values(x) else x.dtype
    rows, columns = x.shape
    return [np.eye(rows, columns, int(call.attribute("k", 0)), own if kind is None else _type(call, int(kind)))]


@operator("OneHot")
def one_hot(call: OperatorCall) -> list[Array]:
    """Return a row for each index: one value at the index, another elsewhere.

    Computed indices count from 0, and their fraction is ignored.
    """
    indices, depth, pair = call.input(0), call.integers(1, "the depth")[0], call.input(2)
    check_size([*indices.shape, depth], any_values(indices, pair))
    axis = int(call.attribute("axis", -1))
    at = axis if axis >= 0 else axis + indices.ndim + 1
    row = np.arange(depth).reshape([-1 if k == at else 1 for k in range(indices.ndim + 1)])
    off, on = bare(pair)
    there = dressed(np.expand_dims(bare(indices), axis))
    if any_values(indices):
        meant = each("mul", each("ge", there, row), each("lt", there, row + 1))
        return [each("where", meant, on, off)]
    inside = (there >= -depth) & (there < depth)
    return [dressed(np.where((np.mod(there, depth) == row) & inside, on, off))]


@operator("NonZero")
def places_of_truth(call: OperatorCall) -> list[Array]:
    """Return the indices of all numbers that are not 0."""
    return [np.array(np.nonzero(np.atleast_1d(call.only_numbers()[0])), np.int64)]


@operator("Cast")
def cast(call: OperatorCall) -> list[Array]:
    """Return the array in another type."""
    return [_cast(call, _type(call, int(call.attribute("to", 0))))]


@operator("CastLike")
def cast_like(call: OperatorCall) -> list[Array]:
    """Return the array in the type of the second operand."""
    like = call.dtypes[1] if len(call.dtypes) > 1 else None
    if like is None and call.input(1).dtype != object:
        like = call.input(1).dtype
    if like is None or like not in KNOWN:
        raise call.wrong(f"the type {like or 'of its second input'} is not supported; {TYPED}")
    return [_cast(call, like)]


def _type(call: OperatorCall, number: int) -> np.dtype[Any]:
    if number not in TYPES:
        raise call.wrong(f"the element type {number} is not supported; {TYPED}")
    return np.dtype(TYPES[number])


def _cast(call: OperatorCall, to: np.dtype[Any]) -> Array:
    """Cast an array. Values have the type of the Run: a cast to float changes nothing, one to bool gives 0 and 1.

    Computed numbers are not truncated, as that has no derivative. Numbers that are whole by the file's types stay.
    """
    x, before = call.input(0), call.dtypes[0] if call.dtypes else None
    if x.dtype != object:
        return x.astype(to)
    if to.kind == "b":
        return truth(x)
    if to.kind == "f" or (before is not None and before.kind in "iub"):
        return x
    raise call.wrong(f"rounding computed numbers to {to} has no derivative")


def chosen_row(table: Array, index: Value) -> list[Any]:
    """Return the numbers of ``table[index]``, flat.

    Weights that lie side by side are gathered directly. In other tables every number is a sum over its column, with
    share 1 for the selected row.
    """
    rows, step = len(table), prod(table.shape[1:])
    if tracing.active() is None:
        return _known_row(table, rows, index)
    flat = bare(table).reshape(rows, step)
    row = neighbours(flat.ravel().tolist())
    if row is not None:
        return [Gathered(row.block, row.start + k, rows, step, index) for k in range(step)]
    ge, lt = functions.function("ge"), functions.function("lt")
    meant = [functions.mul(ge(index, float(k)), lt(index, float(k + 1))) for k in range(rows)]
    return [dot(column, meant) for column in bare(objects(flat)).T.tolist()]


def _known_row(table: Array, rows: int, index: Value) -> list[Any]:
    number = index.data
    if not (0 <= number < rows and number == int(number)):
        raise OutOfRangeError(f"no row {number:g}; an id must be a whole number from 0 to {rows - 1}")
    return [as_value(x) for x in bare(table)[int(number) : int(number) + 1].ravel().tolist()]


JOINED: dict[str, tuple[str, Any]] = {
    "add": ("add", np.add),
    "mul": ("mul", np.multiply),
    "max": ("maximum", np.maximum),
    "min": ("minimum", np.minimum),
}
"""How a new number joins the old one; with "none" it replaces it."""


@operator("ScatterElements", "ScatterND")
def scatter(call: OperatorCall) -> list[Array]:
    """Replace or join numbers, or parts given by their first indices, one after the other.

    `ScatterElements`: each update goes to the index along the axis that stands at its place.
    """
    (x, updates), indices = alike(call.input(0), call.input(2)), call.numbers(1, "the indices")
    parts, how = call.node.operator == "ScatterND", call.attribute("reduction", "none")
    if how != "none" and how not in JOINED:
        raise call.wrong(f"unknown reduction {how!r}; allowed: none, add, mul, max, min")
    axis = axis_of(call.attribute("axis", 0), x.ndim)
    indices = indices if parts else places_of(call, indices, x.shape[axis])
    outer = indices.shape[:-1] if parts else indices.shape
    check_size(outer, computed=True)  # updates are applied one by one
    found, numbers = bare(x).copy(), bare(updates)
    for at in np.ndindex(*outer):
        place = tuple(indices[at].tolist()) if parts else (*at[:axis], int(indices[at]), *at[axis + 1 :])
        now = numbers[at]
        if how != "none":
            now = bare(either(*JOINED[how], dressed(np.asarray(found[place])), dressed(np.asarray(now))))
            now = now if now.ndim else now[()]
        found[place] = now
    return [dressed(found)]


BORDERS: tuple[Literal["edge"], Literal["reflect"], Literal["wrap"]] = ("edge", "reflect", "wrap")
"""Modes of a border made from the array itself."""


@operator("Concat")
def concat(call: OperatorCall) -> list[Array]:
    """Join arrays along an axis."""
    parts = alike(*call.all())
    axis = axis_of(call.attribute("axis", 1), parts[0].ndim)
    check_size((sum(x.size for x in parts),), any_values(*parts))
    return [dressed(np.concatenate([bare(x) for x in parts], axis))]


@operator("Split")
def split(call: OperatorCall) -> list[Array]:
    """Split an array along an axis: into the given sizes, else as equal as possible, the last one smaller."""
    x, count = call.input(0), len(call.node.outputs)
    axis = axis_of(call.attribute("axis", 0), x.ndim)
    side = x.shape[axis]
    sizes = call.listed("split") if call.version < 13 else call.row(1, "the sizes")
    if sizes is None:
        count = call.attribute("num_outputs", count)
        if not 1 <= count <= max(side, len(call.node.outputs)):
            raise call.wrong(f"axis {axis} of length {side} cannot be split into {shown(count)} parts")
        largest = -(-side // count)
        sizes = [max(0, min(largest, side - k * largest)) for k in range(count)]
    if sum(sizes) != side or min(sizes) < 0 or len(sizes) < len(call.node.outputs):
        raise call.wrong(f"the sizes {shown(sizes)} do not add up to {side}, the length of axis {axis}")
    return list(np.split(x, list(accumulate(sizes))[:-1], axis))


@operator("Slice")
def cut(call: OperatorCall) -> list[Array]:
    """Slice an array along some axes."""
    x, old, steps = call.input(0), call.version < 10, None if call.version < 10 else call.row(4, "the steps")
    starts = call.listed("starts") if old else call.integers(1, "the starts")
    ends = call.listed("ends") if old else call.integers(2, "the ends")
    axes = call.listed("axes") if old else call.row(3, "the axes")
    axes = list(range(len(starts))) if axes is None else [axis_of(a, x.ndim) for a in axes]
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        said = f"starts {shown(starts)}, ends {shown(ends)}, axes {shown(axes)}, steps {shown(steps)}"
        raise call.wrong(f"{said} are not a slice of {x.shape}")
    index: list[Any] = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        index[axis] = _span(start, end, step, x.shape[axis])
    return [x[(*index, ...)]]


def _span(start: int, end: int, step: int, side: int) -> slice:
    """Return the slice by the standard's rules: bounds are clamped; going down, an end before index 0 includes it."""
    lowest, highest = (0, side) if step > 0 else (-1, side - 1)
    first = min(max(start + side if start < 0 else start, 0), highest)
    last = min(max(end + side if end < 0 else end, lowest), highest)
    return slice(first, None if last < 0 else last, step)


def places_of(call: OperatorCall, indices: Array, side: int) -> Array:
    """Return indices counted from the front."""
    if indices.dtype.kind not in "iu":
        raise call.wrong("its indices are not whole numbers")
    if indices.size and (indices.min() < -side or indices.max() >= side):
        raise call.wrong(f"an index is not in {-side} .. {side - 1}")
    return np.where(indices < 0, indices + side, indices)


@operator("Gather")
def gather(call: OperatorCall) -> list[Array]:
    """Return the items at some indices along an axis."""
    x, indices = call.input(0), call.input(1)
    axis = axis_of(call.attribute("axis", 0), x.ndim)
    if indices.dtype == object:
        return [_chosen(call, x, indices, axis)]
    check_size([*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]], any_values(x))
    return [np.take(x, places_of(call, indices, x.shape[axis]), axis)]


def _chosen(call: OperatorCall, table: Array, indices: Array, axis: int) -> Array:
    """Return rows of a table along an axis, selected by computed numbers that count from 0."""
    if not table.ndim:
        raise call.wrong("it picks rows from a single number, which has no rows")
    turned = dressed(np.moveaxis(bare(table), axis, 0))
    found = [x for index in bare(indices).ravel().tolist() for x in chosen_row(turned, index)]
    places, shaped = [*range(indices.ndim)], values(found, (*indices.shape, *turned.shape[1:]))
    return dressed(np.moveaxis(bare(shaped), places, [axis + k for k in places]))


@operator("GatherElements")
def gather_elements(call: OperatorCall) -> list[Array]:
    """Return at each place the number at that index along the axis."""
    x, indices = call.input(0), call.numbers(1, "the indices")
    axis = axis_of(call.attribute("axis", 0), x.ndim)
    check_size(indices.shape, any_values(x))
    return [dressed(np.take_along_axis(bare(x), places_of(call, indices, x.shape[axis]), axis))]


@operator("GatherND")
def gather_nd(call: OperatorCall) -> list[Array]:
    """Return the parts given by their first indices; the first `batch_dims` axes are matched."""
    x, indices, batch = call.input(0), call.numbers(1, "the indices"), int(call.attribute("batch_dims", 0))
    depth = indices.shape[-1]
    check_size([*indices.shape[:-1], *x.shape[batch + depth :]], any_values(x))
    outer = indices.shape[:batch]
    flat = bare(x).reshape(-1, *x.shape[batch:])
    rows = indices.reshape(len(flat), -1, depth)
    found = np.stack([part[tuple(row.T)] for part, row in zip(flat, rows, strict=True)])
    return [dressed(found.reshape(*outer, *indices.shape[batch:-1], *x.shape[batch + depth :]))]


@operator("Pad")
def pad(call: OperatorCall) -> list[Array]:
    """Return the array with a border: of a constant, or made from the array itself."""
    x, mode = call.input(0), call.attribute("mode", "constant")
    widths = call.listed("pads") if call.version < 11 else call.integers(1, "the widths")
    axes = [axis_of(a, x.ndim) for a in call.row(3, "the axes", range(x.ndim))]
    if len(widths) != 2 * len(axes):
        raise call.wrong(f"{len(widths)} widths for {len(axes)} axes; give one before and one after each axis")
    border = [(0, 0)] * x.ndim
    for k, axis in enumerate(axes):
        border[axis] = (widths[k], widths[k + len(axes)])
    if mode != "constant":
        if mode not in BORDERS:
            raise call.wrong(f"unknown mode {shown(mode)}; allowed: {listing(BORDERS)}, constant")
        return [dressed(padded(x, border, mode=mode))]
    given = call.optional(2) if call.version >= 11 else None
    fill = np.asarray(call.attribute("value", 0.0)) if given is None else given
    inner, fill = alike(x, fill if any_values(fill, x) else fill.astype(x.dtype))
    return [dressed(padded(inner, border, constant_values=bare(fill).reshape(())[()]))]


@operator("DepthToSpace", "SpaceToDepth")
def blocks(call: OperatorCall) -> list[Array]:
    """Return channels as blocks of the picture, or blocks of the picture as channels."""
    x, side = call.input(0), int(call.attribute("blocksize", 1))
    (n, c, h, w), by_depth = x.shape, call.attribute("mode", "DCR") == "DCR"
    if call.node.operator == "SpaceToDepth":
        parts = x.reshape(n, c, h // side, side, w // side, side)
        parts = parts.transpose((0, 3, 5, 1, 2, 4) if by_depth else (0, 1, 3, 5, 2, 4))
        return [parts.reshape(n, c * side**2, h // side, w // side)]
    split = (side, side, c // side**2) if by_depth else (c // side**2, side, side)
    parts = x.reshape(n, *split, h, w).transpose((0, 3, 4, 1, 5, 2) if by_depth else (0, 1, 4, 2, 5, 3))
    return [parts.reshape(n, c // side**2, h * side, w * side)]


@operator("Trilu")
def triangle(call: OperatorCall) -> list[Array]:
    """Return the upper or the lower triangle of matrices, with 0 elsewhere."""
    x, k = call.input(0), call.row(1, "the diagonal", [0])[0]
    rows, columns = x.shape[-2:]
    upper = bool(call.attribute("upper", 1))
    inside = np.tri(rows, columns, k - upper, dtype=bool) != upper
    zero = bare(objects(np.zeros(()))) if x.dtype == object else np.zeros((), x.dtype)
    return [dressed(np.where(inside, bare(x), zero))]
