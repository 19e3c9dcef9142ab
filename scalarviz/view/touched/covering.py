"""Where the inspector stands: in the side column where there is one, else below the cubes; and what it covers."""

from __future__ import annotations

from ..draw.places import COLUMN, GAP, Places
from ..draw.sketch import Box
from ..panels.strip import LEGEND, room_beside
from .small import HIGH, LOW, WIDE


def column_of(places: Places) -> Box | None:
    """The side column as far as panels stand in it; None in a picture without one."""
    x, _, width, _ = places.scene
    boxes = [box for box in places.panels.values() if box[0] >= x + width and box[2] == COLUMN]
    if not boxes or len(boxes) < len(places.panels):
        return None
    top, bottom = min(box[1] for box in boxes), max(box[1] + box[3] for box in boxes)
    return boxes[0][0], top, COLUMN, bottom - top


def inspector_column(places: Places, wanted: float) -> Box | None:
    """The upper part of the column, `wanted` high; the whole where what is left would hold no panel."""
    column = column_of(places)
    if column is None:
        return None
    x, y, width, height = column
    return x, y, width, min(wanted, height)


def uncovered(places: Places, box: Box | None) -> dict[str, Box]:
    """The panels that `box` leaves free."""
    if box is None:
        return places.panels
    return {name: own for name, own in places.panels.items() if not _over(own, box)}


def _over(one: Box, other: Box) -> bool:
    return (
        one[0] < other[0] + other[2]
        and other[0] < one[0] + one[2]
        and one[1] < other[1] + other[3]
        and other[1] < one[1] + one[3]
    )


def inspector_box(places: Places, explained: bool) -> Box | None:
    """Where the small form stands: left of the legend, in a narrow picture instead of it; None in a tiny one."""
    size = places.size
    bottom = size[1] - 8.0 if places.strip is None else places.strip[1] + places.strip[3] + 4
    if places.strip is None and places.keys is not None:
        bottom = places.keys - 18
    across = places.strip[2] if places.strip is not None else size[0] - 16.0
    left = places.strip[0] if places.strip is not None else 8.0
    width = min(WIDE, across - LEGEND - GAP if room_beside(across) else across)
    wanted = HIGH if explained else LOW
    height = next((h for h in (wanted, LOW, 42.0) if h <= 0.34 * size[1]), None)
    return None if height is None or width < 120 else (left, bottom - height, width, height)
