"""`Shown`: what stands behind one live cell: session, channel and still. Knows no notebook and no widget."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any
from uuid import uuid4

from ...errors import InputError, StateError
from ...run.run import Run
from ...run.scene.scene import SIDES, Scene
from ...run.sources.watched.watched import Pace, Watched
from ..shown.subject import Subject, subject_of
from ..watch.live import LiveView
from ..watch.mirror import Mirror
from ..watch.viewer import Viewer
from .channel import RATE, Channel
from .offered import keys_of
from .pictures import PicturePlay
from .play import BENCH, Play
from .session import Session
from .snapshot import Snapshot
from .still import Still

HEAD = 64
"""Pixels above the cubes, for step and loss."""
AWAY = 300.0
"""Seconds after which pictures that nobody sees are let go of."""
STEPS, DURATION = 3000, 20.0
"""Where a run pauses for the first time, and the seconds that it takes to get there."""


PLACES = ("ready", "drawn", "here", "gone")
"""What a place may say of itself."""


def known_place(given: object) -> str | None:
    """The name of a place in the notebook; None for what is none."""
    return given if isinstance(given, str) and 0 < len(given) <= 64 else None


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
    pictures : bool
        Whether pictures are sent; else numbers.

    Attributes
    ----------
    post : callable
        ``post(content, buffers)``: to every place that shows it.
    session : Session
    still : Still
    about : dict
        What the browser is told once.
    watched : Watched or None
        What another library trains, where that is shown.
    """

    def __init__(
        self,
        x: Any,
        size: tuple[int, int],
        hide: Collection[str],
        controls: bool,
        esm: str,
        css: str,
        pictures: bool = False,
    ) -> None:
        self.scene = x if isinstance(x, Scene) else Scene("run", x) if isinstance(x, Run) else None
        self.title = self.scene.name if self.scene is not None else type(x).__name__.lower()
        self.esm, self.css, self.size, self.hide, self.controls = esm, css, size, frozenset(hide), controls
        self.post: Callable[[dict[str, object], list[bytes]], None] = lambda content, buffers: None
        self.subject: Subject = subject_of(x)
        source = self.subject.source
        self.watched = source if isinstance(source, Watched) else None
        if self.watched is not None:
            self.title, self.watched.pace = self.watched.name, Pace(RATE)
        self._cubes = size[0], max(size[1] - HEAD, SIDES[0])
        name = f"scalarviz-still-{uuid4().hex[:12]}"
        self.still = Still(name, self.title, size)
        self.about: dict[str, object] = {"title": self.title, "still": name, "size": list(size),
                                         "controls": controls, "trains": self.scene is not None,
                                         "keys": keys_of(self.hide)}  # fmt: skip
        self.channel = Channel(self._send)
        run = None if self.scene is None else self.scene.run
        self._pictures, self._looked = pictures, 0.0
        self.session = Session(self._play, self.channel, run, self._kept)
        if pictures:  # its page is as much gone where it was scrolled away
            self.session.left = AWAY

    def _send(self, content: dict[str, object], buffers: list[bytes]) -> None:
        self.post(content, buffers)

    def _play(self) -> Play:
        if self._pictures:
            return PicturePlay(self._viewer, self.size, self.hide)
        return Play(self._viewer(BENCH), self.hide, self.controls, self._cubes, self.title)

    def _viewer(self, size: tuple[int, int]) -> Viewer:
        if self.scene is None:
            return Snapshot(self.subject, size) if self.watched is None else Mirror(self.subject, size)
        scene = replace(self.scene, hide=(*self.scene.hide, *self.hide))
        return LiveView(scene, size, steps=STEPS, duration=DURATION, wait=None)

    def _kept(self, play: Play) -> None:
        play.pass_time(0.0)  # while nobody looked nothing was worked out
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
        kind, place = said.get("kind"), known_place(said.get("place"))
        if kind in PLACES:
            if place is not None:
                self._place(kind, place, said)
        elif self.session.closed:
            self.channel.tell({"kind": "over", "why": "closed"})
        else:
            if kind == "look":
                self._looks(said)
            self.session.begin()
            self.session.put(said)

    def _place(self, kind: str, place: str, said: dict[str, Any]) -> None:
        """What a place says of itself."""
        if kind == "drawn":
            if isinstance(said.get("number"), int):
                self.channel.answered(place, said["number"])
                self.session.wake()
        elif kind == "here":
            self.channel.here(place)
        elif kind == "gone":
            self.channel.gone(place)
        elif self.session.closed:
            self.channel.tell({"kind": "over", "why": "closed"})
        else:
            self._looks(said)
            self.channel.ready(place)
            self.session.begin()
            if "theme" in said:
                self.session.put({**said, "kind": "look"})

    def _looks(self, said: dict[str, Any]) -> None:
        """The picture that stays looks as the place that said so last."""
        self.still.theme = "dark" if said.get("theme") == "dark" else "light"

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

    def update(
        self, params: object = None, grads: object = None, *,
        loss: object = None, step: object = None, lr: object = None,
    ) -> None:  # fmt: skip
        """Show the numbers of now; what another library trains is looked at here, as often as there is time.

        Raises
        ------
        InputError, TypeMismatchError
            No numbers; arrays for what is read in place.
        StateError
            What is shown is a Run or Scene, which knows them itself; or the cell is closed.
        """
        if self.session.closed:
            raise StateError("update: this cell is closed; run it again")
        if self.watched is not None:
            if self.watched.update(params, grads, loss=loss, step=step, lr=lr):
                self.session.wake()
            return
        if params is not None or grads is not None:
            raise InputError("update: got params or grads, but what is shown is read in place; try update(loss=loss)")
        told = not (loss is None and step is None and lr is None)
        if told:
            self.subject.source.tell(step=step, loss=loss, lr=lr)
        self.look(rarely=True)

    def look(self, *, rarely: bool = False) -> None:
        """Take over the numbers of now, while whoever changes them waits; `rarely`: if that was not done just now."""
        now = time.monotonic()
        if self.watched is not None:
            self.watched.look_at_rest()
        if self.session.alive and self.scene is None and not (rarely and now - self._looked < 1.0 / RATE):
            self._looked = now
            self.session.call(lambda play: play.look())

    def close(self) -> None:
        """End it."""
        self.session.close()
