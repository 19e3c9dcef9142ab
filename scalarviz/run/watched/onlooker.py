"""`Onlooker`: who takes down what is watched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .watched import Watched


class Onlooker(Protocol):
    """Told of every step; see :class:`scalarviz.run.recorder.Recorder`, which is the same for a Run."""

    @property
    def every(self) -> int:
        """The steps that this divides are looked at."""
        ...

    def look(self, run: Watched) -> None:
        """A step was done; it raises nothing."""
        ...

    def ended(self, run: Watched) -> None:
        """It is the last place."""
        ...
