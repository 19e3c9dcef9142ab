"""What hands do to the scene `playground`: its points, tables and edits, which no command hands out."""

from __future__ import annotations

from dataclasses import replace

from scalarviz.scenes._known_points import CLASSES, PointSet, Recipe, points_for
from scalarviz.scenes._own_points import own_points
from scalarviz.scenes._playground_controls import HIDDEN
from scalarviz.scenes._playground_edits import AddPoint, OtherPoints, RemovePoint, SwitchFeature
from scalarviz.scenes._playground_net import SetHidden
from scalarviz.scenes._playground_panels import Hand, held_back
from scalarviz.scenes._points import KINDS, PEAKS, points_of

import scalarviz as sv
from scalarviz.io import parse_csv

__all__ = [
    "CLASSES", "HIDDEN", "KINDS", "PEAKS", "AddPoint", "Hand", "RemovePoint", "SetHidden", "SwitchFeature", "held_back",
    "of_table", "other", "own_points", "points_of",
]  # fmt: skip


def of_table(text: str, split: float = 0.5) -> PointSet:
    """The points of a table."""
    return points_for(Recipe("t.csv", 0.0, split, 0, own=own_points(parse_csv(text))))


def other(scene: sv.Scene, points: PointSet | None = None, **changes) -> OtherPoints:
    """The edit that brings other points: those given, or those of now made in another way."""
    found = points or points_for(replace(scene.known.at(scene.run.frame()).recipe, **changes))
    return OtherPoints(scene.known.add(found), "other points")
