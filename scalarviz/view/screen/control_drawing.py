"""How controls are painted: buttons, sliders, lists of choices and switches, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from ...run.controls import Segments, Slider
from ..ink.axes import spaced
from ..ink.places import LABEL
from ..ink.sketch import Box, Sketch
from ..ink.text import measure
from ..ink.theme import Theme, mixed
from ..ink.widgets import HIGH, WIDE, button, draw_sign, knob, plus
from ..panels.drawer import cut
from .control_rows import ENDS, PAD, Item, Placed, Stood, ends_shown, printed

SMALL = 12
"""Of ticks and of what stands below a button."""
KNOB, TRACK = 8.0, 4.0
VALUE = 15
_BETWEEN = 4.0  # logical pixels between two words below a track


@dataclass(frozen=True, slots=True)
class Touched:
    """What a hand is about, by the names of items.

    Attributes
    ----------
    over : str
        Under the pointer; empty for none.
    cell : int
        Which of its choices; -1 for none.
    focus : str
        Where keys go, as far as a key was used; empty: no ring is drawn.
    held : str
        What the button went down on.
    out : str
        What letting go would do to that, which is dragged out of its row; empty: it is not.
    running : bool
        Whether time goes on.
    """

    over: str = ""
    cell: int = -1
    focus: str = ""
    held: str = ""
    out: str = ""
    running: bool = False


def draw_row(sketch: Sketch, stood: Stood, theme: Theme, touched: Touched) -> None:
    """One row with its label, its items and the ring around the one that has the keys."""
    row, (x, y, width, _), parts = stood
    if row.look == "rule":
        sketch.line((x, y + 5.5), (x + width, y + 5.5), theme.border)
        return
    if row.look in ("slider", "segments", "layers"):
        _head(sketch, stood, theme)
    elif row.look == "buttons" and not (len(parts) == 1 and parts[0].item.name == row.label):
        sketch.text(x, y + 19, row.label, LABEL, theme.text2)
        sketch.text(x + measure(row.label, LABEL) + 10, y + 19, row.note, LABEL, theme.text1, bold=True)
    for part in parts:
        if row.look == "tools":
            _tool(sketch, part, theme, touched)
        elif row.look == "slider":
            _slider(sketch, part, theme, touched)
        elif row.look == "segments":
            _segments(sketch, part, theme, touched)
        elif row.look == "switches":
            _switch(sketch, part, theme, touched)
        elif row.look == "buttons":
            words = cut(part.item.control.label, part.box[2] - 8, bold=True)
            lit, down = part.item.name == touched.over, part.item.name == touched.held
            button(sketch, part.box, theme, words, lit=lit, down=down)
    if row.look == "layers":
        _layers(sketch, stood, theme, touched)
    for part in parts:
        if part.item.name == touched.focus:
            _ring(sketch, _ringed(stood, part), theme)


def _head(sketch: Sketch, stood: Stood, theme: Theme) -> None:
    """Label and note at the left, the value at the right."""
    row, (x, y, width, _), parts = stood
    beside = row.look == "segments" and parts[0].box[1] == y
    sketch.text(x, y + (19 if beside else 13), row.label, LABEL, theme.text2)
    if beside:
        return
    shown = row.items[0].shown if row.look != "layers" else ""
    taken = measure(row.label, LABEL) + 10
    sketch.text(x + width, y + 13, shown, VALUE, theme.text1, bold=True, anchor="right")
    if row.note and taken + measure(row.note, LABEL) + measure(shown, VALUE, True) + 8 <= width:
        sketch.text(x + taken, y + 13, row.note, LABEL, theme.text3)


def _ringed(stood: Stood, part: Placed) -> Box:
    """What the ring goes around: the item; of a slider also its label and the words below it, which it would cross."""
    if stood.row.look != "slider":
        return part.box
    x, y, width, high = stood.box
    return x, y - 1, width, high - 5


def _ring(sketch: Sketch, box: Box, theme: Theme) -> None:
    x, y, width, high = box
    sketch.rect(x - 3, y - 3, width + 6, high + 6, stroke=theme.selection, border=2.0, radius=8)


# ---- buttons


def _fill(theme: Theme, share: float) -> tuple[float, float, float]:
    return mixed(theme.text3, theme.panel, share)


def _tool(sketch: Sketch, part: Placed, theme: Theme, touched: Touched) -> None:
    """A button with a sign, its key below it; the one that runs and pauses is the one filled accent."""
    item, (x, y, width, high) = part.item, part.box
    lit, main = item.name == touched.over, item.sign == "toggle_run"
    fill = mixed(theme.text1, theme.panel, 1.0 if lit else 0.94) if main else _fill(theme, 0.34 if lit else 0.2)
    sketch.rect(*part.box, radius=6, fill=fill, stroke=None if main else theme.flow)
    draw_sign(sketch, item.sign, part.box, theme.panel if main else theme.text1, running=touched.running)
    key = item.keys.partition(",")[0]
    sketch.text(x + width / 2, y + high + 16, key, SMALL, theme.text1 if main else theme.text3, bold=main,
                anchor="middle")  # fmt: skip


def _layers(sketch: Sketch, stood: Stood, theme: Theme, touched: Touched) -> None:
    """Boxes in a row: inputs, a number between - and + for each layer, one that adds a layer, outputs."""
    row, (x, _, width, _), parts = stood
    layers, parts = len(row.items) // 2, parts[: len(row.items)]
    top, high = parts[0].box[1], parts[0].box[3]
    if ends_shown(layers, width):
        for left, words in ((x, f"{row.ends[0]} in"), (x + width - ENDS + 4, f"{row.ends[1]} out")):
            sketch.rect(left, top, ENDS - 4, high, radius=5, stroke=theme.border)
            sketch.text(left + (ENDS - 4) / 2, top + 19, cut(words, ENDS - 6), SMALL, theme.text3, anchor="middle")
    for k in range(layers):
        less, more = parts[2 * k], parts[2 * k + 1]
        left, right = less.box[0], more.box[0] + more.box[2]
        if less.item.out is not None and less.item.out.name == touched.out:  # it is in the hand
            _dashed(sketch, (left, top, right - left, high), theme.flow)
            continue
        sketch.rect(left, top, right - left, high, radius=5, stroke=theme.flow)
        sketch.text((left + right) / 2, top + 19, less.item.shown, LABEL, theme.text1, bold=True, anchor="middle")
        for part, up in ((less, False), (more, True)):
            lit = part.item.name == touched.over
            if lit:
                x, y, wide, high = part.box
                sketch.rect(x + 1, y + 1, wide - 2, high - 2, radius=4, fill=_fill(theme, 0.3))
            plus(sketch, part.box, theme.text1 if lit else theme.text2, more=up)
    if len(parts) % 2:
        _add(sketch, parts[-1], theme, touched, words="add a layer" if layers == 0 else "+")


def _add(sketch: Sketch, part: Placed, theme: Theme, touched: Touched, words: str) -> None:
    """A dashed box: there may be one more here."""
    x, y, width, _ = part.box
    lit = part.item.name == touched.over
    if lit:
        sketch.rect(*part.box, radius=5, fill=_fill(theme, 0.2))
    _dashed(sketch, part.box, theme.text2 if lit else theme.flow)
    if words == "+":
        plus(sketch, part.box, theme.text1)
    else:
        sketch.text(x + width / 2, y + 19, words, LABEL, theme.text1, bold=True, anchor="middle")


def _dashed(sketch: Sketch, box: Box, colour: str) -> None:
    x, y, width, high = box
    ring = [(x, y), (x + width, y), (x + width, y + high), (x, y + high), (x, y)]
    sketch.polyline(ring, colour, 1.2, dash=(5, 3))


def draw_carried(sketch: Sketch, at: tuple[float, float], shown: str, theme: Theme) -> None:
    """A layer in the hand."""
    wide, high = max(measure(shown, LABEL, True) + 24, 56.0), 28.0
    x, y = at[0] - wide / 2, at[1] - high / 2
    sketch.rect(x, y, wide, high, radius=5, fill=_fill(theme, 0.3), stroke=theme.text2)
    sketch.text(at[0], y + 19, shown, LABEL, theme.text1, bold=True, anchor="middle")


# ---- sliders


def track_of(part: Placed) -> tuple[float, float, float]:
    """Left end, right end and height of a slider's track."""
    x, y, width, _ = part.box
    return x + 1, x + width - 1, y + 14.0


def _slider(sketch: Sketch, part: Placed, theme: Theme, touched: Touched) -> None:
    slider = part.item.control
    assert isinstance(slider, Slider)
    left, right, y = track_of(part)
    at = left + (right - left) * slider.share(_number(part.item))
    _ticks(sketch, part, theme)
    sketch.lines([(left, y)], [(right, y)], theme.border, TRACK, round_ends=True)
    sketch.lines([(left, y)], [(at, y)], theme.text2, TRACK, round_ends=True)
    if slider.usual is not None:
        usual = left + (right - left) * slider.share(slider.usual)
        sketch.disc(usual, y, TRACK / 2, theme.text1 if usual > at else theme.panel)
    near = part.item.name in (touched.over, touched.held)
    sketch.disc(min(max(at, left + KNOB - 2), right - KNOB + 2), y, KNOB + near, theme.text1)


def _ticks(sketch: Sketch, part: Placed, theme: Theme) -> None:
    """Values below the track: both ends, and of those between them the ones that have room."""
    slider, (left, right, y) = part.item.control, track_of(part)
    assert isinstance(slider, Slider)
    ticks = list(part.item.ticks)
    first = [*ticks[:1], *ticks[:0:-1][:1], *ticks[1:-1]]
    places = [left + (right - left) * slider.share(value) for value, _ in first]
    widths = (measure(words, SMALL) for _, words in first)
    lefts = spaced(zip(places, widths, strict=True), (left, right), _BETWEEN)
    for (_, words), tick, begin in zip(first, places, lefts, strict=True):
        sketch.line((tick, y + 9), (tick, y + 13), theme.text3)
        if begin is not None:
            sketch.text(begin, y + 25, words, SMALL, theme.text3)


def _number(item: Item) -> float:
    return float(item.value) if isinstance(item.value, int | float) else float("nan")


# ---- lists and switches


def _segments(sketch: Sketch, part: Placed, theme: Theme, touched: Touched) -> None:
    control = part.item.control
    assert isinstance(control, Segments)
    sketch.rect(*part.box, radius=5, fill=theme.panel, stroke=theme.border)
    for k, (choice, cell) in enumerate(zip(control.choices, part.cells, strict=True)):
        chosen = choice == part.item.value
        lit = part.item.name == touched.over and touched.cell == k
        x, y, width, high = cell
        if chosen or lit:
            sketch.rect(x + 2, y + 2, width - 4, high - 4, radius=4, fill=_fill(theme, 0.5 if chosen else 0.16))
        colour = theme.text1 if chosen or lit else theme.text2
        sketch.text(x + width / 2, y + 19, printed(choice), LABEL, colour, bold=chosen, anchor="middle")


def _switch(sketch: Sketch, part: Placed, theme: Theme, touched: Touched) -> None:
    item, (x, y, width, high) = part.item, part.box
    on, lit = item.value is True, item.name == touched.over
    right, middle = x + width, y + high / 2
    sketch.text(x, middle + 4.5, cut(item.control.label, width - 44), LABEL, theme.text1 if on or lit else theme.text2)
    knob(sketch, right - WIDE, middle - HIGH / 2, theme, on=on, over=lit)


# ---- the box


def draw_ground(sketch: Sketch, box: Box, theme: Theme, key: str) -> None:
    """The panel itself, its title, and the key that closes it."""
    x, y, width, high = box
    sketch.rect(x, y, width, high, radius=8, fill=theme.panel, stroke=theme.border)
    sketch.text(x + PAD, y + 24, "controls", 16, theme.text1, bold=True)
    closes = "closes"
    sketch.text(x + width - PAD, y + 24, closes, LABEL, theme.text3, anchor="right")
    sketch.text(x + width - PAD - measure(closes, LABEL) - 7, y + 24, key, LABEL, theme.text1, bold=True,
                anchor="right")  # fmt: skip


def draw_bar(sketch: Sketch, box: Box, theme: Theme, first: float, last: float, *, held: bool = False) -> None:
    """Which part of all rows is seen, as shares."""
    x, y, width, high = box
    sketch.rect(x, y, width, high, radius=width / 2, fill=theme.border)
    own = theme.text1 if held else theme.text3
    sketch.rect(x, y + high * first, width, max(high * (last - first), 8.0), radius=width / 2, fill=own)
