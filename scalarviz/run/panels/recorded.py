"""`RecordedPictures`: pictures that a panel left in a recording."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Protocol

from .base import Panel


class Kept(Protocol):
    """One picture; see :class:`scalarviz.run.recording.Picture`."""

    @property
    def step(self) -> int:
        """That it is of."""
        ...

    @property
    def width(self) -> int:
        """Pixels."""
        ...

    @property
    def height(self) -> int:
        """Pixels."""
        ...

    @property
    def image(self) -> bytes:
        """PNG or WebP."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class RecordedPictures(Panel):
    """What a panel looked like at some steps: shown is the last one that is not after the step, with its own step.

    Attributes
    ----------
    title : str
        Of the panel.
    pictures : tuple of Kept
        By step, one at least.
    """

    title: str
    pictures: tuple[Kept, ...]

    def at_step(self, step: int) -> int | None:
        """The number of the picture that is shown at a step; None before the first."""
        found = bisect_right([picture.step for picture in self.pictures], step) - 1
        return found if found >= 0 else None
