"""`StoryLines`: the large lines of a scene's start and end: what is to happen or has happened, and what to press.

They stand left of the legend, where the formulas stand while it trains. What looks like a key answers as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..ink.boxes import GAP, Places
from ..ink.overlay import wrapped
from ..ink.sketch import Box, Colour, Sketch, Spot, rgba
from ..ink.text import measure
from ..ink.theme import Theme
from ..panels.pace import TextPace
from .strip import legend_width

SLIMMEST = 160.0
"""Least width of the legend beside them."""
SAYS = "says"
"""Name of the spot of a gesture: a click on it says its tip."""
_SINGLE = ((26, 22, 18), (22, 18, 16), (20, 16, 15))  # type of headline, sentence, key caps
_DOUBLE = ((20, 16, 15), (18, 15, 13))
_BETWEEN = 30.0


@dataclass(frozen=True, slots=True)
class Cap:
    """A key or gesture, and what it does."""

    key: str
    does: str
    action: str = ""  # what a click on the cap does (``viewer.send``); empty for a gesture
    says: str = ""  # what a click on a gesture says


@dataclass(frozen=True, slots=True)
class Told:
    """What is said now."""

    headline: str
    sentence: str
    caps: tuple[Cap, ...] = ()  # the first is the one that leads on
    fall: tuple[str, str] | None = None  # loss of the first and of the last step
    alpha: float = 1.0  # how much of it can be seen
    breath: float = 0.0  # how bright the border of the first cap is, 0 to 1


class _Plan(NamedTuple):
    """What fits: sizes of type, the sentence in lines, and the width of the legend beside it."""

    sizes: tuple[int, int, int]
    lines: list[str]
    legend: float


class StoryLines:
    """The lines of one picture."""

    def __init__(self, pace: TextPace) -> None:
        self._pace = pace
        self.told: Told | None = None  # what is said; see `tell`
        self.beside: float | None = None  # width left to the legend, 0 for none; None while they do not stand there
        self.sketches: list[Sketch] = []

    @property
    def spots(self) -> list[Spot]:
        """The caps, as they answer to a pointer."""
        return [spot for sketch in self.sketches for spot in sketch.spots]

    def tell(self, told: Told | None) -> None:
        """Say this from the next update on; None for nothing."""
        if told is None or self.told is None:
            self._pace.hurry()
        self.told = told

    def update(self, places: Places, theme: Theme, *, bar: bool, free: bool) -> None:
        """Stand in the strip's left, if that is `free`, and with the caps where the line of keys stands otherwise.

        With a `bar` between both; without it the lines are one block.
        """
        self.sketches, self.beside = [], None
        if self.told is not None and free and places.strip is not None:
            between = places.time if bar else None
            keys = places.keys
            if keys is None and places.time is not None and not bar:  # a hall, where no line of keys is kept free
                keys = places.time[1] + places.time[3] - 6.0
            self.sketches = [self._sketch(self.told, places.strip, keys, between, theme)]

    def _sketch(self, told: Told, strip: Box, keys: float | None, bar: Box | None, theme: Theme) -> Sketch:
        sketch, (left, top, width, height) = Sketch(), strip
        plan = _plan(told, width, legend_width(width))
        self.beside = plan.legend
        big, small, cap = plan.sizes
        room = width - (plan.legend + GAP if plan.legend else 0.0)
        step = (1.0 if len(plan.lines) == 1 else 0.92) * 1.455 * small
        high = 0.69 * big + step * len(plan.lines)
        bottom = top + height if keys is None else keys + 6.0
        air = 0.0 if bar is not None or keys is None else max(0.0, bottom - top - high - 3.0 * cap) / 2
        y = top + air + 0.69 * big
        _headline(sketch, told, (left, y), room, plan.sizes, theme)
        for line in plan.lines:
            y += step
            sketch.text(left, y, line, small, rgba(theme.text2, told.alpha))
        if keys is not None:
            room = room if bar is None else width  # the legend ends above the bar
            size = _cap_size(told.caps, cap, room)
            row = y + 2.45 * cap if air else keys - 0.3 * cap
            if bar is not None:  # the line of keys is lower than a cap is high
                size = min(size, 16.0)
                row = max(row, bar[1] + bar[3] + 5.0 + 1.23 * size)
            _key_caps(sketch, told, (left, row), left + room, size, theme)
        return sketch


def _headline(
    sketch: Sketch, told: Told, at: tuple[float, float], room: float, sizes: tuple[int, int, int], theme: Theme
) -> None:
    (x, y), (big, _, cap) = at, sizes
    sketch.text(x, y, told.headline, big, rgba(theme.text1, told.alpha), bold=True)
    if told.fall is None or _headline_width(told, sizes) > room:
        return
    x += measure(told.headline, big, True) + cap
    first, last = f"loss {told.fall[0]}", told.fall[1]
    sketch.text(x, y, first, cap, rgba(theme.text3, told.alpha))
    x += measure(first, cap) + 0.5 * cap
    middle = y - 0.357 * cap
    sketch.arrow((x, middle), (x + 1.7 * cap, middle), rgba(theme.text2, told.alpha), 1.6)
    sketch.text(x + 2.2 * cap, y, last, cap, rgba(theme.text1, told.alpha), bold=True)


def _key_caps(sketch: Sketch, told: Told, at: tuple[float, float], end: float, size: float, theme: Theme) -> None:
    """Caps from left to right; what has no room is left out, the words of the last ones first."""
    (x, y), high, fill = at, 1.75 * size, rgba(_between(theme.panel, theme.text3, 0.14), told.alpha)
    top = y - 0.357 * size - high / 2
    for number, cap in enumerate(told.caps):
        wide = measure(cap.key, size, True) + size
        if x + wide > end:
            return
        edge = _between(theme.flow, theme.text1, told.breath if number == 0 else 0.0)
        sketch.rect(x, top, wide, high, radius=5, fill=rgba(theme.text3, told.alpha))  # its lower edge looks out below
        sketch.rect(x, top, wide, high - 1.6, radius=5, fill=rgba(theme.background, told.alpha))
        sketch.rect(x, top, wide, high - 1.6, radius=5, fill=fill, stroke=rgba(edge, told.alpha), border=1.2)
        ink = rgba(theme.text1, told.alpha)
        sketch.text(x + wide / 2, y - 0.8, cap.key, size, ink, bold=True, anchor="middle")
        sketch.spot((x, top, wide, high), cap.action or SAYS, words=f"{cap.key} {cap.does}", tip=cap.says)
        x += wide + 12
        if x + measure(cap.does, size) <= end:
            ink = rgba(theme.text3 if number else theme.text1, told.alpha)
            sketch.text(x, y - 0.8, cap.does, size, ink)
            x += measure(cap.does, size) + _BETWEEN * size / 18
        else:
            x += 6


def _plan(told: Told, width: float, legend: float) -> _Plan:
    """The largest type that fits beside the legend, on one line or, smaller, on two; else the legend gives way."""
    beside = (legend, min(SLIMMEST, legend))
    ways = [(sizes, wide, 1) for sizes in _SINGLE for wide in beside]
    ways += [(sizes, wide, 2) for sizes in _DOUBLE for wide in beside]
    ways += [(sizes, 0.0, 2) for sizes in (*_SINGLE, *_DOUBLE)]
    for sizes, wide, most in ways:
        room = width - wide - GAP if wide else width
        lines = wrapped(told.sentence, max(room, 1.0), sizes[1])
        if len(lines) <= most and _headline_width(told, sizes) <= room:
            return _Plan(sizes, lines, wide)
    return _Plan(_DOUBLE[-1], [], 0.0)


def _headline_width(told: Told, sizes: tuple[int, int, int]) -> float:
    own = measure(told.headline, sizes[0], True)
    if told.fall is None:
        return own
    return own + 3.2 * sizes[2] + measure(f"loss {told.fall[0]}", sizes[2]) + measure(told.fall[1], sizes[2], True)


def _cap_size(caps: Sequence[Cap], most: float, room: float) -> float:
    """The largest type, up to `most`, in which all caps and their words fit side by side."""

    def wide(size: float) -> float:
        own = sum(measure(c.key, size, True) + size + 12 + measure(c.does, size) for c in caps)
        return own + _BETWEEN * size / 18 * max(len(caps) - 1, 0)

    return next((size for size in (18.0, 16.0, 15.0, 14.0) if size <= most and wide(size) <= room), 13.0)


def _between(one: Colour, other: Colour, share: float) -> Sequence[float]:
    """A colour on the way from one to another."""
    a, b = rgba(one), rgba(other)
    return [x + (y - x) * share for x, y in zip(a, b, strict=True)]
