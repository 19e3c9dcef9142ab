"""A table of the layers over the picture: gradient, update beside weights, dead units, all of one frame."""

from __future__ import annotations

from collections.abc import Sequence

from ...run.core.forward import FLAT
from ...run.core.frame import Frame
from ...run.questions.diagnosis import LayerRow, layer_rows
from ..draw.places import LABEL, TITLE, Places
from ..draw.sketch import Sketch
from ..draw.text import measure, short
from ..draw.theme import Theme
from ..shown.subject import Subject
from .overlay import wrapped
from .wording import gradient_words

_PAD, _LINE, _GAP = 14.0, 19.0, 18.0
_HEADS = ("layer", "weights", "|weights|", "|gradient|", "|update|", "update / weights", "units at rest")
_ORDER = (0, 3, 5, 6, 1, 2, 4)  # which are the most important


class LayerTable:
    """The table of one picture.

    Attributes
    ----------
    shown : bool
        May be set; what is to be seen then is written with the next texts.
    sketches : list of Sketch
        What :meth:`write` has made.
    """

    def __init__(self) -> None:
        self.shown = False
        self.sketches: list[Sketch] = []

    def close(self) -> bool:
        """Escape: hide it; returns whether it was there."""
        there, self.shown, self.sketches = self.shown, False, []
        return there

    def write(self, subject: Subject, frame: Frame, theme: Theme, places: Places) -> None:
        """The numbers of a frame, where it is shown."""
        self.sketches = []
        if not self.shown:
            return
        x, _, width, _ = places.scene
        left, top = x + min(24.0, 0.04 * places.size[0]), (8.0 if places.hud is None else places.hud[1] + 60.0)
        room = (min(width, places.size[0]) - 2 * (left - x), places.size[1] - top - 8.0)
        rows = layer_rows(frame, subject.tensors, subject.stages)
        self.sketches = [_drawn(rows, (left, top), room, frame, subject, theme)]


def _drawn(
    rows: Sequence[LayerRow],
    at: tuple[float, float],
    room: tuple[float, float],
    frame: Frame,
    subject: Subject,
    theme: Theme,
) -> Sketch:
    lines = [_HEADS, *(_texts(row) for row in rows)]
    wide = [max(measure(line[k], LABEL, k == 0) for line in lines) for k in range(len(_HEADS))]
    columns = [0]
    for k in _ORDER[1:]:
        empty = all(line[k] in ("", "\N{EN DASH}") for line in lines[1:])
        if not empty and _width(wide, [*columns, k]) + 2 * _PAD <= room[0]:
            columns.append(k)
    columns.sort()
    inner = max(_width(wide, columns), measure("layers at step 1,000,000", TITLE, True))
    said = [line for text in _said(rows, frame, subject) for line in wrapped(text, inner)]
    fixed = 2 * _PAD + 28 + _LINE * (1 + len(said))
    most = max(1, int((room[1] - fixed) / _LINE))
    if len(rows) > most:
        said, most = said[:0], max(1, int((room[1] - 2 * _PAD - 28 - _LINE * 2) / _LINE))
    left_out = len(rows) - most
    shown = lines if left_out <= 0 else lines[: most + 1]
    count = len(shown) + len(said) + (left_out > 0)
    sketch = Sketch()
    x, y = at
    sketch.rect(x, y, inner + 2 * _PAD, 2 * _PAD + 24 + _LINE * count, radius=6, fill=theme.panel, stroke=theme.flow)
    x, y = x + _PAD, y + _PAD + 13
    sketch.text(x, y, f"layers at step {frame.step:,}", TITLE, theme.text1, bold=True)
    y += 24
    for number, line in enumerate(shown):
        _row(sketch, (x, y + _LINE * number), line, wide, columns, theme.text3 if number == 0 else theme.text1)
    y += _LINE * len(shown)
    if left_out > 0:
        sketch.text(x, y, f"and {left_out:,} more", LABEL, theme.text3)
    for number, text in enumerate(said):
        sketch.text(x, y + _LINE * number + 4, text, LABEL, theme.text2)
    return sketch


def _row(
    sketch: Sketch, at: tuple[float, float], line: Sequence[str], wide: Sequence[float], columns: Sequence[int],
    colour: str,
) -> None:  # fmt: skip
    x, y = at
    for k in columns:
        if k == 0:
            sketch.text(x, y, line[k], LABEL, colour)
        else:
            sketch.text(x + wide[k], y, line[k], LABEL, colour, anchor="right")
        x += wide[k] + _GAP


def _width(wide: Sequence[float], columns: Sequence[int]) -> float:
    return sum(wide[k] for k in columns) + _GAP * (len(columns) - 1)


def _texts(row: LayerRow) -> tuple[str, ...]:
    numbers = (row.weight, row.gradient, row.update, row.ratio)
    weight, gradient, update, ratio = ("\N{EN DASH}" if n is None else short(n) for n in numbers)
    rests = ""
    if row.dead is not None:
        rests = f"{row.dead:,} of {row.units:,} dead"
    elif row.flat is not None:
        rests = f"{100 * row.flat:.0f} % flat"
    return row.name, f"{row.count:,}", weight, gradient, update, ratio, rests


def _said(rows: Sequence[LayerRow], frame: Frame, subject: Subject) -> list[str]:
    """Of which samples and of which moment the numbers are."""
    said = []
    words = gradient_words(subject, frame)
    if words:
        said.append(f"gradient and update: {words}")
    samples = 0 if frame.units is None else frame.units.samples
    when = "" if frame.units_step in (None, frame.step) else f", as of step {frame.units_step:,}"
    of = f"the first {samples:,} samples{when}" if samples else "the samples"
    if any(row.dead is not None for row in rows):
        said.append(f"dead: 0 for all of {of}")
    if any(row.flat is not None for row in rows):
        said.append(f"flat: a slope below {FLAT:g} of its largest, mean over units and {of}")
    return said
