"""`Worker`: a thread that trains a run while somebody watches.

The viewer never waits for training and training never waits for drawing. Between two calls of the engine (a *call
boundary*, some milliseconds apart) the worker does what was asked for meanwhile: it does edits, calls what other
threads want to be called, and, if the viewer wants one, publishes a new `Frame`. A frame is made of fresh copies and
handed over by one assignment, so it always holds one step's values and no lock is held while training.

It is the *gate* of the run's weights: other threads read the last frame with their own edits over it, and what they
write waits for the boundary.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import StateError
from .edits import Call, Edit, SetFrozen, SetOptimizer, SetWeights
from .frame import Frame

if TYPE_CHECKING:
    from .editing import Applied
    from .run import Run

R = TypeVar("R")

CALL_SECONDS = 0.006
"""Wall time of one engine call while somebody watches: how long an edit may have to wait."""


_switch_intervals: list[float] = []
"""What the interpreter had before each worker that runs was started: the first one's comes back after the last."""


class _Asked:
    """A call that another thread waits for: its result or error, and whether it is done."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = threading.Event()

    def __call__(self) -> None:
        try:
            self.result = self.function()
        except BaseException as error:  # it belongs to whoever asked
            self.error = error

    def answer(self) -> Any:
        """What came of it; afterwards an error is held by whoever gets it alone."""
        error, self.error = self.error, None
        if error is None:
            return self.result
        try:
            raise error
        finally:
            del error

    def forget(self) -> None:
        """Nobody waits any more: if it has not begun, it is not called."""
        self.function = lambda: None


class Worker:
    """Trains `run` up to a step that moves, in a thread of its own.

    Parameters
    ----------
    run : Run
        Other threads may go on using it: what they call takes its turn at a call boundary.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self._condition = threading.Condition()
        self._waiting: deque[tuple[Edit, str] | _Asked] = deque()
        self._serving = threading.RLock()
        self._over = False
        self._logged = len(run.log)
        self._target = run.steps
        self._wanted = False
        self._closing = False
        self._resting = False
        self._latest = run.frame()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._loop, name="scalarviz-training", daemon=True)
        self._server = self._thread

    @property
    def log(self) -> list[Applied]:
        """What was done to the run since this worker was made."""
        return self.run.log[self._logged :]

    # ---- life

    def start(self) -> Self:
        """Start the thread; from now on reads and writes of the run's weights go through this worker.

        Raises
        ------
        StateError
            It was started before, or another Worker trains the run.
        """
        if self._over or self._thread.ident is not None:
            raise StateError("a Worker is started once; make a new one: Worker(run)")
        if self.run.gate is not None:
            raise StateError("another Worker trains this run; close that one first")
        self._latest = self.run.frame()  # the run may have gone on since this was made
        _switch_intervals.append(sys.getswitchinterval())
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
            The engine did not come back within `timeout` seconds, or the thread was to wait for its own end.
        """
        if threading.current_thread() is self._thread:
            raise StateError("a Worker cannot be closed by what it does itself; close it from another thread")
        with self._condition:
            self._closing = True
            self._condition.notify_all()
        if self._thread.ident is not None:
            self._thread.join(timeout)
            if self._thread.is_alive():
                raise StateError(f"the training thread did not stop within {timeout:g} s; it ends with the process")
        error = self._finish()
        for said in (error, self._error):
            if said is not None:  # what its frames hold, this worker among it, is held by it no longer
                traceback.clear_frames(said.__traceback__)
        del said
        if error is not None:
            try:
                raise error
            finally:
                del error

    def _finish(self) -> Exception | None:
        """After the end of the thread: do all that waits, and hand the run back; returns the first error."""
        first: Exception | None = None
        with self._serving:
            self._server = threading.current_thread()
            while not self._over:
                try:
                    self._boundary()
                except Exception as error:  # the others that wait are done all the same
                    first = first or error
                with self._condition:
                    if not self._waiting:
                        self._over = True
                        self._hand_back()
        return first

    def _hand_back(self) -> None:
        if self._thread.ident is None:
            return
        self.run.gate = None
        self.run.call_seconds = self._former_call
        former = _switch_intervals.pop()
        if not _switch_intervals:
            sys.setswitchinterval(former)

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

    def do(self, edit: Edit, *, gesture: str = "") -> None:
        """Let an edit be done at the next call boundary, without waiting for it; see :meth:`Run.do`.

        Raises
        ------
        InputError
            It does not fit the run as it is now. What is found only at the boundary stands in `error`.
        """
        edit.check(self.run.hands)
        if not self._queue((edit, gesture)):
            self.run.do(edit, gesture=gesture)

    def edit(self, change: Callable[[Run], object], what: str) -> None:
        """Let `change(run)` happen at the next call boundary; it is logged as `what` with its step."""
        if not self._queue((Call(change, what), "")):
            self.run.do(Call(change, what))

    # ---- the gate: weights of a run that is being trained

    def mine(self) -> bool:
        """Whether this is the thread that trains, or none does."""
        return threading.current_thread() is self._server or self._thread.ident is None

    def call(self, function: Callable[[], R]) -> R:
        """What `function` returns or raises, called at the next call boundary; waits for it."""
        asked = _Asked(function)
        if not self._queue(asked):  # closed meanwhile: the run may have another worker
            gate = self.run.gate
            return function() if gate is None or gate.mine() else cast(R, gate.call(function))
        try:
            while not asked.done.wait(0.1):
                if not self._thread.is_alive():  # it ended before it came to it
                    self._error = self._finish() or self._error
        except BaseException:
            asked.forget()
            raise
        return cast(R, asked.answer())

    def number(self, name: str) -> Any:
        """A number of the optimiser: an own edit that waits, else as it is."""
        for edit in self._edits(SetOptimizer):
            if name in dict(edit.numbers):
                return dict(edit.numbers)[name]
        return getattr(self.run.optimizer, name)

    def read(self, index: int) -> float:
        """Value of the flat weight `index`: an own edit that waits, else that of the last frame."""
        if self.mine():
            return float(self.run._store.value[index])
        for edit in self._edits(SetWeights):
            if edit.start <= index < edit.start + len(edit.numbers):
                return float(edit.numbers[index - edit.start])
        return float(self._latest.values[index])

    def read_gradient(self, index: int) -> float:
        """Gradient of the flat weight `index`, of the last frame."""
        return float(self.run._store.grad[index] if self.mine() else self._latest.gradient[index])

    def values(self, span: slice) -> NDArray[Any]:
        """A read-only copy of flat weights: the last frame's, with own edits that wait."""
        return self._seen(self._latest.values[span], span, SetWeights)

    def gradients(self, span: slice) -> NDArray[Any]:
        """A read-only copy of flat gradients, of the last frame."""
        return self._seen(self._latest.gradient[span], span, None)

    def frozen(self, span: slice) -> NDArray[Any]:
        """A read-only copy of the flags of frozen weights, with own edits that wait."""
        return self._seen(self._latest.frozen[span], span, SetFrozen)

    def write(self, start: int, numbers: NDArray[Any]) -> None:
        """Set the flat weights from `start` on at the next call boundary."""
        self.do(SetWeights(start, numbers), gesture="data")

    def freeze(self, start: int, flags: NDArray[np.bool_]) -> None:
        """Set which weights the optimiser leaves alone, at the next call boundary."""
        self.do(SetFrozen(start, flags), gesture="frozen")

    def _edits(self, kind: type[Any]) -> list[Any]:
        """Edits of a kind that wait, the latest first."""
        waiting = (item[0] for item in reversed(list(self._waiting)) if not isinstance(item, _Asked))
        return [edit for edit in waiting if isinstance(edit, kind)]

    def _seen(self, numbers: NDArray[Any], span: slice, kind: type[Any] | None) -> NDArray[Any]:
        seen = numbers.copy()
        for edit in reversed(self._edits(kind)) if kind is not None else ():
            new = edit.numbers if isinstance(edit, SetWeights) else edit.flags
            first, last = max(span.start, edit.start), min(span.stop, edit.start + len(new))
            if first < last:
                seen[first - span.start : last - span.start] = new[first - edit.start : last - edit.start]
        seen.flags.writeable = False
        return seen

    def _queue(self, item: tuple[Edit, str] | _Asked) -> bool:
        """Let it wait for its turn; False if there is no turn any more."""
        with self._condition:
            if not self._over:
                self._waiting.append(item)
                self._condition.notify_all()
            return not self._over

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
            except BaseException as error:  # whatever it is, the viewer shows it; the thread stays for edits
                self._error = error if isinstance(error, Exception) else StateError(f"{error!r} in the training thread")
                self._publish()

    def _called(self) -> bool:
        return bool(self._closing or self._waiting or self._wanted or self.busy)

    def _after_call(self, run: Run) -> bool:
        self._boundary()
        return not self._closing and run.steps < self._target

    def _boundary(self) -> None:
        """Do what waits, in order, then publish if anybody wants to see."""
        if self._serve() or self._wanted:
            self._publish()

    def _serve(self) -> bool:
        """Do what waits; returns whether there was anything."""
        with self._serving:
            served = 0
            try:
                while served < len(self._waiting):
                    item, served = self._waiting[served], served + 1
                    if isinstance(item, _Asked):
                        item()
                        self._latest = self.run.frame()  # before its asker looks
                        item.done.set()
                    else:
                        self.run.do(item[0], gesture=item[1])
            finally:
                if served:  # an edit waits, for whoever reads, until a frame holds it
                    self._latest = self.run.frame()
                    for _ in range(served):
                        self._waiting.popleft()
        return served > 0

    def _publish(self) -> None:
        self._wanted = False
        self._latest = self.run.frame()
