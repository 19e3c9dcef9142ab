"""The mistakes that are made on purpose (``sv.mistakes``), named in the picture while they are on."""

from __future__ import annotations

from ...mistakes.engines import HARMLESS
from ...scalar import mistaken
from ..draw.places import LABEL, MARGIN, TITLE, Places
from ..draw.sketch import Sketch
from ..draw.text import measure
from ..draw.theme import Theme
from ..shown.subject import Subject

BESIDE = 560
"""Width from which the legend leaves half of its strip free."""


def mistake_words(subject: Subject) -> str:
    """What is said of them beside the numbers of a subject; empty where it makes none.

    The engines of a Run make no mistakes, but for those of its beginning; a loop by hand makes all that are on.
    """
    made = mistaken.words()
    if subject.source.facts is not None:
        made = tuple(name for name in made if name in HARMLESS)
    return _on(made)


def drawing_words(then: tuple[str, ...]) -> str:
    """What is said in the picture of a graph: what is on now, and what was on `then`, when it was asked for."""
    now = mistaken.words()
    was = [name for name in then if name not in now]
    return "   ".join(filter(None, (_on(now), f"drawn while a mistake was on: {', '.join(was)}" if was else "")))


def _on(made: tuple[str, ...]) -> str:
    return f"mistake on: {', '.join(made)}" if made else ""


def mistake_line(places: Places, theme: Theme, words: str) -> Sketch:
    """The words where a picture without a head has room: beside its legend, or in a small one below it."""
    sketch = Sketch()
    width, height = places.size
    beside = places.strip is not None and width >= BESIDE
    size, room = (TITLE, width / 2 - 2 * MARGIN) if beside else (LABEL, width - 2 * MARGIN)
    if measure(words, size, True) > room:
        size = LABEL
    if measure(words, size, True) > room:
        words = f"{words.count(', ') + 1} mistakes on"
    y = places.strip[1] + 14 if beside and places.strip is not None else height - 8
    sketch.text(MARGIN, y, words, size, theme.text1, bold=True)
    return sketch
