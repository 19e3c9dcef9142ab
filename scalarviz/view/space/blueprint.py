"""`Blueprint`: the flat part of a planned picture, titles, rooms and wires, in pixels; and where a camera shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ..ink.sketch import Box
from .plate import Floats

Project = Callable[[ArrayLike], Floats]

_OFF = 0.75  # pixels by which a point may stand elsewhere and still be where the plan says
_LEAST = 0.97  # of the fitted size: words keep theirs, and would touch in a smaller picture


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of a group: left edge and length of its rule, and the rule's height."""

    text: str
    count: int
    x: float
    y: float
    width: float


@dataclass(frozen=True, slots=True)
class Caption:
    """The name of a plate: where its two lines begin, and the width that they may take."""

    tensor: str
    title: str
    x: float
    y: float
    width: float


@dataclass(frozen=True, slots=True, eq=False)
class Wire:
    """A line through points (N, 2), perhaps with an arrow at its end."""

    points: Floats
    arrow: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Blueprint:
    """All of it, in pixels of the camera that was fitted.

    Attributes
    ----------
    headings, captions, wires
        Titles of groups, names of plates, lines.
    rooms : mapping of str to Box
        By name.
    pluses : tuple of (x, y)
        Where something is added to the stream.
    rows : tuple of Box
        Room for the numbers of the stream: after the first group, and behind each plus.
    note : (x, y, width) or None
        Where words about the stream begin, at most so wide; None: there is no stream.
    words : str
        About the stream.
    anchors, places : ndarray, shapes (3, 3) and (3, 2)
        Points of the world and where they are on screen.
    """

    headings: tuple[Heading, ...]
    captions: tuple[Caption, ...]
    wires: tuple[Wire, ...]
    rooms: Mapping[str, Box]
    pluses: tuple[tuple[float, float], ...] = ()
    rows: tuple[Box, ...] = ()
    note: tuple[float, float, float] | None = None
    words: str = ""
    anchors: Floats = field(default_factory=lambda: np.zeros((3, 3)))
    places: Floats = field(default_factory=lambda: np.zeros((3, 2)))

    def says_words(self, wide: float) -> bool:
        """Whether words about the stream, so many pixels `wide`, have room."""
        return self.note is not None and wide <= self.note[2]

    def seen(self, project: Project) -> Blueprint | None:
        """The same where a camera shows it; None where it looks from elsewhere, or from so far that words would touch.

        Parameters
        ----------
        project : callable
            World points (N, 3) to pixels (N, 2).
        """
        there = project(self.anchors)
        size = float(np.linalg.norm(there[1] - there[0]) / np.linalg.norm(self.places[1] - self.places[0]))
        shift = there[0] - size * self.places[0]
        off = float(np.abs(size * self.places + shift - there).max())
        if size < _LEAST or off > _OFF * max(size, 1.0):
            return None

        def at(x: float, y: float) -> tuple[float, float]:
            return float(size * x + shift[0]), float(size * y + shift[1])

        def box(given: Box) -> Box:
            return (*at(given[0], given[1]), size * given[2], size * given[3])

        return Blueprint(
            tuple(Heading(h.text, h.count, *at(h.x, h.y), size * h.width) for h in self.headings),
            tuple(Caption(c.tensor, c.title, *at(c.x, c.y), size * c.width) for c in self.captions),
            tuple(Wire(size * wire.points + shift, wire.arrow) for wire in self.wires),
            {name: box(room) for name, room in self.rooms.items()},
            tuple(at(*plus) for plus in self.pluses),
            tuple(box(row) for row in self.rows),
            None if self.note is None else (*at(self.note[0], self.note[1]), size * self.note[2]),
            self.words,
            self.anchors,
            there,
        )
