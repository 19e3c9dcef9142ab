"""`LiveSource`: a run that a worker trains, as a source: what a panel changes goes through the window's queue."""

from __future__ import annotations

from collections.abc import Callable

from ...run.run import Run
from ...run.run_source import RunSource


class LiveSource(RunSource):
    """The run of a window.

    Parameters
    ----------
    run : Run
    edit : callable
        ``edit(change, what)``: lets a change happen between two calls of the engine.
    """

    def __init__(self, run: Run, edit: Callable[[Callable[[Run], None], str], None]) -> None:
        super().__init__(run)
        self._edit = edit

    def edit(self, change: Callable[[Run], None], what: str) -> None:
        """Change the run at the next call boundary."""
        self._edit(change, what)

    def nudge(self, index: int, amount: float) -> None:
        """Add `amount` to a weight at the next call boundary."""

        def change(run: Run) -> None:
            run.set_weights(index, [float(run.values[index]) + amount])

        self.edit(change, f"{self.run.weight_name(index)} {amount:+.3g}")
