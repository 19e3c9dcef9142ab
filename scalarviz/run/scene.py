"""`Scene`: the description that a view shows. Data only; no drawing, no training logic."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .run import Run

Float = NDArray[np.floating]

SIDES = (160, 8192)
"""Fewest and most pixels of a picture's side: less shows nothing, a framebuffer holds no more."""


@dataclass(frozen=True, slots=True)
class Pictures:
    """A picture before and as the target; the network's version is drawn between them.

    Attributes
    ----------
    source, target : ndarray, shape (H, W, 3)
        sRGB in 0..1. Same shape.
    label : str
        What the source is ("photo").
    """

    source: Float
    target: Float
    label: str = "photo"


@dataclass(frozen=True, slots=True)
class ColourCube:
    """Sample colours drawn at their RGB place, painted with the network's output and with the target.

    Attributes
    ----------
    inputs, targets : ndarray, shape (N, 3)
        sRGB in 0..1.
    """

    inputs: Float
    targets: Float


@dataclass(frozen=True, slots=True)
class TestCurve:
    """A second, dashed loss curve, measured on data that is not trained on.

    Attributes
    ----------
    label : str
    inputs, targets : ndarray
        As for ``Run.evaluate``.
    accuracy : bool
        The targets are numbers of classes: the share that is read rightly stands beside the curve.
    """

    label: str
    inputs: Float
    targets: NDArray[np.number]
    accuracy: bool = False


@dataclass(frozen=True, slots=True)
class DigitBoard:
    """Digits that are not trained on; the picture lets them stand in the column of the class that they are read as.

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


@dataclass(slots=True)
class Scene:
    """Data + network + loss + optimiser (all in `run`) + what to show.

    Attributes
    ----------
    name : str
        As on the command line.
    run : Run
        What trains.
    probe, probe_target : ndarray or None
        The one sample whose way through the network is drawn, and its target, shapes (n_in,) and (n_targets,).
        Without a probe it is the first sample of the data, with its target.
    input_names, output_names : tuple of str
        One name an input (``("r", "g", "b")``), one an output.
    curve_label : str
        What the solid loss curve is measured on ("1,024 colours").
    pictures, colour_cube, test, digits : optional panels
        None leaves the panel out.
    """

    name: str
    run: Run
    probe: Float | None = None
    probe_target: Float | None = None
    input_names: tuple[str, ...] = ()
    output_names: tuple[str, ...] = ()
    curve_label: str = "batch"
    pictures: Pictures | None = None
    colour_cube: ColourCube | None = None
    test: TestCurve | None = None
    digits: DigitBoard | None = None
    notes: list[str] = field(default_factory=list)
