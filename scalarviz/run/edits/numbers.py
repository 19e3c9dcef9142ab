"""`SetNumbers`: another learning rate, or other numbers of the optimiser, for some weights alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...checks import text
from .base import Edit, Hands, Names, fix, numbered
from .selections import Spans, called, spans_of
from .training import SetOptimizer


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
        """Raise unless some of the weights are trained, and have these numbers."""
        hands.check_numbers_of(self.spans, dict(self.numbers))

    def apply(self, hands: Hands) -> None:
        """Set them."""
        hands.put_numbers_of(self.spans, dict(self.numbers))

    def words(self, name: Names = numbered) -> str:
        """``row 2 of 0.weight: lr = 0.01``."""
        return f"{called(self.said, self.spans, name)}: {SetOptimizer(self.numbers).words()}"

    def continues(self, earlier: Edit) -> bool:
        """Whether it sets the same numbers of the same weights."""
        if not isinstance(earlier, SetNumbers) or earlier.spans != self.spans:
            return False
        return {key for key, _ in earlier.numbers} == {key for key, _ in self.numbers}
