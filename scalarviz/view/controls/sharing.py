"""How the panel's room is shared between its rows and the loss curve and pictures that stay below them, smaller."""

from __future__ import annotations

from collections.abc import Sequence

from ..draw.places import Box, Wanted

GAP = 14.0
ROWS_LEAST = 300.0
"""Rows scroll rather than that the first panel goes, as long as so much of them is seen."""


def shared(inner: Box, rows: float, wanted: Sequence[Wanted]) -> tuple[float, dict[str, Box]]:
    """Height of the rows, and the boxes of the panels below them.

    Parameters
    ----------
    inner : Box
    rows : float
        Height of all rows.
    wanted : sequence of Wanted
        Panels with their least heights, the more important first: of what a knob does something is to be seen.
    """
    x, y, width, room = inner
    first = wanted[0].height + GAP if wanted else 0.0
    high = min(rows, room - first if first and room - first >= min(rows, ROWS_LEAST) else room)
    rest, chosen = room - high, list[Wanted]()
    for panel in wanted:
        if panel.height + GAP <= rest:
            chosen.append(panel)
            rest -= panel.height + GAP
    boxes: dict[str, Box] = {}
    top = y + high + GAP
    for number, panel in enumerate(chosen):
        own = panel.height
        if panel.grows:
            share = rest / sum(one.grows for one in chosen[number:])
            own = min(panel.height + share, panel.most)
            rest -= own - panel.height
        boxes[panel.name] = (x, top, width, own)
        top += own + GAP
    return high, boxes
