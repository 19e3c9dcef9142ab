"""Edits of numbers: weights, frozen flags, optimiser, batch; and of the engine; and calls of functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import function, integer, one_of, real_array, text
from ...engine.problem import SAMPLINGS, Limits, Sampling
from ...engine.table import checked_name
from ...errors import InputError, TypeMismatchError, shown, typed
from ...optim import Schedule
from ...scalar.number import as_number
from ..validation import limits_of
from .base import Edit, Names, RunAccess, Setting, full_name, numbered, set_fields, several, within


def _numbers(array: Any, what: str) -> NDArray[Any]:
    """Return a flat array of real numbers, at least one; floats keep their dtype, so that no bit is lost."""
    found = real_array(array, what)
    if found.dtype.itemsize > 8:
        with np.errstate(over="ignore"):
            found = found.astype(np.float64)
    if found.ndim != 1 or found.size == 0:
        raise InputError(f"{what}: 'numbers' must have one dimension and not be empty, got the shape {found.shape}")
    return found if found.dtype.kind == "f" else found.astype(np.float64)


def _signed(number: Any, *, plus: bool = False) -> str:
    """Return a number as text with a real minus sign."""
    return f"{float(number):{'+' if plus else ''}.6g}".replace("-", "\N{MINUS SIGN}")


@dataclass(frozen=True, slots=True, eq=False)
class _OfWeights(Edit):
    """Numbers for the flat weights from `start` on."""

    start: int
    numbers: NDArray[Any]

    def __post_init__(self) -> None:
        kind = f"{type(self).__name__}: "
        start, numbers = integer(f"{kind}'start'", self.start, 0), _numbers(self.numbers, f"{kind}'numbers'")
        set_fields(self, start=start, numbers=numbers)

    def check(self, access: RunAccess) -> None:
        within(access, self.start, len(self.numbers))

    def sets(self) -> Any:
        return self.start, len(self.numbers)


@dataclass(frozen=True, slots=True, eq=False)
class SetWeights(_OfWeights):
    """Set the flat weights from `start` on to `numbers`."""

    def apply(self, access: RunAccess) -> None:
        access.put_weights(self.start, self.numbers)

    def words(self, name: Names = numbered) -> str:
        return f"{several(name, self.start, len(self.numbers))} = {_signed(self.numbers[0])}"


@dataclass(frozen=True, slots=True, eq=False)
class AddToWeights(_OfWeights):
    """Add `numbers` to the flat weights from `start` on. The log stores the resulting values."""

    def resolved(self, access: RunAccess) -> Edit:
        self.check(access)
        now = access.values(self.start, len(self.numbers))
        return SetWeights(self.start, now + self.numbers.astype(now.dtype))

    def words(self, name: Names = numbered) -> str:
        return f"{several(name, self.start, len(self.numbers))} {_signed(self.numbers[0], plus=True)}"


@dataclass(frozen=True, slots=True, eq=False)
class SetFrozen(Edit):
    """Freeze or unfreeze the weights from `start` on: one flag each."""

    start: int
    flags: NDArray[np.bool_]

    def __post_init__(self) -> None:
        flags = real_array(self.flags, "SetFrozen: flags")
        if flags.dtype != np.bool_ or flags.ndim != 1 or flags.size == 0:
            raise TypeMismatchError(f"SetFrozen: flags must be an array of True and False, got {shown(self.flags)}")
        set_fields(self, start=integer("SetFrozen: start", self.start, 0), flags=flags)

    def check(self, access: RunAccess) -> None:
        within(access, self.start, len(self.flags))

    def apply(self, access: RunAccess) -> None:
        access.put_frozen(self.start, self.flags)

    def words(self, name: Names = numbered) -> str:
        verb = "freeze" if self.flags.all() else "freeze some of" if self.flags.any() else "free"
        return f"{verb} {several(name, self.start, len(self.flags))}"

    def sets(self) -> Any:
        return self.start, len(self.flags)


# ---- Edits of many weights that need not be adjacent: a row, a column, a neuron, a layer. Each is one edit


Spans = tuple[tuple[int, int], ...]
"""Parts of the flat weights: start and count of each."""
_PARTS = (SetWeights, AddToWeights, SetFrozen)


def spans_of(spans: Any, what: str) -> Spans:
    """Return checked spans, sorted: at least one, without overlap."""
    if not isinstance(spans, tuple | list) or not spans:
        raise TypeMismatchError(f"{what}: spans must be one or more pairs (start, count), got {shown(spans)}")
    found = []
    for span in spans:
        if not isinstance(span, tuple | list) or len(span) != 2:
            raise TypeMismatchError(f"{what}: a span must be a pair (start, count), got {shown(span)}")
        found.append((integer(f"{what}: start", span[0], 0), integer(f"{what}: count", span[1], 1)))
    _apart(sorted(found), what)
    return tuple(sorted(found))


def _apart(spans: list[tuple[int, int]], what: str) -> None:
    for (start, count), (other, _) in pairwise(spans):
        if start + count > other:
            raise InputError(f"{what}: weight {other} is in two spans; spans must not overlap")


def spans_words(said: str, spans: Spans, name: Names) -> str:
    """Return the given words, or the first weight and how many more."""
    return said or several(name, spans[0][0], sum(count for _, count in spans))


@dataclass(frozen=True, slots=True, eq=False)
class Together(Edit):
    """Several edits of weights as one. All are applied, or none."""

    edits: tuple[Edit, ...]  # no two may set the same weights, nor the same flags
    said: str = ""  # in words (``"zero row 2 of 0.weight"``); default: those of its parts

    def __post_init__(self) -> None:
        given: Any = self.edits
        if not isinstance(given, tuple | list) or not given:
            raise TypeMismatchError(f"Together: expected at least one edit of weights, got {shown(given)}")
        for edit in given:
            if not isinstance(edit, _PARTS):
                raise TypeMismatchError(
                    f"Together: got {type(edit).__name__}; allowed: SetWeights, AddToWeights, SetFrozen"
                )
        for flags in (True, False):
            _apart(sorted(e.sets() for e in given if isinstance(e, SetFrozen) is flags), "Together")
        set_fields(self, edits=tuple(given), said=text(self.said, "Together: the words"))

    def check(self, access: RunAccess) -> None:
        for edit in self.edits:
            edit.check(access)

    def resolved(self, access: RunAccess) -> Edit:
        return Together(tuple(edit.resolved(access) for edit in self.edits), self.said)

    def apply(self, access: RunAccess) -> None:
        for edit in self.edits:
            edit.apply(access)

    def words(self, name: Names = numbered) -> str:
        """``zero row 2 of 0.weight``."""
        if self.said:
            return self.said
        first, more = self.edits[0].words(name), len(self.edits) - 1
        return first + (f", and {more:,} more" if more else "")

    def sets(self) -> Any:
        return sorted((isinstance(edit, SetFrozen), *edit.sets()) for edit in self.edits)


@dataclass(frozen=True, slots=True, eq=False)
class ScaleWeights(Edit):
    """Multiply some weights by a number. The log stores the resulting values."""

    spans: Spans  # start and count of each part
    factor: float
    said: str = ""  # name of the weights together (``"row 2 of 0.weight"``)

    def __post_init__(self) -> None:
        factor = as_number(self.factor, "ScaleWeights: the factor")
        if not math.isfinite(factor):
            raise InputError(f"ScaleWeights: the factor must be finite, got {factor}")
        spans, said = spans_of(self.spans, "ScaleWeights"), text(self.said, "ScaleWeights: the words")
        set_fields(self, spans=spans, factor=factor, said=said)

    def check(self, access: RunAccess) -> None:
        for start, count in self.spans:
            within(access, start, count)

    def resolved(self, access: RunAccess) -> Edit:
        self.check(access)
        parts = []
        for start, count in self.spans:
            now = access.values(start, count)
            parts.append(SetWeights(start, now * now.dtype.type(self.factor)))
        said = f"{self.said} × {self.factor:.6g}" if self.said else ""
        return Together(tuple(parts), said)

    def words(self, name: Names = numbered) -> str:
        return f"{spans_words(self.said, self.spans, name)} × {self.factor:.6g}"


@dataclass(frozen=True, slots=True, eq=False)
class RedrawWeights(Edit):
    """Re-initialise some weights with their layer's initialiser. The random numbers follow from seed and step."""

    spans: Spans
    said: str = ""

    def __post_init__(self) -> None:
        set_fields(self, spans=spans_of(self.spans, "RedrawWeights"), said=text(self.said, "RedrawWeights: the words"))

    def check(self, access: RunAccess) -> None:
        for start, count in self.spans:
            within(access, start, count)
        access.initial_values(*self.spans[0])

    def resolved(self, access: RunAccess) -> Edit:
        self.check(access)
        parts = tuple(SetWeights(start, access.initial_values(start, count)) for start, count in self.spans)
        return Together(parts, f"re-initialise {self.said}" if self.said else "")

    def words(self, name: Names = numbered) -> str:
        return f"re-initialise {spans_words(self.said, self.spans, name)}"


@dataclass(frozen=True, slots=True, eq=False)
class SetOptimizer(Edit):
    """Set numbers of the optimiser: learning rate, momentum, betas, weight decay, eps, or those of your own class."""

    numbers: tuple[tuple[str, Any], ...]  # by the names of the constructor's arguments
    group: int | None = None  # a parameter group; default: all

    def __post_init__(self) -> None:
        given: Any = self.numbers
        try:
            given = dict(given)
        except (TypeError, ValueError):
            raise TypeMismatchError(
                f"SetOptimizer: expected names with numbers, such as {{'momentum': 0.9}}, got {shown(given)}"
            ) from None
        pairs = tuple((str(name), _plain(number)) for name, number in given.items())
        if not pairs:
            raise InputError("SetOptimizer: got no numbers to set; try SetOptimizer({'momentum': 0.9})")
        set_fields(self, numbers=pairs)
        if self.group is not None:
            set_fields(self, group=integer("SetOptimizer: group", self.group, 0))

    def check(self, access: RunAccess) -> None:
        access.check_numbers(dict(self.numbers), self.group)

    def apply(self, access: RunAccess) -> None:
        """Set the numbers; if the rule changes, its state continues by name."""
        access.put_numbers(dict(self.numbers), self.group)

    def words(self, name: Names = numbered) -> str:
        """``momentum = 0.9, weight_decay = 0.01``."""
        said = ", ".join(f"{key} = {_short(number)}" for key, number in self.numbers)
        return said if self.group is None else f"group {self.group}: {said}"

    def sets(self) -> Any:
        return self.group, {name for name, _ in self.numbers}


@dataclass(frozen=True, slots=True, eq=False)
class SetLimits(Setting, Edit):
    """Set penalties of the loss and limits of the gradient from the next step on; None: no limit. See :class:`Run`."""

    l1: float = 0.0
    l2: float = 0.0
    clip_norm: float | None = None
    clip_value: float | None = None

    def __post_init__(self) -> None:
        found = limits_of(self.l1, self.l2, self.clip_norm, self.clip_value)
        set_fields(self, l1=found.l1, l2=found.l2, clip_norm=found.clip_norm, clip_value=found.clip_value)

    def apply(self, access: RunAccess) -> None:
        access.put_limits(Limits(self.l1, self.l2, self.clip_norm, self.clip_value))

    def words(self, name: Names = numbered) -> str:
        """``l2 = 0.01, clip_norm = 1``; ``no limits``."""
        said = [f"{name} = {_short(part)}" for name, part in self.parts().items() if part]
        return ", ".join(said) or "no limits"


@dataclass(frozen=True, slots=True, eq=False)
class SetSchedule(Setting, Edit):
    """Set the learning-rate schedule from the next step on; None: constant rates. A file cannot hold your own class."""

    schedule: Schedule | None

    def __post_init__(self) -> None:
        given: Any = self.schedule
        if not (given is None or isinstance(given, Schedule)):
            raise TypeMismatchError(f"SetSchedule: expected an LRScheduler or None, got {typed(given)}")

    def check(self, access: RunAccess) -> None:
        if self.schedule is not None:  # checks the number of parameter groups
            self.schedule.bound(access.run.optimizer)

    def apply(self, access: RunAccess) -> None:
        access.put_schedule(self.schedule)

    def words(self, name: Names = numbered) -> str:
        return f"schedule = {self.schedule}"


def _plain(number: Any, row: bool = False) -> Any:
    """Return something that can be written: numbers, booleans, texts, and (unless `row`) rows of them."""
    if isinstance(number, np.generic):
        number = number.item()
    if isinstance(number, list | tuple) and not row:
        return tuple(_plain(one, row=True) for one in number)
    if isinstance(number, bool | int | float | str) or number is None:
        return number
    raise TypeMismatchError(f"SetOptimizer: expected numbers, texts or lists of these, got {shown(number)}")


def _short(number: Any) -> str:
    if isinstance(number, tuple):
        return f"({', '.join(map(_short, number))})"
    return f"{number:.6g}" if isinstance(number, float) else str(number)


@dataclass(frozen=True, slots=True, eq=False)
class SetBatchSize(Setting, Edit):
    """Set the batch size from the next step on."""

    batch_size: int

    def __post_init__(self) -> None:
        set_fields(self, batch_size=integer("batch_size", self.batch_size, 1))

    def check(self, access: RunAccess) -> None:
        access.check_batch(self.batch_size)

    def apply(self, access: RunAccess) -> None:
        access.put_batch(self.batch_size)

    def words(self, name: Names = numbered) -> str:
        return f"batch size = {self.batch_size:,}"


@dataclass(frozen=True, slots=True, eq=False)
class SetSampling(Edit):
    """Set how a step draws its samples, and how many (None: as before), from the next step on."""

    sampling: Sampling
    batch_size: int | None = None

    def __post_init__(self) -> None:
        one_of(self.sampling, SAMPLINGS, "sampling")
        if self.batch_size is not None:
            set_fields(self, batch_size=integer("batch_size", self.batch_size, 1))

    def check(self, access: RunAccess) -> None:
        access.check_batch(self.batch_size, self.sampling)

    def apply(self, access: RunAccess) -> None:
        access.put_batch(self.batch_size, self.sampling)

    def words(self, name: Names = numbered) -> str:
        """``sampling = replacement, batch size = 32``."""
        size = "" if self.batch_size is None else f", batch size = {self.batch_size:,}"
        return f"sampling = {self.sampling}{size}"

    def continues(self, earlier: Edit) -> bool:
        """Return whether it sets all that `earlier` does."""
        return isinstance(earlier, SetSampling) and (self.batch_size is None) <= (earlier.batch_size is None)


@dataclass(frozen=True, slots=True, eq=False)
class SetEngine(Edit):
    """Set the engine that computes from the next step on."""

    engine: str
    why: str = "asked for"

    def __post_init__(self) -> None:
        checked_name(self.engine)
        text(self.why, "SetEngine: why")

    def check(self, access: RunAccess) -> None:
        access.check_engine(self.engine)

    def apply(self, access: RunAccess) -> None:
        access.put_engine(self.engine, self.why)

    def words(self, name: Names = numbered) -> str:
        return f"engine = {self.engine}"


@dataclass(frozen=True, slots=True, eq=False)
class Call(Edit):
    """Call a function of the run. A file stores its name only, so it cannot be read back."""

    function: Callable[[Any], object]  # ``function(run)``, called between two steps
    what: str = ""  # text in the log; default: the function's name

    def __post_init__(self) -> None:
        function(self.function, "Call: the argument 'function'")
        set_fields(self, what=text(self.what, "Call: the argument 'what'") or self.name)

    @property
    def name(self) -> str:
        """Module and name of the function."""
        return full_name(self.function)

    def apply(self, access: RunAccess) -> None:
        self.function(access.run)

    def words(self, name: Names = numbered) -> str:
        return self.what


@dataclass(frozen=True, slots=True, eq=False)
class SetNumbers(Edit):
    """Set optimiser numbers of some weights alone; they become parameter groups of their own.

    The rate is that of the next step. It scales the schedule of these weights, or ends it if the schedule's own rate
    is 0, as a rate set by hand does. ``run.lr`` scales it with the others.
    """

    # start and count of each part of the flat weights. Weights that the optimiser does not hold stay so
    spans: Spans
    numbers: tuple[tuple[str, Any], ...]  # by the names of the optimiser's arguments
    said: str = ""  # name of the weights together (``"row 2 of 0.weight"``)

    def __post_init__(self) -> None:
        numbers, said = SetOptimizer(self.numbers).numbers, text(self.said, "SetNumbers: said")
        set_fields(self, spans=spans_of(self.spans, "SetNumbers"), numbers=numbers, said=said)

    def check(self, access: RunAccess) -> None:
        access.check_numbers_of(self.spans, dict(self.numbers))

    def apply(self, access: RunAccess) -> None:
        access.put_numbers_of(self.spans, dict(self.numbers))

    def words(self, name: Names = numbered) -> str:
        """``row 2 of 0.weight: lr = 0.01``."""
        return f"{spans_words(self.said, self.spans, name)}: {SetOptimizer(self.numbers).words()}"

    def sets(self) -> Any:
        return self.spans, {name for name, _ in self.numbers}
