"""`Now`: what a playground is set to at one moment, read off its frame: points, network, and how it trains."""

from __future__ import annotations

from dataclasses import dataclass

from scalarviz.run.controls import Reader

from ._known_points import Known, PointSet
from ._playground_net import Shape, shape_of


@dataclass(frozen=True, slots=True)
class Now:
    """One moment.

    Attributes
    ----------
    points : PointSet
    shape : Shape
        Of the network.
    """

    points: PointSet
    shape: Shape


def now(known: Known, reader: Reader) -> Now | None:
    """What a moment is set to; None where it is not of a playground."""
    shape = shape_of(reader.frame)
    return None if shape is None else Now(known.at(reader.frame), shape)
