"""`Several`: edits of any kind, one after the other, as one: one line of the log, one undo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...checks import text
from ...errors import InputError, TypeMismatchError, shown
from .base import Edit, Hands, Names, fix, numbered
from .change import Change
from .training import Call


@dataclass(frozen=True, slots=True, eq=False)
class Several(Edit):
    """Edits that belong together, such as other data and a network for it. If one cannot be done, none is.

    Each has to fit the run as those before it leave it.

    Attributes
    ----------
    edits : tuple of Edit
        At least one; at most one of them a :class:`Change`, and none a :class:`Call`.
    said : str
        What they are in words ("300 points of a spiral"); default: those of its parts.
    """

    edits: tuple[Edit, ...]
    said: str = ""

    def __post_init__(self) -> None:
        given: Any = self.edits
        if not isinstance(given, tuple | list) or not all(isinstance(edit, Edit) for edit in given):
            raise TypeMismatchError(f"Several: a row of edits is wanted, got {shown(given)}")
        if any(isinstance(edit, Call | Several) for edit in given):
            raise InputError("Several: a function cannot be a part of it, nor another Several")
        if not given or sum(isinstance(edit, Change) for edit in given) > 1:
            raise InputError("Several: at least one edit is wanted, and at most one Change")
        fix(self, edits=tuple(given), said=text(self.said, "Several: the words"))

    def resolved(self, hands: Hands) -> Edit:
        """With every part in absolute numbers, for the run as it is now."""
        return Several(tuple(edit.resolved(hands) for edit in self.edits), self.said)

    def check(self, hands: Hands) -> None:
        """Raise unless the first one fits; the others are checked when it is their turn."""
        self.edits[0].check(hands)

    def apply(self, hands: Hands) -> None:
        """Do all of them; if one cannot be done, the run is as it was."""
        with hands.whole():
            for edit in self.edits:
                edit.check(hands)
                edit.apply(hands)

    def words(self, name: Names = numbered) -> str:
        """``300 points of a spiral``."""
        return self.said or ", ".join(edit.words(name) for edit in self.edits)

    def continues(self, earlier: Edit) -> bool:
        """Whether each part continues that of `earlier`."""
        if not isinstance(earlier, Several) or len(earlier.edits) != len(self.edits):
            return False
        return all(new.continues(old) for new, old in zip(self.edits, earlier.edits, strict=True))
