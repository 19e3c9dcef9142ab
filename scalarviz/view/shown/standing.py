"""`standing`: a look at another step. Afterwards the run stands where it stood, to the bit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...checks import integer
from ...errors import InputError
from ...run.source import Source


@contextmanager
def standing(source: Source, step: int | None) -> Iterator[None]:
    """Let `source` stand at a step while the block runs; None leaves it where it is.

    Raises
    ------
    InputError
        There is no such step, or the source keeps no past.
    """
    if step is None:
        yield
        return
    step, (first, newest) = integer("step", step, 0), source.span
    if not source.can.go:
        raise InputError(f"step: {source.what} is shown as it is now; a Run or a Scene keeps its past")
    if not first <= step <= newest:
        raise InputError(f"step: got {step:,}; allowed: {first:,} to {newest:,}, the steps that were done")
    here = source.frame().step
    source.to(step)
    try:
        yield
    finally:
        source.to(here)
