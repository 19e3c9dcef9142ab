"""The loss curve, and the data of a second one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import flag, function, real_array, text
from ...errors import InputError, TypeMismatchError, shown
from ..moment import Moment
from .base import Panel

Float = NDArray[np.floating]
Samples = tuple[Float, NDArray[np.number]]


@dataclass(frozen=True, slots=True, eq=False)
class TestCurve:
    """A second, dashed loss curve, measured on data that is not trained on.

    Attributes
    ----------
    label : str
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
        text(self.label, "TestCurve: the label")
        flag(self.accuracy, "TestCurve: accuracy")
        flag(self.headline, "TestCurve: headline")
        inputs, targets = real_array(self.inputs, "TestCurve: the inputs"), real_array(self.targets, "the targets")
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
class HeldBack:
    """The same of data that goes with what is learnt from: another one after an edit, the former one after undo.

    Attributes
    ----------
    label : str
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

    def __post_init__(self) -> None:
        text(self.label, "HeldBack: the label")
        flag(self.headline, "HeldBack: headline")
        function(self.samples, "HeldBack: samples")
        if self.right is not None:
            function(self.right, "HeldBack: right")

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

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        text(self.label, "LossCurve: the label")
        test: Any = self.test
        if test is not None and not isinstance(test, TestCurve | HeldBack):
            raise TypeMismatchError(f"LossCurve: test is a TestCurve or None, got {type(test).__name__} {shown(test)}")
