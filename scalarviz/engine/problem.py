"""What an engine gets and what it offers: a `Problem` goes in, a `Trainer` comes out.

* The optimiser's rule is recorded with `Limits`, so engines need little for them: the value of the penalties and the
  length of the gradient are sums over all weights, computed between backward and update.
* A `Readback` is a question for numbers in the middle of a long call. Only an engine with its own memory needs it: it
  looks now and then whether somebody waits (:attr:`Trainer.asked`), copies beside its steps, and hands the copy over.
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
from ..errors import InputError, StateError
from ..memory import check_memory
from ..scalar.mask import Draws
from ..scalar.store import Store
from ..tape import Plan, Program, Tape, Track
from .data import Data
from .outside import Ahead, Outside

TINY = 1e-6
"""What PyTorch adds to the length of a gradient before it divides by it."""
CLIP = 2
"""Its place among the numbers of a step: after the rate and the number of the step."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Penalties and clipping."""

    l1: float = 0.0  # the loss of a step has ``l1 * sum(abs(w)) + l2 * sum(w * w)`` on top, over all weights
    l2: float = 0.0
    # the gradient of the trained weights, penalties included, is scaled down to this length
    clip_norm: float | None = None
    clip_value: float | None = None  # then each of its numbers is cut to ``-clip_value .. clip_value``

    @property
    def penalised(self) -> bool:
        """Whether the loss has anything on top."""
        return self.l1 != 0 or self.l2 != 0

    @property
    def between(self) -> bool:
        """Whether there is a sum over all weights between backward and update."""
        return self.penalised or self.clip_norm is not None

    def numbers(self, n_weights: int) -> NDArray[np.float64]:
        """What compiled sums are given: the numbers, what is added to the length, the result's place, the weights."""
        length = -1.0 if self.clip_norm is None else self.clip_norm
        return np.array([self.l1, self.l2, length, TINY, CLIP, n_weights])

    def penalty(self, values: NDArray[Any]) -> float:
        """What the loss has on top at these weights, (P,)."""
        if not self.penalised:
            return 0.0
        wide = values.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            return float(self.l1 * np.abs(wide).sum() + self.l2 * np.square(wide).sum())

    def coefficient(self, values: NDArray[Any], gradient: NDArray[Any], trained: NDArray[np.bool_]) -> float:
        """What the gradient (P,) of the losses, penalties not yet included, is to be multiplied by."""
        if self.clip_norm is None:
            return 1.0
        w, g = values[trained].astype(np.float64), gradient[trained].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            length = math.sqrt(np.square(g + self.l1 * np.sign(w) + 2 * self.l2 * w).sum())
        return min(1.0, self.clip_norm / (length + TINY)) if length == length else math.nan


NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True, eq=False)
class Midway:
    """Numbers after one step inside a call, shape (P,). All arrays are copies that nobody writes to any more."""

    values: NDArray[Any]
    gradient: NDArray[Any]
    previous: NDArray[Any]  # the weights that the gradient was taken at
    losses: NDArray[np.float64]  # of the steps of this call so far, at least one; the last is that of the step


class Readback(Protocol):
    """Somebody waits for numbers."""

    def give(self, now: Midway) -> None:
        """Hand them over, in ``train``'s thread, before it returns; who is not given any gets the numbers after it."""


Asked = Callable[[], Readback | None]
"""Whether somebody waits who was not told of before. Called as often as one likes: it looks at an empty queue."""


Array = NDArray[Any]

Share = Callable[[Array], NDArray[np.float64]]
"""Targets, an array (samples, n_targets), to float64 of shape (samples,)."""

DTYPES = ("float32", "float64")
"""In which an engine may compute."""
HALF = "float16"
"""A run of this dtype keeps and computes float32, and its graph rounds each number (``tape/half``)."""

CACHE_BYTES = 512 * 1024
"""What the rows of a block may fill: half of a usual second-level cache. The same on every machine, for the bits."""

CROWD = 2 * 1024**3
"""Rows times squared bytes of a row beyond which fewer lanes are quicker: half the lanes halve what the rows fill and
double the calls. Measured on forty programs; 256 float32 lanes up to 2,048 rows, 128 up to 8,192, 64 up to 32,768."""

WEIGHTS_A_ROW = 64
"""From so many weights to a row on, the weights' gradients go through memory more often than rows do: blocks stay."""

Rates = float | NDArray[np.float64]
"""Of the steps of a call: one for all, or a table with a line a step."""
Reduction = Literal["mean", "sum"]
Sampling = Literal["epochs", "replacement"]

SAMPLINGS = ("epochs", "replacement")
"""How the samples of a step are chosen: in keyed order, each once an epoch, or each drawn anew out of all."""


@dataclass(slots=True)
class Problem:
    """A model bound to data, numbers and an optimiser. The arrays are live: engines change them in place.

    They are of shape (P,), in the run's dtype (float32 or float64). The inputs of `update`, the update of one
    weight, are ``w, g, *state, *columns``, its theta ``[lr, t]`` (t counts from 1), its outputs ``w,
    *state``; engines run it with the parameters as lanes. Where the gradient's length is limited, theta has a
    third number, which engines put in: what the gradient is multiplied by. Behind it are rates of the
    parameter groups but the first, then momenta where a schedule moves them.
    """

    plan: Plan
    update: Plan
    store: Store  # ``value`` and ``grad`` of the parameters
    state: list[Array]  # the optimiser's
    data: Data
    batch: int  # samples a step; at most N where an epoch orders them
    seed: int
    reduction: Reduction
    # weights that the optimiser holds and that are not frozen; it is replaced, never written to
    trained: NDArray[np.bool_]
    previous: Array  # the values before the last step of the last call
    block: int = 0  # lanes of a pass on the CPU: changes bits; 0: `default_block`
    t_start: int = 0  # steps that the optimiser had done before this run: its ``t`` counts on
    threads: int = 1  # how many may be used; they change no bits
    sampling: Sampling = "epochs"
    # targets (samples, n_targets) to what each sample adds to the number that a mean divides by; None: 1
    share: Share | None = None
    limits: Limits = NO_LIMITS
    columns: list[Array] = field(default_factory=list)  # the number of each weight's parameter group
    # of several groups the update of each, with its own rate, factor of the gradient and momentum in theta
    rules: list[Plan] = field(default_factory=list)
    n_weights: int = 0  # the first of the store's numbers, on which penalties are; buffers stand behind; 0: all
    tape: Tape | None = None  # what the plan was made of, where that is not the model's own Values
    _ahead: Ahead | None = field(default=None, init=False, repr=False)
    _shares: tuple[Data, Share, NDArray[np.float64] | None] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.block == 0:
            self.block = default_block(self.plan.body, self.store.value.itemsize)
        self.n_weights = self.n_weights or len(self.store.value)

    def scales(self, first: int, count: int) -> NDArray[np.float64]:
        """Factor of one sample's loss in the loss of the batch, in the steps ``first + 1 .. first + count``."""
        if self.share is not None and self.reduction == "mean" and isinstance(self.data, Outside):
            return np.array([self._scale_ahead(self.share, first + k) for k in range(count)])
        shares = self._known_shares() if self.reduction == "mean" else None
        if shares is None:
            return np.full(count, 1.0 / self.batch if self.reduction == "mean" else 1.0)
        if self.whole:
            return np.full(count, inverse(shares.sum()))
        return np.array([inverse(shares[self.indices(first + k)].sum()) for k in range(count)])

    def _scale_ahead(self, share: Share, step: int) -> float:
        """The factor in one step, from the targets that are read for it."""
        n = self.plan.n_inputs
        return inverse(share(self.samples_of(step)[0][n : n + self.plan.n_targets].T).sum())

    @property
    def steady(self) -> bool:
        """Whether that factor is the same in all steps."""
        if self.reduction == "sum" or self.share is None:
            return True
        return not isinstance(self.data, Outside) and (self.whole or self._known_shares() is None)

    def _known_shares(self) -> NDArray[np.float64] | None:
        """Those of all samples, computed once a data set; None where each is 1."""
        if self.share is None:
            return None
        known = self._shares
        if known is None or known[0] is not self.data or known[1] is not self.share:
            n = self.plan.n_inputs
            found = self.share(self.data[n : n + self.plan.n_targets].T)
            known = self._shares = (self.data, self.share, None if (found == 1.0).all() else found)
        return known[2]

    def draws(self, step: int, place: int) -> Draws:
        """What the dropout masks of step ``step + 1`` are drawn from, for the samples of its batch from `place` on."""
        return Draws(self.seed, step, place)

    @property
    def of_weights(self) -> NDArray[np.bool_]:
        """Which of the store's numbers are weights, that have gradients; shape (P,)."""
        return np.arange(len(self.store.value)) < self.n_weights

    @property
    def whole(self) -> bool:
        """Whether every step has all samples, in order: then nothing needs to be picked."""
        return self.sampling == "epochs" and self.batch == self.data.shape[1]

    @property
    def epoch(self) -> int:
        """Steps of an epoch; where samples are drawn with replacement those that have as many samples."""
        return max(1, int(self.data.shape[1]) // self.batch)

    def indices(self, step: int) -> NDArray[np.int64]:
        """The samples of training step `step` (the first is 0): what every engine does."""
        return indices(self.seed, step, self.data.shape[1], self.batch, self.sampling)

    def ready(self, first: int, count: int) -> int:
        """How many of the steps ``first + 1 .. first + count`` can be done now: at least 1, else all.

        Data that is not in memory is read for them; InputError if the samples of the first cannot be read or used.
        """
        data = self.data
        if not isinstance(data, Outside):
            return count
        if self._ahead is None or not self._ahead.holds(self, first):
            self._ahead = None  # free the memory first
            self._ahead = Ahead(self, data, first, count)
        return self._ahead.left(first, count)

    def batches(self, first: int) -> tuple[Data, bool]:
        """The samples that steps from ``first + 1`` on read; and whether they are their batches one behind the other.

        Otherwise they are all samples, out of which :meth:`indices` picks those of a step.
        """
        self.ready(first, 1)
        if self._ahead is None or not isinstance(self.data, Outside):
            return self.data, False
        return self._ahead.since(first), not self._ahead.whole

    def samples_of(self, step: int) -> tuple[Data, NDArray[np.int64] | None]:
        """Where the samples of step ``step + 1`` are, and which they are; None: all, in order."""
        self.ready(step, 1)
        if self._ahead is not None and isinstance(self.data, Outside):
            return self._ahead.since(step, 1), None
        return self.data, None if self.whole else self.indices(step)

    @property
    def order_shape(self) -> tuple[np.uint64, np.uint64, int]:
        """Upper bits, lower bits and rounds of the network that orders an epoch; no rounds: drawn with replacement."""
        none = np.uint64(0), np.uint64(0), 0
        return rng.shape_of(self.data.shape[1]) if self.sampling == "epochs" else none


def indices(seed: int, step: int, samples: int, batch: int, sampling: Sampling) -> NDArray[np.int64]:
    """Which samples a step takes, whoever asks, the first step being 0."""
    of = rng.batch_indices if sampling == "epochs" else rng.drawn_indices
    return of(seed, step, samples, batch)


def inverse(divisor: float) -> float:
    """``1 / divisor``, infinite for 0: then a mean of nothing becomes NaN."""
    return 1.0 / float(divisor) if divisor != 0 else np.inf


def default_block(program: Program, itemsize: int) -> int:
    """How many lanes go through a program together: the most of 1024 and 512 whose rows stay in the cache.

    Else 256, down to 32 where rows are many; but not where wide layers' gradients are added to once a block.
    """
    rows = program.n_rows
    for lanes in (1024, 512):
        if 2 * rows * lanes * itemsize <= CACHE_BYTES:
            return lanes
    if program.n_theta >= WEIGHTS_A_ROW * rows:
        return 256
    return next((lanes for lanes in (256, 128, 64) if rows * (lanes * itemsize) ** 2 <= CROWD), 32)


def rates_of(rates: Rates, start: int, count: int) -> Rates:
    """Those of some steps of a call."""
    return rates[start : start + count] if isinstance(rates, np.ndarray) else rates


class Trainer(Protocol):
    """An engine at work on one problem.

    One with a memory of its own may keep a snapshot there, but at the return of every method the host's
    arrays are true, and between two calls whoever likes may change them.
    """

    name: str  # as in the table of engines
    breakable: bool  # Ctrl-C or an error of the model may come in the middle of a step: Python code computes it
    asked: Asked | None  # set by whoever wants numbers from the middle of calls

    @property
    def ready(self) -> bool:
        """Whether the next call begins at once."""

    def prepare(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Compile and load what the first call needs; StateError if `stopped`, asked now and then, gives it up."""

    @property
    def call_overhead(self) -> float:
        """Seconds that every call costs beside its steps (copies to a device and back), as measured last."""

    @property
    def remark(self) -> str:
        """What a user should know of how it works just now, one clause; empty where nothing is to be said."""

    def train(self, first: int, count: int, lr: Rates) -> NDArray[np.float64]:
        """Do the steps ``first + 1 .. first + count``, so `first` are done already; returns their losses, (count,).

        `lr` is the rate of all of them, or that of each, shape (count, 1). A step is: zero the gradients,
        forward, loss, backward, update; its loss is at the values before its update. At return ``store.grad``
        is the last step's gradient and ``previous`` the values that it was taken at.
        """

    def gradient(self, step: int) -> float:
        """Forward and backward of the batch of step ``step + 1``, no update; fills ``store.grad``, returns the loss."""

    def snapshot(self) -> None:
        """Keep values, gradient, `previous` and the optimiser's state as they are on the host now.

        The next snapshot takes its place. It may be taken where the next call begins: nothing comes in between.
        """

    def rewind(self) -> None:
        """Go back to the last snapshot, on the host too; more than once if need be."""

    def finite(self) -> bool:
        """Whether no weight is a NaN or an infinity after the last call."""

    def release(self) -> None:
        """Give back all that is held beside the host's memory; the next call takes it again."""


class HostTrainer:
    """What a `Trainer` does with the host's arrays, each of which may be replaced by another of its shape."""

    problem: Problem
    call_overhead: float = 0.0
    remark: str = ""
    asked: Asked | None = None
    _kept: Sequence[Array] = ()

    @property
    def ready(self) -> bool:
        """Nothing is to be done before the first call."""
        return True

    def prepare(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Nothing is to be done before the first call."""

    def _changing(self) -> tuple[Array, ...]:
        """What a step changes."""
        problem = self.problem
        return (problem.store.value, problem.store.grad, problem.previous, *problem.state)

    def snapshot(self) -> None:
        """Keep all that a step changes, in arrays that are used again: fresh memory costs more than copying."""
        arrays = self._changing()
        if not self._fit(arrays):
            self._kept = [np.empty_like(array) for array in arrays]
        for kept, array in zip(self._kept, arrays, strict=True):
            np.copyto(kept, array)

    def rewind(self) -> None:
        """Go back to the last snapshot; StateError if there is none, or the optimiser has other arrays since."""
        arrays = self._changing()
        if not self._fit(arrays):
            raise StateError(f"rewind: these {len(arrays)} arrays have no snapshot; call snapshot() first")
        for kept, array in zip(self._kept, arrays, strict=True):
            np.copyto(array, kept)

    def _fit(self, arrays: Sequence[Array]) -> bool:
        return [kept.shape for kept in self._kept] == [array.shape for array in arrays]

    def release(self) -> None:
        """There is nothing but the host's memory."""

    def finite(self) -> bool:
        """Whether no weight is a NaN or an infinity."""
        return bool(np.isfinite(self.problem.store.value).all())


def check_coupled(program: Program, batch: int, lane_bytes: int, training: bool = True) -> None:
    """Refuse a batch that cannot go through a program as a whole; `lane_bytes` is what a sample takes with adjoints.

    It would take more memory than there is, or a variance in training would be that of one number.
    """
    if not program.couples:
        return
    if training and batch < program.fewest:
        raise InputError(
            "batch normalisation in training needs the variance of a channel over the batch, and a batch of 1 sample "
            "has none; use a larger batch, or call eval() of the norm"
        )
    what = f"{program.n_rows:,} rows with their adjoints for all {batch:,} samples of a batch that is normalised"
    check_memory(batch * lane_bytes, what, "use a smaller batch")


def factor_of(track: Track, batch: int) -> float:
    """What a statistic is multiplied by: PyTorch's running variance is divided by n - 1."""
    n = batch * track.positions
    return n / (n - 1) if n > 1 else 1.0


def follow(
    tracks: tuple[Track, ...], batch: int, stats: NDArray[Any], values: NDArray[Any], frozen: NDArray[Any]
) -> None:  # fmt: skip
    """Let the tracked numbers among the `values` follow the statistics of a step, one after the other, in float64.

    `stats` has the number of each track's row, anything where it has none. What is frozen stays.
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
