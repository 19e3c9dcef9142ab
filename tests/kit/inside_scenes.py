"""What is inside of the scenes, which no command hands out: networks, words, places, points; what hands do to them."""

from __future__ import annotations

from dataclasses import replace

from scalarviz.scenes.microgpt import GPT, board, new_word, next_letter, weights_of
from scalarviz.scenes.microgpt import read as read_gpt
from scalarviz.scenes.playground.edits import add_point as AddPoint
from scalarviz.scenes.playground.edits import other_points as OtherPoints
from scalarviz.scenes.playground.edits import remove_point as RemovePoint
from scalarviz.scenes.playground.edits import set_hidden as SetHidden
from scalarviz.scenes.playground.edits import switch_feature as SwitchFeature
from scalarviz.scenes.playground.panels import Hand, held_out
from scalarviz.scenes.playground.points import (
    CLASSES,
    PointSet,
    Recipe,
    own_points,
    points_for,
)
from scalarviz.scenes.texture import DRAWN, Motif, bilinear, triangles

import scalarviz as sv
from scalarviz.data.points import KINDS, PEAKS, points_of
from scalarviz.data.words import NAMES, Words, load_words
from scalarviz.io import parse_csv

__all__ = [
    "CLASSES", "DRAWN", "GPT", "KINDS", "NAMES", "PEAKS", "AddPoint", "Hand", "Motif",
    "RemovePoint", "SetHidden", "SwitchFeature", "Words", "bilinear", "board", "held_out", "load_words", "new_word",
    "next_letter", "of_table", "other", "own_points", "points_of", "read_gpt", "triangles",
    "weights_of",
]  # fmt: skip


def of_table(text: str, split: float = 0.5) -> PointSet:
    """The points of a table."""
    return points_for(Recipe("t.csv", 0.0, split, 0, own=own_points(parse_csv(text))))


def other(scene: sv.Scene, points: PointSet | None = None, **changes) -> OtherPoints:
    """The edit that brings other points: those given, or those of now made in another way."""
    found = points or points_for(replace(scene.first.points_in(scene.run.frame().data).recipe, **changes))
    return OtherPoints(found, "other points")
