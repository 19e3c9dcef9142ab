"""`Frame`, one moment of a run as a picture sees it, and its past: plain arrays, copied, never the live store."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from math import prod
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...scalar.mask import Draws

if TYPE_CHECKING:
    from ...engine.data import Data
    from ..edits.base import Applied
    from .graph import Forward
    from .setup import Setup


FloatArray = NDArray[np.floating]
BoolArray = NDArray[np.bool_]

UPDATES = ("update", "update/value")
"""What is known of a step alone, whether or not its gradient is."""

Role = Literal["weight", "bias", "value", "buffer", "count"]
BUFFERS = ("buffer", "count")
"""What no optimiser trains."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One named block of the flat arrays of a Frame.

    Attributes
    ----------
    name : str
        As in ``named_parameters`` (``"0.weight"``).
    shape : tuple of int
        ``(out, in)`` for a weight matrix, ``(out,)`` for a bias, ``()`` for a lone Weight.
    start : int
        Index of its first element in the flat arrays, C order.
    role : {"weight", "bias", "value", "buffer", "count"}
        What the block is drawn as. A ``"buffer"`` is read by the network and trained by no optimiser (the running
        mean of a norm), a ``"count"`` is one that counts, and is not drawn.
    """

    name: str
    shape: tuple[int, ...]
    start: int
    role: Role = "weight"

    @property
    def size(self) -> int:
        """Number of scalars."""
        return prod(self.shape)

    @property
    def buffer(self) -> bool:
        """Whether its numbers are no weights: no gradient goes to them."""
        return self.role in BUFFERS

    @property
    def span(self) -> slice:
        """Where the block lies in the flat arrays."""
        return slice(self.start, self.start + self.size)

    def of(self, flat: FloatArray) -> FloatArray:
        """The block of `flat` in its own shape (a view)."""
        return flat[self.span].reshape(self.shape)

    def stored(self, flat: FloatArray) -> NDArray[Any]:
        """A copy of the block as files have it: counts are int64."""
        block = self.of(flat)
        with np.errstate(invalid="ignore"):
            return block.astype(np.int64) if self.role == "count" else block.copy()


@dataclass(frozen=True, slots=True)
class Stage:
    """What one call of a module made, on the way from input to output, as the picture draws it.

    Attributes
    ----------
    name : str
        Module path (``"0"``), with a number behind it from the second call on (``"0 (2)"``); ``"output"`` for what
        the model itself returns. Also the key in :attr:`Frame.activations`.
    kind : str
        ``"linear"``, the name of the activation (``"sigmoid"``, ``"tanh"``), or what the module calls its stage
        (``"conv2d"``, ``"max_pool2d"``, ``"softmax"``).
    outputs : int
        Length of its output row (a picture C x H x W in C order).
    weight, bias : Tensor or None
        Only for ``"linear"``.
    shape, input_shape : tuple of int
        Of what leaves and enters it: (C, H, W) of pictures, (n,) of rows; empty where nobody said.
    sources : tuple of str
        The stages whose rows it reads, ``"input"`` for the sample, in their order; empty: the stage before it.
    whole : bool
        Of ``"linear"``: whether its columns are those rows, all of them, one after the other.
    """

    name: str
    kind: str
    outputs: int
    weight: Tensor | None = None
    bias: Tensor | None = None
    shape: tuple[int, ...] = ()
    input_shape: tuple[int, ...] = ()
    sources: tuple[str, ...] = ()
    whole: bool = True


def is_chain(stages: Sequence[Stage]) -> bool:
    """Whether every stage reads the rows of the one before it and of no other, and no layer comes twice."""
    before = ["input", *(stage.name for stage in stages)]
    called = [stage.weight.start for stage in stages if stage.weight is not None]
    return len(called) == len(set(called)) and all(
        stage.whole and stage.sources in ((), (name,)) for stage, name in zip(stages, before, strict=False)
    )


class Curve(NamedTuple):
    """Step numbers, losses and learning rates, arrays of one length (read only: they are views)."""

    step: NDArray[np.int64]
    loss: NDArray[np.float64]
    lr: NDArray[np.float64]

    def part(self, places: slice | NDArray[Any]) -> Curve:
        """Some of its steps, by their places."""
        return Curve(self.step[places], self.loss[places], self.lr[places])

    def up_to(self, step: int) -> Curve:
        """Its steps up to one of them."""
        return self.part(slice(int(np.searchsorted(self.step, step, "right"))))

    def after(self, step: int) -> Curve:
        """Its steps after one of them."""
        return self.part(slice(int(np.searchsorted(self.step, step, "right")), None))

    def followed(self, step: int, loss: NDArray[np.float64], lr: NDArray[np.float64]) -> Curve:
        """It and what came after it, up to `step`; where that does not follow, a line of its own."""
        more = Curve(np.arange(step - len(loss) + 1, step + 1), loss, lr)
        if len(self.step) and self.step[-1] != more.step[0] - 1:
            return more
        return Curve(*(np.concatenate(parts) for parts in zip(self, more, strict=True)))

    def of_weights(self, step: int = 0, loss: float = float("nan")) -> Curve:
        """The same losses by the weights that they are of: those before their step. Behind them those of a `step`."""
        if loss != loss:
            return Curve(self.step - 1, self.loss, self.lr)
        kept = self.up_to(step)
        return Curve(np.append(kept.step - 1, step), np.append(kept.loss, loss), np.append(kept.lr, float("nan")))


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The same array, which nobody can write to any more."""
    array.flags.writeable = False
    return array


NO_CURVE = Curve(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))


@dataclass(frozen=True, slots=True)
class Frame:
    """One consistent snapshot: the values after step `step`, and what that step did.

    Attributes
    ----------
    step : int
        Number of training steps done.
    loss : float
        Loss of that step (NaN before the first).
    lr : float
        Learning rate of that step.
    values, gradient, update : ndarray, shape (P,)
        Weights after the step; the step's gradient, taken at the values before it; new minus old value.
    computed, frozen : ndarray of bool, shape (P,)
        Whether a gradient has been computed at all; whether the weight is left alone by the optimiser.
    activations : mapping of str to ndarray
        ``"input"`` and every :class:`Stage` name to its row for the probe sample.
    dead : mapping of str to ndarray of bool
        Per rectifier stage, the units that are zero, at these values, for every one of the first samples of the
        data: 256 of them, of a large net fewer (at least 32).
    saturated : mapping of str to ndarray
        Per sigmoid and tanh stage and unit, the share of those samples at which it is flat: its slope is below a
        thousandth of its largest.
    units_step : int or None
        The step that `dead` and `saturated` are of, None: of this one. A window finds them less often where that takes
        long.
    curve : Curve
        The history up to this step.
    edited : bool
        Whether weights or data were changed from outside since the step: `loss`, `gradient`, `update` and the end of
        `curve` belong to the numbers before.
    next_lr : float or None
        Learning rate of the coming step, None where nobody trains.
    stopped_by : str
        The breakpoint that stopped the run after this step, with its numbers; empty where none did.
    past : Past or None
        Where the run can go from here, and what happened where; None where nothing keeps a past.
    units : Units or None
        Who finds `dead` and `saturated` when they are looked at.
    settings : Setup or None
        How the run trained then: optimiser, batch, penalties; None where nobody trains.
    data : Data or None
        What was learnt from then (numbers of a sample, N), the same object as long as nobody changed it.
    state : mapping of str to ndarray, shape (P,)
        What the optimiser keeps for each weight after the step, by its names (``"exp_avg"``); empty where nobody asked
        for it, and where there is nothing.
    forward : Forward or None
        The network that the values are of (``forward.tensors``, ``forward.stages``), where there is one: a run may have
        another one since.
    moved : ndarray of bool, shape (P,), or None
        Whether `update` is known; None: where a gradient has been computed.
    together : int
        How many steps `update` is of: more than one where nobody looked in between.
    coming : Coming or None
        Who finds the loss of these values on the batch of the coming step; None where nobody trains.
    master : ndarray of float32, shape (P,), or None
        Of a run in float16: the weights that the optimiser changes, which `values` are rounded from, and which `update`
        is of. None in another dtype, where they are the values.
    probe_loss, shown_loss : float or None
        Of a recorded frame: the loss of the probe sample alone, and the one that pictures tell, at these values; None
        where it was not recorded. A live frame's are worked out when they are looked at.
    """

    step: int
    loss: float
    lr: float
    values: FloatArray
    gradient: FloatArray
    update: FloatArray
    computed: BoolArray
    frozen: BoolArray
    activations: Mapping[str, FloatArray] = field(default_factory=dict)
    dead: Mapping[str, BoolArray] = field(default_factory=dict)
    saturated: Mapping[str, FloatArray] = field(default_factory=dict)
    curve: Curve = NO_CURVE
    edited: bool = False
    next_lr: float | None = None
    stopped_by: str = ""
    past: Past | None = None
    forward: Forward | None = field(default=None, repr=False, compare=False)
    units_step: int | None = None
    units: Units | None = field(default=None, repr=False, compare=False)
    settings: Setup | None = field(default=None, repr=False, compare=False)
    data: Data | None = field(default=None, repr=False, compare=False)
    state: Mapping[str, FloatArray] = field(default_factory=dict)
    probe_loss: float | None = None
    shown_loss: float | None = None
    moved: BoolArray | None = None
    together: int = 1
    master: FloatArray | None = None
    coming: Coming | None = field(default=None, repr=False, compare=False)

    @property
    def exact(self) -> FloatArray:
        """The weights that the optimiser changes, (P,): the float32 ones of a run in float16."""
        return self.values if self.master is None else self.master

    def known(self, quantity: str) -> BoolArray:
        """Of which weights there is a number, (P,), of a quantity by its name; the values are always known."""
        if quantity == "weight":
            return np.ones(len(self.values), bool)
        return self.moved if self.moved is not None and quantity in UPDATES else self.computed

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles hold the numbers; the network stays here."""
        here = ("forward", "units", "data", "coming")
        return Frame, tuple(None if part.name in here else getattr(self, part.name) for part in fields(self))

    @property
    def told_loss(self) -> float:
        """That of these weights, as far as anybody knows it: recorded, or of the coming batch; else of the step."""
        if self.shown_loss is not None:
            return self.shown_loss
        return self.loss if self.coming is None else self.coming.loss

    def samples(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Copies of inputs (N, n_inputs) and targets (N, n_targets) that were learnt from; None where nothing is."""
        if self.data is None or self.forward is None:
            return None
        n, m = self.forward.tape.n_inputs, self.forward.tape.n_targets
        return self.data[:n].T.copy(), self.data[n : n + m].T.copy()

    def with_activations(self, activations: Mapping[str, FloatArray]) -> Frame:
        """The same frame with the rows of a probe sample."""
        return replace(self, activations=activations)

    def with_units(self, units: Units) -> Frame:
        """The same frame with the dead and saturated units of another moment."""
        return replace(self, dead=units.dead, saturated=units.saturated, units_step=units.step, units=units)


class Units:
    """Finds dead and saturated units of one moment, both at the first look, as of a Frame.

    It takes a forward pass of some samples, two steps of a large network: nobody pays who does not look.
    `data` is never written to; `samples` and `seconds` are 0 as long as nobody has looked.
    """

    def __init__(self, forward: Forward, values: NDArray[Any], data: Data, step: int) -> None:
        self.step, self.samples, self.seconds = step, 0, 0.0
        self.dead: Mapping[str, BoolArray] = _Part(self, 0)
        self.saturated: Mapping[str, FloatArray] = _Part(self, 1)
        self._asked: tuple[Forward, NDArray[Any], Data] | None = (forward, values, data)
        self._found: tuple[Mapping[str, BoolArray], Mapping[str, FloatArray]] = ({}, {})
        self._finding = threading.Lock()

    def find(self) -> tuple[Mapping[str, BoolArray], Mapping[str, FloatArray]]:
        """Dead and saturated units; any thread may ask."""
        with self._finding:
            if self._asked is not None:
                forward, values, data = self._asked
                start = perf_counter()
                with np.errstate(invalid="ignore", over="ignore"):  # a diverged run holds infinities
                    self._found = forward.units(values, data)
                self.samples, self.seconds = forward.watched(data), perf_counter() - start
                self._asked = None  # old data is let go of
            return self._found


class Coming:
    """The batch of the coming step, and the loss that it will have: that of the weights shown. Found at the first look.

    It is the number that the step itself will compute, penalties and dropout included. `data` is never written to.
    """

    def __init__(self, forward: Forward, values: NDArray[Any], data: Data, setup: Setup, step: int) -> None:
        self._asked, self._finding = (forward, values, data, setup, step), threading.Lock()
        self._loss: float | None = None

    @property
    def loss(self) -> float:
        """At the values of the frame; any thread may ask."""
        with self._finding:
            if self._loss is None:
                forward, values, data, setup, step = self._asked
                n, m = forward.tape.n_inputs, forward.tape.n_targets
                numbers = data[: n + m, setup.batch(step)]
                with np.errstate(all="ignore"):  # a diverged run holds infinities
                    found = forward.evaluate(numbers[:n].T, numbers[n:].T, values, Draws(setup.seed, step, 0))
                    weights = sum(tensor.size for tensor in forward.tensors if not tensor.buffer)
                    self._loss = found + setup.limits.penalty(values[:weights])
            return self._loss


class _Part(Mapping[str, NDArray[Any]]):
    """One of the two, as a mapping. Copies and pickles are plain dictionaries."""

    def __init__(self, units: Units, which: int) -> None:
        self._units, self._which = units, which

    def __getitem__(self, stage: str) -> NDArray[Any]:
        return self._units.find()[self._which][stage]

    def __iter__(self) -> Iterator[str]:
        return iter(self._units.find()[self._which])

    def __len__(self) -> int:
        return len(self._units.find()[self._which])

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


# ---- What a picture shows of the past: the branches of a run, its edits and its named moments, as data


@dataclass(frozen=True, slots=True)
class Flag:
    """A moment that was named."""

    step: int
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """One line of steps.

    Attributes
    ----------
    number : int
        Counts from 0, the line that the run began with; it stays as long as there is the branch.
    parent : int or None
        The branch that it left; None where it began by itself (a loaded file).
    first, newest : int
        The step after which it left its parent, or at which it begins; its last step.
    curve, edits : Curve, tuple of Applied
        Its own, those after `first`.
    current : bool
        Whether the run is on it.
    why : str
        What made it begin, in words (``"0.weight[2][1] = 2"``); empty for the first.
    """

    number: int
    parent: int | None
    first: int
    newest: int
    curve: Curve = NO_CURVE
    edits: tuple[Applied, ...] = ()
    current: bool = False
    why: str = ""

    def __repr__(self) -> str:
        begun = f", begun by {self.why!r}" if self.why else ""
        now = ", current" if self.current else ""
        return f"Branch({self.number}: steps {self.first:,} to {self.newest:,}{begun}{now})"


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """The time around one frame: where it can go, and what happened where."""

    first: int
    newest: int  # steps at which the run can stand, on the branch of now
    curve: Curve = NO_CURVE
    edits: tuple[Applied, ...] = ()  # all of that branch, those before it left its parent included
    branches: tuple[Branch, ...] = ()  # all of them, the oldest first, that of now included
    flags: tuple[Flag, ...] = ()  # named moments of that branch, by step
    undo: str = ""
    # what the next undo and redo would do, in the words of the edit; empty where there is nothing
    redo: str = ""
    # where it can stand, in order, if not at every step from `first` to `newest`
    steps: NDArray[np.int64] | None = None
    seed: int | None = None  # what drew the first weights of that branch, where a restart did

    def nearest(self, step: int) -> int:
        """The step nearest to `step` at which one can stand."""
        if self.steps is None:
            return step
        after = int(np.searchsorted(self.steps, step))
        near = self.steps[max(after - 1, 0) : after + 1]
        return int(near[np.argmin(np.abs(near - step))])

    def neighbour(self, step: int, by: int) -> int:
        """Where one stands `by` steps of those at which one can after `step` (before it, below 0); perhaps nowhere.

        From a step between two of them the first one is the next in that direction.
        """
        if self.steps is None:
            return step + by
        first = np.searchsorted(self.steps, step, side="right" if by > 0 else "left")
        place = int(first) + by - (1 if by > 0 else 0)
        if place < 0:
            return self.first - 1
        return int(self.steps[place]) if place < len(self.steps) else self.newest + 1
