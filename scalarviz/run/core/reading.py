"""`Reading`: what was read off a run at one moment, of which a frame is made; and what another thread asks for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.data import Data
from ...errors import StateError
from ..checks import not_negative
from .forward import Forward
from .frame import BoolArray, Curve, Frame, Past
from .loss_scale import float16_weights
from .setup import Setup

Found = tuple[Mapping[str, NDArray[Any]], Mapping[str, NDArray[Any]]]


class Units:
    """Finds dead and saturated units of one moment, both at the first look, as of a Frame.

    It takes a forward pass of some samples, two steps of a large network: nobody pays who does not look.
    `data` is never written to; `samples` and `seconds` are 0 as long as nobody has looked.
    """

    def __init__(self, forward: Forward, values: NDArray[Any], data: Data, step: int) -> None:
        self.step, self.samples, self.seconds = step, 0, 0.0
        self.dead: Mapping[str, NDArray[np.bool_]] = _Part(self, 0)
        self.saturated: Mapping[str, NDArray[np.floating]] = _Part(self, 1)
        self._asked: tuple[Forward, NDArray[Any], Data] | None = (forward, values, data)
        self._found: Found = ({}, {})
        self._finding = threading.Lock()

    def found(self) -> Found:
        """Dead and saturated units; any thread may ask."""
        with self._finding:
            if self._asked is not None:
                forward, values, data = self._asked
                start = perf_counter()
                with np.errstate(invalid="ignore", over="ignore"):  # a diverged run holds infinities
                    self._found = forward.units(values, data)
                self.samples = forward.watched(data)
                self.seconds = perf_counter() - start
                self._asked = None  # old data is let go of
            return self._found


class _Part(Mapping[str, NDArray[Any]]):
    """One of the two, as a mapping. Copies and pickles are plain dictionaries."""

    def __init__(self, units: Units, which: int) -> None:
        self._units, self._which = units, which

    def __getitem__(self, stage: str) -> NDArray[Any]:
        return self._units.found()[self._which][stage]

    def __iter__(self) -> Iterator[str]:
        return iter(self._units.found()[self._which])

    def __len__(self) -> int:
        return len(self._units.found()[self._which])

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


# ---- `Reading`: what was read off a run at one moment. The frame is made of it when somebody wants to see it
#
# Copying numbers takes a moment, and the thread that trains does it. What a frame holds beside them takes a forward
# pass, and is made once, in the thread of whoever asks first: the rows of a sample with the frame, dead and saturated
# units when they are looked at.


@dataclass(slots=True, eq=False)
class Reading:
    """Numbers of one moment, copies; those of the same names are as in :class:`~scalarviz.run.core.frame.Frame`.

    `previous` (P,) are the values before the step. `update` (P,) is there where it is not the difference:
    weights were set from outside since. `curve` goes up to the last call of the engine; `more` and `rates`
    are losses and learning rates of the steps since then, of the call that the moment lies in. `half`: the
    network computes with these values rounded to float16. `state` is None where nobody asked for it.
    """

    step: int
    loss: float
    lr: float
    values: NDArray[Any]
    gradient: NDArray[Any]
    previous: NDArray[Any]
    update: NDArray[Any] | None
    computed: BoolArray
    frozen: BoolArray
    curve: Curve
    edited: bool
    next_lr: float
    data: Data
    forward: Forward
    settings: Setup
    half: bool = False
    past: Past | None = None
    stopped_by: str = ""
    state: Mapping[str, NDArray[Any]] | None = None
    more: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    rates: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    _making: threading.Lock = field(default_factory=threading.Lock)
    _frame: Frame | None = None

    def frame(self) -> Frame:
        """The frame of the moment, always the same one; any thread may ask."""
        with self._making:
            if self._frame is None:
                self._frame = self._made()
            return self._frame

    def _made(self) -> Frame:
        with np.errstate(invalid="ignore", over="ignore"):  # a diverged run holds infinities
            update = self.values - self.previous if self.update is None else self.update.copy()
        units = Units(self.forward, self.values, self.data, self.step)
        curve = self._whole_curve()
        past = self.past
        if past is not None and self.step > past.newest:  # read in the middle of a call
            past = replace(past, newest=self.step, curve=curve)
        return Frame(
            step=self.step,
            loss=self.loss,
            lr=self.lr,
            values=float16_weights(self.values, self.forward.tensors) if self.half else self.values,
            master=self.values if self.half else None,
            gradient=self.gradient,
            update=update,
            computed=self.computed,
            frozen=self.frozen,
            dead=units.dead,
            saturated=units.saturated,
            units=units,
            curve=curve,
            past=past,
            edited=self.edited,
            next_lr=self.next_lr,
            forward=self.forward,
            settings=self.settings,
            data=self.data,
            stopped_by=self.stopped_by,
            state=self.state or {},
        )

    def _whole_curve(self) -> Curve:
        count, before = len(self.more), self.curve
        if not count:
            return before
        steps = np.arange(self.step - count + 1, self.step + 1)
        if len(before.step) and before.step[-1] != steps[0] - 1:  # they do not follow: a line of its own
            return Curve(steps, self.more, self.rates)
        return Curve(
            np.concatenate([before.step, steps]),
            np.concatenate([before.loss, self.more]),
            np.concatenate([before.lr, self.rates]),
        )


# ---- `AskedCall`: a function that another thread wants to be called


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
