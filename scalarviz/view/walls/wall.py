"""The window of all scenes: `Wall`, their pictures, of which the one under the pointer trains; `Rooms`, where it leads.

Guests of a host, as a viewer is; they know scenes only as doors. Scenes are built in threads, since that takes up to a
second; what is dropped here is data that some door takes, and nothing dropped is ever run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ScalarvizError, StateError
from ...io import load_picture
from ...run.sources.played import Rehearsal, rehearse
from ...run.worker import Worker
from ..ink.boxes import BIG, LABEL, TITLE
from ..ink.overlay import wrapped
from ..ink.sketch import Sketch
from ..ink.text import measure
from ..ink.theme import Theme, get_theme, presenting
from ..out.easel import Easel
from ..shown.subject import scene_subject
from ..watch.actions import WALL as ACTIONS
from ..watch.actions import action_of
from ..watch.live import LiveSource, LiveView
from ..watch.pace import pace
from ..watch.viewer import WAIT
from .door import DOT, Building, Door, Made, Opened, Station, Way
from .tiles import LINE, Face, Look, Tiled, grid_of, is_small, scale_of
from .tour import Tour, trained

if TYPE_CHECKING:
    from ..watch.host import Guest, Host

REST = 0.25
"""Seconds that the pointer rests on a picture before it trains."""
USUAL = Look(margin=24.0, gap=18.0, top=96.0, foot=46.0, caption=28.0, keys=17.0)
SMALL = Look(margin=12.0, gap=10.0, top=56.0, foot=40.0, caption=20.0, keys=14.0)
COMMAND = "scalarviz"


class Wall(Tiled):
    """The wall of one window."""

    glows = True

    def __init__(self, rooms: Rooms, size: tuple[int, int]) -> None:
        self._stills = {number: still for number, door in enumerate(rooms.doors)
                        if not door.missing and (still := still_of(door)) is not None}  # fmt: skip
        self._building: Building[tuple[Opened, Rehearsal | None]] | None = None
        self._live: LivePicture | None = None
        self._rested, self._tried = 0.0, False
        actions = [action for action in ACTIONS if action.name != "tour" or rooms.has_tour]
        super().__init__(rooms, size, actions, {"tour": rooms.begin_tour, "open": self._ask_file})
        self.numbers = range(len(rooms.doors))
        self._lay_out()

    # ---- time

    def _go_on(self, host: Host, seconds: float) -> None:
        """The chosen scene goes on in its picture; it is built when it has been chosen for a moment."""
        self._rested += seconds
        if not host.visible:
            return
        if self._building is not None and self._building.done:
            building, self._building = self._building, None
            if (built := self._taken(building)) is not None and self._opening is None:
                self._live = LivePicture(*built, self.rooms.theme)
        elif self._live is None and not self._tried and self._rested >= REST and self._opening is None:
            self._tried = True
            door = self.door
            if door is not None and not door.missing:
                self._building, self._dirty = self.rooms.build(lambda: rehearsed(door.build({}))), True
        self._dirty |= self._live is not None and self._live.pass_time(seconds)

    # ---- choosing and entering

    @property
    def door(self) -> Door | None:
        """The chosen one."""
        return None if self.rooms.chosen is None else self.rooms.doors[self.rooms.chosen]

    def choose(self, number: int | None) -> None:
        """Choose a door: its scene is the one that trains."""
        if number is not None and number != self.rooms.chosen:
            self._rest()
            self.rooms.chosen = number

    def _rest(self) -> None:
        """Nothing trains any more; the picture is the still again."""
        if self._live is not None:
            if said := self._live.close():
                self.say(said)
            self._live = None
        self._building = None  # the thread ends by itself; rooms wait for it at the end
        self._rested, self._tried, self._dirty = 0.0, False, True

    def enter(self, given: Mapping[str, object] | None = None) -> None:
        """Enter the chosen scene, with these options; nothing else trains then."""
        door = self.door
        if door is not None and door.missing:
            self.say(f"{door.name} needs something that is not installed: {door.missing}")
        elif door is not None and self._opening is None:
            self._rest()
            self._tried = True
            super().enter(given)

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
            self.choose(self.rooms.doors.index(door))
            self.enter(given)

    # ---- picture

    def _lay_out(self) -> None:
        scale = scale_of(self._size)
        self._small = is_small((self._size[0] / scale, self._size[1] / scale))
        self._placed(grid_of(self._size, len(self.rooms.doors), SMALL if self._small else USUAL))

    def sketches(self) -> list[Sketch]:
        """Everything on the wall: the title, what happens in the chosen scene, pictures with their commands, keys."""
        theme, grid, margin = self.rooms.theme, self.grid, self.grid.look.margin
        sketch, head = Sketch(), 30.0 if self._small else 48.0
        big, text = (20, LABEL) if self._small else (BIG, TITLE)
        sketch.text(margin, head, COMMAND, big, theme.text1, bold=True)
        after = margin + measure(COMMAND, big, True) + 18
        sketch.text(after, head, "every weight is a cube", text, theme.text3)
        if (door := self.door) is not None:
            said = f"needs: {door.missing}" if door.missing else door.summary
            line = _beginning(said, grid.size[0] - 2 * margin, text)
            sketch.text(margin, head + (19 if self._small else 28), line, text, theme.text2)
        first, size = f"{COMMAND} ", LABEL if self._small else 15  # before each name, if there is room before all
        widest = max((measure(door.name, size, True) for door in self.rooms.doors), default=0.0)
        if measure(first, size) + widest > grid.picture[0]:
            first = ""
        for number, door in enumerate(self.rooms.doors):
            mine, name, words = number == self.rooms.chosen, door.name, self._words(door)
            live = self._live.face if mine and self._live is not None else None
            face = live or self._stills.get(number)
            x, y, wide, high = self._tile(sketch, number, number, name, face, words, theme.text2)
            baseline = y + high + grid.look.caption - (5 if self._small else 8)
            sketch.text(x, baseline, first, size, theme.text3)
            begin = x + measure(first, size)
            while len(name) > 1 and begin + measure(name, size, True) > x + wide:
                name = name[:-1]
            colour = theme.text1 if mine else theme.text3 if door.missing else theme.text2
            sketch.text(begin, baseline, name, size, colour, bold=True)
            end, remark = begin + measure(name, size, True), self._remark() if mine else ""
            if remark and end + 12 + measure(remark, LABEL) <= x + wide:
                sketch.text(x + wide, baseline, remark, LABEL, theme.text3, anchor="right")
        return [sketch, self._foot()]

    def _pad(self, wide: float) -> float:
        return min(14.0, wide / 12)

    def _words(self, door: Door) -> list[str]:
        """What stands in the place of a picture: how to get the scene, or what it is; nothing where nothing fits."""
        wide, high = self.grid.picture
        pad = self._pad(wide)
        for words in (f"needs: {door.missing}", "needs an extra") if door.missing else (door.summary,):
            lines = wrapped(words, wide - 2 * pad)
            if LINE * len(lines) + pad <= high and all(measure(line, LABEL) <= wide - pad for line in lines):
                return lines
        return []

    def _remark(self) -> str:
        """What is said at the right of the chosen caption."""
        if self._opening is not None:
            return "opening"
        if self._building is not None:
            return "starting"
        if self._live is None:
            return ""
        return f"{'trains, step' if self._live.trains else 'after step'} {self._live.step:,}"

    # ---- keys

    def give_up(self) -> bool:
        """A scene that is being opened is not, after all; it trains in its picture again."""
        self._tried, self._rested = False, 0.0
        return super().give_up()

    def toggle_theme(self) -> None:
        """Light or dark."""
        super().toggle_theme()
        self._rest()

    def _ask_file(self) -> None:
        if self.host is not None:
            self.host.ask_file("Open a picture, a table or weights", self.rooms.endings, lambda path: self.open([path]))

    def close(self) -> None:
        """Stop what trains."""
        self._rest()
        super().close()


def still_of(door: Door) -> Face | None:
    """A door's picture; None where there is none that can be read, which keeps nobody from the scene."""
    if door.still is None:
        return None
    try:
        return Face(np.rint(255 * load_picture(door.still).rgb).astype(np.uint8))
    except ScalarvizError:
        return None


def _beginning(sentence: str, width: float, size: float) -> str:
    """As many whole parts of a sentence as fit; of a single one as many words."""
    first = next(iter(wrapped(sentence, width, size)), "")
    if first == sentence:
        return sentence
    whole = max((first.rfind(mark) for mark in ";,."), default=-1)
    return f"{first[:whole]}." if whole > 0 else f"{first} ..."


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
    """A scene in a small picture; it stands at its last step. `face`: what it shows now, None before the first."""

    def __init__(self, opened: Opened, rehearsal: Rehearsal | None, theme: Theme) -> None:
        scene = opened.scene
        self.face: Face | None = None
        self._first = self.step = scene.run.steps
        self._stops = pace(opened.steps, SECONDS, FPS, rehearsal)
        self._engine = str(scene.run.engine)
        self._number, self._late = 0, 0.0
        self.worker = Worker(scene.run).start()
        self._asked = self.worker.request()
        source = LiveSource(scene.run, lambda edit, gesture: None, lambda step: None, self.worker.ask)
        self._easel = Easel(scene_subject(scene, source), LAID_OUT, theme)

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
        frame, probe = self.worker.latest, self._easel.bench.subject.probe
        if probe is not None and frame.forward is not None:
            frame = frame.with_activations(frame.forward.activations(probe, frame.values))
        self.face, self.step = Face(self._easel.picture(self._engine, 1 / FPS, frame)), frame.step

    def close(self) -> str:
        """Stop training; returns what is to be said of that, usually nothing."""
        try:
            self.worker.close()
        except StateError as busy:  # in a long call of the engine
            return str(busy)
        return ""


# ---- `Rooms`: which picture the window shows: the wall, a scene that was entered from it, the tour.

WALL, TOUR = "all scenes", "tour"
AWAY = "close what is open; then: back to"
BACK_SECONDS = 6.0
"""How long it is said where Escape leads."""


class Rooms:
    """The way through one window.

    `receive` says for a file that was dropped which door it opens and how; `endings` are those of files that some door
    takes. Without `stations` there is no tour.
    """

    called = WALL
    """What stands on its wall."""

    def __init__(
        self, doors: Sequence[Door], receive: Callable[[Path], Way], endings: Sequence[str] = (),
        theme: str | Theme = "dark", stations: Callable[[], Sequence[Station]] | None = None,
    ) -> None:  # fmt: skip
        self._stations = stations
        self.doors, self.receive, self.endings = tuple(doors), receive, tuple(endings)
        self.theme = get_theme(theme)
        self.chosen: int | None = 0 if self.doors else None
        self._host: Host | None = None
        self._news: list[str] = []  # what is told as soon as there is a window
        self._buildings: list[Building[object]] = []
        self._left: tuple[Door, Opened] | None = None
        self._end = 0  # the step to which that one goes

    # ---- the pictures

    def wall(self, size: tuple[int, int]) -> Guest:
        """The wall, for a size in device pixels."""
        return Wall(self, size)

    def attach(self, host: Host) -> None:
        """The window that is walked through."""
        self._host = host
        for line in self._news:
            host.tell(line)
        self._news.clear()

    def show(self, door: Door, opened: Opened) -> None:
        """Enter a scene: its window, with Escape leading back to the wall."""
        assert self._host is not None
        if self._left is None or self._left[1].scene is not opened.scene:
            self._left, self._end = (door, opened), opened.scene.run.steps + opened.steps
        name = DOT.join(dict.fromkeys([opened.scene.name, door.name]))
        self._host.enter(lambda size: self._scene(door, opened, size), name)

    def _scene(self, door: Door, opened: Opened, size: tuple[int, int]) -> LiveView:
        view = LiveView(opened.scene, size, steps=opened.steps, duration=opened.duration, theme=self.theme, wait=WAIT)
        view.way_out = lambda: self._out_of(view)
        touch, escape = view.bench.touch, action_of("escape").does
        touch.table = tuple((key, f"{AWAY} {self.called}" if does == escape else does) for key, does in touch.table)
        view.bench.lead_keys(action_of("escape").keys[0], self.called)
        view.say(DOT.join(filter(None, (door.remark, f"Escape goes back to {self.called}"))), BACK_SECONDS)
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

    def tour(self, size: tuple[int, int]) -> Guest:
        """The tour, through those of its stations whose scenes can be entered; where none can, the wall."""
        stations = () if self._stations is None else self._stations()
        open_doors = {door.name: door for door in self.doors if not door.missing}
        found = [(open_doors[s.scene], s) for s in stations if s.scene in open_doors]
        for number, (door, station) in enumerate(found):
            try:
                return Tour(self, found, number, trained(door, station), size)
            except ScalarvizError as error:
                self._news.append(f"tour: {door.name}: {error}")
        return self.wall(size)

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
        if given or self._left is None or self._left[0].name != door.name:
            return door.build(given)
        left = self._left[1]
        if left.scene.run._store.gate is not None:  # a thread is still in a long call
            return door.build(given)
        to_go = self._end - left.scene.run.steps
        return replace(left, steps=to_go if to_go > 0 else left.steps)

    def build(self, make: Callable[[], Made]) -> Building[Made]:
        """Make something in a thread that :meth:`close` waits for."""
        building = Building(make)
        self._buildings = [b for b in self._buildings if not b.done]
        self._buildings.append(building)  # type: ignore[arg-type]  # nobody puts anything into it
        return building

    def close(self) -> None:
        """Wait for the threads that still build something."""
        for building in self._buildings:
            building.close()
