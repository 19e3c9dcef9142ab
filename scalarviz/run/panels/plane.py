"""The output of a network over a plane of two of its inputs, as a map, and the points that it learns from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import function, integer, real_array, text
from ...errors import InputError, TypeMismatchError, shown
from ..edits import Edit
from ..moment import Moment
from .base import Panel

Float = NDArray[np.floating]

MOST_CELLS = 512
MOST_CLASSES = 8
"""As many as have a colour of their own."""


def itself(points: Float) -> Float:
    """The points of the plane are what the network gets."""
    return points


@dataclass(frozen=True, slots=True)
class Axis:
    """One direction of a plane.

    Attributes
    ----------
    name : str
        Of what grows along it.
    least, most : float
        Its ends, in the numbers of the points.
    shown : (float, float) or None
        The numbers that are printed at its ends, for points that were standardised; None: the ends themselves.

    Raises
    ------
    InputError, TypeMismatchError
        The ends are no two finite numbers in this order, or the name is no text.
    """

    name: str
    least: float
    most: float
    shown: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        text(self.name, "Axis: the name")
        pair((self.least, self.most), "Axis: its ends, least and most,")
        if self.shown is not None:
            object.__setattr__(self, "shown", pair(self.shown, "Axis: shown"))

    @property
    def ends(self) -> tuple[float, float]:
        """What is printed at its ends."""
        return self.shown or (self.least, self.most)

    def units(self, place: float) -> float:
        """A place on it in the numbers that are printed."""
        low, high = self.ends
        return low + (place - self.least) / (self.most - self.least) * (high - low)


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Points over a plane.

    Attributes
    ----------
    x : ndarray, shape (N, 2)
        Where they are.
    target : ndarray, shape (N,)
        What the output should be there; for classes their numbers.
    held_back : ndarray of bool, shape (N,), or None
        Which of them are not learnt from; None: none.

    Raises
    ------
    InputError, TypeMismatchError
        No numbers, or other shapes.
    """

    x: Float
    target: NDArray[np.number]
    held_back: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        places, targets = real_array(self.x, "Points: x"), real_array(self.target, "Points: the targets")
        count = len(places) if places.ndim else 0
        back = np.zeros(count, bool) if self.held_back is None else real_array(self.held_back, "Points: held_back")
        if places.shape != (count, 2) or targets.shape != (count,) or back.shape != (count,) or back.dtype != bool:
            raise InputError(
                f"Points: got shapes {places.shape}, {targets.shape} and {back.shape} {back.dtype}; allowed: "
                "(N, 2), (N,) and (N,) bool"
            )

    @property
    def back(self) -> NDArray[np.bool_]:
        """Which are held back, shape (N,)."""
        return np.zeros(len(self.x), bool) if self.held_back is None else np.asarray(self.held_back)


@dataclass(frozen=True, slots=True, eq=False)
class PointEdits:
    """What a hand may do with the points of a plane; each gives the edit that does it, or None.

    Attributes
    ----------
    add : callable
        ``add((across, up)) -> Edit | None``: one more point there.
    remove : callable
        ``remove(index) -> Edit | None``: without the point of that number (of :class:`Points`).
    adds : callable or None
        ``adds() -> str``: what the next point will be, which the pointer says over an empty place.

    Raises
    ------
    TypeMismatchError
        One of them cannot be called.
    """

    add: Callable[[tuple[float, float]], Edit | None]
    remove: Callable[[int], Edit | None]
    adds: Callable[[], str] | None = None

    def __post_init__(self) -> None:
        function(self.add, "PointEdits: add")
        function(self.remove, "PointEdits: remove")
        if self.adds is not None:
            function(self.adds, "PointEdits: adds")


@dataclass(frozen=True, slots=True, eq=False)
class PlaneMap(Panel):
    """What a network says over a plane, at the moment that is shown: orange to blue, or a colour for each class.

    In a window a click on an empty place adds a point and the right button takes one away, where the scene says how; a
    click on a point shows its way through the network.

    Attributes
    ----------
    title : str
    across, up : Axis
    inputs : callable
        ``inputs(points) -> samples``: what the network gets, (N, n_inputs), for points of the plane (N, 2).
    output : int
        The number of the output that is drawn.
    span : (float, float)
        The outputs that are wholly orange and wholly blue.
    says : (str, str)
        What those two mean ("outside", "inside").
    cells : int or None
        Squares in each direction. None: as many as a tenth of the time allows, in a film always the same.
    points : callable or None
        ``points(moment) -> Points``: those that lie over it.
    classes : tuple of str
        Names of two to eight classes, one for each output: the map shows the likeliest and how sure that is.
    edits : PointEdits or None
        What a hand may do with the points.

    Raises
    ------
    InputError, TypeMismatchError
        For any of them; the message says what is allowed.
    """

    title: str
    across: Axis
    up: Axis
    inputs: Callable[[Float], Float] = itself
    output: int = 0
    span: tuple[float, float] = (0.0, 1.0)
    says: tuple[str, str] = ("0", "1")
    cells: int | None = None
    points: Callable[[Moment], Points] | None = None
    classes: tuple[str, ...] = ()
    edits: PointEdits | None = None

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        text(self.title, "PlaneMap: the title")
        check_axes(self, self.across, self.up)
        function(self.inputs, "PlaneMap: inputs")
        integer("PlaneMap: output", self.output, 0)
        pair(self.span, "PlaneMap: span")
        _words(self.says, "PlaneMap: says", (2,))
        _words(self.classes, "PlaneMap: classes", (0, *range(2, MOST_CLASSES + 1)))
        if self.cells is not None:
            integer("PlaneMap: cells", self.cells, 1, MOST_CELLS)
        if self.points is not None:
            function(self.points, "PlaneMap: points")
        check_edits(self, self.edits)


def check_edits(panel: Panel, edits: Any) -> None:
    """Refuse what is neither PointEdits nor None.

    Raises
    ------
    TypeMismatchError
        It is something else.
    """
    if edits is not None and not isinstance(edits, PointEdits):
        raise TypeMismatchError(
            f"{type(panel).__name__}: edits is a PointEdits or None, got {type(edits).__name__} {shown(edits)}; "
            "try PointEdits(add, remove)"
        )


def check_axes(panel: Panel, across: Any, up: Any) -> None:
    """Refuse what is no Axis.

    Raises
    ------
    TypeMismatchError
        It is something else.
    """
    for what, axis in (("across", across), ("up", up)):
        if not isinstance(axis, Axis):
            raise TypeMismatchError(
                f'{type(panel).__name__}: {what} is an Axis, got {shown(axis)}; try Axis("x", -1.0, 1.0)'
            )


def pair(given: Any, what: str) -> tuple[float, float]:
    """`given` as two finite numbers, the first one smaller.

    Raises
    ------
    InputError
        It is something else.
    """
    try:
        one, other = given
        fine = not any(isinstance(number, str | bytes) or number is np.ma.masked for number in (one, other))
        low, high = (float(one), float(other)) if fine else (0.0, 0.0)
        fine = fine and isfinite(low) and isfinite(high) and low < high
    except (TypeError, ValueError, OverflowError):
        fine = False
    if not fine:
        raise InputError(f"{what} must be two finite numbers, the first one smaller, got {shown(given)}")
    return low, high


def _words(given: Any, what: str, counts: tuple[int, ...]) -> None:
    if not isinstance(given, tuple | list) or not all(isinstance(word, str) for word in given):
        raise TypeMismatchError(f"{what} is a tuple of texts, got {shown(given)}")
    if len(given) not in counts:
        allowed = f"{counts[0]}" if len(counts) == 1 else f"none, or {counts[1]} to {counts[-1]}"
        raise InputError(f"{what} has {len(given)} texts; allowed: {allowed}")
