"""Where rows and their items stand: boxes in logical pixels, from top to bottom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from ...run.controls import Button, Control, Segments, Slider, Switch
from ..ink.places import COLUMN, LABEL, MARGIN, Places
from ..ink.sketch import Box
from ..ink.text import measure

# ---- `Item`: one control as it stands in the panel at one moment, and the rows that items come in.

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


PAD = 12.0
BOX = 28.0
"""Height of a list, a button, a switch's line."""
_HEIGHTS = {"tools": 66.0, "slider": 63.0, "switches": 32.0, "buttons": 36.0, "layers": 62.0, "rule": 15.0}
_UNDER = 22.0
"""From the top of a row to what stands under its label."""
_GAP = 8.0
_PAIR = 28.0  # between two switches in a row
_KNOB = 30.0
"""From the top of a slider's row to its track."""


class Placed(NamedTuple):
    """An item and the box that answers to the pointer; of a list the boxes of its choices."""

    item: Item
    box: Box
    cells: tuple[Box, ...] = ()


class Stood(NamedTuple):
    """A row, its box, and its items in theirs."""

    row: Row
    box: Box
    parts: tuple[Placed, ...]


def height_of(row: Row, width: float) -> float:
    """Logical pixels, what parts it from the next one included."""
    if row.look == "segments" and beside_label(row, width):
        return BOX + 10.0
    if row.look == "segments":
        return _UNDER + BOX * lines_of(row.items[0], width) + 9.0
    if row.look == "buttons" and not _beside_words(row, width):
        return BOX + _HEIGHTS[row.look]
    return _HEIGHTS[row.look]


def beside_label(row: Row, width: float) -> bool:
    """Whether a list of few short words stands beside its name, in one line, with nothing else to be said."""
    item = row.items[0]
    return not (item.shown or row.note) and measure(row.label, LABEL) + 14 + _words(item) <= width


def _words(item: Item) -> float:
    """How wide the choices of a list are in one line."""
    assert isinstance(item.control, Segments)
    return sum(measure(printed(one), LABEL, True) + 16 for one in item.control.choices)


def lines_of(item: Item, width: float) -> int:
    """In how many lines the choices of a list stand, so that none is cut."""
    assert isinstance(item.control, Segments)
    words = [measure(printed(one), LABEL, True) + 10 for one in item.control.choices]
    for lines in range(1, len(words) + 1):
        per = -(-len(words) // lines)
        if all(sum(words[k : k + per]) <= width for k in range(0, len(words), per)):
            return lines
    return len(words)


def stood(rows: Sequence[Row], box: Box, air: float = 0.0) -> list[Stood]:
    """Rows one below the other, from the top of `box` on, however far they reach, with `air` between them."""
    x, y, width, _ = box
    found = []
    for row in rows:
        high = height_of(row, width)
        place = (x, y, width, high)
        found.append(Stood(row, place, tuple(_parts(row, place))))
        y += high + air
    return found


def _parts(row: Row, box: Box) -> list[Placed]:
    x, y, width, high = box
    if row.look == "tools":
        return _tools(row.items, box)
    if row.look == "slider":
        return [Placed(row.items[0], (x, y + 16, width, _KNOB))]
    if row.look == "segments" and beside_label(row, width):
        least = _words(row.items[0])
        wide = min(max(least, 0.66 * width), width - measure(row.label, LABEL) - 14)
        return [_list(row.items[0], (x + width - wide, y, wide, BOX))]
    if row.look == "segments":
        return [_list(row.items[0], (x, y + _UNDER, width, high - _UNDER - 9))]
    if row.look == "switches":
        wide = width / 2 if len(row.items) > 1 else width
        return [Placed(item, (x + k * (wide + _PAIR / 2), y, wide - (_PAIR / 2 if len(row.items) > 1 else 0), BOX))
                for k, item in enumerate(row.items)]  # fmt: skip
    if row.look == "buttons":
        return _buttons(row, box)
    if row.look == "layers":
        return _layers(row, (x, y + _UNDER, width, BOX))
    return []


def _tools(items: Sequence[Item], box: Box) -> list[Placed]:
    """Buttons in a row; the one in the middle is wider."""
    x, y, width, _ = box
    wide = (width - _GAP * (len(items) - 1) - 16) / len(items)
    found = []
    for k, item in enumerate(items):
        own = wide + (16 if k == len(items) // 2 else 0)
        found.append(Placed(item, (x, y, own, 38.0)))
        x += own + _GAP
    return found


def _list(item: Item, box: Box) -> Placed:
    """Choices side by side, each as wide as its word and an equal part of what is left."""
    assert isinstance(item.control, Segments)
    x, y, width, high = box
    choices = item.control.choices
    lines = round(high / BOX)
    per = -(-len(choices) // lines)
    cells: list[Box] = []
    for line in range(lines):
        words = [measure(printed(one), LABEL, True) for one in choices[line * per : (line + 1) * per]]
        air = (width - sum(words)) / max(len(words), 1)
        left = x
        for word in words:
            cells.append((left, y + line * BOX, word + air, BOX))
            left += word + air
    return Placed(item, box, tuple(cells))


def _buttons(row: Row, box: Box) -> list[Placed]:
    """At the right of what they are about, or as wide as the panel where nothing is said of it."""
    x, y, width, high = box
    if _alone(row):
        return [Placed(row.items[0], (x, y, width, BOX))]
    right, found = x + width, []
    for item in reversed(row.items):
        wide = _as_wide(item)
        found.append(Placed(item, (right - wide, y + high - _HEIGHTS["buttons"], wide, BOX)))
        right -= wide + _GAP
    return found[::-1]


def _alone(row: Row) -> bool:
    """Whether it is one button that says its name itself."""
    return len(row.items) == 1 and row.items[0].name == row.label


def _as_wide(item: Item) -> float:
    return measure(item.name, LABEL, True) + 20


def _beside_words(row: Row, width: float) -> bool:
    """Whether buttons have room beside what is said of them; else they stand below it."""
    words = measure(row.label, LABEL) + 10 + measure(row.note, LABEL, True)
    return _alone(row) or words + sum(_GAP + _as_wide(item) for item in row.items) <= width


_STEP = 20.0  # width of + and -
ENDS = 46.0
"""Width of the boxes that say how many inputs and outputs there are; with many layers they make way."""
_ADD = 26.0  # width of what adds a layer, beside others
_ROOMY = 56.0  # of a layer beside which they stand


def ends_shown(layers: int, width: float) -> bool:
    """Whether inputs and outputs stand beside so many layers, in a panel so wide inside."""
    return layers == 0 or (width - 2 * ENDS - _ADD) / layers >= _ROOMY


def _layers(row: Row, box: Box) -> list[Placed]:
    """Pairs of - and + for each layer, and one that adds a layer, between the two ends; then numbers, whole layers."""
    (x, y, width, high), items = box, row.items
    layers = len(items) // 2
    if ends_shown(layers, width):
        x, width = x + ENDS, width - 2 * ENDS
    adds = len(items) % 2 == 1
    last = 0.0 if not adds else width if layers == 0 else _ADD
    pitch = (width - last) / max(layers, 1)
    found = []
    for k in range(layers):
        left, wide = x + k * pitch + 5, pitch - 5
        number = measure(row.middles[k].shown, LABEL, True) if row.middles else 0.0
        step = min(_STEP, (wide - max(number, 4.0)) / 2)
        found.append(Placed(items[2 * k], (left, y, step, high)))
        found.append(Placed(items[2 * k + 1], (left + wide - step, y, step, high)))
    if adds:
        left = x + layers * pitch + (5 if layers else 8)
        found.append(Placed(items[-1], (left, y, (x + width - left) - (4 if layers else 8), high)))
    for k, item in enumerate(row.middles):
        (left, _, _, _), (last, _, wide, _) = found[2 * k].box, found[2 * k + 1].box
        found.append(Placed(item, (left, y, last + wide - left, high)))
    return found


# ---- Where the panel stands: over the side column, so that no cube moves; without one where no cube is.

WIDE = COLUMN + 2 * 12.0
LEAST = 280.0
"""Narrower, and its lists would be cut."""
BLOCK_LEAST = 230.0
_EDGE = 12.0
_AIR = 8.0  # between the cubes and the panel


def over_column(places: Places, column: Box | None) -> Box | None:
    """Over the side column, or over the block of panels below an upright picture; None where there is neither."""
    width, height = places.size
    if column is not None:
        return column[0] - _EDGE, _EDGE, WIDE, height - 2 * _EDGE
    if not places.panels:
        return None
    top = min(box[1] for box in places.panels.values()) - _EDGE
    if top < places.scene[1] + places.scene[3] - _EDGE:  # they stand beside the cubes, which would be covered
        return None
    high = height - _EDGE - top
    wide = min(width - 2 * _EDGE, 1.4 * WIDE)
    return (width - _EDGE - wide, top, wide, high) if high >= BLOCK_LEAST else None


def beside_cubes(places: Places, right: float) -> Box | None:
    """At the right of the last cube, over chips and legends; None where that is too narrow."""
    width, height = places.size
    left = max(right + _AIR, width - _EDGE - WIDE)
    wide = width - _EDGE - left
    return None if wide < LEAST else (left, _EDGE, wide, height - 2 * _EDGE)


def at_the_edge(places: Places) -> Box:
    """At the right edge of a picture whose scene makes room for it."""
    width, height = places.size
    edge = min(_EDGE, width * 0.02)
    wide = min(LEAST, width - 2 * edge)
    return width - edge - wide, edge, wide, height - 2 * edge


def narrowed(places: Places) -> Places:
    """The same picture with all that stands beside the panel, the cubes too, in the room that it leaves."""
    limit = at_the_edge(places)[0] - _AIR
    x, y, wide, high = places.scene
    scene = (min(x, 4.0), y, max(min(wide, limit - min(x, 4.0)), 1.0), high)
    return replace(written_beside(places, limit), scene=scene, panels={})


def written_beside(places: Places, limit: float) -> Places:
    """The same picture with all words and legends left of `limit`; cubes stay where they are."""

    def cut(box: Box | None) -> Box | None:
        if box is None:
            return None
        wide = min(box[2], limit - box[0])
        return None if wide < 2 * MARGIN else (box[0], box[1], wide, box[3])

    return replace(places, hud=cut(places.hud), strip=cut(places.strip), time=cut(places.time), limit=limit)
