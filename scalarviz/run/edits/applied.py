"""`Applied`: an edit that was done, as the log of a run has it."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Edit


@dataclass(frozen=True, slots=True)
class Applied:
    """An edit that was done.

    Attributes
    ----------
    step : int
        Steps that the run had done.
    edit : Edit
        In absolute numbers.
    what : str
        One line, with the names of the weights.
    gesture : str
        Edits of one gesture after the same step stand as one.
    does : tuple of Edit
        What it came to, where the edit itself cannot be done again: a function of the user's own.
    """

    step: int
    edit: Edit
    what: str
    gesture: str = ""
    does: tuple[Edit, ...] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        return sum(edit.nbytes for edit in (self.edit, *(self.does or ())))
