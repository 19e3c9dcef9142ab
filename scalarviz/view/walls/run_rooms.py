"""`RunRooms`: the way through a window of runs: their wall, and a run that was opened from it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ...errors import InputError
from ...run.scene.scene import Scene
from ...sweep.groups import ALL, Left, swept
from ...sweep.result import Result
from ..ink.theme import Theme
from ..watch.live import LiveView
from .door import Opened, Way
from .rooms import BACK_SECONDS, Rooms
from .run_faces import Faces
from .run_wall import RunWall
from .runs import DOT, Runs, options_text

WALL = ALL
DURATION = 20.0
"""Seconds that a run takes which trains on, for as many steps as it has had."""


class RunRooms(Rooms):
    """The way through one window.

    Attributes
    ----------
    chosen : int or None
        The number of the run that was chosen last.
    kind, row : int
        Which runs the wall shows, and from which row on.
    columns : int or None
        Pictures side by side; None, until a hand makes them larger or smaller: as many as let all be seen.
    plots : bool
        Whether it shows plots in their place.
    """

    called = WALL

    def __init__(
        self, runs: Runs, newer: Callable[[], Runs | None] = lambda: None, theme: str | Theme = "dark"
    ) -> None:
        super().__init__((), _takes_none, theme=theme)
        self.runs, self._newer = runs, newer
        self._remaining = Left(runs.total, len(runs.results), time.monotonic())
        self.kind, self.row, self.plots = 0, 0, False
        self.columns: int | None = None
        self.faces = Faces(self.runs.standing, self.build, self.theme)
        self._open: tuple[Result, Opened] | None = None

    def wall(self, size: tuple[int, int]) -> RunWall:
        """The wall, for a size in device pixels."""
        self.faces.set_theme(self.theme)
        return RunWall(self, size)

    def toggle_theme(self) -> None:
        """Light or dark."""
        super().toggle_theme()
        self.faces.set_theme(self.theme)

    def look(self) -> bool:
        """Whether there are more runs now."""
        newer = self._newer()
        if newer is not None:
            self.runs = newer
        return newer is not None

    @property
    def progress(self) -> str:
        """``60 of 100 runs are done, 2 min left``; empty where all are."""
        done, total = len(self.runs.results), self.runs.total
        if done >= total:
            return ""
        left = self._remaining.text(done, time.monotonic()) if self.runs.growing else ""
        return ", ".join(filter(None, (f"{done:,} of {total:,} runs are done", left)))

    def run(self, result: Result) -> Opened:
        """A run to be opened; the one that was left last goes on where it was left."""
        if self._open is not None and self._open[0].number == result.number:
            return self._open[1]
        if self.runs.build is None:
            raise InputError("this run cannot be trained on: its file holds weights, but not what builds the network")
        scene = self.runs.standing(result)
        assert isinstance(scene, Scene)  # since it can be built
        opened = Opened(scene, max(result.steps, 1), DURATION)
        self._open = result, opened
        return opened

    def _called(self, opened: Opened) -> str:
        """Its scene, and which run it is of it."""
        said = [] if self._open is None else self._words(self._open[0])
        return DOT.join([opened.scene.name, *said])

    def _words(self, result: Result) -> list[str]:
        """A run, what sets it apart, and its seed."""
        apart = options_text(result.options, swept(self.runs.results))
        return [*filter(None, (f"run {result.number:,}", apart, f"seed {result.seed:,}"))]

    def _scene(self, opened: Opened, size: tuple[int, int]) -> LiveView:
        view = super()._scene(opened, size)
        if self._open is not None:
            result = self._open[0]
            said = self._words(result)
            optimizer = opened.scene.run.optimizer
            if result.state != "done":
                said.append(f"it {result.state}: here it stands at its beginning")
            elif optimizer.state and not self.runs.rule(result.number)[1]:  # a file of an earlier version
                said.append(f"{type(optimizer).__name__} begins anew")
            view.say(DOT.join([*said, f"Escape goes back to {WALL}"]), BACK_SECONDS)
        return view


def _takes_none(path: Path) -> Way:
    raise InputError(f"{path.name} is not opened: this is a wall of runs")
