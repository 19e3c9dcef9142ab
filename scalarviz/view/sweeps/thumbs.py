"""Small pictures of a run as it stands: its cubes, and the panel of its scene that shows most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...run.panels import LossCurve, Panel, Table
from ...run.questions.ranges import extent
from ...run.scene.scene import Scene
from ..benches import any_subject
from ..draw.painter import Painter
from ..draw.places import arrange
from ..draw.theme import Theme
from ..panels.recorded import AIR
from ..panels.side import SidePanels
from ..recorded.pictures import WINDOW
from ..shown.subject import Subject
from ..window.offscreen import offscreen
from ..workbench import Workbench
from .runs import Standing

PLATES = (480, 270)
"""Pixels of a picture of cubes: as large as leaves their names readable when it is made half as large."""
WORDY = (LossCurve, Table)
"""Panels that say less of a run in a small picture."""

Pixels = NDArray[np.uint8]


def main_panel(scene: Scene) -> Panel | None:
    """The panel that shows most of what a network has learnt: the first of the column that is no curve and no table."""
    column = [panel for panel in scene.panels if panel.place == "column" and not isinstance(panel, LossCurve)]
    pictures = [panel for panel in column if not isinstance(panel, WORDY)]
    return next(iter([*pictures, *column]), None)


class Thumbs:
    """Makes pictures of runs, one after the other.

    Parameters
    ----------
    theme : Theme
    """

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        self._bench: Workbench | None = None
        self._like: tuple[object, ...] = ()
        self._painter: Painter | None = None

    def plates(self, run: Standing) -> Pixels:
        """Its cubes, uint8 (270, 480, 3)."""
        subject = any_subject(run)
        frame = subject.frame()
        with offscreen() as context:
            like = _like(subject)
            if self._bench is None or self._like != like:
                self._bench, self._like = Workbench(subject, PLATES, self.theme), like
                self._bench.show_panels(False)
            self._bench.update(frame)
            return context.render(self._bench.draw, PLATES)

    def panel(self, run: Standing) -> Pixels | None:
        """Its main panel, uint8 (H, W, 3), as large as in a column; None where it has none."""
        chosen = main_panel(run) if isinstance(run, Scene) else None
        if chosen is None:
            return None
        subject = any_subject(run)
        frame = subject.frame()
        with offscreen() as context:
            side = SidePanels(subject, self.theme)
            name = next(name for name, drawer in side.drawers.items() if drawer.panel is chosen)
            wanted = [one for one in side.column.wanted() if one.name == name]
            box = arrange(WINDOW, wanted).panels.get(name)
            if box is None:
                return None
            size = round(box[2] + 2 * AIR), round(box[3] + 2 * AIR)
            side.place({name: (float(AIR), float(AIR), box[2], box[3])})
            side.ground.extent = extent(frame.values)
            sketches = side.update(frame)
            painter = Painter((float(size[0]), float(size[1])))

            def draw(_: object) -> None:
                painter.background(self.theme.background, self.theme.background)
                painter.draw(sketches)

            return context.render(draw, size)


def _like(subject: Subject) -> tuple[object, ...]:
    """What two subjects share whose pictures the same workbench can draw."""
    probe = subject.probe
    return subject.tensors, subject.stages, None if probe is None else np.asarray(probe).tobytes()
