"""`Tour`: stations one after another in one window; what is said stands in a line above the scene.

The scene of the coming station is built, and trained as far as that one says, in a thread while the present one is
shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ScalarvizError
from ..ink.gl import gloo
from ..ink.overlay import help_panel, wrapped
from ..ink.painter import Painter
from ..ink.places import LABEL, PRESENTER, TITLE
from ..ink.sketch import Sketch
from ..ink.text import measure
from ..watch.actions import TOUR, find, normalised
from ..watch.host import NOTICE_SECONDS, TICK, Host, Point, Room
from ..watch.live import LiveView
from .door import DOT, Building, Door, Opened, Station
from .tiles import is_small, scale_of

if TYPE_CHECKING:
    from ...run.core.frame import Frame
    from .wall import Rooms


HEIGHT, SMALL = 74.0, 50.0
"""Logical pixels of the line above a scene, and in a small window."""
_TAKEN = ("Space", "End")
LOOKS = ("show_weights", "show_gradients", "show_updates", "next_map", "refit_range", "fit", "toggle_panels")
"""Actions of the scene that keep their keys in the tour."""
LONGEST_TICK = 0.25
"""Seconds that one look at the clock may move the tour on: making a scene takes time that nobody has watched."""


class StationView(LiveView):
    """The scene of a station: the tour gives it time, and says what is said."""

    def attach(self, host: Host) -> None:
        """Appear below the line of the tour."""
        self.host = host

    def pass_time(self, seconds: float) -> None:
        """With every tick of the tour."""
        self._beat(seconds)

    def tell_story(self, seconds: float) -> None:
        """Say nothing, at the end of the steps either."""

    def pace_text(self, frame: Frame | None = None) -> str:
        """The HUD's second line without the keys that lead elsewhere here."""
        parts = super().pace_text(frame).split(DOT)
        return DOT.join(part for part in parts if part.split(" ")[0] not in _TAKEN)


class Tour(Room):
    """The tour in one window; it ends in `rooms`."""

    def __init__(self, rooms: Rooms, stations: Sequence[tuple[Door, Station]], size: tuple[int, int]) -> None:
        self.rooms, self.stations, self._size = rooms, tuple(stations), size
        self.number, self.view = 0, None  # type: int, StationView | None
        self._goal: int | None = 0
        self._built: dict[int, Building[Opened]] = {}
        self._time, self._acts = 0.0, 0
        self._drawn: object = None
        super().__init__(TOUR, {"next": lambda: self._on(1), "before": lambda: self._on(-1), "end": self._escape})
        self._lay_out()

    # ---- time

    def attach(self, host: Host) -> None:
        """Appear in `host`."""
        self.host = host
        self.rooms.attach(host)
        host.every(TICK, self._beat)
        self._prepare(0)

    def _beat(self, seconds: float) -> None:
        host, shown = self.host, self.view
        assert host is not None
        if self._goal in self._built and self._built[self._goal].done:
            self._arrive(self._goal)
            shown = self.view
        elif self.view is not None and host.visible:
            self._time += min(seconds, LONGEST_TICK)
            self._act()
            if self._goal is None and self._time >= self.stations[self.number][1].seconds:
                self.go(self.number + 1)
        if shown is not None:
            shown.pass_time(seconds)
        if self._line_key() != self._drawn:
            host.repaint()

    def _act(self) -> None:
        """Do what is due."""
        acts = self.stations[self.number][1].acts
        while self._acts < len(acts) and acts[self._acts].at <= self._time and self.view is not None:
            act = acts[self._acts]
            self._acts += 1
            self.view.send(act.action, act.value)
            self.view.say("", 0.0)  # what a hand is told of that would lie over the strip, and nobody asked here

    def go(self, number: int) -> None:
        """Set out for a station; beyond the last one is the wall."""
        if number >= len(self.stations):
            self.rooms.back()
        elif number >= 0:
            self._goal = number
            self._prepare(number)

    def _on(self, count: int) -> None:
        """So many stations on from where it is going, or stands."""
        self.go((self.number if self._goal is None else self._goal) + count)

    def _prepare(self, number: int) -> None:
        """Let the scene of a station be built, once."""
        if not 0 <= number < len(self.stations) or number in self._built:
            return
        door, station = self.stations[number]
        self._built[number] = self.rooms.build(lambda: trained(door, station))

    def _arrive(self, number: int) -> None:
        """Show the scene of a station that was built."""
        building, self._goal = self._built.pop(number), None
        if building.error is not None or building.made is None:
            self._failed(number, building.error)
            return
        self._leave()
        assert self.host is not None
        opened = building.made
        self.view = StationView(opened.scene, self._room, steps=opened.steps, duration=opened.duration,
                                theme=self.rooms.theme, playing=False)  # fmt: skip
        self.view.bench.show_keys(())
        self.view.attach(self.host)
        self.number, self._time, self._acts = number, 0.0, 0
        self._prepare(number + 1)

    def _failed(self, number: int, error: Exception | None) -> None:
        """A station that cannot be shown is said, and passed by."""
        assert self.host is not None
        self.host.tell(f"tour: {self.stations[number][0].name}: {error}")
        if error is not None and not isinstance(error, ScalarvizError):
            raise error
        self.number = number
        self.go(number + 1)

    def _leave(self) -> None:
        """Nothing trains any more."""
        if self.view is not None:
            self.view.close()
            self.view = None

    # ---- picture

    def _lay_out(self) -> None:
        scale = scale_of(self._size) * (PRESENTER if self.rooms.theme.presenter else 1.0)
        logical = self._size[0] / scale, self._size[1] / scale
        self._small = is_small(logical)
        self._bar = round((SMALL if self._small else HEIGHT) * scale)
        self._room = self._size[0], max(self._size[1] - self._bar, 160)
        self._painters = [Painter(logical, scale) for _ in range(2)]
        self._drawn = None

    @property
    def page(self) -> tuple[float, float]:
        """Logical pixels."""
        return self._painters[0].size

    @property
    def _done(self) -> float:
        """How much of the time of its station has passed."""
        return min(self._time / self.stations[self.number][1].seconds, 1.0)

    def _line_key(self) -> tuple[object, ...]:
        """What the line says: where it is as it was, nothing has to be drawn."""
        sentence, waits = self.stations[self.number][1].sentence(self._time), self._goal is not None
        return self.number, sentence, round(100 * self._done), waits, self._help, self.rooms.theme.name

    def line(self) -> Sketch:
        """The line above the scene: which station, what is said, how far it is, and the keys."""
        small, theme, (wide, _) = self._small, self.rooms.theme, self.page
        margin, head, text, high = (12.0, 16, LABEL, SMALL) if small else (24.0, 20, TITLE, HEIGHT)
        station, sketch, count = self.stations[self.number][1], Sketch(), len(self.stations)
        sketch.rect(0, 0, wide, high, fill=theme.panel)
        gap, thick = 4.0, 3.0  # a part for every station at the lower edge
        part = (wide - gap * (count - 1)) / count
        for k in range(count):
            x, done = k * (part + gap), 1.0 if k < self.number else self._done if k == self.number else 0.0
            sketch.rect(x, high - thick, part, thick, fill=theme.border)
            if done > 0:
                sketch.rect(x, high - thick, part * done, thick, fill=theme.text2)
        first, right = 20.0 if small else 31.0, wide - margin
        for action in () if theme.presenter else reversed(TOUR):  # no small print in a hall
            for words, colour, bold in ((action.words, theme.text3, False), (action.keys[0], theme.text2, True)):
                sketch.text(right, first, words, LABEL, colour, bold=bold, anchor="right")
                right -= measure(words, LABEL, bold) + (14 if bold else 5)
        counted = f"{self.number + 1} of {count}"
        sketch.text(margin, first, counted, LABEL, theme.text3)
        after = margin + measure(counted, LABEL) + 12
        sketch.text(after, first, station.headline, head, theme.text1, bold=True)
        after += measure(station.headline, head, True) + 14
        remark = "the next one is being made" if self._goal is not None else station.before
        if after + measure(remark, LABEL) <= right:
            sketch.text(after, first, remark, LABEL, theme.text2)
        said = next(iter(wrapped(station.sentence(self._time), wide - 2 * margin, text)), "")
        sketch.text(margin, first + (19 if small else 27), said, text, theme.text1)
        return sketch

    def draw(self, viewport: tuple[int, int] | None = None) -> None:
        """Paint it into the bound framebuffer."""
        wide, high = viewport or self._size
        below, above = self._painters
        theme = self.rooms.theme
        below.background(theme.background, theme.glow)
        if self.view is not None:
            gloo.set_viewport(0, 0, wide, high - self._bar)
            self.view.draw((wide, high - self._bar))
            gloo.set_viewport(0, 0, wide, high)
        self._drawn = self._line_key()
        below.draw([self.line()])
        if self._help:
            above.draw([help_panel(self.page, self.table(), theme, self._help)])

    def for_file(self) -> AbstractContextManager[bool]:
        """As the scene is."""
        return super().for_file() if self.view is None else self.view.for_file()

    def resize(self, size: tuple[int, int]) -> None:
        """Lay out for another size in device pixels."""
        self._size = size
        self._lay_out()
        if self.view is not None:
            self.view.resize(self._room)

    # ---- keys and pointer

    def key(self, name: str | None, text: str = "", *, shift: bool = False, ctrl: bool = False) -> bool:
        """A key was pressed; returns whether it means something here. Looks are the scene's."""
        pressed = normalised(name, text, ctrl=ctrl)
        action = None if pressed in self._does else find(pressed)
        if self.view is not None and action is not None and action.name in LOOKS:
            return self.view.send(action.name)
        return super().key(name, text, shift=shift, ctrl=ctrl)

    def say(self, line: str, seconds: float = NOTICE_SECONDS) -> None:
        """The scene says it."""
        if self.view is not None:
            self.view.say(line, seconds)

    def give_up(self) -> bool:
        """Escape lets go of what is open in the scene, or ends the tour."""
        if self.view is None or not self.view.bench.let_go():
            self.rooms.back()
        return True

    def toggle_theme(self) -> None:
        """Light or dark."""
        self.rooms.toggle_theme()
        if self.view is not None:
            self.view.send("toggle_theme")

    def _below(self, at: Point) -> Point:
        """A point in the scene's own pixels."""
        return at[0], at[1] - self._bar

    def press(self, at: Point, button: str = "left", *, shift: bool = False, ctrl: bool = False) -> None:
        """A button went down: over the scene it is the scene's."""
        if self._help:
            self._help = 0
        elif self.view is not None and at[1] >= self._bar:
            self.view.press(self._below(at), button, shift=shift, ctrl=ctrl)

    def move(self, at: Point) -> None:
        """The pointer is at `at`."""
        if self.view is not None:
            self.view.move(self._below(at))

    def release(self, at: Point) -> None:
        """The button went up."""
        if self.view is not None:
            self.view.release(self._below(at))

    def leave(self) -> None:
        """The pointer left the window."""
        if self.view is not None:
            self.view.leave()

    def scroll(self, at: Point, notches: tuple[float, float], *, shift: bool = False) -> None:
        """The wheel is the scene's."""
        if self.view is not None and at[1] >= self._bar:
            self.view.scroll(self._below(at), notches, shift=shift)

    def open(self, paths: Sequence[Path]) -> None:
        """Files belong to the wall."""
        if self.view is not None:
            self.view.say("a file can be dropped on the wall of all scenes: Escape leads there")

    def close(self) -> None:
        """Stop what trains."""
        self._leave()
        self._built.clear()  # their threads end by themselves; rooms wait for them


def trained(door: Door, station: Station) -> Opened:
    """The scene of a station, trained as far as that says."""
    opened = door.build(station.given)
    if station.trained:
        opened.scene.run.step(station.trained)
    return replace(opened, steps=max(1, opened.steps - station.trained), duration=station.duration)
