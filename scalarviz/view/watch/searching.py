"""`Search`: asks the run when a weight last changed its sign, and does not wait for the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import ScalarvizError
from ...run.callbacks import condition_name

if TYPE_CHECKING:
    from ...run.run import Run
    from ...run.source import Source


class Search:
    """One question.

    Parameters
    ----------
    source : Source
        That has a past.
    index : int
        Of the weight, flat.
    name : str
        What it is called.

    Attributes
    ----------
    step : int or None
        Where it changed its sign, once that is known.
    """

    def __init__(self, source: Source, index: int, name: str) -> None:
        self.step: int | None = None
        self._index, self._name, self._share, self._given_up = index, name, 0.0, False
        self._words = ""
        self._asked = source.ask(self._find)

    def _find(self, run: Run) -> int | None:
        return run.find(f"sign({condition_name(run, self._index)}) changes", progress=self._told)

    def _told(self, share: float) -> bool:
        self._share = share
        return not self._given_up

    def give_up(self) -> None:
        """No more is searched."""
        self._given_up = True

    @property
    def done(self) -> bool:
        """Whether the answer is there; it is taken over."""
        if not self._asked.done.is_set():
            return False
        if not self._words:
            self._take()
        return True

    @property
    def words(self) -> str:
        """How far it is, or what was found."""
        if not self.done:
            return f"searching where {self._name} changed its sign: {100 * self._share:.0f} %; Escape gives up"
        return self._words

    def _take(self) -> None:
        try:
            self.step = self._asked.answer()
        except ScalarvizError as error:
            self._words = str(error)
            return
        if self.step is not None:
            self._words = f"{self._name} changed its sign at step {self.step:,}"
        elif self._given_up:
            self._words = "given up"
        else:
            self._words = f"{self._name} has not changed its sign before"
