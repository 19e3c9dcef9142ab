"""Arrays with some of their numbers replaced by others, at places that are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from .alike import Array, alike, axis_of, bare, both, dressed, room
from .pieces import places_of
from .table import Call, operator

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
