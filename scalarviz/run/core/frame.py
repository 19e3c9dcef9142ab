"""`Frame`: one moment of a run as pictures need it, and its past. Plain arrays, copied, never the live store."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...scalar.mask import Draws
from .history import NO_CURVE, Curve
from .tensors import BoolArray, FloatArray

if TYPE_CHECKING:
    from ...engine.data import Data
    from ..edits.base import Applied
    from .graph import Forward
    from .setup import Setup


UPDATES = ("update", "update/value")
"""Quantities that a step can have without a gradient."""


@dataclass(frozen=True, slots=True, eq=False)
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
        Whether a gradient has been computed; whether the optimiser skips the weight.
    activations : mapping of str to ndarray
        ``"input"`` and every :class:`Stage` name to its row for the probe sample.
    dead : mapping of str to ndarray of bool
        Per rectifier stage: the units that are zero, at these values, for every one of the first 256 samples of the
        data (fewer for a large network, at least 32).
    saturated : mapping of str to ndarray
        Per sigmoid and tanh stage: for each unit, the share of those samples with a slope below a thousandth of the
        largest slope.
    units_step : int or None
        The step of `dead` and `saturated`; None: this step. A window computes them less often if they take long.
    curve : Curve
        The history up to this step.
    edited : bool
        Whether weights or data were edited since the step. Then `loss`, `gradient`, `update` and the end of
        `curve` belong to the numbers before the edit.
    next_lr : float or None
        Learning rate of the coming step; None without training.
    stopped_by : str
        The breakpoint that stopped the run after this step, with its numbers; empty for none.
    past : Past or None
        The steps that the run can go to, and the events at them; None without a kept past.
    units : Units or None
        Computes `dead` and `saturated` at first use.
    settings : Setup or None
        Settings of the run at that time: optimiser, batch, penalties; None without training.
    data : Data or None
        Training data at that time (numbers of a sample, N); the same object until the data changes.
    state : mapping of str to ndarray, shape (P,)
        The optimiser's state per weight after the step, by name (``"exp_avg"``); empty if not asked for, or if the
        optimiser has none.
    forward : Forward or None
        The network of the values (``forward.tensors``, ``forward.stages``), if there is one. The run may have another
        network since.
    moved : ndarray of bool, shape (P,), or None
        Whether `update` is known; None: where a gradient has been computed.
    together : int
        Number of steps that `update` covers; more than one if no frame was taken in between.
    coming : Coming or None
        Computes the loss of these values on the batch of the coming step; None without training.
    master : ndarray of float32, shape (P,), or None
        In a float16 run: the weights that the optimiser changes. `values` are rounded from them, and `update` is
        of them. None for other dtypes, where `values` are those weights.
    probe_loss, shown_loss : float or None
        In a recorded frame: the loss of the probe sample alone, and the loss that pictures show, at these values; None
        if not recorded. A live frame computes them when they are needed.
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
        """The weights that the optimiser changes, (P,): float32 in a float16 run."""
        return self.values if self.master is None else self.master

    def known(self, quantity: str) -> BoolArray:
        """Return which weights have a number, (P,), for a quantity by its name; values always have one."""
        if quantity == "weight":
            return np.ones(len(self.values), bool)
        return self.moved if self.moved is not None and quantity in UPDATES else self.computed

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle the numbers only, without network, units and data."""
        here = ("forward", "units", "data", "coming")
        return Frame, tuple(None if part.name in here else getattr(self, part.name) for part in fields(self))

    @property
    def display_loss(self) -> float:
        """The loss of these weights if known (recorded, or of the coming batch); else the loss of the step."""
        if self.shown_loss is not None:
            return self.shown_loss
        return self.loss if self.coming is None else self.coming.loss

    def samples(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Return copies of the training inputs (N, n_inputs) and targets (N, n_targets), or None without data."""
        if self.data is None or self.forward is None:
            return None
        n, m = self.forward.tape.n_inputs, self.forward.tape.n_targets
        return self.data[:n].T.copy(), self.data[n : n + m].T.copy()

    def with_activations(self, activations: Mapping[str, FloatArray]) -> Frame:
        """Return the same frame with the rows of a probe sample."""
        return replace(self, activations=activations)

    def with_units(self, units: Units) -> Frame:
        """Return the same frame with the dead and saturated units of another moment."""
        return replace(self, dead=units.dead, saturated=units.saturated, units_step=units.step, units=units)


class Units:
    """Dead and saturated units of one moment, both computed at first use.

    The forward pass of some samples costs about two steps of a large network, so it waits for the first use.
    `data` is never written to; `samples` and `seconds` are 0 before that.
    """

    def __init__(self, forward: Forward, values: NDArray[Any], data: Data, step: int) -> None:
        self.step, self.samples, self.seconds = step, 0, 0.0
        self.dead: Mapping[str, BoolArray] = _Part(self, 0)
        self.saturated: Mapping[str, FloatArray] = _Part(self, 1)
        self._asked: tuple[Forward, NDArray[Any], Data] | None = (forward, values, data)
        self._found: tuple[Mapping[str, BoolArray], Mapping[str, FloatArray]] = ({}, {})
        self._finding = threading.Lock()

    def find(self) -> tuple[Mapping[str, BoolArray], Mapping[str, FloatArray]]:
        """Return dead and saturated units; any thread may call it."""
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
    """The batch of the coming step and its loss at the weights shown, computed at first use.

    The loss equals the one that the step will compute, penalties and dropout included. `data` is never written to.
    """

    def __init__(self, forward: Forward, values: NDArray[Any], data: Data, setup: Setup, step: int) -> None:
        self._asked, self._finding = (forward, values, data, setup, step), threading.Lock()
        self._loss: float | None = None

    @property
    def loss(self) -> float:
        """Loss at the values of the frame; any thread may read it."""
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
    """Dead or saturated units as a mapping. Copies and pickles are plain dictionaries."""

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


# ---- The past: branches of a run, edits and named moments, as data


@dataclass(frozen=True, slots=True)
class Flag:
    """A named moment."""

    step: int
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """One line of steps.

    Attributes
    ----------
    number : int
        Counts from 0, the first line of the run; it does not change.
    parent : int or None
        The branch that it left; None for a branch with its own start (a loaded file).
    first, newest : int
        The step after which it left its parent, or at which it begins; its last step.
    curve, edits : Curve, tuple of Applied
        Curve and edits of the branch after `first`.
    current : bool
        Whether the run is on it.
    why : str
        The edit that began it, in words (``"0.weight[2][1] = 2"``); empty for the first.
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
    """The steps around one frame that the run can go to, with edits, branches and names."""

    first: int
    newest: int  # first and last step of the current branch that the run can go to
    curve: Curve = NO_CURVE
    edits: tuple[Applied, ...] = ()  # all of that branch, with those before it left its parent
    branches: tuple[Branch, ...] = ()  # all, the oldest first, the current one included
    flags: tuple[Flag, ...] = ()  # named moments of that branch, by step
    undo: str = ""
    # what the next undo and redo would do, in the words of the edit; empty for nothing
    redo: str = ""
    # the steps that the run can go to, in order, if not every step from `first` to `newest`
    steps: NDArray[np.int64] | None = None
    seed: int | None = None  # what drew the first weights of that branch, where a restart did

    def nearest(self, step: int) -> int:
        """Return the nearest step to `step` that the run can go to."""
        if self.steps is None:
            return step
        after = int(np.searchsorted(self.steps, step))
        near = self.steps[max(after - 1, 0) : after + 1]
        return int(near[np.argmin(np.abs(near - step))])

    def neighbour(self, step: int, by: int) -> int:
        """Return the step that lies `by` reachable steps after `step` (before it if negative); it may not exist.

        From a step between two reachable ones, the nearer one in that direction counts as the first.
        """
        if self.steps is None:
            return step + by
        first = np.searchsorted(self.steps, step, side="right" if by > 0 else "left")
        place = int(first) + by - (1 if by > 0 else 0)
        if place < 0:
            return self.first - 1
        return int(self.steps[place]) if place < len(self.steps) else self.newest + 1
