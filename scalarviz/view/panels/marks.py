"""What the marks on cubes mean: an entry for each that is on screen, below the legends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..cubes.atlas import DEAD, FROZEN, NAN, NEG_INF, NOT_COMPUTED, POS_INF
from ..cubes.scale import Coloring
from ..cubes.slab import SlabVisual
from ..draw.places import LABEL
from ..draw.sketch import Box, Sketch
from ..draw.text import measure
from ..draw.theme import Theme
from ..space.camera import Camera

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
"""Each mark's entry, where there is room and where there is little; the most important first."""
_BITS = {"nan": NAN, "above": POS_INF, "below": NEG_INF, "missing": NOT_COMPUTED, "dead": DEAD, "frozen": FROZEN}
_LARGE = ("dead", "frozen", "clipped")  # are drawn on cubes of six pixels and more only
_SIDE, _AIR, _BETWEEN = 13.0, 6.0, 18.0


def marks_on(slab: SlabVisual, colouring: Coloring, camera: Camera, density: float) -> tuple[str, ...]:
    """Names of the marks that some cube shows, in the order of `WORDS`."""
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
    """The entries in one line that ends at the right of `box`, whose top is its baseline; as many as have room.

    `dead_at` is the step at which dead units were found, where that is not the one shown.
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
        sketch.text(at + _SIDE + _AIR, baseline, text, LABEL, theme.text2)
        at += _SIDE + _AIR + measure(text, LABEL) + _BETWEEN
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
"""How each looks, in grey, as on a small cube."""
