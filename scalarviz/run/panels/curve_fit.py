"""Points of one input with a number each, and what a network says of every input as a curve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import function, text
from ...errors import TypeMismatchError, shown
from ..moment import Moment
from .base import Panel
from .plane import Axis, Points

Float = NDArray[np.floating]


@dataclass(frozen=True, slots=True, eq=False)
class CurveFit(Panel):
    """The curve of a network of one input over the points that it learns from, at the moment that is shown.

    In a window a click on a point shows its way through the network.

    Attributes
    ----------
    title : str
    across, up : Axis
        Of the input, and of what is to be found.
    inputs : callable
        ``inputs(numbers) -> samples``: what the network gets, (N, n_inputs), for numbers of the input (N,).
    points : callable
        ``points(moment) -> Points``: the first number of each place is its input, its target what is to be found there.

    Raises
    ------
    InputError, TypeMismatchError
        For any of them; the message says what is allowed.
    """

    title: str
    across: Axis
    up: Axis
    inputs: Callable[[Float], Float]
    points: Callable[[Moment], Points]

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        text(self.title, "CurveFit: the title")
        for what, axis in (("across", self.across), ("up", self.up)):
            given: Any = axis
            if not isinstance(given, Axis):
                raise TypeMismatchError(f'CurveFit: {what} is an Axis, got {shown(given)}; try Axis("x", -1.0, 1.0)')
        function(self.inputs, "CurveFit: inputs")
        function(self.points, "CurveFit: points")
