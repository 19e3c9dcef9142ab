"""Weights that begin anew: what the initialisers of a run's model draw, with numbers of its seed and step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .gather import as_blocks, begun_buffers

if TYPE_CHECKING:
    from .run import Run

_ODD = 0x9E3779B97F4A7C15  # consecutive steps of one run share no numbers with those of the next seed


def redrawn(run: Run, start: int, count: int) -> NDArray[Any]:
    """Flat weights `start` to `start + count` as their initialiser would draw them, in the run's dtype.

    The same at the same step of the same run, and nothing is changed.

    Raises
    ------
    InputError
        Some of them belong to no module of the model, so that nobody says how they begin.
    """
    from ..nn import Module
    from ..nn.init import drawn

    found = np.full(count, np.nan)
    known = np.zeros(count, bool)
    seed = (run.seed + (run.steps + 1) * _ODD) % 2**64
    begun: dict[Any, Any] = drawn(run.model, seed) if isinstance(run.model, Module) else {}
    for part, values in (begun | begun_buffers(run._graph.blocks)).items():
        (block,) = as_blocks([part])
        offset = block.start + getattr(part, "_index", 0) - start
        low, high = max(offset, 0), min(offset + values.size, count)
        if low < high:
            found[low:high] = np.ravel(values)[low - offset : high - offset]
            known[low:high] = True
    if not known.all():
        name = run.weight_name(start + int(np.argmin(known)))
        raise InputError(f"{name} cannot begin anew: no module of the model says how its weights are drawn")
    return found.astype(run._stored)
