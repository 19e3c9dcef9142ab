"""`Shown`: what stands behind one live cell: session, channel and still. Knows no notebook and no widget."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Any
from uuid import uuid4

from ...errors import StateError
from ...run.run import Run
from ...run.scene import Scene
from ..shown.subject import Subject, subject_of
from ..watch.live import LiveView
from ..watch.viewer import Viewer
from .channel import RATE, Channel
from .play import BENCH, Play
from .session import Session
from .snapshot import Snapshot
from .still import Still

STEPS, DURATION = 3000, 20.0
"""Where a run pauses for the first time, and the seconds that it takes to get there."""


class Shown:
    """One cell.

    Parameters
    ----------
    x : object
        What ``sv.live`` was given.
    size : (int, int)
        Pixels of the picture.
    hide : collection of str
    controls : bool
    esm, css : str
        What the browser runs.

    Attributes
    ----------
    post : callable
        ``post(content, buffers)``: to every place that shows it.
    session : Session
    still : Still
    about : dict
        What the browser is told once.
    """

    def __init__(
        self, x: Any, size: tuple[int, int], hide: Collection[str], controls: bool, esm: str, css: str
    ) -> None:
        self.scene = x if isinstance(x, Scene) else Scene("run", x) if isinstance(x, Run) else None
        self.title = self.scene.name if self.scene is not None else type(x).__name__.lower()
        self.esm, self.css, self.size, self.hide, self.controls = esm, css, size, frozenset(hide), controls
        self.post: Callable[[dict[str, object], list[bytes]], None] = lambda content, buffers: None
        self.subject: Subject = subject_of(x)
        name = f"scalarviz-still-{uuid4().hex[:12]}"
        self.still = Still(name, self.title, size)
        self.about: dict[str, object] = {"title": self.title, "still": name, "size": list(size),
                                         "controls": controls, "trains": self.scene is not None}  # fmt: skip
        self.channel = Channel(self._send)
        run = None if self.scene is None else self.scene.run
        self._looked = 0.0
        self.session = Session(self._play, self.channel, run, self._kept)

    def _send(self, content: dict[str, object], buffers: list[bytes]) -> None:
        self.post(content, buffers)

    def _play(self) -> Play:
        return Play(self._viewer(), self.hide, self.controls)

    def _viewer(self) -> Viewer:
        if self.scene is not None:
            return LiveView(self.scene, BENCH, steps=STEPS, duration=DURATION, wait=None)
        return Snapshot(self.subject, BENCH)

    def _kept(self, play: Play) -> None:
        self.still.draw(play.viewer.bench.subject, play.whole)
        self.still.renew()

    # ---- what happens to it

    def appear(self) -> None:
        """It is put into a notebook: the still is that of now."""
        self.still.draw(self.subject, self.subject.frame())

    def hear(self, said: object) -> None:
        """A message of the browser; this may be any thread, and waits for nothing."""
        if not isinstance(said, dict):
            return
        kind, place = said.get("kind"), said.get("place")
        known = isinstance(place, str) and 0 < len(place) <= 64
        if kind == "drawn":
            if known and isinstance(said.get("number"), int):
                self.channel.answered(place, said["number"])  # type: ignore[arg-type]
                self.session.wake()
        elif kind == "gone":
            if known:
                self.channel.gone(place)  # type: ignore[arg-type]
        elif self.session.closed:
            self.channel.tell({"kind": "over", "why": "closed"})
        elif kind == "ready":
            if known:
                self.still.theme = "dark" if said.get("theme") == "dark" else "light"
                self.channel.ready(place)  # type: ignore[arg-type]
                self.session.begin()
        else:
            self.session.begin()
            self.session.put(said)

    def act(self, name: str, value: int | None = None) -> None:
        """Do an action, and wait until it is done.

        Raises
        ------
        UnknownNameError, InputError, TypeMismatchError
            There is no such action, it does not take the value, or this cell leaves it out.
        StateError
            The cell is closed.
        """
        self.session.call(lambda play: play.do({"kind": "do", "name": name, "value": value}))

    def update(self, *, loss: object = None, step: object = None, lr: object = None) -> None:
        """Show the numbers of now.

        Raises
        ------
        InputError, TypeMismatchError
            No numbers.
        StateError
            What is shown is a Run or Scene, which knows them itself; or the cell is closed.
        """
        if self.session.closed:
            raise StateError("update: this cell is closed; run it again")
        told = not (loss is None and step is None and lr is None)
        if told:
            self.subject.source.tell(step=step, loss=loss, lr=lr)
        self.look(rarely=True)

    def look(self, *, rarely: bool = False) -> None:
        """Take over the numbers of now, while whoever changes them waits; `rarely`: if that was not done just now."""
        now = time.monotonic()
        if self.session.alive and self.scene is None and not (rarely and now - self._looked < 1.0 / RATE):
            self._looked = now
            self.session.call(lambda play: play.look())

    def close(self) -> None:
        """End it."""
        self.session.close()
