"""The card of one cube of a comparison: its numbers in a, in b, how far they are apart, and how both came there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ...run.sources.recorded_pair import NAMES, Compared, RecordedPair
from ...run.weight_record import WeightRecord
from ..draw.places import LABEL, TITLE, Box
from ..draw.sketch import Sketch
from ..draw.text import figure, measure, short
from ..draw.theme import Theme
from ..shown.subject import Subject
from ..touched.who import who

LEAST = 330.0
"""Width from which on there is room for one."""
_WORDS = {"gradient": "gradient", "update": "last update"}
_PARTS = {"weight": "values", "gradient": "gradient", "update": "update"}
_LINE, _FIRST, _PAD, _STEP = 16.0, 17.0, 12.0, 88.0
_CURVE_FROM = 70.0
_DASH = 6.0, 4.0


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """A cube that is looked into.

    Attributes
    ----------
    index : int
        Flat, of the comparison.
    records : tuple of (WeightRecord or None)
        How it moved, in a and in b.
    """

    index: int
    records: tuple[WeightRecord | None, ...]


def card(
    box: Box, theme: Theme, pair: RecordedPair, frame: Compared, subject: Subject, chosen: Chosen
) -> Sketch:  # fmt: skip
    """The card in a box; the words of the steps that are not those of the frame stand beside the letters."""
    sketch, (x, y, wide, high) = Sketch(), box
    sketch.rect(x, y, wide, high, fill=theme.panel, stroke=theme.border, radius=6)
    known = [name for name in _PARTS if not pair.lacks(name)]
    rows = [*zip(_rows(pair, frame), (*frame.both, frame), strict=True)]
    letters = max(measure(word, LABEL) for word, _ in rows) + 16
    used = _PAD + letters + _STEP * len(known)
    curve = wide - used - _PAD >= _CURVE_FROM and any(record is not None for record in chosen.records)
    _title(sketch, (x + _PAD, y, (used if curve else wide) - 2 * _PAD, high), theme, subject, chosen.index)
    for k, name in enumerate(known):
        at = x + _PAD + letters + _STEP * k
        sketch.text(at, y + _FIRST + _LINE, _WORDS.get(name, "value"), LABEL, theme.text3)
        for line, (_, one) in enumerate(rows):
            sketch.text(at, y + _FIRST + (line + 2) * _LINE, _number(one, name, chosen.index), LABEL, theme.text1)
    for line, (word, _) in enumerate(rows):
        sketch.text(x + _PAD, y + _FIRST + (line + 2) * _LINE, word, LABEL, theme.text2, bold=line < 2)
    if curve:
        _curves(sketch, (x + used, y, wide - used - _PAD, high), theme, pair, frame, chosen)
    return sketch


def _rows(pair: RecordedPair, frame: Compared) -> list[str]:
    """What each line is of, with its step where that is not the one shown."""
    of = [name if one.step == frame.step else f"{name} at {one.step:,}" for name, one in zip(NAMES, frame.both,
                                                                                          strict=True)]  # fmt: skip
    return [*of, pair.of]


def _title(sketch: Sketch, box: Box, theme: Theme, subject: Subject, index: int) -> None:
    x, y, wide, _ = box
    known = who(subject, index)
    name = known.name
    while name and measure(name, TITLE, True) > wide:
        name = f"{name.rstrip('…')[:-1]}…" if len(name) > 1 else ""
    sketch.text(x, y + _FIRST, name, TITLE, theme.text1, bold=True)
    at = measure(name, TITLE, True) + 12
    if known.meaning and at + measure(known.meaning, LABEL) <= wide:
        sketch.text(x + at, y + _FIRST, known.meaning, LABEL, theme.text2)


def _number(frame: Frame, name: str, index: int) -> str:
    """A number in words; none where the frame has none yet."""
    if not frame.known(name)[index]:
        return "none yet"
    numbers: NDArray[np.floating] = getattr(frame, _PARTS[name])
    return figure(float(numbers[index]))


def _curves(sketch: Sketch, box: Box, theme: Theme, pair: RecordedPair, frame: Compared, chosen: Chosen) -> None:
    """Both values over the steps, a as a line and b dashed, with a disc where each stands."""
    x, y, wide, high = box
    first, last = pair.span
    ways = [_way(record, first) for record in chosen.records]
    every = np.concatenate([values[np.isfinite(values)] for _, values in ways])
    if not len(every):
        return
    low, top = float(every.min()), float(every.max())
    low, top = (low, top) if top > low else (low - 0.5, top + 0.5)
    ends = [short(top, signed=True), short(low, signed=True)]
    left = x + max(measure(end, LABEL) for end in ends) + 8
    up, down = y + _FIRST + 8, y + high - 12
    title = f"value since step {first:,}"
    sketch.text(x + wide, y + _FIRST, title if measure(title, LABEL) <= wide else "value", LABEL, theme.text3,
                anchor="right")  # fmt: skip
    for end, at in zip(ends, (up + 5, down + 5), strict=True):
        sketch.text(left - 8, at, end, LABEL, theme.text3, anchor="right")

    def placed(step: NDArray[np.int64], value: NDArray[np.float64]) -> NDArray[np.float64]:
        share = np.clip((step - first) / max(last - first, 1), 0.0, 1.0)
        return np.column_stack([left + share * (x + wide - left), down - (down - up) * (value - low) / (top - low)])

    for k, ((steps, values), one) in enumerate(zip(ways, frame.both, strict=True)):
        colour, there = (theme.text1, theme.text2)[k], np.isfinite(values)
        if there.sum() > 1:
            sketch.polyline(placed(steps[there], values[there]), colour, 1.6, dash=_DASH if k else None)
        now = np.array([float(one.values[chosen.index])])
        if np.isfinite(now).all() and low <= now[0] <= top:
            ((across, high_up),) = placed(np.array([one.step]), now)
            sketch.disc(float(across), float(high_up), 3.5, fill=colour)


def _way(record: WeightRecord | None, first: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Steps and values of a record from a step on."""
    if record is None:
        return np.zeros(0, np.int64), np.zeros(0)
    since = record.steps >= first
    return record.steps[since], record.values[since]


def box_of(legends: Sequence[Box], own: float, gap: float) -> Box | None:
    """Where it stands: right of the legend of the two, which is `own` wide; None where there is no room."""
    if not legends:
        return None
    x, y, wide, high = legends[0]
    room = wide - own - gap
    return (x + own + gap, y - 11.0, room, high + 15.0) if room >= LEAST else None
