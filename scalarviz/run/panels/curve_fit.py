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
from .plane import Axis, PointEdits, Points, check_edits

Float = NDArray[np.floating]


def alone(numbers: Float) -> Float:
    """Numbers of the input (N,) as samples of one number each, (N, 1)."""
    return numbers[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class CurveFit(Panel):
    """The curve of a network of one input over the points that it learns from, at the moment that is shown.

    Between the curve and each of a few points stands its error. In a window a click on a point shows its way through
    the network; a click on an empty place adds a point and the right button takes one away, where the scene says how.

    Attributes
    ----------
    title : str
        Empty: the names of both axes.
    across, up : Axis or str
        Of the input, and of what is to be found; a name alone: an axis that is as long as the points need.
    inputs : callable
        ``inputs(numbers) -> samples``: what the network gets, (N, n_inputs), for numbers of the input (N,). Default:
        those numbers.
    points : callable or None
        ``points(moment) -> Points``: the first number of each place is its input, its target what is to be found there.
        None: the samples that are learnt from, of one number and one target each.
    edits : PointEdits or None
        What a hand may do with the points; the second number of a place is what is to be found there.

    Raises
    ------
    InputError, TypeMismatchError
        For any of them; the message says what is allowed.
    """

    title: str = ""
    across: Axis | str = "x"
    up: Axis | str = "y"
    inputs: Callable[[Float], Float] = alone
    points: Callable[[Moment], Points] | None = None
    edits: PointEdits | None = None

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        text(self.title, "CurveFit: the title")
        for what, axis in (("across", self.across), ("up", self.up)):
            given: Any = axis
            if not isinstance(given, Axis | str):
                raise TypeMismatchError(
                    f'CurveFit: {what} is an Axis or a name, got {shown(given)}; try Axis("x", -1.0, 1.0) or "x"'
                )
        function(self.inputs, "CurveFit: inputs")
        if self.points is not None:
            function(self.points, "CurveFit: points")
        check_edits(self, self.edits)
