"""What one thread asks of another that trains: a call of a function, and a frame."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any

from numpy.typing import NDArray

from ...errors import StateError
from ..checks import not_negative
from .frame import Frame

LOOK = 0.1
"""Seconds between two looks of a thread that waits at whether the one that is to answer is still there."""


class AskedCall(Future[Any]):
    """A function without arguments that another thread is to call; until that has begun, it can be cancelled."""

    def __init__(self, function: Callable[[], Any]) -> None:
        super().__init__()
        self._function = function

    def run(self, before_answer: Callable[[], object] = lambda: None) -> bool:
        """Call the function, in this thread, then `before_answer`; then whoever asked gets the result or error.

        False: it was cancelled, and nothing is called.
        """
        if not self.set_running_or_notify_cancel():
            return False
        error: BaseException | None = None
        try:
            try:
                result = self._function()
            except BaseException as raised:  # it belongs to whoever asked
                error = raised
            before_answer()
        finally:
            if error is None:
                self.set_result(result)
            else:
                self.set_exception(error)
                del error  # it holds this frame
        return True


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
        self._came: Future[Frame] = Future()
        self._making = threading.Lock()
        self._made: Frame | None = None
        self.told = False

    @classmethod
    def of(cls, frame: Frame) -> FrameRequest:
        """A request that has its frame already."""
        request = cls()
        request.give(frame)
        return request

    def __repr__(self) -> str:
        came = "waiting" if not self.done else "done" if self._came.exception() is None else "failed"
        return f"<FrameRequest {came}>"

    @property
    def done(self) -> bool:
        """Whether the frame, or an error, is there; never waits."""
        return self._came.done()

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
        while not self.done:
            if self._see_to is not None:
                self._see_to(self)
            left = LOOK if end is None else min(LOOK, end - time.monotonic())
            with suppress(TimeoutError):
                self._came.exception(max(0.0, left))
            if left <= 0.0 and not self.done:
                raise StateError(
                    f"no frame came within {timeout:g} s: the engine is in the middle of a call; wait longer"
                )
        try:
            return self._with_rows()
        finally:
            del self  # an error holds this frame

    def __await__(self) -> Generator[Any, Any, Frame]:
        """The frame, under asyncio: the loop goes on meanwhile."""
        return self._awaited().__await__()

    async def _awaited(self) -> Frame:
        import asyncio

        await asyncio.shield(asyncio.wrap_future(self._came))  # whoever stops waiting does not cancel it
        return await asyncio.get_running_loop().run_in_executor(None, self._with_rows)  # it may take a forward pass

    def _with_rows(self) -> Frame:
        """The frame, with the activations of the sample; these are computed for whoever comes first."""
        frame, sample = self._came.result(), self._sample
        if sample is None or frame.forward is None:
            return frame
        with self._making:
            if self._made is None:
                self._made = frame.with_activations(frame.forward.activations(sample, frame.exact))
            return self._made

    def give(self, frame: Frame) -> None:
        """Here it is; who was answered before keeps what it has."""
        self._see_to = None
        with suppress(InvalidStateError):
            self._came.set_result(frame)

    def fail(self, error: BaseException) -> None:
        """There will be none, and this is why."""
        self._see_to = None
        with suppress(InvalidStateError):
            self._came.set_exception(error)
