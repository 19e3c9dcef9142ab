"""`RecordedStep`: a training step of a recording, opened: the numbers that the file has of it, and no others."""

from __future__ import annotations

import math
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ....errors import FileFormatError
from ...opened import micro
from ...opened.micro import FEW, PHASES, Made, MicroStep, PhaseSpan, listed, phases_of
from ...opened.opened import Opened
from ...opened.rule import Line, Quantity, Token, Update, rounded
from .file import DAMAGED, LONGEST_NAME, MOST_FRAMES, clean
from .index import Shapes
from .step_written import DELTA, DIGITS, MOST_SAID, WEIGHT

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MOST_STEPS = 10_000
MOST_RULES = 1000
KINDS = {
    "zero": ("clear",),
    "forward": ("product", "sum", "unit", "stage"),
    "loss": ("loss",),
    "backward": ("delta", "stage"),
    "gradients": ("gradient", "stage"),
    "update": ("update", "stage", "statistic"),
}
"""Of the micro-steps of a phase."""
JOINED = ("", "the", "mean", "sum")
"""How the numbers of a stage are joined that are listed; "the" is the one sample's, "" that none are."""
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rule:
    """How a weight is moved, in letters, or `why` by no rule; a quantity that each step has is NaN."""

    why: str
    lines: tuple[tuple[str, tuple[Token, ...]], ...]

    @property
    def size(self) -> int:
        """Numbers that its lines have in a step."""
        return sum(len(DIGITS) + 1 + sum(map(is_open, tokens)) for _, tokens in self.lines)


def is_open(token: Token) -> bool:
    """Whether a token is a quantity whose number each step has."""
    return isinstance(token, Quantity) and token.value != token.value


@dataclass(frozen=True, slots=True)
class Plan:
    """The micro-steps of a network's steps without their numbers; `own` counts those that each has of its own."""

    steps: tuple[MicroStep, ...]
    own: tuple[int, ...]
    joined: tuple[str, ...]
    rules: tuple[Rule, ...]


Runs = list[tuple[int, int]]
StepSaid = tuple[int, str, int, str, str, int, str, Runs, Runs]


@dataclass(slots=True)
class RuleSaid:
    """A rule as JSON has it; a quantity is a list."""

    why: str
    lines: list[tuple[str, list[str | tuple[str] | tuple[str, float]]]]


@dataclass(slots=True)
class Said:
    """A plan as JSON has it."""

    steps: list[StepSaid]
    rules: list[RuleSaid]


@cache
def _reader() -> TypeAdapter[Said]:
    from pydantic import TypeAdapter

    return TypeAdapter(Said)


def read_plan(text: Any, shapes: Shapes) -> Plan:
    """A plan for a network; FileFormatError if phases, kinds, stages or weights are others than there are."""
    from pydantic import ValidationError

    try:
        said = _reader().validate_json(text if isinstance(text, str) and len(text) <= MOST_SAID else "", strict=True)
    except ValidationError:
        raise FileFormatError("they are not written as micro-steps are") from None
    if not 0 < len(said.steps) <= MOST_STEPS or len(said.rules) > MOST_RULES:
        raise FileFormatError(f"there are {len(said.steps):,} of them")
    found = [_step(one, shapes) for one in said.steps]
    phases = [PHASES.index(step.phase) for step, _ in found]
    if phases != sorted(phases) or phases.count(PHASES.index("loss")) != 1 or not {0, len(PHASES) - 1} <= {*phases}:
        raise FileFormatError("they come in no order that a step has")
    own = tuple(_own(step, joined) for step, joined in found)
    rules = tuple(map(_rule, said.rules))
    return Plan(tuple(step for step, _ in found), own, tuple(joined for _, joined in found), rules)


def _own(step: MicroStep, joined: str) -> int:
    if step.kind == "delta":
        return DELTA
    return len(step.units) if joined and step.phase == "backward" else 0


def _step(said: StepSaid, shapes: Shapes) -> tuple[MicroStep, str]:
    phase, kind, stage, words, formula, column, joined, units, weights = said
    if not 0 <= phase < len(PHASES) or kind not in KINDS[PHASES[phase]] or joined not in JOINED:
        raise FileFormatError("one of them is of a phase or kind that there is not")
    if not -1 <= stage < len(shapes.stages) or not -1 <= column < 1 << 53:
        raise FileFormatError("one of them is of a stage that there is not")
    outputs = shapes.stages[stage].outputs if stage >= 0 else 0
    name = shapes.stages[stage].name if stage >= 0 else ""
    step = MicroStep(PHASES[phase], kind, clean(words), _numbers(units, outputs), _numbers(weights, shapes.size),
                     name, clean(formula), column=column)  # fmt: skip
    _check(step, shapes, joined)
    return step, joined


def _check(step: MicroStep, shapes: Shapes, joined: str) -> None:
    """What every kind has to have, so that nobody who shows it looks into nothing."""
    one_unit = step.kind in ("product", "sum", "unit", "delta")
    one_weight = step.kind in ("product", "gradient", "update")
    staged = one_unit or step.phase in ("forward", "backward")
    layer = next((s.weight for s in shapes.stages if s.name == step.stage), None)
    wrong = (
        (one_unit and len(step.units) != 1)
        or (one_weight and len(step.weights) != 1)
        or (staged and not any(s.name == step.stage for s in shapes.stages))
        or (step.kind in ("product", "sum") and layer is None)
        or (step.phase in ("gradients", "update") and not len(step.weights))
        or (joined and not (step.kind == "stage" and 0 < len(step.units) <= FEW))
    )
    if wrong:
        raise FileFormatError("one of them is about other numbers than its kind is")


def _numbers(runs: Runs, count: int) -> Rows:
    """Whole numbers below `count`, none of them twice."""
    if any(not 0 <= start < count or not 1 <= stop <= count for start, stop in runs):
        raise FileFormatError("one of them names numbers that there are not")
    if sum(stop - start for start, stop in runs) > count:
        raise FileFormatError("one of them names numbers twice")
    return np.concatenate([np.zeros(0, np.int64), *(np.arange(start, stop) for start, stop in runs)])


def _rule(said: RuleSaid) -> Rule:
    lines = ((clean(name, LONGEST_NAME), tuple(map(_token, tokens))) for name, tokens in said.lines)
    return Rule(clean(said.why), tuple(lines))


def _token(said: str | tuple[str] | tuple[str, float]) -> Token:
    if isinstance(said, str):
        return clean(said)
    return Quantity(clean(said[0], LONGEST_NAME), said[1] if len(said) == 2 else math.nan)


# ---- `RecordedStep`: a training step of a recording, opened: the numbers that the file has of it, and no others


Float = NDArray[np.float64]
_BESIDE = 1e-5
"""Share by which a number becomes another one in its sixth digit, and none in its fourth."""
_NOT = "by which numbers was not recorded"


class RecordedStep:
    """The step that follows a frame, with what a walk through an :class:`Opened` step asks of it.

    `numbers` are as `written` has made them, `values` (P,) those of the frame, `sample` inputs and targets of
    the one sample of a trial step (None: it is the run's own).
    """

    def __init__(
        self, plan: Plan, shapes: Shapes, numbers: bytes, values: NDArray[np.floating],
        sample: tuple[Float, Float] | None, step: int, batch: int, divisor: float, loss: float, lr: float,
    ) -> None:  # fmt: skip
        self._plan, self._values, self._sample = plan, values, sample
        self.stages, self.tensors, self.trial = shapes.stages, shapes.tensors, sample is not None
        self.step, self.divisor, self.loss, self.lr = step, divisor, loss, lr
        self.batch, self.shown = range(batch), 1 if sample is not None else 0
        flat = _inflated(numbers, plan, shapes)
        self._at, self._flat = 0, flat
        self._rows, self._joined = ({s.name: self._next(s.outputs) for s in self.stages} for _ in range(2))
        self.gradient, self.new_values = self._next(shapes.size), self._next(shapes.size)
        steps = tuple(map(self._micro, plan.steps, plan.own, plan.joined))
        self._told: dict[int, tuple[Made, Update]] = dict(self._weights(shapes.size))
        self._steps = tuple(map(self._factors, steps))

    # ---- out of the file

    def _next(self, count: int) -> Float:
        if self._at + count > len(self._flat):
            raise FileFormatError("numbers are missing")
        found = self._flat[self._at : self._at + count]
        self._at += count
        return found

    def _micro(self, step: MicroStep, own: int, joined: str) -> MicroStep:
        mine = self._next(own)
        if step.kind == "loss":
            return replace(step, value=self.loss)
        if step.kind == "delta":
            factors = tuple(mine[1:].tolist()) if len(self.batch) == 1 and not np.isnan(mine[1:]).all() else ()
            return replace(step, value=float(mine[0]), factors=factors)
        if joined:
            made = mine if step.phase == "backward" else self._rows[step.stage]
            value = float(made[0]) if len(made) == 1 else np.nan
            return replace(step, numbers=listed(made, joined, len(self.batch), micro.DIGITS), value=value)
        return step

    def _factors(self, step: MicroStep) -> MicroStep:
        """The gradient of a weight, with its factors where it is one product."""
        if step.kind != "gradient":
            return step
        made, value = self.made(int(step.weights[0])), float(self.gradient[step.weights[0]])
        factors = (made.delta, made.x) if made.terms == 1 and len(self.batch) == 1 else ()
        return replace(step, value=value, factors=factors)

    def _weights(self, size: int) -> Iterator[tuple[int, tuple[Made, Update]]]:
        while self._at < len(self._flat):
            number, count = (_whole(part, 1 << 31) for part in self._next(2).tolist())
            if number >= len(self._plan.rules) or count > size:
                raise FileFormatError("they tell of a rule that there is not")
            rule = self._plan.rules[number]
            table = self._next(count * (WEIGHT + rule.size)).reshape(WEIGHT + rule.size, count)
            for place, terms, bias, delta, x, *lines in table.T.tolist():
                made, index = Made(_whole(terms, 1 << 53), delta, x, bias == 1), _whole(place, size)
                yield index, (made, self._moved(index, _lines(rule, iter(lines)), rule.why))

    def _moved(self, index: int, lines: tuple[Line, ...], why: str) -> Update:
        before, after = float(self._values[index]), float(self.new_values[index])
        return Update(index, before, after, float(self.gradient[index]), lines, why)

    # ---- what is asked of it

    @property
    def rows(self) -> Mapping[str, Float]:
        """Of a trial its rows, (outputs, 1)."""
        return {name: row[:, None] for name, row in self._rows.items()} if self.trial else {}

    @property
    def deltas(self) -> Mapping[str, Float]:
        """Of a trial its deltas, (outputs, 1)."""
        return {name: row[:, None] for name, row in self._joined.items()} if self.trial else {}

    @property
    def joined(self) -> Mapping[str, Float]:
        """The deltas added up over the batch, (outputs,)."""
        return self._joined

    @property
    def means(self) -> Mapping[str, Float]:
        """By stage, the mean of its numbers over the batch, (outputs,)."""
        return self._rows

    @property
    def inputs(self) -> Float:
        """Of a trial its sample, (n_inputs, 1)."""
        return np.zeros((0, 0)) if self._sample is None else self._sample[0][:, None]

    @property
    def targets(self) -> Float:
        """Of a trial its target, (n_targets, 1)."""
        return np.zeros((0, 0)) if self._sample is None else self._sample[1][:, None]

    @cached_property
    def _phases(self) -> tuple[PhaseSpan, ...]:
        return phases_of(self._steps)

    def micro_steps(self) -> tuple[MicroStep, ...]:
        """The small steps, in order; of products, sums and units the numbers are in the frame."""
        return self._steps

    def phases(self) -> tuple[PhaseSpan, ...]:
        """The six phases that they are in."""
        return self._phases

    def made(self, index: int) -> Made:
        """What the gradient of a weight is the sum of, where that was recorded."""
        return self._told[index][0] if index in self._told else Made(0)

    def products(self, index: int) -> Float | None:
        """Single samples of a batch are not recorded."""
        return None

    def update(self, weight: int) -> Update:
        """What the optimiser makes of a weight; its rule where that was recorded."""
        return self._told[weight][1] if weight in self._told else self._moved(weight, (), _NOT)

    def follows(self, weight: int) -> bool:
        """Whether its new number is told by no rule."""
        return bool(self._values[weight] != self.new_values[weight])

    def __repr__(self) -> str:
        what = "a trial with one sample" if self.trial else f"{len(self.batch):,} samples"
        return f"RecordedStep(step {self.step:,}, {what}, loss {self.loss:.6g})"


Walked = Opened | RecordedStep
"""A step that can be walked through: a run does it, or a recording has it."""


def _whole(number: float, end: int) -> int:
    if not (0 <= number < end and number == int(number)):  # NaN is none
        raise FileFormatError("they tell of a weight, or a rule, that there is not")
    return int(number)


def _lines(rule: Rule, numbers: Iterator[float]) -> tuple[Line, ...]:
    """The lines of a rule with the numbers of a weight."""
    found = []
    for name, tokens in rule.lines:
        *digits, result = (next(numbers) for _ in range(len(DIGITS) + 1))
        read = tuple(_read(token, numbers) for token in tokens)
        found.append(Line(name, read, result, again=_given(digits, result)))
    return tuple(found)


def _read(token: Token, numbers: Iterator[float]) -> Token:
    """A token with its number, where each step has its own."""
    return token._replace(value=next(numbers)) if isinstance(token, Quantity) and is_open(token) else token


def _given(digits: Sequence[float], result: float) -> Callable[[int], float]:
    """What the numbers of a line give when each is printed with so many digits, as far as that was recorded."""

    def again(count: int) -> float:
        known = [shown for shown, needed in zip(DIGITS, digits, strict=True) if 0 < needed <= count]
        if not known:
            return np.nan
        if known[-1] == DIGITS[-1]:
            return result
        near = rounded(result, known[-1])
        return near * (1 - _BESIDE if abs(near) < abs(result) else 1 + _BESIDE)

    return again


def longest(plan: Plan, shapes: Shapes) -> int:
    """Bytes that the numbers of a step of a plan have at most."""
    outputs = sum(stage.outputs for stage in shapes.stages)
    rule = max((rule.size for rule in plan.rules), default=0)
    told = sum(step.phase in ("gradients", "update") for step in plan.steps)
    return 8 * (2 * outputs + 2 * shapes.size + sum(plan.own) + told * (2 + WEIGHT + rule))


def _inflated(numbers: bytes, plan: Plan, shapes: Shapes) -> Float:
    """The numbers; no more than a step of this plan can have are unpacked."""
    most, press = longest(plan, shapes), zlib.decompressobj()
    try:
        found = press.decompress(numbers, most + 1)
    except zlib.error:
        raise FileFormatError("their numbers cannot be unpacked") from None
    if len(found) > most or len(found) % 8 or not press.eof:
        raise FileFormatError("they are more, or fewer, than a step of this network has")
    return np.frombuffer(found, "<f8").astype(np.float64)


# ---- `MicroTable`: the micro-steps of a file, found by frame; each is read and checked when it is asked for


MOST_PLANS = 1000
"""That are kept in memory."""
_COLUMNS = "plan, step, batch, divisor, loss, lr"


class MicroTable:
    """What a file has of micro-steps; `sides` by a frame's id: True: a trial with the probe, False: the own step."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._plans: dict[tuple[int, int], Plan] = {}
        self.sides: dict[int, set[bool]] = {}
        try:
            for frame, alone in database.execute(f"SELECT frame, alone FROM micro LIMIT {2 * MOST_FRAMES}"):
                if isinstance(frame, int) and alone in (0, 1):
                    self.sides.setdefault(frame, set()).add(alone == 1)
        except DAMAGED:  # those that were found so far
            return

    def step(
        self, frame: int, after: int, network: int, shapes: Shapes, values: NDArray[np.floating],
        sample: tuple[Float, Float] | None,
    ) -> RecordedStep:  # fmt: skip
        """The step that follows a frame at step `after`; `sample` is that of a trial, None for the run's own."""
        plan_number, step, batch, divisor, loss, lr = self._found(_COLUMNS, frame, alone=sample is not None)
        if step != after + 1:
            raise FileFormatError(f"they are of step {step!r:.20}, and {after + 1:,} is the one that follows")
        good = type(batch) is int and 0 < batch < 1 << 53 and isinstance(divisor, float) and math.isfinite(divisor)
        if not good or (sample is not None and batch != 1):
            raise FileFormatError("they are of no batch that there can be")
        plan = self._plan(plan_number, network, shapes)
        most = longest(plan, shapes)
        (numbers,) = self._found(
            f"CASE WHEN typeof(numbers) = 'blob' AND length(numbers) <= {most + most // 100 + 64} THEN numbers END",
            frame, alone=sample is not None,
        )  # fmt: skip
        if numbers is None:
            raise FileFormatError("they are more than a step of this network has")
        told = [float(x) if isinstance(x, int | float) else math.nan for x in (loss, lr)]
        with np.errstate(all="ignore"):
            return RecordedStep(plan, shapes, numbers, values, sample, step, batch, divisor, *told)

    def _found(self, columns: str, frame: int, *, alone: bool) -> tuple[Any, ...]:
        found = self._row(f"SELECT {columns} FROM micro WHERE frame = ? AND alone = ?", (frame, int(alone)))
        if found is None:
            raise FileFormatError("they were not recorded")
        return found

    def _row(self, query: str, given: tuple[int, ...]) -> tuple[Any, ...] | None:
        try:
            found: tuple[Any, ...] | None = self._database.execute(query, given).fetchone()
        except DAMAGED as error:
            raise FileFormatError(str(error)) from None
        return found

    def _plan(self, number: Any, network: int, shapes: Shapes) -> Plan:
        key = (number if type(number) is int and abs(number) < 1 << 53 else -1), network
        if key not in self._plans:
            query = f"SELECT CASE WHEN length(said) <= {MOST_SAID} THEN said END FROM plan WHERE id = ? AND network = ?"
            found = self._row(query, key)
            plan = read_plan(None if found is None else found[0], shapes)
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            self._plans[key] = plan
        return self._plans[key]
