"""`Tour`: stations one after another in one window; a line above the scene shows their sentences.

A thread builds the next station's scene, and trains it as far as the station says, while the current one is shown.
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
"""Height of the line above a scene in logical pixels: usual, and in a small window."""
_TAKEN = ("Space", "End")
ON = {key: by for action, by in zip(TOUR, (1, -1), strict=False) for key in action.keys}
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
        self.bench.touch.table = tuple(table_of(TOUR))

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
        self._bar = round((SMALL if self._small else HEIGHT) * scale)
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
        margin, head, text, high = (12.0, 16, LABEL, SMALL) if small else (24.0, 20, TITLE, HEIGHT)
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
        for action in () if theme.presenter else reversed(TOUR):  # the presenter theme shows no small print
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
            if pressed:
                self.say(f"{pressed} does nothing here; ? shows the keys")
            return False
        if action.name == "toggle_theme":
            self.wall.turn_theme()
        return self.send(action.name)

    def _below(self, at: Point) -> Point:
        """Return a point in the scene's own pixels."""
        return at[0], at[1] - self._bar

    def press(self, at: Point, button: str = "left", *, shift: bool = False, ctrl: bool = False) -> None:
        """Pass a button press over the scene on to it."""
        if at[1] >= self._bar:
            super().press(self._below(at), button, shift=shift, ctrl=ctrl)

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
    opened = door.build(station.given)
    if station.trained:
        opened.scene.run.step(station.trained)
    return replace(opened, steps=max(1, opened.steps - station.trained), duration=station.duration)
