"""+ and - beside a hidden layer that is pointed at: a neuron more or less, a layer more or less."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..draw.places import LABEL, Box
from ..draw.sketch import Sketch
from ..draw.text import measure
from ..draw.theme import Theme
from .drawer import Point

Floats = NDArray[np.float64]
SIDE = 18.0
_GAP, _AWAY, _REACH = 2.0, 5.0, 6.0
_WORDS = 17.0  # from the buttons of a layer up to their word


class Button(NamedTuple):
    """One of them.

    Attributes
    ----------
    box : Box
    more : bool
        Whether it is a +.
    hidden : tuple of int
        The units of the hidden layers after a click.
    says : str
    """

    box: Box
    more: bool
    hidden: tuple[int, ...]
    says: str

    def at(self, point: Point) -> bool:
        """Whether a point is on it."""
        x, y, wide, high = self.box
        return x <= point[0] < x + wide and y <= point[1] < y + high


def buttons_of(layer: int, hidden: Sequence[int], maps: Sequence[Box]) -> list[Button]:
    """Those of one hidden layer: of its neurons behind the last map, of the layer itself before the first one.

    Parameters
    ----------
    layer : int
        Its number, counted from 0.
    hidden : sequence of int
        Units of all hidden layers.
    maps : sequence of Box
        Of its units, at least one.
    """
    before, own, after = tuple(hidden[:layer]), hidden[layer], tuple(hidden[layer + 1 :])
    first, last = maps[0], maps[-1]
    pair = 2 * SIDE + _GAP
    down = len(maps) > 1 and abs(last[1] - first[1]) > abs(last[0] - first[0])
    if down:
        unit = (last[0] + last[2] / 2 - pair / 2, last[1] + last[3] + _AWAY)
        whole = (first[0] + first[2] / 2 - pair / 2, first[1] - _AWAY - SIDE)
    else:
        unit = (last[0] + last[2] + _AWAY, last[1] + last[3] - SIDE)
        whole = (first[0] - _AWAY - pair, first[1] + first[3] - SIDE)
    found = []
    if own > 1:
        found.append(_button(unit, False, (*before, own - 1, *after), "one neuron less in this layer"))
    found.append(_button(unit, True, (*before, own + 1, *after), "one neuron more in this layer"))
    found.append(_button(whole, False, (*before, *after), "without this layer"))
    found.append(_button(whole, True, (*before, own, own, *after), "one more layer behind this one"))
    return found


def _button(corner: Point, more: bool, hidden: tuple[int, ...], says: str) -> Button:
    x = corner[0] + (SIDE + _GAP if more else 0.0)
    return Button((float(round(x)), float(round(corner[1])), SIDE, SIDE), more, hidden, says)


def near(at: Point, maps: Sequence[Box], buttons: Sequence[Button]) -> bool:
    """Whether a point is on a row of maps, between two of them, or on a button."""
    if any(button.at(at) for button in buttons):
        return True
    middles = np.array([(x + wide / 2, y + high / 2) for x, y, wide, high in maps])
    for button in buttons:  # on the way from the maps to it
        middles = _with(middles, button.box)
    starts, ends = (middles[:-1], middles[1:]) if len(middles) > 1 else (middles, middles)
    ways = ends - starts
    along = np.clip(((np.asarray(at) - starts) * ways).sum(axis=1) / np.maximum((ways**2).sum(axis=1), 1e-9), 0.0, 1.0)
    away = np.hypot(*(starts + along[:, None] * ways - np.asarray(at)).T)
    return bool(away.min() <= min(maps[0][2] / 2, 20.0) + _REACH)


def _with(middles: Floats, box: Box) -> Floats:
    """The line longer by the middle of a box, at the end that is nearer."""
    place = np.array([[box[0] + box[2] / 2, box[1] + box[3] / 2]])
    ends = np.hypot(*(middles[[0, -1]] - place).T)
    return np.concatenate([place, middles] if ends[0] < ends[1] else [middles, place])


def boxes_of(buttons: Sequence[Button]) -> list[Box]:
    """What they take of the picture, with the word over those of the layer."""
    left, right = buttons[-2].box, buttons[-1].box
    wide = max(right[0] + right[2] - left[0], measure("layer", LABEL))
    middle = (left[0] + right[0] + right[2]) / 2
    return [*(button.box for button in buttons), (middle - wide / 2, left[1] - _WORDS, wide, _WORDS)]


def draw(buttons: Sequence[Button], over: Button | None, theme: Theme) -> Sketch:
    """All of them, and the word over those of the layer."""
    sketch = Sketch()
    for button in buttons:
        x, y, wide, high = button.box
        lit = over is not None and over.box == button.box
        ink = theme.text1 if lit else theme.text2
        sketch.rect(x, y, wide, high, fill=theme.panel, stroke=ink if lit else theme.flow, radius=5)
        middle = x + wide / 2, y + high / 2
        sketch.line((middle[0] - 4, middle[1]), (middle[0] + 4, middle[1]), ink, 1.6)
        if button.more:
            sketch.line((middle[0], middle[1] - 4), (middle[0], middle[1] + 4), ink, 1.6)
    left, right = buttons[-2].box, buttons[-1].box
    x, y = (left[0] + right[0] + right[2]) / 2, left[1]
    wide = measure("layer", LABEL)
    sketch.rect(x - wide / 2 - 4, y - _WORDS - 1, wide + 8, 16, fill=theme.background, radius=3)
    sketch.text(x, y - 5, "layer", LABEL, theme.text2, anchor="middle")
    return sketch
