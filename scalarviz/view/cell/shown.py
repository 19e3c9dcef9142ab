"""`Shown`: the thread, the channel and the still of one live cell, independent of notebooks and widgets."""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Collection
from concurrent.futures import wait
from contextlib import suppress
from dataclasses import replace
from typing import Any
from uuid import uuid4

from ...errors import InputError, ScalarvizError, StateError
from ...run.frames import PendingCall
from ...run.run import Run
from ...run.scene.scene import Scene
from ...run.sources.recorded_pair import RecordedPair
from ...run.sources.watched import Pace, Watched
from ..shown.subject import Subject, subject_of
from ..watch.host import TICK
from ..watch.live import LiveView
from ..watch.viewer import Viewer, bench_of
from .channel import RATE, Channel
from .play import PicturePlay, Play, Snapshot
from .saved import StillOutput

AWAY = 300.0  # seconds after which an unseen cell of pictures ends its thread
DURATION = 20.0
"""Seconds of a run until its first pause."""
PLACES = ("ready", "drawn", "here", "gone")  # messages of a place about itself
ASLEEP = 60.0  # seconds without any message after which an idle cell ends its thread
LEFT = 5.0
"""Seconds from the last place's leaving to the end of the thread: reloading the page takes less."""
QUEUE = 256  # most waiting messages; beyond that the oldest are dropped
BETWEEN = 3 * TICK
"""Seconds between two ticks while no frame may be sent."""
STOPS = 10.0  # seconds that a close waits for the thread

_taking = threading.Lock()
_open: weakref.WeakSet[Shown] = weakref.WeakSet()
_by_run: weakref.WeakKeyDictionary[Any, weakref.ref[Shown]] = weakref.WeakKeyDictionary()


class Shown:
    """One cell: the argument of ``sv.live`` in a picture of `size` pixels, sent as numbers or as `pictures`.

    One thread owns its viewer: it advances time, handles messages of the browser, and offers frames. Only one cell
    trains a run at a time: the last one.

    Attributes
    ----------
    post : callable
        ``post(content, buffers)`` sends to all places that show the cell.
    about : dict
        Data that the browser gets once.
    watched : Watched or None
        The model of another library, if the cell shows one.
    closed : bool
        Whether it was closed for good; otherwise a cell without a thread only sleeps.
    left : float
        Seconds from the last place's leaving to the end of the thread.
    error : str
        The error that ended the thread or prevented its start.
    """

    def __init__(
        self, x: Any, size: tuple[int, int], hide: Collection[str] = (), controls: bool = True, *,
        pictures: bool = False,
    ) -> None:  # fmt: skip
        self.scene = x if isinstance(x, Scene) else Scene("run", x) if isinstance(x, Run) else None
        self.title = self.scene.name if self.scene is not None else type(x).__name__.lower()
        self.size, self.hide, self.controls = size, frozenset(hide), controls
        self._room = size  # as reported by its places
        self.post: Callable[[dict[str, object], list[bytes]], None] = lambda content, buffers: None
        self.subject: Subject = subject_of(x)
        source = self.subject.source
        if isinstance(source, RecordedPair):
            raise InputError("live: got two recordings; try sv.player(first.compare(second))")
        self.watched = source if isinstance(source, Watched) else None
        if self.watched is not None:
            self.title, self.watched.pace = self.watched.name, Pace(RATE)
        self.still = StillOutput(f"scalarviz-still-{uuid4().hex[:12]}", self.title)
        self.about: dict[str, object] = {"title": self.title, "still": self.still.name, "size": list(size)}
        self.channel = Channel(self._send)
        self._pictures, self._looked = pictures, 0.0
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._waiting: deque[object] = deque(maxlen=QUEUE)
        self._calls: deque[PendingCall] = deque()
        self._thread: threading.Thread | None = None
        self._ends = self.closed = False
        # the page of pictures also counts as gone when it was scrolled away
        self.left, self.error = AWAY if pictures else LEFT, ""

    def _send(self, content: dict[str, object], buffers: list[bytes]) -> None:
        self.post(content, buffers)

    def _viewer(self, size: tuple[int, int]) -> Viewer:
        if self.scene is None:
            bench = bench_of(self.subject, size)
            return Snapshot(bench) if self.watched is None else Viewer(bench)
        scene = replace(self.scene, hide=(*self.scene.hide, *self.hide))
        return LiveView(scene, size, duration=DURATION, wait=None)

    def _update_still(self, play: Play) -> None:
        play.pass_time(0.0)  # unseen ticks computed nothing but training
        bench = play.viewer.bench
        self.still.draw(bench.subject, bench.step_drawing.whole_step_frame(play.viewer.shown), self.size)
        self.still.renew()

    # ---- events

    def appear(self) -> None:
        """Draw the still for a cell that appears."""
        self.still.draw(self.subject, self.subject.frame(), self.size)

    def hear(self, said: object) -> None:
        """Handle a message of the browser in any thread, without waiting."""
        if not isinstance(said, dict):
            return
        kind, place = said.get("kind"), said.get("place")
        place = place if isinstance(place, str) and len(place) <= 64 else ""
        if kind in PLACES and not place:
            return
        if kind == "drawn":
            if isinstance(said.get("number"), int):
                self.channel.answered(place, said["number"])
                self._wake.set()
        elif kind == "here":
            self.channel.mark_present(place)
        elif kind == "gone":
            self.channel.remove_place(place)
        elif self.closed:
            self.channel.tell({"kind": "over", "why": "closed"})
        else:
            if kind in ("ready", "look"):  # the still has the theme of the place that reported last
                self.still.theme = "dark" if said.get("theme") == "dark" else "light"
            if kind == "ready":
                self.channel.ready(place)
            self.begin()
            if kind != "ready" or "theme" in said:
                self._waiting.append({**said, "kind": "look"} if kind == "ready" else said)
                self._wake.set()

    def act(self, name: str, value: int | None = None) -> None:
        """Run an action, and wait until it is done."""
        self.call(lambda play: play.do_action(name, value))

    def update(
        self, params: object = None, grads: object = None, *,
        loss: object = None, step: object = None, lr: object = None,
    ) -> None:  # fmt: skip
        """Show the current numbers; those of another library are read as often as time allows."""
        if self.closed:
            raise StateError("update: this cell is closed; run it again")
        if self.watched is not None:
            if self.watched.update(params, grads, loss=loss, step=step, lr=lr):
                self._wake.set()
            return
        if params is not None or grads is not None:
            raise InputError("update: got params or grads; the arrays shown are read in place: try update(loss=loss)")
        if not (loss is None and step is None and lr is None):
            self.subject.source.tell(step=step, loss=loss, lr=lr)
        self.look(rarely=True)

    def look(self, *, rarely: bool = False) -> None:
        """Read the current numbers while their owner waits; with `rarely`, not if that was done just now."""
        now = time.monotonic()
        if self.watched is not None:
            self.watched.look_at_rest()
        if self.alive and self.scene is None and not (rarely and now - self._looked < 1.0 / RATE):
            self._looked = now
            self.call(lambda play: play.look())

    # ---- calls from other threads

    @property
    def alive(self) -> bool:
        """True while the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def begin(self) -> None:
        """Start the thread if there is none, without waiting."""
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

    def call(self, function: Callable[[Play], Any], timeout: float = STOPS) -> Any:
        """Call ``function(play)`` in the thread, which is started if needed; return its result or raise its error."""
        if threading.current_thread() is self._thread:
            raise StateError("a cell's own thread cannot wait for the cell")
        self.begin()
        asked = PendingCall(lambda: function(self._play))
        self._calls.append(asked)
        self._wake.set()
        if not wait([asked], timeout).done:
            asked.cancel()
            raise StateError(f"the cell did not answer within {timeout:g} s" + (f": {self.error}" * bool(self.error)))
        return asked.result()

    def close(self, timeout: float = STOPS, why: str = "closed") -> None:
        """Stop training and end the thread for good; the run is free again."""
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
            self._replace_others(former)
            kind = PicturePlay if self._pictures else Play
            self._play = kind(self._viewer, self._room, self.hide, self.controls, self.channel.tell, self.title)
            self._waiting.appendleft({"kind": "look", "theme": self.still.theme})
        except Exception as error:  # reported in the cell: nothing else catches it
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
            with suppress(Exception), self._play.drawing:  # the run must be released
                self._update_still(self._play)
            self._room = self._play.size
            try:
                self._play.viewer.close()
            except ScalarvizError as error:
                self.error = str(error)
            del self._play
            self._refuse()

    def _replace_others(self, former: threading.Thread | None) -> None:
        """Wait for the previous thread; stop another cell that trains the same run."""
        if former is not None:
            former.join(STOPS)
        if self.scene is not None:
            with _taking:
                before = _by_run.get(self.scene.run)
                other = None if before is None else before()
                _by_run[self.scene.run] = weakref.ref(self)
            if other is not None and other is not self:
                other.close(why="shown by another cell now")

    def _serve(self, play: Play) -> None:
        last = time.monotonic()
        while not self._ends:
            self._wake.wait(TICK if play.moves else 4 * TICK)
            self._wake.clear()
            with play.drawing:
                while self._waiting and not self._ends:
                    play.handle_message(self._waiting.popleft())
                while self._calls:  # after the messages before them
                    self._calls.popleft().run()
                now = time.monotonic()
                if now - last < (TICK / 2 if self.channel.free else BETWEEN):
                    continue
                play.pass_time(now - last, seen=self.channel.watched)
                last = now
                if self.channel.free:
                    play.offer(self.channel)
                if play.keeps(now):
                    self._update_still(play)
            silent = self.channel.silent
            nobody = silent > self.left if not self.channel.places else silent > ASLEEP and not play.moves
            self._ends |= nobody

    def _refuse(self) -> None:
        """Fail all waiting calls."""
        self._waiting.clear()
        while self._calls:
            asked = self._calls.popleft()
            if asked.set_running_or_notify_cancel():
                asked.set_exception(StateError(self.error or "the cell was closed"))


@atexit.register
def close_all() -> None:
    """Close every cell, so that a restarted kernel leaves no working thread."""
    for shown in list(_open):
        try:
            shown.close(2.0)
        except StateError:  # another thread closes the kernel's socket now
            shown.post = lambda content, buffers: None
