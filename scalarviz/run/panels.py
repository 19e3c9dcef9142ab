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

from ..checks import flag, function, integer, real_array, text
from ..errors import InputError, TypeMismatchError, shown
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

    In a window a click on a colour, then on its new target, teaches the network that.

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

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        high, wide = _side(self.side, "DigitBoard")
        inputs, labels = real_array(self.inputs, "DigitBoard: the inputs"), real_array(self.labels, "the labels")
        if labels.ndim != 1 or not len(labels) or inputs.shape != (len(labels), high * wide):
            raise InputError(
                f"DigitBoard of {high} x {wide} pixels: got shapes {inputs.shape} and {labels.shape}; allowed: "
                f"(N, {high * wide}) and (N,)"
            )
        if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() > 9:
            raise InputError(f"DigitBoard: labels are whole numbers 0 to 9, got {shown(labels)}")


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

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        _side(self.side, "DigitPad")


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

    def __post_init__(self) -> None:
        text(self.label, "TestCurve: the label")
        flag(self.accuracy, "TestCurve: accuracy")
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

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        text(self.title, "Image: the title")
        text(self.note, "Image: the note")
        function(self.paint, "Image: paint")
        flag(self.smooth, "Image: smooth")


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

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        text(self.title, "Table: the title")
        heads: Any = self.heads
        if not isinstance(heads, tuple | list) or not all(isinstance(word, str) for word in heads):
            raise TypeMismatchError(f"Table: heads is a tuple of texts, got {shown(heads)}")
        if not callable(self.rows):
            as_rows(self.rows, len(self.heads))


def as_rows(given: Any, columns: int = 0) -> list[tuple[str, ...]]:
    """Checked rows of a table.

    Parameters
    ----------
    given : sequence of sequences of str
    columns : int
        Words of a row; 0: as many as the first has.

    Raises
    ------
    InputError
        Something else.
    """
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InputError(f"rows are a list of rows, got {type(given).__name__} {shown(given)}")
    rows: list[tuple[str, ...]] = []
    for number, row in enumerate(given):
        if isinstance(row, str) or not isinstance(row, Sequence) or not all(isinstance(word, str) for word in row):
            raise InputError(f"row {number} must be a list of str, got {shown(row)}")
        columns = columns or len(row)
        if len(row) != columns or not columns:
            raise InputError(f"row {number} has {len(row)} words; allowed: {columns or 1}, as the others")
        rows.append(tuple(row))
    return rows


def _side(given: Any, what: str) -> tuple[int, int]:
    """Rows and columns of a picture."""
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise InputError(f"{what}: side is (H, W), got {shown(given)}")
    return integer(f"{what}: H", given[0], 1), integer(f"{what}: W", given[1], 1)
