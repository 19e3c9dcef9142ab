"""Maps and pictures: colours, a plane of two inputs, a map beside every neuron, a painted picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import integer, real_array
from ...errors import InputError, shown
from ..edits import Edit
from ..source import Moment
from .base import Described, Panel, Place, above_zero, arrays_of, pair

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
        inputs, targets = arrays_of(self, "inputs", "targets")
        if inputs.ndim != 2 or inputs.shape[1] != 3 or not len(inputs) or inputs.shape != targets.shape:
            raise InputError(
                f"ColourCube: got shapes {inputs.shape} and {targets.shape}; allowed: (N, 3), the same for both"
            )


# ---- The output of a network over a plane of two of its inputs, as a map, and the points that it learns from


MOST_CELLS = 512
MOST_CLASSES = 8
"""As many as have a colour of their own."""


def itself(points: Float) -> Float:
    """The points of the plane are what the network gets."""
    return points


@dataclass(frozen=True, slots=True)
class Axis(Described):
    """One direction of a plane.

    Attributes
    ----------
    name : str
        Of what grows along it.
    least, most : float
        Its finite ends, in this order, in the numbers of the points.
    shown : (float, float) or None
        The numbers that are printed at its ends, for points that were standardised; None: the ends
        themselves.
    """

    name: str
    least: float
    most: float
    shown: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        Described.__post_init__(self)
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
    """

    x: Float
    target: NDArray[np.number]
    held_back: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        places, targets = arrays_of(self, "x", "target")
        count = len(places) if places.ndim else 0
        back = np.zeros(count, bool) if self.held_back is None else arrays_of(self, "held_back")[0]
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
class PointEdits(Described):
    """What a hand may do with the points of a plane; each gives the edit that does it, or None.

    Attributes
    ----------
    add : callable
        ``add((across, up)) -> Edit | None``: one more point there.
    remove : callable
        ``remove(index) -> Edit | None``: without the point of that number (of :class:`Points`).
    adds : callable or None
        ``adds() -> str``: what the next point will be, which the pointer says over an empty place.
    """

    add: Callable[[tuple[float, float]], Edit | None]
    remove: Callable[[int], Edit | None]
    adds: Callable[[], str] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PlaneMap(Panel):
    """What a network says over a plane, at the moment that is shown: orange to blue, or a colour for each class.

    In a window a click on an empty place adds a point and the right button takes one away, where the scene says how; a
    click on a point shows its way through the network.

    Attributes
    ----------
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
        integer("PlaneMap: output", self.output, 0)
        classes = len(self.classes)
        if classes not in (0, *range(2, MOST_CLASSES + 1)):
            raise InputError(f"PlaneMap: classes has {classes} texts; allowed: none, or 2 to {MOST_CLASSES}")
        if self.cells is not None:
            integer("PlaneMap: cells", self.cells, 1, MOST_CELLS)


# ---- What stands among the cubes of a network of few inputs: a small map beside every neuron, and its features


@dataclass(frozen=True, slots=True, eq=False)
class NeuronMaps(Panel):
    """A small map beside every hidden neuron of a chain of layers: its output over the plane, in the signed map.

    Of layers of up to eight units the flow turns at each layer, so that there is room for them. In a window pointing at
    one shows it large, with the weights that lead into it.

    Attributes
    ----------
    inputs : callable
        ``inputs(points) -> samples``: what the network gets, (N, n_inputs), for points of the plane (N, 2).
    change : callable or None
        ``change(hidden) -> Edit | None``: hidden layers of so many units each, a tuple of int; with it + and - stand
        beside a layer that is pointed at.
    """

    among: ClassVar[bool] = True

    across: Axis
    up: Axis
    inputs: Callable[[Float], Float] = itself
    change: Callable[[tuple[int, ...]], Edit | None] | None = None
    place: Place = field(default="among", kw_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class Features(Panel):
    """What a network gets of a point of the plane: a column of small maps left of the cubes, each with a switch.

    Attributes
    ----------
    names : tuple of str
        From top to bottom, at least one.
    values : callable
        ``values(points) -> (N, n)``: each of them over points of the plane (N, 2), whether it is on or not.
    on : callable
        ``on(moment)``: for each of them whether the network gets it.
    rows : callable or None
        ``rows(moment)``: for each of them the number of its row of cubes in the first layer, or None. Default: those
        that are on, one after the other.
    change : callable or None
        ``change(name) -> Edit | None``: switches one of them; None: a hand cannot.
    """

    among: ClassVar[bool] = True

    names: tuple[str, ...]
    across: Axis
    up: Axis
    values: Callable[[Float], Float]
    on: Callable[[Moment], Sequence[bool]]
    rows: Callable[[Moment], Sequence[int | None]] | None = None
    change: Callable[[str], Edit | None] | None = None
    place: Place = field(default="among", kw_only=True)

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        if not self.names or len(set(self.names)) < len(self.names):
            raise InputError(f"Features: names are at least one, each once, got {shown(self.names)}")


# ---- A picture that is painted by a network which is told places


@dataclass(frozen=True, slots=True, eq=False)
class Painting(Panel):
    """What a network makes of every place of a picture, what it should make, and the error.

    The network is given (x, y) of the middle of a pixel, in 0..1 from the upper left corner, and makes its colour.

    Attributes
    ----------
    wanted : callable
        ``wanted(moment) -> (H, W, 3)``, sRGB in 0..1: what is to be painted. The same array as long as it is the same.
    size : (int, int)
        H and W at first: for them room is asked.
    gain : float
        How many times the error is enlarged around mid-grey.
    other : callable or None
        ``other(picture) -> Edit`` to learn another picture (H, W, 3), sRGB in 0..1, that was opened; None: it cannot.
    epochs : callable or None
        ``epochs(moment) -> float``: how often the run had been through the picture; None: nobody says.
    """

    wanted: Callable[[Moment], Float]
    size: tuple[int, int]
    gain: float = 10.0
    other: Callable[[Float], Edit] | None = None
    epochs: Callable[[Moment], float] | None = None

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        above_zero(self.gain, "Painting: gain")


def psnr(painted: ArrayLike, wanted: ArrayLike) -> float:
    """Peak signal-to-noise ratio in dB of colours in 0..1 against others of the same shape.

    Infinite where they are the same, NaN where one is no number; InputError if shapes differ or there are no
    colours.
    """
    ours, theirs = (real_array(a, what) for a, what in ((painted, "psnr: the first"), (wanted, "psnr: the second")))
    if ours.shape != theirs.shape or not ours.size:
        raise InputError(f"psnr: got shapes {ours.shape} and {theirs.shape}; allowed: the same, with numbers in them")
    error = float(np.mean(np.square(_wide(ours) - _wide(theirs))))
    return float("inf") if error == 0 else -10.0 * float(np.log10(error))


def _wide(colours: NDArray[Any]) -> NDArray[np.float64]:
    return colours.astype(np.float64)
