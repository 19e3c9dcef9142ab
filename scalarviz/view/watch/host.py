"""`Host`: what a viewer asks of the thing that it appears in: a window, a canvas that nobody sees, a notebook's cell.

The host tells the viewer what happens (keys, pointer, size, dropped files) and gives it time; the viewer says what is
to be done. No viewer knows which host it has, and no host knows what is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .guest import Guest

TICK = 1 / 60
"""Seconds between two looks of a viewer at what it shows."""


class Host(Protocol):
    """Where a picture appears."""

    @property
    def size(self) -> tuple[int, int]:
        """Device pixels of the picture."""
        ...

    @property
    def pixel_ratio(self) -> float:
        """Device pixels of one pixel of the pointer's world: 2 on many screens."""
        ...

    @property
    def place(self) -> tuple[int, int] | None:
        """Upper left corner of the picture on the screen; None where there is no screen."""
        ...

    @property
    def visible(self) -> bool:
        """Whether anybody can see the picture."""
        ...

    @property
    def full_screen(self) -> bool:
        """Whether it fills the screen."""
        ...

    def show_full_screen(self, on: bool) -> None:
        """Fill the screen, or no longer."""
        ...

    def every(self, seconds: float, call: Callable[[float], None]) -> None:
        """From now on `call` with the seconds since the last call, about so often, the GL context current."""
        ...

    def repaint(self) -> None:
        """Draw the picture soon."""
        ...

    def screenshot(self) -> object:
        """Save what is shown."""
        ...

    def film(self) -> object:
        """Begin a film of what is shown, or end the one that is made."""
        ...

    def ask_file(self, title: str, endings: Sequence[str], then: Callable[[Path], object]) -> None:
        """Let the user choose a file whose name has one of the endings; `then` gets it, later or never."""
        ...

    def ask_text(self, title: str, label: str, text: str, then: Callable[[str], object]) -> None:
        """Let the user type one line into a field of the host's own; `then` gets it, later or never.

        Parameters
        ----------
        title, label : str
            What is asked for, and what is allowed.
        text : str
            What stands in the field at first.
        then : callable
            Called with what was typed.
        """
        ...

    def copy(self, text: str) -> None:
        """Put a text on the clipboard."""
        ...

    def pasted(self) -> str:
        """The text that is on the clipboard; empty where there is none."""
        ...

    def tell(self, line: str) -> None:
        """Say one line outside of the picture: on the terminal."""
        ...

    def close_soon(self) -> None:
        """Close when nothing is being painted or handled."""
        ...

    def enter(self, make: Callable[[tuple[int, int]], Guest], name: str) -> None:
        """Show something else, when nothing is being painted or handled: what is shown now is closed before.

        Parameters
        ----------
        make : callable
            Makes it for a size in device pixels; called with the GL context current.
        name : str
            Of what it shows, for title and screenshots.
        """
        ...
