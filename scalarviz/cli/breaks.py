"""``--break``: breakpoints of a run from the command line, and what is said of them at its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import ExpressionError

if TYPE_CHECKING:
    from ..run.run import Run

AT_A_BREAKPOINT = 3
"""The exit code of a run without a window that a breakpoint stopped."""


def set_breakpoints(run: Run, conditions: Sequence[str]) -> None:
    """Set one for each condition.

    Raises
    ------
    ExpressionError
        One cannot be read; the message names the flag.
    """
    for condition in conditions:
        try:
            run.break_on(condition)
        except ExpressionError as error:
            said = str(error).replace("break_on:", "--break:", 1)
            raise ExpressionError(said, error.text, error.place) from None


def what_stopped(run: Run) -> dict[str, object]:
    """For ``--json``, where there are breakpoints: what stopped the run (None: nothing), and how often each was hit."""
    if not len(run.breakpoints):
        return {}
    hits = {point.text: point.hits for point in run.breakpoints}
    return {"stopped_by": None if run.stopped_by is None else str(run.stopped_by), "hits": hits}
