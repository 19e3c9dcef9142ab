"""`FirstStart`: a watched run that began while numba's cache was cold goes on with numba when the kernels are there.

Somebody else fills the cache. A thread looks for the kernels now and then, loads them beside the training, and lets the
worker change at a call boundary, as an edit that is logged. Only a window asks for this: nothing else changes engine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..engine.cpu import cache_is_warm
from ..engine.table import operations
from .worker import Worker

if TYPE_CHECKING:
    from .run import Run

PAUSE = 1.0
"""Seconds between two looks; one costs a few file names."""


@dataclass(frozen=True, slots=True)
class Change:
    """What came of it.

    Attributes
    ----------
    step : int
        The first step of the new engine.
    before, after : float
        Steps a second without interruptions; 0 where there is a problem.
    problem : str
        Why there is no new engine; empty if there is one.
    """

    step: int
    before: float = 0.0
    after: float = 0.0
    problem: str = ""

    def __str__(self) -> str:
        if self.problem:
            return f"numba could not be loaded, NumPy goes on: {self.problem}"
        times = self.after / self.before
        faster = f", {times:,.0f} times as fast" if times >= 2 else ""
        return f"the fast kernels are ready: numba from step {self.step:,} on{faster}"


class FirstStart:
    """Moves the run of a worker to numba once.

    Parameters
    ----------
    worker : Worker
        Started.
    tell : callable
        Called with the `Change`, from another thread.
    """

    def __init__(self, worker: Worker, tell: Callable[[Change], None]) -> None:
        self._worker, self._tell = worker, tell
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._wait, name="scalarviz-kernels", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def close(self, timeout: float = 1.0) -> None:
        """Look no more; loading that has begun may go on for `timeout` seconds."""
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join(timeout)

    def _wait(self) -> None:
        run = self._worker.run
        needed = operations(run.problem.plan, run.problem.update)
        while not self._closing.wait(PAUSE):
            if cache_is_warm(run.dtype, needed):
                self._load(run)
                return

    def _load(self, run: Run) -> None:
        try:
            run.load_engine("numba")
        except Exception as error:  # whatever numba makes of this machine: the run has an engine that works
            self._tell(Change(run.steps + 1, problem=f"{type(error).__name__}: {error}"))
            return
        if not self._closing.is_set():
            self._worker.edit(self._change, f"engine {run.engine.name} -> numba")

    def _change(self, run: Run) -> None:
        # one after the other: when the run began, the compiler had a share of the machine
        before = run.speed_now()
        run.adopt_engine("numba", f"its kernels are ready; {run.engine.name} computed {run.steps:,} steps before")
        self._tell(Change(run.steps + 1, before, run.full_speed))
