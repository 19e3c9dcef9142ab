"""The places of all parts: the grid of 1280x720, and how other sizes follow from it.

A picture larger than the grid has larger type and more room; a smaller one keeps the type size (never below 13 px) and
leaves out what does not fit. Extra width goes to the scene. A lying picture has its panels in a column on the right, or
the scene's main panel small beside the cubes. A standing one has everything below each other: the two lines, cubes,
legend, words, panels, and the time bar.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, shown
from ...run.scene.scene import SIDES
from .sketch import Box, meet

MARGIN = 24
COLUMN, HALL_COLUMN = 304, 264  # width of the side column; for a presenter, whose cubes matter more
GAP = 30  # between sections
HUD, ONE_LINE = 84, 58  # top of the cubes below the HUD; below a single line
TWO_LINES = 52  # height of the HUD with both
_LOW = 420  # logical height below which texts leave more room to the cubes
STRIP = 76  # legends, or the texts of an opened step
BELOW, INSIDE = 150, 220  # the strip of a standing picture, with words below its legends, and of its opened step
LOW_STRIP = 104  # caption, formulas and ribbon of an opened step in a low picture
SPREAD, LEGENDS = 102, 88  # the strip of a panel that uses it; legends at the foot of the column
KEYS = 32
LOWEST = 0.27
"""Least share of the height for the cubes beside the time bar of a replay."""
BAR, RAIL = 92, 48  # the time bar: with the loss curve in it, and its rail alone
SMALLEST = SIDES[0]

# Sizes of type
PRESENTER = 1.5
"""Factor on the size of texts and panels for a presenter."""
BIG, TITLE, CHANNEL, LABEL = 26, 16, 15, 13


ABOUT = 3
"""Worth of a scene's main panel: if only one panel has room, it is this one."""
_ASIDE = (180.0, 0.31)  # a small panel beside the cubes: least width, share of the picture's width
_NARROWEST = 150.0  # its width where cubes need the room
_ASIDE_WIDE = 0.5  # share of a wide panel
_ASIDE_FROM = (560, 300)  # logical size of a picture that has room for it
_SMALL_COLUMN_FROM = 450  # least logical height of a picture with all panels small beside the cubes
_FULL_COLUMN_FROM = 700  # that of one with others below the scene's main panel
_SMALL_COLUMN_WIDE = 760  # its least width, but for a presenter: below, sums and outputs matter more
_SPACE, _BETWEEN = 24, 16  # pixels between panels one above the other, and side by side
_SCENE, _SCENE_WIDE = (200, 0.25), 0.55
"""Least height of the scene above panels, in pixels and as a share of the height; a share of the width is enough."""
_BESIDE_LEAST = 260  # least width of a panel beside others in a block
_ROOMY = 1.5**0.5  # how much more room than the grid a large picture has, in each direction
_COLUMN_FROM, _COLUMN_FROM_PRESENTER = 920, 800  # least logical width of a picture with a column


@dataclass(frozen=True, slots=True)
class WantedPanel:
    """A panel that wants a place beside the cubes."""

    name: str
    height: float  # with its title
    most: float = 0.0  # if larger, the panel grows up to this into free room of a column
    worth: int = 0  # a narrow picture keeps the panels of higher worth
    first: bool = False  # kept before all others; in a narrow picture it is beside them
    wide: bool = False  # read from left to right: small beside the cubes it gets half of the picture's width
    least: float = 0.0  # least readable height in pixels; 0: its height
    aspect: float = 0.0  # width / height of a picture that is scaled as a whole; 0: it fills its box
    narrowest: float = 0.0  # least width of such a picture

    @property
    def grows(self) -> bool:
        """True if the panel can use more than its height."""
        return self.most > self.height

    @property
    def rank(self) -> tuple[int, bool, int]:
        """The order in which panels are kept when room is short: the scene's main panel, then `first`, then `worth`."""
        return self.worth if self.worth >= ABOUT else 0, self.first, self.worth

    def high_in(self, width: float) -> float:
        """The height that the panel can use in a box of this width."""
        return self.height + (width - COLUMN) / self.aspect if self.aspect else max(self.height, min(self.most, width))

    @property
    def lowest(self) -> float:
        """Its least height."""
        return self.high_in(self.narrowest) if self.aspect else self.least or self.height


@dataclass(frozen=True, slots=True)
class Places:
    """The boxes of one picture; None for parts without room."""

    size: tuple[float, float]  # logical width and height
    scale: float  # output pixels per logical pixel
    scene: Box  # cubes and the labels around them
    hud: Box | None  # the two lines above
    strip: Box | None  # the legends below
    panels: dict[str, Box]  # the wanted panels that fit
    keys: float | None = None  # baseline of the line of keys
    more: Box | None = None  # line about panels left out, in the margin below the panels
    time: Box | None = None  # the time bar
    column: float = COLUMN  # width of the side column, if there is one
    legend: Box | None = None  # legends at the foot of the column; None: they are in the strip
    low: bool = False  # whether texts leave more room to the cubes
    yields: bool = False  # whether panels beside the cubes give way to the cubes' own labels
    limit: float | None = None  # right end of words, if a panel covers the picture from there on


def check_size(size: tuple[int, int]) -> tuple[int, int]:
    """Return `size` as two ints; raise InputError unless it is two whole numbers within `SIDES`."""
    try:
        width, height = (int(n) for n in size)
        exact = (width, height) == tuple(size)
    except Exception:  # int() of a side can raise anything
        exact = False
    least, most = SIDES
    if not exact or not all(least <= n <= most for n in (width, height)):
        raise InputError(
            f"size: got {shown(size)}; allowed: (width, height), whole numbers from {least} to {most} pixels; "
            "try (1280, 720)"
        )
    return width, height


def arrange(
    size: tuple[int, int], wanted: Sequence[WantedPanel] = (), *, hud: bool = True, strip: bool = True,
    keys: bool = False, time: bool = False, replayed: bool = False, spread: bool = False, presenter: bool = False,
    rail: bool = False, words: bool = True, cubes: float = 0.0, upright: float = 0.0,
) -> Places:  # fmt: skip
    """Return the boxes for a picture of `size` output pixels that should show the panels `wanted`.

    The time bar is the main control of what is `replayed`: in a low picture it replaces the line of keys. `spread`: a
    panel uses the strip, so legends move to the foot of the column, if there is one; the time bar is then a `rail`, as
    it is when asked for. For a `presenter` everything is larger, and the HUD has one line. Nothing is placed beside the
    `cubes` if that would leave them less than this width. A standing picture has room for `words` below the legends,
    and its cubes keep the height `upright`.
    """
    wide, high = size
    zoom, least = (PRESENTER, _COLUMN_FROM_PRESENTER) if presenter else (1.0, _COLUMN_FROM)
    across = wide / (zoom * _enlarged(min(wide / 1280, high / 720), room=not presenter))
    own = HALL_COLUMN if presenter else COLUMN
    column = bool(wanted) and wide >= high * 0.98 and across >= least
    standing = high > wide and not column
    grid = (480, 844) if standing else (1280, 720)
    scale = (1.0 if standing else zoom) * _enlarged(min(wide / grid[0], high / grid[1]), room=not presenter)
    width, height = wide / scale, high / scale
    hud = hud and height >= 2.2 * HUD
    # one line above; keys share the margin unless it tells of panels without room
    aside = width >= _ASIDE_FROM[0] and height >= _ASIDE_FROM[1] and (not wanted or any(w.worth for w in wanted))
    low = height < _LOW and not spread and aside
    short = presenter or low
    top = (ONE_LINE if short else HUD - 8 * standing) if hud else MARGIN
    # shares left to the cubes
    wishes = {
        INSIDE: 0.45 * (standing and rail),
        BELOW: 0.45 * (standing and words),
        SPREAD: 0.6 * spread,
        LOW_STRIP: 0.5 * (low and rail),
    }
    rest = height - top - 8 - MARGIN
    strip_high = next((high for high, share in wishes.items() if share and rest - high >= share * height), STRIP)
    strip = strip and rest - strip_high >= (0.45 if presenter else 0.3) * height
    shared = (low and strip) or standing
    below = strip_high + 8 if strip else 0
    below += (8 if presenter else KEYS) if keys and not shared else 0  # a presenter has the keys in the margin
    room = height - top - below - MARGIN
    timed = time and (replayed or standing or not shared)
    bar, freed = _bar_height(height, room, instead=keys and replayed and not shared) if timed else (0, 0)
    keys, below, room = keys and not freed, below - freed, room + freed
    spread = spread and column and strip
    bar = min(bar, RAIL) if spread or rail or standing else bar
    edge, left, right, bottom, asked = width, 0.0, width, float(height - MARGIN), dict[str, Box]()
    if standing:
        bottom -= KEYS / 2 if keys else 0
        bottom -= bar + (_SPACE if keys else _BETWEEN / 2) if bar else 0  # a page has its buttons below
        end, free = bottom, bottom - top - below - 8
        panels = _block(wanted, width, height, bottom, free, upright)
        if strip_high == INSIDE and not panels:  # the result is more important than some lines
            panels = _block(wanted, width, height, bottom, free + INSIDE - BELOW, upright)
            strip_high, below = (BELOW, below + BELOW - INSIDE) if panels else (strip_high, below)
        bottom = min((box[1] - _BETWEEN for box in panels.values()), default=bottom)
    elif column:
        below += bar + 2 if bar else 0  # the line of keys moves nearer to it
        edge, foot = width - MARGIN - own, LEGENDS + _SPACE if spread else 0.0
        panels = _column((edge, MARGIN, own, height - 2 * MARGIN - foot), wanted)
    else:
        below += bar + 2 if bar else 0
        panels = _beside_cubes(wanted, width, height, top, presenter, cubes)
        panels, asked = {name: box for name, box in panels.items() if box[0] - 16 >= cubes}, panels
        edge = min((box[0] for box in panels.values()), default=width)
    foremost = min((box[0] for box in (panels or asked).values()), default=MARGIN)
    if beside := edge < width:
        right = edge - 16
    elif standing and width >= 560:
        left, right = MARGIN + 4.0, width - MARGIN + 4
    inner = (right if beside else width) - 2 * MARGIN
    strip_top = bottom - below
    return Places(
        (width, height), scale, scene=(left, top, right - left, max(strip_top - top - 8, 1.0)),
        hud=(MARGIN, 16, inner if column else width - 2 * MARGIN, 36 if short else TWO_LINES) if hud else None,
        strip=(MARGIN, strip_top + 8, inner, strip_high) if strip else None, panels=panels,
        keys=(height - 8 if shared else height - 7 if presenter else bottom - 4) if keys else None,
        more=(foremost, (end if standing else height - MARGIN) + 2, min(own, width - MARGIN - foremost), MARGIN - 6),
        low=low and hud,
        column=own, legend=(width - MARGIN - own, height - MARGIN - LEGENDS, own, LEGENDS) if spread else None,
        time=(MARGIN, end + _SPACE if standing else strip_top + (strip_high + 16 if strip else 8), inner, bar)
        if bar else None,
        yields=len(panels) < len(asked), limit=foremost - 8 if shared and len(panels) < len(asked) else None,
    )  # fmt: skip


def _enlarged(times: float, *, room: bool) -> float:
    """Return the scale of a picture that is `times` as large as the grid.

    With `room` the first half more gives one half of it to the type, and the other to cubes and panels.
    """
    return max(1.0, times / _ROOMY if room and times > _ROOMY**2 else times**0.5 if room else times)


def _beside_cubes(
    wanted: Sequence[WantedPanel], width: float, height: float, top: float, presenter: bool, cubes: float
) -> dict[str, Box]:
    """Return the box of the scene's main panel beside the cubes, as high as the room below the HUD; empty without room.

    A high picture, and a scene without a main panel, get as many panels as fit, one above the other.
    """
    if width < _ASIDE_FROM[0] or height < _ASIDE_FROM[1]:
        return {}
    high = height - top - MARGIN
    about = max((w for w in wanted if w.worth), key=lambda w: w.worth, default=None)
    own = max(_ASIDE[0], (_ASIDE_WIDE if about is not None and about.wide else _ASIDE[1]) * width)
    own = min(own, max(_NARROWEST, width - MARGIN - 16 - cubes))
    if about is not None and (height < _FULL_COLUMN_FROM or own < HALL_COLUMN):
        return {about.name: (width - MARGIN - own, float(top), own, min(max(about.height, about.most), high))}
    if height < _SMALL_COLUMN_FROM or (width < _SMALL_COLUMN_WIDE and not presenter):
        return {}
    return _column((width - MARGIN - own, float(top), own, high), wanted)


def _bar_height(height: float, scene: float, *, instead: bool) -> tuple[int, int]:
    """Return the height of the time bar, 0 for none, and the room it gains; the scene stays the largest part.

    The room is that of the line of keys, if the bar replaces it (`instead`).
    """
    bar = BAR if scene - BAR >= 0.48 * height else RAIL if scene - RAIL >= 0.36 * height else 0
    if instead and not bar and scene + KEYS - RAIL >= LOWEST * height:
        return RAIL, KEYS
    return bar, 0


def fitting_panels(wanted: Sequence[WantedPanel], room: float, gap: float) -> list[WantedPanel]:
    """Return the panels that fit one above the other, in the given order."""
    found, rest = set[str](), room + gap
    for panel in sorted(wanted, key=lambda panel: panel.rank, reverse=True):
        if panel.height + gap <= rest:
            found.add(panel.name)
            rest -= panel.height + gap
    return [panel for panel in wanted if panel.name in found]


def stacked(panels: Sequence[WantedPanel], box: Box, gap: float) -> dict[str, Box]:
    """Place panels one above the other from the top of a box; those that grow share the rest."""
    (x, y, width, height), found = box, dict[str, Box]()
    rest = height + gap - sum(panel.height + gap for panel in panels)
    growing = sum(panel.grows for panel in panels)
    for panel in panels:
        own = panel.height
        if panel.grows:
            own = min(panel.height + rest / growing, panel.most)
            rest, growing = rest - (own - panel.height), growing - 1
        found[panel.name] = (x, y, width, own)
        y += own + gap
    return found


def _column(box: Box, wanted: Sequence[WantedPanel]) -> dict[str, Box]:
    """Place the panels that fit; or the main one alone, if it is too high but may be lower."""
    main = max(wanted, key=lambda panel: panel.rank, default=None)
    if main is not None and main.height > box[3] >= main.lowest:
        return {main.name: box}
    return stacked(fitting_panels(wanted, box[3], _SPACE), box, _SPACE)


def _block(
    wanted: Sequence[WantedPanel], width: float, height: float, bottom: float, room: float, least: float
) -> dict[str, Box]:
    """Place panels above `bottom`: one above the other on the left, the `first` one beside them.

    The scene above keeps enough of the `room`, the `least` or more.
    """
    usual, share = _SCENE
    most = room - _BETWEEN - max(usual, least, min(share * height, _SCENE_WIDE * width))
    across, own = width - 2 * MARGIN, 0.0
    if across < _BESIDE_LEAST + COLUMN + GAP:
        return _narrow_block(wanted, across, bottom, most)
    beside = next((w for w in wanted if w.first), None)
    if beside is not None:
        across, own = across - _BESIDE_LEAST, beside.height + 16
    if own > most:
        return {}
    left = fitting_panels([w for w in wanted if w is not beside], most, _SPACE)
    high = sum(w.height + _SPACE for w in left) - _SPACE
    own = max(own, high)
    panels = stacked(left, (MARGIN, bottom - own, across if beside is None else COLUMN, high), _SPACE)
    if beside is not None:
        x = MARGIN + (COLUMN + GAP if left else 0)
        panels[beside.name] = (x, bottom - own, width - MARGIN - x, own)
    return panels


def _narrow_block(wanted: Sequence[WantedPanel], across: float, bottom: float, most: float) -> dict[str, Box]:
    """Place the panel of most worth, and others below it if they fit; or pictures of equal worth side by side."""
    one = max(wanted, key=lambda w: w.worth, default=None)
    if one is None:
        return {}
    row = [w for w in wanted if w.aspect and w.worth == one.worth]
    each = (across - _BETWEEN * (len(row) - 1)) / max(sum(w.aspect for w in row), 1.0)  # the height of all pictures
    high = max((w.high_in(each * w.aspect) for w in row), default=0.0)
    if len(row) > 1 and high <= most and all(each * w.aspect >= w.narrowest for w in row):
        x, panels = float(MARGIN), dict[str, Box]()
        for w in row:
            panels[w.name] = (x, bottom - high, each * w.aspect, high)
            x += each * w.aspect + _BETWEEN
        return panels
    if most < one.lowest:
        return {}
    high = min(one.high_in(across), most)
    rest = fitting_panels([w for w in wanted if w is not one], most - high - _SPACE, _SPACE)
    panels, top = dict[str, Box](), bottom - high - sum(w.height + _SPACE for w in rest)
    for name, own in [(one.name, high), *((w.name, w.height) for w in rest)]:
        panels[name] = (MARGIN, top, across, own)
        top += own + _SPACE
    return panels


# ---- Panels over the scene: in its upper right corner, above the cubes, or beside a stage or a unit.

GROUND = 8.0
"""Pixels by which the background of a panel over the scene extends beyond it."""
_AWAY = 14.0
_SHARE, _SHARE_HIGH = 0.5, 0.85  # shares of the scene's sides for panels in the corner
_ABOVE, _CUBES = (0.45, 0.6), (120.0, 50.0)  # panels above the cubes: share of the height, least cubes
STAGE = 480.0
"""Least width of a stage, a main panel above the cubes."""


def corner_boxes(sizes: Mapping[str, tuple[float, float]], scene: Box) -> dict[str, Box]:
    """Place panels one below the other in the upper right corner; panels without room are left out."""
    x, y, width, height = scene
    narrow = [WantedPanel(name, high) for name, (wide, high) in sizes.items() if wide <= _SHARE * width]
    fitting = fitting_panels(narrow, _SHARE_HIGH * height - GROUND, 3 * GROUND)
    found = stacked(fitting, (x, y + GROUND, 0.0, 0.0), 3 * GROUND)
    return {name: (x + width - sizes[name][0] - 2 * GROUND, top, *sizes[name]) for name, (_, top, *_) in found.items()}


def top_boxes(heights: Mapping[str, tuple[float, bool]], scene: Box, *, stage: bool) -> tuple[dict[str, Box], Box]:
    """Place panels above the cubes, one below the other; return their boxes and the rest of the scene.

    A panel with True may have more of the height. A panel is left out if it would leave too little for the cubes; the
    limit is lower for a `stage`.
    """
    (x, y, width, height), found = scene, dict[str, Box]()
    room = width - 2 * (MARGIN + GROUND)
    for name, (wanted, large) in heights.items():
        high = min(wanted, _ABOVE[large] * height / len(heights))
        if room >= COLUMN and height - high >= _CUBES[stage]:
            found[name] = (x + MARGIN + GROUND, y + GROUND, room, high)
            y, height = y + high + 5 * GROUND, height - high - 5 * GROUND  # a changed cube is higher
    return found, (x, y, width, height)


def beside_box(ends: NDArray[np.float64], size: tuple[float, float], scene: Box, taken: Sequence[Box]) -> Box | None:
    """Return a box right or left of `ends`, the leftmost and rightmost pixel of something, off the boxes in `taken`."""
    (wide, high), (x, y, width, height), m = size, scene, GROUND
    if wide + 2 * m > width or high + 2 * m > 0.5 * height:  # it would hide its subject
        return None
    (first, before), (last, behind) = ends.tolist()
    for left, middle in ((last + _AWAY, behind), (first - _AWAY - wide, before)):
        edges = [top for _, t, _, h in taken for top in (t + h + 2 * m + 1, t - high - 2 * m - 1)]
        tops = [min(max(edge, y + m), y + height - high - m) for edge in (middle - high / 2, *edges)]
        for top in sorted(tops, key=lambda top: abs(top - middle + high / 2)):  # the nearest one
            free = not any(meet((left, top, wide, high), other, 2 * m) for other in taken)
            if free and x + m <= left <= x + width - wide - m:
                return left, top, wide, high
    return None


# ---- Panels over the side column: the inspector and the controls.


def column_of(places: Places) -> Box | None:
    """Return the side column as far as panels fill it; None in a picture without one."""
    x, _, width, _ = places.scene
    boxes = [box for box in places.panels.values() if box[0] >= x + width and box[2] == places.column]
    if not boxes or len(boxes) < len(places.panels):
        return None
    top, bottom = min(box[1] for box in boxes), max(box[1] + box[3] for box in boxes)
    return boxes[0][0], top, places.column, bottom - top


def uncovered(places: Places, box: Box | None) -> dict[str, Box]:
    """Return the panels that `box` leaves free."""
    return {name: own for name, own in places.panels.items() if box is None or not meet(own, box)}


# ---- The panel of controls: over the side column, so that no cube moves; without one, at the edge.

LEAST = 280.0
"""Least width of the panel of controls; in a narrower one lists would be cut."""
LEAST_TIME = 160.0
"""Least width of a time bar beside it; on a narrower one the texts of steps and losses overlap."""
_EDGE = 12.0
_AIR = 8.0  # between the cubes and the panel


def over_column(places: Places) -> Box | None:
    """Return a box over the side column, or over words and panels of a standing picture; None without either."""
    (width, height), column, strip = places.size, column_of(places), places.strip
    if column is not None:
        wide = column[2] + 2 * _EDGE
        return (column[0] - _EDGE, _EDGE, wide, height - 2 * _EDGE) if wide >= LEAST else None
    if not places.panels or strip is None or strip[3] < BELOW:  # the box would cover cubes
        return None
    top, end = strip[1] + STRIP + _AIR, max(box[1] + box[3] for box in places.panels.values())
    return (_EDGE, top, width - 2 * _EDGE, end + _SPACE - _AIR / 2 - top)


def at_the_edge(places: Places) -> Box:
    """Return a box at the right edge of a picture whose scene makes room for it."""
    width, height = places.size
    edge = min(_EDGE, width * 0.02)
    wide = min(LEAST, width - 2 * edge)
    return width - edge - wide, edge, wide, height - 2 * edge


def narrowed(places: Places) -> Places:
    """Return the same picture with everything, the cubes too, beside the panel at the right edge."""
    limit = at_the_edge(places)[0] - _AIR
    x, y, wide, high = places.scene

    def cut(box: Box | None, least: float = 2 * MARGIN) -> Box | None:
        wide = 0.0 if box is None else min(box[2], limit - box[0])
        return None if box is None or wide < least else (box[0], box[1], wide, box[3])

    scene = (min(x, 4.0), y, max(min(wide, limit - min(x, 4.0)), 1.0), high)
    return replace(places, scene=scene, panels={}, hud=cut(places.hud), strip=cut(places.strip),
                   time=cut(places.time, LEAST_TIME), limit=limit)  # fmt: skip
