"""`Following`: looks, in a thread of its own, whether a recording that is still being written has more."""

from __future__ import annotations

import threading
import time

from ...errors import ScalarvizError
from .recorded import Recorded

PAUSE = 0.5
"""Seconds between two looks."""
SHARE = 10
"""A look that takes long is followed by a pause that is so many times as long: it takes time from others."""


class Following:
    """What was written since, for whoever asks now and then.

    Parameters
    ----------
    record : Recorded
        As it was first; it holds its moment no longer (`Recorded.release`), nor do those that are found: a window may
        be open for days. Whoever opened it closes it.

    Attributes
    ----------
    ended : str
        Why nothing more will come, in words; empty while something may.
    """

    def __init__(self, record: Recorded) -> None:
        record.release()
        self._own = record.on(record.branch)
        self._found: Recorded | None = None
        self.ended = ""
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._loop, name="scalarviz-following", daemon=True)
        self._thread.start()

    def take(self) -> Recorded | None:
        """The newest that was found and that nobody has taken, to be closed by whoever takes it."""
        with self._lock:
            found, self._found = self._found, None
        return found

    def close(self) -> None:
        """Look no more."""
        self._stop.set()
        self._thread.join()
        left = self.take()
        if left is not None:
            left.close()

    # ---- the thread

    def _loop(self) -> None:
        pause = PAUSE
        while not self._stop.wait(pause) and not self.ended:
            begun = time.perf_counter()
            try:
                self.ended = self._look()
            except ScalarvizError as error:  # it was removed, say
                self.ended = str(error)
            pause = max(PAUSE, SHARE * (time.perf_counter() - begun))
        self._own.close()

    def _look(self) -> str:
        """Look once; returns why nothing more may come."""
        lives = self._own.growing  # before it is read: then what was written last is read, too
        newer = self._own.newer()
        if newer is not None:
            newer.release()
            self._own.close()
            self._own = newer.on(newer.branch)
            with self._lock:
                former, self._found = self._found, newer
            if former is not None:
                former.close()
        if self._own.complete:
            return "the recording is complete"
        return "" if lives else "the program that recorded it has ended without closing it"
