"""`CellPanels`: the scene's panels, for a page that draws the cubes itself.

The panels are those of the viewer's own bench, as the window's column has them. What they draw goes as lists, which the
page paints: only when every place has answered the last ones, and only where something is another. So none is ever
queued, and a scene without panels sends nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...run.panels import LossCurve
from ..ink.listed import Listed, Record, short
from ..ink.sketch import Box, Sketch
from ..ink.theme import Theme
from ..page.pictures import with_air

if TYPE_CHECKING:
    from ..workbench import Workbench
    from .channel import Channel

SHARE = 0.15  # of the viewer's thread that making lists takes, where they take long
LONGEST = 1.5  # seconds between two of them, however long they take


class Seen(NamedTuple):
    """What there is to list: where panels stand, their sketches, their step (None where none is counted), the look."""

    boxes: Mapping[str, Box]
    drawn: Mapping[str, Sequence[Sketch]]
    step: int | None
    theme: Theme


class CellPanels:
    """The panels of one cell.

    `parts` go with a frame: ``"panels"``, for each its name and step, None without panels; and by ``"panel NAME"`` the
    lists.
    """

    def __init__(self, bench: Workbench) -> None:
        self._bench, bench.page = bench, True
        self._listed = Listed(bench.theme)
        self._now: Seen | None = None
        self._seen: Seen | None = None
        self._due = -math.inf
        self.parts: dict[str, object] = {"panels": None}

    def look(self, *, curve: bool) -> None:
        """Take note of what the bench has drawn of them, if pictures, words and numbers are of one frame.

        `curve`: whether that of the loss is among them: a cell with a time bar has it there.
        """
        same = self._now is not None and self._now.theme is self._bench.theme
        if self._bench.inside.told is not None and same:  # they stay as they were before the opened step
            return
        side, counted = self._bench.side, self._bench.subject.source.counted
        boxes, frame = self._boxes(curve), side.frame
        unseen = frozenset(side.drawers) - frozenset(boxes)
        if side.unseen != unseen:
            side.leave(unseen)
        drawn = {name: side.drawn(name) for name in boxes}
        if frame is not None and frame is side.ground.said and all(drawn.values()):
            self._now = Seen(boxes, drawn, frame.step if counted else None, self._bench.theme)

    def renew(self, clock: float, channel: Channel) -> bool:
        """List them anew, where that is due; returns whether they were. `clock` in seconds, of the viewer."""
        now = self._now
        if now is None or clock < self._due or now == self._seen or not all(map(channel.arrived, self.parts)):
            return False
        if self._seen is None or self._seen.theme is not now.theme:
            self._listed = Listed(now.theme)
        self._seen, began = now, time.thread_time()
        told = {f"panel {name}": self._of(name, now) for name in now.boxes}
        self._due = clock + min((time.thread_time() - began) / SHARE, LONGEST)
        drawers = self._bench.side.drawers
        panels = [{"name": name, "step": now.step, "keys": drawers[name].keys} for name in now.boxes]
        self.parts = {**dict.fromkeys(self.parts), "panels": panels or None, **told}
        return True

    def _of(self, name: str, now: Seen) -> list[Record]:
        """The list of one panel; the same object where nothing changed."""
        records = [["box", *short(with_air(now.boxes[name]))], *self._listed.of(now.drawn[name])]
        before = self.parts.get(f"panel {name}")
        return before if isinstance(before, list) and before == records else records

    def _boxes(self, curve: bool) -> dict[str, Box]:
        """Where the panels stand in the bench's picture; those among the cubes are left out."""
        drawers = self._bench.side.drawers
        return {name: drawer.box for name, drawer in drawers.items()
                if drawer.box is not None and (curve or not isinstance(drawer.panel, LossCurve))}  # fmt: skip
