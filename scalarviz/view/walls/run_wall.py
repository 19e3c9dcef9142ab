"""`RunWall`: a sweep's runs side by side, sorted by loss. A click opens a run, which can train on.

`RunPictures` has their pictures.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, MissingDependencyError, shown
from ...io.atomic import StrPath, path_text
from ...run.panels import LossCurve, Panel, Table
from ...run.questions.ranges import weight_extent
from ...run.scene.scene import Scene
from ...sweep.groups import ALL, Left, by_loss, swept
from ...sweep.job import Build
from ...sweep.result import Result
from ...sweep.results import Results
from ..ink.boxes import BIG, LABEL, TITLE, arrange, check_size
from ..ink.painter import Painter, Viewport
from ..ink.sketch import Sketch, Spot
from ..ink.text import DOT, measure
from ..ink.theme import Theme
from ..ink.widgets import wrapped
from ..out.canvas import Canvas, Pixels
from ..out.offscreen import offscreen
from ..page.pictures import WINDOW, with_air
from ..panels.drawer import cut, words_of
from ..screen.side import SidePanels
from ..shown.subject import Subject, subject_of
from ..watch.actions import RUNS, normalised
from ..watch.host import Host, Point
from .run_plots import sentence, sheet
from .runs import LEARNT, Runs, Standing, ending_colour, ending_of, let_go, number_text, options_text, run_text, runs_of
from .wall import ASPECT, LINE, BuiltScene, FittedPicture, Look, SceneEntry, Wall, build_in_thread, fitting, grid_of

# ---- Small pictures of a finished run: its cubes, and its scene's main panel.

PLATES = (480, 270)
"""Width and height in pixels of a picture of cubes; names stay readable at half this size."""
WORDY = (LossCurve, Table)
"""Panels that show little in a small picture."""


def main_panel(scene: Scene) -> Panel | None:
    """Return the panel that best shows what is learnt: the column's first that is no curve or table."""
    column = [panel for panel in scene.panels if panel.place == "column" and not isinstance(panel, LossCurve)]
    pictures = [panel for panel in column if not isinstance(panel, WORDY)]
    return next(iter([*pictures, *column]), None)


class Thumbs:
    """Draws pictures of runs, one after the other."""

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        self._canvas: Canvas | None = None
        self._like: tuple[object, ...] = ()

    def plates(self, run: Standing) -> Pixels:
        """Return the cubes of a run, uint8 (270, 480, 3)."""
        subject = subject_of(run)
        frame, like = subject.frame(), _like(subject)
        if self._canvas is None or self._like != like:
            self._canvas, self._like = Canvas(subject, PLATES, self.theme), like
            with offscreen():
                self._canvas.bench.show_panels(False)
        return self._canvas.picture(frame=frame)

    def panel(self, run: Standing) -> Pixels | None:
        """Return the main panel of a run, uint8 (H, W, 3), as large as in a column; None if there is none."""
        chosen = main_panel(run) if isinstance(run, Scene) else None
        if chosen is None:
            return None
        subject = subject_of(run)
        frame = subject.frame()
        with offscreen():
            side = SidePanels(subject, self.theme)
            side.shared.shows_all = True
            name = next(name for name, drawer in side.drawers.items() if drawer.panel is chosen)
            boxes = arrange(WINDOW, [one for one in side.column.wanted_panels() if one.name == name]).panels
            if name not in boxes:
                return None
            x, y, wide, high = with_air(boxes[name])
            side.place({name: (boxes[name][0] - x, boxes[name][1] - y, *boxes[name][2:])})
            side.shared.extent = weight_extent(frame.values)
            size = round(wide), round(high)
            painter, sketches, ground = Painter(size), side.update(frame), self.theme.background

            def draw(_: Viewport) -> None:
                painter.background(ground, ground)
                painter.draw(sketches)

            return offscreen().render(draw, size)


def _like(subject: Subject) -> tuple[object, ...]:
    """Return a key that is equal for subjects that can share a workbench."""
    probe = subject.probe
    return subject.tensors, subject.stages, None if probe is None else np.asarray(probe).tobytes()


KEPT = 400
"""Most pictures kept."""
SIDE = 420
"""Most pixels of a kept picture's width."""
CUBES, PANEL = "cubes", "panel"

Key = tuple[str, str, int]


class RunPictures:
    """Pictures by content and run."""

    def __init__(self, standing: Callable[[Result], Standing], theme: Callable[[], Theme]) -> None:
        self._standing, self._theme = standing, theme
        self._thumbs = Thumbs(theme())
        self._kept: OrderedDict[Key, FittedPicture | None] = OrderedDict()
        self._building: tuple[Result, Future[Standing]] | None = None
        self._aspects = {CUBES: PLATES[0] / PLATES[1]}
        self.shows = PANEL
        self.said: dict[int, str] = {}

    @property
    def aspect(self) -> float:
        """Width / height of the pictures; that of a window until a panel is drawn."""
        return self._aspects.get(self.shows, ASPECT)

    def turn(self) -> str:
        """Switch between cubes and panel; return a message with what is shown now."""
        self.shows = CUBES if self.shows == PANEL else PANEL
        return "the cubes of each run" if self.shows == CUBES else "the panel of each run's scene"

    def picture_of(self, result: Result) -> FittedPicture | None:
        """Return a run's picture, or None if there is none (yet)."""
        return self._kept.get(self._key(result))

    def tried(self, result: Result) -> bool:
        """Return whether the picture of a run is finished, or cannot be drawn."""
        return result.state != "done" or self._key(result) in self._kept

    def go_on(self, seen: Sequence[Result], *, wait: bool = False) -> bool:
        """Continue with the next picture of the visible runs, one part a call; return whether one is finished."""
        if self._building is None:
            wanted = next((result for result in seen if not self.tried(result)), None)
            if wanted is not None:
                self._building = wanted, build_in_thread(lambda: self._standing(wanted))
            return False
        result, future = self._building
        if not (wait or future.done()):
            return False
        self._building = None
        self._kept[self._key(result)] = self._picture(result, future)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return True

    def _picture(self, result: Result, future: Future[Standing]) -> FittedPicture | None:
        if (error := future.exception()) is not None:
            self.said[result.number] = words_of(error)
            return None
        run, theme = future.result(), self._theme()
        if theme != self._thumbs.theme:  # pictures in the former theme are kept
            self._thumbs = Thumbs(theme)
        try:
            picture = self._thumbs.plates(run) if self.shows == CUBES else self._thumbs.panel(run)
            if picture is None:  # the scene has no panel
                self.shows = CUBES
                picture = self._thumbs.plates(run)
        except MissingDependencyError as error:
            self.said[result.number] = str(error)
            return None
        finally:
            let_go(run)
        self._aspects.setdefault(self.shows, picture.shape[1] / picture.shape[0])
        high, wide = picture.shape[:2]
        return FittedPicture(picture if wide <= SIDE else fitting(picture, (SIDE, round(high * SIDE / wide))))

    def _key(self, result: Result) -> Key:
        return self._theme().name, self.shows, result.number


# ---- The wall.

LOOK = Look(margin=24.0, gap=14.0, top=92.0, foot=40.0, caption=22.0, keys=17.0, bar=12.0, least=13_000.0)
HEAD, WORDS = 42.0, 70.0
"""Baselines of the title and of the line below it, in logical pixels."""
MOST = 24
"""Most pictures side by side."""
PLOTS_KEY = next(action.keys[0] for action in RUNS if action.name == "plots")
KEYS_OF_RUNS = {key for action in RUNS if action.name not in ("plots", "escape") for key in action.keys}
KINDS = ("all runs", "runs that learnt", "the other runs")
PAUSE, SHARE = 2.0, 0.05
"""Fewest seconds between two reads of the file, and the share of the time for them."""
DURATION = 20.0
"""Seconds for the further steps of an opened run, as many as it has had."""


class RunWall(Wall):
    """The wall of a sweep's runs; `newer` returns them when there are more, otherwise None."""

    called = ALL

    def __init__(
        self, runs: Runs, newer: Callable[[], Runs | None] = lambda: None, theme: str | Theme = "dark"
    ) -> None:
        self.runs, self._newer = runs, newer
        self._remaining = Left(runs.total, len(runs.results), time.monotonic())
        self.kind = self.row = 0  # the kind of runs shown, and the top row
        self.plots = False  # whether plots are shown instead
        self.columns: int | None = None  # None: as many as make all visible
        self._held: Spot | None = None
        self._since, self._until_look = 0.0, PAUSE
        self._sheet: Sketch | None = None
        super().__init__(theme, RUNS, {
            "page_up": lambda: self.go(0, -self.grid.rows), "page_down": lambda: self.go(0, self.grid.rows),
            "first": lambda: self.choose_at(0), "last": lambda: self.choose_at(-1), "plots": self.turn_plots,
            "faces": self.turn_faces, "kinds": self.turn_kinds, "larger": lambda: self._resize(1),
            "smaller": lambda: self._resize(-1),
        })  # fmt: skip
        self.faces = RunPictures(runs.standing, lambda: self.theme)

    def appear(self, size: tuple[int, int]) -> Self:
        """Reset and lay out the wall for a window of this many device pixels."""
        self._held = None
        return super().appear(size)

    def key(self, name: str | None, text: str = "", *, shift: bool = False, ctrl: bool = False) -> bool:
        """Handle a key; while plots are shown, keys of the runs give a hint."""
        if self.plots and normalised(name, text, ctrl=ctrl) in KEYS_OF_RUNS:
            self.say(f"{PLOTS_KEY} shows the runs again")
            return True
        return super().key(name, text, shift=shift, ctrl=ctrl)

    # ---- runs and layout

    def _lay_out(self) -> None:
        """Place the shown runs, lowest loss first; the chosen run stays chosen."""
        both = ((True, False), (True,), (False,))[self.kind]
        self.results = [result for result in by_loss(self.runs.results) if (ending_of(result) == LEARNT) in both]
        self.numbers = [result.number for result in self.results]
        if self.place is None:
            self.chosen = next(iter(self.numbers), None)
        self._placed(grid_of(self._size, len(self.results), LOOK, self.faces.aspect, self.columns, self.row))
        self.row, self._sheet = self.grid.first, None

    def _scroll(self, row: int) -> None:
        """Make a row the top row."""
        row = min(max(row, 0), self.grid.last)
        if row != self.row:
            self.row, self.grid = row, replace(self.grid, first=row)
            self._drawn, self._dirty = [], True

    # ---- time

    def _go_on(self, host: Host, seconds: float) -> None:
        """Read the file from time to time, and draw pictures of visible runs."""
        self._since += seconds
        if self._since >= self._until_look:
            began, self._since = time.perf_counter(), 0.0
            if (newer := self._newer()) is not None:
                self.runs = newer
                self._lay_out()
            self._until_look = max(PAUSE, (time.perf_counter() - began) / SHARE)
        if host.visible and self._opening is None and not self.plots:
            self.draw_next()

    @property
    def visible_runs(self) -> list[Result]:
        """The runs visible in the window."""
        return [self.results[place] for place in self.grid.shown]

    @property
    def missing(self) -> bool:
        """True if a visible run has no picture yet."""
        return any(not self.faces.tried(result) for result in self.visible_runs)

    def draw_next(self, *, wait: bool = False) -> None:
        """Continue drawing pictures of the visible runs."""
        before = self.faces.aspect
        if self.faces.go_on(self.visible_runs, wait=wait):
            self._dirty = True
            if self.faces.aspect != before:
                self._lay_out()

    # ---- choosing and opening

    def choose(self, number: int | None) -> None:
        """Choose a run and scroll to it."""
        if (place := self.place_of(number)) is not None:
            self.chosen, self._dirty = number, True
            self._scroll(self.grid.to(place))

    @property
    def door(self) -> SceneEntry | None:
        """The entry of the chosen run."""
        return None if self.place is None else self.door_of(self.results[self.place])

    def door_of(self, result: Result) -> SceneEntry:
        """Return the entry of a run: its scene after its last step."""
        apart = options_text(result.options, swept(self.runs.results))
        name = DOT.join(filter(None, (f"run {result.number:,}", apart, f"seed {result.seed:,}")))
        ended = "" if result.state == "done" else f"{result.state}: shown at its first step"

        def build(given: Mapping[str, object]) -> BuiltScene:
            scene = self.runs.standing(result)
            if not isinstance(scene, Scene):
                raise InputError("this run cannot continue: its file has weights, but no network")
            return BuiltScene(scene, max(result.steps, 1), DURATION)

        return SceneEntry(name, "", build, remark=DOT.join(filter(None, (name, ended))))

    def turn_faces(self) -> None:
        """Switch between cubes and panel."""
        self.say(self.faces.turn())
        self._lay_out()

    def turn_kinds(self) -> None:
        """Show the next kind of runs: all, those that learnt, the others."""
        self.kind = (self.kind + 1) % len(KINDS)
        self._lay_out()
        self.say(f"{KINDS[self.kind]}: {len(self.results):,} of {len(self.runs.results):,}")

    def turn_plots(self) -> None:
        """Switch between plots and runs."""
        self.plots, self._notice, self._drawn = not self.plots, "", []

    def _resize(self, by: int) -> None:
        self.columns = min(max(self.grid.columns - by, 1), MOST)
        self._lay_out()
        if self.place is not None:
            self._scroll(self.grid.to(self.place))

    def open(self, paths: Sequence[Path]) -> None:
        """Show a hint: this wall takes no files."""
        self.say("open a run first, then drop the file there")

    # ---- picture

    def sketches(self) -> list[Sketch]:
        """Return everything on the wall: plots, or title, pictures with losses and the chosen run's words; keys."""
        theme, grid = self.theme, self.grid
        if self.plots:
            if self._sheet is None:
                room = grid.size[0], grid.size[1] - 30
                self._sheet = sheet(self.runs.results, room, theme, self.runs.title).placed(ground=False)
            return [self._sheet, self._foot([(PLOTS_KEY, "runs")])]
        sketch, names = Sketch(), swept(self.results)
        self._head(sketch, grid.size[0] - 2 * LOOK.margin)
        for place in grid.shown:
            self._run(sketch, place, self.results[place], names)
        for box, colour in zip(grid.bar or (), (theme.panel, theme.flow), strict=False):
            sketch.rect(*box, fill=colour, radius=LOOK.bar / 4)
        if grid.bar is not None:
            x, y, wide, high = grid.bar[0]
            sketch.spot((x - 6, y, wide + 12, high + 0.001), "bar")
        return [sketch, self._foot()]

    def _head(self, sketch: Sketch, wide: float) -> None:
        """Draw the title, the first note that fits at its right, and the line below."""
        theme, place, title = self.theme, self.place, self.runs.title
        needed = measure(title, BIG, True) + 24
        note = next((note for note in self._notes() if needed + measure(note, LABEL) <= wide), "")
        sketch.text(LOOK.margin, HEAD, cut(title, wide, BIG, bold=True), BIG, theme.text1, bold=True)
        sketch.text(LOOK.margin + wide, HEAD, note, LABEL, theme.text3, anchor="right")
        line = run_text(self.results[place], self.runs.results) if place is not None else sentence(())
        line = line if measure(line, TITLE) <= wide else cut(line, wide, TITLE)
        sketch.text(LOOK.margin, WORDS, line, TITLE, theme.text2)

    def _notes(self) -> list[str]:
        """Return notes about all runs, the longest first."""
        results, total, left = self.runs.results, self.runs.total, ""
        if len(results) < total and self.runs.growing:
            left = self._remaining.text(len(results), time.monotonic())
        kind = f"{KINDS[self.kind]}: {len(self.results):,}" if self.kind else ""
        done = f"{len(results):,} of {total:,} runs are done" if len(results) < total else ""
        progress = ", ".join(filter(None, (done, left)))
        said = (line := sentence(results), line.partition(DOT)[0], "") if results else ("",)
        return [DOT.join(filter(None, (kind, progress, one))) for one in said]

    def _run(self, sketch: Sketch, place: int, result: Result, names: Sequence[str]) -> None:
        """Draw a run's picture, and below it a disc for its ending, its loss, and options and seed if they fit."""
        theme, grid, mine = self.theme, self.grid, result.number == self.chosen
        wide, high = grid.picture
        ended = f"{result.state} after step {result.steps:,}" if result.state != "done" else ""
        why = ": ".join(filter(None, (ended, self.faces.said.get(result.number) or result.error)))
        words = [cut(line, wide - 20) for line in wrapped(why, wide - 20)[: max(1, int(high // LINE) - 1)]]
        face, name = self.faces.picture_of(result), f"run {result.number}"
        x, y, wide, high = self._tile(sketch, place, name, face, words, theme.text3)
        baseline = y + high + LOOK.caption - 6
        sketch.disc(x + 4.5, baseline - 4.5, 4.5, ending_colour(ending_of(result), theme))
        said = number_text(result.loss) if result.state == "done" else result.state
        said = cut("opening" if mine and self._opening is not None else said, wide - 14)
        end = sketch.text(x + 14, baseline, said, LABEL, theme.text1 if mine else theme.text2, bold=mine)
        room = x + wide - end - 10
        options, seed = options_text(result.options, names), f"seed {result.seed:,}"
        fits = (one for one in (f"{options}, {seed}", options, seed) if options or one == seed)
        beside = next((one for one in fits if measure(one, LABEL) <= room), "")
        sketch.text(x + wide, baseline, beside, LABEL, theme.text3, anchor="right")

    # ---- keys and pointer

    def cancel(self) -> bool:
        """Close the plots, or cancel opening a run; return whether there was something."""
        plots, self.plots, self._notice, self._drawn = self.plots, False, "", []
        return super().cancel() or plots

    def press(self, at: Point, button: str = "left", *, shift: bool = False, ctrl: bool = False) -> None:
        """Handle a button press on a run or on the scroll bar."""
        super().press(at, button, shift=shift, ctrl=ctrl)
        spot = self._spot(at)
        if button == "left" and spot is not None and spot.name == "bar":
            self._held = spot
            self.move(at)

    def release(self, at: Point) -> None:
        """Handle a button release."""
        self._held = None
        super().release(at)

    def move(self, at: Point) -> None:
        """Handle a pointer move: choose the run under the pointer, or drag the scroll bar."""
        if self._held is None:
            super().move(at)
        else:
            _, y, _, high = self._held.box
            self._scroll(round(self.grid.last * min(max((at[1] / self.grid.scale - y) / high, 0.0), 1.0)))

    def scroll(self, at: Point, notches: tuple[float, float], *, shift: bool = False) -> None:
        """Scroll by one row a notch."""
        if not self.plots and notches[1]:
            self._scroll(self.row - (1 if notches[1] > 0 else -1) * max(1, round(abs(notches[1]))))


# ---- A results file as a window or a picture.


def wall_of(path: StrPath, build: Build | None = None, theme: str | Theme = "dark") -> RunWall:
    """Return the wall of the runs in a file; it follows the file while it grows.

    `build` rebuilds the runs, see :func:`~.runs.runs_of`. Raise InputError or FileFormatError if the file cannot be
    read or none of its runs is done.
    """
    runs = runs_of(path, build)
    if not (runs.results or runs.growing):
        raise InputError(f"{path_text(path)}: none of its runs is done; try again later")
    read = Results.read(path)

    def newer() -> Runs | None:
        nonlocal runs, read
        if not read.changed and runs.growing == read.written:
            return None
        read.close()
        runs, read = runs_of(path, build), Results.read(path)
        return runs

    return RunWall(runs, newer, theme)


def wall_picture(
    path: StrPath, size: tuple[int, int] = (1280, 720), *, build: Build | None = None, theme: str | Theme = "dark",
    shows: str = "panel",
) -> NDArray[np.uint8]:  # fmt: skip
    """Return the wall of a file's runs as a picture, uint8 (height, width, 3): as many as fit, lowest loss first.

    It shows each run's panel or cubes, or the plots. Errors are those of :func:`wall_of`; InputError also for an
    impossible size or an unknown `shows`.
    """
    if shows not in ("panel", "cubes", "plots"):
        raise InputError(f"wall: got {shown(shows)}; allowed: panel, cubes, plots")
    size, wall = check_size(size), wall_of(path, build, theme)
    wall.plots = shows == "plots"
    with offscreen():
        if not wall.plots:
            wall.faces.shows = shows
        wall.appear(size)
        while wall.missing and not wall.plots:
            wall.draw_next(wait=True)
        return offscreen().render(wall.draw, size)
