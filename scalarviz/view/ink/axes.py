"""`Axes`: the position of pairs of numbers in a plot, and the texts around it; `Scale`: one direction of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .boxes import LABEL
from .sketch import Box, Sketch
from .text import measure, short
from .theme import Theme

# ---- Zero lines of a function on a grid: straight pieces through its cells (marching squares).

Floats = NDArray[np.float64]
Array = NDArray[np.floating]

# Corners of a cell: 0 top left, 1 top right, 2 bottom right, 3 bottom left. Edge k runs from corner k to the next one.
_CORNERS = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])


def zero_lines(grid: ArrayLike) -> tuple[Floats, Floats]:
    """Return the segments, starts and ends, along which a function on a grid is zero."""
    values = np.asarray(grid, np.float64)
    above = (values > 0).astype(np.uint8)
    count = above[:-1, :-1] + above[:-1, 1:] + above[1:, 1:] + above[1:, :-1]
    cells = np.argwhere((count > 0) & (count < 4))[:, ::-1]
    across, down = (cells[:, None] + _CORNERS).T
    first = values[down, across].T
    fine = np.isfinite(first).all(axis=1)
    cells, first = cells[fine], first[fine]
    second = np.roll(first, -1, axis=1)
    cell, edge = np.nonzero((first > 0) != (second > 0))  # two per cell, or four that are joined in pairs
    part = (first[cell, edge] / (first[cell, edge] - second[cell, edge]))[:, None]
    ends = (1 - part) * _CORNERS[edge] + part * _CORNERS[(edge + 1) % 4] + cells[cell]
    return ends[::2], ends[1::2]


# ---- One direction

_MANTISSAS = ((1, 1.5, 2, 3, 4, 5, 7), (1, 2, 5), (1, 3), (1,))
_FINEST = (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9)
_ROOM = 1.6  # largest span of a logarithmic scale whose ends are ticks, relative to that of the values
LINE = 17.0
"""Least logical pixels from one number to the next."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A scale from `low` to `high`, with numbers at `ticks`, which need not include the ends."""

    low: float
    high: float
    ticks: tuple[float, ...] = ()
    log: bool = False

    def place(self, values: Array) -> Array:
        """Return values as fractions of the scale, 0 at the low end."""
        if self.log:
            return np.asarray(np.log(np.maximum(values, 1e-300) / self.low) / np.log(self.high / self.low))
        return (np.asarray(values, float) - self.low) / (self.high - self.low)

    def number(self, part: float) -> float:
        """Return the number at a fraction of the scale."""
        found = self.low * (self.high / self.low) ** part if self.log else (1 - part) * self.low + part * self.high
        return float(found)


def can_be_log(values: Array) -> bool:
    """Return whether a logarithmic axis can show every finite value."""
    finite = np.asarray(values, float)[np.isfinite(values)]
    return bool(finite.size and finite.min() >= 0 and (finite > 0).any())


def scale_of(values: Array, most: int = 6, *, linear: bool = False, height: float = np.inf) -> Scale:
    """Return a scale that holds every finite value, logarithmic unless a value is negative or `linear` is set.

    The ends of a linear scale are ticks; those of a logarithmic one only if that costs little of the `height` in
    pixels. There are at most `most` ticks, and fewer if their numbers would touch.
    """
    finite = np.asarray(values, float)[np.isfinite(values)]
    if not linear and can_be_log(finite):
        return _log_axis(float(finite[finite > 0].min()), float(finite.max()), most, height)
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    return _linear_axis(low, high, most)


def _log_axis(low: float, high: float, most: int, height: float) -> Scale:
    low, high = low / 1.02, high * 1.02
    if high / low < 3:  # a flat curve gets some air around it
        middle = np.sqrt(low * high)
        low, high = middle / 1.7, middle * 1.7
    grids = [_log_ticks(low, high, mantissas) for mantissas in _MANTISSAS]
    for ticks in grids:
        reach = np.log(ticks[-1] / ticks[0])
        if len(ticks) <= most and reach <= _ROOM * np.log(high / low) and _has_room(ticks, height / reach):
            return Scale(ticks[0], ticks[-1], ticks, True)
    # Rather ends without ticks than a curve pressed into a part of the height.
    inside = [tuple(t for t in ticks if low <= t <= high) for ticks in grids]
    ticks = next((ticks for ticks in inside if 2 <= len(ticks) <= most), inside[-1 if len(inside[-1]) > most else 0])
    every = -(-len(ticks) // most)
    while every < len(ticks) - 1 and not _has_room(ticks[::every], height / np.log(high / low)):
        every += 1
    return Scale(low, high, ticks[::every], True)


def _has_room(ticks: Sequence[float], pixels: float) -> bool:
    """Return whether the numbers at logarithmic ticks have room; `pixels` is the height of a factor of e."""
    return len(ticks) < 2 or bool(pixels * np.diff(np.log(ticks)).min() >= LINE)


def _log_ticks(low: float, high: float, mantissas: Sequence[float]) -> tuple[float, ...]:
    """Return mantissas times powers of ten, from the last at or below `low` to the first at or above `high`."""
    powers = range(int(np.floor(np.log10(low))) - 1, int(np.ceil(np.log10(high))) + 2)
    grid = np.array([float(f"{m}e{p}") for p in powers for m in mantissas])
    first, last = np.searchsorted(grid, low, "right") - 1, np.searchsorted(grid, high)
    return tuple(grid[first : last + 1].tolist())


def _linear_axis(low: float, high: float, most: int) -> Scale:
    span = high - low if high > low else max(abs(high), 1.0)
    rough = span / (most - 1)
    power = 10.0 ** np.floor(np.log10(rough))
    step = float(next(m * power for m in (1, 2, 5, 10, 20) if m * power >= rough))
    first, last = np.floor(low / step), np.ceil(high / step)
    first -= first * step > low  # the smallest float divides to 0
    last += last * step < high
    ticks = tuple(float(k) * step for k in np.arange(first, max(last, first + 1) + 1))
    return Scale(ticks[0], ticks[-1], ticks)


def tight(values: Array) -> Scale:
    """Return a scale without spare room, logarithmic if every value is above 0, with a few ticks inside."""
    low, high = float(values.min()), float(values.max())
    if low > 0:
        low, high = low / 1.05, high * 1.05
        grids = (_log_ticks(low, high, mantissas) for mantissas in (*_MANTISSAS[:0:-1], _FINEST))
        inside = [tuple(t for t in ticks if low <= t <= high) for ticks in grids]
        return Scale(low, high, next((ticks for ticks in inside if len(ticks) >= 2), inside[-1]), True)
    if low == high:
        low, high = low - 0.5, high + 0.5
    return Scale(low, high, (low, high))


def evenly(count: int, most: int) -> NDArray[np.intp]:
    """Return the indices of `count` to draw: all, or at most `most`, evenly chosen."""
    return np.arange(count) if count <= most else np.unique(np.linspace(0, count - 1, most).round().astype(np.intp))


def spaced(wanted: Iterable[tuple[float, float]], ends: tuple[float, float], air: float) -> list[float | None]:
    """Return the left edges of texts (middle, width) within `ends`; None for one that would touch an earlier one."""
    taken, found = list[tuple[float, float]](), list[float | None]()
    for middle, wide in wanted:
        left = min(max(middle - wide / 2, ends[0]), ends[1] - wide)
        free = all(left >= last + air or left + wide <= first - air for first, last in taken)
        taken += [(left, left + wide)] if free else []
        found.append(left if free else None)
    return found


def tick_text(value: float) -> str:
    """Return a tick's number as short as possible: ``0.05``, ``0.001``, ``1e−4``."""
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        return f"{value:.6g}".replace("-", "\N{MINUS SIGN}")
    return short(value).replace(".0e", "e")


def end_texts(ends: Sequence[float]) -> list[str]:
    """Return the numbers at both ends of an axis, with as many digits as its length needs."""
    digits = max(0, 2 - int(np.floor(np.log10(max(ends[1] - ends[0], 1e-300)))))
    return [f"{end:,.{min(digits, 6)}f}".replace("-", "\N{MINUS SIGN}") for end in ends]


def gutter(words: Iterable[str], least: float = 0.0) -> float:
    """Return the pixels that numbers at the left of a plot need."""
    return max([least, *(measure(word, LABEL) + 8 for word in words)])


@dataclass(frozen=True, slots=True)
class Axes:
    """A plot in a box with the scales `across` and `up`."""

    box: Box
    across: Scale
    up: Scale

    def points(self, x: Array, y: Array, *, within: bool = False) -> Floats:
        """Return the positions of pairs of numbers, (N, 2) in logical pixels; `within` clips them to the height."""
        left, top, width, height = self.box
        up = np.clip(self.up.place(y), 0.0, 1.0) if within else self.up.place(y)
        return np.stack([left + width * self.across.place(x), top + height * (1 - up)], axis=-1)

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Return the position of one pair in logical pixels."""
        ((across, down),) = self.points(np.array([x]), np.array([y])).tolist()
        return across, down

    def numbers(self, at: tuple[float, float]) -> tuple[float, float] | None:
        """Return the numbers at a point of the picture, or None outside the plot."""
        left, top, width, height = self.box
        along, up = (at[0] - left) / width, 1 - (at[1] - top) / height
        if not (0 <= along <= 1 and 0 <= up <= 1):
            return None
        return self.across.number(along), self.up.number(up)

    def contains(self, x: Array, y: Array) -> NDArray[np.bool_]:
        """Return which pairs are inside, shape (N,)."""
        one, two = self.across, self.up
        return (x >= one.low) & (x <= one.high) & (y >= two.low) & (y <= two.high)

    def ground(self, sketch: Sketch, theme: Theme) -> None:
        """Draw the background of a plot without gridlines."""
        sketch.rect(*self.box, fill=theme.panel, stroke=theme.border)

    def rule(self, sketch: Sketch, theme: Theme) -> None:
        """Draw a gridline for each tick, with its number at the left."""
        x, y, width, height = self.box
        lines = np.round(y + height * (1 - self.up.place(np.array(self.up.ticks)))) + 0.5
        starts = np.stack([np.full_like(lines, x), lines], 1)
        sketch.lines(starts, starts + np.array([width, 0.0]), theme.grid, 1.0)
        for value, at in zip(self.up.ticks, lines.tolist(), strict=True):
            sketch.text(x - 7, at + 4, tick_text(value), LABEL, theme.text3, anchor="right")

    def foot(self, sketch: Sketch, theme: Theme, name: str) -> None:
        """Draw a line and a number below for each tick, and the name of the axis at the right."""
        x, y, width, height = self.box
        room = x + width - measure(name, LABEL, True) - 6
        places = x + width * self.across.place(np.array(self.across.ticks))
        for tick, at in zip(self.across.ticks, places.tolist(), strict=True):
            text = tick_text(tick)
            sketch.line((at, y + height), (at, y + height + 4), theme.flow, 1.0)
            if at + measure(text, LABEL) / 2 <= room:
                sketch.text(at, y + height + 18, text, LABEL, theme.text3, anchor="middle")
        sketch.text(x + width, y + height + 18, name, LABEL, theme.text2, bold=True, anchor="right")

    def ends(
        self, sketch: Sketch, theme: Theme, across: Sequence[str], up: Sequence[str] = ("", ""), drop: float = 15.0
    ) -> None:
        """Draw texts at the low and the high end: below, and at the left."""
        x, y, width, height = self.box
        sketch.text(x, y + height + drop, across[0], LABEL, theme.text3)
        sketch.text(x + width, y + height + drop, across[1], LABEL, theme.text3, anchor="right")
        for word, at in zip(up, (y + height, y + 10), strict=True):
            sketch.text(x - 7, at, word, LABEL, theme.text3, anchor="right")

    def slope(self, x: float, y: float, steep: float, reach: float) -> Floats:
        """Return the ends (2, 2) of a line through a point, at most `reach` to either side and within the plot."""
        ends = []
        for way in (-1.0, 1.0):
            room = min(reach, max(0.0, (self.across.high - x) if way > 0 else (x - self.across.low)))
            if steep:  # not beyond the upper and the lower edge
                edge = self.up.high if way * steep > 0 else self.up.low
                room = min(room, max(0.0, (edge - y) / (way * steep)))
            ends.append((x + way * room, y + way * room * steep))
        return self.points(*np.array(ends).T)
