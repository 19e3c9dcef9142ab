"""From top to bottom: heights at which the stops of a column stand, near their neighbours and never in each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .columns import Stop, median
from .folds import Item

SWEEPS = 4
"""How often all columns are moved towards their neighbours, from either side."""
STRAIGHT = 4
"""How often the lanes of an edge are brought to one height after that."""
STIFF, RIGID = 4.0, 60.0
"""How much more a lane insists on its height than an item, in each: straight lanes are read as one line."""

Extent = Callable[[Stop], tuple[float, float]]
"""How far a stop reaches above and below its height."""


def heights(stops: Sequence[Sequence[Stop]], extent: Extent, gap: float, top: float) -> dict[Stop, float]:
    """The height of each stop, downwards.

    Parameters
    ----------
    stops : sequence of sequences of Stop
        Of each column, in their order.
    extent : callable
    gap : float
        At least so much is between the lower edge of one and the upper edge of the next.
    top : float
        Where the uppermost edge of all is.
    """
    found: dict[Stop, float] = {}
    for column in stops:
        _stand(column, [0.0] * len(column), extent, gap, found)
    for sweep in range(SWEEPS):
        for column in stops[1:]:
            _towards(column, found, extent, gap, lambda stop: stop.before)
        for column in reversed(stops[:-1]):
            _towards(column, found, extent, gap, lambda stop: stop.after)
        if sweep == SWEEPS - 1:
            for column in stops:
                _towards(column, found, extent, gap, lambda stop: [*stop.before, *stop.after])
    for _ in range(STRAIGHT):
        _straighten(stops, found, extent, gap)
    for column in stops:  # what was left behind when lanes moved
        _towards(column, found, extent, gap, lambda stop: [] if stop.lane else [*stop.before, *stop.after], RIGID)
    least = min((found[stop] - extent(stop)[0] for stop in found), default=0.0)
    return {stop: height - least + top for stop, height in found.items()}


def _towards(
    column: Sequence[Stop], found: dict[Stop, float], extent: Extent, gap: float,
    near: Callable[[Stop], Sequence[Stop]], stiff: float = STIFF,
) -> None:  # fmt: skip
    """Move a column towards the medians of the neighbours of its stops."""
    wanted = []
    for stop in column:
        others = sorted(found[other] for other in near(stop))
        wanted.append(median(others) if others else found[stop])
    _stand(column, wanted, extent, gap, found, stiff)


def _straighten(stops: Sequence[Sequence[Stop]], found: dict[Stop, float], extent: Extent, gap: float) -> None:
    """Bring the lanes of an edge to one height, the median of theirs; items stay near where they are."""
    lanes: dict[Item, list[float]] = {}
    for stop, height in found.items():
        if stop.lane:
            lanes.setdefault(stop.item, []).append(height)
    middle = {item: median(sorted(heights)) for item, heights in lanes.items()}
    for column in stops:
        wanted = [middle[stop.item] if stop.lane else found[stop] for stop in column]
        _stand(column, wanted, extent, gap, found, RIGID)


def _stand(
    column: Sequence[Stop], wanted: Sequence[float], extent: Extent, gap: float, found: dict[Stop, float],
    stiff: float = STIFF,
) -> None:  # fmt: skip
    """The heights nearest to those that are wanted (least squares) at which nothing overlaps.

    Without the distances that neighbours keep, wanted heights only have to grow: pool those that fall (isotonic
    regression), and put the distances back.
    """
    offset, offsets = 0.0, []
    for k, stop in enumerate(column):
        if k:
            offset += extent(column[k - 1])[1] + gap + extent(stop)[0]
        offsets.append(offset)
    pools: list[tuple[float, float, int]] = []  # mean, weight, how many
    for stop, want, off in zip(column, wanted, offsets, strict=True):
        mean, weight, count = want - off, stiff if stop.lane else 1.0, 1
        while pools and pools[-1][0] >= mean:
            other, heavy, many = pools.pop()
            mean = (mean * weight + other * heavy) / (weight + heavy)
            weight, count = weight + heavy, count + many
        pools.append((mean, weight, count))
    means = [mean for mean, _, count in pools for _ in range(count)]
    for stop, mean, off in zip(column, means, offsets, strict=True):
        found[stop] = mean + off
