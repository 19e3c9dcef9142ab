"""`RecordingNews`: what happens to the recordings of a run is said in its window, once, and on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...run.run import Run
    from .viewer import Viewer

NEWS_SECONDS = 20.0
"""How long it is said: training goes on, so nothing else tells of it."""


class RecordingNews:
    """The recordings of the run of one view.

    Parameters
    ----------
    view : Viewer
    run : Run
    """

    def __init__(self, view: Viewer, run: Run) -> None:
        self._view, self._run = view, run
        self._told: set[str] = set()

    def pass_time(self) -> None:
        """Say what is new: also of a run that stands still, which asks nobody."""
        for recorder in self._run._recorders:
            news = recorder.news
            if news and news not in self._told:
                self._told.add(news)
                recorder.say()
                self._view.say(news, NEWS_SECONDS)
                self._view.refresh()
