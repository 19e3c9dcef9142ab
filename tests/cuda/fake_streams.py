"""Queues of a fake GPU: work waits until somebody synchronises or asks, so that a missing synchronisation shows."""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from ptx.memory import Fault

_NUMBERS = itertools.count(0x5550_0000, 0x10)


class Handle:
    """Something that the driver knows by a number."""

    def __init__(self, context: Any) -> None:
        self.number, self.context = next(_NUMBERS), context


class Event(Handle):
    """A mark in a stream. ``asked`` records so far, ``done`` of them reached."""

    def __init__(self, context: Any, timed: bool) -> None:
        super().__init__(context)
        self.timed, self.asked, self.done = timed, 0, 0
        self.stream: Stream | None = None
        self.time = 0.0

    def reach(self, ticket: int) -> None:
        self.done, self.time = max(self.done, ticket), time.perf_counter()

    def drive(self, ticket: int) -> None:
        """Let its stream work until the mark is reached."""
        while self.done < ticket:
            if self.stream is None or not self.stream.step():
                raise Fault("an event is waited for that nobody will reach")


class Stream(Handle):
    """Work in order. While it captures, work goes into a graph instead."""

    def __init__(self, context: Any, blocking: bool) -> None:
        super().__init__(context)
        self.blocking = blocking
        self.queue: deque[tuple[Callable[[], None], range]] = deque()
        self.capture: list[Callable[[], None]] | None = None
        self.capture_thread: int | None = None
        self.spoiled = False  # a call in between that a capture does not allow

    def put(self, work: Callable[[], None], host: range = range(0)) -> None:
        """Queue work; `host` are the addresses of host memory that it will use."""
        if self.capture is not None:
            self.capture.append(work)
        else:
            self.queue.append((work, host))

    def step(self) -> bool:
        """Do the first piece of work; False if there was none."""
        if not self.queue:
            return False
        work, _ = self.queue.popleft()
        work()
        return True

    def drain(self) -> None:
        while self.step():
            pass

    def record(self, event: Event) -> None:
        event.asked += 1
        event.stream, ticket = self, event.asked
        self.put(lambda: event.reach(ticket))

    def wait(self, event: Event) -> None:
        ticket = event.asked
        if ticket:
            self.put(lambda: event.drive(ticket))


class Graph(Handle):
    """What was captured, or (``ready``) what can be launched."""

    def __init__(self, context: Any, work: list[Callable[[], None]], ready: bool = False) -> None:
        super().__init__(context)
        self.work, self.ready = list(work), ready

    def run(self) -> None:
        for piece in self.work:
            piece()
