"""`RunWall`: the runs of a sweep side by side, sorted by their loss; a click opens one, which trains on from there."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...sweep.groups import Group, by_loss, swept
from ...sweep.result import Result
from ..draw.places import BIG, LABEL, TITLE
from ..draw.sketch import Box, Sketch
from ..draw.text import measure
from ..draw.theme import Theme
from ..panels.drawer import cut
from ..panels.hud import keys
from ..panels.overlay import wrapped
from ..rooms.tiled import Tiled
from ..rooms.wall_drawing import Picture
from ..watch.actions import action_of
from ..watch.hands import Point
from ..watch.room import table_of
from ..watch.room_actions import RUNS
from .faces import Faces
from .grid import BAR, CAPTION, MARGIN, RunGrid, run_grid
from .plots import sentence, sheet
from .runs import DOT, LEARNT, counts_text, ending_colour, ending_of, number_text, options_text, run_text

if TYPE_CHECKING:
    from .rooms import RunRooms


MOST = 24
"""Pictures side by side, at most."""
PLOTS_KEY = next(action.keys[0] for action in RUNS if action.name == "plots")
KINDS = ("all runs", "runs that learnt", "runs that did not")
LOOK, SHARE = 2.0, 0.05
"""Seconds between two looks at the file, and the part of the time that they may take."""


class RunWall(Tiled):
    """The wall of one window.

    Parameters
    ----------
    rooms : RunRooms
        Where it leads; holds the runs, their pictures, the look and which of them is chosen.
    size : (int, int)
        Device pixels.
    """

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
    sketch.text(MARGIN, HEAD, _shortened(title, wide, BIG, bold=True), BIG, theme.text1, bold=True)
    sketch.text(MARGIN + wide, HEAD, note, LABEL, theme.text3, anchor="right")
    sketch.text(MARGIN, LINE, _shortened(line, wide, TITLE), TITLE, theme.text2)
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


def _shortened(line: str, room: float, size: float, *, bold: bool = False) -> str:
    """As much of a line as has room."""
    if measure(line, size, bold) <= room:
        return line
    while line and measure(f"{line}…", size, bold) > room:
        line = line[:-1]
    return f"{line.rstrip()}…" if line else ""
