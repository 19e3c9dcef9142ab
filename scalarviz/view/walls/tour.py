"""`Tour`: stations one after another in one window; what is said stands in a line above the scene.

The scene of the coming station is built, and trained as far as that one says, in a thread while the present one is
shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ScalarvizError
from ..ink.boxes import LABEL, PRESENTER, TITLE
from ..ink.overlay import wrapped
from ..ink.painter import Painter, gloo
from ..ink.sketch import Sketch
from ..ink.text import measure
from ..watch.actions import SHARED, TOUR, action_for_key, normalised, table_of
from ..watch.host import Host, Point
from ..watch.live import LiveView
from .scene_entry import DOT, BuiltScene, SceneEntry, Station, build_in_thread
from .wall import is_small, scale_of

if TYPE_CHECKING:
    from ...run.core.frame import Frame
    from .scene_wall import SceneWall

Stations = Sequence[tuple[SceneEntry, Station]]
HEIGHT, SMALL = 74.0, 50.0
"""Logical pixels of the line above a scene, and in a small window."""
_TAKEN = ("Space", "End")
ON = {key: by for action, by in zip(TOUR, (1, -1), strict=False) for key in action.keys}
"""Keys that lead so many stations on."""
LOOKS = ("show_weights", "show_gradients", "show_updates", "next_map", "refit_range", "fit", "toggle_panels", "escape")
"""Actions of the scene that keep their keys in the tour."""
LONGEST_TICK = 0.25
"""Seconds that one look at the clock may move the tour on: making a scene takes time that nobody has watched."""


class Tour(LiveView):
    """The scene of a station below a line; it ends on `wall`, as Escape does where nothing is open."""

    def __init__(
        self, wall: SceneWall, stations: Stations, number: int, opened: BuiltScene, size: tuple[int, int]
    ) -> None:
        self.wall, self.stations, self.number = wall, stations, number
        self.station, self.escape_action = stations[number][1], wall.return_to_wall
        self._goal: tuple[int, Future[BuiltScene]] | None = None  # where it goes, once that is built
        self._next: tuple[int, Future[BuiltScene]] | None = None
        self._time, self._acts = 0.0, 0
        self._lay_out(size)
        super().__init__(opened.scene, self._stage, steps=opened.steps, duration=opened.duration, theme=wall.theme,
                         playing=False)  # fmt: skip
        self.bench.left_out = frozenset({"keys"})
        self.bench.lay_out()
        self.bench.touch.table = tuple(table_of(TOUR))

    def pace_text(self, frame: Frame | None = None) -> str:
        """The HUD's second line without the keys that lead elsewhere here."""
        parts = super().pace_text(frame).split(DOT)
        return DOT.join(part for part in parts if part.split(" ")[0] not in _TAKEN)

    # ---- time

    def attach(self, host: Host) -> None:
        """Appear in `host`, and let the coming scene be built."""
        super().attach(host)
        self.wall.host = host
        self.wall.tell(host)
        if self.number + 1 < len(self.stations):
            self._next = self.number + 1, self._built(self.number + 1)

    def _beat(self, seconds: float) -> None:
        assert self.host is not None
        if self._goal is not None and self._goal[1].done():
            self._arrive(*self._goal)
        elif self.host.visible:
            self._time += min(seconds, LONGEST_TICK)
            while self._acts < len(self.station.acts) and self.station.acts[self._acts].at <= self._time:
                act = self.station.acts[self._acts]
                self._acts += 1
                self.send(act.action, act.value)
                self.say("", 0.0)  # what a hand is told of that would lie over the strip, and nobody asked here
            if self._goal is None and self._time >= self.station.seconds:
                self.go(self.number + 1)
        super()._beat(seconds)
        if self._line_key() != self._drawn:
            self.host.repaint()

    def go(self, number: int) -> None:
        """Set out for a station; beyond the last one is the wall."""
        if number >= len(self.stations):
            self.wall.return_to_wall()
        elif number >= 0:
            ready = self._next is not None and self._next[0] == number
            self._goal = self._next if ready else (number, self._built(number))

    def _built(self, number: int) -> Future[BuiltScene]:
        door, station = self.stations[number]
        return build_in_thread(lambda: trained(door, station))

    def _arrive(self, number: int, future: Future[BuiltScene]) -> None:
        """Enter a station that was built; one that cannot be shown is said, and passed by."""
        assert self.host is not None
        error, self._goal = future.exception(), None
        if error is None:
            opened = future.result()
            self.host.enter(lambda size: Tour(self.wall, self.stations, number, opened, size), "tour")
            return
        self.host.tell(f"tour: {self.stations[number][0].name}: {error}")
        if not isinstance(error, ScalarvizError):
            raise error
        self.go(number + 1)

    # ---- picture

    def _lay_out(self, size: tuple[int, int]) -> None:
        scale = scale_of(size) * (PRESENTER if self.wall.theme.presenter else 1.0)
        self.page = size[0] / scale, size[1] / scale
        self._small, self._size = is_small(self.page), size
        self._bar = round((SMALL if self._small else HEIGHT) * scale)
        self._stage = size[0], max(size[1] - self._bar, 160)
        self._painter, self._drawn = Painter(self.page, scale), None  # type: Painter, object

    @property
    def _progress(self) -> float:
        """How much of the time of its station has passed."""
        return min(self._time / self.station.seconds, 1.0)

    def _line_key(self) -> tuple[object, ...]:
        """What the line says: where it is as it was, nothing has to be drawn."""
        said = self.station.sentence(self._time)
        return said, round(100 * self._progress), self._goal is not None, self.wall.theme.name

    def line(self) -> Sketch:
        """The line above the scene: which station, what is said, how far it is, and the keys."""
        small, theme, (wide, _) = self._small, self.wall.theme, self.page
        margin, head, text, high = (12.0, 16, LABEL, SMALL) if small else (24.0, 20, TITLE, HEIGHT)
        station, sketch, count = self.station, Sketch(), len(self.stations)
        sketch.rect(0, 0, wide, high, fill=theme.panel)
        gap, thick = 4.0, 3.0  # a part for every station at the lower edge
        part = (wide - gap * (count - 1)) / count
        for k in range(count):
            x, done = k * (part + gap), 1.0 if k < self.number else self._progress if k == self.number else 0.0
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
        remark = "preparing the next one" if self._goal is not None else station.before
        if after + measure(remark, LABEL) <= right:
            sketch.text(after, first, remark, LABEL, theme.text2)
        said = next(iter(wrapped(station.sentence(self._time), wide - 2 * margin, text)), "")
        sketch.text(margin, first + (19 if small else 27), said, text, theme.text1)
        return sketch

    def draw(self, viewport: tuple[int, int] | None = None) -> None:
        """Paint the line, and the scene below it, into the bound framebuffer."""
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
        """A key was pressed; returns whether it means something here. Looks are the scene's."""
        pressed = normalised(name, text, ctrl=ctrl)
        action = action_for_key(pressed)
        if pressed in ON:
            self.go((self.number if self._goal is None else self._goal[0]) + ON[pressed])
            return True
        if action is None or action.name not in (*LOOKS, *SHARED):
            if pressed:
                self.say(f"{pressed} does nothing here; ? shows the keys")
            return False
        if action.name == "toggle_theme":
            self.wall.turn_theme()
        return self.send(action.name)

    def _below(self, at: Point) -> Point:
        """A point in the scene's own pixels."""
        return at[0], at[1] - self._bar

    def press(self, at: Point, button: str = "left", *, shift: bool = False, ctrl: bool = False) -> None:
        """A button went down: over the scene it is the scene's."""
        if at[1] >= self._bar:
            super().press(self._below(at), button, shift=shift, ctrl=ctrl)

    def move(self, at: Point) -> None:
        """The pointer is at `at`."""
        super().move(self._below(at))

    def release(self, at: Point) -> None:
        """The button went up."""
        super().release(self._below(at))

    def scroll(self, at: Point, notches: tuple[float, float], *, shift: bool = False) -> None:
        """The wheel is the scene's."""
        if at[1] >= self._bar:
            super().scroll(self._below(at), notches, shift=shift)

    def open(self, paths: Sequence[Path]) -> None:
        """Files belong to the wall."""
        self.say("drop files on the wall of all scenes: Escape goes there")


def trained(door: SceneEntry, station: Station) -> BuiltScene:
    """The scene of a station, trained as far as that says."""
    opened = door.build(station.given)
    if station.trained:
        opened.scene.run.step(station.trained)
    return replace(opened, steps=max(1, opened.steps - station.trained), duration=station.duration)
