"""`Strip`: the legends below the cubes, and the formulas of a single layer.

`StoryLines` at the left of the legend say what will happen or has happened, and show key caps, which are clickable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ..cubes.atlas import ALL_ALIKE, DEAD, FROZEN, NAN, NEG_INF, NOT_COMPUTED, POS_INF
from ..cubes.scale import ActivationScale, Coloring, LegendScale, Tick
from ..cubes.slab import SlabVisual
from ..ink.axes import spaced
from ..ink.boxes import BELOW, CHANNEL, GAP, LABEL, STRIP, TITLE, Places
from ..ink.sketch import CLIPPED, Anchor, Bound, Box, Lines, Sketch, Spot, TextItem, rgba
from ..ink.text import measure
from ..ink.theme import OF_A_THEME, Colormap, Theme, mixed, rgb
from ..ink.widgets import BoundCaption, bound_caption, caption_lines, wrapped
from ..micro.light import HALF, dimmed
from ..notes.layer import formulas, template
from ..panels.drawer import quantity_words
from ..panels.pace import TextPace
from ..shown.subject import Subject
from ..space.camera import Camera

# ---- The meaning of the marks on cubes: an entry below the legends for each visible mark.

WORDS = {
    "nan": ("NaN", "NaN"),
    "above": ("+\N{INFINITY}", "+\N{INFINITY}"),
    "below": ("\N{MINUS SIGN}\N{INFINITY}", "\N{MINUS SIGN}\N{INFINITY}"),
    "missing": ("not computed yet", "not computed"),
    "untrained": ("no gradient: not trained", "not trained"),
    "unrecorded": ("not recorded", "not recorded"),
    "dead": ("dead: 0 for every sample", "dead"),
    "frozen": ("frozen", "frozen"),
    "clipped": ("clipped: beyond the range", "clipped"),
}
"""Each mark's entry, long and short; the most important first."""
_BITS = {"nan": NAN, "above": POS_INF, "below": NEG_INF, "missing": NOT_COMPUTED, "dead": DEAD, "frozen": FROZEN}
_LARGE = ("dead", "frozen", "clipped")  # drawn only on cubes of six pixels or more
_SIDE, _AIR, _BETWEEN = 13.0, 6.0, 18.0


def marks_on(slab: SlabVisual, colouring: Coloring, camera: Camera, density: float) -> tuple[str, ...]:
    """Return the names of the visible marks, in the order of `WORDS`."""
    bits = slab.atlas.marks
    found = {name for name, bit in _BITS.items() if bits & bit}
    if "missing" in found and colouring.recorded and colouring.quantity == "weight":  # rows of the sample
        found = found - {"missing"} | {"unrecorded"}
    elif "missing" in found and colouring.untrained:
        found = found - {"missing"} | {"untrained"}
    size = np.abs(colouring.drawn)
    if np.any(np.isfinite(size) & (size > (1.0 + 2e-5) * colouring.range.high)):  # as the shader decides
        found.add("clipped")
    if not slab.detailed(camera, density):
        found -= set(_LARGE)
    return tuple(name for name in WORDS if name in found)


def marks_line(box: Box, theme: Theme, names: Sequence[str], dead_at: int | None = None) -> Sketch:
    """Draw the entries in one line that ends at the right of `box`, whose top is the baseline; as many as fit.

    `dead_at` is the step at which dead units were found, if not the step shown.
    """
    sketch = Sketch()
    x, baseline, width, _ = box
    words = WORDS if dead_at is None else WORDS | {"dead": (f"dead at step {dead_at:,}", f"dead at {dead_at:,}")}
    shown = [words[name][0] for name in names]
    if _width(shown) > width:
        shown = [words[name][1] for name in names]
    while shown and _width(shown) > width:
        shown.pop()
    at = x + width - _width(shown)
    for name, text in zip(names, shown, strict=False):
        ICONS[name](sketch, at, baseline - _SIDE + 2, theme)
        at = sketch.text(at + _SIDE + _AIR, baseline, text, LABEL, theme.text2) + _BETWEEN
    return sketch


def _width(texts: Sequence[str]) -> float:
    return sum(_SIDE + _AIR + measure(text, LABEL) + _BETWEEN for text in texts) - (_BETWEEN if texts else 0.0)


def _face(sketch: Sketch, x: float, y: float, theme: Theme) -> None:
    sketch.rect(x, y, _SIDE, _SIDE, fill=theme.text3)


def _checks(sketch: Sketch, x: float, y: float, theme: Theme) -> None:
    sketch.rect(x, y, _SIDE, _SIDE, fill=theme.ink, stroke=theme.text3)
    part = _SIDE / 4
    for row in range(4):
        for column in range(row % 2, 4, 2):
            sketch.rect(x + column * part, y + row * part, part, part, fill=theme.paper)


def _chevrons(way: int) -> Callable[[Sketch, float, float, Theme], None]:
    def draw(sketch: Sketch, x: float, y: float, theme: Theme) -> None:
        _face(sketch, x, y, theme)
        for middle in (y + 4.5, y + 8.5):
            tip = middle - 1.8 * way
            sketch.polyline([(x + 3, middle + 1.2 * way), (x + 6.5, tip), (x + 10, middle + 1.2 * way)], theme.ink, 1.6)

    return draw


def _teeth(sketch: Sketch, x: float, y: float, theme: Theme) -> None:
    _face(sketch, x, y, theme)
    sketch.rect(x + 1, y + 1, _SIDE - 2, 5, fill=theme.ink)
    for left in (x + 2, x + 5, x + 8):
        sketch.polygon([(left, y + 5.5), (left + 3, y + 5.5), (left + 1.5, y + 1.5)], theme.paper)


def _bolts(sketch: Sketch, x: float, y: float, theme: Theme) -> None:
    _face(sketch, x, y, theme)
    for across in (x + 3, x + _SIDE - 3):
        for down in (y + 3, y + _SIDE - 3):
            sketch.disc(across, down, 2.2, theme.ink)
            sketch.disc(across, down, 1.0, theme.paper)


def _cross(sketch: Sketch, x: float, y: float, theme: Theme) -> None:
    sketch.rect(x, y, _SIDE, _SIDE, fill=theme.background, stroke=theme.text3)
    for sign in (-1, 1):
        middle = y + _SIDE / 2
        sketch.line((x + 3.5, middle - 3 * sign), (x + _SIDE - 3.5, middle + 3 * sign), theme.text3, 1.2)


def _hatch(sketch: Sketch, x: float, y: float, theme: Theme) -> None:
    sketch.rect(x, y, _SIDE, _SIDE, fill=theme.tray, stroke=theme.text3)
    for start, end in (((2, 6), (6, 2)), ((2, 11), (11, 2)), ((7, 11), (11, 7))):
        sketch.line((x + start[0], y + start[1]), (x + end[0], y + end[1]), theme.text3, 1.2)


ICONS: dict[str, Callable[[Sketch, float, float, Theme], None]] = {
    "nan": _checks, "above": _chevrons(1), "below": _chevrons(-1), "missing": _hatch, "untrained": _hatch,
    "unrecorded": _hatch,
    "dead": _cross, "frozen": _bolts, "clipped": _teeth,
}  # fmt: skip
"""Draws the icon of each mark in grey, as on a small cube."""


LEGEND, ACTIVATION = 344.0, 220.0
"""Widths in logical pixels."""
_NOTED, _PLAIN = 290.0, 160.0
"""Least widths in logical pixels: with and without the note beside the title."""
_MARKS = 3.0  # from the strip's lower edge to the line of marks; the time bar begins 8 below it
_LINE = STRIP + 12.0  # from the upper edge to words below legend and marks
WRITTEN = 480.0
"""Least width left of the legend, in logical pixels, for a cube's inspector."""


class Strip:
    """The strip of one subject.

    `rows`: activation rows are drawn and need a legend. `single`: there is one layer, and its formulas can be written.
    `density` is device pixels per logical pixel.
    """

    def __init__(
        self,
        subject: Subject,
        theme: Theme,
        colouring: Coloring,
        activations: ActivationScale,
        *,
        rows: bool,
        single: bool,
        density: float,
    ) -> None:
        self._subject, self._theme = subject, theme
        self._colouring, self._activations = colouring, activations
        self._rows, self._single, self._density = rows, single, density
        self._bars: dict[tuple[str, int, float], NDArray[np.uint8]] = {}
        self.sizing = ALL_ALIKE  # size of cubes: hidden values are blank on the legend

    def change(self, theme: Theme) -> None:
        """Change the theme; the scales know theirs."""
        self._theme = theme
        self._bars.clear()

    def sketches(
        self,
        box: Box,
        frame: Frame,
        *,
        selected: int | None = None,
        marks: Sequence[str] = (),
        beside: float | None = None,
        other: LegendScale | None = None,
        asked: tuple[bool, bool] = (True, True),
        caption: str | BoundCaption = "",
    ) -> list[Sketch]:
        """Return the strip for one frame; legends are narrower in a narrow picture.

        `beside` is the width of the weights' legend beside large lines; it then has no neighbour. An `other` legend
        replaces that of activation rows. A `selected` weight has a mark on the legend, and its inspector takes the
        left, in a narrow picture everything. `marks` are the visible marks. `asked` says whether the legend of rows and
        the formulas are wanted; normally only the cubes' legend is shown, and a `caption` at the left.
        """
        x, y, width, height = box
        alone = selected is not None or beside is not None
        standing = height >= BELOW  # words below the legend
        own = (width if standing else legend_width(width)) if beside is None else beside
        own = min(own, _PLAIN) if self._theme.presenter and not standing else own
        if not own or (selected is not None and not room_beside(width)):
            return []
        sketches, left = list[Sketch](), width - own - GAP
        words = (x, y + _LINE, width, height - _LINE) if standing else (x, y, left, height)
        height = min(height, STRIP)
        if not alone and ((self._rows and asked[0]) or other is not None) and width >= 2 * _PLAIN + GAP:
            part = max(_PLAIN, min(ACTIVATION, left))
            own = min(own, width - part - GAP)
            scale = other or self._activations.legend()
            bar = self._bar("activation" if other is None else "other", part, scale.cmap)
            sketches.append(legend((x, y, part, height), self._theme, scale, *bar))
        elif not alone and self._single and asked[1]:
            sketches.append(self._formulas(frame, words))
            if self._theme.presenter and not sketches[-1].texts:  # the presenter theme has room for one of them
                return [self._formulas(frame, box)]
        elif not alone and caption and words[2] >= _PLAIN:
            sketches.append(Sketch())
            if isinstance(caption, str):
                caption_lines(sketches[-1], words, self._theme, caption)
            else:
                bound_caption(sketches[-1], words, self._theme, caption)
        place, wide = (x + width - own, y, own, height), own if alone else width
        sketches += [self.legend(place, frame), *([] if selected is None else [self._mark(place, selected)])]
        below = (x + width - wide, y + height + _MARKS, wide, 0.0)
        return [*sketches, marks_line(below, self._theme, marks, frame.units_step)]

    def foot(self, box: Box, frame: Frame, marks: Sequence[str], about: str | None) -> list[Sketch]:
        """Return the legend alone, at the foot of the column, with the meaning of `marks` below it."""
        x, y, width, _ = box
        below = (x, y + 86.0, width, 0.0)
        return [self.legend(box, frame, about), marks_line(below, self._theme, marks, frame.units_step)]

    def legend(self, box: Box, frame: Frame, about: str | None = None) -> Sketch:
        """Draw the legend of the cubes' colours; `about` names the samples, if not the frame's batch."""
        scale = self._colouring.legend()
        about = quantity_words(self._colouring.quantity, self._subject, frame) if about is None else about
        about = about or ("" if self._subject.source.counted else self.sizing.words())  # otherwise the HUD says it
        dark = self._colouring.dark
        if about and not dark:  # the samples are more useful than the ticks
            clipped = scale.note.rpartition(" · ")[2]
            log = " · log" if self._colouring.range.scale == "symlog" else ""  # kept longer than the clipped part
            texts = [f"{text}{log}" for text in (about, about.rpartition(", ")[2])]
            notes = [*(f"{text} · {clipped}" for text in texts), *texts, log[3:] or scale.note]
            room = box[2] - measure(scale.title, TITLE, True) - 16
            scale = replace(scale, note=next((n for n in notes if measure(n, LABEL) <= room), scale.note))
        return legend(box, self._theme, scale, *self._bar("dark" if dark else "value", box[2], scale.cmap))

    def rows(self, box: Box) -> Sketch:
        """Draw the legend of activation rows."""
        scale = self._activations.legend()
        return legend(box, self._theme, scale, *self._bar("activation", box[2], scale.cmap))

    def _mark(self, box: Box, index: int) -> Sketch:
        """Mark the value of a weight on the legend."""
        sketch = Sketch()
        unit = float(self._colouring.range.unit(self._colouring.flat[index]))
        if np.isfinite(unit):
            x = box[0] + min(max(unit, 0.0), 1.0) * (box[2] - 1) + 0.5
            sketch.line((x, box[1] + 24), (x, box[1] + 33), self._theme.selection, 3.0)
        return sketch

    def _bar(self, which: str, width: float, cmap: Colormap) -> tuple[NDArray[np.uint8], str]:
        """Return the bar's pixels, and its name in other themes; equal widths give the same array, uploaded once."""
        count = max(2, round(width * self._density))
        hidden = self.sizing.threshold if which == "value" else 0.0
        if (which, count, hidden) not in self._bars:
            ends = (0.5 - hidden / 2, 0.5 + hidden / 2) if self._colouring.shows.signed else (0.0, hidden)
            bar = bar_pixels(cmap, count, ends, self._theme.background if hidden else "")
            if which == "dark":
                bar = np.rint(255 * dimmed(bar / 255, self._theme)).astype(np.uint8)
            self._bars[which, count, hidden] = bar
        name = cmap.name if cmap.name in OF_A_THEME and not hidden else ""
        return self._bars[which, count, hidden], f"{name}:tray:{HALF:g}" if name and which == "dark" else name

    def _formulas(self, frame: Frame, box: Box) -> Sketch:
        """Draw each output's formula in the largest type that fits such formulas; nothing if none fits.

        The type does not depend on the numbers, so that it is stable from frame to frame.
        """
        sketch = Sketch()
        size, step, lines = written(self._subject, frame, box[2], box[3])
        for row, line in enumerate(lines):
            sketch.text(box[0], box[1] + 16 + step * row, line, size, self._theme.text2)
        return sketch


def written(subject: Subject, frame: Frame, width: float, height: float) -> tuple[float, float, list[str]]:
    """Return the type size, line height and lines of a single layer's formulas; no lines if they do not fit."""
    ways = formulas(frame, subject.stages, subject.sample)
    longest = template(frame, subject.stages, subject.sample)
    size, step = (CHANNEL, 23.0) if measure(longest, CHANNEL) <= width else (LABEL, 20.0)
    if len(ways) * step > height:
        size, step = LABEL, 20.0
    kinds = [{len(line.partition(".")[2].partition("·")[0]): line for line in reversed(some)} for some in ways]
    # lines together have equally many decimals, or each the fewest possible
    alike = [[kind.get(places, "") for kind in kinds] for places in reversed(kinds[0] if kinds else {})]
    every = [*alike, [some[-1] for some in ways]]
    lines = next((all_of for all_of in every if all(0 < measure(one, size) <= width for one in all_of)), [])
    return size, step, lines if len(lines) * step <= height else []


def legend_width(width: float) -> float:
    """Return the width of the weights' legend in a strip of this width (logical pixels): all where it stands alone."""
    return min(LEGEND, max(_NOTED, 0.4 * width)) if width >= _NOTED + GAP + _PLAIN else width


def room_beside(width: float) -> bool:
    """Return whether the inspector fits beside the legend."""
    return width >= LEGEND + GAP + WRITTEN


# ---- The legend: a bar in the cubes' colours, with a tick for every cube.

BAR = 14


def bar_pixels(cmap: Colormap, count: int, hidden: tuple[float, float] = (1, 0), blank: str = "") -> NDArray[np.uint8]:
    """Return the bar's colours, shape (1, count, 3): the map at each pixel's centre, `blank` between two places."""
    place = (np.arange(count) + 0.5) / count
    bar = cmap.bytes(2 * place - 1 if cmap.diverging else place)[None]
    if blank:
        bar[0, (place > hidden[0]) & (place < hidden[1])] = np.rint(255 * np.array(rgb(blank)))
    return bar


def legend(box: Box, theme: Theme, scale: LegendScale, bar: NDArray[np.uint8], cmap: str = "") -> Sketch:
    """Draw title and note, marks, bar, numbers; 50 px from the title's baseline to that of the numbers.

    `cmap` is the name of the bar's colours, if another theme has other ones.
    """
    sketch = Sketch()
    x, y, width, _ = box
    baseline = y + 14
    sketch.text(x, baseline, scale.title, TITLE, theme.text1, bold=True)
    if not theme.presenter and measure(scale.title, TITLE, True) + 16 + measure(scale.note, LABEL) <= width:
        scope, dot, share = scale.note.rpartition(" · ")
        own = Bound(CLIPPED, form="share", before=scope + dot, after=" clipped")
        bound = own if share.endswith(own.after) else Bound(None) if f"{own.after}, " in share else None
        sketch.text(x + width, baseline, scale.note, LABEL, theme.text3, anchor="right", bound=bound)
    top = baseline + 20
    if len(scale.marks) and not theme.presenter:
        at = x + np.clip(scale.marks, 0, 1) * (width - 1) + 0.5
        starts, ends = (np.stack([at, np.full_like(at, top - above)], 1, dtype=np.float32) for above in (7, 2))
        sketch.shapes.append(Lines(starts, ends, theme.text2, 1.2, along=(x, width)))
    sketch.image((x, top, width, BAR), bar, linear=False, cmap=cmap)
    _numbers(sketch, (x, top + BAR, width, 0), theme, scale.labels)
    return sketch


def _numbers(sketch: Sketch, box: Box, theme: Theme, labels: Sequence[Tick]) -> None:
    """Draw ticks and numbers without collisions; the ends and zero always stay."""
    x, y, width, _ = box
    first = sorted(labels, key=lambda tick: (tick.place not in (0, 0.5, 1), tick.place))
    wides = [measure(one.text, LABEL) for one in first]
    lefts = spaced(((x + one.place * width, w) for one, w in zip(first, wides, strict=True)), (x, x + width), 8.0)
    for one, left, wide in zip(first, lefts, wides, strict=True):
        if left is not None:
            tick = x + one.place * (width - 1) + 0.5
            sketch.line((tick, y), (tick, y + 4), theme.text3, 1.0)
            ends: dict[Anchor, float] = {"middle": left + wide / 2, "right": left + wide, "left": left}
            held = {"middle": x + one.place * width, "right": x + width, "left": left}  # whatever the number's width
            anchor = next(end for end, at in ends.items() if abs(held[end] - at) < 0.1)
            item = TextItem(ends[anchor], y + 16, one.text, LABEL, rgba(theme.text2), anchor=anchor, bound=one.bound)
            sketch.texts.append(item)


# ---- `StoryLines`: the large lines of a scene's start and end, in the place of the formulas.

SLIMMEST = 160.0
"""Least width of the legend beside them, in logical pixels."""
SAYS = "says"
"""Name of a gesture's spot: a click shows its tip as a notice."""
_SINGLE = ((26, 22, 18), (22, 18, 16), (20, 16, 15))  # type sizes of headline, sentence, key caps
_DOUBLE = ((20, 16, 15), (18, 15, 13))
_APART = 30.0


@dataclass(frozen=True, slots=True)
class Cap:
    """A key or gesture, and what it does."""

    key: str
    does: str
    action: str = ""  # the action of a click (``viewer.send``); empty for a gesture
    says: str = ""  # the notice of a click on a gesture


@dataclass(frozen=True, slots=True)
class StoryText:
    """The current text of the lines."""

    headline: str
    sentence: str
    caps: tuple[Cap, ...] = ()  # the first continues
    fall: tuple[str, str] | None = None  # loss of the first and the last step
    alpha: float = 1.0  # opacity, 0 to 1
    breath: float = 0.0  # brightness of the first cap's border, 0 to 1


class _Plan(NamedTuple):
    """The sizes that fit: type sizes, the sentence in lines, and the width of the legend beside it."""

    sizes: tuple[int, int, int]
    lines: list[str]
    legend: float


class StoryLines:
    """The large lines of one picture."""

    def __init__(self, pace: TextPace) -> None:
        self._pace = pace
        self.text: StoryText | None = None  # the current text; see `set_text`
        self.beside: float | None = None  # width left for the legend, 0 for none; None while there are no lines
        self.sketches: list[Sketch] = []

    @property
    def spots(self) -> list[Spot]:
        """The clickable caps."""
        return [spot for sketch in self.sketches for spot in sketch.spots]

    def set_text(self, story: StoryText | None) -> None:
        """Show this text from the next update on; None for nothing."""
        if story is None or self.text is None:
            self._pace.hurry()
        self.text = story

    def update(self, places: Places, theme: Theme, *, bar: bool, free: bool) -> None:
        """Place the lines at the strip's left if it is `free`, and the caps on the line of keys.

        A `bar` is between them; without it they form one block.
        """
        self.sketches, self.beside = [], None
        if self.text is not None and free and places.strip is not None:
            keys = None if theme.presenter else places.keys  # the presenter theme uses its margin
            if keys is None and places.time is not None and not bar:  # the presenter theme, without a line of keys
                keys = places.time[1] + places.time[3] - 6.0
            if places.strip[3] >= BELOW:  # panels are between the strip and the keys
                bar, keys = False, places.strip[1] + places.strip[3] - 6.0
            self.sketches = [self._sketch(self.text, places.strip, keys, places.time if bar else None, theme)]

    def _sketch(self, story: StoryText, strip: Box, keys: float | None, bar: Box | None, theme: Theme) -> Sketch:
        sketch, (left, top, width, height) = Sketch(), strip
        plan = _plan(story, width, legend_width(width))
        self.beside = plan.legend
        big, small, cap = plan.sizes
        room = width - (plan.legend + GAP if plan.legend else 0.0)
        step = (1.0 if len(plan.lines) == 1 else 0.92) * 1.455 * small
        high = 0.69 * big + step * len(plan.lines)
        bottom = top + height if keys is None else keys + 6.0
        if keys is not None and keys - top - height < 20.0:  # close below the strip
            top = min(top, keys - 1.53 * cap - 8.0 - high)
        air = 0.0 if bar is not None or keys is None else max(0.0, bottom - top - high - 3.0 * cap) / 2
        y = top + air + 0.69 * big
        _headline(sketch, story, (left, y), room, plan.sizes, theme)
        for line in plan.lines:
            y += step
            sketch.text(left, y, line, small, rgba(theme.text2, story.alpha))
        if keys is not None:
            room = room if bar is None else width  # the legend ends above the bar
            size = _cap_size(story.caps, cap, room)
            row = y + 2.45 * cap if air else keys - 0.3 * cap
            if bar is not None:  # the line of keys is lower than a cap
                size = min(size, 16.0)
                row = max(row, bar[1] + bar[3] + 5.0 + 1.23 * size)
            _key_caps(sketch, story, (left, row), left + room, size, theme)
        return sketch


def _headline(
    sketch: Sketch, story: StoryText, at: tuple[float, float], room: float, sizes: tuple[int, int, int], theme: Theme
) -> None:
    (x, y), (big, _, cap) = at, sizes
    x = sketch.text(x, y, story.headline, big, rgba(theme.text1, story.alpha), bold=True) + cap
    if story.fall is None or _headline_width(story, sizes) > room:
        return
    x = sketch.text(x, y, f"loss {story.fall[0]}", cap, rgba(theme.text3, story.alpha)) + 0.5 * cap
    middle = y - 0.357 * cap
    sketch.arrow((x, middle), (x + 1.7 * cap, middle), rgba(theme.text2, story.alpha), 1.6)
    sketch.text(x + 2.2 * cap, y, story.fall[1], cap, rgba(theme.text1, story.alpha), bold=True)


def _key_caps(sketch: Sketch, story: StoryText, at: tuple[float, float], end: float, size: float, theme: Theme) -> None:
    """Draw caps from left to right; what does not fit is left out, descriptions of the last caps first."""
    (x, y), high, fill = at, 1.75 * size, rgba(mixed(theme.text3, theme.panel, 0.14), story.alpha)
    top = y - 0.357 * size - high / 2
    for number, cap in enumerate(story.caps):
        wide = measure(cap.key, size, True) + size
        if x + wide > end:
            return
        edge = mixed(theme.text1, theme.flow, story.breath if number == 0 else 0.0)
        sketch.rect(x, top, wide, high, radius=5, fill=rgba(theme.text3, story.alpha))  # its lower edge shows below
        sketch.rect(x, top, wide, high - 1.6, radius=5, fill=rgba(theme.background, story.alpha))
        sketch.rect(x, top, wide, high - 1.6, radius=5, fill=fill, stroke=rgba(edge, story.alpha), border=1.2)
        ink = rgba(theme.text1, story.alpha)
        sketch.text(x + wide / 2, y - 0.8, cap.key, size, ink, bold=True, anchor="middle")
        sketch.spot((x, top, wide, high), cap.action or SAYS, words=f"{cap.key} {cap.does}", tip=cap.says)
        x += wide + 12
        if x + measure(cap.does, size) <= end:
            ink = rgba(theme.text3 if number else theme.text1, story.alpha)
            x = sketch.text(x, y - 0.8, cap.does, size, ink) + _APART * size / 18
        else:
            x += 6


def _plan(story: StoryText, width: float, legend: float) -> _Plan:
    """Return the largest type that fits beside the legend on one line, or smaller on two; else drop the legend."""
    beside = (legend, min(SLIMMEST, legend))
    ways = [(sizes, wide, 1) for sizes in _SINGLE for wide in beside]
    ways += [(sizes, wide, 2) for sizes in _DOUBLE for wide in beside]
    ways += [(sizes, 0.0, 2) for sizes in (*_SINGLE, *_DOUBLE)]
    for sizes, wide, most in ways:
        room = width - wide - GAP if wide else width
        lines = wrapped(story.sentence, max(room, 1.0), sizes[1])
        if len(lines) <= most and _headline_width(story, sizes) <= room:
            return _Plan(sizes, lines, wide)
    return _Plan(_DOUBLE[-1], [], 0.0)


def _headline_width(story: StoryText, sizes: tuple[int, int, int]) -> float:
    own = measure(story.headline, sizes[0], True)
    if story.fall is None:
        return own
    return own + 3.2 * sizes[2] + measure(f"loss {story.fall[0]}", sizes[2]) + measure(story.fall[1], sizes[2], True)


def _cap_size(caps: Sequence[Cap], most: float, room: float) -> float:
    """Return the largest type, up to `most`, in which all caps and descriptions fit side by side."""

    def wide(size: float) -> float:
        own = sum(measure(c.key, size, True) + size + 12 + measure(c.does, size) for c in caps)
        return own + _APART * size / 18 * max(len(caps) - 1, 0)

    return next((size for size in (18.0, 16.0, 15.0, 14.0) if size <= most and wide(size) <= room), 13.0)
