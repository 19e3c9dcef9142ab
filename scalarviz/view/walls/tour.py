"""`Tour`: stations one after another in one window; what is said stands in a line above the scene.

A guest of its host, and by its `Stage` the host of the scene that is shown. The scene of the coming station is built,
and trained as far as that one says, in a thread while the present one is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
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
from ..ink.theme import Theme
from ..watch.actions import TOUR, find, normalised, table_of
from ..watch.host import TICK, Host, Hosted, Point, keys_of
from ..watch.live import LiveView
from .door import Building, Door, Opened
from .grid import USUAL
from .station import Station

if TYPE_CHECKING:
    from ...run.core.frame import Frame
    from ..watch.host import Guest
    from .rooms import Rooms


BETWEEN = "  \N{MIDDLE DOT}  "
_TAKEN = ("Space", "End")
LOOKS = ("show_weights", "show_gradients", "show_updates", "next_map", "refit_range", "fit", "toggle_panels")
"""Actions of the scene that keep their keys in the tour."""
LONGEST_TICK = 0.25
"""Seconds that one look at the clock may move the tour on: making a scene takes time that nobody has watched."""


class StationView(LiveView):
    """The scene of a station: what is said is said by the tour."""

    def tell_story(self, seconds: float) -> None:
        """Say nothing, at the end of the steps either."""

    def pace_text(self, frame: Frame | None = None) -> str:
        """The HUD's second line without the keys that lead elsewhere here."""
        parts = super().pace_text(frame).split(BETWEEN)
        return BETWEEN.join(part for part in parts if part.split(" ")[0] not in _TAKEN)


class Tour(Hosted):
    """The tour in one window.

    Parameters
    ----------
    rooms : Rooms
        Where it ends.
    stations : sequence of (Door, Station)
    size : (int, int)
        Device pixels.

    Attributes
    ----------
    number : int
        Which station is shown.
    view : StationView or None
        Its scene; None until the first is built.
    """

    def __init__(self, rooms: Rooms, stations: Sequence[tuple[Door, Station]], size: tuple[int, int]) -> None:
        self.rooms, self.stations, self._size = rooms, tuple(stations), size
        self.number, self.view = 0, None  # type: int, StationView | None
        self._stage: Stage | None = None
        self._goal: int | None = 0
        self._built: dict[int, Building[Opened]] = {}
        self._time, self._acts = 0.0, 0
        self._help, self._said, self._drawn = 0, "", None  # type: int, str, object
        self._does = keys_of(self, TOUR, {
            "next": lambda: self._on(1), "before": lambda: self._on(-1), "end": self._escape,
            "toggle_theme": self._toggle_theme, "toggle_help": self._toggle_help,
        })  # fmt: skip
        self._lay_out()

    # ---- time

    def attach(self, host: Host) -> None:
        """Appear in `host`."""
        self.host = host
        self.rooms.attach(host)
        host.every(TICK, self._beat)
        self._prepare(0)

    def _beat(self, seconds: float) -> None:
        host, stage = self.host, self._stage
        assert host is not None
        if self._goal is not None and self._ready(self._goal):
            self._arrive(self._goal)
            stage = self._stage
        elif self.view is not None and host.visible:
            self._time += min(seconds, LONGEST_TICK)
            self._act()
            if self._goal is None and self._time >= self.stations[self.number][1].seconds:
                self.go(self.number + 1)
        for call in () if stage is None else tuple(stage.calls):
            call(seconds)
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

    def _ready(self, number: int) -> bool:
        return number in self._built and self._built[number].done

    def _arrive(self, number: int) -> None:
        """Show the scene of a station that was built."""
        building, self._goal = self._built.pop(number), None
        if building.error is not None or building.made is None:
            self._failed(number, building.error)
            return
        self._leave()
        assert self.host is not None
        opened = building.made
        size = self._size[0], max(self._size[1] - self._bar, 160)
        self._stage = Stage(self.host, size, self._bar)
        look = self.rooms.theme
        self.view = StationView(
            opened.scene, size, steps=opened.steps, duration=opened.duration, theme=look, playing=False
        )  # fmt: skip
        self.view.bench.show_keys(())
        self.view.attach(self._stage)
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
        self._scale = scale_of(self._size) * (PRESENTER if self.rooms.theme.presenter else 1.0)
        logical = self._size[0] / self._scale, self._size[1] / self._scale
        self._bar = round(line_height(logical) * self._scale)
        self._painters = [Painter(logical, self._scale) for _ in range(2)]
        self._drawn = None

    def _line_key(self) -> tuple[object, ...]:
        """What the line says: where it is as it was, nothing has to be drawn."""
        station = self.stations[self.number][1]
        done = round(min(self._time / station.seconds, 1.0) * 100)
        waits = self._goal is not None
        return self.number, station.sentence(self._time), done, waits, self._help, self.rooms.theme.name

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
        done, waits = min(self._time / self.stations[self.number][1].seconds, 1.0), self._goal is not None
        stations = [station for _, station in self.stations]
        below.draw([line(below.size, theme, stations, self.number, self._time, done, waits=waits)])
        if self._help:
            above.draw([help_panel(below.size, table_of(TOUR), theme, self._help)])

    def for_file(self) -> AbstractContextManager[bool]:
        """While the block runs the picture is one for stills and films; gives whether that is another one."""
        return nullcontext(False) if self.view is None else self.view.for_file()

    def resize(self, size: tuple[int, int]) -> None:
        """Lay out for another size in device pixels."""
        self._size = size
        self._lay_out()
        if self.view is not None and self._stage is not None:
            self._stage.size = size[0], max(size[1] - self._bar, 160)
            self.view.resize(self._stage.size)

    # ---- keys and pointer

    def key(self, name: str | None, text: str = "", *, shift: bool = False, ctrl: bool = False) -> bool:
        """A key was pressed; returns whether it means something here. Looks are the scene's."""
        pressed = normalised(name, text, ctrl=ctrl)
        does, action = self._does.get(pressed), find(pressed)
        if does is not None:
            does()
        elif self.view is not None and action is not None and action.name in LOOKS:
            return self.view.send(action.name)
        elif pressed and self.view is not None:
            self.view.say(f"{pressed} does nothing in the tour; ? shows the keys")
        return does is not None

    def _escape(self) -> None:
        if self._help:
            self._help = 0
        elif self.view is None or not self.view.bench.let_go():
            self.rooms.back()

    def _toggle_help(self) -> None:
        self._help = 0 if self._help else 1

    def _toggle_theme(self) -> None:
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


# ---- The line above a scene in the tour: which station, what is said, how far it is, and the keys.

HEIGHT, SMALL = 74.0, 50.0
"""Logical pixels of the line, and in a small window."""


def scale_of(size: tuple[int, int]) -> float:
    """Device pixels of a logical one."""
    return max(1.0, min(size[0] / USUAL[0], size[1] / USUAL[1]))


def line_height(size: tuple[float, float]) -> float:
    """Logical pixels of the line in a window of so many."""
    return SMALL if size[0] < 900 or size[1] < 500 else HEIGHT


def line(
    size: tuple[float, float],
    theme: Theme,
    stations: Sequence[Station],
    number: int,
    seconds: float,
    done: float,
    *,
    waits: bool,
) -> Sketch:
    """The line.

    Parameters
    ----------
    size : (float, float)
        Logical pixels of the window.
    number : int
        Which station is shown.
    seconds, done : float
        Since it began, and their share of all that it takes.
    waits : bool
        Whether the coming one is still being built.
    """
    small = line_height(size) == SMALL
    margin, head, text, high = (12.0, 16, LABEL, SMALL) if small else (24.0, 20, TITLE, HEIGHT)
    station, sketch = stations[number], Sketch()
    sketch.rect(0, 0, size[0], high, fill=theme.panel)
    _progress(sketch, size[0], high, theme, len(stations), number, done)
    first = 20.0 if small else 31.0
    right = size[0] - margin
    for action in () if theme.presenter else reversed(TOUR):  # no small print in a hall
        for words, colour, bold in ((action.words, theme.text3, False), (action.keys[0], theme.text2, True)):
            sketch.text(right, first, words, LABEL, colour, bold=bold, anchor="right")
            right -= measure(words, LABEL, bold) + (5 if not bold else 14)
    counted = f"{number + 1} of {len(stations)}"
    sketch.text(margin, first, counted, LABEL, theme.text3)
    after = margin + measure(counted, LABEL) + 12
    sketch.text(after, first, station.headline, head, theme.text1, bold=True)
    after += measure(station.headline, head, True) + 14
    remark = "the next one is being made" if waits else station.before
    if remark and after + measure(remark, LABEL) <= right:
        sketch.text(after, first, remark, LABEL, theme.text2)
    said = wrapped(station.sentence(seconds), size[0] - 2 * margin, text)[:1]
    sketch.text(margin, first + (19 if small else 27), said[0] if said else "", text, theme.text1)
    return sketch


def _progress(sketch: Sketch, width: float, bottom: float, theme: Theme, count: int, number: int, done: float) -> None:
    """A part for every station at the line's lower edge."""
    gap, thick = 4.0, 3.0
    wide = (width - gap * (count - 1)) / count
    for k in range(count):
        x = k * (wide + gap)
        sketch.rect(x, bottom - thick, wide, thick, fill=theme.border)
        part = 1.0 if k < number else done if k == number else 0.0
        if part > 0:
            sketch.rect(x, bottom - thick, wide * part, thick, fill=theme.text2)


# ---- `Stage`: the part of a window below the tour's line, as the host of what is shown there.


class Stage:
    """A host inside of another one, whose upper `bar` device pixels are not its own.

    Parameters
    ----------
    host : Host
    size : (int, int)
        Device pixels.
    bar : int
    """

    def __init__(self, host: Host, size: tuple[int, int], bar: int) -> None:
        self._host, self.size, self._bar = host, size, bar
        self.calls: list[Callable[[float], None]] = []

    @property
    def pixel_ratio(self) -> float:
        """That of the whole."""
        return self._host.pixel_ratio

    @property
    def place(self) -> tuple[int, int] | None:
        """Below the line."""
        corner = self._host.place
        return None if corner is None else (corner[0], corner[1] + round(self._bar / self.pixel_ratio))

    @property
    def visible(self) -> bool:
        """Whether the whole is."""
        return self._host.visible

    @property
    def full_screen(self) -> bool:
        """Whether the whole fills the screen."""
        return self._host.full_screen

    def show_full_screen(self, on: bool) -> None:
        """The whole does."""
        self._host.show_full_screen(on)

    def every(self, seconds: float, call: Callable[[float], None]) -> None:
        """With every tick of the whole."""
        self.calls.append(call)

    def repaint(self) -> None:
        """The whole is drawn."""
        self._host.repaint()

    def screenshot(self) -> object:
        """Of the whole."""
        return self._host.screenshot()

    def film(self) -> object:
        """Of the whole."""
        return self._host.film()

    def ask_file(self, title: str, endings: Sequence[str], then: Callable[[Path], object]) -> None:
        """By the whole."""
        self._host.ask_file(title, endings, then)

    def ask_text(self, title: str, label: str, text: str, then: Callable[[str], object]) -> None:
        """By the whole."""
        self._host.ask_text(title, label, text, then)

    def copy(self, text: str) -> None:
        """By the whole."""
        self._host.copy(text)

    def pasted(self) -> str:
        """Of the whole."""
        return self._host.pasted()

    def tell(self, line: str) -> None:
        """By the whole."""
        self._host.tell(line)

    def close_soon(self) -> None:
        """The whole closes."""
        self._host.close_soon()

    def enter(self, make: Callable[[tuple[int, int]], Guest], name: str) -> None:
        """The whole shows something else."""
        self._host.enter(make, name)
