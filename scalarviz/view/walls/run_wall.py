"""`RunWall`: the runs of a sweep side by side, sorted by their loss; a click opens one, which trains on from there."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...sweep.groups import Group, by_loss, swept
from ...sweep.result import Result
from ..ink.overlay import wrapped
from ..ink.places import BIG, LABEL, TITLE
from ..ink.sketch import Box, Sketch, holds
from ..ink.text import measure
from ..ink.theme import Theme
from ..panels.drawer import cut
from ..screen.hud import keys
from ..watch.actions import RUNS, action_of, table_of
from ..watch.host import Point
from .grid import USUAL
from .run_faces import Faces
from .run_plots import sentence, sheet
from .runs import DOT, LEARNT, counts_text, ending_colour, ending_of, number_text, options_text, run_text
from .tiled import Tiled
from .wall_drawing import Picture

if TYPE_CHECKING:
    from .run_rooms import RunRooms


# ---- Where the runs stand on their wall: rows that scroll as wholes, in logical pixels.

MARGIN, GAP, BAR = 24.0, 14.0, 12.0
"""Around everything, between two pictures, and of the bar at the right that says where one is."""
TOP, FOOT, CAPTION = 92.0, 40.0, 22.0
LEAST = 13_000.0
"""Square pixels of a picture that can be made out."""


@dataclass(frozen=True, slots=True)
class RunGrid:
    """The places of some runs in a window.

    Attributes
    ----------
    size : (float, float)
        Logical pixels of the window.
    scale : float
        Device pixels of one of them.
    count, columns, rows : int
        Runs, and how many pictures stand side by side and, at once, below each other.
    first : int
        The row on top.
    picture : (float, float)
        Width and height of a picture; its caption stands below it.
    left : float
        Where the first column begins.
    """

    size: tuple[float, float]
    scale: float
    count: int
    columns: int
    rows: int
    first: int
    picture: tuple[float, float]
    left: float

    @property
    def last(self) -> int:
        """The row that can be on top at most."""
        return max(0, -(-self.count // self.columns) - self.rows)

    @property
    def shown(self) -> range:
        """The runs that are seen."""
        return range(self.first * self.columns, min((self.first + self.rows) * self.columns, self.count))

    def box(self, place: int) -> Box:
        """The picture at a place that is seen."""
        row, column = divmod(place - self.first * self.columns, self.columns)
        wide, high = self.picture
        x, y = self.left + column * (wide + GAP), TOP + row * (high + CAPTION + GAP)
        return round(x * self.scale) / self.scale, round(y * self.scale) / self.scale, wide, high

    @property
    def bar(self) -> tuple[Box, Box] | None:
        """The bar at the right and its part that is seen; None where all is seen."""
        if not self.last:
            return None
        x, high = self.size[0] - BAR - 4, self.size[1] - TOP - FOOT
        rows = self.last + self.rows
        part = max(high * self.rows / rows, 16.0)
        return (x, TOP, 6.0, high), (x, TOP + (high - part) * self.first / self.last, 6.0, part)

    def at(self, point: tuple[float, float]) -> int | None:
        """The place under a point in device pixels, its caption included."""
        at = point[0] / self.scale, point[1] / self.scale
        boxes = ((place, self.box(place)) for place in self.shown)
        return next((place for place, (x, y, wide, high) in boxes if holds((x, y, wide, high + CAPTION), at)), None)

    def row_at(self, point: tuple[float, float]) -> int | None:
        """The row on top where the bar is taken hold of at a point; None beside the bar."""
        if self.bar is None:
            return None
        (left, top, wide, high), _ = self.bar
        x, y = point[0] / self.scale, point[1] / self.scale
        inside = left - 6 <= x <= left + wide + 6 and top <= y <= top + high
        return round(self.last * min(max((y - top) / high, 0.0), 1.0)) if inside else None

    def to(self, place: int) -> int:
        """The row on top where a place is to be seen: as few rows away as possible."""
        row = place // self.columns
        return min(max(self.first, row - self.rows + 1), row)

    def beside(self, place: int, across: int, down: int) -> int:
        """The place so many columns and rows further; the nearest where there is none."""
        further = place + across + down * self.columns
        if down and not 0 <= further < self.count:
            column = place % self.columns
            further = (
                column if down < 0 else min(self.count - 1, self.columns * ((self.count - 1) // self.columns) + column)
            )
        return min(max(further, 0), self.count - 1)


def run_grid(size: tuple[int, int], count: int, aspect: float, columns: int | None = None, first: int = 0) -> RunGrid:
    """The places of pictures whose width is `aspect` times their height, in a window of so many device pixels.

    Without `columns` all of them are seen, as large as that lets them be; where they would be too small to be made out
    there are rows to be scrolled to.
    """
    scale = max(1.0, min(size[0] / USUAL[0], size[1] / USUAL[1]))
    window = size[0] / scale, size[1] / scale
    room = max(window[0] - 2 * MARGIN - BAR, 40.0), max(window[1] - TOP - FOOT, 40.0)

    def side(across: int, down: int) -> float:
        """The width of a picture, so many of them beside and below each other."""
        high = (room[1] - (down - 1) * GAP) / down - CAPTION
        return min((room[0] - (across - 1) * GAP) / across, high * aspect)

    if columns is None:
        columns = max(range(1, max(count, 1) + 1), key=lambda across: side(across, -(-max(count, 1) // across)))
        wide = side(columns, -(-max(count, 1) // columns))
        least = math.sqrt(LEAST * aspect)
        if wide < least:
            columns = max(1, int((room[0] + GAP) // (least + GAP)))
            wide = _of_rows(columns, side, room[1], count, aspect)
    else:
        wide = _of_rows(columns, side, room[1], count, aspect)
    picture = max(float(int(wide)), 8.0), max(float(int(wide / aspect)), 5.0)
    rows = max(1, int((room[1] + GAP) // (picture[1] + CAPTION + GAP)))
    left = MARGIN + max(0.0, (room[0] - columns * picture[0] - (columns - 1) * GAP) / 2)
    last = max(0, -(-count // columns) - rows)
    return RunGrid(window, scale, count, columns, rows, min(max(first, 0), last), picture, left)


def _of_rows(columns: int, side: Callable[[int, int], float], high: float, count: int, aspect: float) -> float:
    """The width of pictures in rows that scroll; less than their columns let it be where half a row is left empty."""
    wide, needed = side(columns, 1), max(1, -(-count // columns))
    rows = round((high + GAP) / (wide / aspect + CAPTION + GAP))
    return min(wide, side(columns, min(needed, max(1, rows))))


MOST = 24
"""Pictures side by side, at most."""
PLOTS_KEY = next(action.keys[0] for action in RUNS if action.name == "plots")
KINDS = ("all runs", "runs that learnt", "runs that did not")
LOOK, SHARE = 2.0, 0.05
"""Seconds between two looks at the file, and the part of the time that they may take."""


class RunWall(Tiled):
    """The wall of one window."""

    rooms: RunRooms

    def __init__(self, rooms: RunRooms, size: tuple[int, int]) -> None:
        self._pressed: int | None = None
        self._held = False
        self._since, self._until_look = 0.0, LOOK
        self._sheet: Sketch | None = None
        super().__init__(rooms, size, RUNS, {
            name: self._of_runs(does) for name, does in {
                "left": lambda: self.go(-1, 0), "right": lambda: self.go(1, 0), "up": lambda: self.go(0, -1),
                "down": lambda: self.go(0, 1), "page_up": lambda: self.turn(-1), "page_down": lambda: self.turn(1),
                "first": lambda: self.choose(0), "last": lambda: self.choose(len(self.results) - 1),
                "enter": self.enter, "faces": self.turn_faces, "kinds": self.turn_kinds,
                "larger": lambda: self._resize(1), "smaller": lambda: self._resize(-1),
            }.items()
        } | {"plots": self.turn_plots})  # fmt: skip
        self._sort()

    def _of_runs(self, does: Callable[[], object]) -> Callable[[], object]:
        """What a key does with the runs; beside their plots it says where they are."""

        def does_or_says() -> None:
            if self.rooms.plots:
                self.say(f"{PLOTS_KEY} shows the runs again")
            else:
                does()

        return does_or_says

    # ---- what is shown

    def _sort(self) -> None:
        """The runs that are shown, from the lowest loss on; the chosen one stays chosen."""
        rooms, every = self.rooms, by_loss(self.rooms.runs.results)
        both = ((True, False), (True,), (False,))[rooms.kind]
        self.results: list[Result] = [result for result in every if (ending_of(result) == LEARNT) in both]
        numbers = [result.number for result in self.results]
        if rooms.chosen not in numbers:
            rooms.chosen = numbers[0] if numbers else None
        self._lay_out()

    @property
    def place(self) -> int | None:
        """Where the chosen run stands."""
        numbers = [result.number for result in self.results]
        return numbers.index(self.rooms.chosen) if self.rooms.chosen in numbers else None

    @property
    def faces(self) -> Faces:
        """The pictures of the runs."""
        return self.rooms.faces

    def _lay_out(self) -> None:
        rooms = self.rooms
        self.grid: RunGrid = run_grid(self._size, len(self.results), self.faces.aspect, rooms.columns, rooms.row)
        rooms.row = self.grid.first
        self._take_painters(self.grid.size, self.grid.scale)
        self._sheet = None
        self._dirty = True

    def _scroll(self, row: int) -> None:
        """Let a row be the first."""
        rooms = self.rooms
        row = min(max(row, 0), self.grid.last)
        if row != rooms.row:
            rooms.row = row
            self.grid, self._dirty = replace(self.grid, first=row), True

    # ---- time

    def _beat(self, seconds: float) -> None:
        assert self.host is not None
        self.pass_time(seconds)
        self._open_when_built()
        self._since += seconds
        if self._since >= self._until_look:
            began, self._since = time.perf_counter(), 0.0
            if self.rooms.look():
                self._sort()
            self._until_look = max(LOOK, (time.perf_counter() - began) / SHARE)
        if self.host.visible and self._opening is None and not self.rooms.plots:
            self.draw_next()
        self.repaint()

    @property
    def seen(self) -> list[Result]:
        """The runs that have a place in the window now."""
        return [self.results[place] for place in self.grid.shown]

    @property
    def missing(self) -> bool:
        """Whether a run that is seen has no picture yet."""
        return any(not self.faces.tried(result) for result in self.seen)

    def draw_next(self) -> None:
        """Go on with the pictures of the runs that are seen."""
        before = self.faces.aspect
        if self.faces.go_on(self.seen):
            self._dirty = True
            if self.faces.aspect != before:
                self._lay_out()

    # ---- choosing and opening

    def choose(self, place: int | None) -> None:
        """Choose the run at a place, and let it be seen."""
        if place is None or not 0 <= place < len(self.results):
            return
        self.rooms.chosen, self._dirty = self.results[place].number, True
        self._scroll(self.grid.to(place))

    def go(self, across: int, down: int) -> None:
        """Choose the run beside."""
        if self.results:
            self.choose(self.grid.beside(self.place or 0, across, down))

    def turn(self, pages: int) -> None:
        """So many pages down."""
        self.go(0, pages * self.grid.rows)

    def enter(self, place: int | None = None) -> None:
        """Open the run at a place, else the chosen one."""
        if self.rooms.plots or self._opening is not None:
            return
        if place is not None:
            self.choose(place)
        if self.place is not None:
            result = self.results[self.place]
            self._opening, self._dirty = self.rooms.build(lambda: self.rooms.run(result)), True

    def turn_faces(self) -> None:
        """Cubes, or the panel."""
        said = self.faces.turn()
        self.say(said)
        self._lay_out()

    def turn_kinds(self) -> None:
        """All runs, or those that learnt, or those that did not."""
        self.rooms.kind = (self.rooms.kind + 1) % len(KINDS)
        self._sort()
        self.say(f"{KINDS[self.rooms.kind]}: {len(self.results):,} of {len(self.rooms.runs.results):,}")

    def turn_plots(self) -> None:
        """The plots, or the runs again."""
        self.rooms.plots, self._notice = not self.rooms.plots, ""

    def _resize(self, by: int) -> None:
        self.rooms.columns = min(max(self.grid.columns - by, 1), MOST)
        self._lay_out()
        if self.place is not None:
            self._scroll(self.grid.to(self.place))

    def open(self, paths: Sequence[Path]) -> None:
        """Files were dropped: none is taken here."""
        self.say("nothing is opened here; open a run first, and drop it there")

    # ---- picture

    def sketches(self) -> list[Sketch]:
        """Everything on the wall."""
        rooms, theme, grid = self.rooms, self.rooms.theme, self.grid
        words = [(PLOTS_KEY, "runs")] if rooms.plots else [(a.keys[0], a.words) for a in RUNS if a.words]
        words.append((action_of("toggle_help").keys[0], "all keys"))
        below = foot(grid, theme, words)
        if rooms.plots:
            if self._sheet is None:
                room = grid.size[0], grid.size[1] - 30
                self._sheet = sheet(rooms.runs.results, room, theme, rooms.runs.title).placed(ground=False)
            return [self._sheet, below]
        chosen = self.place
        said = run_text(self.results[chosen], rooms.runs.results) if chosen is not None else sentence(())
        remarks = {chosen: "opening"} if chosen is not None and self._opening is not None else {}
        pictures = {
            place: picture
            for place in grid.shown
            if (picture := self.faces.fitted(self.results[place], grid.box(place), grid.scale)) is not None
        }
        top = head(grid, theme, rooms.runs.title, self._notes(), said)
        return [top, tiles(grid, theme, self.results, pictures, chosen, remarks, self.faces.said), below]

    def _notes(self) -> list[str]:
        """What is said of all runs beside the title, the longest first: one of them has room."""
        rooms, every = self.rooms, Group(None, self.rooms.runs.results)
        kind = f"{KINDS[rooms.kind]}: {len(self.results):,}" if rooms.kind else ""
        said = (sentence(every.results), counts_text(every), "") if every.results else ("",)
        return [DOT.join(filter(None, (kind, rooms.progress, one))) for one in said]

    # ---- keys and pointer

    @property
    def page(self) -> tuple[float, float]:
        """Logical pixels."""
        return self.grid.size

    def table(self) -> list[tuple[str, str]]:
        """The list of keys."""
        return table_of(RUNS)

    def give_up(self) -> bool:
        """The plots are closed, or a run that is being opened is not, after all."""
        if self._opening is None and not self.rooms.plots:
            return False
        self._opening, self._notice, self.rooms.plots = None, "", False
        return True

    def toggle_theme(self) -> None:
        """Light or dark."""
        self.rooms.toggle_theme()
        self._lay_out()

    def press(self, at: Point, button: str = "left", *, shift: bool = False, ctrl: bool = False) -> None:
        """A button went down."""
        if button != "left" or self.rooms.plots:
            return
        row = self.grid.row_at(at)
        self._held, self._pressed = row is not None, None if row is not None else self._run_at(at)
        if row is not None:
            self._scroll(row)

    def release(self, at: Point) -> None:
        """The button went up: over the run where it went down it opens that."""
        pressed, self._pressed, self._held = self._pressed, None, False
        if self._help:
            self._help, self._dirty = 0, True
        elif pressed is not None and pressed == self._run_at(at):
            self.enter(self.grid.at(at))

    def _run_at(self, at: Point) -> int | None:
        """The number of the run there: another one may stand in its place when there are more."""
        place = self.grid.at(at)
        return None if place is None or place >= len(self.results) else self.results[place].number

    def move(self, at: Point) -> None:
        """The pointer is at `at`: over a run it chooses that."""
        if self._held:
            row = self.grid.row_at((self.grid.bar[0][0] * self.grid.scale, at[1])) if self.grid.bar else None
            self._scroll(self.rooms.row if row is None else row)
        elif not (self._help or self.rooms.plots or self._opening is not None):
            self.choose(self.grid.at(at))

    def scroll(self, at: Point, notches: tuple[float, float], *, shift: bool = False) -> None:
        """The wheel turned: rows up or down, as many as notches."""
        if not self.rooms.plots and notches[1]:
            self._scroll(self.rooms.row - (1 if notches[1] > 0 else -1) * max(1, round(abs(notches[1]))))

    def close(self) -> None:
        """Let go of what is being opened."""
        self._opening = None


# ---- How the wall of runs looks: title, pictures with their losses, the chosen one's words, the line of keys.

HEAD, LINE, KEYS = 42.0, 70.0, 17.0
"""Baselines of the title and of the line below it from above, and of the keys from below."""


def head(grid: RunGrid, theme: Theme, title: str, notes: Sequence[str], line: str) -> Sketch:
    """The title, at the right the first of some notes that leaves it room, and a line below."""
    sketch, wide = Sketch(), grid.size[0] - 2 * MARGIN
    needed = measure(title, BIG, True) + 24
    note = next((note for note in notes if needed + measure(note, LABEL) <= wide), "")
    sketch.text(MARGIN, HEAD, cut(title, wide, BIG, bold=True), BIG, theme.text1, bold=True)
    sketch.text(MARGIN + wide, HEAD, note, LABEL, theme.text3, anchor="right")
    line = line if measure(line, TITLE) <= wide else cut(line, wide, TITLE)
    sketch.text(MARGIN, LINE, line, TITLE, theme.text2)
    return sketch


def foot(grid: RunGrid, theme: Theme, table: Sequence[tuple[str, str]]) -> Sketch:
    """The line of keys."""
    return keys(MARGIN, grid.size[1] - KEYS, grid.size[0] - 2 * MARGIN, theme, table)


def tiles(
    grid: RunGrid,
    theme: Theme,
    results: Sequence[Result],
    pictures: Mapping[int, Picture],
    chosen: int | None,
    remarks: Mapping[int, str],
    said: Mapping[int, str],
) -> Sketch:
    """The runs that are seen.

    Parameters
    ----------
    results : sequence of Result
        All of them, in the order of the wall.
    pictures : mapping of int to ndarray
        By place, in the pixels of a tile; a run without one shows its words.
    chosen : int or None
        A place.
    remarks : mapping of int to str
        What is said instead of a loss ("opening").
    said : mapping of int to str
        Why a run has no picture, by its number.
    """
    sketch, names = Sketch(), swept(results)
    for place in grid.shown:
        result, box = results[place], grid.box(place)
        x, y, wide, high = box
        mine = place == chosen
        rim = 2.5 if mine else 1.0
        sketch.rect(x - rim, y - rim, wide + 2 * rim, high + 2 * rim, fill=theme.selection if mine else theme.border,
                    radius=rim)  # fmt: skip
        if place in pictures:
            sketch.image(box, pictures[place])
        else:
            sketch.rect(*box, fill=theme.panel)
            _words(sketch, box, theme, result, said.get(result.number, ""))
        _caption(sketch, box, theme, result, (options_text(result.options, names), remarks.get(place, "")), mine)
    _bar(sketch, grid, theme)
    return sketch


def _words(sketch: Sketch, box: Box, theme: Theme, result: Result, why: str) -> None:
    """What stands in the place of a picture."""
    x, y, wide, high = box
    said = f"{result.state} after step {result.steps:,}" if result.state != "done" else ""
    why = why or result.error
    lines = wrapped(": ".join(filter(None, (said, why))), wide - 20)[: max(1, int(high // 18) - 1)]
    top = y + (high - 18 * len(lines)) / 2 + 13
    for row, line in enumerate(lines):
        sketch.text(x + 10, top + 18 * row, cut(line, wide - 20), LABEL, theme.text3)


def _caption(sketch: Sketch, box: Box, theme: Theme, result: Result, words: tuple[str, str], mine: bool) -> None:
    """A disc for how it ended, its loss or a remark; at the right its options and its seed, as far as there is room."""
    x, y, wide, high = box
    baseline, options, remark = y + high + CAPTION - 6, *words
    ending = ending_of(result)
    sketch.disc(x + 4.5, baseline - 4.5, 4.5, ending_colour(ending, theme))
    said = remark or (number_text(result.loss) if result.state == "done" else result.state)
    said = cut(said, wide - 14)
    sketch.text(x + 14, baseline, said, LABEL, theme.text1 if mine else theme.text2, bold=mine)
    room = wide - 14 - measure(said, LABEL, mine) - 10
    seed = f"seed {result.seed:,}"
    for beside in (f"{options}, {seed}" if options else seed, options, seed):
        if beside and measure(beside, LABEL) <= room:
            sketch.text(x + wide, baseline, beside, LABEL, theme.text3, anchor="right")
            return


def _bar(sketch: Sketch, grid: RunGrid, theme: Theme) -> None:
    if grid.bar is not None:
        whole, part = grid.bar
        sketch.rect(*whole, fill=theme.panel, radius=BAR / 4)
        sketch.rect(*part, fill=theme.flow, radius=BAR / 4)
