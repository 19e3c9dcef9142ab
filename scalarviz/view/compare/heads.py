"""What stands above each view of a comparison: whose it is, at which step, and how large the difference is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ...run.sources.recorded_pair import NAMES, Compared, RecordedPair
from ..draw.places import LABEL, TITLE, Box
from ..draw.sketch import Sketch
from ..draw.text import figure, loss_text, measure, rate_text
from ..draw.theme import Theme
from ..panels.drawer import cut
from ..panels.hud import fitted
from ..shown.subject import Subject
from ..touched.who import who
from .columns import LETTER

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
