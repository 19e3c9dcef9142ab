"""`Stage`: the part of a window below the tour's line, as the host of what is shown there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..watch.host import Host

if TYPE_CHECKING:
    from ..watch.guest import Guest


class Stage:
    """A host inside of another one, whose upper `bar` device pixels are not its own.

    Parameters
    ----------
    host : Host
    size : (int, int)
        Device pixels.
    bar : int
    """

    def __init__(self, host: Host, size: tuple[int, int], bar: int) -> None:
        self._host, self.size, self._bar = host, size, bar
        self.calls: list[Callable[[float], None]] = []

    @property
    def pixel_ratio(self) -> float:
        """That of the whole."""
        return self._host.pixel_ratio

    @property
    def place(self) -> tuple[int, int] | None:
        """Below the line."""
        corner = self._host.place
        return None if corner is None else (corner[0], corner[1] + round(self._bar / self.pixel_ratio))

    @property
    def visible(self) -> bool:
        """Whether the whole is."""
        return self._host.visible

    @property
    def full_screen(self) -> bool:
        """Whether the whole fills the screen."""
        return self._host.full_screen

    def show_full_screen(self, on: bool) -> None:
        """The whole does."""
        self._host.show_full_screen(on)

    def every(self, seconds: float, call: Callable[[float], None]) -> None:
        """With every tick of the whole."""
        self.calls.append(call)

    def repaint(self) -> None:
        """The whole is drawn."""
        self._host.repaint()

    def screenshot(self) -> object:
        """Of the whole."""
        return self._host.screenshot()

    def film(self) -> object:
        """Of the whole."""
        return self._host.film()

    def ask_file(self, title: str, endings: Sequence[str], then: Callable[[Path], object]) -> None:
        """By the whole."""
        self._host.ask_file(title, endings, then)

    def ask_text(self, title: str, label: str, text: str, then: Callable[[str], object]) -> None:
        """By the whole."""
        self._host.ask_text(title, label, text, then)

    def copy(self, text: str) -> None:
        """By the whole."""
        self._host.copy(text)

    def pasted(self) -> str:
        """Of the whole."""
        return self._host.pasted()

    def tell(self, line: str) -> None:
        """By the whole."""
        self._host.tell(line)

    def close_soon(self) -> None:
        """The whole closes."""
        self._host.close_soon()

    def enter(self, make: Callable[[tuple[int, int]], Guest], name: str) -> None:
        """The whole shows something else."""
        self._host.enter(make, name)
