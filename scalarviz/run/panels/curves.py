"""Curves: the loss over steps or over weights, a function of one input, how often numbers occur."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import integer
from ...errors import InputError, TypeMismatchError, shown
from ..source import Moment
from .base import Described, Panel, arrays_of, pair
from .maps import Axis, PointEdits, Points

Float = NDArray[np.floating]
Samples = tuple[Float, NDArray[np.number]]


@dataclass(frozen=True, slots=True, eq=False)
class TestCurve(Described):
    """A second, dashed loss curve, measured on data that is not trained on.

    Attributes
    ----------
    inputs, targets : ndarray
        As for ``Run.evaluate``.
    accuracy : bool
        The targets are numbers of classes: the share that is read rightly stands beside the curve.
    headline : bool
        Whether its newest number stands in the HUD too.
    """

    label: str
    inputs: Float
    targets: NDArray[np.number]
    accuracy: bool = False
    headline: bool = True

    def __post_init__(self) -> None:
        Described.__post_init__(self)
        inputs, targets = arrays_of(self, "inputs", "targets")
        if not inputs.ndim or not targets.ndim or len(inputs) != len(targets) or not len(inputs):
            raise InputError(f"TestCurve: got shapes {inputs.shape} and {targets.shape}; allowed: one target a sample")

    def of(self, moment: Moment) -> Samples:
        """The data of a moment: always the same."""
        return self.inputs, self.targets

    def share(self, moment: Moment) -> float | None:
        """Share of the samples that is read rightly at a moment, where there are classes."""
        if not self.accuracy:
            return None
        return float(np.mean(np.argmax(moment.predict(self.inputs), axis=1) == np.ravel(self.targets)))


@dataclass(frozen=True, slots=True, eq=False)
class HeldBack(Described):
    """The same of data that goes with what is learnt from: another one after an edit, the former one after undo.

    Attributes
    ----------
    samples : callable
        ``samples(moment) -> (inputs, targets)`` as for ``Run.evaluate``; of length 0 where nothing is held back.
    right : callable or None
        ``right(moment, outputs, targets)``: which are read rightly, bool (N,); None where there are no classes.
    headline : bool
        Whether that share, or the loss, stands in the first line of the picture too.
    """

    label: str
    samples: Callable[[Moment], Samples]
    right: Callable[[Moment, Float, NDArray[np.number]], NDArray[np.bool_] | None] | None = None
    headline: bool = True

    @property
    def accuracy(self) -> bool:
        """Whether there may be a share that is read rightly."""
        return self.right is not None

    def of(self, moment: Moment) -> Samples:
        """The data of a moment."""
        return self.samples(moment)

    def share(self, moment: Moment) -> float | None:
        """Share of the samples that is read rightly at a moment; None where there are none, or no classes."""
        inputs, targets = self.samples(moment)
        if self.right is None or not len(inputs):
            return None
        found = self.right(moment, moment.predict(inputs), targets)
        return None if found is None else float(np.mean(found))


@dataclass(frozen=True, slots=True, eq=False)
class LossCurve(Panel):
    """The loss of every step so far. In the column it takes the room that the others leave.

    Attributes
    ----------
    label : str
        What it is measured on ("1,024 colours").
    test : TestCurve, HeldBack or None
        A second curve.
    """

    label: str = "batch"
    test: TestCurve | HeldBack | None = None


# ---- Points of one input with a number each, and what a network says of every input as a curve


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
    """

    title: str = ""
    across: Axis | str = "x"
    up: Axis | str = "y"
    inputs: Callable[[Float], Float] = alone
    points: Callable[[Moment], Points] | None = None
    edits: PointEdits | None = None


@dataclass(frozen=True, slots=True)
class Histogram(Panel):
    """How often which numbers occur: of the tensor under the pointer or of the selected one, else of all.

    Attributes
    ----------
    label : str
        What all of them are called.
    """

    label: str = "all numbers"


# ---- Panels of the smallest networks: the loss over one weight or two, and the four calls of a step


Span = tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class LossOver(Panel):
    """The loss over one weight as a curve with the tangent, over two as a map with isolines; a ball is where they are.

    Nothing is modelled: the network's loss of all samples is worked out at each place, all other weights as they are.

    Attributes
    ----------
    weights : tuple of int
        Flat numbers of one weight or two.
    names : tuple of str
        What each is called.
    spans : tuple of (float, float)
        From where to where each is shown; farther where the ball leaves that.
    """

    weights: tuple[int, ...]
    names: tuple[str, ...]
    spans: tuple[Span, ...]
    title: str = "loss"

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        _check_weights(self, 2)
        spans: Any = self.spans
        if not isinstance(spans, tuple | list) or len(spans) != len(self.weights):
            raise InputError(f"LossOver: spans is one (low, high) a weight, got {shown(spans)}")
        for span in spans:
            pair(span, "LossOver: the ends of a span")


@dataclass(frozen=True, slots=True, eq=False)
class TrainingLoop(Panel):
    """The four calls of a training step, with their numbers; inside an opened step that which happens now.

    Attributes
    ----------
    weights : tuple of int
        Flat numbers of the weights whose values and gradients stand there, one to three.
    names : tuple of str
        What each is called.
    """

    weights: tuple[int, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        _check_weights(self, 3)


def _check_weights(panel: LossOver | TrainingLoop, most: int) -> None:
    """Refuse other weights than one to `most` flat numbers with a name each."""
    weights: Any = panel.weights
    kind = type(panel).__name__
    if not isinstance(weights, tuple | list) or not weights:
        raise TypeMismatchError(f"{kind}: weights is a tuple of flat numbers, got {shown(weights)}")
    for weight in weights:
        integer(f"{kind}: a weight", weight, 0)
    names = len(panel.names)
    if not len(weights) == names <= most:
        raise InputError(f"{kind}: got {len(weights)} weights and {names} names; allowed: 1 to {most} of each")
