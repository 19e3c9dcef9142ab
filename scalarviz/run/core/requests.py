"""`FrameRequest`: a frame that another thread waits for; `AskedCall`: a function that it wants to be called."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ...errors import StateError
from ..checks import not_negative
from .frame import Frame

if TYPE_CHECKING:
    from .reading import Reading


class AskedCall:
    """The result or error of a function without arguments, and whether it is done."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = threading.Event()

    def run(self) -> None:
        """Call the function, in this thread."""
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


# ---- `FrameRequest`: a frame that was asked for and comes when the thread that trains can give one


LOOK = 0.1
"""Seconds between two looks of a thread that waits at whether the one that is to answer is still there."""


class FrameRequest:
    """What :meth:`scalarviz.Run.request_frame` returns. Any thread may use it, and ``await`` it under asyncio.

    Requests of one moment share one frame. It is never older than the request, nor than an edit that was asked for
    before it; its numbers are all of one step.

    Parameters
    ----------
    sample : ndarray, shape (n_inputs,), optional
        Whose activations are wanted.
    see_to : callable, optional
        ``see_to(request)`` is called while somebody waits: where nobody is left to answer, it answers.
    state : bool
        Whether the optimiser's arrays are wanted.

    Attributes
    ----------
    told : bool
        Whether an engine was told of it in the middle of a call.
    """

    def __init__(
        self,
        sample: NDArray[Any] | None = None,
        see_to: Callable[[FrameRequest], object] | None = None,
        *,
        state: bool = False,
    ) -> None:
        self._sample, self._see_to, self.state = sample, see_to, state
        self._came = threading.Event()
        self._lock = threading.Lock()
        self._waking: list[Callable[[], None]] = []
        self._reading: Reading | None = None
        self._frame: Frame | None = None
        self._error: BaseException | None = None
        self.told = False

    @classmethod
    def of(cls, frame: Frame) -> FrameRequest:
        """A request that has its frame already."""
        request = cls()
        request._frame = frame
        request._came.set()
        return request

    def __repr__(self) -> str:
        came = "waiting" if not self.done else "done" if self._error is None else "failed"
        return f"<FrameRequest {came}>"

    # ---- who asked

    @property
    def done(self) -> bool:
        """Whether the frame, or an error, is there; never waits."""
        return self._came.is_set()

    def result(self, timeout: float | None = None) -> Frame:
        """The frame; waits for it, `timeout` seconds at most (None: as long as it takes).

        Raises
        ------
        StateError
            It did not come in time; it may still come, ask again.
        InputError
            A timeout that is no number of seconds.
        Exception
            Whatever kept the run from giving a frame.
        """
        end = None if timeout is None else time.monotonic() + not_negative(timeout, "result: timeout")
        while not self._came.is_set():
            if self._see_to is not None:
                self._see_to(self)
            left = LOOK if end is None else min(LOOK, end - time.monotonic())
            if not self._came.wait(max(0.0, left)) and left <= 0.0:
                raise StateError(
                    f"no frame came within {timeout:g} s: the engine is in the middle of a call; wait longer"
                )
        try:
            return self._made()
        finally:
            del self  # an error holds this frame

    def __await__(self) -> Generator[Any, Any, Frame]:
        """The frame, under asyncio: the loop goes on meanwhile."""
        return self._awaited().__await__()

    async def _awaited(self) -> Frame:
        import asyncio

        loop = asyncio.get_running_loop()
        if not self.done:
            came = loop.create_future()
            self._when_done(partial(_wake, loop, came))
            await came
        if self._frame is not None:
            return self._frame
        return await loop.run_in_executor(None, self._made)  # it may take a forward pass

    def _made(self) -> Frame:
        """The frame, made by whoever comes first."""
        with self._lock:
            if self._error is not None:
                try:
                    raise self._error.with_traceback(None)
                finally:
                    del self  # else the error would hold itself
            if self._frame is None:
                assert self._reading is not None
                frame, sample, reading = self._reading.frame(), self._sample, self._reading
                rows = {} if sample is None else reading.forward.activations(sample, reading.values)
                self._frame = frame if sample is None else frame.with_activations(rows)
                self._reading = None
            return self._frame

    # ---- who answers

    def give(self, reading: Reading) -> None:
        """Here are the numbers; who was answered before keeps what it has."""
        self._answer(reading, None)

    def fail(self, error: BaseException) -> None:
        """There will be none, and this is why."""
        self._answer(None, error)

    def _answer(self, reading: Reading | None, error: BaseException | None) -> None:
        with self._lock:
            if self._came.is_set():
                return
            self._reading, self._error, self._see_to = reading, error, None
            self._came.set()
            waking, self._waking = self._waking, []
        for wake in waking:
            wake()

    def _when_done(self, wake: Callable[[], None]) -> None:
        with self._lock:
            if not self._came.is_set():
                self._waking.append(wake)
                return
        wake()


def _wake(loop: Any, came: Any) -> None:
    """Let a loop of another thread go on; one that was closed meanwhile has nobody who waits."""
    try:
        loop.call_soon_threadsafe(lambda: None if came.done() else came.set_result(None))
    except RuntimeError:
        if not loop.is_closed():
            raise
