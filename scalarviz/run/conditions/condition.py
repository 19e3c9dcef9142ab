"""`Condition`: a text about a run that is true or false after every step, and when it becomes true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .expression import NOTHING, Expression, Kept
from .faults import fault
from .functions import Array
from .numbers import SPEED_ONLY, Named
from .parser import parse

Before = NDArray[np.bool_] | Kept


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """An expression of the names of a run.

    A condition without ``before``, ``changes`` and ``crosses`` is a state: it *becomes* true at a step before which it
    was false. One with them compares a step with the one before, and becomes true at every step at which it holds. One
    of whole tensors (``0.weight > 1``) becomes true whenever it does for one more element.

    Attributes
    ----------
    expression : Expression
    """

    expression: Expression

    @classmethod
    def read(cls, text: str, named: Named, what: str) -> Condition:
        """Read a text.

        Raises
        ------
        ExpressionError
            It is no condition of the run that has these names.
        InputError, TypeMismatchError
            It is too long, or no text.
        """
        expression = parse(text, named.vocabulary, what, "truth")
        if not expression.names:
            raise fault(
                text, 0, f"there is no name in it, so it never changes; there are {named.vocabulary.listed()}", what
            )
        expression.evaluate(named.shapes, named.shapes)  # places and shapes: said now, not at some step
        return cls(expression)

    @property
    def text(self) -> str:
        """As it was written."""
        return self.expression.text

    @property
    def of_losses(self) -> bool:
        """Whether the losses of a call suffice for it, so that the engine runs at full speed."""
        return self.expression.names <= SPEED_ONLY and not self.expression.reduces

    def holds(self, numbers: Mapping[str, Array]) -> bool:
        """Whether it is true now, for one element at least; only where it does not look back."""
        return bool(self._now(numbers).any())

    def stands(self, numbers: Mapping[str, Array]) -> Before:
        """What has to be known before a step to say whether it becomes true by it."""
        expression = self.expression
        return expression.keep(numbers) if expression.looks_back else self._now(numbers)

    def becomes(self, numbers: Mapping[str, Array], before: Before) -> NDArray[np.bool_]:
        """Whether it has become true, element by element, where `before` is what :meth:`stands` gave."""
        return self._now(numbers, before) if isinstance(before, Kept) else self._now(numbers) & ~before

    def passes(self, numbers: Mapping[str, Array], before: Before) -> tuple[NDArray[np.bool_], Before]:
        """What :meth:`becomes` and then :meth:`stands` give, for who goes on from these numbers."""
        if isinstance(before, Kept):
            return self._now(numbers, before), self.expression.keep(numbers)
        now = self._now(numbers)
        return now & ~before, now

    def rises(self, numbers: Mapping[str, Array], before: Mapping[str, Array]) -> NDArray[np.bool_]:
        """The same for the steps of a call at once: arrays with a number a step, and those of the steps before them."""
        if self.expression.looks_back:
            return self._now(numbers, self.expression.keep(before))
        return self._now(numbers) & ~self._now(before)

    def _now(self, numbers: Mapping[str, Array], kept: Kept = NOTHING) -> NDArray[np.bool_]:
        return self.expression.run(numbers.__getitem__, kept).astype(bool, copy=False)
