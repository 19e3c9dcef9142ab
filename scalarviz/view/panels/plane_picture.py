"""The picture of a plane: numbers on a grid as colours, and the line where the answer changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...run.panels import PlaneMap
from ...run.panels.kinds import Axis
from ...run.source import Moment
from ..ink.axes import Floats, zero_lines
from ..ink.maps import class_colours, class_shades, signed_shades
from ..ink.places import LABEL
from ..ink.sketch import Box, Sketch, rgba
from ..ink.text import measure, number, short
from ..ink.theme import Theme
from ..ink.widgets import Toggle
from .drawer import cut
from .points import kind_of_points, shortened

SHARE = 0.62
"""Of the colour map's range that the ground uses, so that points in the whole range stand out."""
WIDTH = 1.6


def answers(panel: PlaneMap, moment: Moment, outputs: NDArray[np.floating]) -> NDArray[np.floating]:
    """What is drawn of outputs (N, n_outputs): one of them (N, 1), or the probabilities of the classes (N, n)."""
    if not panel.classes:
        return outputs[:, panel.output : panel.output + 1]
    stages = moment.source.stages
    numbers = np.asarray(outputs[:, : len(panel.classes)], float)
    if stages and stages[-1].kind == "softmax":
        return numbers
    with np.errstate(invalid="ignore", over="ignore"):
        raised = np.exp(numbers - numbers.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def finer(rows: NDArray[np.floating], times: int) -> NDArray[np.floating]:
    """Answers (H, W, k) on a grid with so many times as many cells in each direction, straight between the middles."""
    found = rows
    for axis in (0, 1):
        count = found.shape[axis]
        at = np.clip((np.arange(count * times) + 0.5) / times - 0.5, 0, count - 1)
        low = np.minimum(at.astype(int), max(count - 2, 0))
        part = (at - low).reshape(-1, *[1] * (2 - axis))
        first, second = (np.take(found, np.minimum(low + k, count - 1), axis) for k in (0, 1))
        found = first + part * (second - first)
    return found


def shades(panel: PlaneMap, rows: NDArray[np.floating], theme: Theme, *, hard: bool = False) -> NDArray[np.uint8]:
    """Colours (H, W, 3) of answers (H, W, k); `hard`: as if each answer were certain."""
    if panel.classes:
        return class_shades(rows, theme, SHARE, hard=hard)
    values, (low, high) = rows[..., 0], panel.span
    if hard:
        values = np.where(np.isnan(values), values, np.where(values > (low + high) / 2, high, low))
    return signed_shades(values, panel.span, theme, SHARE)


def boundary(panel: PlaneMap, rows: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Where the answer changes, as pieces of lines over the unit square: starts and ends (K, 2), y downwards."""
    side = np.array([rows.shape[1], rows.shape[0]])
    if not panel.classes:
        grids = [rows[..., 0] - sum(panel.span) / 2]
    else:
        ordered = np.sort(rows, axis=-1)
        best = rows == ordered[..., -1:]
        others = np.where(best, ordered[..., -2:-1], ordered[..., -1:])
        grids = [rows[..., k] - others[..., k] for k in range(rows.shape[-1])]
    found = [zero_lines(grid) for grid in grids]
    starts, ends = (np.concatenate([pieces[k] for pieces in found]) for k in (0, 1))
    return (starts + 0.5) / side, (ends + 0.5) / side


def boundary_sketch(box: Box, pieces: tuple[Floats, Floats], theme: Theme) -> Sketch:
    """That line over a picture in `box`, with an edge that keeps it apart from the ground."""
    sketch = Sketch(over=True)
    corner, size = np.array(box[:2]), np.array(box[2:])
    starts, ends = (corner + part * size for part in pieces)
    sketch.lines(starts, ends, rgba(theme.background, 0.55), WIDTH + 1.6, round_ends=True)
    sketch.lines(starts, ends, theme.selection, WIDTH, round_ends=True)
    return sketch


# ---- The words around a map of a plane: title, what lies over it, the ends of its axes, and what its colours are.

TOP, AXIS, LINE = 21.0, 19.0, 20.0
"""Heights of the title, of the line with the axes' ends, and of a line that says what the colours are."""
_SWATCH, _AIR, _BETWEEN = 10.0, 6.0, 14.0


class Parts(NamedTuple):
    """Where a map and its words stand.

    Attributes
    ----------
    box : Box
        Of the panel.
    map : Box
        A square.
    rows : tuple of tuple of str
        Names of colours, line by line.
    """

    box: Box
    map: Box
    rows: tuple[tuple[str, ...], ...]


def parts_of(panel: PlaneMap, box: Box, *, hands: bool) -> Parts:
    """Where they stand in a box; with `hands` there are switches, too."""
    x, y, width, height = box
    gutter = 0.0 if _alike(panel) else max(measure(_end(v, panel.up), LABEL) for v in panel.up.ends) + 8
    gutter = max(gutter, measure(panel.up.name, LABEL) + 8) if gutter else 0.0
    rows = legend_rows(panel, width, hands=hands)
    side = max(min(width - gutter, height - TOP - AXIS - LINE * len(rows)), 8.0)
    return Parts(box, (round(x + gutter), y + TOP, round(side), round(side)), rows)


def around(panel: PlaneMap, box: Box, *, hands: bool) -> float:
    """Height of all words in a box of this width."""
    return TOP + AXIS + LINE * len(legend_rows(panel, box[2], hands=hands))


def legend_rows(panel: PlaneMap, width: float, *, hands: bool) -> tuple[tuple[str, ...], ...]:
    """Names of colours as they fit into lines; the first one leaves room for a switch."""
    room = width - (Toggle("discretise").width + _BETWEEN if hands else 0.0)
    rows: list[tuple[str, ...]] = [()]
    for word in panel.classes or panel.says:
        taken = sum(_entry(w) + _BETWEEN for w in rows[-1])
        if rows[-1] and taken + _entry(word) > (room if len(rows) == 1 else width):
            rows.append(())
        rows[-1] = (*rows[-1], word)
    return tuple(rows)


def words(
    panel: PlaneMap, parts: Parts, theme: Theme, *, train: bool, test: bool, age: str, toggles: Sequence[Toggle]
) -> Sketch:
    """All of them.

    Parameters
    ----------
    panel, parts, theme
    train, test : bool
        Whether there are points of either kind.
    age : str
        Which step the map is of, where that is not the one shown.
    toggles : sequence of Toggle
        For the points that are held back, and for hard colours; empty where there is no hand.
    """
    sketch = Sketch()
    _title(sketch, panel, parts, theme, train=train, test=test, toggle=toggles[0] if toggles else None)
    _axes(sketch, panel, parts, theme, age)
    _legend(sketch, panel, parts, theme, toggles[1] if toggles else None)
    x, y, wide, high = parts.map
    sketch.rect(x - 1, y - 1, wide + 2, high + 2, stroke=theme.border, radius=3)
    return sketch


def _title(
    sketch: Sketch, panel: PlaneMap, parts: Parts, theme: Theme, *, train: bool, test: bool, toggle: Toggle | None
) -> None:
    """Title at the left, the two kinds of points at the right; the switch of the second beside its name."""
    x, y, width, _ = parts.box
    right, base = x + width, y + 14
    if toggle is not None:
        toggle.box = None
    if test:
        if toggle is not None:
            toggle.draw(sketch, right, base, theme)
            right -= toggle.width + _AIR
        right = kind_of_points(
            sketch, right, base, "test", theme, hollow=True, dim=toggle is not None and not toggle.on
        )
    if train:
        right = kind_of_points(sketch, right, base, "train", theme)
    sketch.text(x, base, shortened(panel.title, right - x), LABEL, theme.text1, bold=True)


def _axes(sketch: Sketch, panel: PlaneMap, parts: Parts, theme: Theme, age: str) -> None:
    """The ends of both axes: those of x below, those of y at the left, or below too where they are the same."""
    x, y, wide, high = parts.map
    base, ink, across, up = y + high + 14, theme.text3, panel.across, panel.up
    low, most = (_end(end, across) for end in across.ends)
    name = f"{across.name}, {up.name}" if _alike(panel) and across.name and up.name else across.name
    sketch.text(x, base, low, LABEL, ink)
    right = f"{name}  {most}" if name else most
    sketch.text(x + wide, base, right, LABEL, ink, anchor="right")
    if age and measure(low, LABEL) + measure(age, LABEL) + measure(right, LABEL) + 2 * _AIR <= wide:
        middle = (x + measure(low, LABEL) + x + wide - measure(right, LABEL)) / 2
        sketch.text(middle, base, age, LABEL, theme.text2, anchor="middle")
    if not _alike(panel):
        left = x - 6
        bottom, top = (_end(end, up) for end in up.ends)
        sketch.text(left, y + 10, top, LABEL, ink, anchor="right")
        sketch.text(left, y + 27, up.name, LABEL, ink, anchor="right")
        sketch.text(left, y + high, bottom, LABEL, ink, anchor="right")


def _legend(sketch: Sketch, panel: PlaneMap, parts: Parts, theme: Theme, toggle: Toggle | None) -> None:
    """A swatch and a name for each colour."""
    x, _, width, _ = parts.box
    base = parts.map[1] + parts.map[3] + AXIS + 14
    if panel.classes:
        colours = class_colours(len(panel.classes))
    else:
        colours = signed_shades(np.array([panel.span]), panel.span, theme)[0] / 255.0
    count = 0
    for row, names in enumerate(parts.rows):
        at = x
        room = width - (toggle.width + _BETWEEN if toggle is not None and not row else 0.0)
        for name in names:
            sketch.rect(at, base + LINE * row - 9.5, _SWATCH, _SWATCH, fill=colours[count], radius=2)
            shown = cut(name, max(x + room - at - _SWATCH - _AIR, 0.0))
            sketch.text(at + _SWATCH + _AIR, base + LINE * row, shown, LABEL, theme.text2)
            at += _entry(name) + _BETWEEN
            count += 1
    if toggle is not None:
        toggle.draw(sketch, x + width, base, theme)


def _entry(word: str) -> float:
    return _SWATCH + _AIR + measure(word, LABEL)


def _alike(panel: PlaneMap) -> bool:
    """Whether both axes have the same numbers at their ends."""
    return panel.across.ends == panel.up.ends


def _end(value: float, axis: Axis) -> str:
    """The number at the end of an axis: a whole one without decimals."""
    signed = min(axis.ends) < 0
    if float(value).is_integer() and abs(value) < 1e5:
        return number(value, 0, signed=signed)
    return short(value, signed=signed)
