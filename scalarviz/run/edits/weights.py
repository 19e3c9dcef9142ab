"""Edits of single weights and of many: their values, and whether they are trained."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import integer, real_array, text
from ...errors import InputError, TypeMismatchError, shown
from ...scalar.single import as_number
from .base import Edit, Hands, Names, fix, numbered, several, within


def _numbers(array: Any, what: str) -> NDArray[Any]:
    """A flat array of real numbers, at least one; floats keep their dtype, so that no bit is lost."""
    found = real_array(array, what)
    if found.dtype.itemsize > 8:
        with np.errstate(over="ignore"):
            found = found.astype(np.float64)
    if found.ndim != 1 or found.size == 0:
        raise InputError(f"{what} must be a row of at least one number, got the shape {found.shape}")
    return found if found.dtype.kind == "f" else found.astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class SetWeights(Edit):
    """The flat weights from `start` on become `numbers`."""

    start: int
    numbers: NDArray[Any]

    def __post_init__(self) -> None:
        fix(self, start=integer("SetWeights: start", self.start, 0), numbers=_numbers(self.numbers, "SetWeights"))

    def check(self, hands: Hands) -> None:
        within(hands, self.start, len(self.numbers))

    def apply(self, hands: Hands) -> None:
        hands.put_weights(self.start, self.numbers)

    def words(self, name: Names = numbered) -> str:
        return f"{several(name, self.start, len(self.numbers))} = {float(self.numbers[0]):.6g}"

    def sets(self) -> Any:
        return self.start, len(self.numbers)


@dataclass(frozen=True, slots=True, eq=False)
class AddToWeights(Edit):
    """`numbers` are added to the flat weights from `start` on. In the log it stands as the values that came of it."""

    start: int
    numbers: NDArray[Any]

    def __post_init__(self) -> None:
        numbers = _numbers(self.numbers, "AddToWeights")
        fix(self, start=integer("AddToWeights: start", self.start, 0), numbers=numbers)

    def sets(self) -> Any:
        return self.start, len(self.numbers)

    def check(self, hands: Hands) -> None:
        within(hands, self.start, len(self.numbers))

    def resolved(self, hands: Hands) -> Edit:
        self.check(hands)
        now = hands.values(self.start, len(self.numbers))
        return SetWeights(self.start, now + self.numbers.astype(now.dtype))

    def words(self, name: Names = numbered) -> str:
        return f"{several(name, self.start, len(self.numbers))} {float(self.numbers[0]):+.6g}"


@dataclass(frozen=True, slots=True, eq=False)
class SetFrozen(Edit):
    """The weights from `start` on are left alone by the optimiser, or no longer: one flag each."""

    start: int
    flags: NDArray[np.bool_]

    def __post_init__(self) -> None:
        flags = real_array(self.flags, "SetFrozen: the flags")
        if flags.dtype != np.bool_ or flags.ndim != 1 or flags.size == 0:
            raise TypeMismatchError(f"SetFrozen: flags must be a row of True and False, got {shown(self.flags)}")
        fix(self, start=integer("SetFrozen: start", self.start, 0), flags=flags)

    def check(self, hands: Hands) -> None:
        within(hands, self.start, len(self.flags))

    def apply(self, hands: Hands) -> None:
        hands.put_frozen(self.start, self.flags)

    def words(self, name: Names = numbered) -> str:
        verb = "freeze" if self.flags.all() else "freeze some of" if self.flags.any() else "free"
        return f"{verb} {several(name, self.start, len(self.flags))}"

    def sets(self) -> Any:
        return self.start, len(self.flags)


# ---- Edits of many weights that need not lie side by side: a row, a column, a neuron, a layer. Each is one edit


Spans = tuple[tuple[int, int], ...]
"""Parts of the flat weights: the first of each, and how many."""
_PARTS = (SetWeights, AddToWeights, SetFrozen)


def spans_of(spans: Any, what: str) -> Spans:
    """Checked spans, at least one, sorted, none over another."""
    if not isinstance(spans, tuple | list) or not spans:
        raise TypeMismatchError(f"{what}: the spans must be pairs (start, count), at least one, got {shown(spans)}")
    found = []
    for span in spans:
        if not isinstance(span, tuple | list) or len(span) != 2:
            raise TypeMismatchError(f"{what}: a span is a pair (start, count), got {shown(span)}")
        found.append((integer(f"{what}: start", span[0], 0), integer(f"{what}: count", span[1], 1)))
    _apart(sorted(found), what)
    return tuple(sorted(found))


def _apart(spans: list[tuple[int, int]], what: str) -> None:
    for (start, count), (other, _) in pairwise(spans):
        if start + count > other:
            raise InputError(f"{what}: weight {other} stands in two of its parts; name it in one")


def called(said: str, spans: Spans, name: Names) -> str:
    """The words that came with it, else the first weight and how many more."""
    return said or several(name, spans[0][0], sum(count for _, count in spans))


@dataclass(frozen=True, slots=True, eq=False)
class Together(Edit):
    """Several edits of weights as one: none of them is done unless all fit.

    Attributes
    ----------
    edits : tuple of SetWeights, AddToWeights or SetFrozen
        No two may set the same weights, nor the same flags.
    said : str
        What it is in words (``"zero row 2 of 0.weight"``); default: those of its parts.
    """

    edits: tuple[Edit, ...]
    said: str = ""

    def __post_init__(self) -> None:
        given: Any = self.edits
        if not isinstance(given, tuple | list) or not given:
            raise TypeMismatchError(f"Together: at least one edit of weights is wanted, got {shown(given)}")
        for edit in given:
            if not isinstance(edit, _PARTS):
                raise TypeMismatchError(
                    f"Together: got {type(edit).__name__}; allowed: SetWeights, AddToWeights, SetFrozen"
                )
        for flags in (True, False):
            _apart(sorted(e.sets() for e in given if isinstance(e, SetFrozen) is flags), "Together")
        fix(self, edits=tuple(given), said=text(self.said, "Together: the words"))

    def check(self, hands: Hands) -> None:
        for edit in self.edits:
            edit.check(hands)

    def resolved(self, hands: Hands) -> Edit:
        return Together(tuple(edit.resolved(hands) for edit in self.edits), self.said)

    def apply(self, hands: Hands) -> None:
        for edit in self.edits:
            edit.apply(hands)

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
    """Some weights are multiplied by a number. In the log it stands as the values that came of it.

    Attributes
    ----------
    spans : tuple of (int, int)
        Start and count of each part.
    said : str
        What the weights are called together (``"row 2 of 0.weight"``).
    """

    spans: Spans
    factor: float
    said: str = ""

    def __post_init__(self) -> None:
        factor = as_number(self.factor, "ScaleWeights: the factor")
        if not math.isfinite(factor):
            raise InputError(f"ScaleWeights: the factor must be finite, got {factor}")
        spans, said = spans_of(self.spans, "ScaleWeights"), text(self.said, "ScaleWeights: the words")
        fix(self, spans=spans, factor=factor, said=said)

    def check(self, hands: Hands) -> None:
        for start, count in self.spans:
            within(hands, start, count)

    def resolved(self, hands: Hands) -> Edit:
        self.check(hands)
        parts = []
        for start, count in self.spans:
            now = hands.values(start, count)
            parts.append(SetWeights(start, now * now.dtype.type(self.factor)))
        said = f"{self.said} × {self.factor:.6g}" if self.said else ""
        return Together(tuple(parts), said)

    def words(self, name: Names = numbered) -> str:
        return f"{called(self.said, self.spans, name)} × {self.factor:.6g}"


@dataclass(frozen=True, slots=True, eq=False)
class RedrawWeights(Edit):
    """Some weights begin anew, with random numbers of their layer's initialiser, which follow from seed and step.

    In the log it stands as the values that came of it. `spans` and `said` are as of :class:`ScaleWeights`.
    """

    spans: Spans
    said: str = ""

    def __post_init__(self) -> None:
        fix(self, spans=spans_of(self.spans, "RedrawWeights"), said=text(self.said, "RedrawWeights: the words"))

    def check(self, hands: Hands) -> None:
        for start, count in self.spans:
            within(hands, start, count)
        hands.drawn(*self.spans[0])

    def resolved(self, hands: Hands) -> Edit:
        self.check(hands)
        parts = tuple(SetWeights(start, hands.drawn(start, count)) for start, count in self.spans)
        return Together(parts, f"{self.said} begins anew" if self.said else "")

    def words(self, name: Names = numbered) -> str:
        return f"{called(self.said, self.spans, name)} begins anew"
