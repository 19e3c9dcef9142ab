"""Panels for one kind of task: pictures, planes, loss curves, words, handwritten digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import integer, real_array
from ...errors import InputError, TypeMismatchError, shown
from ...scalar.number import positive
from ..edits import Edit
from ..source import Float, Moment
from .base import Described, Panel, Place, arrays_of, pair

Samples = tuple[Float, NDArray[np.number]]


@dataclass(frozen=True, slots=True, eq=False)
class Pictures(Panel):
    """A picture before and as the target; the network's version is drawn between them.

    Attributes
    ----------
    source, target : ndarray, shape (H, W, 3)
        sRGB in 0..1. Same shape.
    label : str
        Name of the source ("photo").
    target_of : callable or None
        Makes the target (H, W, 3) of any picture (H, W, 3). With it, a picture opened in the window can replace the
        source.
    """

    speaks_of = "colours"

    source: Float
    target: Float
    label: str = "photo"
    target_of: Callable[[Float], Float] | None = None

    def _check(self) -> None:
        source, target = arrays_of(self, "source", "target")
        if source.ndim != 3 or source.shape[-1] != 3 or 0 in source.shape or source.shape != target.shape:
            raise InputError(
                f"Pictures: source and target need one shape (H, W, 3), got {source.shape}, {target.shape}"
            )


@dataclass(frozen=True, slots=True, eq=False)
class ColourCube(Panel):
    """Sample colours at their RGB places, painted with the network's output and with the target.

    In a window, click a colour to show its way through the network. Shift-click a colour, then its new target, to
    teach the network that pair.

    Attributes
    ----------
    inputs, targets : ndarray, shape (N, 3)
        sRGB in 0..1.
    """

    speaks_of = "colours"

    inputs: Float
    targets: Float

    def _check(self) -> None:
        inputs, targets = arrays_of(self, "inputs", "targets")
        if inputs.ndim != 2 or inputs.shape[1] != 3 or not len(inputs) or inputs.shape != targets.shape:
            raise InputError(
                f"ColourCube: inputs and targets need one shape (N, 3), got {inputs.shape}, {targets.shape}"
            )


# ---- The output of a network over a plane of two of its inputs, as a map, and the training points


MOST_CELLS = 512
MOST_CLASSES = 8
"""Number of class colours."""


def itself(points: Float) -> Float:
    """Return the points of the plane unchanged as inputs of the network."""
    return points


@dataclass(frozen=True, slots=True)
class Axis(Described):
    """One axis of a plane.

    Attributes
    ----------
    name : str
        Name of the quantity along it.
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

    def _check(self) -> None:
        pair((self.least, self.most), "Axis: 'least' and 'most'")
        if self.shown is not None:
            object.__setattr__(self, "shown", pair(self.shown, "Axis: 'shown'"))

    @property
    def ends(self) -> tuple[float, float]:
        """The numbers that are printed at the ends."""
        return self.shown or (self.least, self.most)

    def units(self, place: float) -> float:
        """Return the printed number for a place on the axis."""
        low, high = self.ends
        return low + (place - self.least) / (self.most - self.least) * (high - low)


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Points over a plane.

    Attributes
    ----------
    x : ndarray, shape (N, 2)
        Their places.
    target : ndarray, shape (N,)
        The target output at each; for classes, the class number.
    held_out : ndarray of bool, shape (N,), or None
        Which points are held-out; None: none.
    """

    x: Float
    target: NDArray[np.number]
    held_out: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        places, targets = arrays_of(self, "x", "target")
        count = len(places) if places.ndim else 0
        back = np.zeros(count, bool) if self.held_out is None else arrays_of(self, "held_out")[0]
        if places.shape != (count, 2) or targets.shape != (count,) or back.shape != (count,) or back.dtype != bool:
            raise InputError(
                "Points: x must have the shape (N, 2), target (N,) and held_out (N,) of bool; got "
                f"{places.shape}, {targets.shape} and {back.shape} of {back.dtype}"
            )

    @property
    def back(self) -> NDArray[np.bool_]:
        """Mask of held-out points, shape (N,)."""
        return np.zeros(len(self.x), bool) if self.held_out is None else np.asarray(self.held_out)


@dataclass(frozen=True, slots=True, eq=False)
class PointEdits(Described):
    """Edits of the points of a plane by hand; each function returns an edit, or None.

    Attributes
    ----------
    add : callable
        ``add((across, up)) -> Edit | None``: add a point there.
    remove : callable
        ``remove(index) -> Edit | None``: remove the point with that number (of :class:`Points`).
    adds : callable or None
        ``adds() -> str``: describes the next point; the pointer shows it over an empty place.
    """

    add: Callable[[tuple[float, float]], Edit | None]
    remove: Callable[[int], Edit | None]
    adds: Callable[[], str] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PlaneMap(Panel):
    """The output of a network over a plane at the shown moment: orange to blue, or a colour for each class.

    In a window, click an empty place to add a point and right-click a point to remove it, if the scene allows it. Click
    a point to show its way through the network.

    Attributes
    ----------
    inputs : callable
        ``inputs(points) -> samples``: the network's inputs (N, n_inputs) for points of the plane (N, 2).
    output : int
        The number of the output that is drawn.
    span : (float, float)
        The outputs that are fully orange and fully blue.
    says : (str, str)
        Words for those two ("outside", "inside").
    cells : int or None
        Squares in each direction. None: as many as fit into a tenth of the time; in a film always the same number.
    points : callable or None
        ``points(moment) -> Points``: the points over the map.
    classes : tuple of str
        Names of two to eight classes, one per output: the map shows the likeliest class and its probability.
    edits : PointEdits or None
        Edits of the points by hand.
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

    def _check(self) -> None:
        integer("PlaneMap: output", self.output, 0)
        classes = len(self.classes)
        if classes not in (0, *range(2, MOST_CLASSES + 1)):
            raise InputError(f"PlaneMap: classes must be empty or 2 to {MOST_CLASSES} texts, got {classes}")
        if self.cells is not None:
            integer("PlaneMap: cells", self.cells, 1, MOST_CELLS)


# ---- Panels among the cubes of a network of few inputs: a small map beside every neuron, and its features


@dataclass(frozen=True, slots=True, eq=False)
class NeuronMaps(Panel):
    """A small map beside every hidden neuron of a chain of layers: its output over the plane, in the signed map.

    If layers have at most eight units, the flow turns at each layer to make room for the maps. In a window, point at a
    map to enlarge it and to see the weights that lead into its neuron.

    Attributes
    ----------
    inputs : callable
        ``inputs(points) -> samples``: the network's inputs (N, n_inputs) for points of the plane (N, 2).
    change : callable or None
        ``change(hidden) -> Edit | None``: set the units of the hidden layers, a tuple of int. With it, + and - appear
        beside the layer under the pointer.
    """

    among: ClassVar[bool] = True

    across: Axis
    up: Axis
    inputs: Callable[[Float], Float] = itself
    change: Callable[[tuple[int, ...]], Edit | None] | None = None
    place: Place = field(default="among", kw_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class Features(Panel):
    """The inputs of a network for points of the plane: a column of small maps left of the cubes, each with a switch.

    Attributes
    ----------
    names : tuple of str
        From top to bottom, at least one.
    values : callable
        ``values(points) -> (N, n)``: every feature over points of the plane (N, 2), on or off.
    on : callable
        ``on(moment)``: for each feature, whether the network gets it.
    rows : callable or None
        ``rows(moment)``: for each feature, the number of its row of cubes in the first layer, or None. Default: the
        features that are on, in order.
    change : callable or None
        ``change(name) -> Edit | None``: switch a feature on or off; None: not by hand.
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

    def _check(self) -> None:
        if not self.names or len(set(self.names)) < len(self.names):
            raise InputError(f"Features: 'names' must be one or more, all different; got {shown(self.names)}")


# ---- A picture that a network paints from coordinates


@dataclass(frozen=True, slots=True, eq=False)
class Painting(Panel):
    """The picture that a network paints, the wanted one, and the error.

    The network gets (x, y) of the centre of a pixel, in 0..1 from the upper left corner, and returns its colour.

    Attributes
    ----------
    wanted : callable
        ``wanted(moment) -> (H, W, 3)``, sRGB in 0..1: the target picture. The same array until the target changes.
    size : (int, int)
        H and W at first; they determine the room for the panel.
    gain : float
        The error is drawn as ``0.5 + gain * error / 2``: mid-grey where there is none.
    other : callable or None
        ``other(picture) -> Edit``: learn another picture (H, W, 3), sRGB in 0..1, that was opened; None: not possible.
    epochs : callable or None
        ``epochs(moment) -> float``: epochs done; None: not shown.
    """

    wanted: Callable[[Moment], Float]
    size: tuple[int, int]
    gain: float = 10.0
    other: Callable[[Float], Edit] | None = None
    epochs: Callable[[Moment], float] | None = None

    def _check(self) -> None:
        positive(self.gain, "Painting: gain")

    def likeness(self, moment: Moment) -> float:
        """Return the PSNR at evenly spread pixels, about `ASKED`; they do not depend on the size of the drawing."""
        wanted = self.wanted(moment)
        step = max(1, int(np.ceil(np.sqrt(wanted.shape[0] * wanted.shape[1] / ASKED))))
        rows, columns = (np.arange(0, size, step) for size in wanted.shape[:2])
        y, x = (rows + 0.5) / wanted.shape[0], (columns + 0.5) / wanted.shape[1]
        places = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2).astype(np.float32)
        near = wanted[np.ix_(rows, columns)]
        return psnr(np.clip(np.nan_to_num(moment.predict(places)), 0, 1).reshape(near.shape), near)


ASKED = 2_048


def psnr(painted: ArrayLike, wanted: ArrayLike) -> float:
    """Return the peak signal-to-noise ratio in dB of colours in 0..1 against others of the same shape.

    Infinite if they are the same, NaN if a number is NaN. InputError: shapes differ or there are no colours.
    """
    ours, theirs = (real_array(a, what) for a, what in ((painted, "psnr: the first"), (wanted, "psnr: the second")))
    if ours.shape != theirs.shape or not ours.size:
        raise InputError(f"psnr: got shapes {ours.shape} and {theirs.shape}; allowed: equal shapes, not empty")
    error = float(np.mean(np.square(ours.astype(np.float64) - theirs)))
    return float("inf") if error == 0 else -10.0 * float(np.log10(error))


@dataclass(frozen=True, slots=True, eq=False)
class TestCurve(Described):
    """A second, dashed loss curve, measured on held-out data.

    Attributes
    ----------
    inputs, targets : ndarray
        As for ``Run.evaluate``.
    accuracy : bool
        The targets are class numbers; the accuracy stands beside the curve.
    headline : bool
        Whether the HUD shows the newest number too.
    """

    label: str
    inputs: Float
    targets: NDArray[np.number]
    accuracy: bool = False
    headline: bool = True

    def _check(self) -> None:
        inputs, targets = arrays_of(self, "inputs", "targets")
        if not inputs.ndim or not targets.ndim or len(inputs) != len(targets) or not len(inputs):
            raise InputError(
                f"TestCurve: give one target per sample, got inputs {inputs.shape}, targets {targets.shape}"
            )

    def of(self, moment: Moment) -> Samples:
        """Return the data, the same at every moment."""
        return self.inputs, self.targets

    def share(self, moment: Moment) -> float | None:
        """Return the accuracy at a moment, in 0..1; None without classes."""
        if not self.accuracy:
            return None
        return float(np.mean(np.argmax(moment.predict(self.inputs), axis=1) == np.ravel(self.targets)))


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut(Described):
    """A test curve whose held-out data follow the run's data: an edit may change them, undo restores them.

    Attributes
    ----------
    samples : callable
        ``samples(moment) -> (inputs, targets)`` as for ``Run.evaluate``; of length 0 if nothing is held-out.
    right : callable or None
        ``right(moment, outputs, targets)``: which outputs are right, bool (N,); None if there are no classes.
    headline : bool
        Whether the HUD also shows the accuracy, or the loss.
    """

    label: str
    samples: Callable[[Moment], Samples]
    right: Callable[[Moment, Float, NDArray[np.number]], NDArray[np.bool_] | None] | None = None
    headline: bool = True

    @property
    def accuracy(self) -> bool:
        """True if the curve may have an accuracy."""
        return self.right is not None

    def of(self, moment: Moment) -> Samples:
        """Return the held-out data at a moment."""
        return self.samples(moment)

    def share(self, moment: Moment) -> float | None:
        """Return the accuracy at a moment, in 0..1; None without samples or classes."""
        inputs, targets = self.samples(moment)
        if self.right is None or not len(inputs):
            return None
        found = self.right(moment, moment.predict(inputs), targets)
        return None if found is None else float(np.mean(found))


@dataclass(frozen=True, slots=True, eq=False)
class LossCurve(Panel):
    """The loss of every step so far. In the column it takes the room that other panels leave.

    Attributes
    ----------
    label : str
        The samples that it is measured on ("1,024 colours").
    test : TestCurve, HeldOut or None
        A second curve.
    """

    label: str = "batch"
    test: TestCurve | HeldOut | None = None


# ---- Points with one input and one number each, and the network's output as a curve


def alone(numbers: Float) -> Float:
    """Return numbers of the input (N,) as samples (N, 1)."""
    return numbers[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class CurveFit(Panel):
    """The output of a network with one input, as a curve over the training points, at the shown moment.

    If there are few points, a line shows the error of each. In a window, click a point to show its way through the
    network. Click an empty place to add a point and right-click a point to remove it, if the scene allows it.

    Attributes
    ----------
    title : str
        Empty: the names of both axes.
    across, up : Axis or str
        The axes of input and target. A name alone gives an axis that fits the points.
    inputs : callable
        ``inputs(numbers) -> samples``: the network's inputs (N, n_inputs) for numbers of the input (N,). Default:
        those numbers.
    points : callable or None
        ``points(moment) -> Points``: the first number of each place is its input, its target the wanted output.
        None: the training samples, with one input and one target each.
    edits : PointEdits or None
        Edits of the points by hand; the second number of a place is the target.
    """

    title: str = ""
    across: Axis | str = "x"
    up: Axis | str = "y"
    inputs: Callable[[Float], Float] = alone
    points: Callable[[Moment], Points] | None = None
    edits: PointEdits | None = None


@dataclass(frozen=True, slots=True)
class Histogram(Panel):
    """A histogram of the numbers of the tensor under the pointer, of the selected one, or of all tensors.

    Attributes
    ----------
    label : str
        Title for all tensors.
    """

    label: str = "all numbers"


# ---- Panels of the smallest networks: the loss over one or two weights, and the four calls of a step


Span = tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class LossOver(Panel):
    """The loss over one weight (a curve with its tangent) or two (a map with isolines); a ball marks the weights.

    Each place shows the loss of all samples, computed by the network with all other weights unchanged.

    Attributes
    ----------
    weights : tuple of int
        Flat indices of one or two weights.
    names : tuple of str
        Name of each.
    spans : tuple of (float, float)
        Range of each; it grows if the ball leaves it.
    """

    weights: tuple[int, ...]
    names: tuple[str, ...]
    spans: tuple[Span, ...]
    title: str = "loss"
    place: Place = field(default="above", kw_only=True)

    def _check(self) -> None:
        _check_weights(self, 2)
        spans: Any = self.spans
        if not isinstance(spans, tuple | list) or len(spans) != len(self.weights):
            raise InputError(f"LossOver: 'spans' must have one (low, high) per weight, got {shown(spans)}")
        for span in spans:
            pair(span, "LossOver: the ends of a span")


@dataclass(frozen=True, slots=True, eq=False)
class TrainingLoop(Panel):
    """The four calls of a training step, with their numbers; inside an opened step, the current call.

    Attributes
    ----------
    weights : tuple of int
        Flat indices of the one to three weights whose values and gradients are shown.
    names : tuple of str
        Name of each.
    """

    weights: tuple[int, ...]
    names: tuple[str, ...]

    def _check(self) -> None:
        _check_weights(self, 3)


def _check_weights(panel: LossOver | TrainingLoop, most: int) -> None:
    """Refuse all but one to `most` flat indices with a name each."""
    weights: Any = panel.weights
    kind = type(panel).__name__
    if not isinstance(weights, tuple | list) or not weights:
        raise TypeMismatchError(f"{kind}: weights must be a tuple of indices such as (0, 1), got {shown(weights)}")
    for weight in weights:
        integer(f"{kind}: a weight", weight, 0)
    names = len(panel.names)
    if not len(weights) == names <= most:
        raise InputError(f"{kind}: give 1 to {most} weights, each with a name; got {len(weights)} and {names} names")


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The reading of a word of n letters by a network, the start symbol included.

    Attributes
    ----------
    attention : ndarray, shape (heads, n, n)
        The attention of each letter (row) to each letter up to itself.
    likely : ndarray, shape (n, letters + 1)
        The probability that each letter comes next; the last one is the end.
    stream : tuple of ndarray, shapes (n, width)
        The numbers of each letter after each part that adds to them; empty if unknown.
    hidden : (str, ndarray) or None
        The tensor whose rows make a network's inner numbers, and these numbers (n, rows).
    uses : tuple of (str, tuple of int)
        Tensors of which each letter uses one row, and the row numbers; the last tensor gives the next letter.
    """

    attention: Float
    likely: Float
    stream: tuple[Float, ...] = ()
    hidden: tuple[str, Float] | None = None
    uses: tuple[tuple[str, tuple[int, ...]], ...] = ()


class Invented(NamedTuple):
    """A word that a network generated, and the probability of each of its letters."""

    word: str
    likely: tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class WordBoard(Panel):
    """A word to type: the attention between its letters, the next letter after each, and new words.

    Attributes
    ----------
    word : str
        The word at the start.
    letters : str
        The allowed letters.
    most : int
        Length of the longest word.
    look : callable
        ``look(moment, word) -> Reading``.
    make : callable
        ``make(moment, temperature, number) -> Invented``: a word that the network generates; the same for the same
        moment and number (0, 1, ...).
    temperature : float
        The temperature at the start.
    """

    word: str
    letters: str
    most: int
    look: Callable[[Moment, str], Reading]
    make: Callable[[Moment, float, int], Invented]
    temperature: float = 0.6

    def _check(self) -> None:
        integer("WordBoard: most", self.most, 1)
        if len(self.word) > self.most or not set(self.word) <= set(self.letters):
            raise InputError(
                f"WordBoard: the word must have at most {self.most} of the letters {shown(self.letters)}, "
                f"got {shown(self.word)}"
            )
        positive(self.temperature, "WordBoard: temperature")


# ---- Panels of tasks whose samples are handwritten digits


@dataclass(frozen=True, slots=True, eq=False)
class DigitBoard(Panel):
    """Held-out digits, each in the column of its predicted class.

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

    def _check(self) -> None:
        high, wide = self.side
        inputs, labels = arrays_of(self, "inputs", "labels")
        if labels.ndim != 1 or not len(labels) or inputs.shape != (len(labels), high * wide):
            raise InputError(
                f"DigitBoard of {high} x {wide} pixels: got inputs {inputs.shape}, labels {labels.shape}; "
                f"allowed: (N, {high * wide}) and (N,)"
            )
        if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() > 9:
            raise InputError(f"DigitBoard: labels must be whole numbers from 0 to 9, got {shown(labels)}")


@dataclass(frozen=True, slots=True, eq=False)
class DigitPad(Panel):
    """The probe sample as a sheet to draw on, and the predicted class.

    Attributes
    ----------
    side : (int, int)
        H and W of the sample's picture; 0 is paper, 1 is ink.
    """

    speaks_of = "sheet"

    side: tuple[int, int]
