"""`Worker`: a thread that trains a run while somebody watches.

The viewer never waits for training and training never waits for drawing. Between two calls of the engine (a *call
boundary*, some milliseconds apart) the worker does what was asked for meanwhile, in the order in which it was: it does
edits, calls what other threads want to be called, and reads the run's numbers for those who want a `Frame`. A reading
is made of fresh copies and handed over by one assignment, so it always holds one step's values and no lock is held
while training. An engine whose calls are long may read them in the middle of one (see `scalarviz.engine.problem`).

It is the *gate* of the run's weights: other threads see the last reading with their own edits over it, and what they
write waits for the boundary.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from numpy.typing import NDArray

from ..checks import integer
from ..errors import StateError
from .asked_call import AskedCall
from .checks import waiting
from .conditions.watch import Stop
from .edits import Call, Edit
from .frame import Frame
from .requests import LOOK, FrameRequest
from .serving import Serving
from .weights_gate import Item

if TYPE_CHECKING:
    from .edits.applied import Applied
    from .run import Run

R = TypeVar("R")

CALL_SECONDS = 0.006
"""Wall time of one engine call while somebody watches: how long an edit may have to wait."""


_switch_intervals: list[float] = []
"""What the interpreter had before each worker that runs was started: the first one's comes back after the last."""


class Worker(Serving):
    """Trains `run` up to a step that moves, in a thread of its own.

    Parameters
    ----------
    run : Run
        Other threads may go on using it: what they call takes its turn at a call boundary.
    """

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._stays()
        self._over = False
        self._logged = len(run.log)
        self._target = run.steps
        self._closing = self._ended = False
        self._resting = False
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
        self._latest = self.run._reading()  # the run may have gone on since this was made
        _switch_intervals.append(sys.getswitchinterval())
        sys.setswitchinterval(5e-4)  # the default of 5 ms would let a NumPy run stutter the viewer
        self._former_call = self.run.call_seconds
        self.run.call_seconds = CALL_SECONDS
        self.run.gate = self
        self.run._training.watch(self._readback)
        self._thread.start()
        return self

    def close(self, timeout: float = 1.0) -> None:
        """Stop at the next call boundary, apply what is still waiting, and hand the run back.

        Raises
        ------
        StateError
            The engine did not come back within `timeout` seconds, or the thread was to wait for its own end.
        InputError
            A timeout that is no number of seconds, or more than a thread can wait; nothing is stopped then.
        """
        timeout = waiting(timeout, "close: timeout")
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
        self.run._training.watch(None)
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
        """Let the run go on until it has done `step` steps (at once, if that is in the past: a pause).

        Raises
        ------
        InputError
            Not a whole number; the run goes on as before.
        """
        step = integer("train_to: step", step, 0)
        with self._condition:
            self._target = step
            if step > self.run.steps:
                self._error = None  # asked to go on after an error: try again
            self._condition.notify_all()

    def ask(self, function: Callable[[Run], object]) -> AskedCall:
        """Let a function of the run be called at the next call boundary, without waiting; it is no edit.

        Returns
        -------
        AskedCall
            ``done`` says when it was; ``answer()`` gives what it returned, or raises what it raised.
        """
        asked = AskedCall(lambda: function(self.run))
        if not self._queue(asked):
            asked.run()
            asked.done.set()
        return asked

    def pause(self) -> None:
        """Stop at the next call boundary."""
        self.train_to(0)

    @property
    def busy(self) -> bool:
        """Whether there are steps left to do."""
        return self._error is None and self._stopped is None and self.run.steps < self._target

    @property
    def stopped(self) -> Stop | None:
        """The breakpoint that stopped the training; no step is done until :meth:`resume` or :meth:`travel`."""
        return self._stopped

    def resume(self) -> None:
        """Go on from a breakpoint, as far as :meth:`train_to` says."""
        with self._condition:
            self._stopped = None
            self._condition.notify_all()

    def settle(self, timeout: float = 10.0) -> Frame:
        """Wait until everything asked for is done, and return a frame of that moment.

        Raises
        ------
        StateError
            It is not done within `timeout` seconds.
        InputError
            A timeout that is no number of seconds, or more than a thread can wait.
        """
        timeout = waiting(timeout, "settle: timeout")
        request = self.request()
        with self._condition:
            if not self._condition.wait_for(lambda: self._gone() or (self._resting and not self._called()), timeout):
                raise StateError(f"the training thread is still busy after {timeout:g} s; pause() it first")
        return request.result() if self._gone() else self.latest

    @property
    def error(self) -> Exception | None:
        """What stopped the training (it names the step), or None."""
        return self._error

    @property
    def latest(self) -> Frame:
        """The last frame that somebody asked for, or that an edit or the end of training left; waits for nobody."""
        return self._latest.frame()

    def request(self, sample: NDArray[Any] | None = None, *, state: bool = False) -> FrameRequest:
        """Ask for a new frame; see :meth:`scalarviz.Run.request_frame`.

        Parameters
        ----------
        sample : ndarray, shape (n_inputs,), optional
            Whose activations are wanted.
        state : bool
            Whether the optimiser's arrays are; :attr:`state_wanted` has them in what edits leave too.
        """
        request = FrameRequest(sample, self, state=state)
        while not (self._over or self.mine()):
            with self._condition:
                if not self._gone():
                    self._queue(request)
                    return request
            self._error = self._finish() or self._error
        return self.run.request_frame(sample, state=state)

    def see_to(self, request: FrameRequest) -> None:
        """Somebody waits for `request`: if no other thread is there to answer it, it is answered now."""
        if self._gone():
            self._error = self._finish() or self._error
        elif self.mine():
            request.give(self.run._reading(request.state))

    def _gone(self) -> bool:
        """Whether there was a thread, and is none any more."""
        return self._ended or (self._thread.ident is not None and not self._thread.is_alive())

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

    # ---- whose turn it is

    def mine(self) -> bool:
        """Whether this is the thread that trains, or none does."""
        return threading.current_thread() is self._server or self._thread.ident is None

    def call(self, function: Callable[[], R]) -> R:
        """What `function` returns or raises, called at the next call boundary; waits for it."""
        asked = AskedCall(function)
        if not self._queue(asked):  # closed meanwhile: the run may have another worker
            gate = self.run.gate
            return function() if gate is None or gate.mine() else cast(R, gate.call(function))
        try:
            while not asked.done.wait(LOOK):
                if not self._thread.is_alive():  # it ended before it came to it
                    self._error = self._finish() or self._error
        except BaseException:
            asked.forget()
            raise
        return cast(R, asked.answer())

    def _queue(self, item: Item) -> bool:
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
            self._prepare()
            with self._condition:
                self._condition.wait_for(self._called)
                self._resting = False
                if self._closing and not any(isinstance(item, FrameRequest) for item in list(self._waiting)):
                    self._ended = True
                    self._condition.notify_all()
                    return
            try:
                self._boundary()
                with self._condition:  # what was asked for before these steps is done before them
                    steps = self._target - self.run.steps if self.busy and not self._waiting else 0
                if steps and not self._closing:
                    self.run.step(steps, progress=self._after_call)
                    self._stopped = self.run.stopped_by
                    self._publish()  # where it comes to rest is always shown
            except BaseException as error:  # whatever it is, the viewer shows it; the thread stays for edits
                said = error if isinstance(error, Exception) else StateError(f"{error!r} in the training thread")
                try:
                    with suppress(MemoryError):  # then the last reading stays
                        self._publish()
                finally:
                    self._error = said  # not before the numbers of its moment are there

    def _called(self) -> bool:
        return bool(self._closing or self._waiting or self.busy)

    def _after_call(self, run: Run) -> bool:
        self._boundary()
        return not self._closing and run.steps < self._target
