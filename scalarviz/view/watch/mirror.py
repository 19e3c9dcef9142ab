"""`Mirror`: a picture of what somebody else changes: a hand-written loop, ``w.step()``, a Run stepped by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..shown.source import Source
from ..workbench import Workbench
from .controls import bottom_line
from .viewer import Viewer

if TYPE_CHECKING:
    from ...run.frame import Frame


class Mirror(Viewer):
    """Follows a `Source`.

    Parameters
    ----------
    source : Source
        What is shown, and how to read and change it.
    size : (int, int)
        Device pixels.
    theme, cmap : str
        See :class:`~scalarviz.view.workbench.Workbench`.
    """

    def __init__(self, source: Source, size: tuple[int, int], *, theme: str = "dark", cmap: str | None = None) -> None:
        super().__init__(
            Workbench(source.subject, size, theme, cmap, keys=bottom_line(type(self)), text_hz=10.0), theme
        )
        self.source = source

    def frame(self) -> Frame:
        """The numbers as they are now."""
        return self.source.frame()

    def pace_text(self) -> str:
        """The engine, if there is one."""
        run = self.source.subject.run
        return "" if run is None else str(run.engine)

    def nudge(self, index: int, amount: float) -> None:
        """Change the object itself."""
        self.source.nudge(index, amount)
