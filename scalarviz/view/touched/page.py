"""`Page`: a column of sections, written from top to bottom; what a click on it means is kept with its place."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..draw.places import LABEL
from ..draw.sketch import Box, Sketch, holds
from ..draw.text import measure
from ..draw.theme import Theme

Does = tuple[str, str | int]
"""What a click does: a name, and of what."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A place that answers to a click.

    Attributes
    ----------
    box : Box
    name : str
        What a click does: ``"part"``, ``"sample"``, ``"moment"``, ``"type"``, or an action of the table.
    value : str or int
        Of which part, of which sample, from which step to which; empty where nothing is to be said.
    """

    box: Box
    name: str
    value: str | int = ""

    @property
    def does(self) -> Does:
        """The click alone, without the place: it stays the same while numbers and places move."""
        return self.name, self.value

    def holds(self, point: tuple[float, float]) -> bool:
        """Whether a point is on it."""
        return holds(self.box, point)


@dataclass(slots=True, eq=False)
class Page:
    """What has been written so far.

    Attributes
    ----------
    x, width : float
        Left edge and width of the column (logical pixels).
    y : float
        Where the next section begins.
    theme : Theme
    over : Does or None
        What a click at the pointer would do: its place is marked.
    sketch : Sketch
    spots : list of Spot
    """

    x: float
    y: float
    width: float
    theme: Theme
    over: Does | None = None
    sketch: Sketch = field(default_factory=Sketch)
    spots: list[Spot] = field(default_factory=list)

    @property
    def right(self) -> float:
        """The right edge."""
        return self.x + self.width

    def spot(self, box: Box, name: str, value: str | int = "") -> bool:
        """A click on `box` does something; returns whether the pointer is there."""
        self.spots.append(Spot(box, name, value))
        return self.over == (name, value)

    def rule(self, gap: float = 12.0) -> None:
        """A thin line between two sections, in the middle of `gap`."""
        y = round(self.y + gap / 2)
        self.sketch.line((self.x, y), (self.right, y), self.theme.border, 1.0)
        self.y += gap

    def heading(self, title: str, note: str = "") -> None:
        """A bold title, and at the right what it is about, as far as there is room."""
        self.y += 16
        self.sketch.text(self.x, self.y, title, LABEL, self.theme.text1, bold=True)
        if measure(title, LABEL, True) + 12 + measure(note, LABEL) <= self.width:
            self.sketch.text(self.right, self.y, note, LABEL, self.theme.text3, anchor="right")
        self.y += 6

    def buttons(self, labels: list[tuple[str, str, str]]) -> None:
        """Buttons side by side: label, its key, and the action that a click does."""
        gap, high = 6.0, 24.0
        wide = [measure(label, LABEL) + measure(key, LABEL, True) + 6 for label, key, _ in labels]
        air = (self.width - gap * (len(labels) - 1) - sum(wide)) / len(labels)
        if air < 6:  # without the keys, which the list of keys has
            labels = [(label, "", name) for label, _, name in labels]
            wide = [measure(label, LABEL) for label, _, _ in labels]
            air = max(4.0, (self.width - gap * (len(labels) - 1) - sum(wide)) / len(labels))
        air, x = min(air, 24.0), self.x
        for (label, key, name), own in zip(labels, wide, strict=True):
            box = (x, self.y, own + air, high)
            over = self.spot(box, name)
            edge = self.theme.text2 if over else self.theme.border
            self.sketch.rect(*box, radius=5, fill=self.theme.tray, stroke=edge)
            self.sketch.text(x + air / 2, self.y + 17, label, LABEL, self.theme.text1)
            if key:
                self.sketch.text(
                    x + own + air / 2, self.y + 17, key, LABEL, self.theme.text3, bold=True, anchor="right"
                )
            x += own + air + gap
        self.y += high
