"""The drawer of a table of words."""

from __future__ import annotations

from collections.abc import Sequence

from ...run.panels import Table, as_rows
from ...run.source import Moment
from ..draw.places import LABEL
from ..draw.sketch import Box, Sketch
from ..draw.text import measure
from .drawer import Drawer, Ground, cut, sentence, title_of
from .image import Asked

LINE = 19.0
_TOP, _GAP = 21.0, 14.0


class TableDrawer(Drawer[Table]):
    """Columns as wide as their words; rows that do not fit are counted in the last line."""

    name = "table"
    beside = (132.0, 84.0)

    def __init__(self, panel: Table, ground: Ground) -> None:
        super().__init__(panel, ground)
        self._asked = Asked(panel.title, ground, words=True)
        lines = panel.lines if callable(panel.rows) else len(panel.rows)
        self.height = _TOP + LINE * (min(lines, 12) + bool(panel.heads)) + 4

    @property
    def moving(self) -> bool:
        """Whether the words are of a frame before."""
        return self._asked.moving

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """Title, heads and rows."""
        rows, error = self._asked.ask(moment, seconds, lambda: self._rows(moment))
        sketch, (x, y, width, height) = Sketch(), box
        theme = self.ground.theme
        title_of(sketch, box, theme, self.panel.title, self._asked.age)
        inner = (x, y + _TOP, width, height - _TOP)
        if rows is None:
            return [sketch, sentence(inner, theme, error)]
        room = int((height - _TOP) // LINE) - bool(self.panel.heads)
        shown = rows if len(rows) <= room else rows[: max(room - 1, 0)]
        heads = (self.panel.heads,) if self.panel.heads else ()
        ends = _columns([*heads, *shown], width)
        for number, row in enumerate([*heads, *shown]):
            at = inner[1] + LINE * number + 14
            colour = theme.text3 if number < len(heads) else theme.text2
            for (left, wide), word in zip(ends, row, strict=True):
                sketch.text(x + left, at, cut(word, wide), LABEL, colour)
        if len(shown) < len(rows):
            at = inner[1] + LINE * (len(shown) + len(heads)) + 14
            sketch.text(x, at, f"and {len(rows) - len(shown):,} more", LABEL, theme.text3)
        return [sketch]

    def _rows(self, moment: Moment) -> list[tuple[str, ...]]:
        given = self.panel.rows(moment) if callable(self.panel.rows) else self.panel.rows
        return as_rows(given, len(self.panel.heads))


def _columns(rows: Sequence[Sequence[str]], width: float) -> list[tuple[float, float]]:
    """Left edge and width of every column: as wide as its words; where they do not fit, the widest are cut."""
    if not rows:
        return []
    wanted = [max(measure(row[k], LABEL) for row in rows) for k in range(len(rows[0]))]
    room = max(width - _GAP * (len(wanted) - 1), 0.0)
    most = room
    for left, wide in enumerate(sorted(wanted)):  # narrow ones have all they want, the others the same
        most = room / (len(wanted) - left)
        if wide > most:
            break
        room -= wide
    ends, at = [], 0.0
    for wide in wanted:
        own = min(wide, max(most, 0.0))
        ends.append((at, own + 0.01))
        at += own + _GAP
    return ends
