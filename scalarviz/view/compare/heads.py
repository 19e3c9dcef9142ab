"""What stands above each view of a comparison: whose it is, at which step, and how large the difference is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import floor

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame, Stage
from ...run.questions.ranges import Range, extent
from ...run.sources.recorded_pair import NAMES, Compared, RecordedPair
from ..cubes.scale import ActivationScale, LegendScale, grown
from ..ink.maps import get_map
from ..ink.places import LABEL, MARGIN, TITLE, Places
from ..ink.sketch import Box, Sketch
from ..ink.text import figure, loss_text, measure, rate_text
from ..ink.theme import Theme
from ..panels.drawer import cut
from ..screen.hud import fitted
from ..screen.selection import who
from ..shown.subject import Subject

_LINE = 20.0
_SAMPLE = 22.0  # of a curve, before the name of whose it is
_DASHES = 6.0, 4.0


def heads(
    boxes: tuple[Box, ...], theme: Theme, pair: RecordedPair, frame: Compared, subject: Subject, shows: str
) -> Sketch:
    """The three heads for one moment; `shows` is what the cubes show, in words. Low boxes have a letter each."""
    sketch = Sketch()
    if boxes[0][3] <= LETTER:
        for box, letter in zip(boxes, (*NAMES, pair.of), strict=True):
            sketch.text(box[0], box[1] + 24, letter, TITLE, theme.text1, bold=True)
        return sketch
    for k, (box, one) in enumerate(zip(boxes, frame.both, strict=False)):
        _whose(sketch, box, theme, NAMES[k], pair.names[k], dashed=k == 1, curve=not pair.heads)
        if pair.heads:
            sketch.text(box[0], _first(box) + _LINE + 4, fitted(pair.heads[k], box[2]), LABEL, theme.text2)
        else:
            _moment(sketch, box, theme, frame.step, one)
    _difference(sketch, boxes[2], theme, pair, frame, subject, shows)
    return sketch


def _whose(sketch: Sketch, box: Box, theme: Theme, letter: str, name: str, *, dashed: bool, curve: bool) -> None:
    """The letter, the name, and how its `curve` is drawn in the time bar, if it has one."""
    x, y = box[0], _first(box)
    sketch.text(x, y, letter, TITLE, theme.text1, bold=True)
    at = x + measure(letter, TITLE, True) + 10
    middle = y - 5.0
    dash = _DASHES if dashed else None
    if curve:
        sketch.polyline([(at, middle), (at + _SAMPLE, middle)], theme.text3 if dashed else theme.text1, 2.0, dash=dash)
        at += _SAMPLE + 8
    sketch.text(at, y, cut(name, x + box[2] - at), LABEL, theme.text2)


def _moment(sketch: Sketch, box: Box, theme: Theme, step: int, frame: Frame) -> None:
    """Its true step, said loudly where it is not the one that is asked for, and its loss."""
    x, y, right = box[0], _first(box) + _LINE + 4, box[0] + box[2]
    parts = [("step", f"{frame.step:,}"), ("loss", loss_text(frame.told_loss))]
    for word, value in parts:
        if x + measure(word, LABEL) + 6 + measure(value, TITLE, True) > right:
            return
        sketch.text(x, y, word, LABEL, theme.text3)
        x += measure(word, LABEL) + 6
        sketch.text(x, y, value, TITLE, theme.text1, bold=True)
        x += measure(value, TITLE, True) + 16
    rate = f"lr {rate_text(frame.lr)}"
    ways = [f"its last before {step:,}", "not the step asked for"] if frame.step < step else []
    ways = ways or ([f"its first, after {step:,}"] if frame.step > step else [rate])
    if line := next((way for way in ways if x + measure(way, LABEL) <= right), ""):
        sketch.text(x, y, line, LABEL, theme.text2)
    elif ways[0] != rate and box[3] > 2 * _LINE + 24:
        sketch.text(box[0], y + _LINE, cut(ways[0], box[2]), LABEL, theme.text2)


def _difference(
    sketch: Sketch, box: Box, theme: Theme, pair: RecordedPair, frame: Compared, subject: Subject, shows: str
) -> None:
    x, _, wide, high = box
    name = pair.of
    sketch.text(x, _first(box), name, TITLE, theme.text1, bold=True)
    at = x + measure(name, TITLE, True) + 12
    sketch.text(at, _first(box), cut(f"difference of {shows}s", x + wide - at), LABEL, theme.text2)
    said = largest_words(_numbers(frame, shows), frame.known(shows), lambda index: who(subject, index).name)
    sketch.text(
        x, _first(box) + _LINE + 4, fitted(said, wide) or fitted(said.partition(":")[0], wide), LABEL, theme.text2
    )
    if pair.left_out and high > 2 * _LINE + 24:
        more = f"  ·  {len(pair.left_out) - 1} more" if len(pair.left_out) > 1 else ""
        sketch.text(x, _first(box) + 2 * _LINE + 4, cut(f"left out: {pair.left_out[0]}{more}", wide), LABEL,
                    theme.weight[1])  # fmt: skip


def _numbers(frame: Frame, shows: str) -> NDArray[np.floating]:
    return {"gradient": frame.gradient, "update": frame.update}.get(shows, frame.values)


def largest_words(values: NDArray[np.floating], known: NDArray[np.bool_], name_of: Callable[[int], str] = str) -> str:
    """Where a difference (P,) is largest, or that there is none; `known`: where there are two numbers at all.

    `js/heads.js` says the same.
    """
    finite = known & np.isfinite(values)
    if not known.any():
        return "not computed yet"
    odd = int(np.count_nonzero(known & ~finite))
    beside = f"{odd:,} NaN or infinite" if odd else ""
    if not finite.any():
        return f"no number to compare: {beside}"
    size = np.where(finite, np.abs(np.where(finite, values, 0.0)), -1.0)
    index = int(np.argmax(size))
    if size[index] == 0:
        return f"no difference between numbers; {beside}" if odd else "no difference: every number is the same"
    return "  ·  ".join(filter(None, (f"largest {figure(float(values[index]))}", name_of(index), beside)))


def _first(box: Box) -> float:
    """Baseline of the first line."""
    return box[1] + (20.0 if box[3] < 60 else 28.0)


# ---- Where the three views of a comparison stand: pure numbers in logical pixels.

HEAD, SMALL_HEAD, LETTER = 78.0, 54.0, 34.0
"""Height of what is written above each, in a low picture, and where only a letter is."""
_SMALL = 500.0  # logical pixels of a picture that is low
GAP = 20.0
"""Between two legends."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The places of one picture.

    Attributes
    ----------
    wide : float
        Of each column.
    heads : tuple of Box
        What is written above each.
    legends : tuple of Box
        That of the two and that of the difference; empty where there is no room.
    scene : Box
        Of the difference, which is the last; those of the two lie `wide` and twice `wide` left of it.
    """

    wide: float
    heads: tuple[Box, ...]
    legends: tuple[Box, ...]
    scene: Box

    def column(self, x: float) -> int:
        """Which column a place from left to right is in."""
        return min(max(int(x / self.wide), 0), 2)


def columns_of(places: Places, shown: bool) -> tuple[Columns, Places]:
    """The columns of a picture, and its places with the last of them for its cubes; not `shown`: the cubes alone."""
    width, height = places.size
    wide = floor(width * places.scale / 3) / places.scale  # whole pixels: the three are drawn alike
    head = (SMALL_HEAD if height < _SMALL else HEAD) if shown else LETTER
    bottom = places.scene[1] + places.scene[3]
    scene = (2 * wide, head, wide, max(bottom - head, 1.0))
    heads = tuple((k * wide + _pad(wide), 0.0, wide - 2 * _pad(wide), head) for k in range(3))
    legends: tuple[Box, ...] = ()
    if places.strip is not None:
        _, y, _, high = places.strip
        legends = ((_pad(wide), y, 2 * wide - _pad(wide) - GAP, high),
                   (2 * wide + _pad(wide), y, wide - 2 * _pad(wide), high))  # fmt: skip
    return Columns(wide, heads, legends, scene), replace(places, scene=scene)


def _pad(wide: float) -> float:
    """Left and right of what is written in a column."""
    return min(float(MARGIN), 0.05 * wide)


# ---- `DifferenceScale`: the range and the colours of differences between rows of activations.

MAP = "difference"
"""The colour map of a difference, whatever it is of."""


class DifferenceScale(ActivationScale):
    """One range for the differences of all rows, alike on both sides of 0; `of`: what the difference is called."""

    def __init__(self, stages: Sequence[Stage], theme: Theme, of: str) -> None:
        super().__init__(stages, theme)
        self.cmap, self._of = get_map(MAP, theme), of

    def legend(self) -> LegendScale:
        """What the legend says of it."""
        return replace(super().legend(), title=f"activation, {self._of}", note="")

    def change(self, theme: Theme) -> None:
        """Another look."""
        self.cmap = get_map(MAP, theme)

    def update(self, frame: Frame, seconds: float | None) -> None:
        """Take over a frame of differences."""
        rows = [np.ravel(np.asarray(row, float)) for name, row in frame.activations.items() if name in self._rows]
        wanted = extent(np.concatenate([*rows, np.zeros(0)]))
        v = grown(self._tracker, {"": wanted}, seconds)[""]
        self.growing, self.range = wanted > v, Range(-v, v)


def both_rows(a: Frame, b: Frame) -> Frame:
    """The first of two frames with the rows of both, one after the other: what makes the range that they share."""
    rows = {name: np.concatenate([np.ravel(row), np.ravel(b.activations[name])])
            for name, row in a.activations.items() if name in b.activations}  # fmt: skip
    return replace(a, activations=rows)
