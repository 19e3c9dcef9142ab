"""`Session`: one thread that owns a viewer for a cell: it gives it time, does what the browser asks, offers frames.

Whoever else has something to say (the browser's messages, which arrive on a thread of the kernel's; a cell that closes
the widget) puts it into a queue and goes on. So a cell that computes or sleeps stops neither the picture nor a slider.
The thread begins when somebody looks, and ends when nobody has for a while and nothing trains; then it begins anew with
the next look.
"""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...errors import ScalarvizError, StateError
from ...run.core.reading import AskedCall
from ..watch.host import TICK
from .channel import Channel

if TYPE_CHECKING:
    from .play import Play

ASLEEP = 60.0
"""Seconds without a word from anybody after which a cell that stands still lets go of its thread."""
LEFT = 5.0
"""Seconds after the last place has said that it is gone: whoever loads the page again comes back in that time."""
QUEUE = 256
"""Messages that wait, at most; of more the oldest are dropped."""
BETWEEN = 3 * TICK
"""Seconds between two looks at what is shown while no frame may be sent: nobody would see what comes of the others."""
STOPS = 10.0
"""Seconds that a close waits for the thread."""

_taking = threading.Lock()
_open: weakref.WeakSet[Session] = weakref.WeakSet()
_by_run: weakref.WeakKeyDictionary[Any, weakref.ref[Session]] = weakref.WeakKeyDictionary()


class Session:
    """The life of one cell.

    Parameters
    ----------
    make : callable
        ``make()``: what is shown and asked (`play.Play`), made and used in the session's thread.
    channel : Channel
    run : Run or None
        What it trains: only one cell at a time does, the last one.
    kept : callable
        ``kept(play)``: called in the thread when the picture of the saved notebook is to be renewed.

    Attributes
    ----------
    closed : bool
        Whether it was closed for good; else it only sleeps where it has no thread.
    left : float or None
        Seconds after the last place was gone until its thread ends; None: the usual ones.
    error : str
        What ended it, or kept it from beginning.
    """

    def __init__(
        self, make: Callable[[], Play], channel: Channel, run: object | None, kept: Callable[[Play], object]
    ) -> None:
        self._make, self.channel, self._run, self._keep = make, channel, run, kept
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._waiting: deque[object] = deque(maxlen=QUEUE)
        self._calls: deque[AskedCall] = deque()
        self._thread: threading.Thread | None = None
        self._ends = self.closed = False
        self.left: float | None = None
        self.error = ""

    # ---- from other threads

    @property
    def alive(self) -> bool:
        """Whether its thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def begin(self) -> None:
        """Start the thread, if there is none. Waits for nothing.

        Raises
        ------
        StateError
            It was closed.
        """
        with self._lock:
            if self.closed:
                raise StateError("this cell is closed; run it again")
            if self.alive and not self._ends:
                return
            self._ends = False
            former = self._thread
            self._thread = threading.Thread(target=self._loop, args=(former,), name="scalarviz-cell", daemon=True)
            _open.add(self)
            self._thread.start()

    def put(self, asked: object) -> None:
        """A message came: it is done soon, in its order."""
        self._waiting.append(asked)
        self._wake.set()

    def wake(self) -> None:
        """Something happened that may let a frame go."""
        self._wake.set()

    def call(self, function: Callable[[Play], Any], timeout: float = STOPS) -> Any:
        """What ``function(play)`` returns or raises, called in the session's thread; begins it if need be.

        Raises
        ------
        StateError
            It was not done within `timeout` seconds.
        """
        if threading.current_thread() is self._thread:
            raise StateError("a cell cannot wait for itself")
        self.begin()
        asked = AskedCall(lambda: function(self._play))
        self._calls.append(asked)
        self._wake.set()
        if not asked.done.wait(timeout):
            asked.forget()
            raise StateError(f"the cell did not answer within {timeout:g} s" + (f": {self.error}" * bool(self.error)))
        return asked.answer()

    def close(self, timeout: float = STOPS, why: str = "closed") -> None:
        """Stop training and end the thread, for good; the run is free again.

        Raises
        ------
        StateError
            The engine did not come back within `timeout` seconds.
        """
        with self._lock:
            thread, was, self.closed, self._ends = self._thread, self.closed, True, True
        self._wake.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)
            if thread.is_alive():
                raise StateError(f"the cell's thread did not stop within {timeout:g} s; it ends with the process")
        _open.discard(self)
        if not was:
            self.channel.tell({"kind": "over", "why": why})

    # ---- the thread

    def _loop(self, former: threading.Thread | None) -> None:
        try:
            self._take_over(former)
            self._play = self._make()
        except Exception as error:  # it is said in the cell: nobody is there to catch it
            self.error = str(error) or type(error).__name__
            self.channel.tell({"kind": "trouble", "why": self.error})
            self._refuse()
            return
        self.error = ""
        try:
            self._serve(self._play)
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"
            self.channel.tell({"kind": "trouble", "why": self.error})
        finally:
            self._ends = True
            with suppress(Exception):  # whatever a picture may lack here: the run has to be let go
                self._keep(self._play)
            try:
                self._play.close()
            except ScalarvizError as error:
                self.error = str(error)
            del self._play
            self._refuse()

    def _take_over(self, former: threading.Thread | None) -> None:
        """Wait for the thread before this one; another cell that trains the same run stops."""
        if former is not None:
            former.join(STOPS)
        if self._run is not None:
            with _taking:
                before = _by_run.get(self._run)
                other = None if before is None else before()
                _by_run[self._run] = weakref.ref(self)
            if other is not None and other is not self:
                other.close(why="shown by another cell now")

    def _serve(self, play: Play) -> None:
        last = time.monotonic()
        while not self._ends:
            self._wake.wait(TICK if play.moves else 4 * TICK)
            self._wake.clear()
            while self._waiting and not self._ends:
                play.take(self._waiting.popleft())
            while self._calls:  # after what was said before them
                asked = self._calls.popleft()
                asked.run()
                asked.done.set()
            now = time.monotonic()
            if now - last < (TICK / 2 if self.channel.free else BETWEEN):
                continue
            play.pass_time(now - last, seen=self.channel.watched)
            last = now
            if self.channel.free:
                play.offer(self.channel)
            if play.keeps(now):
                self._keep(play)
            self._ends |= self._left(play)

    def _left(self, play: Play) -> bool:
        """Whether there is nobody to go on for."""
        silent = self.channel.silent
        left = LEFT if self.left is None else self.left
        return silent > left if not self.channel.places else silent > ASLEEP and not play.moves

    def _refuse(self) -> None:
        """Whoever still waits is told that there is nobody."""
        self._waiting.clear()
        while self._calls:
            asked = self._calls.popleft()
            asked.error = StateError(self.error or "the cell was closed")
            asked.done.set()


@atexit.register
def close_all() -> None:
    """End every cell: a kernel that is restarted leaves no thread in the middle of something."""
    for session in list(_open):
        try:
            session.close(2.0)
        except StateError:  # from now on the kernel's socket is closed by another thread
            session.channel.mute()
