"""A sample in a line of text: its colour and what becomes of it, its small picture, or its number."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..draw.places import LABEL
from ..draw.text import CAP_HEIGHT
from ..shown.subject import Subject
from .account import Term
from .page import Page

SAMPLE = 68.0
"""Logical pixels that it takes across."""
_WIDE, _HIGH, _GAP = 24.0, 14.0, 40.0


def draw_sample(page: Page, at: tuple[float, float], term: Term, subject: Subject) -> None:
    """The sample of a term, 16 pixels high, from the upper left corner `at` on."""
    x, y = at
    sketch, theme = page.sketch, page.theme
    if term.inputs is not None and subject.sample.colours and len(term.inputs) == 3:
        sketch.rect(x, y + 1, _WIDE, _HIGH, radius=3, fill=_colour(term.inputs), stroke=theme.border)
        if term.outputs is not None and len(term.outputs) == 3:
            sketch.arrow((x + _WIDE + 3, y + 8), (x + _GAP - 3, y + 8), theme.flow, 1.2, head=5.0)
            sketch.rect(x + _GAP, y + 1, _WIDE, _HIGH, radius=3, fill=_colour(term.outputs), stroke=theme.border)
        return
    side = 0 if term.inputs is None else math.isqrt(len(term.inputs))
    if term.inputs is not None and subject.sample.sheet and side * side == len(term.inputs) and side > 1:
        sketch.image(
            (x, y - 1, 18, 18), _picture(np.ascontiguousarray(term.inputs, np.float64).tobytes(), side, theme.name)
        )
        x += 24
    name = "all" if term.sample < 0 else f"{term.sample:,}"
    sketch.text(x, y + 8 + CAP_HEIGHT * LABEL / 2, name, LABEL, theme.text3)


def _colour(numbers: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.clip(np.nan_to_num(np.asarray(numbers, np.float64)), 0.0, 1.0)


@lru_cache(maxsize=64)
def _picture(numbers: bytes, side: int, theme: str) -> NDArray[np.uint8]:
    """Ink 0..1, float64, bright on a dark ground; the same array for the same numbers, so it is uploaded once."""
    ink = np.frombuffer(numbers).reshape(side, side)
    shade = np.clip(np.nan_to_num(ink), 0.0, 1.0)
    grey = np.round(255 * (shade if theme == "dark" else 1.0 - shade)).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)
