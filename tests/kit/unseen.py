"""`Unseen`: a host that nobody sees. Time passes when it is told to; what it is asked for is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from scalarviz.view.out.offscreen import Image, offscreen
from scalarviz.view.watch.host import TICK, Guest


class Unseen:
    """A viewer without a window, in the shared offscreen context."""

    place = None
    visible = True
    pixel_ratio = 1.0

    def __init__(self, make: Callable[[tuple[int, int]], Guest], size: tuple[int, int] = (1280, 720)) -> None:
        self.size = size
        self.told: list[str] = []
        self.shots: list[Image] = []
        self.asked: list[tuple[str, Callable[[Path], object]]] = []
        self.clipboard = ""
        self.drawings = self.films = 0
        self.full_screen = self.closed = False
        self.name = ""
        self._calls: list[Callable[[float], None]] = []
        self._next: tuple[Callable[[tuple[int, int]], Guest], str] | None = None
        with offscreen():
            self.view = make(size)
            self.view.attach(self)

    def pass_time(self, seconds: float = TICK) -> None:
        """`seconds` pass."""
        if not self.closed:
            with offscreen():
                for call in self._calls:
                    call(seconds)
                if self._next is not None and not self.closed:
                    (make, self.name), self._next = self._next, None
                    self._calls.clear()
                    self.view.close()
                    self.view = make(self.size)
                    self.view.attach(self)

    def picture(self) -> Image:
        """What is shown, uint8 (H, W, 3)."""
        return offscreen().render(self.view.draw, self.size)

    # ---- what the viewer asks

    def show_full_screen(self, on: bool) -> None:
        """Remember it: there is no screen."""
        self.full_screen = on

    def every(self, seconds: float, call: Callable[[float], None]) -> None:
        """Time is told by :meth:`pass_time`."""
        self._calls.append(call)

    def repaint(self) -> None:
        """The next picture is another one."""
        self.drawings += 1

    def screenshot(self) -> None:
        """Keep the picture."""
        with self.view.for_file():
            self.shots.append(self.picture())

    def film(self) -> None:
        """Nobody makes one: `films` counts how often it was to begin or to end."""
        self.films += 1

    def ask_file(self, title: str, endings: Sequence[str], then: Callable[[Path], object]) -> None:
        """Nobody chooses: `asked` holds the question."""
        self.asked.append((title, then))

    def copy(self, text: str) -> None:
        """Keep it in `clipboard`."""
        self.clipboard = text

    def pasted(self) -> str:
        """What is kept there."""
        return self.clipboard

    def tell(self, line: str) -> None:
        """Keep it in `told`."""
        self.told.append(line)

    def close_soon(self) -> None:
        """Let go of the viewer, once."""
        if not self.closed:
            self.closed = True
            self.view.close()

    def enter(self, make: Callable[[tuple[int, int]], Guest], name: str) -> None:
        """Show something else when this time has passed."""
        self._next = make, name
