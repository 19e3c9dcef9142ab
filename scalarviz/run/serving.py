"""`Serving`: the part of a worker that does what waits, in its order, in the thread that trains.

Edits, calls and requests for frames stand in one queue. Between two calls of the engine all of them are done. Requests
that have nothing to wait for but steps are answered in the middle of these as well: between two calls that another
thread asked for, and inside a call by an engine that can (see `scalarviz.engine.problem`).
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from ..engine.problem import Midway, Readback
from .asked_call import AskedCall
from .journeys import Journey, Journeys
from .requests import FrameRequest
from .weights_gate import Item, WeightsGate

if TYPE_CHECKING:
    from .run import Run


class Serving(WeightsGate, Journeys):
    """The queue of a worker.

    Parameters
    ----------
    run : Run

    Attributes
    ----------
    state_wanted : bool
        Whether whoever watches wants the optimiser's arrays in every frame, in those that edits leave too.
    """

    state_wanted = False

    def __init__(self, run: Run) -> None:
        self.run = run
        self._waiting: deque[Item] = deque()
        self._begun = 0  # of those that wait, the first so many; -1 in the middle of an edit
        self._serving = threading.RLock()
        self._latest = run._reading()

    def _publish(self, state: bool = False) -> None:
        self._latest = self.run._reading(state or self.state_wanted)

    def _boundary(self) -> None:
        """Do what waits, in order."""
        with self._serving:
            served, edited, fresh = 0, False, False  # fresh: the latest reading is of now
            try:
                while served < len(self._waiting):
                    item, served = self._waiting[served], served + 1
                    if isinstance(item, FrameRequest):
                        fresh = self._answer(item, fresh)
                    elif isinstance(item, Journey):
                        edited, fresh, self._begun = True, False, -1
                        self._go(item, served)
                    elif isinstance(item, AskedCall):
                        self._call(item, served)
                        fresh = True
                    else:
                        edited, fresh, self._begun = True, False, -1
                        self.run.do(item[0], gesture=item[1])
            finally:
                try:
                    if edited and not fresh:  # an edit waits, for whoever reads, until a reading holds it
                        self._publish()
                finally:
                    self._begun = 0
                    for _ in range(served):
                        self._waiting.popleft()

    def _call(self, asked: AskedCall, begun: int) -> None:
        self._begun = begun  # it may do steps: whoever waits for a frame does not wait for all of them
        asked.run()
        try:
            self._publish()  # before its asker looks
        finally:
            asked.done.set()

    def _answer(self, request: FrameRequest, fresh: bool) -> bool:
        """Give it the numbers of now; returns whether the latest are."""
        if request.done:
            return fresh
        try:
            if not fresh or (request.state and self._latest.state is None):
                self._publish(request.state)
        except BaseException as error:  # it belongs to whoever asked
            request.fail(error)
            return False
        request.give(self._latest)
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
        new = [request for request in self._first() if not (request.told or request.state)]
        for request in new:
            request.told = True
        return _Readback(self, new) if new else None

    def _read_midway(self, requests: list[FrameRequest], now: Midway) -> None:
        """The engine gives numbers to those that nobody has answered yet."""
        requests = [request for request in requests if not request.done]
        if not requests:
            return
        self._latest = self.run._reading_midway(now)
        for request in requests:
            request.give(self._latest)


class _Readback:
    """Some requests that an engine was told of."""

    def __init__(self, serving: Serving, requests: list[FrameRequest]) -> None:
        self._serving, self._requests = serving, requests

    def give(self, now: Midway) -> None:
        """See :class:`scalarviz.engine.problem.Readback`."""
        self._serving._read_midway(self._requests, now)
