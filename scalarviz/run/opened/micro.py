"""Micro-steps: one training step as a sequence of small ones, each with words, a formula and numbers.

Phases: zero, forward, loss, backward, gradients, update. Up to `EACH` weights, every product, sum, delta, gradient
and new weight is a micro-step, and every operation of a formula. Larger networks go stage by stage.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from heapq import heappop, heappush
from math import nan, prod
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...scalar.ops import TABLE
from ...tape import Node, Tape
from ..core.optimizer import SCALE_NAME
from ..core.tensors import Stage, Tensor
from .attention import BETWEEN, LAYERS, MERGED, SHARES
from .digits import MINUS, digits_apart, digits_of
from .equations import (
    CLOSE,
    DIFFERENCE,
    DIGITS,
    GAP,
    MAX,
    MOST,
    MOST_TERMS,
    PASSED,
    RMS,
    RMS_SUM,
    SYMBOLS,
    TERMS,
    RowOperation,
    added,
    applied,
    condensed,
    exact_sum,
    in_letters,
    loss_of,
    norm_operation,
    operated,
    operation_of,
    scaled,
    share_of,
    shares_of,
    slope,
    through_rms,
    times,
)
from .network import INSIDE, LEAVES, Use, readers
from .rule import SIGNS, RuleFormula, Writer, text_of

if TYPE_CHECKING:
    from .opened import Opened


Phase = Literal["zero", "forward", "loss", "backward", "gradients", "update"]
PHASES: tuple[Phase, ...] = ("zero", "forward", "loss", "backward", "gradients", "update")
Rows = NDArray[np.int64]
_NONE = np.zeros(0, np.int64)
FAR = 30.0
"""A softmax of scores beyond this size is written with differences from the largest score."""
_SEVERAL = frozenset(("product", "sum", "stage", "gradient", "weight", "number", "output", "statistic", "node"))


@dataclass(frozen=True, slots=True, eq=False)
class MicroStep:
    """One micro-step. For a batch, rows are means over samples; deltas and gradients are those of its loss."""

    phase: Phase
    # ``"clear"``, ``"product"``, ``"sum"``, ``"unit"`` (one output of a stage), ``"stage"`` (all of them, or what
    # is made on the way to them), ``"node"`` (an operation of a formula), ``"loss"``, ``"delta"``, ``"gradient"``,
    # ``"update"`` or ``"statistic"`` (the update of a number that no optimiser moves)
    kind: str
    words: str  # what happens, in a few words
    # units: the outputs of `stage` that are computed, or whose deltas are
    # weights: flat indices of the weights that are multiplied or cleared, get their gradient or move
    units: Rows
    weights: Rows
    stage: str = ""  # name of the stage, empty for none
    # formula: with names; numbers: with numbers and the result; both are empty if many are done at once
    formula: str = ""
    numbers: str = ""
    value: float = nan  # the result; NaN if there are many
    # numbers that are multiplied (product, delta, gradient), added (sum) or taken (unit, operation); empty for a
    # sum over several samples or places
    factors: tuple[float, ...] = ()
    # product: which input of the layer; node: its row; many numbers at once: which one `value` is; else -1
    column: int = -1
    lines: tuple[RuleFormula, ...] = ()  # update: the optimiser's rule with numbers
    op: str = ""  # the operation that makes `value` from `factors`: of `TABLE`, or one of `equations`
    other_calls: tuple[str, ...] = ()  # stages of the same micro-step, such as other calls of the module


class GradientTerms(NamedTuple):
    """The terms of one weight's gradient."""

    terms: int  # how many ``delta * x`` there are; 0 if unknown
    delta: float = nan  # delta and x: of the only term; NaN if there are several
    x: float = nan
    bias: bool = False  # whether the weight is a bias, so that `x` is 1


@dataclass(frozen=True, slots=True)
class PhaseSpan:
    """The micro-steps of one phase."""

    name: Phase
    start: int  # start and count: its first micro-step, from 0, and how many it has
    count: int
    words: str  # ``"9 products, 3 sums, 3 σ"``


def phases_of(steps: Sequence[MicroStep]) -> tuple[PhaseSpan, ...]:
    """Return the six phases of a step, in order."""
    found, start = [], 0
    for name in PHASES:
        mine = [step for step in steps if step.phase == name]
        found.append(PhaseSpan(name, start, len(mine), _phase_words(name, mine)))
        start += len(mine)
    return tuple(found)


def _phase_words(name: Phase, steps: Sequence[MicroStep]) -> str:
    if name == "forward":
        return ", ".join(counted(label, count) for label, count in Counter(map(_label, steps)).items())
    if name == "loss":
        return f"{steps[0].value:.4g}"
    if name == "backward":
        return counted("δ" if all(step.kind != "stage" for step in steps) else "stage", len(steps))
    weights = sum(len(step.weights) for step in steps if step.kind != "statistic")
    others = sum(len(step.weights) for step in steps) - weights
    if others:  # what no optimiser moves
        return f"{counted('weight', weights)}, {counted('statistic', others)}"
    return {
        "zero": f"{counted('gradient', weights)} cleared",
        "gradients": counted("gradient", weights),
        "update": counted("weight", weights),
    }[name]


def _label(step: MicroStep) -> str:
    return step.kind if step.kind in ("product", "sum", "stage", "node") else step.words.partition(" ")[0]


def listed(made: NDArray[np.float64], joined: str, count: int, digits: int) -> str:
    """Return numbers of a stage as a list; for several samples, also how they are `joined`: "mean", "sum"."""
    said = ", ".join(digits_of(float(number), digits) for number in made)
    return said if count == 1 else f"{joined} of {count:,} = {said}"


def counted(label: str, count: int) -> str:
    """Return a count with its word: ``"1 product"``, ``"9 products"``; a symbol has no plural."""
    plural = "" if count == 1 or label not in _SEVERAL else "s"
    return f"{count:,} {label}{plural}"


def _alike(one: Stage, other: Stage) -> bool:
    """Return whether two stages share a micro-step: calls of one module, or modules with the same input, as q, k, v."""
    reads, others = ({module_path(name) for name in stage.sources} for stage in (one, other))
    same = module_path(one.name) == module_path(other.name) or (reads == others != set())
    return same and (one.kind, one.outputs) == (other.kind, other.outputs)


def module_path(stage: str) -> str:
    """Return the path of a stage's module: ``"cell"`` for the call ``"cell (2)"``."""
    return re.sub(r" ?\(\d+\)\Z", "", stage)


# ---- The numbers that a micro-step shows, and the order of weights


def _row_of(stage: Stage, index: int) -> int:
    """Return which sum of a layer a weight or bias adds to; -1 for none."""
    for tensor in (stage.weight, stage.bias):
        if tensor is not None and 0 <= index - tensor.start < tensor.size:
            return (index - tensor.start) * stage.outputs // tensor.size
    return -1


def shown_call(step: MicroStep, opened: Opened) -> str:
    """Return the call of a module that a micro-step shows: the last one that the loss reads."""
    names = step.stage, *step.other_calls
    return next((name for name in names[::-1] if opened.delta_sums[name].any()), step.stage)


def shown_weights(step: MicroStep, opened: Opened) -> list[Rows]:
    """Return, module by module, the weights that make the number that a micro-step of a whole stage shows.

    For a backward micro-step, these are the weights of the same number on the way forward.
    """
    if step.phase == "backward":
        alike = (one for one in opened.micro_steps() if one.phase == "forward" and one.units.size)
        step = next((one for one in alike if (one.stage, one.column) == (step.stage, step.column)), step)
    if step.phase != "forward" or not step.op or step.column < 0 or not len(step.weights):
        return []
    row, path = re.fullmatch(r"row (\d+)", step.formula), module_path(step.stage)
    names = {*map(module_path, (step.stage, *step.other_calls))}
    layers = [stage.weight for stage in opened.stages if stage.name in names and stage.weight is not None]
    if len(step.units) and not row:
        return [t.start + step.column * t.shape[1] + np.arange(t.shape[1]) for t in layers if len(t.shape) == 2]
    table = next(tensor for tensor in opened.tensors if tensor.start == step.weights[0])  # an embedding's
    place, wide = int(row[1] if row else step.stage.removeprefix(path).strip(" ()") or 1) - 1, table.size
    wide //= table.shape[0]
    return [np.array([table.start + place * wide + step.column % wide])] if place < table.shape[0] else []


def weight_to_show(step: MicroStep, forward: Sequence[MicroStep], opened: Opened) -> int:
    """Return the weight to show: the largest gradient of those that `forward` shows, or else of all."""
    told = np.concatenate([_NONE, *(weights for one in forward for weights in shown_weights(one, opened))])
    sizes = np.abs(np.nan_to_num(opened.gradient[step.weights]))
    mine = np.isin(step.weights, told) & (sizes > 0)
    return int(step.weights[np.argmax(np.where(mine, sizes, -1.0) if mine.any() else sizes)])


def outputs_of(opened: Opened) -> NDArray[np.float64]:
    """Return the outputs of one sample, (calls of the last module, outputs); empty for several samples."""
    calls = [stage.name for stage in opened.stages if module_path(stage.name) == module_path(opened.stages[-1].name)]
    known = len(opened.batch) == 1 and len(opened.targets) and opened.rows
    return np.array([opened.rows[name][:, 0] for name in calls] if known else [])


def loss_texts(opened: Opened) -> tuple[str, str] | None:
    """Return the loss of one sample in symbols and with numbers; None for several samples or an unknown loss."""
    outputs = outputs_of(opened)
    return loss_of(outputs, opened.targets[:, 0], opened.loss) if len(outputs) else None


def share_text(step: MicroStep, opened: Opened) -> str:
    """Return the equation of the softmax share that a forward micro-step shows, or an empty text."""
    looks = opened.attention(step.stage) if step.formula == SHARES else None
    if looks is not None:
        head, place = looks.which(SHARES, step.column)
        return share_of(looks.scores[head], place, float(looks.scores[head].max()))
    call, loss = shown_call(step, opened), loss_texts(opened)
    if loss is None or "ln" not in loss[0] or module_path(call) != module_path(opened.stages[-1].name):
        return ""
    sums = opened.rows[call][:, 0]
    return share_of(sums, step.column, float(sums.max()) if np.abs(sums).max() > FAR else 0.0)


def in_order(stage: Stage | None, weights: Rows, *, arriving: bool) -> Rows:
    """Return weights row by row, each row with its bias.

    With `arriving`, in the order of their gradients: biases first, then column by column, the last first.
    """
    if stage is None or stage.weight is None:
        return weights
    first, columns = stage.weight.start, max(1, stage.weight.shape[1])
    row, column = np.divmod(weights - first, columns)
    if stage.bias is not None:
        biases = (weights >= stage.bias.start) & (weights < stage.bias.start + stage.bias.size)
        row, column = np.where(biases, weights - stage.bias.start, row), np.where(biases, columns, column)
    if arriving:
        column = np.where((weights >= first) & (weights < first + stage.weight.size), column, columns)
    return weights[np.lexsort((row, -column) if arriving else (column, row))]


# ---- `Walk`: makes the micro-steps of an opened step


EACH = 64
"""Up to this many weights, every product, delta, gradient and new weight is a micro-step."""
MOST_UNITS = 64
"""Up to this many outputs of a stage, each is a micro-step."""
FEW = 8
"""Up to this many numbers of a stage are written out."""
MOST_PRODUCTS = 256
"""Up to this many products of all layers, each is a micro-step: weights may be used many times."""


class MicroStepMaker:
    """Makes the micro-steps of one step."""

    def __init__(self, opened: Opened) -> None:
        self.opened, self.passes = opened, opened._passes
        self.rows_of = self.passes.network.rows_of
        products = sum(stage.weight.size for stage in opened.stages if stage.weight is not None)
        self.n_weights = sum(tensor.size for tensor in opened.tensors if not tensor.buffer)
        self.one_by_one = self.n_weights <= EACH and products <= MOST_PRODUCTS
        self.single = len(opened.batch) == 1
        self.many = f"{'mean' if opened.divisor != 1 else 'sum'} of {len(opened.batch):,}"
        self.using: set[str] = set()
        self._crossed = dict[str, list[tuple[MicroStep, int]]]()  # by layer, micro-steps before it with their rows
        self._units = dict[str, int]()  # by module, which of its numbers is shown forward
        self.formula = self.passes.network.formula if self.one_by_one else None
        self.groups = self._groups()
        self.calls = self._calls()

    def steps(self) -> Iterator[MicroStep]:
        """Yield every micro-step, in order."""
        weights = np.arange(self.n_weights)
        yield MicroStep("zero", "clear", f"{counted('gradient', len(weights))} cleared", _NONE, weights)
        forward = [step for calls in self.calls for step in self._forward(calls)]
        yield from forward
        loss = self.opened.loss
        said = "loss" if self.single else f"loss, {self.many} samples"
        yield MicroStep("loss", "loss", said, _NONE, _NONE, numbers=digits_of(loss, DIGITS), value=loss)
        for calls in reversed(self.calls):
            if any(stage.name in self.using for stage in calls):
                yield from self._backward(calls)
        stages = {stage.name: stage for stage in self.opened.stages}
        groups = [("" if own else name, group) for (name, own), group in self.groups.items()]
        for name, group in reversed(groups):
            weights = in_order(stages.get(name), group, arriving=True)
            if self.one_by_one:
                yield from (self._gradient(name, index) for index in weights.tolist())
            else:
                words = f"{len(weights):,} gradients"
                yield self._gradients(MicroStep("gradients", "stage", words, _NONE, weights, name, "Σ δ · x"), forward)
        for name, group in groups:
            weights = in_order(stages.get(name), group, arriving=False)
            if self.one_by_one:
                yield from (self._update(name, index) for index in weights.tolist())
            else:
                moved = weights[self.opened._taken.trained[weights]]
                lines = self.opened.update(int(moved[0])).lines if len(moved) else ()
                formula = lines[-1].formula if lines else ""
                words = f"{len(weights):,} new weights"
                yield MicroStep("update", "stage", words, _NONE, weights, name, formula, lines=lines)
        for tensor in self.opened.tensors:
            if tensor.buffer and tensor.name != SCALE_NAME:
                yield from self._following(tensor, stages)

    # ---- which weights belong to which stage

    def _groups(self) -> dict[tuple[str, str], Rows]:
        """Return the weights by the first stage that uses them ("" for none), in large networks also by module.

        Add every such stage to `using`.
        """
        groups: dict[str, dict[str, list[Rows]]] = {name: {} for name in (*self.rows_of, "")}
        for tensor in (tensor for tensor in self.opened.tensors if tensor.size and not tensor.buffer):
            span = np.arange(tensor.start, tensor.start + tensor.size)
            for part in np.split(span, len(span)) if self.one_by_one else [span]:
                uses = self.passes.uses_of(int(part[0]))
                at = {self.passes.network.places.place_of(use.rows).stage for use in uses}
                self.using |= at
                name, own = next((name for name in groups if name in at), ""), tensor.name.rpartition(".")[0]
                groups[name].setdefault("" if self.one_by_one or own == module_path(name) else own, []).append(part)
        return {(name, own): np.concatenate(parts) for name, of in groups.items() for own, parts in of.items()}

    def _calls(self) -> list[list[Stage]]:
        """Return the stages in order; in large networks, similar ones that need not wait come together."""
        if self.one_by_one:
            return [[stage] for stage in self.opened.stages]
        waiting, done, found = [*self.opened.stages], {"input"}, list[list[Stage]]()
        while waiting:
            found.append([])
            for stage in waiting:
                if stage is waiting[0] or (_alike(stage, waiting[0]) and done.issuperset(stage.sources)):
                    found[-1].append(stage)
                    done.add(stage.name)
            waiting = [stage for stage in waiting if stage.name not in done]
        return found

    # ---- forward

    def _forward(self, calls: Sequence[Stage]) -> Iterator[MicroStep]:
        stage = calls[0]
        rows = self.rows_of[stage.name]
        if self.formula is not None:
            yield from self._nodes(stage, self.formula)
            return
        if self.one_by_one and stage.weight is not None:
            yield from self._layer(stage, stage.weight, rows)
            return
        if not (self.one_by_one and stage.kind in TABLE and stage.outputs <= MOST_UNITS):
            between = (
                []
                if self.one_by_one
                else [*self._between([s for s in calls if module_path(s.name) == module_path(stage.name)])]
            )
            weights = np.concatenate([self.groups.get((call.name, ""), _NONE) for call in calls])
            words = f"{stage.kind}: {counted('number', sum(call.outputs for call in calls))}"
            step = self._stage("forward", words, calls, weights, self.passes.means[rows])
            if between and between[-1].formula in MERGED:  # changes no number on the screen
                first = between.pop()
                name = first.op if first.formula == MERGED[1] else first.words.partition(":")[0]
                formula = step.formula.replace("x", f"{SYMBOLS.get(name, name)}(x)")
                step = replace(step, words=f"{name}, then {words}", formula=formula)
            yield from (*between, step)
            return
        symbol, source = SYMBOLS.get(stage.kind, stage.kind), stage.sources[0] if stage.sources else ""
        read, formula = self.rows_of.get(source), f"{symbol}(sum)"
        for unit, row in enumerate(rows.tolist()):
            value, before, said = float(self.passes.means[row]), tuple[float, ...](), ""
            if self.single and read is not None and len(read) == stage.outputs:
                before = (float(self.passes.means[read[unit]]),)
                op, operands = self._operation(row, stage.kind)
                factors = self.passes.means[operands].tolist()
                if stage.kind in SIGNS and factors:
                    formula = in_letters(op, "ab" if len({*operands.tolist()}) > 1 else ["x"] * len(factors))
                    said = operated(op, factors, value, "")
                else:
                    said = applied(op, factors[1:], before[0], value)
            said = said or f"mean of {len(self.opened.batch):,} = {digits_of(value, DIGITS)}"
            yield MicroStep(
                "forward", "unit", f"{symbol} of output {unit}", np.array([unit]), _NONE, stage.name,
                formula, said, value, before,
            )  # fmt: skip

    def _stage(
        self, phase: Phase, words: str, calls: Sequence[Stage], weights: Rows, made: NDArray[np.float64]
    ) -> MicroStep:
        """Return the micro-step of all numbers of a stage, which are written out if they are few."""
        said = ""
        if self.one_by_one and 0 < len(made) <= FEW:
            joined = "mean" if phase == "forward" else self.many.partition(" ")[0]
            said = listed(made, joined, len(self.opened.batch), DIGITS)
        value = float(made[0]) if len(made) == 1 else nan
        step = MicroStep(
            phase, "stage", words, np.arange(len(made)), weights, calls[0].name, numbers=said, value=value,
            other_calls=tuple(call.name for call in calls[1:]),
        )  # fmt: skip
        if self.one_by_one:
            return step
        asked = self.passes.asked(calls)
        return (
            self._with_largest_delta(step, asked)
            if phase == "backward"
            else self._with_row(step, asked, self.rows_of[asked.name])
        )

    def about(self, step: MicroStep, index: int) -> MicroStep:
        """Return a micro-step of many sums with the sum to which a weight adds; any other step unchanged."""
        names = (step.stage, *step.other_calls) if step.phase == "forward" and len(step.units) else ()
        calls = [stage for stage in self.opened.stages if stage.name in names and _row_of(stage, index) >= 0]
        if not calls:
            return step
        stage = self.passes.asked(calls)
        return self._with_row(step, stage, self.rows_of[stage.name], _row_of(stage, index))

    def _with_row(self, step: MicroStep, stage: Stage, rows: Rows, unit: int = -1) -> MicroStep:
        """Return a micro-step of many numbers with the equation of one: of `unit`, or chosen by `_which`."""
        which = unit if unit >= 0 else self._which(step, stage, rows, self.passes.means)
        row, units = int(rows[which]), len(step.units)
        normed = norm_operation(self.passes, stage, which, self.opened.tensors) if units else None
        found = normed or operation_of(self.passes, row)
        return step if found is None else self._with_number(step, found, float(self.passes.means[row]), which, "mean")

    def _which(self, step: MicroStep, stage: Stage, rows: Rows, numbers: NDArray[np.float64]) -> int:
        """Return which of many numbers to show: the target class, the one shown before, or the largest.

        In a word, each layer shows the number that leads to the largest output of attention, there and back.
        """
        count, followed = self._followed
        before = self._units.get(module_path(stage.name), -1)
        if step.phase == "backward" and before >= 0 and self.passes.adjoint_sums[rows[before]]:
            return before
        sizes = np.abs(np.nan_to_num(numbers[rows]))
        if len(step.units) and module_path(stage.name) == module_path(self.opened.stages[-1].name):
            found = self._wanted(stage, rows)
        else:
            found = followed if len(rows) == count and step.formula != SHARES else -1
        if found < 0 <= followed and len(step.units) and (asked := self.passes.adjoint_sums[rows] != 0).any():
            sizes = sizes * asked
        found = found if found >= 0 else int(np.argmax(sizes))
        if step.phase == "forward" and len(step.units):
            self._units |= {module_path(name): found for name in (step.stage, *step.other_calls)}
        return found

    @cached_property
    def _followed(self) -> tuple[int, int]:
        """The number of outputs of the last attention, and which of them to show; (0, -1) without attention."""
        for calls in reversed(self.calls):
            looks = self.opened.attention(self.passes.asked(calls).name)
            if looks is not None:
                return looks.outputs.size, int(np.ravel_multi_index(looks.chosen, looks.outputs.shape))
        return 0, -1

    def _wanted(self, stage: Stage, rows: Rows) -> int:
        """Return the target class of one sample at a call of the last layer; -1 if the loss has no shares."""
        calls = [own.name for own in self.opened.stages if module_path(own.name) == module_path(stage.name)]
        gap = self._target_difference(int(rows[0])) if self.single else None
        return int(self.opened.targets[calls.index(stage.name), 0]) if gap is not None and "p" in gap.formula else -1

    def _with_number(self, step: MicroStep, found: RowOperation, value: float, which: int, joined: str) -> MicroStep:
        """Return a micro-step of many numbers that shows number `which`, made as `found` says."""
        whole = (self.single or found.linear) and len(found.factors) <= MOST_TERMS
        factors = found.factors if whole else ()
        said = operated(found.op, factors, value, "" if self.single else f"{joined} of {len(self.opened.batch):,}")
        formula = step.formula or found.formula
        return replace(step, op=found.op, factors=factors, value=value, numbers=said, column=which, formula=formula)

    def _with_largest_delta(self, step: MicroStep, stage: Stage) -> MicroStep:
        """Return a micro-step of many deltas with the one that `_which` chooses."""
        rows, sums = self.rows_of[stage.name], self.passes.adjoint_sums
        which = self._which(step, stage, rows, sums)
        found = self._derivation(int(rows[which]))
        found = found._replace(formula="") if found.formula == "dL/dy" else found
        return self._with_number(step, found, float(sums[rows[which]]), which, self.many.partition(" ")[0])

    def _between(self, calls: Sequence[Stage]) -> Iterator[MicroStep]:
        """Yield the operations between modules before a layer (sums, norms, attention), each with one number."""
        between, stage = self.passes.network.between, self.passes.asked(calls)
        if norm_operation(self.passes, stage, 0, self.opened.tensors) is not None:  # the module says it
            return
        found: dict[tuple[str, bool], list[int]] = {}
        for row, kind in between.kinds(stage.name).items():  # a norm before another one also leads past the layer
            found.setdefault((kind, kind == "norm" and row not in between.reads(stage.name)), []).append(row)
        for kind, apart in (key for key in found if key[0] in BETWEEN):
            mine = [name for name in self.groups if kind == "sum" and name[0] == calls[0].name and name[1]]
            weights = np.concatenate([_NONE, *(self.groups[name] for name in mine)])
            words, formula = BETWEEN[kind]
            words = f"sum with {mine[0][1].rpartition('.')[2]}: number by number" if mine else words
            step = MicroStep("forward", "stage", words, _NONE, weights, stage.name, formula)
            rows = np.array(found[kind, apart])
            step = self._with_row(step, stage, rows)
            if kind in ("norm", "share", "values") and step.column >= 0:  # of others the stage before has the delta
                self._crossed.setdefault(calls[0].name, []).append((step, int(rows[step.column])))
            yield step

    def _nodes(self, stage: Stage, tape: Tape, *, backward: bool = False) -> Iterator[MicroStep]:
        """Yield the operations of a formula and its loss, except the last: their numbers, or their deltas."""
        program, means, sums = self.passes.network.body.program, self.passes.means, self.passes.adjoint_sums
        names = {k: self._leaf(node) for k, node in enumerate(tape.nodes) if node.code in LEAVES[:2]}
        writer = Writer(tape, names, means.tolist(), ())
        texts = {k: names.get(k) or text_of(writer.line(k)) for k in range(len(tape.nodes))}
        rows = [k for k, node in enumerate(tape.nodes) if node.code not in LEAVES and k != program.loss]
        for row in [k for k in rows[::-1] if program.needs_gradient[k]] if backward else rows:
            units, op, formula = np.flatnonzero(program.outputs == row), tape.nodes[row].code, texts[row]
            value, factors, joined = float(means[row]), means[list(tape.nodes[row].args)], "mean"
            if backward:
                value, joined = float(sums[row]), self.many.partition(" ")[0]
                uses = list(readers(self.passes.network.body, row))
                op, formula = TERMS, "Σ upstream · slope"
                factors = np.concatenate([sums[use.rows] * self._x(use) for use in uses])
                if len(uses) == 1:
                    user = int(uses[0].rows[0])
                    args = tape.nodes[user].args
                    kind, operands = uses[0].kind, [names.get(k, "(…)") for k in args]
                    formula = f"upstream · {slope(kind, args.index(row), operands, SYMBOLS.get(kind, kind))}"
                    op, factors = "mul", np.array([sums[user], self._x(uses[0])[0]])
            taken = tuple(factors.tolist()) if self.single else ()
            said = operated(op, taken, value, "" if self.single else f"{joined} of {len(self.opened.batch):,}")
            yield MicroStep(
                "backward" if backward else "forward", "node", texts[row], units, _NONE, stage.name, formula=formula,
                numbers=said, value=value, factors=taken, op=op, column=row,
            )  # fmt: skip

    def _leaf(self, node: Node) -> str:
        """Return the name of an input, a target or a weight of a formula."""
        if node.code == "param":
            return self.opened.name(node.index)
        count = self.opened.tape.n_inputs
        return f"input {node.index}" if node.index < count else f"target {node.index - count}"

    def _layer(self, stage: Stage, weight: Tensor, rows: Rows) -> Iterator[MicroStep]:
        """Yield the products and sums of a linear stage, row by row."""
        of = "" if self.single else f"mean over {len(self.opened.batch):,} samples: "
        for unit, row in enumerate(rows.tolist()):
            parts = []
            for column in range(weight.shape[1]):
                index = weight.start + unit * weight.shape[1] + column
                w, x = float(self.opened.values[index]), self._input(index, row, column)
                parts.append(w * x)
                yield MicroStep(
                    "forward", "product", f"weight times input {column}", np.array([unit]), np.array([index]),
                    stage.name, "w · x", of + times((w, x), w * x), w * x, (w, x), column,
                )  # fmt: skip
            biases = _NONE if stage.bias is None else np.array([stage.bias.start + unit])
            parts += self.opened.values[biases].tolist()
            value = float(self.passes.means[row])
            said = of + added(parts, value)
            yield MicroStep(
                "forward", "sum", f"sum of output {unit}", np.array([unit]), biases, stage.name,
                "Σ w · x" + (" + b" if len(biases) else ""), said, value, tuple(parts),
            )  # fmt: skip

    def _operation(self, row: int, kind: str) -> tuple[str, Rows]:
        """Return the operation of a stage without weights, and its operands' rows; the second may be a slope."""
        made = self.passes.network.places.instruction_of(row)
        while kind in SIGNS and made is not None and made[0].op == "float16":  # the rounding of half precision
            made = self.passes.network.places.instruction_of(int(made[2][0]))
        if made is None:
            return kind, _NONE
        return made[0].op if made[0].op.startswith(kind) or kind in SIGNS else kind, made[2]  # such as gelu_tanh

    def _input(self, index: int, row: int, column: int) -> float:
        """Return the input that a weight multiplies at the sum `row`, as the mean over the batch."""
        made = self.passes.network.places.instruction_of(row)
        while made is not None and made[0].kind == "op" and len(made[2]) == 1:  # the rounding of half precision
            made = self.passes.network.places.instruction_of(int(made[2][0]))
        if made is None or made[0].kind not in LAYERS:
            return nan
        i, part, operands = made
        if i.kind == "dot":
            column = next((k for k in range(i.terms) if i.weights[part * i.terms + k] == index), column)
        return float(self.passes.means[operands[column]])

    def _x(self, use: Use) -> NDArray[np.float64]:
        with np.errstate(all="ignore"):
            x = use.x(self.passes.means[:, None], self.passes.theta)
        return np.broadcast_to(x, (len(use.rows), 1))[:, 0]

    # ---- backward

    def _backward(self, calls: Sequence[Stage]) -> Iterator[MicroStep]:
        stage = calls[0]
        rows = self.rows_of[stage.name]
        if self.formula is not None:
            yield from self._nodes(stage, self.formula, backward=True)
            return
        if not (self.one_by_one and stage.weight is not None and stage.outputs <= MOST_UNITS):
            words = f"δ of {counted('output', sum(call.outputs for call in calls))}"
            yield self._stage("backward", words, calls, _NONE, self.passes.adjoint_sums[rows])
            for made, told in reversed(self._crossed.get(stage.name, [])):
                row, column, looks = told, made.column, self.opened.attention(made.stage, back=True)
                shares = self.passes.network.between.attention_rows(made.stage)
                if made.formula == SHARES and looks is not None and shares is not None:  # that of the largest score
                    head, which = looks.chosen[0], int(np.abs(looks.scores[looks.chosen[0]]).argmax())
                    row, column = int(shares.shares[head, which]), head * shares.shares.shape[1] + which
                found, value = self._derivation(row), float(self.passes.adjoint_sums[row])
                if found.factors:
                    step = replace(made, phase="backward", formula=found.formula, weights=_NONE)
                    yield self._with_number(step, found, value, column, self.many.partition(" ")[0])
            return
        for unit, row in enumerate(rows.tolist()):
            value = float(self.passes.adjoint_sums[row])
            words, found = f"δ of output {unit}", self._derivation(row)
            step = MicroStep("backward", "delta", words, np.array([unit]), _NONE, stage.name, found.formula)
            step = self._with_number(step, found, value, unit, self.many.partition(" ")[0])
            pair = not step.factors or (found.op == "mul" and len(step.factors) == 2)
            yield replace(step, op="", column=-1) if pair else step

    def _slopes(self, uses: Sequence[Use]) -> Counter[int]:
        """Return the derivatives with respect to a number, by the rows that read it."""
        slopes = Counter[int]()
        for use in uses:  # a square reads its number twice
            slopes.update(dict(zip(use.rows.tolist(), self._x(use).tolist(), strict=True)))
        return slopes

    def _derivation(self, row: int) -> RowOperation:
        """Return how a row's delta comes from its readers, in symbols; with factors if one operation makes it."""
        gap = self._target_difference(row)
        if gap is not None:
            return gap
        above = list(readers(self.passes.network.body, row))
        while len(above) == 1 and above[0].kind == "add":  # a sum hands its δ on as it is
            row = int(above[0].rows[0])
            above = list(readers(self.passes.network.body, row))
        if len(above) != 1 or above[0].kind not in (*TABLE, MAX):
            sums, formula = self.passes.adjoint_sums, self._upstream(row)
            linear = formula == "Σ w · δ"
            uses = above if linear or (self.single and all(use.kind != "loss" for use in above)) else ()
            slopes = self._slopes(uses)
            pairs = [(float(sums[k]), float(x)) for k, x in slopes.items() if sums[k] * x]
            if not linear and not np.isclose(exact_sum(a * b for a, b in pairs), sums[row], rtol=1e-9, atol=1e-14):
                pairs = []  # one sample alone moves no mean of its batch
            if not linear and len(pairs) == 1:
                kind = self.passes.network.between.kind_of(next(k for k, x in slopes.items() if sums[k] * x))
                return RowOperation("mul", pairs[0], "δ · share" if kind == "values" else "δ · slope")
            if not linear and pairs and (ways := self._ways(row)) is not None:
                return ways
            parts = condensed([a * b for a, b in pairs], MOST)
            if parts and not linear:
                kinds = {self.passes.network.between.kind_of(k) for k in slopes}
                formula = "Σ δ · v" if kinds == {"values"} else "Σ δ · slope"
            return RowOperation(TERMS, parts if len(parts) > 1 else (), formula, linear)
        letters, factors, upper = [slope(above[0].kind)], [float(self._x(above[0])[0])], int(above[0].rows[0])
        while len(pool := list(readers(self.passes.network.body, upper))) == 1 and pool[0].kind == MAX:
            letters, factors = [slope(MAX), *letters], [float(self._x(pool[0])[0]), *factors]
            upper = int(pool[0].rows[0])
        above_it = self._upstream(upper)
        if letters == ["1"]:  # a difference, as of a logit and the largest: nothing is multiplied
            return RowOperation(TERMS, (), above_it)
        letters = [f"({above_it})" if above_it.startswith("Σ") else above_it, *letters]
        sums = self.passes.adjoint_sums
        readers_of = [*self._slopes(pool).items()] if self.single and above_it == "Σ w · δ" else []
        terms = condensed([w * float(sums[k]) for k, w in readers_of], MOST)
        op = next((op for op, count in PASSED.items() if count == len(factors)), "")
        if op and len(terms) > 1 and np.isfinite([*terms, *factors]).all():
            return RowOperation(op, (*factors, *terms), " · ".join(letters))
        if len(readers_of) == 1:
            (reader, weight), letters[0] = readers_of[0], "w · δ"
            factors = [weight, float(sums[reader]), *factors]
        else:
            factors = [float(sums[upper]), *factors]
        off = np.isnan(prod(factors)) and np.isfinite(sums[row])  # a ReLU sends back 0, not NaN · 0
        return RowOperation(TERMS if off else "mul", () if off else tuple(factors), " · ".join(letters))

    def _ways(self, row: int) -> RowOperation | None:
        """Return the parts of a row's delta by the layers, norms and residual sums that they come from.

        None if there is only one part, or they are not the whole delta. For an RMSNorm, the factors of its
        derivative.
        """
        network, sums, means = self.passes.network, self.passes.adjoint_sums, self.passes.means
        found, slopes, waiting, normed = dict[str, float](), {row: 1.0}, [row], set[int]()
        while waiting:  # a row comes after all that it is made of
            below = heappop(waiting)
            uses = ((use, *apart) for use in readers(network.body, below) for apart in network.places.apart(use.rows))
            for use, (stage, units), own in uses:
                rows, x = use.rows[own], slopes[below] * self._x(use)[own]
                kind = network.between.kind_of(int(rows[0])) if units[0] == INSIDE else ""
                name = {"sum": "residual sum", "norm": "RMSNorm"}.get(kind, "")
                if units[0] != INSIDE:
                    name = module_path(stage).rpartition(".")[2]
                    name = f"layer {name}" if name.isdecimal() else name
                if name:
                    found[name] = found.get(name, 0.0) + float(sums[rows] @ x)
                    normed |= {*rows.tolist()} if kind == "norm" else set()
                    continue
                for k, part in zip(rows.tolist(), x.tolist(), strict=True):
                    if k not in slopes:
                        heappush(waiting, k)
                    slopes[k] = slopes.get(k, 0.0) + part
        if not np.isclose(exact_sum(found.values()), sums[row], rtol=1e-9, atol=1e-14):
            return None
        outputs = [*normed]
        mine = [k for k in outputs if (made := network.places.instruction_of(k)) is not None and row in made[2]]
        if len(mine) == 1 and found.keys() <= {"RMSNorm", "residual sum"} and means[mine[0]]:
            delta, y = float(sums[mine[0]]), float(means[mine[0]])
            parts = delta, y, float(np.mean(sums[outputs] * means[outputs])), float(means[row]) / y
            residual = [found[name] for name in found if name != "RMSNorm"]
            if np.isclose(through_rms(*parts), found["RMSNorm"], rtol=1e-6, atol=1e-14):
                letters = f"{'residual sum + ' * len(residual)}(δ {MINUS} y · mean δy) / √mean"
                return RowOperation(RMS_SUM if residual else RMS, (*residual, *parts), letters)
        return RowOperation(TERMS, tuple(found.values()), " + ".join(found)) if 1 < len(found) <= MOST else None

    def _target_difference(self, row: int) -> RowOperation | None:
        """Return a delta as (number − target) · factor: of squared errors or softmax shares; else None."""
        passes, opened = self.passes, self.opened
        if passes.loss_scale != 1:
            return None
        if (squared := self._squared(row)) is not None:
            (y, t), factor, letter = passes.means[[row, squared[0]]].tolist(), squared[1], "y"
        else:
            stage, units = passes.network.places.place_of([row])
            calls = [own.name for own in opened.stages if module_path(own.name) == module_path(stage)]
            at = calls.index(stage) if stage in calls else -1
            if not 0 <= at < len(opened.targets) or opened.shown < passes.size:
                return None
            shares, wanted = shares_of(passes.rows[stage], opened.targets[at])
            gaps, deltas = shares - wanted, passes.deltas[stage] * opened.divisor
            with np.errstate(all="ignore"):  # a run that diverged
                counts = np.abs(gaps).sum(axis=0) / np.abs(deltas).sum(axis=0)
                wrong = np.abs(deltas - gaps / counts).max() / np.abs(deltas).max()
            counts = counts[np.isfinite(counts)]
            apart = np.abs(counts - counts.round()).max(initial=0.0)
            if not (wrong <= CLOSE and apart <= CLOSE and counts.min(initial=1.0) > CLOSE):
                return None
            if len(counts) < passes.size or np.ptp(counts) > CLOSE:  # words of several lengths
                return RowOperation(GAP, (), f"(p {MINUS} t) / n")
            (y, t), factor, letter = (float(of[units[0]].mean()) for of in (shares, wanted)), 1 / counts[0].round(), "p"
        letters = text_of(scaled(factor, (f"{letter} {MINUS} t",)))
        return RowOperation(GAP, (y, t, factor), letters, opened.divisor == passes.size)

    def _squared(self, row: int) -> tuple[int, float] | None:
        """Return the target's row and the factor of the difference, if a row's error is squared; else None."""
        above, program = list(readers(self.passes.network.body, row)), self.passes.network.body.program
        made = self.passes.network.places.instruction_of(int(above[0].rows[0])) if len(above) == 1 else None
        if made is None or made[0].kind != "squares":
            return None
        pairs = made[2].reshape(2, -1)
        other = pairs[::-1][pairs == row]  # and no other output
        return (int(other[0]), 2 * float(made[0].numbers[0])) if other in program.input_rows else None

    def _upstream(self, row: int) -> str:
        """Return the gradient that a row receives, in symbols."""
        above, squared = list(readers(self.passes.network.body, row)), self._squared(row)
        if above and all(use.kind in LAYERS for use in above):
            return "Σ w · δ"
        if squared is None:
            return "dL/dy"
        factor = Fraction(squared[1]).limit_denominator(1000)
        return DIFFERENCE if factor == 1 else f"{factor} · {DIFFERENCE}"

    # ---- gradients and new weights

    def _following(self, tensor: Tensor, stages: Mapping[str, Stage]) -> Iterator[MicroStep]:
        """Yield the updates of numbers that no optimiser moves but that follow the step."""
        path = tensor.name.rpartition(".")[0]
        name = path if path in stages else ""
        places = np.array([k for k in range(tensor.start, tensor.start + tensor.size) if self.opened.follows(k)], int)
        if self.one_by_one:
            for index in places.tolist():
                yield replace(self._update(name, index), kind="statistic")
        elif len(places):
            yield MicroStep("update", "statistic", f"new {tensor.name}", _NONE, places, name)

    def _gradient(self, name: str, index: int) -> MicroStep:
        value, uses = float(self.opened.gradient[index]), self.passes.uses_of(index)
        places = sum(len(use.rows) for use in uses)
        formula, factors = "δ · x" if places == 1 else "Σ δ · x", tuple[float, ...]()
        if self.single and places == 1:
            factors = float(self.passes.adjoint_sums[uses[0].rows[0]]), float(self._x(uses[0])[0])
            said = times(factors, value)
        elif places:
            terms = f"{places:,} products" if self.single else f"{self.many} δ · x"
            said = f"{terms} = {digits_of(value, DIGITS)}"
        else:
            said = "nothing reads it: 0"
        words = f"gradient of {self.opened.name(index)}"
        return MicroStep("gradients", "gradient", words, _NONE, np.array([index]), name, formula, said, value, factors)

    def _gradients(self, step: MicroStep, forward: Sequence[MicroStep]) -> MicroStep:
        """Return a micro-step of many gradients that shows the terms of one."""
        gradient = self.opened.gradient
        index = weight_to_show(step, forward, self.opened)
        terms, value = self.opened.terms(index, MOST), float(gradient[index])
        if terms.count < 2:
            return step
        parts = terms.products.tolist()
        rest = value - exact_sum(parts) if all(parts) else 0.0  # where one of the largest is 0, all others are
        factors = (*parts, rest) if terms.count > len(parts) else tuple(parts)
        which = int(np.flatnonzero(step.weights == index)[0])
        return replace(step, op=TERMS, factors=factors, value=value, numbers=added(factors, value), column=which)

    def _update(self, name: str, index: int) -> MicroStep:
        update = self.opened.update(index)
        words, place = f"new {self.opened.name(index)}", np.array([index])
        if update.lines:
            formula, said = (
                update.lines[-1].formula,
                update.lines[-1].equation(digits_apart(update.before, update.after)),
            )
        else:
            stays, before = update.after == update.before, digits_of(update.before, DIGITS)
            becomes = "stays" if stays else f"becomes {digits_of(update.after, DIGITS)}"
            said, formula = f"{before} {becomes}: {update.why}", "w' = w" if stays else ""
        return MicroStep("update", "update", words, _NONE, place, name, formula, said, update.after, lines=update.lines)
