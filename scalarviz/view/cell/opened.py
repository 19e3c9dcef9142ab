"""Rows of activations that are cubes, inside of an opened step: what is not there yet, and deltas on the way back.

The window does the same by `view/micro/inside.py`, a page of a recording by ``js/walks.js``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..cubes.atlas import DEAD, NOT_COMPUTED

if TYPE_CHECKING:
    from ..micro.inside import Inside


def put_rows(
    inside: Inside, document: Mapping[str, Any], texels: NDArray[np.float32], flags: NDArray[np.uint8]
) -> None:
    """Write rows into the numbers and marks of a frame, both (texels,), in place.

    Parameters
    ----------
    inside : Inside
        Of the workbench; nothing happens where no step is open.
    document : mapping
        Of :func:`~scalarviz.view.browser.document.document_of`.
    texels, flags : ndarray
        What :func:`~scalarviz.view.browser.document.texels_of` and `flags_of` gave.
    """
    if inside.told is None:
        return
    deltas = inside.row_deltas() if inside.backward else {}
    for plate in document["plates"]:
        if plate["kind"] != "activation":
            continue
        name, span = plate["name"], slice(plate["texel"], plate["texel"] + plate["size"])
        row = np.ravel(deltas[name]) if name in deltas else None
        if inside.backward:
            there = np.zeros(plate["size"], bool) if row is None else ~np.isnan(row)
            flags[span] &= 255 - DEAD
        else:
            there = np.ravel(inside.told.reached[name])
        if row is not None:
            texels[span] = np.where(there, row, 0.0)
        flags[span] |= np.where(there, 0, NOT_COMPUTED).astype(np.uint8)


def rows_told(inside: Inside, document: Mapping[str, Any]) -> dict[str, Any] | None:
    """What goes with such a frame: the range of the deltas, and which numbers beside the cubes are there; else None."""
    if inside.told is None:
        return None
    scale, single = inside.delta_range, document["words"]["single"]
    names = (single["sums"], single["last"], "input") if single else ()
    reached = {name: np.ravel(inside.told.reached[name]).tolist() for name in names if name in inside.told.reached}
    return {
        "range": None if scale is None else {"low": scale.low, "high": scale.high, "scale": scale.scale},
        "reached": reached,
        "cubes": [plate["name"] for plate in document["plates"] if plate["kind"] == "activation"],
    }
