"""Forward and backward of one opened batch in float64, in blocks of samples, and the terms of its gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...engine.arrays.program import one_blas_thread
from ...engine.data import Data
from ...engine.problem import Limits, Share, inverse
from ...scalar.mask import Draws
from ...tape import Plan, Tape
from ...tape.half import loss_scale_of
from ..core.optimizer import LossScale
from ..core.tensors import BoolArray, FloatArray, Stage, Tensor
from .network import Network, Rows, StageRows, Use, slopes, uses_in


@dataclass(frozen=True, slots=True, eq=False)
class EngineStep:
    """The engine's own numbers of a step that is done."""

    engine: str  # its name
    loss: float
    # gradient and values: in the run's dtype, shape (P,); `values` are the weights after the step and its edits
    gradient: FloatArray
    values: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class StepData:
    """The numbers of one step: copies, or arrays that are never written to."""

    step: int  # number of the step, from 1
    lr: float  # lr and t: the learning rate that the optimiser's rule reads, and its own count of steps
    t: float
    values: FloatArray  # the weights before the step, in the run's dtype; shape (P,)
    # the optimiser's state before the step; None if unknown (at a step where the run does not stand)
    state: dict[str, NDArray[Any]] | None
    skips: bool  # whether a gradient that is not finite undoes the step and halves the loss scale
    trained: BoolArray  # trained and frozen, shape (P,): the weights that the step moves, those frozen by hand
    frozen: BoolArray
    data: Data  # inputs and targets, in the run's dtype; shape (numbers of a sample, N)
    # columns of `data` in the batch; -1 for a sample from outside the data; shape (B,)
    batch: NDArray[np.int64]
    columns: NDArray[np.int64] | None  # the columns to pick out of `data`; None: all of it, in order
    arithmetic: np.dtype[Any]  # the engine's dtype: the run's, except for objects, which are Python's floats
    reduction: str
    share: Share | None  # as in :class:`~scalarviz.engine.problem.Problem`
    optimizer: str  # class name
    # by parameter group: the recorded update of one weight, and the names of the state that it reads
    rules: tuple[tuple[Tape, tuple[str, ...]], ...]
    update: Plan  # the optimiser's update, as engines run it
    of_group: list[NDArray[Any]]  # the group of each weight, shape (P,); empty if there is only one
    rates: tuple[float, ...]  # of all groups but the first
    limits: Limits  # penalties and clipping
    tensors: tuple[Tensor, ...]
    network: Network
    loss_scale: LossScale | None = None  # for float16: how its three numbers change
    engine_step: EngineStep | None = None  # the engine's own numbers, if the step is done and they are known
    done: bool = False  # whether the step is done
    seed: int = 0  # the run's, for dropout masks
    # inputs and targets of the batch whose means a trial step with one sample uses as constants; None: the step
    # has its own means, or needs none
    norm_batch: NDArray[Any] | None = None

    def draws(self, place: int) -> Draws:
        """Return the random draws of dropout masks, for the samples of the batch from `place` on."""
        return Draws(self.seed, self.step - 1, place)

    def group(self, index: int) -> int:
        """Return the parameter group of a weight."""
        return int(self.of_group[0][index]) if self.of_group else 0

    def theta(self, gradient: FloatArray, group: int = 0) -> tuple[float, ...]:
        """Return the rule's numbers: learning rate, step, and with clipping the factor of the gradient (P,)."""
        lr = self.rates[group - 1] if group else self.lr
        if self.limits.clip_norm is None:
            return lr, self.t
        return lr, self.t, self.limits.coefficient(self.values.astype(np.float64), gradient, self.trained)

    @property
    def scale(self) -> float:
        """The factor of one sample's loss in the loss of the batch."""
        return inverse(self.divisor)

    @property
    def divisor(self) -> float:
        """The number that divides the sum over samples."""
        if self.reduction == "sum":
            return 1
        if self.share is None:
            return len(self.batch)
        tape = self.network.tape
        found = float(self.share(self.numbers(slice(None))[tape.n_inputs : tape.n_inputs + tape.n_targets].T).sum())
        return int(found) if found.is_integer() else found

    def numbers(self, part: slice) -> NDArray[Any]:
        """Return inputs and targets of a part of the batch, one column per sample."""
        return self.data[:, part] if self.columns is None else self.data[:, self.columns[part]]


# ---- `Passes`: forward and backward of one batch in float64, in blocks of samples, on arrays of its own


Float = NDArray[np.float64]
KEPT_BYTES = 64 << 20
"""Rows and adjoints of a batch up to this size are kept; those of a larger one are computed again when needed."""
SHOWN_BYTES = 32 << 20
"""Bytes of the rows and deltas of all stages together; a larger batch shows its first samples."""


class SampleBlock(NamedTuple):
    """Some samples of the batch: all rows of the program and their adjoints, each (n_rows, samples)."""

    span: slice
    rows: Float
    adjoints: Float


class Passes:
    """The numbers of a step before the optimiser.

    `theta`: the weights, then the numbers made of weights alone; `before`: the rows of their program. `loss_scale`
    multiplies deltas, not the gradient. `means`, `adjoint_sums`: of every row, over the batch. `rows`, `deltas`: by
    stage, of the first `shown` samples. `stats`: the numbers that running statistics follow.
    """

    def __init__(self, taken: StepData) -> None:
        self._taken, self.network = taken, taken.network
        self.size = len(taken.batch)
        network = self.network
        self.theta, self.before = network.runner.extended(taken.values.astype(np.float64))
        scale = loss_scale_of(network.tape)
        self.loss_scale = 1.0 if scale is None else float(self.theta[scale])
        self._kept: list[SampleBlock] | None = [] if self.size * network.lane_bytes <= KEPT_BYTES else None
        outputs = sum(stage.outputs for stage in network.stages)
        self.shown = min(self.size, max(1, SHOWN_BYTES // (16 * max(1, outputs))))
        made = {stage.name: np.empty((stage.outputs, self.shown)) for stage in network.stages}
        self.rows, self.deltas = made, {name: np.empty_like(array) for name, array in made.items()}
        self._uses: dict[int, tuple[Use, ...]] = {}
        self._held = self._means_beside()
        self._stat_rows = [track.row for track in network.body.program.tracks]
        self.stats = np.zeros(0)
        self.loss, self.gradient = self._computed()

    def _means_beside(self) -> Float | None:
        """Return the rows of the batch whose means are constants, or None."""
        beside, network = self._taken.norm_batch, self.network
        if beside is None:
            return None
        with one_blas_thread():
            numbers = network.encoded(beside, self._taken.arithmetic)
            rows: Float = network.body.forward(self.theta, numbers, self._taken.draws(0))[:, 0]
        return rows

    def _computed(self) -> tuple[float, Float]:
        gradient = np.zeros(len(self.theta))
        totals = np.zeros(self.network.body.program.n_rows)
        self.adjoint_sums = np.zeros_like(totals)
        for block in self._fresh(gradient):
            totals += block.rows.sum(axis=1)
            self.adjoint_sums += block.adjoints.sum(axis=1)
            self._show(block)
            if block.span.start == 0:
                self.stats = block.rows[self._stat_rows, 0]
            if self._kept is not None:
                self._kept.append(block)
        self.means = totals / self.size
        loss = float(totals[self.network.body.program.loss])
        return loss * self._taken.scale, self.network.runner.pulled_back(self.before, self.theta, gradient)

    def _fresh(self, gradient: Float) -> Iterator[SampleBlock]:
        """Yield forward and backward block by block; add the samples' gradient with respect to theta to `gradient`."""
        network, lanes = self.network, self.network.lanes
        for start in range(0, self.size, lanes):
            span = slice(start, min(start + lanes, self.size))
            with one_blas_thread():
                numbers = network.encoded(self._taken.numbers(span), self._taken.arithmetic)
                rows = network.body.forward(self.theta, numbers, self._taken.draws(start), self._held)
                adjoints = np.zeros_like(rows)
                adjoints[network.body.program.loss] = self._taken.scale
                network.body.backward(rows, adjoints, self.theta, gradient, self._held is not None)
            yield SampleBlock(span, rows, adjoints)

    def _show(self, block: SampleBlock) -> None:
        stop = min(block.span.stop, self.shown)
        count = stop - block.span.start
        if count <= 0:
            return
        span = slice(block.span.start, stop)
        for name, rows in self.network.rows_of.items():
            self.rows[name][:, span] = block.rows[rows, :count]
            self.deltas[name][:, span] = block.adjoints[rows, :count]
            self.deltas[name][self.network.before_weights[name], span] = np.nan

    @property
    def first(self) -> Float:
        """Inputs and targets of the first sample, as a column."""
        return self._taken.numbers(slice(0, 1)).astype(np.float64)

    def uses_of(self, index: int) -> tuple[Use, ...]:
        """Return where samples use the weight at flat `index`, itself or in numbers made of weights alone."""
        if index not in self._uses:
            runner, n = self.network.runner, self.network.tape.n_parameters
            made = list(uses_in(runner.body, index))
            if runner.prologue is not None and self.before is not None:
                for number, slope in slopes(runner.prologue, self.before, self.theta, index):
                    made += [replace(use, through=slope) for use in uses_in(runner.body, n + number)]
            made = [use for use in made if use.kind != "batch_mean" or self._held is None]
            self._uses[index] = tuple(sorted(made, key=lambda use: int(use.rows[0])))
        return self._uses[index]

    def of_row(self, row: int, *, back: bool) -> Float | None:
        """Return a row for every sample (B,), or its adjoint; None if the batch is too large to be kept."""
        if self._kept is None:
            return None
        return np.concatenate([(block.adjoints if back else block.rows)[row] for block in self._kept])

    def asked(self, calls: Sequence[Stage]) -> Stage:
        """Return the last of several calls that the loss depends on."""
        asked = [call for call in calls if self.adjoint_sums[self.network.rows_of[call.name]].any()]
        return (asked or calls)[-1]

    def blocks(self) -> Iterator[SampleBlock]:
        """Return all rows and adjoints, with samples in batch order; do not write to them."""
        return iter(self._kept) if self._kept is not None else self._fresh(np.zeros(len(self.theta)))


# ---- The gradient of a layer as a sum of outer products, one sample of the batch after another


@dataclass(frozen=True, slots=True, eq=False)
class OuterProduct:
    """One sample's part of a layer's gradient, and the sum so far."""

    count: int  # samples added so far, this one included
    sample: int  # its number in the data; -1 for a sample from outside
    delta: Float  # (out,), what this sample adds to the gradient of the biases
    x: Float  # (in,); delta times x, their outer product, is what it adds to that of the weights
    total: Float  # (out, in), the sum so far
    bias: Float  # (out,), the sum so far for the biases


def products_of(
    passes: Passes, outputs: Rows, inputs: Rows, batch: NDArray[np.int64], counts: frozenset[int] | None
) -> Iterator[OuterProduct]:
    """Yield the outer products of each sample, or only those at `counts`; `outputs` and `inputs` are rows."""
    total, bias, count = np.zeros((len(outputs), len(inputs))), np.zeros(len(outputs)), 0
    for block in passes.blocks():
        for delta, x in zip(block.adjoints[outputs].T, block.rows[inputs].T, strict=True):
            count += 1
            total += np.outer(delta, x)
            bias += delta
            if counts is None or count in counts or count == len(batch):
                own = int(batch[count - 1]), delta.copy(), x.copy()
                yield OuterProduct(count, *own, total.copy(), bias.copy())


# ---- `Terms`: the terms of one weight's gradient


TERM = np.dtype(
    [("sample", np.int64), ("position", np.int64), ("use", np.int64), ("delta", np.float64), ("x", np.float64)]
)
MOST = 1024
"""Terms that are listed; sums include all."""


class Terms:
    """The terms ``delta * x`` of one weight's gradient.

    `array` lists the `most` largest in the order of the batch: ``sample`` (-1: from outside the data), ``position``
    (in a convolution), ``use`` (its number in `uses`), ``delta`` (from the loss of the batch), ``x`` (the number that
    the weight multiplies). `count`, `sum` and `absolute`, the sum of their sizes, include all terms.
    """

    def __init__(self, index: int, passes: Passes, batch: NDArray[np.int64], most: int = MOST) -> None:
        self.index = index
        self.uses: tuple[Use, ...] = passes.uses_of(index)
        self.sum, self.absolute, self.count = 0.0, 0.0, 0
        self._most, self._network = most, passes.network
        self._parts: list[tuple[NDArray[Any], NDArray[np.int64]]] = []
        with np.errstate(all="ignore"):
            for block in passes.blocks() if self.uses else ():
                for number, use in enumerate(self.uses):
                    self._add(number, use, block, passes, batch[block.span])
            self._prune()
        array, places = self._parts[0] if self._parts else (np.zeros(0, TERM), np.zeros(0, np.int64))
        self.array: NDArray[Any] = array[np.lexsort((array["position"], array["use"], places))]

    def _add(self, number: int, use: Use, block: SampleBlock, passes: Passes, samples: NDArray[np.int64]) -> None:
        delta = block.adjoints[use.rows] / passes.loss_scale
        x = np.broadcast_to(use.x(block.rows, passes.theta) * passes.loss_scale, delta.shape)
        products = delta * x
        self.sum += float(products.sum())
        self.absolute += float(np.abs(products).sum())
        self.count += products.size
        chosen = _largest(products.ravel(), self._most)
        position, lane = np.divmod(chosen, delta.shape[1])
        part = np.empty(len(chosen), TERM)
        part["sample"], part["position"], part["use"] = samples[lane], position, number
        part["delta"], part["x"] = delta.ravel()[chosen], x[position, lane]
        self._parts.append((part, block.span.start + lane))
        if sum(len(part) for part, _ in self._parts) > 16 * self._most:
            self._prune()

    def _prune(self) -> None:
        if self._parts:
            array = np.concatenate([part for part, _ in self._parts])
            places = np.concatenate([place for _, place in self._parts])
            chosen = _largest(array["delta"] * array["x"], self._most)
            self._parts = [(array[chosen], places[chosen])]

    @cached_property
    def delta_places(self) -> tuple[StageRows, ...]:
        """The stage and units that have `delta`, use by use."""
        return tuple(self._network.places.place_of(use.rows) for use in self.uses)

    @cached_property
    def factor_places(self) -> tuple[StageRows | None, ...]:
        """The stage and units that are `x`, use by use; None if x is no number of a stage."""
        return tuple(None if use.read is None else self._network.places.place_of(use.read) for use in self.uses)

    @property
    def products(self) -> Float:
        """``delta * x`` of the listed terms."""
        with np.errstate(invalid="ignore"):  # δ overflows in float16
            found: Float = self.array["delta"] * self.array["x"]
        return found

    @property
    def count_words(self) -> str:
        """The number of listed terms in words: ``"1,024 of 65,536"``, or ``"1,024"`` if these are all."""
        return f"{len(self.array):,}" if len(self.array) == self.count else f"{len(self.array):,} of {self.count:,}"

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, key: Any) -> Any:
        return self.array[key]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.array, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"Terms({self.count_words}, sum {self.sum:.6g})"


def _largest(products: Float, most: int) -> NDArray[np.int64]:
    """Return the indices of the `most` largest by size, in ascending order; NaN counts as the largest."""
    if len(products) <= most:
        return np.arange(len(products))
    sizes = np.where(np.isnan(products), np.inf, np.abs(products))
    return np.sort(np.argpartition(-sizes, most - 1)[:most])
