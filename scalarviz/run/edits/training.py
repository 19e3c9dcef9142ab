"""Edits of how a run trains: the optimiser's numbers, the batch, the engine; and any function of the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...checks import integer, one_of, text
from ...engine.problem import SAMPLINGS, Limits, Sampling
from ...engine.table import known
from ...errors import InputError, TypeMismatchError, shown
from ...optim import Schedule
from ..checks import limits_of
from .base import Edit, Hands, Names, fix, full_name, numbered
from .weights import Spans, called, spans_of


@dataclass(frozen=True, slots=True, eq=False)
class SetOptimizer(Edit):
    """Numbers of the optimiser: learning rate, momentum, betas, weight decay, eps, those of a class of one's own.

    Parameters
    ----------
    numbers : mapping or sequence of (str, number)
        By the names of the constructor's arguments.
    group : int, optional
        Of one parameter group alone; default: of all.
    """

    numbers: tuple[tuple[str, Any], ...]
    group: int | None = None

    def __post_init__(self) -> None:
        given: Any = self.numbers
        try:
            given = dict(given)
        except (TypeError, ValueError):
            raise TypeMismatchError(f"SetOptimizer: names with numbers are wanted, got {shown(given)}") from None
        pairs = tuple((str(name), _plain(number)) for name, number in given.items())
        if not pairs:
            raise InputError("SetOptimizer: no number is named; such as SetOptimizer({'momentum': 0.9})")
        fix(self, numbers=pairs)
        if self.group is not None:
            fix(self, group=integer("SetOptimizer: group", self.group, 0))

    def check(self, hands: Hands) -> None:
        hands.check_numbers(dict(self.numbers), self.group)

    def apply(self, hands: Hands) -> None:
        """Set them; where the update becomes another one, its state goes on by name."""
        hands.put_numbers(dict(self.numbers), self.group)

    def words(self, name: Names = numbered) -> str:
        """``momentum = 0.9, weight_decay = 0.01``."""
        said = ", ".join(f"{key} = {_short(number)}" for key, number in self.numbers)
        return said if self.group is None else f"group {self.group}: {said}"

    def sets(self) -> Any:
        return self.group, {name for name, _ in self.numbers}


@dataclass(frozen=True, slots=True, eq=False)
class SetLimits(Edit):
    """Penalties of the loss, and limits of the gradient, from the next step on; None: no limit. See :class:`Run`."""

    l1: float = 0.0
    l2: float = 0.0
    clip_norm: float | None = None
    clip_value: float | None = None

    def __post_init__(self) -> None:
        found = limits_of(self.l1, self.l2, self.clip_norm, self.clip_value)
        fix(self, l1=found.l1, l2=found.l2, clip_norm=found.clip_norm, clip_value=found.clip_value)

    def apply(self, hands: Hands) -> None:
        hands.put_limits(Limits(self.l1, self.l2, self.clip_norm, self.clip_value))

    def words(self, name: Names = numbered) -> str:
        """``l2 = 0.01, clip_norm = 1``; ``no limits``."""
        said = [f"{name} = {_short(part)}" for name, part in self.parts().items() if part]
        return ", ".join(said) or "no limits"

    def sets(self) -> Any:
        return ()


@dataclass(frozen=True, slots=True, eq=False)
class SetSchedule(Edit):
    """The rates follow a schedule from the next step on, from its beginning; None: they stay as they are.

    One of yours is written by its name, and not read back.

    Parameters
    ----------
    schedule : LRScheduler or None
    """

    schedule: Schedule | None

    def __post_init__(self) -> None:
        given: Any = self.schedule
        if not (given is None or isinstance(given, Schedule)):
            kind = type(given).__name__
            raise TypeMismatchError(f"SetSchedule: an LRScheduler or None is wanted, got {kind}")

    def check(self, hands: Hands) -> None:
        hands.check_schedule(self.schedule)

    def apply(self, hands: Hands) -> None:
        hands.put_schedule(self.schedule)

    def words(self, name: Names = numbered) -> str:
        return f"schedule = {self.schedule}"

    def sets(self) -> Any:
        return ()


def _plain(number: Any, row: bool = False) -> Any:
    """Something that can be written: numbers, truth values, words, and outside of a `row` rows of them."""
    if isinstance(number, np.generic):
        number = number.item()
    if isinstance(number, list | tuple) and not row:
        return tuple(_plain(one, row=True) for one in number)
    if isinstance(number, bool | int | float | str) or number is None:
        return number
    raise TypeMismatchError(f"SetOptimizer: numbers, words or rows of them are wanted, got {type(number).__name__}")


def _short(number: Any) -> str:
    if isinstance(number, tuple):
        return f"({', '.join(map(_short, number))})"
    return f"{number:.6g}" if isinstance(number, float) else str(number)


@dataclass(frozen=True, slots=True, eq=False)
class SetBatchSize(Edit):
    """Samples a step, from the next step on."""

    batch_size: int

    def __post_init__(self) -> None:
        fix(self, batch_size=integer("batch_size", self.batch_size, 1))

    def check(self, hands: Hands) -> None:
        hands.check_batch(self.batch_size)

    def apply(self, hands: Hands) -> None:
        hands.put_batch(self.batch_size)

    def words(self, name: Names = numbered) -> str:
        return f"batch size = {self.batch_size:,}"

    def sets(self) -> Any:
        return ()


@dataclass(frozen=True, slots=True, eq=False)
class SetSampling(Edit):
    """How the samples of a step are chosen, and how many they are (None: as many as before), from the next step on."""

    sampling: Sampling
    batch_size: int | None = None

    def __post_init__(self) -> None:
        one_of(self.sampling, SAMPLINGS, "sampling")
        if self.batch_size is not None:
            fix(self, batch_size=integer("batch_size", self.batch_size, 1))

    def check(self, hands: Hands) -> None:
        hands.check_batch(self.batch_size, self.sampling)

    def apply(self, hands: Hands) -> None:
        hands.put_batch(self.batch_size, self.sampling)

    def words(self, name: Names = numbered) -> str:
        """``sampling = replacement, batch size = 32``."""
        size = "" if self.batch_size is None else f", batch size = {self.batch_size:,}"
        return f"sampling = {self.sampling}{size}"

    def continues(self, earlier: Edit) -> bool:
        """Whether it sets all that `earlier` does."""
        return isinstance(earlier, SetSampling) and (self.batch_size is None) <= (earlier.batch_size is None)


@dataclass(frozen=True, slots=True, eq=False)
class SetEngine(Edit):
    """Another engine computes from the next step on."""

    engine: str
    why: str = "asked for"

    def __post_init__(self) -> None:
        known(self.engine)
        if not isinstance(self.why, str):
            raise TypeMismatchError(f"SetEngine: why must be text, got {type(self.why).__name__}")

    def check(self, hands: Hands) -> None:
        hands.check_engine(self.engine)

    def apply(self, hands: Hands) -> None:
        hands.put_engine(self.engine, self.why)

    def words(self, name: Names = numbered) -> str:
        return f"engine = {self.engine}"


@dataclass(frozen=True, slots=True, eq=False)
class Call(Edit):
    """Whatever a function of the run does. It can be written by name, and not read back.

    Parameters
    ----------
    function : callable
        ``function(run)``, called between two steps.
    what : str
        What the log says; default: the function's name.
    """

    function: Callable[[Any], object]
    what: str = ""

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeMismatchError(f"Call: a function of the run is wanted, got {type(self.function).__name__}")
        fix(self, what=text(self.what, "Call: what") or self.name)

    @property
    def name(self) -> str:
        """Module and name of the function."""
        return full_name(self.function)

    def apply(self, hands: Hands) -> None:
        hands.call(self.function)

    def words(self, name: Names = numbered) -> str:
        return self.what


@dataclass(frozen=True, slots=True, eq=False)
class SetNumbers(Edit):
    """Some weights train by other numbers than the rest: they become parameter groups of their own.

    The rate is that of the next step. A schedule goes on with it as with a rate that is set by hand: it scales the
    schedule of these weights, or ends it where the schedule's own rate is 0. ``run.lr`` scales it with the others.

    Attributes
    ----------
    spans : tuple of (int, int)
        Start and count of each part of the flat weights. Those that the optimiser does not hold stay so.
    numbers : mapping or sequence of (str, number)
        By the names of the optimiser's arguments.
    said : str
        What the weights are called together (``"row 2 of 0.weight"``).
    """

    spans: Spans
    numbers: tuple[tuple[str, Any], ...]
    said: str = ""

    def __post_init__(self) -> None:
        numbers = SetOptimizer(self.numbers).numbers
        fix(self, spans=spans_of(self.spans, "SetNumbers"), numbers=numbers, said=text(self.said, "SetNumbers: said"))

    def check(self, hands: Hands) -> None:
        hands.check_numbers_of(self.spans, dict(self.numbers))

    def apply(self, hands: Hands) -> None:
        hands.put_numbers_of(self.spans, dict(self.numbers))

    def words(self, name: Names = numbered) -> str:
        """``row 2 of 0.weight: lr = 0.01``."""
        return f"{called(self.said, self.spans, name)}: {SetOptimizer(self.numbers).words()}"

    def sets(self) -> Any:
        return self.spans, {name for name, _ in self.numbers}
