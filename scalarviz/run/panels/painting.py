"""A picture that is painted by a network which is told places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import function, integer, real_array
from ...errors import InputError, shown
from ..moment import Moment
from .base import Panel

if TYPE_CHECKING:
    from ..edits import Edit

Float = NDArray[np.floating]


@dataclass(frozen=True, slots=True, eq=False)
class Painting(Panel):
    """What a network makes of every place of a picture, what it should make, and the error.

    The network is given (x, y) of the middle of a pixel, in 0..1 from the upper left corner, and makes its colour.

    Attributes
    ----------
    wanted : callable
        ``wanted(moment) -> (H, W, 3)``, sRGB in 0..1: what is to be painted. The same array as long as it is the same.
    size : (int, int)
        H and W at first: for them room is asked.
    gain : float
        How many times the error is enlarged around mid-grey.
    other : callable or None
        ``other(picture) -> Edit`` to learn another picture (H, W, 3), sRGB in 0..1, that was opened; None: it cannot.
    epochs : callable or None
        ``epochs(moment) -> float``: how often the run had been through the picture; None: nobody says.
    """

    wanted: Callable[[Moment], Float]
    size: tuple[int, int]
    gain: float = 10.0
    other: Callable[[Float], Edit] | None = None
    epochs: Callable[[Moment], float] | None = None

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        function(self.wanted, "Painting: wanted")
        size, gain = self.size, self.gain  # type: Any, Any
        if not isinstance(size, tuple | list) or len(size) != 2:
            raise InputError(f"Painting: size is (H, W), got {shown(size)}")
        for side, number in zip("HW", size, strict=True):
            integer(f"Painting: {side}", number, 1)
        if not isinstance(gain, int | float) or not 0 < gain < float("inf"):
            raise InputError(f"Painting: gain must be a finite number > 0, got {shown(gain)}")
        for what in ("other", "epochs"):
            if getattr(self, what) is not None:
                function(getattr(self, what), f"Painting: {what}")


def psnr(painted: ArrayLike, wanted: ArrayLike) -> float:
    """Peak signal-to-noise ratio in dB of colours in 0..1 against others of the same shape.

    Infinite where they are the same, NaN where one is no number.

    Raises
    ------
    InputError
        Of different shapes, or no colours at all.
    """
    ours, theirs = (real_array(a, what) for a, what in ((painted, "psnr: the first"), (wanted, "psnr: the second")))
    if ours.shape != theirs.shape or not ours.size:
        raise InputError(f"psnr: got shapes {ours.shape} and {theirs.shape}; allowed: the same, with numbers in them")
    error = float(np.mean(np.square(_wide(ours) - _wide(theirs))))
    return float("inf") if error == 0 else -10.0 * float(np.log10(error))


def _wide(colours: NDArray[Any]) -> NDArray[np.float64]:
    return colours.astype(np.float64)
