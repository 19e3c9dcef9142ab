"""`Column`: which panels want the side column, in which order, and the line that tells of those left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..draw.places import ABOUT, LABEL, Box, Wanted
from ..draw.sketch import Sketch
from ..draw.text import measure
from .drawer import Drawer, Ground, Point


class Column:
    """The panels of the column, by name; of those without room a line tells, and a click on it puts them first.

    Parameters
    ----------
    drawers : mapping of str to Drawer
        Of all panels of the picture; it may change later.
    ground : Ground

    Attributes
    ----------
    names : list of str
        In their order.
    """

    def __init__(self, drawers: Mapping[str, Drawer[Any]], ground: Ground) -> None:
        self._drawers, self._ground = drawers, ground
        self.names = [name for name, drawer in drawers.items() if drawer.panel.place == "column"]
        self._lodged: tuple[str, ...] = ()
        self._turned = False  # whether another page than the first is shown
        self._alone = ""  # the one on this page, where only one has room
        self._left_out: tuple[str, ...] = ()
        self._more: Box | None = None

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def wanted(self, *, spread: bool = False) -> list[Wanted]:
        """What it is to hold, those of this page first; `spread`: those that can draw among the cubes do.

        On another page than the first none is worth more than others; where only one has room, it is that page's.
        """
        found: list[Wanted] = []
        for name in self.names:
            d = self._drawers[name]
            worth = min(d.worth, ABOUT) if name in self._lodged else d.worth  # behind what is the column's own
            if self._turned:
                worth = ABOUT if name == self._alone else 0
            high = (d.spread if spread else None) or d.height
            found.append(Wanted(name, high, d.most, worth, d.first, d.wide))
        return found

    def smaller(self) -> list[Wanted]:
        """The same as small as they can still be read, for a place beside the controls.

        First what shows the answer at a glance, so that it is seen what a knob does, then what is to be kept.
        """
        drawers = [(name, self._drawers[name]) for name in self.names]
        drawers.sort(key=lambda one: (one[1].worth < ABOUT, not one[1].first))
        return [Wanted(name, d.least or d.height, max(d.most, d.height), d.worth, d.first) for name, d in drawers]

    def lodge(self, names: Sequence[str]) -> bool:
        """Take in these from other places, where they have no room, behind all others; returns whether they are new."""
        if tuple(names) == self._lodged:
            return False
        own = [name for name in self.names if name not in self._lodged]
        self.names, self._lodged = [*own, *names], tuple(names)
        return True

    def leave_out(self, names: Sequence[str], more: Box | None) -> None:
        """These have no room; `more` is the place of the line that says so."""
        self._left_out, self._more = tuple(names), more

    def told(self) -> list[Sketch]:
        """How many panels have no room, and how to see them."""
        if not self._left_out or self._more is None or (self._ground.theme.presenter and not self._ground.hints):
            return []
        sketch, count, box = Sketch(), len(self._left_out), self._more
        line = f"+{count} panel{'s' if count > 1 else ''}"
        if self._ground.hints:
            line += " (click)"
        sketch.text(box[0], box[1] + box[3] - 4, line, LABEL, self._ground.theme.text3)
        return [sketch]

    def on_more(self, point: Point) -> bool:
        """Whether a point is on that line."""
        if self._more is None or not self._left_out:
            return False
        x, y, width, height = self._more
        return x <= point[0] < x + min(width, measure("+99 panels (click)", LABEL)) and y <= point[1] < y + height

    def turn_page(self) -> None:
        """Those without room come first, or one after the other where there is room for one; lay out again after it."""
        self._turned = True
        there = [name for name in self.names if name not in self._left_out]
        if len(there) == 1 and self._left_out:
            self._alone = self.names[(self.names.index(there[0]) + 1) % len(self.names)]
            return
        self._alone = ""
        fixed = [name for name in self.names if not self._drawers[name].first]
        order = [n for n in fixed if n in self._left_out] + [n for n in fixed if n not in self._left_out]
        turned = iter(order)
        self.names = [next(turned) if name in fixed else name for name in self.names]
