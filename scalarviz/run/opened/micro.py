"""Micro-steps: one training step as a sequence of small ones, each with its words, its formula and its numbers.

zero -> forward -> loss -> backward -> gradients -> update. Up to `EACH` weights every product, sum, delta, gradient and
new weight is one; larger networks go stage by stage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from fractions import Fraction
from math import nan
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...scalar.kernel import kernel
from ...scalar.ops import TABLE
from ..core.frame import Stage, Tensor
from .network import Use, readers
from .rule import MINUS, Line, Update, digits_of, digits_that_give, rounded

if TYPE_CHECKING:
    from .opened import Opened


Phase = Literal["zero", "forward", "loss", "backward", "gradients", "update"]
PHASES: tuple[Phase, ...] = ("zero", "forward", "loss", "backward", "gradients", "update")
Rows = NDArray[np.int64]
_SEVERAL = frozenset(("product", "sum", "stage", "gradient", "weight", "number", "output", "statistic"))
SYMBOLS = {"sigmoid": "σ"}
"""How activations are called where space is short; others by their name."""


@dataclass(frozen=True, slots=True, eq=False)
class MicroStep:
    """One of them.

    Of a batch of several samples every number is that of the batch: rows are means over its samples, deltas and
    gradients what the loss of the batch asks for.
    """

    phase: Phase
    # ``"clear"``, ``"product"``, ``"sum"``, ``"unit"`` (one output of a stage), ``"stage"`` (all of them),
    # ``"loss"``, ``"delta"``, ``"gradient"``, ``"update"`` or ``"statistic"`` (an update of what follows the
    # step)
    kind: str
    words: str  # what happens, in a few words
    # units and weights: outputs of `stage` that are computed, or whose delta is; flat indices of the weights
    # that take part: that are multiplied, cleared, get their gradient or move
    units: Rows
    weights: Rows
    stage: str = ""  # name of the stage, empty for none
    # formula and numbers: with names, and with numbers and the result; empty where many are done at once
    formula: str = ""
    numbers: str = ""
    value: float = nan  # the result; NaN where there are many
    # what is multiplied (of a product, a delta, a gradient), added (of a sum), or taken (of a unit); empty
    # where the numbers of several samples or places are summed up
    factors: tuple[float, ...] = ()
    column: int = -1  # of a product: which input of the layer; else -1
    lines: tuple[Line, ...] = ()  # of an update: the optimiser's rule with numbers


@dataclass(frozen=True, slots=True)
class PhaseSpan:
    """The micro-steps of one phase."""

    name: Phase
    start: int  # start and count: where it begins among all micro-steps, and how many it has
    count: int
    words: str  # ``"9 products, 3 sums, 3 σ"``


def phases_of(steps: Sequence[MicroStep]) -> tuple[PhaseSpan, ...]:
    """The six phases of a step, in their order."""
    found, start = [], 0
    for name in PHASES:
        mine = [step for step in steps if step.phase == name]
        found.append(PhaseSpan(name, start, len(mine), _said(name, mine)))
        start += len(mine)
    return tuple(found)


def _said(name: Phase, steps: Sequence[MicroStep]) -> str:
    if name == "forward":
        return ", ".join(counted(label, count) for label, count in Counter(map(_label, steps)).items())
    if name == "loss":
        return f"{steps[0].value:.4g}"
    if name == "backward":
        return counted("δ" if all(step.kind == "delta" for step in steps) else "stage", len(steps))
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
    return step.kind if step.kind in ("product", "sum", "stage") else step.words.partition(" ")[0]


def listed(made: NDArray[np.float64], joined: str, count: int, digits: int) -> str:
    """Numbers of a stage one after the other; of several samples with how they are joined: "mean", "sum"."""
    said = ", ".join(digits_of(float(number), digits) for number in made)
    return said if count == 1 else f"{joined} of {count:,} = {said}"


def counted(label: str, count: int) -> str:
    """``"1 product"``, ``"9 products"``; a symbol stays as it is."""
    plural = "" if count == 1 or label not in _SEVERAL else "s"
    return f"{count:,} {label}{plural}"


# ---- Small equations, each true as printed: a product, a sum, an activation; and derivatives in symbols


DIGITS = 4
"""That count, of a result."""


DIFFERENCE = f"(y {MINUS} t)"
"""An output and its target, in the delta of a squared error."""


def slope(op: str) -> str:
    """The derivative of an operation, in symbols where they are short."""
    partial = TABLE[op].partials[0] or ""
    if "(" in partial.replace("(1 - y)", "") or not partial:
        return f"{SYMBOLS.get(op, op)}'"
    text = partial.replace("y * y", "y²").replace("*", "·").replace("-", MINUS)
    return f"({text})" if f" {MINUS} " in text.partition("(")[0] or "+" in text else text


def applied(op: str, given: float, result: float) -> str:
    """An activation of one number, true as printed where nothing else goes into it."""
    function, symbol = kernel(op), SYMBOLS.get(op, op)
    enough = None
    if function.arity == 1:
        enough = digits_that_give(lambda k: function.value(rounded(given, k)), result, DIGITS)
    sign = "≈" if enough is None and function.arity == 1 else "="
    return f"{symbol}({digits_of(given, enough or DIGITS)}) {sign} {digits_of(result, DIGITS)}"


def times(a: float, b: float, result: float) -> str:
    """A product, true as printed."""
    enough = digits_that_give(lambda k: rounded(a, k) * rounded(b, k), result, DIGITS)
    right = digits_of(b, enough or DIGITS)
    right = f"({right})" if right.startswith(MINUS) else right
    sign = "≈" if enough is None else "="
    return f"{digits_of(a, enough or DIGITS)} · {right} {sign} {digits_of(result, DIGITS)}"


def added(parts: list[float], result: float, most: int = 8) -> str:
    """A sum, true as printed."""
    if len(parts) > most:
        return f"{len(parts):,} terms = {digits_of(result, DIGITS)}"
    enough = digits_that_give(lambda k: sum(rounded(part, k) for part in parts), result, DIGITS)
    text = " + ".join(digits_of(part, enough or DIGITS) for part in parts).replace(f"+ {MINUS}", f"{MINUS} ")
    return f"{text} {'≈' if enough is None else '='} {digits_of(result, DIGITS)}"


# ---- In which order the weights of a layer get their gradients, and move


def arriving(stage: Stage | None, weights: Rows) -> Rows:
    """In the order in which gradients arrive from the outputs: biases first, then column by column, the last first."""
    if stage is None or stage.weight is None:
        return weights
    row, column = np.divmod(weights - stage.weight.start, max(1, stage.weight.shape[1]))
    inside = (row >= 0) & (weights < stage.weight.start + stage.weight.size)
    return weights[np.lexsort((np.where(inside, row, weights), np.where(inside, -column, -len(weights) - 1)))]


def by_rows(stage: Stage | None, weights: Rows) -> Rows:
    """Row by row, each with its bias."""
    if stage is None or stage.weight is None:
        return weights
    columns = stage.weight.shape[1]
    row, column = np.divmod(weights - stage.weight.start, max(1, columns))
    if stage.bias is not None:
        biases = (weights >= stage.bias.start) & (weights < stage.bias.start + stage.bias.size)
        row, column = np.where(biases, weights - stage.bias.start, row), np.where(biases, columns, column)
    return weights[np.lexsort((column, row))]


# ---- `Walk`: makes the micro-steps of an opened step


EACH = 64
"""Weights up to which every product, delta, gradient and new weight is a micro-step."""
MOST_UNITS = 64
"""Outputs of a stage up to which each of them is one."""
FEW = 8
"""Numbers of a stage that goes as one, up to which they are written out."""
MOST_PRODUCTS = 256
"""Products of all layers together up to which each is one: weights may be used many times."""
_NONE = np.zeros(0, np.int64)


class Walk:
    """The micro-steps of one step."""

    def __init__(self, opened: Opened) -> None:
        self.opened, self.passes = opened, opened._passes
        self.rows_of = self.passes.network.rows_of
        layers = [stage for stage in opened.stages if stage.weight is not None]
        products = sum(stage.weight.size for stage in layers if stage.weight is not None)
        self.n_weights = sum(tensor.size for tensor in opened.tensors if not tensor.buffer)
        self.each = self.n_weights <= EACH and products <= MOST_PRODUCTS
        self.single = len(opened.batch) == 1
        self.many = f"{'mean' if opened.divisor != 1 else 'sum'} of {len(opened.batch):,}"
        self.using: set[str] = set()
        self.groups = self._groups()

    def steps(self) -> Iterator[MicroStep]:
        """Every micro-step, in order."""
        weights = np.arange(self.n_weights)
        yield MicroStep("zero", "clear", f"{counted('gradient', len(weights))} cleared", _NONE, weights)
        for stage in self.opened.stages:
            yield from self._forward(stage)
        loss = self.opened.loss
        said = "loss" if self.single else f"loss, {self.many} samples"
        yield MicroStep("loss", "loss", said, _NONE, _NONE, numbers=digits_of(loss, DIGITS), value=loss)
        for stage in reversed(self.opened.stages):
            if stage.name in self.using:
                yield from self._backward(stage)
        stages: dict[str | None, Stage] = {stage.name: stage for stage in self.opened.stages}
        for name in reversed(self.groups):
            yield from self._moving("gradients", name or "", arriving(stages.get(name), self.groups[name]))
        for name in self.groups:
            yield from self._moving("update", name or "", by_rows(stages.get(name), self.groups[name]))
        for tensor in self.opened.tensors:
            if tensor.buffer:
                yield from self._following(tensor, set(stages))

    # ---- which weights belong to which stage

    def _groups(self) -> dict[str | None, Rows]:
        """The weights by the first stage that uses them, in the order of the stages; under None what nothing reads.

        And which stages use any, the first or not.
        """
        names: list[str | None] = [*(stage.name for stage in self.opened.stages), None]
        groups: dict[str | None, list[Rows]] = {name: [] for name in names}
        for tensor in (tensor for tensor in self.opened.tensors if not tensor.buffer):
            span = np.arange(tensor.start, tensor.start + tensor.size)
            for part in np.split(span, len(span)) if self.each and len(span) else [span]:
                uses = self.passes.uses_of(int(part[0])) if len(part) else ()
                at = {self.passes.network.places.of(use.rows).stage for use in uses}
                self.using |= at
                groups[next((name for name in names if name in at), None)].append(part)
        return {name: np.concatenate(parts) for name, parts in groups.items() if parts}

    # ---- forward

    def _forward(self, stage: Stage) -> Iterator[MicroStep]:
        rows = self.rows_of[stage.name]
        if self.each and stage.weight is not None:
            yield from self._layer(stage, rows)
            return
        symbol = SYMBOLS.get(stage.kind, stage.kind)
        one_by_one = self.each and stage.kind in TABLE and stage.outputs <= MOST_UNITS
        if not one_by_one:
            weights = self.groups.get(stage.name, _NONE)
            words = f"{stage.kind}: {counted('number', stage.outputs)}"
            yield self._stage("forward", words, stage, weights, self.passes.means[rows])
            return
        for unit, row in enumerate(rows.tolist()):
            value = float(self.passes.means[row])
            before = self._operands(stage, unit) if self.single else ()
            said = applied(stage.kind, before[0], value) if before else self._mean(value)
            yield MicroStep(
                "forward", "unit", f"{symbol} of output {unit}", np.array([unit]), _NONE, stage.name,
                f"{symbol}(sum)", said, value, before,
            )  # fmt: skip

    def _stage(self, phase: Phase, words: str, stage: Stage, weights: Rows, made: NDArray[np.float64]) -> MicroStep:
        """All numbers of a stage at once, and what they are where they are few."""
        said = ""
        if self.each and 0 < len(made) <= FEW:
            joined = "mean" if phase == "forward" else self.many.partition(" ")[0]
            said = listed(made, joined, len(self.opened.batch), DIGITS)
        value = float(made[0]) if len(made) == 1 else nan
        return MicroStep(phase, "stage", words, np.arange(len(made)), weights, stage.name, numbers=said, value=value)

    def _mean(self, value: float) -> str:
        return f"mean of {len(self.opened.batch):,} = {digits_of(value, DIGITS)}"

    def _operands(self, stage: Stage, unit: int) -> tuple[float, ...]:
        source = stage.sources[0] if stage.sources else ""
        rows = self.rows_of.get(source)
        return () if rows is None or len(rows) != stage.outputs else (float(self.passes.means[rows[unit]]),)

    def _layer(self, stage: Stage, rows: NDArray[np.int64]) -> Iterator[MicroStep]:
        """Products and sums of a linear stage, row by row."""
        assert stage.weight is not None
        of = "" if self.single else f"mean over {len(self.opened.batch):,} samples: "
        columns = stage.weight.shape[1]
        for unit, row in enumerate(rows.tolist()):
            parts = []
            for column in range(columns):
                index = stage.weight.start + unit * columns + column
                w, x = float(self.opened.values[index]), self._input(index, row)
                parts.append(w * x)
                yield MicroStep(
                    "forward", "product", f"weight times input {column}", np.array([unit]), np.array([index]),
                    stage.name, "w · x", of + times(w, x, w * x), w * x, (w, x), column,
                )  # fmt: skip
            biases = _NONE if stage.bias is None else np.array([stage.bias.start + unit])
            parts += self.opened.values[biases].tolist()
            value = float(self.passes.means[row])
            said = of + added(parts, value)
            yield MicroStep(
                "forward", "sum", f"sum of output {unit}", np.array([unit]), biases, stage.name,
                "Σ w · x" + (" + b" if len(biases) else ""), said, value, tuple(parts),
            )  # fmt: skip

    def _input(self, index: int, row: int) -> float:
        """What a weight of a layer meets at the sum `row`, the mean over the batch."""
        for use in self.passes.uses_of(index):
            if row in use.rows:
                return float(self._x(use)[use.rows.tolist().index(row)])
        return self._unread(index, row)

    def _unread(self, index: int, row: int) -> float:
        """The same where no gradient flows, so that there is no use."""
        for i in self.passes.network.body.program.instructions:
            if i.dst <= row < i.dst + i.count and i.kind in ("layer", "conv", "dot"):
                n, place = i.args.shape[1], (row - i.dst) % len(i.args)
                k = (index - int(i.weights[0])) % n
                if i.kind == "dot":
                    k = int(np.flatnonzero(i.weights[place * n : (place + 1) * n] == index)[0])
                return float(self.passes.means[i.args[place, k]])
        return float("nan")

    def _x(self, use: Use) -> NDArray[np.float64]:
        with np.errstate(all="ignore"):
            x = use.x(self.passes.means[:, None], self.passes.theta)
        return np.broadcast_to(x, (len(use.rows), 1))[:, 0]

    # ---- backward

    def _backward(self, stage: Stage) -> Iterator[MicroStep]:
        rows = self.rows_of[stage.name]
        if not (self.each and stage.weight is not None and stage.outputs <= MOST_UNITS):
            words = f"δ of {counted('output', stage.outputs)}"
            yield self._stage("backward", words, stage, _NONE, self.passes.adjoint_sums[rows])
            return
        for unit, row in enumerate(rows.tolist()):
            value = float(self.passes.adjoint_sums[row])
            formula, factors = self._derivation(row)
            said = f"{self.many} = {digits_of(value, DIGITS)}"
            if self.single:
                said = times(*factors, value) if len(factors) == 2 else digits_of(value, DIGITS)
            yield MicroStep(
                "backward", "delta", f"δ of output {unit}", np.array([unit]), _NONE, stage.name,
                formula, said, value, factors if self.single else (),
            )  # fmt: skip

    def _derivation(self, row: int) -> tuple[str, tuple[float, ...]]:
        """How the delta of a row comes from what reads it, in symbols; the two factors where one operation does."""
        above = list(readers(self.passes.network.body, row))
        if len(above) != 1 or above[0].kind not in TABLE:
            return self._upstream(row), ()
        use = above[0]
        upper = int(use.rows[0])
        above_it = self._upstream(upper)
        if slope(use.kind) == "1":  # a difference, as of a logit and the largest: nothing is multiplied
            return above_it, ()
        first = f"({above_it})" if above_it.startswith("Σ") else above_it
        return f"{first} · {slope(use.kind)}", (
            float(self.passes.adjoint_sums[upper]), float(self._x(use)[0])
        )  # fmt: skip

    def _upstream(self, row: int) -> str:
        """What comes down to a row, in symbols."""
        above = list(readers(self.passes.network.body, row))
        if above and all(use.kind in ("layer", "conv", "dot") for use in above):
            return "Σ w · δ"
        if len(above) == 1 and above[0].kind == "squares":
            program = self.passes.network.body.program
            i = next(i for i in program.instructions if i.dst == int(above[0].rows[0]))
            side, column = np.argwhere(i.args == row)[0]
            if i.args[1 - side, column] in program.input_rows:  # the target, and no other output
                factor = Fraction(2 * float(i.numbers[0])).limit_denominator(1000)
                return DIFFERENCE if factor == 1 else f"{factor} · {DIFFERENCE}"
        return "dL/dy"

    # ---- gradients and new weights

    def _moving(self, phase: Phase, name: str, weights: Rows) -> Iterator[MicroStep]:
        if not self.each:
            what = "gradients" if phase == "gradients" else "new weights"
            lines = self._lines(weights) if phase == "update" else ()
            formula = "Σ δ · x" if phase == "gradients" else (lines[-1].formula if lines else "")
            yield MicroStep(phase, "stage", f"{len(weights):,} {what}", _NONE, weights, name, formula, lines=lines)
            return
        for index in weights.tolist():
            yield self._gradient(name, index) if phase == "gradients" else self._update(name, index)

    def _following(self, tensor: Tensor, stages: Collection[str | None]) -> Iterator[MicroStep]:
        """Numbers that no optimiser moves, where they follow what the step has computed."""
        path = tensor.name.rpartition(".")[0]
        name = path if path in stages else ""
        places = np.array([k for k in range(tensor.start, tensor.start + tensor.size) if self.opened.follows(k)], int)
        if self.each:
            for index in places.tolist():
                yield replace(self._update(name, index), kind="statistic")
        elif len(places):
            yield MicroStep("update", "statistic", f"new {tensor.name}", _NONE, places, name)

    def _lines(self, weights: Rows) -> tuple[Line, ...]:
        """The rule of the first weight that moves."""
        moved = weights[self.opened._taken.trained[weights]]
        return self.opened.update(int(moved[0])).lines if len(moved) else ()

    def _gradient(self, name: str, index: int) -> MicroStep:
        value, uses = float(self.opened.gradient[index]), self.passes.uses_of(index)
        places = sum(len(use.rows) for use in uses)
        formula, factors = "δ · x" if places == 1 else "Σ δ · x", tuple[float, ...]()
        if self.single and places == 1:
            factors = float(self.passes.adjoint_sums[uses[0].rows[0]]), float(self._x(uses[0])[0])
            said = times(*factors, value)
        elif places:
            terms = f"{places:,} products" if self.single else f"{self.many}"
            said = f"{terms}{' δ · x' if not self.single else ''} = {digits_of(value, DIGITS)}"
        else:
            said = "nothing reads it: 0"
        words = f"gradient of {self.opened.name(index)}"
        return MicroStep("gradients", "gradient", words, _NONE, np.array([index]), name, formula, said, value, factors)

    def _update(self, name: str, index: int) -> MicroStep:
        update = self.opened.update(index)
        words, place = f"new {self.opened.name(index)}", np.array([index])
        if not update.lines:
            stays, before = update.after == update.before, digits_of(update.before, DIGITS)
            becomes = "stays" if stays else f"becomes {digits_of(update.after, DIGITS)}"
            said, formula = f"{before} {becomes}: {update.why}", "w' = w" if stays else ""
            return MicroStep("update", "update", words, _NONE, place, name, formula, said, update.after)
        line = update.lines[-1]
        said = line.equation(DIGITS)
        return MicroStep(
            "update", "update", words, _NONE, place, name, line.formula, said, update.after, lines=update.lines
        )


# ---- `Walked`: what a walk through one training step may ask of it, whether a run does it or a recording has it


Float = NDArray[np.float64]


class Made(NamedTuple):
    """What a gradient is the sum of."""

    terms: int  # how many ``delta * x`` there are; 0: nobody knows
    delta: float = nan  # delta and x: of the only one; NaN of several
    x: float = nan
    bias: bool = False  # whether that is of a bias, where `x` is 1


class Walked(Protocol):
    """One opened step, as :class:`~scalarviz.run.opened.opened.Opened` and what is read of a recording have it."""

    trial: bool
    step: int
    lr: float
    loss: float
    gradient: Float
    shown: int

    @property
    def batch(self) -> Sized:
        """Its samples."""

    @property
    def divisor(self) -> float:
        """What the sum of their terms is divided by."""

    @property
    def rows(self) -> Mapping[str, Float]:
        """By stage, (outputs, shown); of a recorded step of a batch there are none."""

    @property
    def deltas(self) -> Mapping[str, Float]:
        """Likewise the derivative of the loss by each."""

    @property
    def joined(self) -> Mapping[str, Float]:
        """The deltas added up over the batch, (outputs,)."""

    @property
    def means(self) -> Mapping[str, Float]:
        """By stage, the mean of its numbers over the batch, (outputs,)."""

    @property
    def inputs(self) -> Float:
        """Of the samples shown, (n_inputs, shown)."""

    @property
    def targets(self) -> Float:
        """Likewise, (n_targets, shown)."""

    @property
    def new_values(self) -> Float:
        """The weights after the step (P,)."""

    def micro_steps(self) -> tuple[MicroStep, ...]:
        """The small steps, in order."""

    def phases(self) -> tuple[PhaseSpan, ...]:
        """The six phases that they are in."""

    def made(self, index: int) -> Made:
        """What the gradient of a weight is the sum of."""

    def products(self, index: int) -> Float | None:
        """The terms of a weight's gradient, one a sample of the batch; None where they are not known."""

    def update(self, weight: int) -> Update:
        """What the optimiser makes of a weight."""

    def follows(self, weight: int) -> bool:
        """Whether it is a statistic that follows the step."""
