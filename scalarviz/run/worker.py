"""`Worker`: a thread that trains a run while somebody watches, does what waits in its order, and goes to past steps.

The viewer never waits for training and training never waits for drawing. Between two calls of the engine (a *call
boundary*, some milliseconds apart) the worker does what was asked for meanwhile, in the order in which it was: it
does edits, calls what other threads want to be called, and makes a `Frame` for those who want one, of fresh copies
and handed over by one assignment: it always holds one step's values, and no lock is held while training. Requests
that have nothing to wait for but steps are answered in the middle of these as well: between two calls that another
thread asked for, and inside a call by an engine that can (see `scalarviz.engine.problem`).

A journey waits for its turn as an edit does: what was asked for before it is done before, what comes after it happens
where it has arrived. Of several in a row only the last is gone on.

The worker is the *gate* of the run's weights: other threads see the last frame with their own edits over it, and
what they write waits for the boundary.
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
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast

from numpy.typing import NDArray

from ..checks import integer
from ..engine.problem import Midway, Readback
from ..errors import StateError
from .checks import waiting
from .core.frame import Frame
from .edits import Call, Edit, SetFrozen, SetOptimizer, SetWeights
from .frames import LOOK, FrameRequest, PendingCall, frame_now
from .questions.breakpoints import Stop
from .travel import span

if TYPE_CHECKING:
    from .edits.base import Applied
    from .run import Run


CALL_SECONDS = 0.006
"""Wall time of one engine call while somebody watches: how long an edit may have to wait."""
LATE = 0.3
"""Seconds on the way to one step after which another step that was asked for meanwhile is gone to instead."""
FAR = 1 << 62
"""Beyond every step."""
_SET_BY: dict[str, type[Edit]] = {"value": SetWeights, "frozen": SetFrozen}
"""By array of a store, the edits that set it."""


@dataclass(frozen=True, slots=True)
class Journey:
    """Somewhere to go: a step, or the first or newest where it lies beyond them.

    `nearest`: a step near it will do, if one can stand there at once.
    """

    step: int
    nearest: bool = False


Item = tuple[Edit, str] | PendingCall | FrameRequest | Journey
"""What may wait for its turn: an edit with its gesture, a call, a frame, a way to another step."""
R = TypeVar("R")


_switch_intervals: list[float] = []
"""What the interpreter had before each worker that runs was started: the first one's comes back after the last."""


class Worker:
    """Trains `run` up to a step that moves, in a thread of its own.

    Parameters
    ----------
    run : Run
        Other threads may go on using it: what they call takes its turn at a call boundary.

    Attributes
    ----------
    state_wanted : bool
        Whether every frame has the optimiser's arrays, also after edits.
    latest : Frame
        The last one that somebody asked for, or that an edit or the end of training left.
    error : Exception or None
        What stopped the training; it names the step.
    stopped : Stop or None
        The breakpoint that stopped the training; no step is done until :meth:`resume` or :meth:`travel`.
    journey : float or None
        How much of the way of :meth:`travel` is done, 0 to 1; None where it goes nowhere.
    """

    state_wanted = False

    def __init__(self, run: Run) -> None:
        self.run = run
        self._waiting: deque[Item] = deque()
        self._begun = 0  # of those that wait, the first so many; -1 in the middle of an edit
        self._serving, self._condition = threading.RLock(), threading.Condition()
        self.latest = frame_now(run)
        self.journey_progress: float | None = None
        self._set_out, self._cancelled = 0.0, False
        self.stopped: Stop | None = None
        self.error: Exception | None = None
        self._logged = len(run.log)
        self._target = run.steps
        self._over = self._closing = self._ended = self._resting = False
        self._thread = threading.Thread(target=self._loop, name="scalarviz-training", daemon=True)
        self._server = self._thread

    @property
    def log(self) -> list[Applied]:
        """What was done to the run since this worker was made."""
        return self.run.log[self._logged :]

    # ---- life

    def start(self) -> Self:
        """Start the thread; from now on reads and writes of the run's weights go through this worker."""
        if self._over or self._thread.ident is not None:
            raise StateError("a Worker can be started only once; make a new one with Worker(run)")
        if self.run._store.gate is not None:
            raise StateError("another Worker trains this run; close it first")
        self.latest = frame_now(self.run)  # the run may have gone on since this was made
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
            The engine did not come back within `timeout` seconds, or the thread was to wait for its own end.
        InputError
            A timeout that is no number of seconds, or more than a thread can wait; nothing is stopped then.
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

    # ---- what the viewer asks for

    def train_to(self, step: int) -> None:
        """Let the run go on until it has done `step` steps (at once, if that is in the past: a pause).

        A step that is no whole number raises InputError; the run goes on as before.
        """
        step = integer("train_to: step", step, 0)
        with self._condition:
            self._target = step
            if step > self.run.steps:
                self.error = None  # asked to go on after an error: try again
            self._condition.notify_all()

    def ask(self, function: Callable[[Run], object]) -> PendingCall:
        """Let a function of the run be called at the next call boundary, without waiting; it is no edit.

        ``done()`` of what it returns says whether it was; ``result()`` gives its result, or raises its error.
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
        """Whether there are steps left to do."""
        return self.error is None and self.stopped is None and self.run.steps < self._target

    def resume(self) -> None:
        """Go on from a breakpoint, as far as :meth:`train_to` says."""
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

        `sample` (n_inputs,) is what activations are wanted of; with `state` come the optimiser's arrays.
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
        """Somebody waits for `request`: if no other thread is there to answer it, it is answered now."""
        if self.mine() and not self._has_ended():
            request.give(frame_now(self.run, request.state))
        self._finish_dead()

    def _finish_dead(self) -> None:
        """Where the thread has ended before it came to all that waits, that is done now."""
        if self._has_ended():
            self.error = self._finish() or self.error

    def _has_ended(self) -> bool:
        """Whether there was a thread, and is none any more."""
        return self._ended or (self._thread.ident is not None and not self._thread.is_alive())

    def do(self, edit: Edit, *, gesture: str = "") -> None:
        """Let an edit be done at the next call boundary, without waiting for it; see :meth:`Run.do`."""
        edit.check(self.run._hands)
        if not self._queue((edit, gesture)):
            self.run.do(edit, gesture=gesture)

    def edit(self, change: Callable[[Run], object], what: str) -> None:
        """Let `change(run)` happen at the next call boundary; it is logged as `what` with its step."""
        self.do(Call(change, what))

    # ---- going to past steps

    def travel(self, step: int, *, nearest: bool = False) -> None:
        """Let the run go to a step that was done (training stops), without waiting. Who asks last is obeyed.

        Beyond the first or newest step, that one is meant. `nearest`: a step near it will do, if one can
        stand there at once, for a hand that is still moving. InputError for what is no whole number.
        """
        journey = Journey(integer("travel: step", step, -FAR), nearest)
        with self._condition:
            self._target, self.error, self.stopped, self._cancelled = 0, None, None, False
        if not self._queue(journey):
            self._go(journey)

    @property
    def moving(self) -> bool:
        """Whether there is somewhere to go, by steps or by :meth:`travel`."""
        return (
            self.busy
            or self.journey_progress is not None
            or any(isinstance(item, Journey) for item in list(self._waiting))
        )

    @property
    def remark(self) -> str:
        """What is to be said of how the past is kept, such as that a replay takes long; empty for nothing."""
        return self.run.timeline.remark

    def cancel(self) -> None:
        """Let the run stay where it set out."""
        self._cancelled = True

    def _superseded(self, served: int) -> bool:
        """Whether of those that wait, the first so many left out, a journey comes before anything is changed."""
        items = (item for item in list(self._waiting)[served:] if not isinstance(item, FrameRequest))
        return isinstance(next(items, None), Journey)

    def _prepare(self) -> None:
        """While nothing is asked for: make the way back short."""
        while not self._has_work() and self.run.timeline.prepare():
            pass

    def _go(self, journey: Journey, served: int = 0) -> None:
        """Go where one can stand nearest to where it was asked for."""
        if self._superseded(served) or self._cancelled:
            return
        first, newest = span(self.run)
        step = min(max(journey.step, first), newest)
        self.journey_progress, self._set_out = 0.0, time.monotonic()

        def on_the_way(done: float) -> bool:
            self.journey_progress = done
            late = time.monotonic() - self._set_out > LATE  # not so often that one never arrives
            return not (self._cancelled or self._closing or (late and self._superseded(served)))

        try:
            self.run.to(self.run.timeline.nearest_quick_step(step) if journey.nearest else step, progress=on_the_way)
        finally:
            try:
                self._publish()  # before it is said that it has arrived
            finally:
                self.journey_progress = None

    # ---- the gate of the weights; see :class:`scalarviz.scalar.store.Gate`

    def number(self, name: str) -> Any:
        """A number of the optimiser: an own edit that waits, else as it is."""
        for edit in self._edits(SetOptimizer):
            if name in dict(edit.numbers):
                return dict(edit.numbers)[name]
        return getattr(self.run.optimizer, name)

    def read_numbers(self, what: Literal["value", "grad", "frozen"], span: slice) -> NDArray[Any]:
        """A read-only copy of flat numbers: the last frame's, with own edits that wait."""
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
        """The run has another network: what waits for a weight waits for that weight there.

        ``place(start, count)`` says where flat weights begin now, None where they are no longer in the run.
        """
        for k, item in enumerate(list(self._waiting)):
            if isinstance(item, tuple) and isinstance(item[0], SetWeights | SetFrozen):
                edit: Any = item[0]
                start = place(edit.start, len(edit.numbers if isinstance(edit, SetWeights) else edit.flags))
                self._waiting[k] = PendingCall(lambda: None) if start is None else (replace(edit, start=start), item[1])

    def _edits(self, kind: type[Any]) -> list[Any]:
        """Edits of a kind that wait, the latest first."""
        waiting = (item[0] for item in reversed(list(self._waiting)) if isinstance(item, tuple))
        return [edit for edit in waiting if isinstance(edit, kind)]

    # ---- whose turn it is

    def mine(self) -> bool:
        """Whether this is the thread that trains, or none does."""
        return threading.current_thread() is self._server or self._thread.ident is None

    def call(self, function: Callable[[], R]) -> R:
        """What `function` returns or raises, called at the next call boundary; waits for it."""
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
            asked.cancel()  # nobody waits any more
            del asked  # an error holds this frame

    def _queue(self, item: Item) -> bool:
        """Let it wait for its turn; False if there is no turn any more."""
        with self._condition:
            if not self._over:
                self._waiting.append(item)
                self._condition.notify_all()
            return not self._over

    # ---- what waits, in its order

    def _publish(self, state: bool = False) -> None:
        self.latest = frame_now(self.run, state or self.state_wanted)

    def _boundary(self) -> None:
        with self._serving:
            served, edited, fresh = 0, False, False  # fresh: the latest frame is of now
            try:
                while served < len(self._waiting):
                    item, served = self._waiting[served], served + 1
                    if isinstance(item, FrameRequest):
                        fresh = self._answer(item, fresh)
                    elif isinstance(item, Journey):
                        edited, fresh, self._begun = True, False, -1
                        self._go(item, served)
                    elif isinstance(item, PendingCall):
                        self._begun = served  # it may do steps: who waits for a frame gets one meanwhile
                        fresh = item.run(before_answer=self._publish) or fresh
                    else:
                        edited, fresh, self._begun = True, False, -1
                        self.run.do(item[0], gesture=item[1])
            finally:
                try:
                    if edited and not fresh:  # an edit waits, for whoever reads, until a frame holds it
                        self._publish()
                finally:
                    self._begun = 0
                    for _ in range(served):
                        self._waiting.popleft()

    def _answer(self, request: FrameRequest, fresh: bool) -> bool:
        """Give it the numbers of now; returns whether the latest are."""
        if request.done:
            return fresh
        try:
            if not fresh or (request.state and not self.latest.state):
                self._publish(request.state)
        except BaseException as error:  # it belongs to whoever asked
            request.fail(error)
            return False
        request.give(self.latest)
        return True

    # ---- frames in the middle of something

    def _first(self) -> list[FrameRequest]:
        """Those that wait for a frame and for nothing else before it."""
        if len(self._waiting) <= self._begun or self._begun < 0:
            return []
        found: list[FrameRequest] = []
        for item in list(self._waiting)[self._begun :]:
            if not isinstance(item, FrameRequest):
                break
            if not item.done:
                found.append(item)
        return found

    def answer(self) -> None:
        """Between two calls of the engine, in steps that another thread asked for: who waits for a frame gets one."""
        fresh = False
        for request in self._first():
            fresh = self._answer(request, fresh)

    def _readback(self) -> Readback | None:
        """The engine asks, in its thread and in the middle of a call, whether anybody waits who is new."""
        new = [request for request in self._first() if not (request.known_to_engine or request.state)]
        for request in new:
            request.known_to_engine = True
        return _Readback(self, new) if new else None

    # ---- the thread

    def _loop(self) -> None:
        while True:
            with self._condition:
                self._resting = True
                self._condition.notify_all()
            self._prepare()
            with self._condition:
                self._condition.wait_for(self._has_work)
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
                    self.stopped = self.run.stopped_by
                    self._publish()  # where it comes to rest is always shown
            except BaseException as error:  # whatever it is, the viewer shows it; the thread stays for edits
                said = error if isinstance(error, Exception) else StateError(f"{error!r} in the training thread")
                try:
                    with suppress(MemoryError):  # then the last frame stays
                        self._publish()
                finally:
                    self.error = said  # not before the numbers of its moment are there

    def _has_work(self) -> bool:
        return bool(self._closing or self._waiting or self.busy)

    def _after_call(self, run: Run) -> bool:
        self._boundary()
        return not self._closing and run.steps < self._target


@dataclass
class _Readback:
    """Some requests that an engine was told of."""

    worker: Worker
    requests: list[FrameRequest]

    def give(self, now: Midway) -> None:
        """The engine gives numbers to those that nobody has answered yet."""
        requests = [request for request in self.requests if not request.done]
        if requests:
            frame = self.worker.latest = frame_now(self.worker.run, midway=now)
            for request in requests:
                request.give(frame)
