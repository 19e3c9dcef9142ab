"""The interface of an engine: it takes a `Problem` and returns a `Trainer`.

* The optimiser's recorded rule includes the `Limits`. Engines compute only two sums over all weights between backward
  and update: the value of the penalties, and the norm of the gradient.
* A `Readback` requests numbers in the middle of a long call. Only an engine with its own memory needs it. The engine
  checks regularly for requests (:attr:`Trainer.next_readback`), copies during its steps, and delivers the copy.
* Programs that *couple* the samples of a batch (batch norm) need the whole batch in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import rng
from ..checks import check_memory
from ..errors import InputError, StateError
from ..scalar.mask import Draws
from ..scalar.store import Store
from ..tape import Plan, Program, Tape, Track
from .data import Data
from .outside import Outside, Prefetched

TINY = 1e-6
"""PyTorch adds this to the norm of a gradient before dividing by it."""
CLIP = 2
"""The index of the clipping factor in the numbers of a step: after learning rate and step number."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Penalties on the weights, and clipping of the gradient."""

    l1: float = 0.0  # a step adds ``l1 * sum(abs(w)) + l2 * sum(w * w)`` over all weights to its loss
    l2: float = 0.0
    # the greatest length of the gradient of the trained weights, penalties included; a longer one is scaled down
    clip_norm: float | None = None
    clip_value: float | None = None  # after that, each number is clipped to ``-clip_value .. clip_value``

    @property
    def penalised(self) -> bool:
        """True if the loss has a penalty."""
        return self.l1 != 0 or self.l2 != 0

    @property
    def between(self) -> bool:
        """True if a step needs a sum over all weights between backward and update."""
        return self.penalised or self.clip_norm is not None

    def numbers(self, n_weights: int) -> NDArray[np.float64]:
        """Return the arguments of compiled sums: l1, l2, clip_norm (-1: none), `TINY`, `CLIP`, number of weights."""
        length = -1.0 if self.clip_norm is None else self.clip_norm
        return np.array([self.l1, self.l2, length, TINY, CLIP, n_weights])

    def penalty(self, values: NDArray[Any]) -> float:
        """Return the penalty that the loss includes at these weights, (P,)."""
        if not self.penalised:
            return 0.0
        wide = values.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            return float(self.l1 * np.abs(wide).sum() + self.l2 * np.square(wide).sum())

    def coefficient(self, values: NDArray[Any], gradient: NDArray[Any], trained: NDArray[np.bool_]) -> float:
        """Return the clipping factor for the gradient (P,) of the losses, which does not include penalties yet."""
        if self.clip_norm is None:
            return 1.0
        w, g = values[trained].astype(np.float64), gradient[trained].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            length = math.sqrt(np.square(g + self.l1 * np.sign(w) + 2 * self.l2 * w).sum())
        return min(1.0, self.clip_norm / (length + TINY)) if length == length else math.nan


NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True, eq=False)
class Midway:
    """Numbers after one step inside a call, shape (P,). All arrays are copies that no longer change."""

    values: NDArray[Any]
    gradient: NDArray[Any]
    previous: NDArray[Any]  # the weights at which the gradient was computed
    losses: NDArray[np.float64]  # losses of the steps of this call so far, at least one; the last is that of the step


Readback = Callable[[Midway], object]
"""Takes the requested numbers, in ``train``'s thread, before it returns; otherwise those after the call are used."""

NextReadback = Callable[[], Readback | None]
"""Returns a new request, or None. It is cheap: it looks at a queue, which is usually empty."""


Array = NDArray[Any]

Share = Callable[[Array], NDArray[np.float64]]
"""A function from targets (samples, n_targets) to float64 of shape (samples,)."""

DTYPES = ("float32", "float64")
"""The dtypes in which an engine may compute."""
HALF = "float16"
"""A run of this dtype stores and computes float32, and its graph rounds each number (``tape/half``)."""

CACHE_BYTES = 512 * 1024
"""The most bytes of a block's rows: half of a usual second-level cache. Equal on every machine, for equal bits."""

CROWD = 2 * 1024**3
"""If rows times squared bytes per row exceed this, fewer lanes are faster: half the lanes halve the memory of the rows
and double the calls. Measured on forty programs: 256 float32 lanes up to 2,048 rows, 128 up to 8,192, 64 up to 32,768.
"""

WEIGHTS_A_ROW = 64
"""With at least this many weights per row, gradients of weights use memory more than rows do: blocks stay large."""

Rates = float | NDArray[np.float64]
"""The learning rates of a call: one for all steps, or a table with one line per step."""
Reduction = Literal["mean", "sum"]
Sampling = Literal["epochs", "replacement"]

SAMPLINGS = ("epochs", "replacement")
"""Ways to choose the samples of a step: each once per epoch, in an order from the seed; or drawn from all."""


@dataclass(slots=True)
class Problem:
    """A model with its data, numbers and optimiser. Engines change the arrays in place.

    The arrays have shape (P,) and the run's dtype (float32 or float64). `update` is the update of one weight: its
    inputs are ``w, g, *state, *columns``, its theta is ``[lr, t]`` (t counts from 1), its outputs are ``w, *state``.
    Engines run it with the parameters as lanes. If the length of the gradient is limited, theta has a third number,
    the clipping factor, which the engine fills in. Then follow the rates of the other parameter groups, and momenta if
    a schedule changes them.
    """

    plan: Plan
    update: Plan
    store: Store  # ``value`` and ``grad`` of the parameters
    state: list[Array]  # arrays of the optimiser
    data: Data
    batch: int  # samples per step; at most N with epochs
    seed: int
    reduction: Reduction
    # weights that the optimiser has and that are not frozen; the array is replaced, never changed in place
    trained: NDArray[np.bool_]
    previous: Array  # the values before the last step of the last call
    block: int = 0  # lanes of a pass on the CPU, which change the bits; 0: `default_block`
    t_start: int = 0  # steps that the optimiser did before this run: its ``t`` continues from here
    threads: int = 1  # the most threads; they do not change the bits
    sampling: Sampling = "epochs"
    # a function of the targets (samples, n_targets): how much each sample adds to the divisor of a mean; None: 1
    share: Share | None = None
    limits: Limits = NO_LIMITS
    columns: list[Array] = field(default_factory=list)  # the number of each weight's parameter group
    # with several groups, the update of each, with its own rate, clipping factor and momentum in theta
    rules: list[Plan] = field(default_factory=list)
    n_weights: int = 0  # weights come first in the store, then buffers; penalties apply to weights; 0: all are weights
    undoes: bool = False  # whether a step whose gradient overflows is undone, because a loss scale follows it
    tape: Tape | None = None  # the tape of the plan, if it is not that of the model's own Values
    _ahead: Prefetched | None = field(default=None, init=False, repr=False)
    _shares: tuple[Data, Share, NDArray[np.float64] | None] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.block == 0:
            self.block = default_block(self.plan.body, self.store.value.itemsize)
        self.n_weights = self.n_weights or len(self.store.value)

    def scales(self, first: int, count: int) -> NDArray[np.float64]:
        """Return the factor of a sample's loss in the loss of the batch, for steps ``first + 1 .. first + count``."""
        if self.share is not None and self.reduction == "mean" and isinstance(self.data, Outside):
            return np.array([self._scale_ahead(self.share, first + k) for k in range(count)])
        shares = self.shares() if self.reduction == "mean" else None
        if shares is None:
            return np.full(count, 1.0 / self.batch if self.reduction == "mean" else 1.0)
        if self.full_batch:
            return np.full(count, inverse(shares.sum()))
        return np.array([inverse(shares[self.indices(first + k)].sum()) for k in range(count)])

    def _scale_ahead(self, share: Share, step: int) -> float:
        """Return the factor of one step, from the targets that were read for it."""
        n = self.plan.n_inputs
        return inverse(share(self.samples_of(step)[0][n : n + self.plan.n_targets].T).sum())

    @property
    def steady(self) -> bool:
        """True if that factor is the same in all steps."""
        if self.reduction == "sum" or self.share is None:
            return True
        return not isinstance(self.data, Outside) and (self.full_batch or self.shares() is None)

    def shares(self) -> NDArray[np.float64] | None:
        """Return how much each sample adds to the divisor of a mean, computed once per data set; None if all are 1."""
        if self.share is None:
            return None
        known = self._shares
        if known is None or known[0] is not self.data or known[1] is not self.share:
            n = self.plan.n_inputs
            found = self.share(self.data[n : n + self.plan.n_targets].T)
            known = self._shares = (self.data, self.share, None if (found == 1.0).all() else found)
        return known[2]

    def draws(self, step: int, place: int) -> Draws:
        """Return the source of the dropout masks of step ``step + 1``, for the samples of its batch from `place` on."""
        return Draws(self.seed, step, place)

    @property
    def of_weights(self) -> NDArray[np.bool_]:
        """The masks of numbers in the store that are weights, or have gradients; shape (P,)."""
        return np.arange(len(self.store.value)) < self.n_weights

    @property
    def full_batch(self) -> bool:
        """True if every step uses all samples in order, so that nothing has to be picked."""
        return self.sampling == "epochs" and self.batch == self.data.shape[1]

    @property
    def epoch(self) -> int:
        """The number of steps per epoch; with replacement, as many steps as use that many samples."""
        return max(1, int(self.data.shape[1]) // self.batch)

    def indices(self, step: int) -> NDArray[np.int64]:
        """Return the samples of training step `step` (the first is 0), the same for every engine."""
        return indices(self.seed, step, self.data.shape[1], self.batch, self.sampling)

    def read_ahead(self, first: int, count: int) -> int:
        """Return how many of the steps ``first + 1 .. first + count`` can run now, at least 1.

        Reads data that is not in memory; InputError if the samples of the first step cannot be read or used.
        """
        data = self.data
        if not isinstance(data, Outside):
            return count
        if self._ahead is None or not self._ahead.contains(self, first):
            self._ahead = None  # free the memory first
            self._ahead = Prefetched(self, data, first, count)
        return self._ahead.steps_left(first, count)

    def batches(self, first: int) -> tuple[Data, bool]:
        """Return the samples for the steps from ``first + 1`` on; and whether these are batches, one after the other.

        Otherwise they are all samples, from which :meth:`indices` picks those of a step.
        """
        self.read_ahead(first, 1)
        if self._ahead is None or not isinstance(self.data, Outside):
            return self.data, False
        return self._ahead.batches_from(first), not self._ahead.full_batch

    def samples_of(self, step: int) -> tuple[Data, NDArray[np.int64] | None]:
        """Return the data with the samples of step ``step + 1``, and their indices in it; None: all, in order."""
        self.read_ahead(step, 1)
        if self._ahead is not None and isinstance(self.data, Outside):
            return self._ahead.batches_from(step, 1), None
        return self.data, None if self.full_batch else self.indices(step)

    @property
    def order_shape(self) -> tuple[np.uint64, np.uint64, int]:
        """Upper bits, lower bits and rounds of the permutation that orders an epoch; no rounds with replacement."""
        none = np.uint64(0), np.uint64(0), 0
        return rng.shape_of(self.data.shape[1]) if self.sampling == "epochs" else none


def indices(seed: int, step: int, samples: int, batch: int, sampling: Sampling) -> NDArray[np.int64]:
    """Return the indices of the samples of a step, counted from 0."""
    of = rng.batch_indices if sampling == "epochs" else rng.drawn_indices
    return of(seed, step, samples, batch)


def inverse(divisor: float) -> float:
    """Return ``1 / divisor``, infinite for 0, so that a mean of nothing becomes NaN."""
    return 1.0 / float(divisor) if divisor != 0 else np.inf


def default_block(program: Program, itemsize: int) -> int:
    """Return the number of lanes of a block: 1024 or 512, if the rows fit into the cache.

    Otherwise 256, down to 32 for many rows. Programs with many weights per row keep 256, because each block adds to
    the gradients of all weights.
    """
    rows = program.n_rows
    for lanes in (1024, 512):
        if 2 * rows * lanes * itemsize <= CACHE_BYTES:
            return lanes
    if program.n_theta >= WEIGHTS_A_ROW * rows:
        return 256
    return next((lanes for lanes in (256, 128, 64) if rows * (lanes * itemsize) ** 2 <= CROWD), 32)


def rates_of(rates: Rates, start: int, count: int) -> Rates:
    """Return the rates of some steps of a call."""
    return rates[start : start + count] if isinstance(rates, np.ndarray) else rates


class Trainer(Protocol):
    """An engine that trains one problem.

    An engine with its own memory may keep a snapshot there. But when a method returns, the arrays on the host are
    up to date, and other code may change them between two calls.
    """

    name: str  # as in the table of engines
    stops: bool  # whether a call ends behind a step whose gradient overflows, which it undoes (`Problem.undoes`)
    breakable: bool  # True if Ctrl-C or an error of the model can stop it within a step, because Python computes it
    next_readback: NextReadback | None  # set by a caller who needs numbers from the middle of calls

    @property
    def ready(self) -> bool:
        """True if the next call starts without compiling."""

    def prepare(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Compile and load the kernels of the first call; StateError if `stopped` returns True meanwhile."""

    @property
    def call_overhead(self) -> float:
        """Seconds per call besides its steps (copies to a device and back), as last measured."""

    @property
    def remark(self) -> str:
        """One clause that tells the user about a limitation now, or an empty text."""

    def train(self, first: int, count: int, lr: Rates) -> NDArray[np.float64]:
        """Do the steps ``first + 1 .. first + count`` and return their losses, (count,).

        `lr` is one learning rate for all steps, or one per step, shape (count, 1). A step zeroes the gradients, then
        does forward, loss, backward and update. Its loss is that of the values before the update. Afterwards,
        ``store.grad`` is the gradient of the last step, and ``previous`` the values at which it was computed.
        """

    def gradient(self, step: int) -> float:
        """Run forward and backward for step ``step + 1`` without an update; fill ``store.grad`` and return the loss."""

    def snapshot(self) -> None:
        """Keep values, gradient, `previous` and the optimiser's state as they are on the host now.

        The next snapshot replaces this one. An engine may take it at the start of the next call, because nothing
        changes before that.
        """

    def rewind(self) -> None:
        """Return to the last snapshot, also on the host; may be called several times."""

    def finite(self) -> bool:
        """Return whether no weight is a NaN or an infinity after the last call."""

    def release(self) -> None:
        """Free all memory outside the host; the next call allocates it again."""


class HostTrainer:
    """The part of a `Trainer` that works on the host's arrays; other arrays of the same shapes may replace them."""

    problem: Problem
    call_overhead: float = 0.0
    remark: str = ""
    next_readback: NextReadback | None = None
    _snapshot: Sequence[Array] = ()

    @property
    def ready(self) -> bool:
        """True: the first call needs no preparation."""
        return True

    def prepare(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Do nothing: the first call needs no preparation."""

    def _changing(self) -> tuple[Array, ...]:
        """Return the arrays that a step changes."""
        problem = self.problem
        return (problem.store.value, problem.store.grad, problem.previous, *problem.state)

    def snapshot(self) -> None:
        """Copy all arrays that a step changes; the copies are reused, because new memory costs more than copying."""
        arrays = self._changing()
        if not self._fits_snapshot(arrays):
            self._snapshot = [np.empty_like(array) for array in arrays]
        for kept, array in zip(self._snapshot, arrays, strict=True):
            np.copyto(kept, array)

    def rewind(self) -> None:
        """Return to the last snapshot; StateError if there is none, or if the optimiser has other arrays now."""
        arrays = self._changing()
        if not self._fits_snapshot(arrays):
            raise StateError(f"rewind: these {len(arrays)} arrays have no snapshot; call snapshot() first")
        for kept, array in zip(self._snapshot, arrays, strict=True):
            np.copyto(array, kept)

    def _fits_snapshot(self, arrays: Sequence[Array]) -> bool:
        return [kept.shape for kept in self._snapshot] == [array.shape for array in arrays]

    def release(self) -> None:
        """Do nothing: there is no memory outside the host."""

    def finite(self) -> bool:
        """Return whether no weight is a NaN or an infinity."""
        return bool(np.isfinite(self.problem.store.value).all())


def check_coupled(program: Program, batch: int, lane_bytes: int, training: bool = True) -> None:
    """Raise InputError if a batch cannot go through a program as a whole.

    It needs too much memory (`lane_bytes` per sample, gradients included), or its variance would be that of one number.
    """
    if not program.couples:
        return
    if training and batch < program.fewest:
        raise InputError(
            "batch normalisation in training needs the variance of a channel over the batch, and a batch of 1 sample "
            "has none; use a larger batch, or call eval() of that layer"
        )
    what = f"batch normalisation over {batch:,} samples, {program.n_rows:,} numbers and gradients each"
    check_memory(batch * lane_bytes, what, "use a smaller batch")


def factor_of(track: Track, batch: int) -> float:
    """Return the factor n / (n - 1) of a tracked variance, as for PyTorch's running variance."""
    n = batch * track.positions
    return n / (n - 1) if n > 1 else 1.0


def follow(
    tracks: tuple[Track, ...], batch: int, stats: NDArray[Any], values: NDArray[Any], frozen: NDArray[Any]
) -> None:  # fmt: skip
    """Update the tracked numbers in `values` by the statistics of a step, one after the other, in float64.

    `stats` has one number per track; it is ignored for tracks without a row. Frozen numbers do not change.
    """
    with np.errstate(all="ignore"):
        for track, stat in zip(tracks, stats.tolist(), strict=True):
            if frozen[track.index]:
                continue
            old = float(values[track.index])
            if track.row < 0:
                values[track.index] = old + 1.0
                continue
            rate = float(np.divide(1.0, float(values[track.count]))) if math.isnan(track.rate) else track.rate
            values[track.index] = (1.0 - rate) * old + rate * (factor_of(track, batch) * stat)
