"""Where the chips of a single layer's outputs stand, seen from the end of their row of cubes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Offsets:
    """Centres of the chips right of a row's anchor, and their widths."""

    sum: float
    output: float
    target: float
    sum_width: float
    width: float


class Rows(NamedTuple):
    """Where the chips of each output are, in logical pixels.

    Attributes
    ----------
    anchors : ndarray, shape (R, 2)
        Where each row's chips start.
    at : Offsets
        From there to their middles.
    columns : tuple of str
        Those that there are; empty for none.
    """

    anchors: Floats
    at: Offsets
    columns: tuple[str, ...]


WIDE = Offsets(56.0, 140.0, 200.0, 60.0, 50.0)
TIGHT = Offsets(47.0, 118.0, 168.0, 58.0, 46.0)
