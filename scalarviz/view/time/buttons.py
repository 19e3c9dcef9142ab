"""What stands beside the bar: five buttons, and a chip that says what undo would undo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...run.core.frame import Past
from ..draw.places import LABEL
from ..draw.sketch import Box, Sketch
from ..draw.text import measure
from ..draw.theme import Theme
from ..panels.drawer import cut
from .curve import mixed

WIDE = 184.0
"""Of the block."""
_GAP, _HIGH = 6.0, 28.0
_NAMES = ("first", "back", "toggle_run", "step", "newest")

Shape = Literal["first", "back", "toggle_run", "step", "newest"]


@dataclass(frozen=True, slots=True)
class Button:
    """One of them.

    Attributes
    ----------
    action : str
        Its name in the table of actions.
    box : Box
    words : str
        What stands on the chip; empty for a sign.
    """

    action: str
    box: Box
    words: str = ""


def buttons_in(box: Box, past: Past) -> list[Button]:
    """The buttons of a block, top left in `box`; the chip below them where there is room and something to undo."""
    x, y, _, height = box
    wide = (WIDE - 4 * _GAP) / 5
    found = [Button(name, (x + k * (wide + _GAP), y, wide, _HIGH)) for k, name in enumerate(_NAMES)]
    action, words = ("undo", past.undo) if past.undo else ("redo", past.redo)
    if words and height >= 2 * _HIGH + _GAP:
        found.append(Button(action, (x, y + _HIGH + 8, WIDE, _HIGH), words))
    return found


def draw_buttons(sketch: Sketch, buttons: list[Button], theme: Theme, *, running: bool, over: str) -> None:
    """All of them; the one under the pointer is brighter."""
    for button in buttons:
        x, y, wide, high = button.box
        lit = button.action == over
        fill = mixed(theme.panel, theme.text3, 0.30 if lit else 0.14)
        sketch.rect(x, y, wide, high, radius=5, fill=fill)
        if button.words:
            _chip(sketch, button, theme)
        else:
            draw_sign(sketch, button.action, button.box, theme.text1 if lit else theme.text2, running=running)


def draw_sign(sketch: Sketch, action: str, box: Box, colour: str, *, running: bool = False) -> None:
    """The sign of an action in the middle of a box; in the middle one a pause, while time goes on."""
    x, y, wide, high = box
    at, middle = x + wide / 2, y + high / 2
    way = -1.0 if action in ("first", "back") else 1.0
    if action == "toggle_run" and running:
        for side in (-5.0, 1.5):
            sketch.rect(at + side, middle - 6, 3.5, 12, fill=colour)
    elif action == "toggle_run":
        _triangle(sketch, at - 4, middle, 10, 7, colour)
    elif action in ("back", "step"):
        _triangle(sketch, at - 2 * way, middle, 8 * way, 6, colour)
        sketch.rect(at - 6 * way - 1, middle - 6, 2.0, 12, fill=colour)
    else:
        for shift in (-7, 0):
            _triangle(sketch, at + shift * way, middle, 7 * way, 6, colour)
        sketch.rect(at + 8 * way - 1, middle - 6, 2.0, 12, fill=colour)


def _triangle(sketch: Sketch, x: float, y: float, long: float, half: float, colour: str) -> None:
    """One whose point is `long` to the right of its base."""
    sketch.polygon([(x, y - half), (x + long, y), (x, y + half)], colour)


def _chip(sketch: Sketch, button: Button, theme: Theme) -> None:
    x, y, wide, high = button.box
    way, middle = (1.0 if button.action == "undo" else -1.0), y + high / 2
    centre = x + 17
    turn = np.linspace(-np.pi / 2, np.pi / 2, 9)
    bow = np.stack([centre + way * (1 + 5 * np.cos(turn)), middle + 0.5 + 4.5 * np.sin(turn)], 1)
    sketch.polyline([(centre - 4 * way, bow[0, 1]), *bow.tolist(), (centre - 3 * way, bow[-1, 1])], theme.text1, 1.8)
    tip = centre - 8 * way, float(bow[0, 1])
    sketch.polygon([tip, (tip[0] + 6 * way, tip[1] - 4), (tip[0] + 6 * way, tip[1] + 4)], theme.text1)
    name = 30 + measure(button.action, LABEL, True)
    if name + 10 + measure(button.words, LABEL) <= wide - 9:  # else the arrow alone says which way
        sketch.text(x + 30, middle + 5, button.action, LABEL, theme.text1, bold=True)
    sketch.text(x + wide - 9, middle + 5, cut(button.words, wide - 39), LABEL, theme.text2, anchor="right")
