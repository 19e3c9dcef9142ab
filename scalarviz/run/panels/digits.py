"""Panels of tasks whose samples are handwritten digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import integer, real_array
from ...errors import InputError, shown
from .base import Panel

Float = NDArray[np.floating]


@dataclass(frozen=True, slots=True, eq=False)
class DigitBoard(Panel):
    """Digits that are not trained on, each in the column of the class that it is read as.

    Attributes
    ----------
    inputs : ndarray, shape (N, H * W)
        0 is paper, 1 is ink.
    labels : ndarray of int, shape (N,)
        The classes, 0 .. 9.
    side : (int, int)
        H and W.
    """

    inputs: Float
    labels: NDArray[np.integer]
    side: tuple[int, int]

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        high, wide = _side(self.side, "DigitBoard")
        inputs, labels = real_array(self.inputs, "DigitBoard: the inputs"), real_array(self.labels, "the labels")
        if labels.ndim != 1 or not len(labels) or inputs.shape != (len(labels), high * wide):
            raise InputError(
                f"DigitBoard of {high} x {wide} pixels: got shapes {inputs.shape} and {labels.shape}; allowed: "
                f"(N, {high * wide}) and (N,)"
            )
        if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() > 9:
            raise InputError(f"DigitBoard: labels are whole numbers 0 to 9, got {shown(labels)}")


@dataclass(frozen=True, slots=True, eq=False)
class DigitPad(Panel):
    """The one sample whose way is drawn as a sheet to draw on, and what it is read as.

    Attributes
    ----------
    side : (int, int)
        H and W of the sample's picture; 0 is paper, 1 is ink.
    """

    speaks_of = "sheet"

    side: tuple[int, int]

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        _side(self.side, "DigitPad")


def _side(given: Any, what: str) -> tuple[int, int]:
    """Rows and columns of a picture."""
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise InputError(f"{what}: side is (H, W), got {shown(given)}")
    return integer(f"{what}: H", given[0], 1), integer(f"{what}: W", given[1], 1)
