"""The reasons why one weight moved and will move, as numbers for the inspector that are true as printed.

`account_of` asks a run for the next step, `ledger_of` prints its terms. `Explanation` says where the gradient of the
last step came from and how the step used it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np

from ...run.core.frame import Frame
from ...run.core.tensors import Tensor
from ...run.opened.digits import EXACT, MINUS, Printed, column, descent, product, read, rounds_to, significant
from ...run.opened.opened import Along, Opened
from ...run.opened.rule import PLAIN, Update
from ...run.opened.why import Why, why
from ...scalar.emit import float16
from ..ink.text import figure
from ..panels.drawer import BEFORE, Floats, batch_of, noun
from ..shown.subject import Subject

SHORT_NAMES = {"exp_avg": "m", "exp_avg_sq": "v", "momentum_buffer": "momentum"}
"""Short names of the optimiser's arrays."""


Seen = tuple[Floats, Floats]
"""Inputs and outputs of a sample."""


@dataclass(frozen=True, slots=True, eq=False)
class Account:
    """Why one weight will move in the next step, and what else the inspector shows of it."""

    why: Why
    edits: int  # number of edits done
    frozen: bool
    state: tuple[tuple[str, float], ...]  # the optimiser's state by name
    optimizer: str
    samples: Mapping[int, Seen] = field(default_factory=dict)  # those of the listed terms
    along: Along | None = None
    follows: bool = False  # whether it is a statistic or the loss scale, not a weight
    rounded: str = ""  # in float16: what happens to the network's float16 number
    values: Floats | None = None  # all weights then: another one may be moved without a new edit

    @property
    def update(self) -> Update:
        """The weight before and after, its gradient, and the lines of the optimiser's rule."""
        return self.why.update

    @property
    def step(self) -> int:
        """The number of steps done."""
        return self.why.step - 1

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The optimiser's state as text, by name."""
        return [(SHORT_NAMES.get(name, name), figure(number)) for name, number in self.state]

    @property
    def descent(self) -> str:
        """``w - lr · g`` with numbers, true as printed; '' for any other rule."""
        lines = self.update.lines
        if len(lines) != 1 or lines[0].formula != PLAIN:
            return ""
        rate = next(token.value for token in lines[0].tokens if not isinstance(token, str) and token.name == "lr")
        return descent(self.update.before, rate, self.update.gradient, self.update.after, least=3)


def account_of(opened: Opened, index: int, edits: int = 0, *, along: bool = True) -> Account:
    """Return why the weight at flat `index` moves in an opened step that has so many `edits` before it."""
    reason, update = why(opened, index), opened.update(index)
    return Account(
        reason, edits, opened.is_frozen(index), tuple(opened.state(index).items()), opened.optimizer,
        opened.samples(row.sample for row in reason.rows if row.sample >= 0),
        opened.loss_along(index) if along else None, opened.follows(index),
        _rounded(update.before, update.after) if opened.half else "", opened.exact_values,
    )  # fmt: skip


def _rounded(before: float, after: float) -> str:
    """Return what happens to the float16 number of a weight whose float32 number changes."""
    old, new = float16(before), float16(after)
    if old == new and before != after:
        return f"float16: {figure(old)} stays, the update is too small"
    return f"float16: {figure(old)} becomes {figure(new)}"


# ---- The terms of the gradient as a column of numbers that adds up as printed.


@dataclass(frozen=True, slots=True)
class Ledger:
    """The printed numbers, in units of ten to the `power`."""

    power: int
    terms: tuple[Printed, ...]
    rest: Printed | None  # sum of all other terms, or None
    total: Printed
    gradient: Printed
    exact: bool = True  # whether the printed sum, divided and rounded, gives the printed gradient

    @property
    def unit(self) -> str:
        """``e−6``; '' for 1."""
        return "" if not self.power else f"e{MINUS if self.power < 0 else ''}{abs(self.power)}"


def ledger_of(reason: Why, listed: int) -> Ledger:
    """Return the first `listed` terms, the rest, the sum and the gradient, so that the printed numbers add up."""
    products, more = [row.product for row in reason.rows[:listed]], reason.count > listed
    orders = [_order(*part) for part in (products, [reason.total]) if any(part)] or [0]
    order, least = max(orders), min(orders)
    power = 0 if -3 <= order < 5 else 3 * math.floor(order / 3)
    unit = 10.0**-power
    numbers = [product * unit for product in products]
    digits = min(3 + order - least, 7 + order - power)  # terms and sum have three digits, as far as there is room
    sums = column(numbers, reason.total * unit - sum(numbers), reason.total * unit, more=more, digits=digits)
    total, rest = read(sums.total), read(sums.rest) if more else None
    return Ledger(power, tuple(map(read, sums.rows)), rest, total, *_divided(reason, total, power))


def _divided(reason: Why, total: Printed, power: int) -> tuple[Printed, bool]:
    """Return the gradient with as many digits as follow from the printed sum, and whether they do follow."""
    if not (total.value.is_finite() and math.isfinite(reason.update.gradient)):
        return significant(reason.update.gradient, 4), True
    exact = EXACT.divide(total.value.scaleb(power), Decimal(reason.divisor))
    ways = [significant(reason.update.gradient, digits) for digits in (3, 4, 2)]
    found = next((way for way in ways if rounds_to(exact, way)), None)
    return (ways[0], False) if found is None else (found, True)


def _order(*numbers: float) -> int:
    """Return the power of ten of the largest finite number; 0 without one."""
    largest = max((abs(n) for n in numbers if math.isfinite(n)), default=0.0)
    return math.floor(math.log10(largest)) if largest > 0.0 else 0


# ---- Where the gradient of the last step came from and how the step used it, as equations true as printed.

LARGEST = 20_000
"""Most weights of a network for which a sample's own gradient is computed at every change of the text."""
Lines = tuple[tuple[str, ...], ...]
"""Lines of text, each in several versions, the longest first."""


class Explanation:
    """The explaining lines about one weight."""

    def __init__(self, subject: Subject, index: int, tensor: Tensor) -> None:
        self._subject, self._index, self._tensor = subject, index, tensor
        reading = [k for k, s in enumerate(subject.stages) if s.whole and tensor in (s.weight, s.bias)]
        self._stage = reading[0] if len(reading) == 1 else None  # a layer that is called twice has two inputs
        self._bias = self._stage is not None and tensor is subject.stages[self._stage].bias

    def lines(self, frame: Frame) -> Lines:
        """Return ``gradient: mean of 1,024 colours' δ·x; of this colour −0.0455 × 0.92 = −0.0419``, and the update.

        After an edit the lines say that gradient and update are older, and give this sample's current gradient.
        """
        if self._subject.source.facts is None or not frame.computed[self._index] or frame.step == 0:
            return ()
        own = None if self._stage is None else self._own_term(frame)
        if frame.edited:
            now = ((f"gradient of this {noun(self._subject)} now: {own}",),) if own else ()
            return ((f"gradient and update: {BEFORE}",), *now)
        after = (*self._descent(frame), *self._rounded(frame))
        if own is None:  # no single layer, or not a sum of δ·x: a penalty, tied weights
            return ((f"gradient: {batch_of(self._subject)}",), *after)
        return (self._mean_words(own), *after)

    def _mean_words(self, own: str) -> tuple[str, ...]:
        """Return what the gradient is a mean of, with the probe sample's own term if it is known."""
        batch, term = batch_of(self._subject), "δ" if self._bias else "δ·x"
        assert batch is not None  # only gradients of a run are explained
        if batch.count == 1:
            said = short = f"gradient: {term} of {batch.samples}"
        else:
            said = f"gradient: {batch.kind} of {batch.samples}' {term}"
            short = f"gradient: {batch.kind} of {batch.count:,} {term}"
        if not own:
            return said, short
        one = noun(self._subject)
        return f"{said}; of this {one} {own}", f"{short}; of this {one} {own}", said, short

    def _own_term(self, frame: Frame) -> str | None:
        """Return the probe sample's term, at the values at which the step took its gradient.

        After an edit it is taken at the current values. The result is '' if unknown, and None if the gradient is
        not a sum of δ·x.
        """
        subject, source, target = self._subject, self._subject.source, self._subject.target
        if source.couples:
            return None
        shown = frame.activations.get("input")
        if (not source.can.predict or subject.probe is None or target is None or shown is None
                or len(frame.values) > LARGEST or not np.array_equal(shown, np.ravel(subject.probe))):  # fmt: skip
            return ""  # a hand-drawn sample has no target
        at = frame.exact.astype(np.float64) - (0.0 if frame.edited else frame.update)
        gradient = source.sample_gradient(subject.probe, target, at)
        delta, x, own = self._factors(gradient, source.activations(subject.probe, at))
        if abs(delta * x - own) > 1e-9 * max(abs(own), abs(delta * x), 1e-12):
            return None
        return significant(own, 3).text if self._bias else product(delta, x, own)

    def _factors(self, gradient: Floats, activations: Mapping[str, Floats]) -> tuple[float, float, float]:
        """Return δ of the unit, x of the input, and the gradient, for one sample."""
        assert self._stage is not None
        stage = self._subject.stages[self._stage]
        assert stage.weight is not None  # only layers are explained
        own = float(gradient[self._index])
        before = "input" if self._stage == 0 else self._subject.stages[self._stage - 1].name
        x = np.concatenate([activations[name] for name in stage.sources or (before,)])
        place = self._index - self._tensor.start
        i, j = (place, 0) if self._bias else divmod(place, len(x))
        if stage.bias is not None and not self._bias:
            return float(gradient[stage.bias.start + i]), float(x[j]), own
        # δ from the weight with the largest input, so that a bias is checked as well
        row, largest = stage.weight.of(gradient)[i], int(np.argmax(np.abs(x)))
        delta = float(row[largest] / x[largest]) if x[largest] else (own if self._bias else 0.0)
        return delta, 1.0 if self._bias else float(x[j]), own

    def _rounded(self, frame: Frame) -> Lines:
        """Return the float32 weight of a float16 run, and whether the network saw its change."""
        if frame.master is None or self._tensor.buffer:
            return ()
        master, update = float(frame.master[self._index]), float(frame.update[self._index])
        said = f"float32 weight: {master:.7g}"
        if update and float16(master - update) == frame.values[self._index]:
            short = f"{said}; rounds to the same float16"
            return ((f"{said}; the update was too small, it rounds to the same float16", short, said),)
        return ((said,),)

    def _descent(self, frame: Frame) -> Lines:
        """Return ``w − lr·g:  0.2369 − 0.5 × 0.0048 = 0.2345`` if the step did that."""
        after, gradient = float(frame.exact[self._index]), float(frame.gradient[self._index])
        before = after - float(frame.update[self._index])
        change = frame.lr * gradient
        slack = 8 * float(np.finfo(frame.values.dtype).eps) * max(abs(before), abs(after), abs(change))
        if frame.frozen[self._index] or not abs(before - change - after) <= slack:
            return ()
        line = descent(before, frame.lr, gradient, after)
        return ((f"last update: w \N{MINUS SIGN} lr·gradient = {line}", line),)
