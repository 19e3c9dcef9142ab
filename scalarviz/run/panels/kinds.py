"""The kinds of panels that belong to a task: pictures, planes, curves of the loss, words, handwritten digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import integer, real_array
from ...errors import InputError, TypeMismatchError, shown
from ...scalar.single import positive
from ..edits import Edit
from ..source import Moment
from .base import Described, Panel, Place, arrays_of, pair

Float = NDArray[np.floating]
Samples = tuple[Float, NDArray[np.number]]


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

    def _check(self) -> None:
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

    def _check(self) -> None:
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

    def _check(self) -> None:
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
                f"Points: got shapes {places.shape}, {targets.shape} and {back.shape} {back.dtype}; allowed: "
                "(N, 2), (N,) and (N,) bool"
            )

    @property
    def back(self) -> NDArray[np.bool_]:
        """Which points are held-out, shape (N,)."""
        return np.zeros(len(self.x), bool) if self.held_out is None else np.asarray(self.held_out)


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

    def _check(self) -> None:
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

    def _check(self) -> None:
        if not self.names or len(set(self.names)) < len(self.names):
            raise InputError(f"Features: names must be one or more different names, got {shown(self.names)}")


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

    def _check(self) -> None:
        positive(self.gain, "Painting: gain")

    def likeness(self, moment: Moment) -> float:
        """The psnr at evenly spread pixels, `ASKED` at most: the same ones however large the picture is drawn."""
        wanted = self.wanted(moment)
        step = max(1, int(np.ceil(np.sqrt(wanted.shape[0] * wanted.shape[1] / ASKED))))
        rows, columns = (np.arange(0, size, step) for size in wanted.shape[:2])
        y, x = (rows + 0.5) / wanted.shape[0], (columns + 0.5) / wanted.shape[1]
        places = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2).astype(np.float32)
        near = wanted[np.ix_(rows, columns)]
        return psnr(np.clip(np.nan_to_num(moment.predict(places)), 0, 1).reshape(near.shape), near)


ASKED = 2_048


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


@dataclass(frozen=True, slots=True, eq=False)
class TestCurve(Described):
    """A second, dashed loss curve, measured on data that is not trained on.

    Attributes
    ----------
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

    def _check(self) -> None:
        inputs, targets = arrays_of(self, "inputs", "targets")
        if not inputs.ndim or not targets.ndim or len(inputs) != len(targets) or not len(inputs):
            raise InputError(
                f"TestCurve: got shapes {inputs.shape} and {targets.shape}; allowed: one target per sample"
            )

    def of(self, moment: Moment) -> Samples:
        """The data of a moment: always the same."""
        return self.inputs, self.targets

    def share(self, moment: Moment) -> float | None:
        """Share of the samples that is read rightly at a moment, where there are classes."""
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
        Whether the HUD also shows that share, or the loss.
    """

    label: str
    samples: Callable[[Moment], Samples]
    right: Callable[[Moment, Float, NDArray[np.number]], NDArray[np.bool_] | None] | None = None
    headline: bool = True

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
    test : TestCurve, HeldOut or None
        A second curve.
    """

    label: str = "batch"
    test: TestCurve | HeldOut | None = None


# ---- Points of one input with a number each, and what a network says of every input as a curve


def alone(numbers: Float) -> Float:
    """Numbers of the input (N,) as samples of one number each, (N, 1)."""
    return numbers[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class CurveFit(Panel):
    """The curve of a network of one input over the points that it learns from, at the moment that is shown.

    Between the curve and each of a few points stands its error. In a window a click on a point shows its way through
    the network; a click on an empty place adds a point and the right button takes one away, where the scene says how.

    Attributes
    ----------
    title : str
        Empty: the names of both axes.
    across, up : Axis or str
        Of the input, and of what is to be found; a name alone: an axis that is as long as the points need.
    inputs : callable
        ``inputs(numbers) -> samples``: what the network gets, (N, n_inputs), for numbers of the input (N,). Default:
        those numbers.
    points : callable or None
        ``points(moment) -> Points``: the first number of each place is its input, its target what is to be found there.
        None: the samples that are learnt from, of one number and one target each.
    edits : PointEdits or None
        What a hand may do with the points; the second number of a place is what is to be found there.
    """

    title: str = ""
    across: Axis | str = "x"
    up: Axis | str = "y"
    inputs: Callable[[Float], Float] = alone
    points: Callable[[Moment], Points] | None = None
    edits: PointEdits | None = None


@dataclass(frozen=True, slots=True)
class Histogram(Panel):
    """How often which numbers occur: of the tensor under the pointer or of the selected one, else of all.

    Attributes
    ----------
    label : str
        What all of them are called.
    """

    label: str = "all numbers"


# ---- Panels of the smallest networks: the loss over one weight or two, and the four calls of a step


Span = tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class LossOver(Panel):
    """The loss over one weight as a curve with the tangent, over two as a map with isolines; a ball is where they are.

    Nothing is modelled: the network's loss of all samples is worked out at each place, all other weights as they are.

    Attributes
    ----------
    weights : tuple of int
        Flat numbers of one weight or two.
    names : tuple of str
        What each is called.
    spans : tuple of (float, float)
        From where to where each is shown; farther where the ball leaves that.
    """

    weights: tuple[int, ...]
    names: tuple[str, ...]
    spans: tuple[Span, ...]
    title: str = "loss"

    def _check(self) -> None:
        _check_weights(self, 2)
        spans: Any = self.spans
        if not isinstance(spans, tuple | list) or len(spans) != len(self.weights):
            raise InputError(f"LossOver: spans must have one (low, high) per weight, got {shown(spans)}")
        for span in spans:
            pair(span, "LossOver: the ends of a span")


@dataclass(frozen=True, slots=True, eq=False)
class TrainingLoop(Panel):
    """The four calls of a training step, with their numbers; inside an opened step that which happens now.

    Attributes
    ----------
    weights : tuple of int
        Flat numbers of the weights whose values and gradients stand there, one to three.
    names : tuple of str
        What each is called.
    """

    weights: tuple[int, ...]
    names: tuple[str, ...]

    def _check(self) -> None:
        _check_weights(self, 3)


def _check_weights(panel: LossOver | TrainingLoop, most: int) -> None:
    """Refuse other weights than one to `most` flat numbers with a name each."""
    weights: Any = panel.weights
    kind = type(panel).__name__
    if not isinstance(weights, tuple | list) or not weights:
        raise TypeMismatchError(f"{kind}: weights must be a tuple of flat indices, got {shown(weights)}")
    for weight in weights:
        integer(f"{kind}: a weight", weight, 0)
    names = len(panel.names)
    if not len(weights) == names <= most:
        raise InputError(f"{kind}: got {len(weights)} weights and {names} names; allowed: 1 to {most} of each")


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """How a network reads a word of n letters, the beginning included.

    Attributes
    ----------
    attention : ndarray, shape (heads, n, n)
        The share that a letter (row) takes of each one up to itself.
    likely : ndarray, shape (n, letters + 1)
        The probability of each letter to come next; the last one is the end.
    stream : tuple of ndarray, shapes (n, width)
        The numbers of each letter after each part that adds to them; empty where nobody said.
    hidden : (str, ndarray) or None
        The tensor whose rows make a network's inner numbers, and these numbers (n, rows).
    uses : tuple of (str, tuple of int)
        Tensors of which each letter uses one row, and which; the last one says what comes next.
    """

    attention: Float
    likely: Float
    stream: tuple[Float, ...] = ()
    hidden: tuple[str, Float] | None = None
    uses: tuple[tuple[str, tuple[int, ...]], ...] = ()


class Invented(NamedTuple):
    """A word that a network made up, and how probable each of its letters was."""

    word: str
    likely: tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class WordBoard(Panel):
    """A word to type: who looks back at whom in it, what comes next after each letter, and new words.

    Attributes
    ----------
    word : str
        The one that stands there at first.
    letters : str
        Those that there are.
    most : int
        The longest word.
    look : callable
        ``look(moment, word) -> Reading``.
    make : callable
        ``make(moment, temperature, number) -> Invented``: a word that the network makes up; the same for the same
        moment and number (0, 1, ...).
    temperature : float
        At first.
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

    def _check(self) -> None:
        high, wide = self.side
        inputs, labels = arrays_of(self, "inputs", "labels")
        if labels.ndim != 1 or not len(labels) or inputs.shape != (len(labels), high * wide):
            raise InputError(
                f"DigitBoard of {high} x {wide} pixels: got shapes {inputs.shape} and {labels.shape}; allowed: "
                f"(N, {high * wide}) and (N,)"
            )
        if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() > 9:
            raise InputError(f"DigitBoard: labels must be whole numbers from 0 to 9, got {shown(labels)}")


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
