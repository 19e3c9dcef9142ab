"""`Ink`: the shapes of a figure, in painting order, and nothing about what they mean. SVG and OpenGL paint the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..draw.sketch import Anchor
from ..draw.text import measure
from .layout import Cubic, Point


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle, rounded by `radius`; the border lies inside it. Colours are ``#rrggbb``, None is none."""

    x: float
    y: float
    width: float
    height: float
    fill: str | None = None
    stroke: str | None = None
    border: float = 1.0
    radius: float = 0.0


@dataclass(frozen=True, slots=True)
class Path:
    """A line of cubic pieces."""

    pieces: tuple[Cubic, ...]
    colour: str
    width: float = 1.4


@dataclass(frozen=True, slots=True)
class Line:
    """A line of straight pieces."""

    points: tuple[Point, ...]
    colour: str
    width: float = 1.4


@dataclass(frozen=True, slots=True)
class Polygon:
    """A filled convex polygon."""

    points: tuple[Point, ...]
    colour: str


@dataclass(frozen=True, slots=True)
class Letters:
    """A text; `y` is the baseline, `anchor` says which end stands at `x`."""

    x: float
    y: float
    text: str
    size: float
    colour: str
    bold: bool = False
    anchor: Anchor = "left"

    @property
    def width(self) -> float:
        """In pixels."""
        return measure(self.text, self.size, self.bold)

    @property
    def left(self) -> float:
        """Where its first letter begins."""
        return self.x - self.width * {"left": 0.0, "middle": 0.5, "right": 1.0}[self.anchor]


Shape = Rect | Path | Line | Polygon | Letters


@dataclass(slots=True)
class Group:
    """Shapes that belong together, and what is said of them where a pointer rests on them.

    One that is not to be `cut` is left out where not all of it can be seen.
    """

    shapes: list[Shape] = field(default_factory=list)
    said: str = ""
    cut: bool = True


@dataclass(slots=True)
class Ink:
    """A whole figure: its size and its groups from back to front."""

    width: float
    height: float
    groups: list[Group] = field(default_factory=list)

    def __iter__(self) -> Iterator[Shape]:
        """All shapes in painting order."""
        return (shape for group in self.groups for shape in group.shapes)
