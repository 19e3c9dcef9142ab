"""What a hand makes of a value: a place on a track, a notch, the next choice."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from ...run.controls import Segments, Slider, Switch
from .drawing import track_of
from .item import Item
from .rows import Placed

MAGNET = 6.0
"""Logical pixels from a slider's usual value within which the knob is caught by it."""
_NOTCHES = 20
_LADDER = (1.0, 2.0, 5.0, 10.0)


def value_at(part: Placed, x: float) -> float | int:
    """The value of a slider where the pointer is, caught by the usual one or by a stop."""
    slider = part.item.control
    assert isinstance(slider, Slider)
    left, right, _ = track_of(part)
    if part.item.stops:
        return min(part.item.stops, key=lambda stop: abs(left + (right - left) * slider.share(stop) - x))
    if slider.usual is not None and abs(left + (right - left) * slider.share(slider.usual) - x) <= MAGNET:
        return slider.taken(slider.usual)
    return slider.taken(slider.at((x - left) / (right - left)))


def turned(item: Item, way: int) -> Any:
    """The value one notch further on (1) or back (-1); None where there is none, or no value that has a next one."""
    control, value = item.control, item.value
    if isinstance(control, Switch):
        return way > 0
    if isinstance(control, Segments):
        places = list(control.choices)
        if value not in places:
            return places[0]
        place = places.index(value) + way
        return places[place] if 0 <= place < len(places) else None
    if not isinstance(control, Slider) or not isinstance(value, int | float):
        return None
    if item.stops:
        further = [stop for stop in item.stops if (stop - value) * way > 0]
        return min(further, key=lambda stop: abs(stop - value), default=None)
    found = _on_ladder(float(value), way) if control.log else _further(control, float(value), way)
    found = min(max(found, control.least), control.most)
    return None if found == value else control.taken(round(found) if control.whole else found)


def turned_far(item: Item, key: str) -> Any:
    """What Home and End make of a value: the ends; PageUp and PageDown: a decade, or a quarter; None for nothing."""
    control, way = item.control, 1 if key in ("End", "PageUp") else -1
    if key in ("Home", "End") and isinstance(control, Slider):
        ends = (min(item.stops), max(item.stops)) if item.stops else (control.least, control.most)
        return control.taken(ends[way > 0])
    if key in ("Home", "End") and isinstance(control, Segments):
        return control.choices[-1 if way > 0 else 0]
    if isinstance(control, Switch):
        return None
    found, last = None, item
    for _ in range(3 if isinstance(control, Slider) and control.log else _NOTCHES // 4):
        value = turned(last, way)
        found, last = (found, last) if value is None else (value, replace(last, value=value))
    return found


def _on_ladder(value: float, way: int) -> float:
    """The next of 1, 2, 5, 10, 20 ..."""
    if not value > 0:
        return math.inf if way > 0 else 0.0
    power = math.floor(math.log10(value))
    rungs = [float(f"{rung * 10:g}e{power + k - 1}") for k in (-1, 0, 1) for rung in _LADDER[:3]]
    if way > 0:
        return min(rung for rung in rungs if rung > value * 1.0001)
    return max(rung for rung in rungs if rung < value * 0.9999)


def _further(slider: Slider, value: float, way: int) -> float:
    step = (slider.most - slider.least) / _NOTCHES
    if slider.whole:
        return value + way * max(1, round(step))
    return slider.at(slider.share(value) + way / _NOTCHES)
