"""`RunPictures`: the pictures of runs on their wall, each built in a thread and drawn when it becomes visible."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future

import numpy as np

from ...errors import MissingDependencyError
from ...run.panels import LossCurve, Panel, Table
from ...run.questions.ranges import weight_extent
from ...run.scene.scene import Scene
from ...sweep.result import Result
from ..ink.boxes import arrange
from ..ink.painter import Painter, Viewport
from ..ink.theme import Theme
from ..out.easel import Easel, Pixels
from ..out.offscreen import offscreen
from ..page.pictures import WINDOW, with_air
from ..screen.side import SidePanels
from ..shown.subject import Subject, subject_of
from .runs import Standing, let_go
from .scene_entry import build_in_thread, error_message
from .wall import ASPECT, FittedPicture, fitting

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
        self._easel: Easel | None = None
        self._like: tuple[object, ...] = ()

    def plates(self, run: Standing) -> Pixels:
        """Return the cubes of a run, uint8 (270, 480, 3)."""
        subject = subject_of(run)
        frame, like = subject.frame(), _like(subject)
        if self._easel is None or self._like != like:
            self._easel, self._like = Easel(subject, PLATES, self.theme), like
            with offscreen():
                self._easel.bench.show_panels(False)
        return self._easel.picture(frame=frame)

    def panel(self, run: Standing) -> Pixels | None:
        """Return the main panel of a run, uint8 (H, W, 3), as large as in a column; None if there is none."""
        chosen = main_panel(run) if isinstance(run, Scene) else None
        if chosen is None:
            return None
        subject = subject_of(run)
        frame = subject.frame()
        with offscreen():
            side = SidePanels(subject, self.theme)
            side.ground.shows_all = True
            name = next(name for name, drawer in side.drawers.items() if drawer.panel is chosen)
            boxes = arrange(WINDOW, [one for one in side.column.wanted_panels() if one.name == name]).panels
            if name not in boxes:
                return None
            x, y, wide, high = with_air(boxes[name])
            side.place({name: (boxes[name][0] - x, boxes[name][1] - y, *boxes[name][2:])})
            side.ground.extent = weight_extent(frame.values)
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
            self.said[result.number] = error_message(error)
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
