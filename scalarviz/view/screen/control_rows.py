"""`Item`: one control at one moment, and `Row`: items side by side. What a panel of controls holds, without drawing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ...run.controls import Button, Control, Segments, Slider, Switch
from ..ink.sketch import Box
from ..ink.widgets import track_of

MAGNET = 6.0
"""Logical pixels from a slider's usual value within which the knob is caught by it."""
_NOTCHES = 20
_KIND = ("label", "flag", "does", "least", "most", "usual", "choices")


@dataclass(frozen=True, slots=True)
class Item:
    """A control with its value. Two are equal if they look the same and stand for the same."""

    control: Control = field(compare=False)
    value: Any = None  # what is set at the moment that is shown, or what a hand has set since
    keys: str = ""  # those that change the same: "Up, Down"
    shown: str = ""  # the value as it is printed
    ticks: Sequence[tuple[float, str]] = ()  # values of a slider, and what is printed below them
    sign: str = ""  # the action whose sign a button wears
    stops: tuple[float, ...] = ()  # where alone a slider can stand; empty: anywhere
    part_of: str = ""  # the control of which a button sets the value
    out: Item | None = None  # what is wanted when it is dragged out of its row
    _kind: tuple[object, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        kind = (type(self.control), *(getattr(self.control, name, None) for name in _KIND))
        object.__setattr__(self, "_kind", kind)

    @property
    def name(self) -> str:
        """What it is found by."""
        return self.control.label

    @property
    def typed(self) -> bool:
        """Whether its value is a number that may be typed."""
        if isinstance(self.control, Segments):
            return all(isinstance(one, int | float) and not isinstance(one, bool) for one in self.control.choices)
        return isinstance(self.control, Slider) and not self.stops

    @property
    def tip(self) -> str:
        """What it does, its keys and its flag."""
        return "  ".join(filter(None, (self.control.does, self.keys, self.control.flag)))

    def at(self, box: Box, x: float) -> float | int:
        """The value of a slider in a box where the pointer is, caught by the usual one or by a stop."""
        slider, (left, right, _) = self.control, track_of(box)
        assert isinstance(slider, Slider)

        def away(value: float) -> float:
            return abs(left + (right - left) * slider.share(value) - x)

        if self.stops:
            return min(self.stops, key=away)
        if slider.usual is not None and away(slider.usual) <= MAGNET:
            return slider.taken(slider.usual)
        return slider.taken(slider.at((x - left) / (right - left)))

    @property
    def notches(self) -> Sequence[Any]:
        """The values that keys come to, in their order."""
        control = self.control
        if isinstance(control, Segments):
            return control.choices
        if not isinstance(control, Slider) or self.stops:
            return self.stops or (False, True)
        least, most = control.least, control.most
        inner: Sequence[float] = [control.at(k / _NOTCHES) for k in range(_NOTCHES)]
        if control.log:
            powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)))
            inner = [float(f"{rung}e{power}") for power in powers for rung in (1, 2, 5)]
        elif control.whole:
            inner = range(math.ceil(least), math.ceil(most), max(1, round((most - least) / _NOTCHES)))
        return [least, *(one for one in inner if least < one < most), most]

    def turned(self, way: int, by: int = 1) -> Any:
        """The value so many notches further on (1) or back (-1), or as far as they go; None where there is none."""
        notches, value, beyond = self.notches, self.value, list[Any]()
        if value not in notches and isinstance(self.control, Segments):
            beyond = [notches[0]]
        elif isinstance(self.control, Segments):
            place = notches.index(value)
            beyond = [*(notches[place + 1 :] if way > 0 else notches[:place][::-1])]
        elif isinstance(value, int | float):
            beyond = sorted((one for one in notches if (one - value) * way > 0), key=lambda one: one * way)
        return self.control.taken(beyond[min(by, len(beyond)) - 1]) if beyond else None

    def turned_far(self, key: str) -> Any:
        """What Home and End make of a value: the ends; PageUp and PageDown: a decade, or a quarter; None: nothing."""
        page = 3 if isinstance(self.control, Slider) and self.control.log else _NOTCHES // 4
        by = len(self.notches) if key in ("Home", "End") else page
        return None if isinstance(self.control, Switch) else self.turned(1 if key in ("End", "PageUp") else -1, by)


Look = Literal["tools", "slider", "segments", "switches", "buttons", "layers", "rule"]
_LOOKS: dict[type[Control], Look] = {Button: "buttons", Slider: "slider", Segments: "segments", Switch: "switches"}


@dataclass(frozen=True, slots=True)
class Row:
    """Items side by side; `look` says how they stand."""

    look: Look
    items: tuple[Item, ...] = ()
    label: str = ""
    note: str = ""  # dim, behind the label
    ends: tuple[str, str] = ("", "")  # how many inputs and outputs stand at the ends of layers
    typed: Item | None = None  # what is typed after a double click on the note
    middles: tuple[Item, ...] = ()  # of layers their numbers between - and +: typed and dragged out, without a key


def row_of(item: Item) -> Row:
    """The row of a single control."""
    return Row(_LOOKS[type(item.control)], (item,), item.control.label)


def printed(value: Any) -> str:
    """A value as the panel prints it, below a track too: ``1,024``, ``0.03``, ``5e−5``, ``tanh``."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int):
        return f"{value:,}".replace("-", "\N{MINUS SIGN}")
    if isinstance(value, float):
        return f"{value:.4g}".replace("e-0", "e-").replace("e+0", "e").replace("-", "\N{MINUS SIGN}")
    return str(value)
