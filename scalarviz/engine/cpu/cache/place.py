"""The folder of the processor's kernels; see :class:`scalarviz.engine.cache.place.Place`. Loads no numba."""

from __future__ import annotations

from ...cache.place import Place
from .key import key

PLACE = Place(key)
folder, make_folder, closed, refusal = PLACE.folder, PLACE.make, PLACE.closed, PLACE.refusal
