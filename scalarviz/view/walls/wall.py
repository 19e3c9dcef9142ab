"""`Wall`: pictures of all scenes in one window; the one under the pointer trains, a click enters it.

A guest of a host, as a viewer is; it knows scenes only as doors. Scenes are built in threads, since that takes up to a
second; what is dropped here is data that some door takes, and nothing dropped is ever run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import ScalarvizError, StateError
from ...run.sources.played import Rehearsal, rehearse
from ...run.worker import Worker
from ..ink.sketch import Sketch
from ..ink.theme import Theme
from ..out.offscreen import offscreen
from ..shown.subject import scene_subject
from ..watch.actions import WALL, action_of, table_of
from ..watch.host import Point
from ..watch.live import LiveSource
from ..watch.pace import pace
from ..workbench import Workbench
from .door import Building, Door, Opened
from .grid import grid_of
from .tiled import Tiled
from .wall_drawing import Picture, fitting, foot, head, still_of, tiles

if TYPE_CHECKING:
    from .rooms import Rooms


REST = 0.25
"""Seconds that the pointer rests on a picture before it trains."""


class Wall(Tiled):
    """The wall of one window.

    Parameters
    ----------
    rooms : Rooms
        Where it leads; holds the doors, the look and which of them is chosen.
    size : (int, int)
        Device pixels.
    """

    glows = True

    def __init__(self, rooms: Rooms, size: tuple[int, int]) -> None:
        self._stills = {number: picture for number, door in enumerate(rooms.doors)
                        if not door.missing and (picture := still_of(door)) is not None}  # fmt: skip
        self._shown: dict[int, Picture] = {}
        self._building: Building[tuple[Opened, Rehearsal | None]] | None = None
        self._live: LivePicture | None = None
        self._rested, self._tried = 0.0, False
        self._pressed: int | None = None
        super().__init__(rooms, size, WALL, {
            "left": lambda: self.go(-1, 0), "right": lambda: self.go(1, 0), "up": lambda: self.go(0, -1),
            "down": lambda: self.go(0, 1), "enter": self.enter, "tour": self._tour, "open": self._ask_file,
        })  # fmt: skip
        self._lay_out()

    # ---- time

    def _beat(self, seconds: float) -> None:
        assert self.host is not None
        self.pass_time(seconds)
        self._rested += seconds
        self._open_when_built()
        if self.host.visible:
            self._train(seconds)
        self.repaint()

    def _train(self, seconds: float) -> None:
        """The chosen scene goes on in its picture; it is built when it has been chosen for a moment."""
        number = self.rooms.chosen
        if self._building is not None and self._building.done:
            (built, error), self._building = (self._building.made, self._building.error), None
            if error is not None:
                self._failed(error)
            elif built is not None and self._opening is None:
                self._live = LivePicture(*built, self.rooms.theme)
        elif self._live is None and not self._tried and self._rested >= REST and self._opening is None:
            self._tried = True
            door = self.door
            if door is not None and not door.missing:
                self._building, self._dirty = self.rooms.build(lambda: rehearsed(door.build({}))), True
        if self._live is not None and number is not None and self._live.pass_time(seconds):
            assert self._live.pixels is not None
            self._shown[number] = fitting(self._live.pixels, self.grid.tiles[number], self.grid.scale)
            self._dirty = True

    # ---- choosing and entering

    @property
    def door(self) -> Door | None:
        """The chosen one."""
        return None if self.rooms.chosen is None else self.rooms.doors[self.rooms.chosen]

    def choose(self, number: int | None) -> None:
        """Choose a tile: its scene is the one that trains."""
        if number is None or number == self.rooms.chosen:
            return
        self._rest()
        self.rooms.chosen = number
        self._dirty = True

    def _rest(self) -> None:
        """Nothing trains any more; the picture is the still again."""
        if self._live is not None:
            if said := self._live.close():
                self.say(said)
            self._live = None
        self._building = None  # the thread ends by itself; rooms wait for it at the end
        self._rested, self._tried = 0.0, False
        self._fit()

    def go(self, across: int, down: int) -> None:
        """Choose the tile beside."""
        if self.rooms.doors:
            self.choose(self.grid.beside(self.rooms.chosen or 0, across, down))

    def enter(self, number: int | None = None, given: Mapping[str, object] | None = None) -> None:
        """Enter a scene, the chosen one or that of a tile, with these options."""
        if number is not None:
            self.choose(number)
        door = self.door
        if door is None or self._opening is not None:
            return
        if door.missing:
            self.say(f"{door.name} needs something that is not installed: {door.missing}")
            return
        self._rest()
        self._tried = self._dirty = True
        self._opening = self.rooms.build(lambda: self.rooms.opened(door, given or {}))

    def open(self, paths: Sequence[Path]) -> None:
        """Files were dropped: the last one decides which scene is entered, unless one is being opened already."""
        for path in paths[-1:]:
            if self._opening is not None and self.door is not None:
                self.say(f"{path.name} is not opened: {self.door.name} is being opened already; Escape gives that up")
                continue
            try:
                door, given, said = self.rooms.receive(path)
            except ScalarvizError as error:
                self.say(str(error))
                continue
            self.say(said)
            self.enter(self.rooms.doors.index(door), given)

    # ---- picture

    def _lay_out(self) -> None:
        self.grid = grid_of(self._size, len(self.rooms.doors))
        self._take_painters(self.grid.size, self.grid.scale)
        self._fit()

    def _fit(self) -> None:
        """Each still in the pixels of its tile."""
        grid = self.grid
        self._shown = {n: fitting(picture, grid.tiles[n], grid.scale) for n, picture in self._stills.items()}
        if self._live is not None and self._live.pixels is not None and self.rooms.chosen is not None:
            self._shown[self.rooms.chosen] = fitting(self._live.pixels, grid.tiles[self.rooms.chosen], grid.scale)
        self._dirty = True

    def sketches(self) -> list[Sketch]:
        """Everything on the wall."""
        theme, chosen = self.rooms.theme, self.rooms.chosen
        remarks = {} if chosen is None else {chosen: self._remark()}
        words = [(a.keys[0], a.words) for a in WALL if a.words and (a.name != "tour" or self.rooms.has_tour)]
        words.append((action_of("toggle_help").keys[0], "all keys"))
        return [
            head(self.grid, theme, self.door),
            tiles(self.grid, theme, self.rooms.doors, self._shown, chosen, remarks),
            foot(self.grid, theme, words),
        ]

    def _remark(self) -> str:
        if self._opening is not None:
            return "opening"
        if self._building is not None:
            return "starting"
        if self._live is None:
            return ""
        return f"{'trains, step' if self._live.trains else 'after step'} {self._live.step:,}"

    # ---- keys and pointer

    @property
    def page(self) -> tuple[float, float]:
        """Logical pixels."""
        return self.grid.size

    def table(self) -> list[tuple[str, str]]:
        """The list of keys."""
        return table_of([action for action in WALL if action.name != "tour" or self.rooms.has_tour])

    def give_up(self) -> bool:
        """A scene that is being opened is not, after all."""
        if self._opening is None:
            return False
        self._opening, self._notice = None, ""
        self._tried, self._rested = False, 0.0
        return True

    def toggle_theme(self) -> None:
        """Light or dark."""
        self.rooms.toggle_theme()
        self._rest()

    def _ask_file(self) -> None:
        if self.host is not None:
            self.host.ask_file("Open a picture, a table or weights", self.rooms.endings, lambda path: self.open([path]))

    def _tour(self) -> None:
        if self.rooms.has_tour:
            self.rooms.begin_tour()

    def press(self, at: Point, button: str = "left", *, shift: bool = False, ctrl: bool = False) -> None:
        """A button went down."""
        self._pressed = self.grid.at(at) if button == "left" else None

    def release(self, at: Point) -> None:
        """The button went up: over the tile where it went down it enters that scene."""
        number, self._pressed = self._pressed, None
        if self._help:
            self._help, self._dirty = 0, True
        elif number is not None and number == self.grid.at(at):
            self.enter(number)

    def move(self, at: Point) -> None:
        """The pointer is at `at`."""
        if not self._help and self._opening is None:
            self.choose(self.grid.at(at))

    def scroll(self, at: Point, notches: tuple[float, float], *, shift: bool = False) -> None:
        """The wheel has nothing to do here."""

    def close(self) -> None:
        """Stop what trains."""
        self._rest()
        self._opening = None


# ---- `LivePicture`: a scene that trains in a small picture, drawn where nobody sees it and handed over as pixels.

LAID_OUT = (960, 540)
"""Pixels of the picture before it is made small: in fewer there would be no panels."""
SECONDS, FPS = 10.0, 12
"""How long the run takes there, and pictures a second of it."""
REHEARSAL_SECONDS = 0.3


def rehearsed(opened: Opened) -> tuple[Opened, Rehearsal | None]:
    """A scene with what will happen in it, to be made in a thread."""
    return opened, rehearse(opened.scene.run, opened.steps, REHEARSAL_SECONDS)


class LivePicture:
    """A scene in a small picture; it stands at its last step.

    Parameters
    ----------
    opened : Opened
    rehearsal : Rehearsal, optional
        What its steps will do.
    theme : Theme

    Attributes
    ----------
    pixels : ndarray of uint8, shape (H, W, 3), or None
        What it shows now; None before the first.
    step : int
        Which step that is.
    """

    def __init__(self, opened: Opened, rehearsal: Rehearsal | None, theme: Theme) -> None:
        scene = opened.scene
        self.pixels: NDArray[np.uint8] | None = None
        self._first = self.step = scene.run.steps
        self._stops = pace(opened.steps, SECONDS, FPS, rehearsal)
        self._engine = str(scene.run.engine)
        self._number, self._late = 0, 0.0
        self.worker = Worker(scene.run).start()
        self._asked = self.worker.request()
        source = LiveSource(scene.run, lambda edit, gesture: None, lambda step: None, self.worker.ask)
        with offscreen():
            self._bench = Workbench(scene_subject(scene, source), LAID_OUT, theme)

    @property
    def trains(self) -> bool:
        """Whether it has not come to its last step."""
        return self._number < len(self._stops)

    def pass_time(self, seconds: float) -> bool:
        """`seconds` have passed; returns whether there are other pixels."""
        self._late += min(seconds, 0.25)  # a picture that takes a while to draw leaps over nothing
        if self._late < 1 / FPS or not self.trains or not self._asked.done:
            return False
        self._late = 0.0
        last = self._number == len(self._stops) - 1
        if last and self.worker.latest.step < self._first + int(self._stops[-1]) and self.worker.moving:
            self._asked = self.worker.request()
            return False
        self._draw()
        self._number += 1
        if not last:
            self.worker.train_to(self._first + int(self._stops[self._number]))
            self._asked = self.worker.request()
        return True

    def _draw(self) -> None:
        bench, frame = self._bench, self.worker.latest
        probe = bench.subject.probe
        if probe is not None and frame.forward is not None:
            frame = frame.with_activations(frame.forward.activations(probe, frame.values))
        with offscreen():
            bench.update(frame, self._engine, 1 / FPS)
        self.pixels, self.step = offscreen().render(bench.draw, LAID_OUT), frame.step

    def close(self) -> str:
        """Stop training; returns what is to be said of that, usually nothing."""
        try:
            self.worker.close()
        except StateError as busy:  # in a long call of the engine
            return str(busy)
        return ""
