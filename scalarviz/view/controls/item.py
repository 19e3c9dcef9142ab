"""`Item`: one control as it stands in the panel at one moment, and the rows that items come in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ...run.controls import Button, Control, Segments, Slider, Switch

Look = Literal["tools", "slider", "segments", "switches", "buttons", "layers", "rule"]


@dataclass(frozen=True, slots=True)
class Item:
    """A control with its value. Two are equal if they look the same and stand for the same.

    Attributes
    ----------
    control : Control
    value : object
        What is set at the moment that is shown, or what a hand has set since.
    keys : str
        Those that change the same ("Up, Down"); empty for none.
    shown : str
        The value as it is printed; empty for none.
    ticks : sequence of (float, str)
        Values of a slider, and what is printed below them.
    sign : str
        The action whose sign a button wears; empty for its label.
    stops : tuple of float
        Where alone a slider can stand; empty: anywhere.
    part_of : str
        The control of which a button sets the value of the item; empty: it is one of its own.
    out : Item or None
        What is wanted when it is dragged out of its row; None: it stays there.
    """

    control: Control = field(compare=False)
    value: Any = None
    keys: str = ""
    shown: str = ""
    ticks: Sequence[tuple[float, str]] = ()
    sign: str = ""
    stops: tuple[float, ...] = ()
    part_of: str = ""
    out: Item | None = None
    _kind: tuple[object, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        one = self.control
        ends = (one.least, one.most, one.usual) if isinstance(one, Slider) else ()
        choices = tuple(one.choices) if isinstance(one, Segments) else ()
        object.__setattr__(self, "_kind", (type(one), one.label, one.flag, one.does, ends, choices))

    @property
    def name(self) -> str:
        """What it is found by."""
        return self.control.label

    @property
    def typed(self) -> bool:
        """Whether its value is a number that may be typed."""
        return (isinstance(self.control, Slider) and not self.stops) or (
            isinstance(self.control, Segments) and all(_is_number(one) for one in self.control.choices)
        )


@dataclass(frozen=True, slots=True)
class Row:
    """Items side by side.

    Attributes
    ----------
    look : str
        How they stand.
    items : tuple of Item
    label, note : str
        Above them, the note dim behind it.
    ends : (str, str)
        How many inputs and outputs stand at the ends of layers.
    typed : Item or None
        What is typed after a double click; None: the first item, if that is a number.
    middles : tuple of Item
        Of layers their numbers, between - and +: they are typed and dragged out, and no key goes to them.
    """

    look: Look
    items: tuple[Item, ...] = ()
    label: str = ""
    note: str = ""
    ends: tuple[str, str] = ("", "")
    typed: Item | None = None
    middles: tuple[Item, ...] = ()


def row_of(item: Item) -> Row:
    """The row of a single control."""
    looks: dict[type[Control], Look] = {
        Button: "buttons", Slider: "slider", Segments: "segments", Switch: "switches"
    }  # fmt: skip
    return Row(looks[type(item.control)], (item,), item.control.label)


def printed(value: Any) -> str:
    """A value as the panel prints it, below a track too: ``1,024``, ``0.03``, ``5e−5``, ``tanh``."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int):
        return f"{value:,}".replace("-", "\N{MINUS SIGN}")
    if isinstance(value, float):
        return f"{value:.4g}".replace("e-0", "e-").replace("e+0", "e").replace("-", "\N{MINUS SIGN}")
    return str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
