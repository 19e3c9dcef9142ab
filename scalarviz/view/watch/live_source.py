"""`LiveSource`: a run that a worker trains, as a source: what a panel changes goes through the window's queue."""

from __future__ import annotations

from collections.abc import Callable

from ...run.edits import Edit
from ...run.run import Run
from ...run.run_source import RunSource


class LiveSource(RunSource):
    """The run of a window.

    Parameters
    ----------
    run : Run
    do : callable
        ``do(edit, gesture)``: lets an edit happen between two calls of the engine, and does not wait for it.
    go : callable
        ``go(step)``: sets out for a step, and does not wait either.
    """

    def __init__(self, run: Run, do: Callable[[Edit, str], None], go: Callable[[int], None]) -> None:
        super().__init__(run)
        self._do, self._go = do, go

    def edit(self, edit: Edit, *, gesture: str = "") -> None:
        """Change the run at the next call boundary."""
        self._do(edit, gesture)

    def to(self, step: int) -> None:
        """Set out for a step."""
        self._go(step)
