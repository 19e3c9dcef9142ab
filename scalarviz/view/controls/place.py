"""Where the panel stands: over the side column, so that no cube moves; without one where no cube is."""

from __future__ import annotations

from dataclasses import replace

from ..draw.places import COLUMN, MARGIN, Places
from ..draw.sketch import Box

WIDE = COLUMN + 2 * 12.0
LEAST = 280.0
"""Narrower, and its lists would be cut."""
BLOCK_LEAST = 230.0
_EDGE = 12.0
_AIR = 8.0  # between the cubes and the panel


def over_column(places: Places, column: Box | None) -> Box | None:
    """Over the side column, or over the block of panels below an upright picture; None where there is neither."""
    width, height = places.size
    if column is not None:
        return column[0] - _EDGE, _EDGE, WIDE, height - 2 * _EDGE
    if not places.panels:
        return None
    top = min(box[1] for box in places.panels.values()) - _EDGE
    if top < places.scene[1] + places.scene[3] - _EDGE:  # they stand beside the cubes, which would be covered
        return None
    high = height - _EDGE - top
    wide = min(width - 2 * _EDGE, 1.4 * WIDE)
    return (width - _EDGE - wide, top, wide, high) if high >= BLOCK_LEAST else None


def beside_cubes(places: Places, right: float) -> Box | None:
    """At the right of the last cube, over chips and legends; None where that is too narrow."""
    width, height = places.size
    left = max(right + _AIR, width - _EDGE - WIDE)
    wide = width - _EDGE - left
    return None if wide < LEAST else (left, _EDGE, wide, height - 2 * _EDGE)


def at_the_edge(places: Places) -> Box:
    """At the right edge of a picture whose scene makes room for it."""
    width, height = places.size
    edge = min(_EDGE, width * 0.02)
    wide = min(LEAST, width - 2 * edge)
    return width - edge - wide, edge, wide, height - 2 * edge


def narrowed(places: Places) -> Places:
    """The same picture with all that stands beside the panel, the cubes too, in the room that it leaves."""
    limit = at_the_edge(places)[0] - _AIR
    x, y, wide, high = places.scene
    scene = (min(x, 4.0), y, max(min(wide, limit - min(x, 4.0)), 1.0), high)
    return replace(written_beside(places, limit), scene=scene, panels={})


def written_beside(places: Places, limit: float) -> Places:
    """The same picture with all words and legends left of `limit`; cubes stay where they are."""

    def cut(box: Box | None) -> Box | None:
        if box is None:
            return None
        wide = min(box[2], limit - box[0])
        return None if wide < 2 * MARGIN else (box[0], box[1], wide, box[3])

    return replace(places, hud=cut(places.hud), strip=cut(places.strip), time=cut(places.time), limit=limit)
