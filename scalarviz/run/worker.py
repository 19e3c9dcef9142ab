"""`Worker`: a thread that trains a run beside a view, applies requests in order, and goes to past steps.

The viewer never waits for training and training never waits for drawing. Between two calls of the engine (a *call
boundary*, some milliseconds apart) the worker serves what was asked for meanwhile, in order: edits, calls of
functions, and requests for a `Frame`. A frame holds fresh copies and is handed over by one assignment, so it always
holds one step's values, and no lock is held while training. A request that waits only for steps is answered in the
middle of them: between two calls that another thread asked for, or inside a call, if the engine can do that (see
`scalarviz.engine.problem`).

A journey to another step waits for its turn as an edit does: earlier requests are served before it, later ones at its
destination. Of several journeys in a row only the last is made.

The worker is the *gate* of the run's weights: other threads see the last frame with their own edits over it, and
their writes wait for the boundary.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from typing import Any, Literal, Self, TypeVar, cast

from numpy.typing import NDArray

from ..checks import integer
from ..engine.problem import Midway, Readback
from ..errors import StateError
from .core.frame import Frame
from .edits import Call, Edit, SetFrozen, SetOptimizer, SetWeights
from .edits.base import Applied
from .frames import LOOK, FrameRequest, PendingCall, frame_now
from .questions.breakpoints import Stop
from .run import Run
from .travel import span
from .validation import waiting

CALL_SECONDS = 0.006
"""Wall time in seconds of one engine call beside a view: the longest wait of an edit."""
LATE = 0.3
"""Seconds on the way to a step after which a newer request for another step takes over."""
FAR = 1 << 62
"""A number beyond every step."""
_SET_BY: dict[str, type[Edit]] = {"value": SetWeights, "frozen": SetFrozen}
"""The edits that set each array of a store."""


@dataclass(frozen=True, slots=True)
class Journey:
    """A step to go to, or the first or newest one if it lies beyond them.

    `nearest`: a step near it will do, if the run can go there at once.
    """

    step: int
    nearest: bool = False


Item = tuple[Edit, str] | PendingCall | FrameRequest | Journey
"""An item that waits for its turn: an edit with its gesture, a call, a frame, a journey."""
R = TypeVar("R")


_switch_intervals: list[float] = []
"""The interpreter's switch interval before each running worker; the first one is restored after the last worker."""


class Worker:
    """Trains `run` up to a step that can be moved, in its own thread.

    Parameters
    ----------
    run : Run
        Other threads may continue to use it: their calls take their turn at a call boundary.

    Attributes
    ----------
    state_wanted : bool
        Whether every frame has the optimiser's arrays, also after edits.
    latest : Frame
        The last frame that was asked for, or that an edit or the end of training left.
    error : Exception or None
        The error that stopped the training; it names the step.
    stopped : Stop or None
        The breakpoint that stopped the training; no step is done until :meth:`resume` or :meth:`travel`.
    journey_progress : float or None
        The finished share of the way of :meth:`travel`, 0 to 1; None without a journey.
    """

    state_wanted = False

    def __init__(self, run: Run) -> None:
        self.run = run
        self._waiting: deque[Item] = deque()
        self._begun = 0  # number of waiting items that have begun; -1 in the middle of an edit
        self._serving, self._condition = threading.RLock(), threading.Condition()
        self.latest = frame_now(run)
        self.journey_progress: float | None = None
        self._cancelled = False
        self.stopped: Stop | None = None
        self.error: Exception | None = None
        self._logged = len(run.log)
        self._target = run.steps
        self._over = self._closing = self._ended = self._resting = False
        self._thread = threading.Thread(target=self._loop, name="scalarviz-training", daemon=True)
        self._server = self._thread

    @property
    def log(self) -> list[Applied]:
        """The edits of the run since this worker was made."""
        return self.run.log[self._logged :]

    # ---- life

    def start(self) -> Self:
        """Start the thread; from now on reads and writes of the run's weights go through this worker."""
        if self._over or self._thread.ident is not None:
            raise StateError("a Worker can be started only once; make a new one with Worker(run)")
        if self.run._store.gate is not None:
            raise StateError("another Worker trains this run; close it first")
        self.latest = frame_now(self.run)  # the run may have trained since this was made
        _switch_intervals.append(sys.getswitchinterval())
        sys.setswitchinterval(5e-4)  # the default of 5 ms would let a NumPy run stutter the viewer
        self._former_call = self.run._training.call_seconds
        self.run._training.call_seconds = CALL_SECONDS
        self.run._store.gate = self
        self.run._training.watch(self._readback)
        self._thread.start()
        return self

    def close(self, timeout: float = 1.0) -> None:
        """Stop at the next call boundary, apply what is still waiting, and hand the run back.

        Raises
        ------
        StateError
            The engine did not return within `timeout` seconds, or the thread would wait for its own end.
        InputError
            `timeout` is not a number of seconds, or is too large for a thread; nothing is stopped then.
        """
        timeout = waiting(timeout, "close: timeout")
        if threading.current_thread() is self._thread:
            raise StateError("a Worker cannot close itself; close it from another thread")
        with self._condition:
            self._closing = True
            self._condition.notify_all()
        if self._thread.ident is not None:
            self._thread.join(timeout)
            if self._thread.is_alive():
                raise StateError(f"the training thread did not stop within {timeout:g} s; it ends with the process")
        error = self._finish()
        for said in (error, self.error):
            if said is not None:  # its frames hold this worker, among others
                traceback.clear_frames(said.__traceback__)
        del said
        if error is not None:
            try:
                raise error
            finally:
                del error

    def _finish(self) -> Exception | None:
        """Serve all that waits after the end of the thread, and hand the run back; return the first error."""
        first: Exception | None = None
        with self._serving:
            self._server = threading.current_thread()
            while not self._over:
                try:
                    self._boundary()
                except Exception as error:  # the others that wait are served all the same
                    first = first or error
                with self._condition:
                    if not self._waiting:
                        self._over = True
                        self._hand_back()
        return first

    def _hand_back(self) -> None:
        if self._thread.ident is None:
            return
        self.run._store.gate = None
        self.run._training.watch(None)
        self.run._training.call_seconds = self._former_call
        former = _switch_intervals.pop()
        if not _switch_intervals:
            sys.setswitchinterval(former)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- requests of the viewer

    def train_to(self, step: int) -> None:
        """Train until `step` steps are done; a step in the past pauses at once.

        InputError: the step is not a whole number; training continues as before.
        """
        step = integer("train_to: step", step, 0)
        with self._condition:
            self._target = step
            if step > self.run.steps:
                self.error = None  # asked to continue after an error: try again
            self._condition.notify_all()

    def ask(self, function: Callable[[Run], object]) -> PendingCall:
        """Call ``function(run)`` at the next call boundary, without waiting; it is no edit.

        ``done()`` of the result says whether it was called; ``result()`` returns its result, or raises its error.
        """
        asked = PendingCall(partial(function, self.run))
        if not self._queue(asked):
            asked.run()
        return asked

    def pause(self) -> None:
        """Stop at the next call boundary."""
        self.train_to(0)

    @property
    def busy(self) -> bool:
        """True if there are steps left to do."""
        return self.error is None and self.stopped is None and self.run.steps < self._target

    def resume(self) -> None:
        """Continue after a breakpoint, as far as :meth:`train_to` says."""
        with self._condition:
            self.stopped = None
            self._condition.notify_all()

    def settle(self, timeout: float = 10.0) -> Frame:
        """Wait until everything asked for is done, and return a frame of that moment."""
        timeout = waiting(timeout, "settle: timeout")
        request = self.request()
        with self._condition:
            if not self._condition.wait_for(
                lambda: self._has_ended() or (self._resting and not self._has_work()), timeout
            ):
                raise StateError(f"the training thread is still busy after {timeout:g} s; call pause() first")
        return request.result() if self._has_ended() else self.latest

    def request(self, sample: NDArray[Any] | None = None, *, state: bool = False) -> FrameRequest:
        """Ask for a new frame; see :meth:`scalarviz.Run.request_frame`.

        The frame gets the activations of `sample` (n_inputs,), and with `state` the optimiser's arrays.
        """
        request = FrameRequest(sample, self.see_to, state=state)
        while not (self._over or self.mine()):
            with self._condition:
                if not self._has_ended():
                    self._queue(request)
                    return request
            self._finish_dead()
        return self.run.request_frame(sample, state=state)

    def see_to(self, request: FrameRequest) -> None:
        """Answer a `request` that a thread waits for, if no other thread can answer it."""
        if self.mine() and not self._has_ended():
            request.give(frame_now(self.run, request.state))
        self._finish_dead()

    def _finish_dead(self) -> None:
        """Serve all that waits if the thread has ended."""
        if self._has_ended():
            self.error = self._finish() or self.error

    def _has_ended(self) -> bool:
        """Return whether the thread was started and has ended."""
        return self._ended or (self._thread.ident is not None and not self._thread.is_alive())

    def do(self, edit: Edit, *, gesture: str = "") -> None:
        """Apply an edit at the next call boundary, without waiting for it; see :meth:`Run.do`."""
        edit.check(self.run._access)
        if not self._queue((edit, gesture)):
            self.run.do(edit, gesture=gesture)

    def edit(self, change: Callable[[Run], object], what: str) -> None:
        """Call `change(run)` at the next call boundary; the log names it `what`."""
        self.do(Call(change, what))

    # ---- going to past steps

    def travel(self, step: int, *, nearest: bool = False) -> None:
        """Stop training and go to a step that was done, without waiting. The last request wins.

        A step beyond the first or newest one means that one. `nearest`: a step near it will do, if the run can go
        there at once; for a mouse that is still moving. InputError: the step is not a whole number.
        """
        journey = Journey(integer("travel: step", step, -FAR), nearest)
        with self._condition:
            self._target, self.error, self.stopped, self._cancelled = 0, None, None, False
        if not self._queue(journey):
            self._go(journey)

    @property
    def moving(self) -> bool:
        """True if the run has steps to do or a journey to make."""
        waits = any(isinstance(item, Journey) for item in list(self._waiting))
        return waits or self.busy or self.journey_progress is not None

    @property
    def remark(self) -> str:
        """A remark on the kept past, such as that a replay takes long; empty for none."""
        return self.run.timeline.remark

    def cancel(self) -> None:
        """Cancel the journey; the run stays at its step."""
        self._cancelled = True

    def _superseded(self, served: int) -> bool:
        """Return whether a journey waits before any change; the first `served` items are ignored."""
        items = (item for item in list(self._waiting)[served:] if not isinstance(item, FrameRequest))
        return isinstance(next(items, None), Journey)

    def _go(self, journey: Journey, served: int = 0) -> None:
        """Make a journey; stay within the steps that the run can go to."""
        if self._superseded(served) or self._cancelled:
            return
        first, newest = span(self.run)
        step = min(max(journey.step, first), newest)
        self.journey_progress, set_out = 0.0, time.monotonic()

        def on_the_way(done: float) -> bool:
            self.journey_progress = done
            late = time.monotonic() - set_out > LATE  # not too often, or it would never arrive
            return not (self._cancelled or self._closing or (late and self._superseded(served)))

        try:
            self.run.to(self.run.timeline.nearest_quick_step(step) if journey.nearest else step, progress=on_the_way)
        finally:
            try:
                self._publish()  # before the journey counts as finished
            finally:
                self.journey_progress = None

    # ---- the gate of the weights; see :class:`scalarviz.scalar.store.Gate`

    def number(self, name: str) -> Any:
        """Return a number of the optimiser: from an own edit that waits, or the current one."""
        for edit in self._edits(SetOptimizer):
            if name in dict(edit.numbers):
                return dict(edit.numbers)[name]
        return getattr(self.run.optimizer, name)

    def read_numbers(self, what: Literal["value", "grad", "frozen"], span: slice) -> NDArray[Any]:
        """Return a read-only copy of flat numbers: the last frame's, with own edits that wait."""
        if self.mine():
            found: NDArray[Any] = getattr(self.run._store, what)[span].copy()
        else:
            frame, run = self.latest, self.run
            if frame.forward is not run._forward:  # the run gets another network
                frame = self.call(partial(frame_now, run))
            numbers = frame.exact if what == "value" else frame.gradient if what == "grad" else frame.frozen
            found = numbers[span].copy()
            for edit in reversed(self._edits(_SET_BY[what])) if what in _SET_BY else ():
                new = edit.numbers if isinstance(edit, SetWeights) else edit.flags
                first, last = max(span.start, edit.start), min(span.stop, edit.start + len(new))
                if first < last:
                    found[first - span.start : last - span.start] = new[first - edit.start : last - edit.start]
        found.flags.writeable = False
        return found

    def moved(self, place: Callable[[int, int], int | None]) -> None:
        """Update waiting edits after a change of the network: they follow their weights.

        ``place(start, count)`` returns the new start of flat weights, or None if they left the run.
        """
        for k, item in enumerate(list(self._waiting)):
            if isinstance(item, tuple) and isinstance(item[0], SetWeights | SetFrozen):
                edit: Any = item[0]
                start = place(edit.start, len(edit.numbers if isinstance(edit, SetWeights) else edit.flags))
                self._waiting[k] = PendingCall(lambda: None) if start is None else (replace(edit, start=start), item[1])

    def _edits(self, kind: type[Any]) -> list[Any]:
        """Return waiting edits of a kind, the latest first."""
        waiting = (item[0] for item in reversed(list(self._waiting)) if isinstance(item, tuple))
        return [edit for edit in waiting if isinstance(edit, kind)]

    # ---- turns

    def mine(self) -> bool:
        """Return whether this is the thread that trains, or no thread does."""
        return threading.current_thread() is self._server or self._thread.ident is None

    def call(self, function: Callable[[], R]) -> R:
        """Call `function` at the next call boundary; wait, and return its result or raise its error."""
        asked = PendingCall(function)
        if not self._queue(asked):  # closed meanwhile: the run may have another worker
            gate = self.run._store.gate_here()
            return function() if gate is None else cast(R, gate.call(function))
        try:
            while not asked.done():
                with suppress(TimeoutError):
                    asked.exception(LOOK)
                self._finish_dead()
            return cast(R, asked.result())
        finally:
            asked.cancel()  # no caller waits any more
            del asked  # an error holds this frame

    def _queue(self, item: Item) -> bool:
        """Let an item wait for its turn; False if there are no more turns."""
        with self._condition:
            if not self._over:
                self._waiting.append(item)
                self._condition.notify_all()
            return not self._over

    # ---- serving the waiting items, in order

    def _publish(self, state: bool = False) -> None:
        self.latest = frame_now(self.run, state or self.state_wanted)

    def _boundary(self) -> None:
        with self._serving:
            served, edited, fresh = 0, False, False  # fresh: the latest frame is current
            try:
                while served < len(self._waiting):
                    item, served = self._waiting[served], served + 1
                    if isinstance(item, FrameRequest):
                        fresh = self._answer(item, fresh)
                    elif isinstance(item, Journey):
                        edited, fresh, self._begun = True, False, -1
                        self._go(item, served)
                    elif isinstance(item, PendingCall):
                        self._begun = served  # it may do steps; requests for frames are answered meanwhile
                        fresh = item.run(before_answer=self._publish) or fresh
                    else:
                        edited, fresh, self._begun = True, False, -1
                        self.run.do(item[0], gesture=item[1])
            finally:
                try:
                    if edited and not fresh:  # readers see a waiting edit until a frame holds it
                        self._publish()
                finally:
                    self._begun = 0
                    for _ in range(served):
                        self._waiting.popleft()

    def _answer(self, request: FrameRequest, fresh: bool) -> bool:
        """Answer with the current numbers; return whether the latest frame is current."""
        if request.done:
            return fresh
        try:
            if not fresh or (request.state and not self.latest.state):
                self._publish(request.state)
        except BaseException as error:  # the caller that waits gets it
            request.fail(error)
            return False
        request.give(self.latest)
        return True

    # ---- frames in the middle of steps or a call

    def _first(self) -> list[FrameRequest]:
        """Return the requests for frames that wait for nothing else before them."""
        if len(self._waiting) <= self._begun or self._begun < 0:
            return []
        first = takewhile(lambda item: isinstance(item, FrameRequest), list(self._waiting)[self._begun :])
        return [item for item in first if isinstance(item, FrameRequest) and not item.done]

    def answer(self) -> None:
        """Answer requests for frames between two calls of the engine, in steps that another thread asked for."""
        fresh = False
        for request in self._first():
            fresh = self._answer(request, fresh)

    def _readback(self) -> Readback | None:
        """Return a readback for new requests, or None; the engine calls this in its thread, in the middle of a call."""
        new = [request for request in self._first() if not (request.known_to_engine or request.state)]
        for request in new:
            request.known_to_engine = True
        return partial(self._give, new) if new else None

    def _give(self, asked: list[FrameRequest], now: Midway) -> None:
        """Answer the open ones of the requests that an engine knows of with its numbers."""
        requests = [request for request in asked if not request.done]
        if requests:
            frame = self.latest = frame_now(self.run, midway=now)
            for request in requests:
                request.give(frame)

    # ---- the thread

    def _loop(self) -> None:
        while True:
            with self._condition:
                self._resting = True
                self._condition.notify_all()
            while not self._has_work() and self.run.timeline.prepare():
                pass  # the way back becomes shorter
            with self._condition:
                self._condition.wait_for(self._has_work)
                self._resting = False
                if self._closing and not any(isinstance(item, FrameRequest) for item in list(self._waiting)):
                    self._ended = True
                    self._condition.notify_all()
                    return
            try:
                self._boundary()
                with self._condition:  # earlier requests are served before these steps
                    steps = self._target - self.run.steps if self.busy and not self._waiting else 0
                if steps and not self._closing:
                    self.run.step(steps, progress=self._after_call)
                    self.stopped = self.run.stopped_by
                    self._publish()  # the last frame is always shown
            except BaseException as error:  # whatever it is, the viewer shows it; the thread stays for edits
                said = error if isinstance(error, Exception) else StateError(f"{error!r} in the training thread")
                try:
                    with suppress(MemoryError):  # then the last frame stays
                        self._publish()
                finally:
                    self.error = said  # not before a frame of that moment exists

    def _has_work(self) -> bool:
        return bool(self._closing or self._waiting or self.busy)

    def _after_call(self, run: Run) -> bool:
        self._boundary()
        return not self._closing and run.steps < self._target
