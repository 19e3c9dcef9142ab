"""Panels of tasks whose samples are colours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...checks import function, real_array, text
from ...errors import InputError
from .base import Panel

Float = NDArray[np.floating]


@dataclass(frozen=True, slots=True, eq=False)
class Pictures(Panel):
    """A picture before and as the target; the network's version is drawn between them.

    Attributes
    ----------
    source, target : ndarray, shape (H, W, 3)
        sRGB in 0..1. Same shape.
    label : str
        What the source is ("photo").
    target_of : callable or None
        The target (H, W, 3) of any picture (H, W, 3): with it a picture that is opened in the window can be shown
        instead.
    """

    speaks_of = "colours"

    source: Float
    target: Float
    label: str = "photo"
    target_of: Callable[[Float], Float] | None = None

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        text(self.label, "Pictures: the label")
        if self.target_of is not None:
            function(self.target_of, "Pictures: target_of")
        source, target = (
            real_array(self.source, "Pictures: the source"),
            real_array(self.target, "Pictures: the target"),
        )
        if source.ndim != 3 or source.shape[-1] != 3 or 0 in source.shape or source.shape != target.shape:
            raise InputError(
                f"Pictures: got shapes {source.shape} and {target.shape}; allowed: (H, W, 3), the same for both"
            )


@dataclass(frozen=True, slots=True, eq=False)
class ColourCube(Panel):
    """Sample colours drawn at their RGB place, painted with the network's output and with the target.

    In a window a click on a colour shows its way through the network; Shift and a click on one, then on its new target,
    teaches the network that.

    Attributes
    ----------
    inputs, targets : ndarray, shape (N, 3)
        sRGB in 0..1.
    """

    speaks_of = "colours"

    inputs: Float
    targets: Float

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        inputs, targets = real_array(self.inputs, "ColourCube: the inputs"), real_array(self.targets, "the targets")
        if inputs.ndim != 2 or inputs.shape[1] != 3 or not len(inputs) or inputs.shape != targets.shape:
            raise InputError(
                f"ColourCube: got shapes {inputs.shape} and {targets.shape}; allowed: (N, 3), the same for both"
            )
