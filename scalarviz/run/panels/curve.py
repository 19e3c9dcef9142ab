"""The loss curve, and the data of a second one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import flag, real_array, text
from ...errors import InputError, TypeMismatchError, shown
from .base import Panel

Float = NDArray[np.floating]


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


@dataclass(frozen=True, slots=True, eq=False)
class LossCurve(Panel):
    """The loss of every step so far. In the column it takes the room that the others leave.

    Attributes
    ----------
    label : str
        What it is measured on ("1,024 colours").
    test : TestCurve or None
        A second curve.
    """

    label: str = "batch"
    test: TestCurve | None = None

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        text(self.label, "LossCurve: the label")
        test: Any = self.test
        if test is not None and not isinstance(test, TestCurve):
            raise TypeMismatchError(f"LossCurve: test is a TestCurve or None, got {type(test).__name__} {shown(test)}")
