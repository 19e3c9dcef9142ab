"""What stands on and below the rail: edits with their words, named moments, ticks. Where two collide one is hidden."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ...run.core.frame import Past
from ..draw.places import LABEL
from ..draw.sketch import Sketch
from ..draw.text import measure
from ..draw.theme import Theme
from ..panels.drawer import cut
from .curve import TICK
from .scale import StepScale

NAMED = 6
"""Edits that have their words beside them at most: those nearest to the cursor."""
_WIDEST = 170.0
_AIR = 10.0
DIAMOND = 6.0


@dataclass(frozen=True, slots=True)
class Mark:
    """What was done, or what a moment is called, at one place.

    Attributes
    ----------
    kind : {"edit", "flag"}
    step : int
    words : tuple of str
        Of each edit after that step.
    """

    kind: Literal["edit", "flag"]
    step: int
    words: tuple[str, ...]

    @property
    def short(self) -> str:
        """What is written below it."""
        more = len(self.words) - 1
        return cut(self.words[-1], _WIDEST) + (f", {more} more" if more else "")


@dataclass(frozen=True, slots=True)
class Label:
    """One text of the row below the rail; `x` is its middle."""

    x: float
    text: str
    size: int
    mark: bool

    @property
    def half(self) -> float:
        """Half of its width."""
        return measure(self.text, self.size) / 2


def marks_of(past: Past) -> tuple[Mark, ...]:
    """Edits, those after one step as one, and flags, by step."""
    edits: dict[int, list[str]] = {}
    for edit in past.edits:
        edits.setdefault(edit.step, []).append(edit.what)
    flags: dict[int, list[str]] = {}
    for flag in past.flags:
        flags.setdefault(flag.step, []).append(flag.name)
    found = [Mark("edit", step, tuple(words)) for step, words in edits.items()]
    found += [Mark("flag", step, tuple(words)) for step, words in flags.items()]
    return tuple(sorted(found, key=lambda mark: mark.step))


def labels(marks: Sequence[Mark], scale: StepScale, cursor: int, limits: tuple[float, float]) -> list[Label]:
    """Those that have room between two `limits`: marks before ticks, the nearest to the cursor first."""
    near = sorted(marks, key=lambda mark: abs(scale.at(mark.step) - scale.at(cursor)))
    named = [mark for mark in near if mark.kind == "flag" or mark in near[:NAMED]]
    wanted = [Label(scale.at(mark.step), mark.short, LABEL, True) for mark in named]
    ticks = scale.ticks()
    wanted += [Label(scale.at(step), f"{step:,}", TICK, False) for step in (ticks[0], ticks[-1], *ticks[1:-1])]
    return _apart(wanted, limits)


def _apart(wanted: Iterable[Label], limits: tuple[float, float]) -> list[Label]:
    """Those of which none lies on an earlier one; a mark's moves inwards at the ends of the bar."""
    kept: list[Label] = []
    for label in wanted:
        x = min(max(label.x, limits[0] + label.half), limits[1] - label.half)
        moved = Label(x, label.text, label.size, label.mark)
        if all(abs(x - other.x) >= moved.half + other.half + _AIR for other in kept):
            kept.append(moved)
    return kept


def draw_marks(sketch: Sketch, marks: Sequence[Mark], scale: StepScale, rail: float, theme: Theme, past: float) -> None:
    """Diamonds on the rail and pennants above it; those left of `past` (pixels) are bright."""
    for mark in marks:
        x = scale.at(mark.step)
        colour = theme.text1 if x <= past + 0.5 else theme.text3
        if mark.kind == "edit":
            _diamond(sketch, x, rail, DIAMOND + 1.6, colour)
            _diamond(sketch, x, rail, DIAMOND - 0.8, theme.panel)
        else:
            sketch.line((x, rail), (x, rail - 17), colour, 1.6)
            sketch.polygon([(x, rail - 18), (x + 10, rail - 14), (x, rail - 10)], colour)


def _diamond(sketch: Sketch, x: float, y: float, radius: float, colour: object) -> None:
    sketch.polygon([(x, y - radius), (x + radius, y), (x, y + radius), (x - radius, y)], colour)  # type: ignore[arg-type]


def draw_labels(sketch: Sketch, found: Sequence[Label], baseline: float, theme: Theme) -> None:
    """The row below the rail."""
    for label in found:
        colour = theme.text1 if label.mark else theme.text3
        sketch.text(label.x, baseline, label.text, label.size, colour, anchor="middle")
