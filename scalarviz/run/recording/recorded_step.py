"""`RecordedStep`: a training step of a recording, opened: the numbers that the file has of it, and no others."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...errors import FileFormatError
from ..opened import symbols
from ..opened.micro import MicroStep, PhaseSpan, listed, phases_of
from ..opened.update import Update
from ..opened.walked import Made
from ..opened.writing import Line, Quantity, Token, rounded
from .networks import Shapes
from .step_plan import Plan, Rule, is_open
from .step_written import DIGITS, WEIGHT

Float = NDArray[np.float64]
_BESIDE = 1e-5
"""Share by which a number becomes another one in its sixth digit, and none in its fourth."""
_NOT = "by which numbers was not recorded"


class RecordedStep:
    """The step that follows a frame; see :class:`~scalarviz.run.opened.walked.Walked`.

    Parameters
    ----------
    plan : Plan
    shapes : Shapes
    numbers : bytes
        As `written` has made them.
    values : ndarray, shape (P,)
        Of the frame.
    sample : (ndarray, ndarray) or None
        Inputs and targets of the one sample that the step is a trial with; None: it is the run's own.
    step, batch : int
    divisor, loss, lr : float

    Raises
    ------
    FileFormatError
        The numbers are not as long as the plan says, or name weights that there are not.
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
        """A micro-step with its numbers."""
        mine = self._next(own)
        if step.kind == "loss":
            return replace(step, value=self.loss)
        if step.kind == "delta":
            factors = tuple(mine[1:].tolist()) if len(self.batch) == 1 and not np.isnan(mine[1:]).all() else ()
            return replace(step, value=float(mine[0]), factors=factors)
        if joined:
            made = mine if step.phase == "backward" else self._rows[step.stage]
            value = float(made[0]) if len(made) == 1 else np.nan
            return replace(step, numbers=listed(made, joined, len(self.batch), symbols.DIGITS), value=value)
        return step

    def _factors(self, step: MicroStep) -> MicroStep:
        """The gradient of a weight, with its factors where it is one product."""
        if step.kind != "gradient":
            return step
        made, value = self.made(int(step.weights[0])), float(self.gradient[step.weights[0]])
        factors = (made.delta, made.x) if made.terms == 1 and len(self.batch) == 1 else ()
        return replace(step, value=value, factors=factors)

    def _weights(self, size: int) -> Iterator[tuple[int, tuple[Made, Update]]]:
        """What is told of single weights."""
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


def _whole(number: float, end: int) -> int:
    """A whole number from 0 to below `end`."""
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
    """What the numbers of a line give when each is printed with so many digits, as well as that was recorded.

    The result, with as many digits as it was known to come out with, else nothing.
    """

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
