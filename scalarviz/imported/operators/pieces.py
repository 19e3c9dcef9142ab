"""Parts of arrays, arrays joined, numbers replaced at known places, and rows chosen by a computed number."""

from __future__ import annotations

from itertools import accumulate
from math import prod
from typing import Any, Literal

import numpy as np

from ...errors import OutOfRangeError, listing, shown
from ...scalar import Value, dot, functions, tracing
from ...scalar.functions import Gathered
from ...scalar.value import as_value
from .alike import Array, alike, axis_of, bare, both, dressed, made, objects, room
from .products import neighbours
from .table import Call, operator


def chosen_row(table: Array, index: Value) -> list[Any]:
    """The numbers of ``table[index]``, flat.

    Weights that lie side by side are read at the place itself. Of other tables every number is a sum over its column,
    with the share 1 for the row that is meant.

    Raises
    ------
    OutOfRangeError
        The number is known, and none of the rows.
    """
    rows, step = len(table), prod(table.shape[1:])
    if tracing.active() is None:
        return _known_row(table, rows, index)
    flat = bare(table).reshape(rows, step)
    row = neighbours(flat.ravel().tolist())
    if row is not None:
        return [Gathered(row.block, row.start + k, rows, step, index) for k in range(step)]
    shares = [functions.mul(_compare("ge", index, k), _compare("lt", index, k + 1)) for k in range(rows)]
    columns = bare(objects(flat)).T.tolist()
    return [dot(column, shares) for column in columns]


def _compare(name: str, index: Value, number: int) -> Value:
    return functions.function(name)(index, float(number))


def _known_row(table: Array, rows: int, index: Value) -> list[Any]:
    number = index.data
    if not (0 <= number < rows and number == int(number)):
        raise OutOfRangeError(f"there is no row {number:g} in a table of {rows}; an id is a whole number from 0")
    at = int(number)
    return [as_value(x) for x in bare(table)[at : at + 1].ravel().tolist()]


JOINED: dict[str, tuple[str, Any]] = {
    "add": ("add", np.add),
    "mul": ("mul", np.multiply),
    "max": ("maximum", np.maximum),
    "min": ("minimum", np.minimum),
}
"""What becomes of the number that is there and the one that comes; "none": it is replaced."""


def _put(call: Call, found: Array, place: Any, number: Any) -> None:
    how = call.attribute("reduction", "none")
    if how == "none":
        found[place] = number
        return
    if how not in JOINED:
        raise call.wrong(f"the reduction {how!r}; none, add, mul, max and min are known")
    before = np.asarray(found[place])
    now = bare(both(*JOINED[how], dressed(before), dressed(np.asarray(number))))
    found[place] = now if now.ndim else now[()]


@operator("ScatterND")
def scatter_nd(call: Call) -> list[Array]:
    """Parts whose first indices are given are replaced, or joined, one after the other."""
    x, updates = alike(call.input(0), call.input(2))
    indices = call.numbers(1, "the indices")
    room(indices.shape[:-1], computed=True)  # they are gone through one by one
    found, numbers = bare(x).copy(), bare(updates)
    for at in np.ndindex(*indices.shape[:-1]):
        _put(call, found, tuple(indices[at].tolist()), numbers[at])
    return [dressed(found)]


@operator("ScatterElements")
def scatter_elements(call: Call) -> list[Array]:
    """At each place of the updates the number goes to where the index along the axis says."""
    x, updates = alike(call.input(0), call.input(2))
    axis = axis_of(call.attribute("axis", 0), x.ndim)
    indices = places_of(call, call.numbers(1, "the indices"), x.shape[axis])
    room(indices.shape, computed=True)
    found, numbers = bare(x).copy(), bare(updates)
    for at in np.ndindex(*indices.shape):
        place = (*at[:axis], int(indices[at]), *at[axis + 1 :])
        _put(call, found, place, numbers[at])
    return [dressed(found)]


BORDERS: tuple[Literal["edge"], Literal["reflect"], Literal["wrap"]] = ("edge", "reflect", "wrap")
"""Of what is inside."""


@operator("Concat")
def concat(call: Call) -> list[Array]:
    """One behind the other along an axis."""
    parts = alike(*[call.input(k) for k in range(max(len(call.inputs), 1))])
    axis = axis_of(call.attribute("axis", 1), parts[0].ndim)
    room((sum(x.size for x in parts),), made(*parts))
    return [dressed(np.concatenate([bare(x) for x in parts], axis))]


@operator("Split")
def split(call: Call) -> list[Array]:
    """Parts along an axis: of the sizes that are given, else as equal as may be, the last one smaller."""
    x, count = call.input(0), len(call.node.outputs)
    axis = axis_of(call.attribute("axis", 0), x.ndim)
    side = x.shape[axis]
    if call.version < 13:
        sizes = call.listed("split")
    else:
        sizes = call.whole(1, "the sizes") if call.given(1) else None
    if sizes is None:
        count = call.attribute("num_outputs", count)
        if not 1 <= count <= max(side, len(call.node.outputs)):
            raise call.wrong(f"{shown(count)} parts of the {side} numbers along axis {axis}")
        largest = -(-side // count)
        sizes = [max(0, min(largest, side - k * largest)) for k in range(count)]
    if sum(sizes) != side or min(sizes) < 0 or len(sizes) < len(call.node.outputs):
        raise call.wrong(f"the sizes {shown(sizes)} do not make the {side} numbers along axis {axis}")
    return list(np.split(x, list(accumulate(sizes))[:-1], axis))


@operator("Slice")
def cut(call: Call) -> list[Array]:
    """From here to there, along some axes."""
    x = call.input(0)
    if call.version < 10:
        starts, ends, axes, steps = call.listed("starts"), call.listed("ends"), call.listed("axes"), None
    else:
        starts, ends = call.whole(1, "the starts"), call.whole(2, "the ends")
        axes = call.whole(3, "the axes") if call.given(3) else None
        steps = call.whole(4, "the steps") if call.given(4) else None
    axes = list(range(len(starts))) if axes is None else [axis_of(a, x.ndim) for a in axes]
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        said = f"starts {shown(starts)}, ends {shown(ends)}, axes {shown(axes)}, steps {shown(steps)}"
        raise call.wrong(f"{said} are no slice of {x.shape}")
    index: list[Any] = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        index[axis] = _span(start, end, step, x.shape[axis])
    return [x[(*index, ...)]]


def _span(start: int, end: int, step: int, side: int) -> slice:
    """The standard's: bounds beyond the side mean the side; going down, an end before the first takes that too."""
    lowest, highest = (0, side) if step > 0 else (-1, side - 1)
    first = min(max(start + side if start < 0 else start, 0), highest)
    last = min(max(end + side if end < 0 else end, lowest), highest)
    return slice(first, None if last < 0 else last, step)


def places_of(call: Call, indices: Array, side: int) -> Array:
    """Indices counted from the front.

    Raises
    ------
    InputError
        One of them is outside.
    """
    if indices.dtype.kind not in "iu":
        raise call.wrong("its indices are no whole numbers")
    if indices.size and (indices.min() < -side or indices.max() >= side):
        raise call.wrong(f"an index is outside of {-side} .. {side - 1}")
    return np.where(indices < 0, indices + side, indices)


@operator("Gather")
def gather(call: Call) -> list[Array]:
    """What stands at some places along an axis."""
    x, indices = call.input(0), call.input(1)
    axis = axis_of(call.attribute("axis", 0), x.ndim)
    if indices.dtype == object:
        return [_chosen(call, x, indices, axis)]
    room([*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]], made(x))
    return [np.take(x, places_of(call, indices, x.shape[axis]), axis)]


def _chosen(call: Call, table: Array, indices: Array, axis: int) -> Array:
    """Rows of a table along an axis that numbers of the graph choose, counted from 0."""
    if not table.ndim:
        raise call.wrong("it chooses of a single number, which has no rows")
    turned = dressed(np.moveaxis(bare(table), axis, 0))
    rows = [chosen_row(turned, index) for index in bare(indices).ravel().tolist()]
    found = np.empty((len(rows), prod(turned.shape[1:])), object)
    for k, row in enumerate(rows):
        found[k] = row
    shaped = found.reshape(*indices.shape, *turned.shape[1:])
    places = [*range(indices.ndim)]
    return dressed(np.moveaxis(shaped, places, [axis + k for k in places]))


@operator("GatherElements")
def gather_elements(call: Call) -> list[Array]:
    """At each place the number along the axis that the index there says."""
    x, indices = call.input(0), call.numbers(1, "the indices")
    axis = axis_of(call.attribute("axis", 0), x.ndim)
    room(indices.shape, made(x))
    return [dressed(np.take_along_axis(bare(x), places_of(call, indices, x.shape[axis]), axis))]


@operator("GatherND")
def gather_nd(call: Call) -> list[Array]:
    """Parts whose first indices are given; the first `batch_dims` axes are gone through together."""
    x, indices, batch = call.input(0), call.numbers(1, "the indices"), int(call.attribute("batch_dims", 0))
    depth = indices.shape[-1]
    room([*indices.shape[:-1], *x.shape[batch + depth :]], made(x))
    outer = indices.shape[:batch]
    flat = bare(x).reshape(-1, *x.shape[batch:])
    rows = indices.reshape(len(flat), -1, depth)
    found = np.stack([part[tuple(row.T)] for part, row in zip(flat, rows, strict=True)])
    return [dressed(found.reshape(*outer, *indices.shape[batch:-1], *x.shape[batch + depth :]))]


@operator("Pad")
def pad(call: Call) -> list[Array]:
    """A border: of a constant, or of what is inside."""
    x, mode = call.input(0), call.attribute("mode", "constant")
    widths = call.listed("pads") if call.version < 11 else call.whole(1, "the widths")
    axes = [axis_of(a, x.ndim) for a in call.whole(3, "the axes")] if call.given(3) else list(range(x.ndim))
    if len(widths) != 2 * len(axes):
        raise call.wrong(f"{len(widths)} widths for {len(axes)} axes; it takes one before and one behind each")
    border = [(0, 0)] * x.ndim
    for k, axis in enumerate(axes):
        border[axis] = (widths[k], widths[k + len(axes)])
    inside: list[Any] = [slice(max(0, -a), side - max(0, -b)) for (a, b), side in zip(border, x.shape, strict=True)]
    inner = x[(*inside, ...)]
    outer = [(max(0, a), max(0, b)) for a, b in border]
    room([side + a + b for side, (a, b) in zip(inner.shape, outer, strict=True)])
    if mode != "constant":
        if mode not in BORDERS:
            raise call.wrong(f"the mode {shown(mode)}; {listing(BORDERS)} and constant are known")
        return [dressed(np.pad(bare(inner), outer, mode=mode))]
    fill = call.input(2) if call.given(2) and call.version >= 11 else np.asarray(call.attribute("value", 0.0))
    inner, fill = alike(inner, fill if fill.dtype == object or x.dtype == object else fill.astype(x.dtype))
    return [dressed(np.pad(bare(inner), outer, constant_values=bare(fill).reshape(())[()]))]


@operator("DepthToSpace")
def depth_to_space(call: Call) -> list[Array]:
    """Channels as blocks of the picture."""
    x, side = call.input(0), int(call.attribute("blocksize", 1))
    n, c, h, w = x.shape
    if call.attribute("mode", "DCR") == "DCR":
        parts = x.reshape(n, side, side, c // side**2, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = x.reshape(n, c // side**2, side, side, h, w).transpose(0, 1, 4, 2, 5, 3)
    return [parts.reshape(n, c // side**2, h * side, w * side)]


@operator("SpaceToDepth")
def space_to_depth(call: Call) -> list[Array]:
    """Blocks of the picture as channels."""
    x, side = call.input(0), int(call.attribute("blocksize", 1))
    n, c, h, w = x.shape
    parts = x.reshape(n, c, h // side, side, w // side, side)
    if call.attribute("mode", "DCR") == "DCR":
        parts = parts.transpose(0, 3, 5, 1, 2, 4)
    else:
        parts = parts.transpose(0, 1, 3, 5, 2, 4)
    return [parts.reshape(n, c * side**2, h // side, w // side)]


@operator("Trilu")
def triangle(call: Call) -> list[Array]:
    """The upper or the lower triangle of matrices; 0 elsewhere."""
    x, k = call.input(0), call.whole(1, "the diagonal")[0] if call.given(1) else 0
    rows, columns = x.shape[-2:]
    upper = bool(call.attribute("upper", 1))
    inside = np.tri(rows, columns, k - upper, dtype=bool) != upper
    zero = bare(objects(np.zeros(()))) if x.dtype == object else np.zeros((), x.dtype)
    return [dressed(np.where(inside, bare(x), zero))]
