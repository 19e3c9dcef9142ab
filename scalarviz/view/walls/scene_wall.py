"""`SceneWall`: the window of all scenes; the scene under the pointer trains in its picture. `Tour`: some, one by one.

Dropped files are only read as data for a scene; they are never executed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np

from ...errors import ScalarvizError, StateError
from ...io import load_picture
from ...run.core.frame import Frame
from ...run.sources.played import Rehearsal, rehearse
from ...run.worker import Worker
from ..ink.boxes import BIG, LABEL, PRESENTER, TITLE
from ..ink.painter import Painter, gloo
from ..ink.sketch import Sketch
from ..ink.text import DOT, measure
from ..ink.theme import Theme
from ..ink.widgets import wrapped
from ..out.canvas import Canvas
from ..shown.subject import scene_subject
from ..watch.actions import SHARED, action_for_key, normalised, table_of
from ..watch.actions import TOUR as TOUR_KEYS
from ..watch.actions import WALL as ACTIONS
from ..watch.host import Guest, Host, Point
from ..watch.live import LiveSource, LiveView
from ..watch.playback import Playback
from .wall import LINE, BuiltScene, FittedPicture, Look, SceneEntry, Wall, build_in_thread, grid_of, is_small, scale_of

REST = 0.25
"""Seconds that the pointer rests on a picture before its scene trains."""
USUAL = Look(margin=24.0, gap=16.0, top=62.0, foot=42.0, caption=48.0, keys=17.0)
SMALL = Look(margin=12.0, gap=10.0, top=40.0, foot=40.0, caption=20.0, keys=14.0)
LEARNT = 14
"""Type size of the line that says what is learnt."""
COMMAND = "scalarviz"
TOUR = "tour"
EntryRequest = tuple[SceneEntry, Mapping[str, object], str]
"""An entry, the options to enter it with, and what that does, in words."""


class SceneWall(Wall):
    """The wall of all scenes.

    `receive` returns the entry and options for a dropped file; `endings` are the accepted file endings. Without
    `stations` there is no tour.
    """

    called, glows = "all scenes", True

    def __init__(
        self, doors: Sequence[SceneEntry], receive: Callable[[Path], EntryRequest], endings: Sequence[str] = (),
        theme: str | Theme = "dark", stations: Callable[[], Sequence[Station]] | None = None,
    ) -> None:  # fmt: skip
        self.doors, self.receive, self.endings, self._stations = tuple(doors), receive, tuple(endings), stations
        self._stills = {number: still for number, door in enumerate(self.doors)
                        if not door.missing and (still := still_picture(door)) is not None}  # fmt: skip
        self._building: Future[tuple[BuiltScene, Rehearsal | None]] | None = None
        self._live: LivePicture | None = None
        self._stands: tuple[SceneEntry, FittedPicture, int] | None = None  # left last: entry, picture, step
        self._rested, self._tried = 0.0, False
        self._news: list[str] = []  # lines to print once there is a window
        actions = [action for action in ACTIONS if action.name != TOUR or stations is not None]
        own = {TOUR: lambda: self._ask_host(lambda host: host.enter(self.tour, TOUR)), "open": self._ask_file}
        super().__init__(theme, actions, own)
        self.numbers, self.chosen = range(len(self.doors)), 0 if self.doors else None

    # ---- entering and returning

    def appear(self, size: tuple[int, int]) -> Self:
        """Reset and lay out the wall for a window of this many device pixels."""
        super().appear(size)
        self._keep_left_scene()
        return self

    def _keep_left_scene(self) -> None:
        """Draw the scene left last, as it was left, as its picture."""
        left, self._stands = self.last_entered, None
        if left is not None:
            scene = left[1].scene
            self._stands = left[0], FittedPicture(Canvas(scene, LAID_OUT, self.theme).tile(STILL)), scene.run.steps

    def attach(self, host: Host) -> None:
        """Appear in `host` and print waiting lines."""
        super().attach(host)
        self.tell(host)

    def tell(self, host: Host) -> None:
        """Print the lines that waited for a window."""
        for line in self._news:
            host.tell(line)
        self._news.clear()

    def tour(self, size: tuple[int, int]) -> Guest:
        """Return the tour through the stations that can be shown, or the wall if there is none."""
        stations = () if self._stations is None else self._stations()
        open_doors = {door.name: door for door in self.doors if not door.missing}
        found = [(open_doors[s.scene], s) for s in stations if s.scene in open_doors]
        for number, (door, station) in enumerate(found):
            try:
                return Tour(self, found, number, trained(door, station), size)
            except ScalarvizError as error:
                self._news.append(f"tour: {door.name}: {error}")
        return self.appear(size)

    # ---- time

    def _go_on(self, host: Host, seconds: float) -> None:
        """Train the chosen scene in its picture; build it once it has been chosen for a moment."""
        self._rested += seconds
        if not host.visible:
            return
        if self._building is not None and self._building.done():
            future, self._building = self._building, None
            if (built := self._result_of(future)) is not None and self._opening is None:
                self._live = LivePicture(*built, self.theme)
        elif self._live is None and not self._tried and self._rested >= REST and self._opening is None:
            self._tried = True
            door = self.door
            if door is not None and not door.missing and (self._stands is None or self._stands[0] is not door):
                self._building, self._dirty = build_in_thread(lambda: rehearsed(door.build({}))), True
        self._dirty |= self._live is not None and self._live.pass_time(seconds)

    # ---- choosing and entering

    @property
    def door(self) -> SceneEntry | None:
        """The chosen entry."""
        return None if self.chosen is None else self.doors[self.chosen]

    def choose(self, number: int | None) -> None:
        """Choose an entry; its scene trains."""
        if number is not None and number != self.chosen:
            self._rest()
            self.chosen = number

    def _rest(self) -> None:
        """Stop training and show the still picture again."""
        if self._live is not None:
            if said := self._live.close():
                self.say(said)
            self._live = None
        self._building = None  # the thread ends by itself
        self._rested, self._tried, self._dirty = 0.0, False, True

    def enter(self, given: Mapping[str, object] | None = None) -> None:
        """Enter the chosen scene with these options; training on the wall stops."""
        door = self.door
        if door is not None and door.missing:
            self.say(f"{door.name} needs a package: {door.missing}")
        elif door is not None and self._opening is None:
            self._rest()
            self._tried = True
            super().enter(given)

    def open(self, paths: Sequence[Path]) -> None:
        """Open the last of the dropped files and enter its scene, unless one is opening already."""
        for path in paths[-1:]:
            if self._opening is not None and self.door is not None:
                self.say(f"{path.name} was not opened, because {self.door.name} is opening; Escape cancels that")
                continue
            try:
                door, given, said = self.receive(path)
            except ScalarvizError as error:
                self.say(str(error))
                continue
            self.say(said)
            self.choose(self.doors.index(door))
            self.enter(given)

    def cancel(self) -> bool:
        """Cancel opening a scene; it trains in its picture again."""
        self._tried, self._rested = False, 0.0
        return super().cancel()

    def toggle_theme(self) -> None:
        """Switch between light and dark."""
        super().toggle_theme()
        self._rest()
        self._keep_left_scene()

    def _ask_file(self) -> None:
        title = "Open a picture, a table or weights"
        self._ask_host(lambda host: host.ask_file(title, self.endings, lambda path: self.open([path])))

    def close(self) -> None:
        """Stop training."""
        self._rest()
        super().close()

    # ---- picture

    def _lay_out(self) -> None:
        scale = scale_of(self._size)
        self._small = is_small((self._size[0] / scale, self._size[1] / scale))
        self._placed(grid_of(self._size, len(self.doors), SMALL if self._small else USUAL, STILL[0] / STILL[1]))

    def sketches(self) -> list[Sketch]:
        """Return everything on the wall: title, pictures with names and summaries, keys."""
        theme, grid, margin = self.theme, self.grid, self.grid.look.margin
        sketch, head = Sketch(), 28.0 if self._small else 42.0
        big, text = (20, LABEL) if self._small else (BIG, TITLE)
        after = sketch.text(margin, head, COMMAND, big, theme.text1, bold=True) + 18
        about = ("every weight is a cube; beside it, what the weights have learnt", "every weight is a cube")
        room = self.page[0] - margin - after
        sketch.text(after, head, next((a for a in about if measure(a, text) <= room), ""), text, theme.text3)
        first, size = f"{COMMAND} ", LABEL if self._small else 17  # before each name, if all have room
        widest = max((measure(door.name, size, True) for door in self.doors), default=0.0)
        if measure(first, size) + widest > grid.picture[0]:
            first = ""
        for number, door in enumerate(self.doors):
            mine, name, words = number == self.chosen, door.name, self._words(door)
            face = self._live.face if mine and self._live is not None else None
            if self._stands is not None and self._stands[0] is door:
                face = self._stands[1]
            face = face or self._stills.get(number)
            x, y, wide, high = self._tile(sketch, number, name, face, words, theme.text2, self._pad)
            baseline = y + high + (15 if self._small else 21)
            if not self._small:
                line = beginning(door.summary, wide, LEARNT)
                sketch.text(x, baseline + 20, line, LEARNT, theme.text1 if mine else theme.text2)
            begin = sketch.text(x, baseline, first, size, theme.text3)
            while len(name) > 1 and begin + measure(name, size, True) > x + wide:
                name = name[:-1]
            colour = theme.text1 if mine else theme.text3 if door.missing else theme.text2
            end = sketch.text(begin, baseline, name, size, colour, bold=True)
            remark = self._remark() if mine else ""
            if remark and end + 12 + measure(remark, LABEL) <= x + wide:
                sketch.text(x + wide, baseline, remark, LABEL, theme.text3, anchor="right")
        return [sketch, self._foot()]

    @property
    def _pad(self) -> float:
        return min(14.0, self.grid.picture[0] / 12)

    def _words(self, door: SceneEntry) -> list[str]:
        """Return the words in place of a picture: its missing package or its summary; [] if they do not fit."""
        (wide, high), pad = self.grid.picture, self._pad
        for words in (f"needs: {door.missing}", "needs an extra") if door.missing else (door.summary,):
            lines = wrapped(words, wide - 2 * pad)
            if LINE * len(lines) + pad <= high and all(measure(line, LABEL) <= wide - pad for line in lines):
                return lines
        return []

    def _remark(self) -> str:
        """Return the remark at the right of the chosen caption."""
        if self._opening is not None:
            return "opening"
        if self._building is not None:
            return "starting"
        if self._stands is not None and self._stands[0] is self.door:
            return f"after step {self._stands[2]:,}"
        if self._live is None:
            return ""
        return f"{'trains, step' if self._live.trains else 'after step'} {self._live.step:,}"


def still_picture(door: SceneEntry) -> FittedPicture | None:
    """Return an entry's still picture, or None if there is none that can be read."""
    if door.still is None:
        return None
    try:
        return FittedPicture(np.rint(255 * load_picture(door.still).rgb).astype(np.uint8))
    except ScalarvizError:
        return None


def beginning(sentence: str, width: float, size: float) -> str:
    """Return the first clause of a sentence, shortened to the width."""
    first = re.split("[;:.]", sentence)[0]
    if measure(first, size) <= width:
        return first
    fits = next(iter(wrapped(first, width - measure(" ...", size), size)), "")
    return fits.rpartition(",")[0] or f"{fits} ..."


# ---- `LivePicture`: a scene that trains in a small picture, drawn off-screen and copied as pixels.

LAID_OUT = (960, 540)
"""Width and height in pixels for which the scene is laid out."""
STILL = (768, 292)
"""Width and height in pixels of its cubes and of what they learnt, as in the stills."""
SECONDS, FPS = 10.0, 12
"""Seconds of the run in its picture, and pictures a second."""
REHEARSAL_SECONDS = 0.3


def rehearsed(opened: BuiltScene) -> tuple[BuiltScene, Rehearsal | None]:
    """Return a scene with its rehearsal; to be called in a thread."""
    return opened, rehearse(opened.scene.run, opened.steps, REHEARSAL_SECONDS)


class LivePicture:
    """A scene in a small picture, which stops at its last step; `face` is the current picture, at first None."""

    def __init__(self, opened: BuiltScene, rehearsal: Rehearsal | None, theme: Theme) -> None:
        scene = opened.scene
        self.face: FittedPicture | None = None
        self.step, self._late = scene.run.steps, 0.0
        self.worker = Worker(scene.run).start()
        self._playback = Playback(self.worker, opened.steps, SECONDS, rehearsal)
        self._playback.play()
        self._asked = self.worker.request()
        self._canvas = Canvas(scene_subject(scene, LiveSource(self.worker)), LAID_OUT, theme)

    @property
    def trains(self) -> bool:
        """True until the last step is reached."""
        return self._playback.running or self.step < self.worker.run.steps

    def pass_time(self, seconds: float) -> bool:
        """Advance by `seconds`; return whether there is a new picture."""
        self._playback.tick(seconds)
        self._late += seconds
        if self._late < 1 / FPS or not self._asked.done or (self.face is not None and not self.trains):
            return False
        self._late, self._asked, frame = 0.0, self.worker.request(), self.worker.latest
        probe = self._canvas.bench.subject.probe
        if probe is not None and frame.forward is not None:
            frame = frame.with_activations(frame.forward.activations(probe, frame.values))
        self.face, self.step = FittedPicture(self._canvas.tile(STILL, 1 / FPS, frame)), frame.step
        return True

    def close(self) -> str:
        """Stop training; return an error message, usually ''."""
        try:
            self.worker.close()
        except StateError as busy:  # in a long call of the engine
            return str(busy)
        return ""


# ---- `Station`: one stop of a tour as data: a scene, its sentences, and its timed actions.


@dataclass(frozen=True, slots=True)
class TimedAction:
    """An action that the tour runs by itself."""

    at: float  # seconds since the station began
    action: str  # as in ``viewer.send``
    value: int | None = None  # for an action with a value


@dataclass(frozen=True, slots=True)
class Station:
    """One stop of the tour."""

    scene: str  # name of its entry
    headline: str
    says: tuple[tuple[float, str], ...]  # sentences, each with its first second
    seconds: float  # duration
    acts: tuple[TimedAction, ...] = ()  # ordered by time
    trained: int = 0  # steps trained before it is shown; the station says so
    duration: float = 8.0  # seconds that the scene's steps take once they run

    def sentence(self, seconds: float) -> str:
        """Return the sentence after this many seconds."""
        return next((words for since, words in reversed(self.says) if since <= seconds), "")


def repeated(first: float, gap: float, count: int, action: str, value: int | None = None) -> tuple[TimedAction, ...]:
    """Return the same action several times, every `gap` seconds from `first` on."""
    return tuple(TimedAction(first + gap * number, action, value) for number in range(count))


# ---- `Tour`: stations one after another in one window; a line above the scene shows their sentences.
#
# A thread builds the next station's scene, and trains it as far as the station says, while the current one is shown.

Stations = Sequence[tuple[SceneEntry, Station]]
HEIGHT, LOW = 74.0, 50.0
"""Height of the line above a scene in logical pixels: usual, and in a small window."""
_TAKEN = ("Space", "End")
ON = {key: by for action, by in zip(TOUR_KEYS, (1, -1), strict=False) for key in action.keys}
"""Keys that go to another station, with the number of stations to move."""
LOOKS = ("show_weights", "show_gradients", "show_updates", "next_map", "refit_range", "fit", "toggle_panels", "escape")
"""Actions of the scene that keep their keys in the tour."""
LONGEST_TICK = 0.25
"""Most seconds by which one tick advances the tour: time for building a scene does not count."""


class Tour(LiveView):
    """The scene of a station below a line. The tour ends on `wall`, as does Escape when nothing is open."""

    def __init__(
        self, wall: SceneWall, stations: Stations, number: int, opened: BuiltScene, size: tuple[int, int]
    ) -> None:
        self.wall, self.stations, self.number = wall, stations, number
        self.station, self.escape_action = stations[number][1], wall.return_to_wall
        self._goal: tuple[int, Future[BuiltScene]] | None = None  # the next station once it is built
        self._next: tuple[int, Future[BuiltScene]] | None = None
        self._time, self._acts = 0.0, 0
        self._lay_out(size)
        super().__init__(opened.scene, self._stage, steps=opened.steps, duration=opened.duration, theme=wall.theme,
                         playing=False)  # fmt: skip
        self.bench.left_out = frozenset({"keys"})
        self.bench.lay_out()
        self.bench.interaction.table = tuple(table_of(TOUR_KEYS))

    def pace_text(self, frame: Frame | None = None) -> str:
        """Return the HUD's second line without keys that have another use here."""
        parts = super().pace_text(frame).split(DOT)
        return DOT.join(part for part in parts if part.split(" ")[0] not in _TAKEN)

    # ---- time

    def attach(self, host: Host) -> None:
        """Appear in `host`, and start building the next scene."""
        super().attach(host)
        self.wall.host = host
        self.wall.tell(host)
        if self.number + 1 < len(self.stations):
            self._next = self.number + 1, self._built(self.number + 1)

    def _beat(self, host: Host, seconds: float) -> None:
        if self._goal is not None and self._goal[1].done():
            self._arrive(host, *self._goal)
        elif host.visible:
            self._time += min(seconds, LONGEST_TICK)
            while self._acts < len(self.station.acts) and self.station.acts[self._acts].at <= self._time:
                act = self.station.acts[self._acts]
                self._acts += 1
                self.send(act.action, act.value)
                self.say("", 0.0)  # hide its notice, which would cover the strip
            if self._goal is None and self._time >= self.station.seconds:
                self.go(self.number + 1)
        super()._beat(host, seconds)
        if self._line_key() != self._drawn:
            host.repaint()

    def go(self, number: int) -> None:
        """Go to a station; after the last one, to the wall."""
        if number >= len(self.stations):
            self.wall.return_to_wall()
        elif number >= 0:
            ready = self._next is not None and self._next[0] == number
            self._goal = self._next if ready else (number, self._built(number))

    def _built(self, number: int) -> Future[BuiltScene]:
        door, station = self.stations[number]
        return build_in_thread(lambda: trained(door, station))

    def _arrive(self, host: Host, number: int, future: Future[BuiltScene]) -> None:
        """Enter a station that was built; report and skip one that cannot be shown."""
        error, self._goal = future.exception(), None
        if error is None:
            opened = future.result()
            host.enter(lambda size: Tour(self.wall, self.stations, number, opened, size), "tour")
            return
        host.tell(f"tour: {self.stations[number][0].name}: {error}")
        if not isinstance(error, ScalarvizError):
            raise error
        self.go(number + 1)

    # ---- picture

    def _lay_out(self, size: tuple[int, int]) -> None:
        scale = scale_of(size) * (PRESENTER if self.wall.theme.presenter else 1.0)
        self.page = size[0] / scale, size[1] / scale
        self._small, self._size = is_small(self.page), size
        self._bar = round((LOW if self._small else HEIGHT) * scale)
        self._stage = size[0], max(size[1] - self._bar, 160)
        self._painter, self._drawn = Painter(self.page, scale), None  # type: Painter, object

    @property
    def _progress(self) -> float:
        """Share of the station's time that has passed."""
        return min(self._time / self.station.seconds, 1.0)

    def _line_key(self) -> tuple[object, ...]:
        """Return a key of the line: while it stays equal, nothing has to be drawn."""
        said = self.station.sentence(self._time)
        return said, round(100 * self._progress), self._goal is not None, self.wall.theme.name

    def line(self) -> Sketch:
        """Return the line above the scene: station, sentence, progress and keys."""
        small, theme, (wide, _) = self._small, self.wall.theme, self.page
        margin, head, text, high = (12.0, 16, LABEL, LOW) if small else (24.0, 20, TITLE, HEIGHT)
        station, sketch, count = self.station, Sketch(), len(self.stations)
        sketch.rect(0, 0, wide, high, fill=theme.panel)
        gap, thick = 4.0, 3.0  # one part for each station at the lower edge
        part = (wide - gap * (count - 1)) / count
        for k in range(count):
            x, done = k * (part + gap), 1.0 if k < self.number else self._progress if k == self.number else 0.0
            sketch.rect(x, high - thick, part, thick, fill=theme.border)
            if done > 0:
                sketch.rect(x, high - thick, part * done, thick, fill=theme.text2)
        first, right = 20.0 if small else 31.0, wide - margin
        for action in () if theme.presenter else reversed(TOUR_KEYS):  # the presenter theme shows no small print
            for words, colour, bold in ((action.words, theme.text3, False), (action.keys[0], theme.text2, True)):
                right = sketch.text(right, first, words, LABEL, colour, bold=bold, anchor="right") - (14 if bold else 5)
        after = sketch.text(margin, first, f"{self.number + 1} of {count}", LABEL, theme.text3) + 12
        after = sketch.text(after, first, station.headline, head, theme.text1, bold=True) + 14
        trained_before = f"trained {station.trained:,} steps before" if station.trained else ""
        remark = "preparing the next one" if self._goal is not None else trained_before
        if after + measure(remark, LABEL) <= right:
            sketch.text(after, first, remark, LABEL, theme.text2)
        said = next(iter(wrapped(station.sentence(self._time), wide - 2 * margin, text)), "")
        sketch.text(margin, first + (19 if small else 27), said, text, theme.text1)
        return sketch

    def draw(self, viewport: tuple[int, int] | None = None) -> None:
        """Draw the line, and the scene below it, into the bound framebuffer."""
        wide, high = viewport or self._size
        gloo.set_viewport(0, 0, wide, high - self._bar)
        super().draw((wide, high - self._bar))
        gloo.set_viewport(0, 0, wide, high)
        self._drawn = self._line_key()
        self._painter.draw([self.line()])

    def resize(self, size: tuple[int, int]) -> None:
        """Lay out for another size in device pixels."""
        self._lay_out(size)
        super().resize(self._stage)

    # ---- keys and pointer

    def key(self, name: str | None, text: str = "", *, shift: bool = False, ctrl: bool = False) -> bool:
        """Handle a key; return whether it has a meaning here. Keys for the look go to the scene."""
        pressed = normalised(name, text, ctrl=ctrl)
        action = action_for_key(pressed)
        if pressed in ON:
            self.go((self.number if self._goal is None else self._goal[0]) + ON[pressed])
            return True
        if action is None or action.name not in (*LOOKS, *SHARED):
            return self._does_nothing(pressed)
        if action.name == "toggle_theme":
            self.wall.turn_theme()
        return self.send(action.name)

    def _below(self, at: Point) -> Point:
        """Return a point in the scene's own pixels."""
        return at[0], at[1] - self._bar

    def press(
        self, at: Point, button: str = "left", *, shift: bool = False, ctrl: bool = False, when: float | None = None
    ) -> None:
        """Pass a button press over the scene on to it."""
        if at[1] >= self._bar:
            super().press(self._below(at), button, shift=shift, ctrl=ctrl, when=when)

    def move(self, at: Point) -> None:
        """Handle a pointer move."""
        super().move(self._below(at))

    def release(self, at: Point) -> None:
        """Handle a button release."""
        super().release(self._below(at))

    def scroll(self, at: Point, notches: tuple[float, float], *, shift: bool = False) -> None:
        """Pass the wheel on to the scene."""
        if at[1] >= self._bar:
            super().scroll(self._below(at), notches, shift=shift)

    def open(self, paths: Sequence[Path]) -> None:
        """Show a hint: only the wall takes files."""
        self.say("drop files on the wall of all scenes: Escape goes there")


def trained(door: SceneEntry, station: Station) -> BuiltScene:
    """Return the scene of a station, trained as far as the station says."""
    opened = door.build({})
    if station.trained:
        opened.scene.run.step(station.trained)
    return replace(opened, steps=max(1, opened.steps - station.trained), duration=station.duration)
