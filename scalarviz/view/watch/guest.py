"""`Guest`: what a host asks of the thing that it shows: a viewer of a run, or a room from which others are entered.

The other half of `host`: a host tells its guest what happens and lets it paint; it knows nothing else of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from .hands import Point
from .host import Host


class Guest(Protocol):
    """What a host shows; used with the host's GL context current."""

    def attach(self, host: Host) -> None:
        """Appear in `host`: from now on it gives time, and does what is asked."""
        ...

    def draw(self, viewport: tuple[int, int] | None = None) -> None:
        """Paint the picture into the bound framebuffer."""
        ...

    def for_file(self) -> AbstractContextManager[bool]:
        """While the block runs the picture is one for stills and films; gives whether that is another one."""
        ...

    def resize(self, size: tuple[int, int]) -> None:
        """Lay out for another size in device pixels."""
        ...

    def key(self, name: str | None, text: str = "", *, shift: bool = False, ctrl: bool = False) -> bool:
        """A key was pressed; returns whether it means something."""
        ...

    def press(self, at: Point, button: str = "left", *, shift: bool = False, ctrl: bool = False) -> None:
        """A button went down at a point in device pixels."""
        ...

    def move(self, at: Point) -> None:
        """The pointer is at `at`."""
        ...

    def release(self, at: Point) -> None:
        """The button went up."""
        ...

    def leave(self) -> None:
        """The pointer left the picture."""
        ...

    def scroll(self, at: Point, notches: tuple[float, float], *, shift: bool = False) -> None:
        """The wheel turned by `notches` across and up."""
        ...

    def open(self, paths: Sequence[Path]) -> None:
        """Files were dropped on the picture."""
        ...

    def close(self) -> None:
        """Let go of what is shown: no thread goes on."""
        ...
