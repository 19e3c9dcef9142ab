"""The opened step after a frame: how a recording stores it, and `RecordedStep`, which reads it.

A step is a *plan*, JSON that it shares with other steps, and its own numbers, float64, one after the other: the rows of
all stages (means for a batch), the deltas likewise, the gradient and the weights after the step (P each); then
numbers of single micro-steps (for an operation: its result, its column and its operands), and single weights.
The weights are grouped by the rule that moves them: the rule, their count, and row by row (each as long as the count)
their indices, the terms of their gradients, whether they are biases, delta and x, and for each line of the rule
the digits that reproduce it (if a result is printed with as many as `DIGITS` says), its result and its quantities.
"""

from __future__ import annotations

import json
import math
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ....errors import FileFormatError, ScalarvizError
from ....scalar.ops import TABLE
from ...opened.attention import Attention, AttentionState
from ...opened.digits import digits_of, digits_that_give, rounded
from ...opened.equations import DIGITS as RESULT
from ...opened.equations import MAX, MOST_TERMS, OWN, PASSED, TERMS, operated
from ...opened.micro import FEW, PHASES, GradientTerms, MicroStep, PhaseSpan, listed, phases_of, weight_told
from ...opened.network import Float, Network, Rows
from ...opened.opened import Opened
from ...opened.rule import Line, Quantity, Token, Update
from .file import DAMAGED, LONGEST_NAME, MOST_FRAMES, clean
from .index import Shapes
from .items import FrameItem, number

if TYPE_CHECKING:
    from pydantic import TypeAdapter

DIGITS = (4, 6)
"""Least digits of a line of the optimiser: in pictures, and as text."""
LONGEST_PLAN = 1 << 20
"""Most characters of a plan."""
WEIGHT = 5
"""Numbers of a weight beside those of its lines."""
DELTA = 3
"""Numbers of a delta: itself and its two factors, or NaN."""
MOST_PLANS = 1000
"""Most plans in a file and in memory, in case that each step has its own."""


# ---- writing


def written(opened: Opened) -> tuple[str, Float]:
    """Return the plan of a step, as JSON, and its numbers."""
    steps = opened.micro_steps()
    numbers = [
        *(opened.rows[s.name][:, 0] if opened.trial else opened.means[s.name] for s in opened.stages),
        *(opened.joined[s.name] for s in opened.stages),
        opened.gradient, opened.new_values, *(np.array(_step_numbers(opened, step)) for step in steps),
    ]  # fmt: skip
    rules: dict[str, list[list[float]]] = {}
    for index in _shown(opened, steps):
        update, made = opened.update(index), opened.made(index)
        lines = [number for line in update.lines for number in _line(line)]
        mine = [index, made.terms, made.bias, made.delta, made.x, *lines]
        rules.setdefault(json.dumps(_rule(update)), []).append(mine)
    for k, weights in enumerate(rules.values()):
        numbers += [np.array([k, len(weights)], np.float64), np.array(weights, np.float64).T.ravel()]
    plan = {"steps": [_step(opened, step) for step in steps], "rules": [json.loads(rule) for rule in rules]}
    return json.dumps(plan, separators=(",", ":")), np.concatenate(numbers)


def _shown(opened: Opened, steps: Sequence[MicroStep]) -> list[int]:
    """Return the weights whose rules are written: those that gradients and updates show."""
    some = (step for step in steps if step.phase in ("gradients", "update") and len(step.weights))
    return list(dict.fromkeys(weight_told(step, steps, opened) for step in some))


def _step_numbers(opened: Opened, step: MicroStep) -> tuple[float, ...]:
    """Return a micro-step's own numbers."""
    if step.op:
        return (step.value, step.column, *step.factors)
    if step.kind == "delta":
        return (step.value, *(step.factors if len(step.factors) == 2 else (np.nan, np.nan)))
    if step.kind == "stage" and step.phase == "backward" and step.numbers:
        return tuple(opened.adjoint_sums[step.stage].tolist())
    return ()


def _step(opened: Opened, step: MicroStep) -> list[object]:
    """Return the parts of a micro-step that are equal in every step of the network, in the layout of `StepSaid`."""
    names = [stage.name for stage in opened.stages]
    stage: int | list[int] = names.index(step.stage) if step.stage in names else -1
    stage = [names.index(name) for name in (step.stage, *step.other_calls)] if step.other_calls else stage
    joined = step.numbers.partition(" ")[0] if len(opened.batch) > 1 else "the"
    joined = step.op or (joined if step.kind == "stage" and step.numbers else "")
    column = len(step.factors) if step.op else step.column
    return [PHASES.index(step.phase), step.kind, stage, clean(step.words), clean(step.formula), column, joined,
            runs_of(step.units), runs_of(step.weights)]  # fmt: skip


def runs_of(numbers: Rows) -> list[list[int]]:
    """Return whole numbers as runs of consecutive ones: first, and one after the last."""
    if not len(numbers):
        return []
    cuts = [0, *(np.flatnonzero(np.diff(numbers) != 1) + 1).tolist(), len(numbers)]
    return [[int(numbers[a]), int(numbers[b - 1]) + 1] for a, b in pairwise(cuts)]


def _rule(update: Update) -> dict[str, object]:
    """Return the lines of an update in symbols, in the layout of `RuleSaid`."""
    lines = [[line.name, [token if isinstance(token, str) else _quantity(token) for token in line.tokens]]
             for line in update.lines]  # fmt: skip
    return {"why": update.why, "lines": lines}


def _quantity(quantity: Quantity) -> tuple[str, float] | tuple[str]:
    """Return the name of a quantity; for a constant, whose name is its digits, also its number."""
    constant = np.isfinite(quantity.value) and quantity.name == digits_of(quantity.value)
    return (quantity.name, quantity.value) if constant else (quantity.name,)


def _line(line: Line) -> Iterator[float]:
    """Yield digits, result and quantities."""
    for digits in DIGITS:
        yield float(digits_that_give(line.evaluate_rounded, line.result, digits) or 0)
    yield line.result
    yield from (q.value for q in line.tokens if isinstance(q, Quantity) and len(_quantity(q)) == 1)


class MicroRows:
    """Opens coming steps in the thread that writes, and writes them beside their frames."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._networks: tuple[Network, Network] | None = None
        self._plans: dict[tuple[int, str], int] = {}

    def write(self, look: FrameItem) -> None:
        """Write the coming steps of a frame, in place of former ones."""
        asked = "SELECT id FROM frame WHERE branch = ? AND step = ? AND edits = ?"
        (frame,) = self._database.execute(asked, look.place).fetchone()
        self._database.execute("DELETE FROM micro WHERE frame = ?", (frame,))
        for alone, taken in look.coming_steps.items():
            # with its own programs: those of the run belong to the thread that opens its steps
            if self._networks is None or self._networks[0] is not taken.network:
                self._networks = taken.network, taken.network.another()
            with suppress(ScalarvizError), np.errstate(all="ignore"):  # if a step cannot be opened, its frame stays
                opened = Opened(replace(taken, network=self._networks[1]), trial=alone)
                said, numbers = written(opened)
                if (plan := self._plan(look.network, said)) is not None:
                    given = (
                        frame, int(alone), plan, opened.step, len(opened.batch), float(opened.divisor),
                        number(opened.loss), number(opened.lr), zlib.compress(numbers.astype("<f8").tobytes()),
                    )  # fmt: skip
                    self._database.execute("INSERT INTO micro VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", given)

    def _plan(self, network: int, said: str) -> int | None:
        """Return the number of a plan, which is written once; None if it is too long, or there are too many."""
        key = network, said
        if key not in self._plans:
            if len(said) > LONGEST_PLAN or len(self._plans) >= MOST_PLANS:
                return None
            self._plans[key] = len(self._plans)
            self._database.execute("INSERT INTO plan VALUES (?, ?, ?)", (self._plans[key], *key))
        return self._plans[key]


# ---- reading: a plan


MOST_STEPS = 10_000
MOST_RULES = 1000
KINDS = {
    "zero": ("clear",),
    "forward": ("product", "sum", "unit", "stage", "node"),
    "loss": ("loss",),
    "backward": ("delta", "stage", "node"),
    "gradients": ("gradient", "stage"),
    "update": ("update", "stage", "statistic"),
}
"""Kinds of micro-steps in each phase."""
JOINED = ("", "the", "mean", "sum")
"""Words for joining the listed numbers of a stage: "the" for one sample, "" if none are listed.

For an operation it is the operation, and the column counts its numbers (0: joined from samples).
"""

Runs = list[tuple[int, int]]
StepSaid = tuple[int, str, int | list[int], str, str, int, str, Runs, Runs]
TokenSaid = str | tuple[str] | tuple[str, float]


@dataclass(slots=True)
class RuleSaid:
    """The rule of a weight in symbols, or `why` there is none: lines of a name and tokens.

    A token is a text, or the name of a quantity, with its number for a constant; each step has the other numbers.
    """

    why: str
    lines: list[tuple[str, list[TokenSaid]]]

    @property
    def size(self) -> int:
        """Numbers of its lines in a step."""
        return sum(len(DIGITS) + 1 + sum(map(_is_open, tokens)) for _, tokens in self.lines)


def _is_open(token: TokenSaid) -> bool:
    return not isinstance(token, str) and len(token) == 1


@dataclass(slots=True)
class Said:
    """A plan in JSON."""

    steps: list[StepSaid]
    rules: list[RuleSaid]


@dataclass(frozen=True, slots=True)
class Plan:
    """The micro-steps of a network without their numbers, each with how its numbers are joined; and rules."""

    steps: tuple[tuple[MicroStep, str], ...]
    rules: list[RuleSaid]

    def longest(self, shapes: Shapes) -> int:
        """Return the most bytes of a step's numbers."""
        outputs = sum(stage.outputs for stage in shapes.stages)
        rule = max((rule.size for rule in self.rules), default=0)
        told = sum(step.phase in ("gradients", "update") for step, _ in self.steps)
        own = sum(_count(*one) for one in self.steps)
        return 8 * (2 * outputs + 2 * shapes.size + own + told * (2 + WEIGHT + rule))


def _count(step: MicroStep, joined: str) -> int:
    """Return how many own numbers a micro-step has."""
    if step.op:
        return 2 + step.column
    if step.kind == "delta":
        return DELTA
    return len(step.units) if joined and step.phase == "backward" else 0


@cache
def _reader() -> TypeAdapter[Said]:
    from pydantic import TypeAdapter

    return TypeAdapter(Said)


def read_plan(text: Any, shapes: Shapes) -> Plan:
    """Return a plan for a network; FileFormatError: unknown phases, kinds, stages or weights."""
    from pydantic import ValidationError

    try:
        said = _reader().validate_json(text if isinstance(text, str) and len(text) <= LONGEST_PLAN else "", strict=True)
    except ValidationError:
        raise FileFormatError("invalid format") from None
    if not 0 < len(said.steps) <= MOST_STEPS or len(said.rules) > MOST_RULES:
        raise FileFormatError(f"got {len(said.steps):,} micro-steps; allowed: 1 to {MOST_STEPS:,}")
    steps = tuple(_read_step(one, shapes) for one in said.steps)
    phases = [PHASES.index(step.phase) for step, _ in steps]
    if phases != sorted(phases) or phases.count(PHASES.index("loss")) != 1 or not {0, len(PHASES) - 1} <= {*phases}:
        raise FileFormatError("invalid order of phases")
    rules = [
        RuleSaid(clean(rule.why), [(clean(name, LONGEST_NAME), list(map(_clean, line))) for name, line in rule.lines])
        for rule in said.rules
    ]
    return Plan(steps, rules)


def _clean(token: TokenSaid) -> TokenSaid:
    return clean(token) if isinstance(token, str) else (clean(token[0], LONGEST_NAME), *token[1:])


def _read_step(said: StepSaid, shapes: Shapes) -> tuple[MicroStep, str]:
    phase, kind, places, words, formula, column, joined, units, weights = said
    op = joined if joined in (*TABLE, TERMS, MAX, *OWN, *PASSED) else ""
    if not 0 <= phase < len(PHASES) or kind not in KINDS[PHASES[phase]] or not (op or joined in JOINED):
        raise FileFormatError("a micro-step has an unknown phase or kind")
    place, *also = places if isinstance(places, list) and places else [places if isinstance(places, int) else -1]
    if not all(-1 <= k < len(shapes.stages) for k in (place, *also)) or not -1 <= column < 1 << 53:
        raise FileFormatError("a micro-step has an unknown stage")
    stage = shapes.stages[place] if place >= 0 else None
    outputs, name = (0, "") if stage is None else (stage.outputs, stage.name)
    step = MicroStep(PHASES[phase], kind, clean(words), _numbers(units, outputs), _numbers(weights, shapes.size),
                     name, clean(formula), column=column, op=op,
                     other_calls=tuple(shapes.stages[k].name for k in also))  # fmt: skip
    one_unit = kind in ("product", "sum", "unit", "delta")
    wrong = (  # a view would look for something that is not there
        (one_unit and len(step.units) != 1)
        or (kind in ("product", "gradient", "update") and len(step.weights) != 1)
        or ((one_unit or step.phase in ("forward", "backward")) and stage is None)
        or (kind in ("product", "sum") and (stage is None or stage.weight is None))
        or (step.phase in ("gradients", "update") and not len(step.weights))
        or any(k < 0 or shapes.stages[k].outputs != outputs for k in also)
        or (op and not (kind in ("stage", "node", "delta") and 0 <= column <= MOST_TERMS))
        or (op in TABLE and op != "mul" and column not in (0, len(TABLE[op].args), 2 * (op in ("sin", "cos"))))
        or (op in OWN and column not in (0, OWN[op]))
        or (op in PASSED and 0 < column <= PASSED[op])
        or (joined and not op and not (kind == "stage" and 0 < len(step.units) <= FEW))
    )
    if wrong:
        raise FileFormatError("a micro-step has numbers that do not fit its kind")
    return step, joined


def _numbers(runs: Runs, count: int) -> Rows:
    """Return whole numbers below `count`, without repetition."""
    if any(not 0 <= start < count or not 1 <= stop <= count for start, stop in runs):
        raise FileFormatError("a micro-step names numbers out of range")
    if sum(stop - start for start, stop in runs) > count:
        raise FileFormatError("a micro-step names a number twice")
    return np.concatenate([np.zeros(0, np.int64), *(np.arange(start, stop) for start, stop in runs)])


# ---- reading: a step


_NEAR = 1e-5
"""Share that changes a number in its sixth digit, but not in its fourth."""
_NOT = "the terms of this update were not recorded"


class RecordedStep:
    """The step after a frame, with the interface of an :class:`Opened` step.

    `values` (P,) are those of the frame, `sample` inputs and targets of a trial step (None: the run's own step).
    """

    def __init__(
        self, plan: Plan, shapes: Shapes, numbers: bytes, values: NDArray[np.floating],
        sample: tuple[Float, Float] | None, step: int, batch: int, divisor: float, loss: float, lr: float,
    ) -> None:  # fmt: skip
        self._plan, self._values = plan, values
        self.stages, self.tensors, self.trial = shapes.stages, shapes.tensors, sample is not None
        self.step, self.divisor, self.loss, self.lr = step, divisor, loss, lr
        self.batch, self.shown = range(batch), int(self.trial)
        self._at, self._flat = 0, _inflated(numbers, plan.longest(shapes))
        self.means, self.joined = ({s.name: self._next(s.outputs) for s in self.stages} for _ in range(2))
        self.rows, self.deltas = ({name: row[:, None] for name, row in of.items()} if self.trial else {}
                                  for of in (self.means, self.joined))  # fmt: skip
        self.inputs, self.targets = (np.zeros((0, 0)) if sample is None else sample[k][:, None] for k in range(2))
        self.gradient, self.new_values = self._next(shapes.size), self._next(shapes.size)
        steps = [self._micro(*one) for one in plan.steps]
        self._weights: dict[int, tuple[GradientTerms, Update]] = dict(self._read_weights(shapes.size))
        self._steps = tuple(map(self._with_factors, steps))
        self._phases = phases_of(self._steps)

    # ---- reading the file

    def _next(self, count: int) -> Float:
        if self._at + count > len(self._flat):
            raise FileFormatError("numbers are missing")
        found = self._flat[self._at : self._at + count]
        self._at += count
        return found

    def _micro(self, step: MicroStep, joined: str) -> MicroStep:
        mine = self._next(_count(step, joined))
        if step.kind == "loss":
            return replace(step, value=self.loss)
        if step.op:
            whole = "mean" if self.divisor != 1 or step.phase == "forward" else "sum"
            joined = f"{whole} of {len(self.batch):,}" if len(self.batch) > 1 and step.phase != "gradients" else ""
            value, which, *factors = mine.tolist()
            said = operated(step.op, factors, value, joined)
            column = int(which) if 0 <= which < 1 << 31 else -1
            return replace(step, value=value, factors=tuple(factors), numbers=said, column=column)
        if step.kind == "delta":
            factors = tuple(mine[1:].tolist()) if len(self.batch) == 1 and not np.isnan(mine[1:]).all() else ()
            return replace(step, value=float(mine[0]), factors=factors)
        if joined:
            made = mine if step.phase == "backward" else self.means[step.stage]
            value = float(made[0]) if len(made) == 1 else np.nan
            return replace(step, numbers=listed(made, joined, len(self.batch), RESULT), value=value)
        return step

    def _with_factors(self, step: MicroStep) -> MicroStep:
        """Return a step with the gradient of a weight, and its factors if it is one product."""
        if step.kind != "gradient":
            return step
        made, value = self.made(int(step.weights[0])), float(self.gradient[step.weights[0]])
        factors = (made.delta, made.x) if made.terms == 1 and len(self.batch) == 1 else ()
        return replace(step, value=value, factors=factors)

    def _read_weights(self, size: int) -> Iterator[tuple[int, tuple[GradientTerms, Update]]]:
        while self._at < len(self._flat):
            number, count = (_whole(part, 1 << 31) for part in self._next(2).tolist())
            if number >= len(self._plan.rules) or count > size:
                raise FileFormatError("a weight names an unknown rule")
            rule = self._plan.rules[number]
            table = self._next(count * (WEIGHT + rule.size)).reshape(WEIGHT + rule.size, count)
            for place, terms, bias, delta, x, *lines in table.T.tolist():
                made, index = GradientTerms(_whole(terms, 1 << 53), delta, x, bias == 1), _whole(place, size)
                yield index, (made, self._moved(index, _lines(rule, iter(lines)), rule.why))

    def _moved(self, index: int, lines: tuple[Line, ...], why: str) -> Update:
        before, after = float(self._values[index]), float(self.new_values[index])
        return Update(index, before, after, float(self.gradient[index]), lines, why)

    # ---- interface of an opened step

    def micro_steps(self) -> tuple[MicroStep, ...]:
        """Return the micro-steps, in order; the numbers of products, sums and units are in the frame."""
        return self._steps

    def phases(self) -> tuple[PhaseSpan, ...]:
        """Return the six phases of the micro-steps."""
        return self._phases

    def made(self, index: int) -> GradientTerms:
        """Return the terms of a weight's gradient, if they were recorded."""
        return self._weights[index][0] if index in self._weights else GradientTerms(0)

    def attention(self, stage: str, *, back: bool = False) -> Attention | None:
        """Return None: parts between modules are not recorded, except for their shown number."""
        return None

    def looking(self, at: int) -> AttentionState | None:
        """Return None: attention is not recorded."""
        return None

    def products(self, index: int) -> Float | None:
        """Return None: single samples of a batch are not recorded."""
        return None

    def of_samples(self, step: MicroStep, index: int = -1) -> str:
        """Return an empty text: sums over samples are not recorded."""
        return ""

    def update(self, weight: int) -> Update:
        """Return the update of a weight, with its rule if that was recorded."""
        return self._weights[weight][1] if weight in self._weights else self._moved(weight, (), _NOT)

    def follows(self, weight: int) -> bool:
        """Return whether its new number follows from no rule."""
        return bool(self._values[weight] != self.new_values[weight])

    def __repr__(self) -> str:
        what = "a trial with one sample" if self.trial else f"{len(self.batch):,} samples"
        return f"RecordedStep(step {self.step:,}, {what}, loss {self.loss:.6g})"


Walked = Opened | RecordedStep
"""A step with micro-steps: of a run, or of a recording."""


def _inflated(numbers: Any, most: int) -> Float:
    """Return the numbers; at most `most` bytes are unpacked."""
    press = zlib.decompressobj()
    try:
        found = press.decompress(numbers if isinstance(numbers, bytes) else b"", most + 1)
    except zlib.error:
        raise FileFormatError("the numbers cannot be unpacked") from None
    if len(found) > most or len(found) % 8 or not press.eof:
        raise FileFormatError("wrong count of numbers for this network")
    return np.frombuffer(found, "<f8").astype(np.float64)


def _whole(number: float, end: int) -> int:
    if not (0 <= number < end and number == int(number)):  # NaN is refused
        raise FileFormatError("a micro-step names an unknown weight or rule")
    return int(number)


def _lines(rule: RuleSaid, numbers: Iterator[float]) -> tuple[Line, ...]:
    """Return the lines of a rule with the numbers of a weight."""
    found = []
    for name, tokens in rule.lines:
        *digits, result = (next(numbers) for _ in range(len(DIGITS) + 1))
        read = tuple(_token(token, numbers) for token in tokens)
        found.append(Line(name, read, result, evaluate_rounded=_given(digits, result)))
    return tuple(found)


def _token(said: TokenSaid, numbers: Iterator[float]) -> Token:
    if isinstance(said, str):
        return said
    return Quantity(said[0], next(numbers) if len(said) == 1 else said[1])


def _given(digits: Sequence[float], result: float) -> Callable[[int], float]:
    """Return a function for the result of a line with its numbers at so many digits, as far as recorded."""

    def again(count: int) -> float:
        known = [shown for shown, needed in zip(DIGITS, digits, strict=True) if 0 < needed <= count]
        if not known:
            return np.nan
        if known[-1] == DIGITS[-1]:
            return result
        near = rounded(result, known[-1])
        return near * (1 - _NEAR if abs(near) < abs(result) else 1 + _NEAR)

    return again


class MicroTable:
    """The micro-steps of a file; `sides` tells by a frame's id which: the probe's (True), the run's own (False)."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._plans: dict[tuple[int, int], Plan] = {}
        self.sides: dict[int, set[bool]] = {}
        with suppress(*DAMAGED):  # those found so far stay
            for frame, alone in database.execute(f"SELECT frame, alone FROM micro LIMIT {2 * MOST_FRAMES}"):
                if isinstance(frame, int) and alone in (0, 1):
                    self.sides.setdefault(frame, set()).add(alone == 1)

    def step(
        self, frame: int, after: int, network: int, shapes: Shapes, values: NDArray[np.floating],
        sample: tuple[Float, Float] | None,
    ) -> RecordedStep:  # fmt: skip
        """Return the step after a frame at step `after`; `sample` is that of a trial, None for the run's own."""
        asked = "SELECT plan, step, batch, divisor, loss, lr, numbers FROM micro WHERE frame = ? AND alone = ?"
        found = self._row(asked, (frame, int(sample is not None)))
        if found is None:
            raise FileFormatError("not recorded")
        plan, step, batch, divisor, loss, lr, numbers = found
        if step != after + 1:
            raise FileFormatError(f"the file names step {step!r:.20}")
        good = type(batch) is int and 0 < batch < 1 << 53 and isinstance(divisor, float) and math.isfinite(divisor)
        if not good or (sample is not None and batch != 1):
            raise FileFormatError("impossible batch size or divisor")
        loss, lr = (float(x) if isinstance(x, int | float) else math.nan for x in (loss, lr))
        with np.errstate(all="ignore"):
            return RecordedStep(self._plan(plan, network, shapes), shapes, numbers, values, sample, step, batch,
                                divisor, loss, lr)  # fmt: skip

    def _row(self, query: str, given: tuple[int, ...]) -> tuple[Any, ...] | None:
        try:
            found: tuple[Any, ...] | None = self._database.execute(query, given).fetchone()
        except DAMAGED as error:
            raise FileFormatError(str(error)) from None
        return found

    def _plan(self, number: Any, network: int, shapes: Shapes) -> Plan:
        key = (number if type(number) is int and abs(number) < 1 << 53 else -1), network
        if key not in self._plans:
            query = (
                f"SELECT CASE WHEN length(said) <= {LONGEST_PLAN} THEN said END FROM plan WHERE id = ? AND network = ?"
            )
            found = self._row(query, key)
            plan = read_plan(None if found is None else found[0], shapes)
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            self._plans[key] = plan
        return self._plans[key]
