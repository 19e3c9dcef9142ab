"""`Worker`: a thread that trains a run while somebody watches.

The viewer never waits for training and training never waits for drawing. Between two calls of the engine (a *call
boundary*, some milliseconds apart) the worker does what was asked for meanwhile: it applies edits and, if the viewer
wants one, publishes a new `Frame`. A frame is made of fresh copies and handed over by one assignment, so it always
holds one step's values and no lock is held while training.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from ..errors import StateError
from .frame import Frame

if TYPE_CHECKING:
    from .run import Run

CALL_SECONDS = 0.006
"""Wall time of one engine call while somebody watches: how long an edit may have to wait."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A change from outside, with the step after which it was applied."""

    step: int
    what: str


class Worker:
    """Trains `run` up to a step that moves, in a thread of its own.

    Parameters
    ----------
    run : Run
        Must not be stepped by anybody else until :meth:`close`.

    Attributes
    ----------
    log : list of Edit
        Edits in the order in which they were applied.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.log: list[Edit] = []
        self._condition = threading.Condition()
        self._edits: deque[tuple[Callable[[Run], None], str, dict[int, float]]] = deque()
        self._overlay: dict[int, float] = {}
        self._target = run.steps
        self._wanted = False
        self._closing = False
        self._resting = False
        self._latest = run.frame()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._loop, name="scalarviz-training", daemon=True)

    # ---- life

    def start(self) -> Self:
        """Start the thread; from now on reads and writes of the run's weights go through this worker."""
        self._former_switch = sys.getswitchinterval()
        sys.setswitchinterval(5e-4)  # the default of 5 ms would let a NumPy run stutter the viewer
        self._former_call = self.run.call_seconds
        self.run.call_seconds = CALL_SECONDS
        self.run.gate = self
        self._thread.start()
        return self

    def close(self, timeout: float = 1.0) -> None:
        """Stop at the next call boundary, apply what is still waiting, and hand the run back.

        Raises
        ------
        StateError
            The engine did not come back within `timeout` seconds.
        """
        with self._condition:
            self._closing = True
            self._condition.notify_all()
        if self._thread.ident is not None:
            self._thread.join(timeout)
            if self._thread.is_alive():
                raise StateError(f"the training thread did not stop within {timeout:g} s; it ends with the process")
            self.run.gate = None
            self.run.call_seconds = self._former_call
            sys.setswitchinterval(self._former_switch)
        self._boundary()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- what the viewer asks for

    def train_to(self, step: int) -> None:
        """Let the run go on until it has done `step` steps (at once, if that is in the past: a pause)."""
        with self._condition:
            self._target = step
            if step > self.run.steps:
                self._error = None  # asked to go on after an error: try again
            self._condition.notify_all()

    def pause(self) -> None:
        """Stop at the next call boundary."""
        self.train_to(0)

    @property
    def busy(self) -> bool:
        """Whether there are steps left to do."""
        return self._error is None and self.run.steps < self._target

    def settle(self, timeout: float = 10.0) -> Frame:
        """Wait until everything asked for is done, and return a frame of that moment.

        Raises
        ------
        StateError
            It is not done within `timeout` seconds.
        """
        self.request()
        with self._condition:
            if not self._condition.wait_for(lambda: self._resting and not self._called(), timeout):
                raise StateError(f"the training thread is still busy after {timeout:g} s; pause() it first")
        return self._latest

    @property
    def error(self) -> Exception | None:
        """What stopped the training (it names the step), or None."""
        return self._error

    @property
    def latest(self) -> Frame:
        """The last published frame."""
        return self._latest

    def request(self) -> None:
        """Ask for a new frame at the next call boundary."""
        with self._condition:
            self._wanted = True
            self._condition.notify_all()

    def edit(self, change: Callable[[Run], None], what: str) -> None:
        """Let `change(run)` happen at the next call boundary; it is logged as `what` with its step."""
        self._queue(change, what, {})

    # ---- the gate: weights of a run that is being trained

    def read(self, index: int) -> float:
        """Value of the flat weight `index`: an own edit that waits, else that of the last frame."""
        if threading.current_thread() is self._thread:
            return float(self.run.values[index])
        pending = self._overlay.get(index)
        return float(self._latest.values[index]) if pending is None else pending

    def write(self, start: int, numbers: list[float]) -> None:
        """Set the flat weights from `start` on at the next call boundary."""
        pairs = dict(enumerate(numbers, start))
        name = self.run.weight_name(start) + (" ..." if len(numbers) > 1 else "")
        self._queue(lambda run: run.set_weights(start, numbers), f"{name} = {numbers[0]:.6g}", pairs)

    def _queue(self, change: Callable[[Run], None], what: str, overlay: dict[int, float]) -> None:
        with self._condition:
            self._overlay = {**self._overlay, **overlay}
            self._edits.append((change, what, overlay))
            self._condition.notify_all()

    # ---- the thread

    def _loop(self) -> None:
        while True:
            with self._condition:
                self._resting = True
                self._condition.notify_all()
                self._condition.wait_for(self._called)
                self._resting = False
                if self._closing:
                    return
            try:
                self._boundary()
                if self.busy:
                    self.run.step(self._target - self.run.steps, progress=self._after_call)
                    self._publish()  # where it comes to rest is always shown
            except Exception as error:  # whatever it is, the viewer shows it; the thread stays for edits
                self._error = error
                self._publish()

    def _called(self) -> bool:
        return bool(self._closing or self._edits or self._wanted or self.busy)

    def _after_call(self, run: Run) -> bool:
        self._boundary()
        return not self._closing and run.steps < self._target

    def _boundary(self) -> None:
        """Apply edits in order, then publish if anybody wants to see."""
        applied: list[dict[int, float]] = []
        while self._edits:
            change, what, overlay = self._edits.popleft()
            change(self.run)
            self.log.append(Edit(self.run.steps, what))
            applied.append(overlay)
        if applied or self._wanted:
            self._publish()
        if applied:
            with self._condition:  # the frame holds these edits now, unless a later one waits for the same weight
                waiting: dict[int, Any] = {k: v for _, _, overlay in self._edits for k, v in overlay.items()}
                self._overlay = waiting

    def _publish(self) -> None:
        self._wanted = False
        self._latest = self.run.frame()
