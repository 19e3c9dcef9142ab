"""`Rooms`: which picture one window shows: the wall of all scenes, a scene that was entered from it, the tour."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ..ink.theme import Theme, get_theme, presenting
from ..watch.actions import action_of
from ..watch.live import LiveView
from ..watch.telling import WAIT
from .door import Building, Door, Opened, Way
from .station import Station
from .tour import Tour
from .wall import Wall

if TYPE_CHECKING:
    from ..watch.host import Guest, Host

Made = TypeVar("Made")
WALL, TOUR = "all scenes", "tour"
AWAY = "close what is open; then: back to"
BACK_SECONDS = 6.0
"""How long it is said where Escape leads."""


class Rooms:
    """The way through one window.

    Parameters
    ----------
    doors : sequence of Door
    receive : callable
        Says for a file that was dropped which door it opens and how; raises ScalarvizError where none does.
    endings : sequence of str
        Of the names of files that some door takes.
    theme : str or Theme
    stations : callable, optional
        Says what the tour shows; without it there is none.

    Attributes
    ----------
    chosen : int or None
        The number of the door that was chosen last.
    """

    called = WALL
    """What stands on its wall."""

    def __init__(
        self,
        doors: Sequence[Door],
        receive: Callable[[Path], Way],
        endings: Sequence[str] = (),
        theme: str | Theme = "dark",
        stations: Callable[[], Sequence[Station]] | None = None,
    ) -> None:
        self._stations = stations
        self.doors, self.receive, self.endings = tuple(doors), receive, tuple(endings)
        self.theme = get_theme(theme)
        self.chosen: int | None = 0 if self.doors else None
        self._host: Host | None = None
        self._buildings: list[Building[object]] = []
        self._left: dict[str, Opened] = {}
        self._end = self._whole = 0  # the step to which that one goes, and how many it does in all

    # ---- the pictures

    def wall(self, size: tuple[int, int]) -> Guest:
        """The wall, for a size in device pixels."""
        return Wall(self, size)

    def attach(self, host: Host) -> None:
        """The window that is walked through."""
        self._host = host

    def show(self, opened: Opened) -> None:
        """Enter a scene: its window, with Escape leading back to the wall."""
        assert self._host is not None
        if opened.scene.name not in self._left or self._left[opened.scene.name].scene is not opened.scene:
            self._end, self._whole = opened.scene.run.steps + opened.steps, opened.steps
        self._left = {opened.scene.name: opened}
        self._host.enter(lambda size: self._scene(opened, size), self._called(opened))

    def _called(self, opened: Opened) -> str:
        """What its window is called."""
        return opened.scene.name

    def _scene(self, opened: Opened, size: tuple[int, int]) -> LiveView:
        view = LiveView(
            opened.scene,
            size,
            steps=opened.steps,
            duration=opened.duration,
            theme=self.theme,
            wait=WAIT,
        )
        view.way_out = lambda: self._out_of(view)
        touch, escape = view.bench.touch, action_of("escape").does
        touch.table = tuple((key, f"{AWAY} {self.called}" if does == escape else does) for key, does in touch.table)
        view.bench.lead_keys(action_of("escape").keys[0], self.called)
        view.say(f"Escape goes back to {self.called}", BACK_SECONDS)
        return view

    def _out_of(self, view: LiveView) -> None:
        """To the wall, in the look that the scene had."""
        self.theme = view.bench.theme
        self.back()

    def back(self) -> None:
        """To the wall."""
        assert self._host is not None
        self._host.enter(self.wall, self.called)

    @property
    def has_tour(self) -> bool:
        """Whether there is a tour to begin."""
        return self._stations is not None

    def tour(self, size: tuple[int, int]) -> Tour:
        """The tour, through those of its stations whose scenes can be entered."""
        stations = () if self._stations is None else self._stations()
        open_doors = {door.name: door for door in self.doors if not door.missing}
        return Tour(self, [(open_doors[s.scene], s) for s in stations if s.scene in open_doors], size)

    def begin_tour(self) -> None:
        """Leave the wall for the tour."""
        assert self._host is not None
        self._host.enter(self.tour, TOUR)

    def toggle_theme(self) -> None:
        """Light or dark."""
        self.theme = presenting("light" if self.theme.name == "dark" else "dark", self.theme.presenter)

    # ---- scenes that are made

    def opened(self, door: Door, given: Mapping[str, object]) -> Opened:
        """The scene of a door; the one that was left last goes on where it was left."""
        left = self._left.get(door.name)
        if given or left is None or left.scene.run._store.gate is not None:  # a thread is still in a long call
            return door.build(given)
        to_go = self._end - left.scene.run.steps
        return replace(left, steps=to_go if to_go > 0 else self._whole)

    def build(self, make: Callable[[], Made]) -> Building[Made]:
        """Make something in a thread that :meth:`close` waits for."""
        building = Building(make)
        self._buildings = [b for b in self._buildings if not b.done]
        self._buildings.append(building)  # type: ignore[arg-type]  # nobody puts anything into it
        return building

    def wait(self) -> None:
        """Until no thread builds anything."""
        for building in self._buildings:
            building.close()

    def close(self) -> None:
        """Wait for the threads that still build something."""
        self.wait()
