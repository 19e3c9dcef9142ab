"""The title of a panel of points: what it shows, and of which kinds they are: filled to learn from, hollow to test."""

from __future__ import annotations

from ..draw.places import LABEL
from ..draw.sketch import Sketch
from ..draw.text import measure
from ..draw.theme import Theme
from .drawer import cut

_BETWEEN = 14.0
_JOINING = ("over", "of", "and", "at", "in")


def kind_of_points(
    sketch: Sketch, right: float, base: float, word: str, theme: Theme, *, hollow: bool = False, dim: bool = False
) -> float:
    """A kind of points, ending at `right`; returns where what is left of it may end."""
    ink = theme.text3 if dim else theme.text2
    left = right - measure(word, LABEL)
    sketch.text(left, base, word, LABEL, ink)
    middle = left - 9
    if hollow:
        sketch.disc(middle, base - 4.5, 4.3, stroke=ink, border=1.6)
    else:
        sketch.disc(middle, base - 4.5, 4.0, ink)
    return middle - 4.3 - _BETWEEN


def shortened(title: str, width: float) -> str:
    """A bold title as far as it fits: up to a word that joins something to it, else with an ellipsis."""
    words = title.split()
    ends = [len(words), *(k for k in range(len(words) - 1, 0, -1) if words[k] in _JOINING)]
    found = (" ".join(words[:end]) for end in ends)
    return next((part for part in found if measure(part, LABEL, True) <= width), cut(title, width, bold=True))
