"""Forward and backward of one opened batch in float64, in blocks, and the sums that its gradients are."""

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
from ..core.frame import BoolArray, FloatArray, Stage, Tensor
from ..core.optimizer import LossScale
from .network import Network, Place, Rows, Use, pulled_back, slopes, uses_in


@dataclass(frozen=True, slots=True, eq=False)
class EngineStep:
    """What the engine itself computed in a step that is done."""

    engine: str  # its name
    loss: float
    # gradient and values: in the run's dtype; `values` are those at which one stands after the step, edits
    # made there included; shape (P,)
    gradient: FloatArray
    values: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class StepData:
    """One step's numbers: copies, or arrays that nobody writes to."""

    step: int  # which step it is, from 1: steps done before it, and one
    lr: float  # lr and t: what the optimiser's rule reads: the learning rate, and its own count of steps
    t: float
    values: FloatArray  # the weights before the step, in the run's dtype; shape (P,)
    # the optimiser's state before the step; None where it is not known (at a step where the run does not
    # stand)
    state: dict[str, NDArray[Any]] | None
    skips: bool  # whether the step is taken back where its gradient is not finite: the loss scale is halved then
    trained: BoolArray  # trained and frozen: which weights the step moves; which are frozen by hand; shape (P,)
    frozen: BoolArray
    data: Data  # inputs and targets, in the run's dtype; shape (numbers of a sample, N)
    # columns of `data` that the step learns from; -1 is a sample that is not of the data; shape (B,)
    batch: NDArray[np.int64]
    columns: NDArray[np.int64] | None  # the same where they are to be picked out of `data`; None: all of it, in order
    arithmetic: np.dtype[Any]  # in which the engine computes: the run's, but for objects of Python's floats
    reduction: str
    share: Share | None  # as that of :class:`~scalarviz.engine.problem.Problem`
    optimizer: str  # class name
    # the update of one weight of each parameter group as recorded, with the names of the state that it reads
    rules: tuple[tuple[Tape, tuple[str, ...]], ...]
    update: Plan  # the optimiser's update as engines run it
    of_group: list[NDArray[Any]]  # the group of each weight; none where there is one alone; shape (P,)
    rates: tuple[float, ...]  # of all groups but the first
    limits: Limits  # penalties and clipping
    tensors: tuple[Tensor, ...]
    network: Network
    loss_scale: LossScale | None = None  # of a run in float16: how its three numbers change
    engine_step: EngineStep | None = None  # what the engine computed, where the step is done
    seed: int = 0  # the run's, for dropout masks
    # inputs and targets of the batch whose means a trial step with one sample takes; they are held still.
    # None: the step has its own, or needs none
    norm_batch: NDArray[Any] | None = None

    def draws(self, place: int) -> Draws:
        """What dropout masks are drawn from, for the samples of the batch from `place` on."""
        return Draws(self.seed, self.step - 1, place)

    def group(self, index: int) -> int:
        """The parameter group of a weight."""
        return int(self.of_group[0][index]) if self.of_group else 0

    def theta(self, gradient: FloatArray, group: int = 0) -> tuple[float, ...]:
        """The numbers of the rule: rate, step, and what a gradient (P,) whose length is limited is multiplied by."""
        lr = self.rates[group - 1] if group else self.lr
        if self.limits.clip_norm is None:
            return lr, self.t
        return lr, self.t, self.limits.coefficient(self.values.astype(np.float64), gradient, self.trained)

    @property
    def scale(self) -> float:
        """Factor of one sample's loss in the loss of the batch."""
        return inverse(self.divisor)

    @property
    def divisor(self) -> float:
        """What the sum of the samples' own terms is divided by."""
        if self.reduction == "sum":
            return 1
        if self.share is None:
            return len(self.batch)
        tape = self.network.tape
        found = float(self.share(self.numbers(slice(None))[tape.n_inputs : tape.n_inputs + tape.n_targets].T).sum())
        return int(found) if found.is_integer() else found

    def numbers(self, part: slice) -> NDArray[Any]:
        """Inputs and targets of a part of the batch, a column each."""
        return self.data[:, part] if self.columns is None else self.data[:, self.columns[part]]


# ---- `Passes`: forward and backward of one batch in float64, in blocks of samples, on arrays of its own


Float = NDArray[np.float64]
KEPT_BYTES = 64 << 20
"""Rows and adjoints of a whole batch are kept up to this size; those of a larger one are computed again when needed."""
SHOWN_BYTES = 32 << 20
"""What the rows and deltas of all stages together may take; a larger batch shows those of its first samples."""


class Block(NamedTuple):
    """Some samples of the batch: all rows of the program and their adjoints, each (n_rows, samples)."""

    span: slice
    rows: Float
    adjoints: Float


class Passes:
    """The numbers of a step before the optimiser.

    `theta`: the weights, and behind them the numbers made of weights alone; `before`: the rows of their program.
    `loss_scale` multiplies deltas, not the gradient. `means`, `adjoint_sums`: of every row, over the batch.
    `rows`, `deltas`: by stage, of the first `shown` samples. `stats`: what running statistics follow.
    """

    def __init__(self, taken: StepData) -> None:
        self._taken, self.network = taken, taken.network
        self.size = len(taken.batch)
        network = self.network
        self.theta, self.before = network.runner.extended(taken.values.astype(np.float64))
        scale = loss_scale_of(network.tape)
        self.loss_scale = 1.0 if scale is None else float(self.theta[scale])
        self._kept: list[Block] | None = [] if self.size * network.lane_bytes <= KEPT_BYTES else None
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
        """Rows of the batch whose means are held still."""
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
        return loss * self._taken.scale, pulled_back(self.network.runner, self.before, self.theta, gradient)

    def _fresh(self, gradient: Float) -> Iterator[Block]:
        """Forward and backward, block by block; what the samples ask of theta is added to `gradient`."""
        network, lanes = self.network, self.network.lanes
        for start in range(0, self.size, lanes):
            span = slice(start, min(start + lanes, self.size))
            with one_blas_thread():
                numbers = network.encoded(self._taken.numbers(span), self._taken.arithmetic)
                rows = network.body.forward(self.theta, numbers, self._taken.draws(start), self._held)
                adjoints = np.zeros_like(rows)
                adjoints[network.body.program.loss] = self._taken.scale
                network.body.backward(rows, adjoints, self.theta, gradient, self._held is not None)
            yield Block(span, rows, adjoints)

    def _show(self, block: Block) -> None:
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
        """Where the weight at flat `index` is used by the samples, itself or in numbers made of weights alone."""
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
        """A row of every sample (B,), or its adjoint; None of a batch that is too large to be kept."""
        if self._kept is None:
            return None
        return np.concatenate([(block.adjoints if back else block.rows)[row] for block in self._kept])

    def asked(self, calls: Sequence[Stage]) -> Stage:
        """Of several calls the last one that the loss depends on."""
        asked = [call for call in calls if self.adjoint_sums[self.network.rows_of[call.name]].any()]
        return (asked or calls)[-1]

    def blocks(self) -> Iterator[Block]:
        """All rows and adjoints, the samples in the order of the batch; not to be written to."""
        return iter(self._kept) if self._kept is not None else self._fresh(np.zeros(len(self.theta)))


# ---- The gradient of a layer as a sum of outer products, one sample of the batch after another


@dataclass(frozen=True, slots=True, eq=False)
class OuterProduct:
    """One sample's part of a layer's gradient, and the sum so far."""

    count: int  # samples added so far, this one included
    sample: int  # its number in the data; -1 for one that is not of it
    # delta and x: their outer product is what this sample adds to the weights; `delta` is what it adds to the
    # biases; shapes (out,)
    delta: Float
    x: Float
    total: Float  # the sum up to here; shape (out, in)
    bias: Float  # likewise for the biases; shape (out,)


def products_of(
    passes: Passes, outputs: Rows, inputs: Rows, batch: NDArray[np.int64], counts: frozenset[int] | None
) -> Iterator[OuterProduct]:
    """Every sample's, or the sums at `counts` alone, as copies; `outputs` and `inputs` are rows of the program."""
    total, bias, count = np.zeros((len(outputs), len(inputs))), np.zeros(len(outputs)), 0
    for block in passes.blocks():
        for delta, x in zip(block.adjoints[outputs].T, block.rows[inputs].T, strict=True):
            count += 1
            total += np.outer(delta, x)
            bias += delta
            if counts is None or count in counts or count == len(batch):
                own = int(batch[count - 1]), delta.copy(), x.copy()
                yield OuterProduct(count, *own, total.copy(), bias.copy())


# ---- `Terms`: what one weight's gradient is the sum of


TERM = np.dtype(
    [("sample", np.int64), ("position", np.int64), ("use", np.int64), ("delta", np.float64), ("x", np.float64)]
)
MOST = 1024
"""Terms that are listed; sums are of all."""


class Terms:
    """The terms ``delta * x`` of one weight's gradient.

    `array` lists the `most` largest in the order of the batch: ``sample`` (-1: not of the data), ``position``
    (of a convolution), ``use`` (which of `uses`), ``delta`` (from the loss of the batch), ``x`` (what the weight
    meets). `count`, `sum` and `absolute`, the sum of their sizes, are of all.
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

    def _add(self, number: int, use: Use, block: Block, passes: Passes, samples: NDArray[np.int64]) -> None:
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
    def delta_places(self) -> tuple[Place, ...]:
        """Of each use, the stage and the units that `delta` belongs to."""
        return tuple(self._network.places.place_of(use.rows) for use in self.uses)

    @cached_property
    def factor_places(self) -> tuple[Place | None, ...]:
        """Of each use, the stage and the units that `x` is read from; None where x is no number of a stage."""
        return tuple(None if use.read is None else self._network.places.place_of(use.read) for use in self.uses)

    @property
    def products(self) -> Float:
        """``delta * x`` of those that are listed."""
        found: Float = self.array["delta"] * self.array["x"]
        return found

    @property
    def count_words(self) -> str:
        """How many are listed: ``"1,024 of 65,536"``, or ``"1,024"`` where they are all."""
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
    """Where the `most` largest by size stand, in their order; a NaN is larger than any number."""
    if len(products) <= most:
        return np.arange(len(products))
    sizes = np.where(np.isnan(products), np.inf, np.abs(products))
    return np.sort(np.argpartition(-sizes, most - 1)[:most])
