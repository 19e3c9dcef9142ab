"""`Sort`: what a network of the scene `playground` is to find at a point: one of two classes, of several, a number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scalarviz import nn


@dataclass(frozen=True, slots=True)
class Sort:
    """What is to be found at a point.

    Attributes
    ----------
    classes : tuple of str
        Their names; none: a number.
    """

    classes: tuple[str, ...] = ()

    @property
    def outputs(self) -> int:
        """Numbers that the network gives: one; of more than two classes one each."""
        return len(self.classes) if len(self.classes) > 2 else 1

    @property
    def kind(self) -> int:
        """0 for numbers, else the number of classes: networks for one kind are alike, whatever the classes' names."""
        return len(self.classes)

    def loss(self) -> Callable[..., Any]:
        """Half of the squared error; of more than two classes the cross-entropy of the softmax."""
        return nn.CrossEntropyLoss() if self.outputs > 1 else nn.MSELoss(factor=0.5)

    def right(self, outputs: NDArray[Any], targets: NDArray[Any]) -> NDArray[np.bool_] | None:
        """Whether each sample is told rightly, of outputs (N, n) and targets (N, 1); None of numbers."""
        if not self.classes:
            return None
        if self.outputs > 1:
            return np.asarray(outputs.argmax(axis=1) == targets[:, 0])
        return np.asarray((outputs[:, 0] > 0) == (targets[:, 0] > 0))
