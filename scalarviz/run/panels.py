"""What stands beside the cubes, as plain descriptions: a scene lists them, a view draws each by a drawer of its kind.

A kind of your own is a subclass of :class:`Panel` and a drawer that is registered for it
(``scalarviz.view.register_panel``); for most wishes an :class:`Image` or a :class:`Table` will do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError, shown
from .moment import Moment

Float = NDArray[np.floating]
Rows = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Beside:
    """A place beside one stage of the network; it moves with the cubes.

    Attributes
    ----------
    stage : str
        Name of the stage (``"2"``); ``"input"`` is the sample itself.
    unit : int or None
        Number of the output beside which it stands; None: beside the whole row.
    """

    stage: str
    unit: int | None = None


Place = Literal["column", "overlay"] | Beside
PLACES = ("column", "overlay")


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """The base of all kinds.

    Attributes
    ----------
    place : "column", "overlay" or Beside
        In the column beside the cubes, over the upper right corner of their scene, or beside a stage or a unit.
    """

    speaks_of: ClassVar[Literal["", "colours", "sheet"]] = ""
    """What a panel of this kind says about a sample: three numbers are a colour; it is a sheet with ink on it."""

    place: Place = "column"

    def __post_init__(self) -> None:
        given: Any = self.place
        if not isinstance(given, Beside) and not (isinstance(given, str) and given in PLACES):
            raise InputError(
                f'place of {type(self).__name__}: got {shown(given)}; allowed: "column", "overlay", or '
                'Beside("name of a stage", unit)'
            )


@dataclass(frozen=True, slots=True, eq=False)
class Pictures(Panel):
    """A picture before and as the target; the network's version is drawn between them.

    Attributes
    ----------
    source, target : ndarray, shape (H, W, 3)
        sRGB in 0..1. Same shape.
    label : str
        What the source is ("photo").
    """

    speaks_of = "colours"

    source: Float
    target: Float
    label: str = "photo"


@dataclass(frozen=True, slots=True, eq=False)
class ColourCube(Panel):
    """Sample colours drawn at their RGB place, painted with the network's output and with the target.

    In a window a click on a colour, then on its new target, teaches the network that.

    Attributes
    ----------
    inputs, targets : ndarray, shape (N, 3)
        sRGB in 0..1.
    """

    speaks_of = "colours"

    inputs: Float
    targets: Float


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
    """

    label: str
    inputs: Float
    targets: NDArray[np.number]
    accuracy: bool = False


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


@dataclass(frozen=True, slots=True, eq=False)
class Image(Panel):
    """A picture that a function of yours makes of every moment.

    Attributes
    ----------
    title : str
    paint : callable
        ``paint(moment) -> H x W x 3``, uint8 or floats in 0..1. If it raises, the error stands in the picture's place
        in one line and everything else goes on. It is called as often as a quarter of the time allows.
    note : str
        Stands to the right of the title.
    smooth : bool
        Whether enlarged pixels flow into each other.
    """

    title: str
    paint: Callable[[Moment], ArrayLike]
    note: str = ""
    smooth: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Table(Panel):
    """Rows of words.

    Attributes
    ----------
    title : str
    rows : sequence of rows, or callable
        A row is a sequence of str, all of one length; or ``rows(moment)`` makes them of every moment.
    heads : tuple of str
        One over each column; empty for none.
    """

    title: str
    rows: Rows | Callable[[Moment], Rows]
    heads: tuple[str, ...] = ()
