"""Where everything stands: the grid of 1280x720, and how other sizes follow from it.

A picture larger than the grid scales everything; a smaller one keeps type at its size (never below 13 px) and leaves
out what does not fit. Extra width goes to the scene. Wide pictures have their panels in a column on the right, narrow
ones in a block at the bottom.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ...errors import InputError, shown
from ...run.scene import SIDES

Box = tuple[float, float, float, float]
"""x, y, width, height in logical pixels."""

MARGIN = 24
COLUMN = 304  # width of the side column
GAP = 30  # between sections
HUD = 84  # where the cubes may begin
STRIP = 76  # legends
KEYS = 32
SMALLEST = SIDES[0]

# Sizes of type
BIG, TITLE, CHANNEL, LABEL = 26, 16, 15, 13
CUBE = 22

_HEIGHTS = {"pictures": 117, "colours": 166, "digits": 240, "probe": 152}  # with their titles
_LOSS_LEAST, _LOSS_MOST = 150, 420
_SCENE_LEAST = (380, 240)


@dataclass(frozen=True, slots=True)
class Places:
    """The boxes of one picture.

    Attributes
    ----------
    size : tuple of float
        Logical width and height.
    scale : float
        Output pixels per logical pixel.
    scene : Box
        Cubes and what stands around them.
    hud, strip : Box or None
        The two lines above, the legends below; None where there is no room.
    panels : dict of str to Box
        ``pictures``, ``colours``, ``digits``, ``probe`` and ``loss``, as far as they were asked for and fit.
    keys : float or None
        Baseline of the line of keys.
    """

    size: tuple[float, float]
    scale: float
    scene: Box
    hud: Box | None
    strip: Box | None
    panels: dict[str, Box]
    keys: float | None = None


def check_size(size: tuple[int, int]) -> tuple[int, int]:
    """`size` as two ints.

    Raises
    ------
    InputError
        If it is not two whole numbers within `SIDES`.
    """
    try:
        width, height = (int(n) for n in size)
        exact = (width, height) == tuple(size)
    except (TypeError, ValueError, OverflowError):
        exact = False
    least, most = SIDES
    if not exact or not all(least <= n <= most for n in (width, height)):
        raise InputError(
            f"size: got {shown(size)}; allowed: (width, height), whole numbers from {least} to {most} pixels; "
            "try (1280, 720)"
        )
    return width, height


def arrange(
    size: tuple[int, int], wanted: Collection[str] = (), *, hud: bool = True, strip: bool = True, keys: bool = False
) -> Places:
    """Boxes for a picture of `size` output pixels that should show the panels `wanted`."""
    wide, high = size
    column = bool(wanted) and wide >= high * 0.98 and wide / max(1.0, min(wide / 1280, high / 720)) >= 920
    grid = (1280, 720) if column or wide >= high else (720, 1080)
    scale = max(1.0, min(wide / grid[0], high / grid[1]))
    width, height = wide / scale, high / scale
    hud = hud and height >= 2.2 * HUD
    top = HUD if hud else MARGIN
    strip = strip and height - top - STRIP - 8 - MARGIN >= 0.3 * height
    below = (STRIP + 8 if strip else 0) + (KEYS if keys else 0)
    if column:
        panels = _column((width - MARGIN - COLUMN, MARGIN, COLUMN, height - 2 * MARGIN), wanted)
        left, right, bottom = 0, width - MARGIN - COLUMN - 16, height - MARGIN
    else:
        panels = _block(wanted, width, height, height - top - below - MARGIN)
        left, right = (MARGIN + 4, width - MARGIN + 4) if high > wide and width >= 560 else (0, width)
        bottom = min((box[1] - GAP for box in panels.values()), default=height - MARGIN)
    inner = (right if column else width) - 2 * MARGIN
    strip_top = bottom - below
    return Places(
        (width, height), scale, scene=(float(left), top, right - left, max(strip_top - top - 8, 1.0)),
        hud=(MARGIN, 16, inner, 52) if hud else None,
        strip=(MARGIN, strip_top + 8, inner, STRIP) if strip else None, panels=panels,
        keys=bottom - 4 if keys else None,
    )  # fmt: skip


def _column(box: Box, wanted: Collection[str]) -> dict[str, Box]:
    """Panels one above the other; the loss curve takes the rest."""
    x, y, width, height = box
    least = _LOSS_LEAST if "loss" in wanted else 0
    panels: dict[str, Box] = {}
    for name, own in _HEIGHTS.items():
        if name in wanted and y + own + (GAP + least if least else 0) <= box[1] + height:
            panels[name] = (x, y, width, own)
            y += own + GAP - 6
    if "loss" in wanted and box[1] + height - y >= _LOSS_LEAST:
        panels["loss"] = (x, y, width, min(box[1] + height - y, _LOSS_MOST))
    return panels


def _block(wanted: Collection[str], width: float, height: float, room: float) -> dict[str, Box]:
    """Panels at the bottom: one above the other on the left, the loss curve beside them."""
    for names in ((*_HEIGHTS, "loss"), ("colours", "digits", "loss"), ("probe", "loss"), ("loss",)):
        chosen = [n for n in names if n in wanted]
        left = [n for n in chosen if n in _HEIGHTS]
        beside = "loss" in chosen
        own = sum(_HEIGHTS[n] for n in left) + 24 * max(len(left) - 1, 0)
        own = max(own, _LOSS_LEAST + 16 if beside else 0)
        need = 2 * MARGIN + (COLUMN if left else 0) + (200 if beside else 0) + (GAP if left and beside else 0)
        if chosen and width >= need and room - own - GAP >= max(_SCENE_LEAST[1], 0.36 * height):
            return _place_block(left, beside, width, height - MARGIN - own, own)
    return {}


def _place_block(left: list[str], beside: bool, width: float, y: float, height: float) -> dict[str, Box]:
    panels: dict[str, Box] = {}
    at = y
    for name in left:
        panels[name] = (MARGIN, at, COLUMN, _HEIGHTS[name])
        at += _HEIGHTS[name] + 24
    if beside:
        x = MARGIN + (COLUMN + GAP if left else 0)
        panels["loss"] = (x, y, width - MARGIN - x, height)
    return panels
