"""Edits of single weights and of many: their values, and whether they are trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import integer, real_array
from ...errors import InputError, TypeMismatchError, shown
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
        """Raise unless all of them are weights of the run."""
        within(hands, self.start, len(self.numbers))

    def apply(self, hands: Hands) -> None:
        """Set them."""
        hands.put_weights(self.start, self.numbers)

    def words(self, name: Names = numbered) -> str:
        """``0.weight[4][2] = 0.5``."""
        return f"{several(name, self.start, len(self.numbers))} = {float(self.numbers[0]):.6g}"

    def continues(self, earlier: Edit) -> bool:
        """Whether it sets the same weights."""
        return isinstance(earlier, SetWeights) and (earlier.start, len(earlier.numbers)) == (
            self.start,
            len(self.numbers),
        )


@dataclass(frozen=True, slots=True, eq=False)
class AddToWeights(Edit):
    """`numbers` are added to the flat weights from `start` on. In the log it stands as the values that came of it."""

    start: int
    numbers: NDArray[Any]

    def __post_init__(self) -> None:
        numbers = _numbers(self.numbers, "AddToWeights")
        fix(self, start=integer("AddToWeights: start", self.start, 0), numbers=numbers)

    def check(self, hands: Hands) -> None:
        """Raise unless all of them are weights of the run."""
        within(hands, self.start, len(self.numbers))

    def resolved(self, hands: Hands) -> Edit:
        """The values that come of it."""
        self.check(hands)
        now = hands.values(self.start, len(self.numbers))
        return SetWeights(self.start, now + self.numbers.astype(now.dtype))

    def words(self, name: Names = numbered) -> str:
        """``0.weight[4][2] +0.5``."""
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
        """Raise unless all of them are weights of the run."""
        within(hands, self.start, len(self.flags))

    def apply(self, hands: Hands) -> None:
        """Set the flags."""
        hands.put_frozen(self.start, self.flags)

    def words(self, name: Names = numbered) -> str:
        """``freeze 0.weight[4][2]``."""
        verb = "freeze" if self.flags.all() else "freeze some of" if self.flags.any() else "free"
        return f"{verb} {several(name, self.start, len(self.flags))}"

    def continues(self, earlier: Edit) -> bool:
        """Whether it is about the same weights."""
        return isinstance(earlier, SetFrozen) and (earlier.start, len(earlier.flags)) == (self.start, len(self.flags))
