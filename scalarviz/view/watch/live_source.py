"""`LiveSource`: a run that a worker trains, as a source: what a panel changes goes through the window's queue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...run.edits import Edit
from ...run.looking import AskedCall
from ...run.run import Run
from ...run.source import RunSource


class LiveSource(RunSource):
    """The run of a window.

    Parameters
    ----------
    run : Run
    do : callable
        ``do(edit, gesture)``: lets an edit happen between two calls of the engine, and does not wait for it.
    go : callable
        ``go(step)``: sets out for a step, and does not wait either.
    ask : callable
        ``ask(function)``: lets a function look at the run between two calls, likewise.
    """

    def __init__(
        self,
        run: Run,
        do: Callable[[Edit, str], None],
        go: Callable[[int], None],
        ask: Callable[[Callable[[Run], Any]], AskedCall],
    ) -> None:
        super().__init__(run)
        self._do, self._go, self._ask = do, go, ask

    def ask(self, function: Callable[[Run], Any]) -> AskedCall:
        """Let a function look at the run at the next call boundary."""
        return self._ask(function)

    def edit(self, edit: Edit, *, gesture: str = "") -> None:
        """Change the run at the next call boundary."""
        self._do(edit, gesture)

    def to(self, step: int) -> None:
        """Set out for a step."""
        self._go(step)
