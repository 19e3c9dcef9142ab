"""`Wall`: pictures side by side in one window; each is the entry to a scene or run, and one is chosen.

A wall is a guest of a host, like a viewer. It persists while the window shows an entered scene; Escape returns to it.
It knows scenes only as `SceneEntry` objects and builds them in threads, because that takes up to a second.
"""

from __future__ import annotations

import math
import traceback
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...run.scene.scene import Scene
from ..ink.boxes import LABEL
from ..ink.painter import Painter
from ..ink.sketch import Box, Sketch, Spot, spot_at
from ..ink.text import DOT
from ..ink.theme import Theme, get_theme, presenting
from ..ink.widgets import banner, help_panel
from ..panels.drawer import words_of
from ..screen.hud import keys
from ..watch.actions import Action, action_of
from ..watch.host import Handler, Host, Point, Room
from ..watch.live import LiveView
from ..watch.viewer import WAIT

# ---- What a wall enters.


@dataclass(frozen=True, slots=True)
class BuiltScene:
    """A scene that was built."""

    scene: Scene
    steps: int = 3000  # steps until its window pauses
    duration: float = 20.0  # seconds that these steps take there


@dataclass(frozen=True, slots=True)
class SceneEntry:
    """A scene, or a run of a sweep, that can be entered."""

    name: str  # as on the command line
    summary: str  # what happens in it, in one sentence
    build: Callable[[Mapping[str, object]], BuiltScene]
    still: Path | None = None  # a picture of it
    missing: str = ""  # the command that installs what is missing, or ''
    remark: str = ""  # the notice on entering


# ---- Building a scene in a thread, so that the window stays responsive.

Made = TypeVar("Made")


def build_in_thread(make: Callable[[], Made]) -> Future[Made]:
    """Build something in a thread. It cannot be interrupted: the program ends only after it."""
    builder = ThreadPoolExecutor(1, "scalarviz-building")
    future = builder.submit(make)
    builder.shutdown(wait=False)
    return future


# ---- Pictures and their places.

PixelArray = NDArray[np.uint8]
ASPECT = 16 / 9
"""Width / height of a picture of a window."""
USUAL = (1280.0, 720.0)
"""Logical pixels of the largest unscaled window; larger windows scale everything."""


def scale_of(size: tuple[int, int]) -> float:
    """Return device pixels per logical pixel."""
    return max(1.0, min(size[0] / USUAL[0], size[1] / USUAL[1]))


def is_small(size: tuple[float, float]) -> bool:
    """Return whether a page of this many logical pixels is small and needs smaller type."""
    return size[0] < 900 or size[1] < 500


class Look(NamedTuple):
    """Logical pixels around pictures; `keys` is the distance of the line of keys from the lower edge."""

    margin: float
    gap: float
    top: float
    foot: float
    caption: float
    keys: float
    bar: float = 0.0  # width of the scroll bar; 0: all pictures are visible
    least: float = 0.0  # least area of a recognisable picture, in square pixels


@dataclass(frozen=True, slots=True)
class Grid:
    """The places of pictures in a window, in logical pixels; it scrolls by whole rows."""

    look: Look
    size: tuple[float, float]
    scale: float
    count: int
    columns: int
    rows: int  # rows visible at once
    first: int  # the top row
    picture: tuple[float, float]
    left: float
    top: float

    @property
    def last(self) -> int:
        """The largest possible top row."""
        return max(0, -(-self.count // self.columns) - self.rows)

    @property
    def shown(self) -> range:
        """The places of the visible pictures."""
        return range(self.first * self.columns, min((self.first + self.rows) * self.columns, self.count))

    def box(self, place: int) -> Box:
        """Return the box of a visible picture, on whole device pixels; its caption is below."""
        row, column = divmod(place - self.first * self.columns, self.columns)
        wide, high = self.picture
        x = self.left + column * (wide + self.look.gap)
        y = self.top + row * (high + self.look.caption + self.look.gap)
        return round(x * self.scale) / self.scale, round(y * self.scale) / self.scale, wide, high

    @property
    def bar(self) -> tuple[Box, Box] | None:
        """The scroll bar and its visible part, or None if everything is visible."""
        if not self.last:
            return None
        look, rows = self.look, self.last + self.rows
        x, high = self.size[0] - look.bar - 4, self.size[1] - look.top - look.foot
        part = max(high * self.rows / rows, 16.0)
        return (x, look.top, 6.0, high), (x, look.top + (high - part) * self.first / self.last, 6.0, part)

    def to(self, place: int) -> int:
        """Return the top row nearest to the current one with which a place is visible."""
        row = place // self.columns
        return min(max(self.first, row - self.rows + 1), row)

    def neighbour(self, place: int, across: int, down: int) -> int:
        """Return the place that many columns (in reading order) and rows away, or the nearest one."""
        further = place + across + down * self.columns
        if down and not 0 <= further < self.count:
            last = self.columns * ((self.count - 1) // self.columns)
            further = place % self.columns + (0 if down < 0 else last)
        return min(max(further, 0), self.count - 1)


def grid_of(
    size: tuple[int, int], count: int, look: Look, aspect: float = ASPECT, columns: int | None = None, first: int = 0
) -> Grid:
    """Return the places of pictures with width = `aspect` times height, in a window of this many device pixels.

    Without `columns` all pictures are visible, as large as possible. If they would be too small to recognise, rows
    scroll.
    """
    scale, margin, gap = scale_of(size), look.margin, look.gap
    wide, high = size[0] / scale, size[1] / scale
    room = max(wide - 2 * margin - look.bar, 40.0), max(high - look.top - look.foot, 40.0)

    def rows_for(across: int) -> int:
        """Return the number of rows for all pictures."""
        return max(1, -(-count // across))

    def side(across: int, rows: int) -> float:
        """Return the width of a picture for this many columns and rows."""
        tall = (room[1] - (rows - 1) * gap) / rows - look.caption
        return min((room[0] - (across - 1) * gap) / across, tall * aspect)

    scrolls, wanted = columns is not None, 0.0
    if columns is None:
        columns = max(range(1, max(count, 1) + 1), key=lambda across: side(across, rows_for(across)))
        wanted, least = side(columns, rows_for(columns)), math.sqrt(look.least * aspect)
        if wanted < least:
            columns, scrolls = max(1, int((room[0] + gap) // (least + gap))), True
    if scrolls:  # smaller than the columns allow if half a row would be empty
        wanted = side(columns, 1)
        rows = round((room[1] + gap) / (wanted / aspect + look.caption + gap))
        wanted = min(wanted, side(columns, min(rows_for(columns), max(1, rows))))
    whole = int if look.bar else round
    picture = max(float(whole(wanted)), 8.0), max(float(whole(wanted / aspect)), 5.0)
    step = picture[1] + look.caption + gap
    rows = max(1, int((room[1] + gap) // step)) if look.bar else rows_for(columns)
    left = margin + max(0.0, (room[0] - columns * picture[0] - (columns - 1) * gap) / 2)
    top = look.top + (0.0 if look.bar else max(0.0, room[1] - rows * step + gap) / 2)
    first = min(max(first, 0), max(0, rows_for(columns) - rows))
    return Grid(look, (wide, high), scale, count, columns, rows, first, picture, left, top)


def fitting(picture: PixelArray, size: tuple[int, int]) -> PixelArray:
    """Return a picture resized to another width and height, averaged so that no lines are lost."""
    from PIL import Image

    way = Image.Resampling.BOX if size < picture.shape[1::-1] else Image.Resampling.BILINEAR
    return np.asarray(Image.fromarray(picture).resize(size, way))


class FittedPicture:
    """A picture, with a copy in the device pixels of its last box."""

    def __init__(self, picture: PixelArray) -> None:
        self.picture = self._fitted = picture

    def fitted(self, box: Box, scale: float) -> PixelArray:
        """Return the picture in the device pixels of a box."""
        size = max(1, round(box[2] * scale)), max(1, round(box[3] * scale))
        if self._fitted.shape[1::-1] != size:
            self._fitted = fitting(self.picture, size)
        return self._fitted


# ---- The wall.

LINE = 18.0
"""Height of a line of words in place of a picture, in logical pixels."""
AWAY = "close what is open; then: back to"
BACK_SECONDS = 6.0
"""Seconds for which the target of Escape is shown."""


class Wall(Room):
    """The wall of one window, and the way to the scenes entered from it."""

    called: str
    """The name of the wall."""
    glows = False
    """True if the background is lighter in the middle."""
    grid: Grid
    numbers: Sequence[int] = ()
    """The number of each picture's scene or run, in order."""
    chosen: int | None = None

    def __init__(self, theme: str | Theme, actions: Sequence[Action], own: Mapping[str, Handler]) -> None:
        self.theme = get_theme(theme)
        self._opening: tuple[SceneEntry, Future[BuiltScene]] | None = None
        self._entered: tuple[SceneEntry, BuiltScene] | None = None  # the scene entered last
        self._end = 0  # its last step
        self._pressed: int | None = None
        self._drawn: list[Sketch] = []
        super().__init__(actions, {
            "left": lambda: self.go(-1, 0), "right": lambda: self.go(1, 0), "up": lambda: self.go(0, -1),
            "down": lambda: self.go(0, 1), "enter": self.enter, **own,
        })  # fmt: skip

    # ---- to be defined by each wall

    @abstractmethod
    def _lay_out(self) -> None:
        """Compute the places of the pictures."""

    @abstractmethod
    def _go_on(self, host: Host, seconds: float) -> None:
        """Update the pictures after `seconds`."""

    @abstractmethod
    def sketches(self) -> list[Sketch]:
        """Return everything on the wall."""

    @abstractmethod
    def choose(self, number: int | None) -> None:
        """Choose the picture with this number; None changes nothing."""

    @property
    @abstractmethod
    def door(self) -> SceneEntry | None:
        """The chosen entry."""

    # ---- entering and returning

    def appear(self, size: tuple[int, int]) -> Self:
        """Reset and lay out the wall for a window of this many device pixels."""
        self._notice, self._help, self._escape_until, self._pressed = "", 0, 0.0, None
        self.resize(size)
        return self

    def close(self) -> None:
        """Drop the scene that is opening."""
        self._opening = None

    def _show(self, door: SceneEntry, opened: BuiltScene) -> None:
        """Show a scene in the window; Escape returns to the wall."""
        if self._entered is None or self._entered[1].scene is not opened.scene:
            self._entered, self._end = (door, opened), opened.scene.run.steps + opened.steps
        name = DOT.join(dict.fromkeys([opened.scene.name, door.name]))
        self._ask_host(lambda host: host.enter(lambda size: self._scene(door, opened, size), name))

    def _scene(self, door: SceneEntry, opened: BuiltScene, size: tuple[int, int]) -> LiveView:
        view = LiveView(opened.scene, size, steps=opened.steps, duration=opened.duration, theme=self.theme, wait=WAIT)
        view.escape_action = lambda: self.return_to_wall(view.bench.theme)
        keys, escape = view.bench.interaction, action_of("escape").does
        keys.table = tuple((key, f"{AWAY} {self.called}" if does == escape else does) for key, does in keys.table)
        view.bench.lead_keys(action_of("escape").keys[0], self.called)
        view.say(DOT.join(filter(None, (door.remark, f"Escape returns to {self.called}"))), BACK_SECONDS)
        return view

    def return_to_wall(self, theme: Theme | None = None) -> None:
        """Return to the wall, with the theme of the scene."""
        self.theme = theme or self.theme
        self._ask_host(lambda host: host.enter(self.appear, self.called))

    @property
    def last_entered(self) -> tuple[SceneEntry, BuiltScene] | None:
        """The scene entered last; None while a thread is still in a long call of it."""
        left = self._entered
        return None if left is None or left[1].scene.run._store.gate is not None else left

    def opened(self, door: SceneEntry, given: Mapping[str, object]) -> BuiltScene:
        """Return the scene of an entry; the one entered last continues where it was left."""
        left = self.last_entered
        if given or left is None or left[0].name != door.name:
            return door.build(given)
        to_go = self._end - left[1].scene.run.steps
        return replace(left[1], steps=to_go if to_go > 0 else left[1].steps)

    # ---- time

    def _beat(self, host: Host, seconds: float) -> None:
        self.pass_time(seconds)
        if self._opening is not None and self._opening[1].done():
            (door, future), self._opening, self._dirty = self._opening, None, True
            if (opened := self._result_of(future)) is not None:
                self._show(door, opened)
        self._go_on(host, seconds)
        self.repaint()

    def _result_of(self, future: Future[Made]) -> Made | None:
        """Return what was built, or None; a notice shows the error."""
        if (error := future.exception()) is None:
            return future.result()
        said = words_of(error)
        if said != str(error) and self.host is not None:
            self.host.tell("".join(traceback.format_exception(error)).rstrip())
        self.say(said)
        return None

    # ---- choosing

    def place_of(self, number: int | None) -> int | None:
        """Return the place of the picture with this number, or None."""
        return next((place for place, one in enumerate(self.numbers) if one == number), None)

    @property
    def place(self) -> int | None:
        """The place of the chosen picture."""
        return self.place_of(self.chosen)

    def choose_at(self, place: int) -> None:
        """Choose the picture at a place."""
        if self.numbers:
            self.choose(self.numbers[place])

    def go(self, across: int, down: int) -> None:
        """Choose the neighbouring picture."""
        self.choose_at(self.grid.neighbour(self.place or 0, across, down))

    def enter(self, given: Mapping[str, object] | None = None) -> None:
        """Enter the chosen scene with these options."""
        door = self.door
        if door is not None and self._opening is None:
            self._opening, self._dirty = (door, build_in_thread(lambda: self.opened(door, given or {}))), True

    def cancel(self) -> bool:
        """Cancel opening a scene; return whether one was opening."""
        if self._opening is None:
            return False
        self._opening, self._notice = None, ""
        return True

    def turn_theme(self) -> None:
        """Switch between light and dark, from the next picture on."""
        self.theme = presenting("light" if self.theme.name == "dark" else "dark", self.theme.presenter)

    def toggle_theme(self) -> None:
        """Switch between light and dark."""
        self.turn_theme()
        self._lay_out()

    # ---- picture

    @property
    def page(self) -> tuple[float, float]:
        """Width and height of the wall in logical pixels."""
        return self.grid.size

    def _placed(self, grid: Grid) -> None:
        """Set the places of the pictures."""
        self._painters = [Painter(grid.size, grid.scale) for _ in range(2)]  # for the wall, and for what is above it
        self.grid, self._drawn, self._dirty = grid, [], True

    def _foot(self, words: Sequence[tuple[str, str]] | None = None) -> Sketch:
        """Return the line of keys."""
        grid = self.grid
        said = [(a.keys[0], a.words) for a in self._actions if a.words] if words is None else [*words]
        said.append((action_of("toggle_help").keys[0], "all keys"))
        margin = grid.look.margin
        return keys(margin, grid.size[1] - grid.look.keys, grid.size[0] - 2 * margin, self.theme, said)

    def _tile(
        self, sketch: Sketch, place: int, name: str, face: FittedPicture | None, words: Sequence[str], colour: str,
        pad: float = 10.0,
    ) -> Box:  # fmt: skip
        """Draw a picture, or words in its place, with a frame that marks the chosen one; a click enters."""
        theme, box, number = self.theme, self.grid.box(place), self.numbers[place]
        x, y, wide, high = box
        rim, frame = (2.5, theme.selection) if number == self.chosen else (1.0, theme.border)
        sketch.rect(x - rim, y - rim, wide + 2 * rim, high + 2 * rim, fill=frame, radius=rim)
        if face is not None:
            sketch.image(box, face.fitted(box, self.grid.scale))
        else:
            sketch.rect(*box, fill=theme.panel)
            top = y + (high - LINE * len(words)) / 2 + 13
            for row, line in enumerate(words):
                sketch.text(x + pad, top + LINE * row, line, LABEL, colour)
        sketch.spot((x, y, wide, high + self.grid.look.caption), "enter", number, words=name)
        return box

    def overlay(self) -> list[Sketch]:
        """Return the list of keys or the notice, above everything."""
        theme, size = self.theme, self.page
        if self._help:
            return [help_panel(size, self.table(), theme, self._help)]
        return [banner(self._notice, size, size[1], size[0], theme, alarm=False)] if self._notice else []

    def draw(self, viewport: tuple[int, int] | None = None) -> None:
        """Draw the wall into the bound framebuffer."""
        (below, above), theme = self._painters, self.theme
        below.background(theme.background, theme.glow if self.glows else theme.background)
        self._drawn = self.sketches()
        below.draw(self._drawn)
        if over := self.overlay():
            above.draw(over)

    def resize(self, size: tuple[int, int]) -> None:
        """Lay out for another size in device pixels."""
        self._size = size
        self._lay_out()

    # ---- pointer

    def _spot(self, at: Point) -> Spot | None:
        """Return the spot under a point in device pixels."""
        self._drawn = self._drawn or self.sketches()
        spots = (spot for sketch in self._drawn for spot in sketch.spots)
        return spot_at(spots, (at[0] / self.grid.scale, at[1] / self.grid.scale))

    def _number_at(self, at: Point) -> int | None:
        """Return the number of the picture under a point, or None; numbers stay when pictures move."""
        spot = self._spot(at)
        return int(spot.value) if spot is not None and spot.name == "enter" else None

    def press(self, at: Point, button: str = "left", *, shift: bool = False, ctrl: bool = False) -> None:
        """Handle a button press."""
        self._pressed = self._number_at(at) if button == "left" else None

    def release(self, at: Point) -> None:
        """Handle a release: over the pressed picture it enters its scene."""
        number, self._pressed = self._pressed, None
        if self._help:
            self._help, self._dirty = 0, True
        elif number is not None and number == self._number_at(at):
            self.choose(number)
            self.enter()

    def move(self, at: Point) -> None:
        """Handle a pointer move: it chooses the picture under the pointer."""
        if not self._help and self._opening is None:
            self.choose(self._number_at(at))
