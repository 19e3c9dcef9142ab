"""`Opened`: one training step with all its intermediate numbers, in float64."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...checks import integer, text
from ...engine.problem import follow
from ...errors import InputError, StateError, TypeMismatchError, UnknownNameError, listing, shown
from ...tape import Tape
from ...tape.half import loss_scale_of
from ..core.gather import INPUT, index_of, weight_name
from ..core.tensors import Stage, Tensor
from .attention import LAYERS, SHARES, VALUES, Attention, AttentionState
from .equations import of_samples
from .micro import GradientTerms, MicroStep, MicroStepMaker, PhaseSpan, module_path, phases_of
from .network import StageRows, readers
from .passes import MOST, EngineStep, OuterProduct, Passes, StepData, Terms, products_of
from .rule import SKIPPED, Rule, RuleFormula, Update, moved

Float = NDArray[np.float64]
WINDOWED = ("conv", "max", "weighted")
"""Kinds of instructions that read a window of a map."""
POINTS = 33
REACH = 4.0
"""The values of `loss_along` reach at least this many times as far as the step moves the weight."""


@dataclass(frozen=True, slots=True, eq=False)
class Along:
    """The loss of one batch along one weight; the other weights stay.

    `losses`, in the run's dtype, belong to the rising `weights` (points,). `value` is the weight before the step,
    `after` that after it (NaN if unknown). `loss` and its gradient `slope` are those at `value`, in float64.
    """

    index: int
    weights: Float
    losses: Float
    value: float
    after: float
    loss: float
    slope: float

    @property
    def tangent(self) -> Float:
        """The losses that the gradient alone predicts, shape (points,): the tangent at `value`."""
        return self.loss + self.slope * (self.weights - self.value)


class Window(NamedTuple):
    """The numbers that one output of a convolution or a pooling reads; for a batch, their means."""

    place: StageRows  # their stage, and their positions in it
    weights: NDArray[np.int64]  # flat indices, kernel after kernel; `products`: each times its number
    products: Float


def places(value: float, after: float, others: Float, points: int) -> Float:
    """Return `points` values around `value`: they span the usual size of `others` and go well beyond `after`."""
    finite = np.abs(others[np.isfinite(others)])
    largest = float(finite.max(initial=0.0))
    usual = largest * float(np.sqrt(np.mean(np.square(finite / largest)))) if largest > 0 else 0.0
    moved = abs(after - value)
    reach = max(abs(value), usual, REACH * moved if np.isfinite(moved) else 0.0) or 1.0
    with np.errstate(all="ignore"):  # a run that diverged
        found: Float = value + reach * np.linspace(-1.0, 1.0, points)
    return found


@np.errstate(all="ignore")
def losses_at(taken: StepData, index: int, weights: Float) -> Float:
    """Return the batch's loss with the weight at flat `index` at each of `weights`, in the run's dtype."""
    runner, values, size, held = taken.network.forward._loss_runner, taken.values.copy(), len(taken.batch), None
    found, lanes, row = np.zeros(len(weights)), max(1, taken.network.lanes), np.array([runner.plan.body.loss])
    if taken.norm_batch is not None:
        every = np.arange(runner.plan.body.n_rows)
        held = runner.rows(values, taken.norm_batch, every, taken.draws(0))[:, 0]
    for start in range(0, size, lanes):
        data = taken.numbers(slice(start, min(start + lanes, size)))
        for k, weight in enumerate(weights):
            values[index] = weight
            found[k] += runner.rows(values, data, row, taken.draws(start), held)[0].sum(dtype=np.float64)
    return found * taken.scale


class Opened:
    """One training step with all its intermediate numbers. They are copies: the run may go on.

    All numbers are float64, so sums come out as printed; the engine's differ by the rounding of its dtype.

    Attributes
    ----------
    step : int
        Number of the step, from 1.
    loss : float
        Loss of the batch at the weights before the step; the run's loss adds `penalty`.
    gradient : ndarray of float64, shape (P,)
        Gradient of `loss`: penalties and clipping are part of the rule.
    values : ndarray of float64, shape (P,)
        The weights before the step.
    lr : float
    batch : ndarray of int64, shape (B,)
        Numbers of the samples in the data, in order; -1 for a sample from outside the data.
    trial : bool
        Whether this is a trial step with one sample alone, which the run does not make.
    rows, deltas : dict of str to ndarray of float64, shape (outputs, shown)
        By stage: its outputs, and the derivative of the batch's loss with respect to each (NaN if no weight stands
        before).
    shown : int
        Number of samples in `rows`, `deltas`, `inputs` and `targets`: the first ones, as many as fit in 32 MB.
    inputs, targets : ndarray of float64, shapes (n_inputs, shown) and (n_targets, shown)
    stages : tuple of Stage
    tensors : tuple of Tensor
    """

    def __init__(self, taken: StepData, *, trial: bool = False) -> None:
        self._taken, self.trial = taken, trial
        self._steps: tuple[MicroStep, ...] | None = None
        self._updates: dict[int, Update] = {}
        with np.errstate(all="ignore"):
            self._passes = passes = Passes(taken)
        self.step, self.lr, self.batch = taken.step, taken.lr, taken.batch
        self.loss, self.gradient = passes.loss, passes.gradient
        self.rows, self.deltas, self.shown = passes.rows, passes.deltas, passes.shown

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages from input to output."""
        return self._taken.network.stages

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Name, shape and place of every block of weights."""
        return self._taken.tensors

    @cached_property
    def values(self) -> Float:
        """The weights before the step, shape (P,), read-only."""
        values = self._passes.theta[: len(self._taken.values)]
        values.flags.writeable = False
        return values

    @cached_property
    def inputs(self) -> Float:
        """Inputs of the shown samples, shape (n_inputs, shown)."""
        return self._numbers[: self._taken.network.tape.n_inputs]

    @cached_property
    def targets(self) -> Float:
        """Targets of the shown samples, shape (n_targets, shown)."""
        return self._numbers[self._taken.network.tape.n_inputs :]

    @cached_property
    def _numbers(self) -> Float:
        return self._taken.numbers(slice(0, self.shown)).astype(np.float64)

    @property
    def own(self) -> EngineStep | None:
        """The numbers that the engine computed in this step; None if they are unknown, or the step is still to come."""
        return self._taken.engine_step

    @property
    def done(self) -> bool:
        """Whether the run, or the recorded run, has done this step."""
        return self._taken.done

    @property
    def dtype(self) -> str:
        """The dtype in which the run computes."""
        return str(self._taken.values.dtype)

    @property
    def tape(self) -> Tape:
        """The recorded model with its loss."""
        return self._taken.network.tape

    @property
    def divisor(self) -> float:
        """The divisor of the sum over samples: the batch size, 1 for summed losses, or summed weights."""
        return self._taken.divisor

    # ---- one weight

    def index(self, weight: Any) -> int:
        """Return the flat index of a Weight, a name as ``"0.weight[2][1]"``, or an index; else InputError."""
        return index_of(self._taken.tensors, self._taken.network.tape, weight)

    def name(self, weight: Any) -> str:
        """Return the name of a weight, such as ``0.weight[2][1]``."""
        return weight_name(self._taken.tensors, self.index(weight))

    def terms(self, weight: Any, most: int = MOST) -> Terms:
        """Return the terms ``delta * x`` of one weight's gradient, by sample, position and use.

        At most `most` terms are listed; sums include all.
        """
        return Terms(self.index(weight), self._passes, self.batch, integer("terms: 'most'", most, 1))

    def follows(self, weight: Any) -> bool:
        """Return whether a number is no weight but follows the step: a running statistic or the loss scale."""
        index = self.index(weight)
        return index in self._followed and not self._taken.frozen[index]

    def made(self, index: int) -> GradientTerms:
        """Return how many terms the gradient of a weight (flat index) has, with the factors if there is only one."""
        terms = self.terms(index, 1)
        if terms.count != 1:
            return GradientTerms(terms.count)
        return GradientTerms(
            1, float(terms.array["delta"][0]), float(terms.array["x"][0]), terms.uses[0].kind == "bias"
        )

    def products(self, index: int) -> Float | None:
        """Return each sample's undivided term of a gradient (B,); None if a sample uses the weight several times."""
        terms = self.terms(index, len(self.batch))
        return terms.products * self.divisor if terms.count == len(self.batch) else None

    def varies(self, index: int) -> bool:
        """Return whether the x of a weight's gradient varies over samples; a bias's does not."""
        return bool(np.ptp(self.terms(index, len(self.batch)).array["x"]))

    def of_samples(self, step: MicroStep, index: int = -1) -> str:
        """Return a micro-step's number as an equation over samples: ``"(0.53 + 0.41 + rest 0.75) / 9 = 0.1875"``.

        `index` is the weight of a gradient. Empty for a single sample, and if the samples' numbers are
        unknown.
        """
        passes, back, network = self._passes, step.phase == "backward", self._taken.network
        if passes.size == 1:
            return ""
        if step.phase == "gradients":
            parts = self.products(index)
            return "" if parts is None else of_samples(parts, self.divisor, float(self.gradient[index]))
        row = network.body.program.loss
        if step.phase != "loss":
            rows = self._shown_rows(step)
            place = (
                int(step.units[0]) if step.kind in ("unit", "delta") else step.column if step.kind == "stage" else -1
            )
            if step.kind != "node" and not (len(step.units) and 0 <= place < len(rows)):
                return ""
            row = step.column if step.kind == "node" else int(rows[place])
        found = passes.of_row(row, back=back)
        if found is None:
            return ""
        divisor = len(found) if step.phase == "forward" else self.divisor
        return of_samples(found * self.divisor if back else found, divisor, step.value)

    def update(self, weight: Any) -> Update:
        """Return what the optimiser does to one weight: its recorded rule with every number.

        Raises StateError if the optimiser's state before this step is unknown; see :meth:`Run.open`.
        """
        index = self.index(weight)
        if index not in self._updates:
            self._updates[index] = self._update(index)
        return self._updates[index]

    @cached_property
    def skipped(self) -> bool:
        """True if the step moves no weight: its gradient overflows float16, so the loss scale is halved."""
        return self._taken.skips and not np.isfinite(self.gradient[self._taken.trained]).all()

    def _update(self, index: int) -> Update:
        taken = self._taken
        before, gradient = float(taken.values[index]), float(self.gradient[index])
        if self.follows(index):
            return Update(index, before, self._followed[index], gradient, (), "the forward pass updates it")
        if self.skipped:
            return Update(index, before, before, gradient, (), SKIPPED)
        if not taken.trained[index]:
            unread = "the optimiser does not hold it, or the loss does not read it"
            return Update(index, before, before, gradient, (), "it is frozen" if taken.frozen[index] else unread)
        group = taken.group(index)
        state = [float(self._state[name][index]) for name in taken.rules[group][1]]
        lines = self._rules[group].lines([before, gradient, *state], taken.theta(self.gradient, group))
        return Update(index, before, lines[-1].result, gradient, tuple(lines))

    @cached_property
    def _followed(self) -> dict[int, float]:
        """New values of numbers that the step changes besides weights, by flat index, in the run's dtype."""
        taken, tracks = self._taken, self._taken.network.body.program.tracks
        after = taken.values.copy()
        size = len(taken.batch) if taken.norm_batch is None else taken.norm_batch.shape[1]
        if not self.skipped:
            follow(tracks, size, self._passes.stats, after, taken.frozen)
        found = {track.index: float(after[track.index]) for track in tracks if not self.skipped}
        first = loss_scale_of(taken.network.tape)  # the run may have another network now
        if taken.loss_scale is not None and first is not None:
            three = after[first : first + taken.loss_scale.buffer.size]
            numbers = taken.loss_scale.after(three, int(not self.skipped), skipped=self.skipped)
            found.update(enumerate(map(float, numbers), first))
        return found

    def line(self, weight: Any) -> tuple[RuleFormula, ...]:
        """Return the lines of :meth:`update` alone."""
        return self.update(weight).lines

    def met(self) -> tuple[Float, Float]:
        """Return the factor of each weight forward and backward: two arrays (P,), NaN for none.

        For a batch they are means. For a convolution they belong to the window with the largest output, backward with
        the largest delta. For a layer with several calls they belong to the last call that the loss reads.
        """
        x, delta = (np.full(len(self._passes.theta), np.nan) for _ in range(2))
        means, sums, other = self._passes.means, self._passes.adjoint_sums, self._other_calls()
        for i in self._passes.network.body.program.instructions:
            unused = not sums[i.dst : i.dst + i.count].any()
            if i.kind in LAYERS and unused and not np.isnan(x[i.weights.flat[0]]):
                continue
            if i.kind == "gather" and i.table is not None and len(self.batch) == 1:  # the rows that are chosen
                chosen = means[i.args[0]]
                chosen = chosen[(chosen >= 0) & (chosen < i.table.rows)].astype(np.int64)
                x[np.add.outer(chosen * i.table.step, i.weights)] = 1.0
            elif i.kind == "dot":
                x[i.weights.ravel()] = means[i.args.ravel()]
                delta[i.weights.ravel()] = np.repeat(sums[i.dst : i.dst + i.count], i.terms)
            elif i.kind in LAYERS:
                rows = i.dst + np.arange(i.count).reshape(len(i.weights), len(i.args))
                sizes = (np.where(other[rows], -1.0, np.abs(of[rows])).max(axis=0) for of in (means, sums))
                made, back = map(int, map(np.argmax, sizes))
                units = np.flatnonzero(~other[rows[:, made]])
                weights = i.weights[units, None] + np.arange(i.args.shape[1])
                x[weights] = means[i.args[made]]
                delta[weights] = sums[rows[units, back]][:, None]
                if i.bias >= 0:
                    x[i.bias + units] = 1.0
        return x[: len(self.values)], delta[: len(self.values)]

    def _other_calls(self) -> NDArray[np.bool_]:
        """Return a mask of the rows of repeated calls, except each layer's last call that the loss reads."""
        network, sums = self._taken.network, self._passes.adjoint_sums
        calls = dict[int, list[NDArray[np.int64]]]()
        for stage in network.stages:
            if stage.weight is not None:
                calls.setdefault(stage.weight.start, []).append(network.rows_of[stage.name])
        other = np.zeros(len(sums), bool)
        for rows in calls.values():
            chosen = max((k for k, own in enumerate(rows) if sums[own].any()), default=0)
            for own in rows[:chosen] + rows[chosen + 1 :]:
                other[own] = True
        return other

    def window(self, stage: str, unit: int) -> Window | None:
        """Return the window that makes one number of a convolution or a pooling; None for any other stage."""
        made, passes = (
            self._passes.network.places.instruction_of(int(self._passes.network.rows_of[stage][unit])),
            self._passes,
        )
        if made is None or made[0].kind not in WINDOWED:
            return None
        i, _, operands = made
        weights = np.add.outer(i.weights if i.kind == "conv" else i.weights[:0], np.arange(len(operands)))
        products = passes.theta[weights] * passes.means[operands]
        return Window(passes.network.places.place_of(operands), weights.ravel(), products.ravel())

    def passed_on(self, step: MicroStep) -> tuple[NDArray[np.int64], Float]:
        """Return flat indices of weights, and their terms w · δ of the delta that a backward micro-step shows."""
        row, body = int(self._shown_rows(step)[step.column]), self._taken.network.body
        while len(above := [*readers(body, row)]) == 1 and above[0].weights is None and above[0].kind != "loss":
            row = int(above[0].rows[0])
        found = [(use.weights, self._passes.adjoint_sums[use.rows]) for use in above if use.weights is not None]
        weights = np.concatenate([np.zeros(0, np.int64), *(own for own, _ in found)])
        return weights, self._passes.theta[weights] * np.concatenate([np.zeros(0), *(deltas for _, deltas in found)])

    def origins(self, step: MicroStep, index: int = -1) -> list[StageRows]:
        """Return the places on maps from which the number of a micro-step comes.

        A delta comes from itself and those that pass it on; the gradient of the weight at `index` from its delta and
        x. Stages without maps are left out.
        """
        network, found = self._taken.network, list[Any]()
        if step.phase == "gradients" and index >= 0 and len(uses := self._passes.uses_of(index)) == 1:
            found = [rows for rows in (uses[0].rows, uses[0].read) if rows is not None]
        elif step.phase == "backward" and step.kind == "stage" and step.column >= 0 and len(step.units):
            found = [self._shown_rows(step)[[step.column]]]
            while len(found[-1]) == 1 and found[-1][0] != network.body.program.loss:
                above = readers(network.body, int(found[-1][0]))
                found.append(np.array(sorted({row for use in above for row in use.rows.tolist()}), int))
        maps = {INPUT, *(stage.name for stage in self.stages if len(stage.shape) == 3)}
        return [
            place for place in (network.places.place_of(rows) for rows in found if len(rows)) if place.stage in maps
        ]

    def _shown_rows(self, step: MicroStep) -> NDArray[np.int64]:
        """Return the rows of the stage call that a micro-step shows; empty if it has no stage."""
        calls = [stage for stage in self.stages if stage.name in (step.stage, *step.other_calls)]
        return self._taken.network.rows_of[self._passes.asked(calls).name] if calls else np.zeros(0, np.int64)

    @property
    def penalty(self) -> float:
        """The penalty that the run's loss adds to `loss`, at the weights before the step."""
        weights = sum(tensor.size for tensor in self.tensors if not tensor.buffer)
        return self._taken.limits.penalty(self.values[:weights])

    @cached_property
    def _rules(self) -> tuple[Rule, ...]:
        return tuple(Rule(tape, names) for tape, names in self._taken.rules)

    @property
    def _state(self) -> Mapping[str, NDArray[Any]]:
        state = self._taken.state
        if state is None:
            raise StateError(
                f"the state of {self._taken.optimizer} before step {self.step:,} is unknown; "
                f"use run.open(step={self.step})"
            )
        return state

    @property
    def optimizer(self) -> str:
        """The name of the optimiser's class."""
        return self._taken.optimizer

    @property
    def half(self) -> bool:
        """Whether the network reads its weights as float16."""
        return self._taken.loss_scale is not None

    @property
    def exact_values(self) -> NDArray[Any]:
        """The weights before the step in the run's dtype, shape (P,)."""
        return self._taken.values

    def is_frozen(self, weight: Any) -> bool:
        """Return whether a weight was frozen by hand."""
        return bool(self._taken.frozen[self.index(weight)])

    def state(self, weight: Any) -> dict[str, float]:
        """Return the optimiser's state of one weight before the step, by name."""
        index = self.index(weight)
        return {name: float(array[index]) for name, array in self._state.items()}

    def samples(self, numbers: Iterable[int]) -> dict[int, tuple[Float, Float]]:
        """Return inputs and outputs of samples of the batch, by their number in the data; others are left out."""
        wanted, network = {*numbers}, self._taken.network
        places = {int(self.batch[k]): k for k in np.flatnonzero(np.isin(self.batch, [*wanted])).tolist()}
        found: dict[int, tuple[Float, Float]] = {}
        for block in self._passes.blocks() if places else ():
            for number, place in places.items():
                if block.span.start <= place < block.span.stop:
                    inputs = self._taken.numbers(slice(place, place + 1))[: network.tape.n_inputs, 0]
                    made = block.rows[network.body.program.outputs, place - block.span.start]
                    found[number] = inputs.astype(np.float64), made.copy()
        return found

    def moves(self, weight: Any) -> bool:
        """Return whether the optimiser moves a weight in this step: held, not frozen, and read by the loss."""
        return bool(self._taken.trained[self.index(weight)]) and not self.skipped

    def loss_along(self, weight: Any, points: int = POINTS) -> Along:
        """Return the loss of this batch along one weight, with the tangent that its gradient predicts.

        Parameters
        ----------
        points : int
            Number of values of the weight, at least 3. They span the usual size of its tensor's weights and go beyond
            the new value. An odd number puts the weight itself in the middle.
        """
        taken, index = self._taken, self.index(weight)
        points = integer("loss_along: points", points, 3, 1 << 16)
        known = taken.state is not None or not taken.trained[index]
        after = self.update(index).after if known else float("nan")
        value = float(taken.values[index])
        tensor = next(t for t in self.tensors if t.start <= index < t.start + t.size)
        weights = places(value, after, self.values[tensor.span], points)
        losses = losses_at(taken, index, weights)
        return Along(index, weights, losses, value, after, self.loss, float(self.gradient[index]))

    def outer_products(self, stage: str, counts: Iterable[int] | None = None) -> Iterator[OuterProduct]:
        """Yield the gradient of a linear stage as a sum of outer products, sample after sample.

        `counts` are the numbers of samples after which the sum is yielded (default: each), and after the last in any
        case. Its `total` is what this call of the layer adds to the gradient of its weights.

        Raises
        ------
        UnknownNameError
            If there is no such stage.
        InputError
            If the stage is not linear.
        """
        found = next((s for s in self.stages if s.name == text(stage, "outer_products: stage")), None)
        if found is None:
            raise UnknownNameError(f"there is no stage {shown(stage)}; allowed: {listing(s.name for s in self.stages)}")
        given: Any = counts
        if not (given is None or isinstance(given, Iterable)) or (isinstance(given, np.ndarray) and given.ndim == 0):
            raise TypeMismatchError(f"outer_products: counts must be whole numbers, got {shown(counts)}; try [1, 2]")
        rows = self._passes.network.rows_of[found.name]
        made = self._passes.network.places.instruction_of(int(rows[0]))
        if found.weight is None or made is None or made[0].kind not in LAYERS:
            linear = listing(repr(s.name) for s in self.stages if s.weight is not None) or "none"
            raise InputError(f"outer_products: stage {stage!r} is {found.kind}, not linear; allowed: {linear}")
        wanted = None if counts is None else frozenset(integer("outer_products: a count", c, 1) for c in counts)
        return products_of(self._passes, rows, made[2], self.batch, wanted)

    # ---- micro-steps

    def micro_steps(self) -> tuple[MicroStep, ...]:
        """Return the step as micro-steps: zero, forward, loss, backward, gradients, update.

        Up to 64 weights, each product, sum, delta, gradient and update is one; larger networks go by stages.
        """
        if self._steps is None:
            self._steps = tuple(MicroStepMaker(self).steps())
        return self._steps

    def about(self, step: MicroStep, weight: Any) -> MicroStep:
        """Return a micro-step of many sums with the sum to which a weight adds, instead of the largest."""
        return MicroStepMaker(self).about(step, self.index(weight))

    def phases(self) -> tuple[PhaseSpan, ...]:
        """Return the six phases of :meth:`micro_steps`: start, number of micro-steps, and words."""
        return phases_of(self.micro_steps())

    def attention(self, stage: str, *, back: bool = False) -> Attention | None:
        """Return how one position attends to others before the layer `stage`; with `back`, the deltas of that.

        None if the layer reads no attention, or the step has several samples.
        """
        looks = self._taken.network.between.attention_rows(stage) if len(self.batch) == 1 else None
        if looks is None:
            return None
        made, numbers = self._passes.means, self._passes.adjoint_sums if back else self._passes.means
        taken = numbers[looks.outputs]
        values = np.broadcast_to(taken[:, None], looks.values.shape) if back else made[looks.values]
        scores, queries, keys = made[looks.scores].ravel(), made[looks.queries], made[looks.keys]
        largest = int(np.argmax(np.abs(scores)))
        divisor = float((queries * keys).sum(axis=-1).flat[largest] / scores[largest]) if scores[largest] else 1.0
        return Attention(numbers[looks.scores], made[looks.shares], values, taken, queries, keys,
                         numbers[looks.shares], divisor)  # fmt: skip

    @cached_property
    def _attending(self) -> tuple[Stage, str, tuple[int, ...]] | None:
        """The stage and weights that read the last attention; micro-steps of its shares, values and their deltas."""
        steps, stages = [*enumerate(self.micro_steps(), 1)], {stage.name: stage for stage in self.stages}
        made = {step.formula: at for at, step in steps if step.phase == "forward"}
        if not made.keys() >= {SHARES, VALUES}:
            return None
        reader = stages[steps[made[SHARES] - 1][1].stage]
        before, weights = {*reader.sources}, "" if reader.weight is None else reader.weight.name
        back = (at for at, step in steps if step.phase == "backward" and before & {step.stage, *step.other_calls})
        deltas = [(at, step) for at, step in steps if step.phase == "backward" and step.stage == reader.name]
        last, own = next(back, len(steps)), (at for at, step in deltas if not len(step.units))
        return reader, weights, (made[SHARES], made[VALUES], next(own, last), last)

    def looking(self, at: int) -> AttentionState | None:
        """Return the state of the last attention after micro-step `at`, from 1; None without attention."""
        found = None if self._attending is None else self.attention(self._attending[0].name)
        if found is None or self._attending is None:
            return None
        reader, weights, (shares, values, own, back) = self._attending
        come = (at >= shares) + (at >= values) + (at > values) + (at >= own) + (at >= back) + (at > back)
        calls = [stage.name for stage in self.stages if module_path(stage.name) == module_path(reader.name)]

        def seen(place: int) -> Attention | None:
            return self.attention(calls[place], back=come > 3) if place < len(calls) else None

        return AttentionState(seen, found.shares.shape[1], come, weights)

    # ---- all weights

    @cached_property
    def means(self) -> dict[str, Float]:
        """The mean of each stage's outputs over the whole batch, by stage, shape (outputs,)."""
        return {name: self._passes.means[rows] for name, rows in self._taken.network.rows_of.items()}

    @cached_property
    def data_means(self) -> dict[str, Float]:
        """The means of ``input`` and ``target`` over the whole batch."""
        data = self._taken.numbers(slice(None)).mean(axis=1, dtype=np.float64)  # without a copy of a large batch
        count = self._taken.network.tape.n_inputs
        return {"input": data[:count], "target": data[count:]}

    @cached_property
    def delta_sums(self) -> dict[str, Float]:
        """Sums of deltas over the batch, by stage, (outputs,): for a mean loss, these are means."""
        before, sums = self._taken.network.before_weights, self.adjoint_sums
        return {name: np.where(before[name], np.nan, own) for name, own in sums.items()}

    @cached_property
    def adjoint_sums(self) -> dict[str, Float]:
        """As `delta_sums`, but also with numbers that no weight stands before."""
        return {name: self._passes.adjoint_sums[rows] for name, rows in self._taken.network.rows_of.items()}

    @cached_property
    def new_values(self) -> Float:
        """The weights after the step, shape (P,), in float64."""
        after = self.values.copy()
        if not self.skipped:
            after = moved(self._taken, after, self.gradient, list(self._state.values()))
        after[list(self._followed)] = list(self._followed.values())
        return after

    def __repr__(self) -> str:
        what = "a trial with one sample" if self.trial else f"{len(self.batch):,} samples"
        return f"Opened(step {self.step:,}, {what}, loss {self.loss:.6g})"
