"""What pictures and windows ask of each other (`Host`, `Guest`), and `Room`, which shows no run.

A host is a window, a canvas that nobody sees, or a notebook's cell. It says what happens (keys, pointer, size, dropped
files) and gives time. No guest knows which host it has, and no host knows what is shown.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from ..ink.overlay import help_pages
from .actions import SHARED, Action, action_of, normalised, table_of

Point = tuple[float, float]
Handler = Callable[[], object]
TICK = 1 / 60
"""Seconds between two looks of a viewer at what it shows."""
AGAIN_SECONDS = 2.0
"""How soon Escape has to come again to close the window."""
NOTICE_SECONDS = 8.0
"""How long news stand in a window that shows no run."""


class Host(Protocol):
    """Where a picture appears."""

    @property
    def size(self) -> tuple[int, int]:
        """Device pixels of the picture."""

    @property
    def pixel_ratio(self) -> float:
        """Device pixels of one pixel of the pointer's world: 2 on many screens."""

    @property
    def place(self) -> tuple[int, int] | None:
        """Upper left corner of the picture on the screen; None where there is no screen."""

    @property
    def visible(self) -> bool:
        """Whether anybody can see the picture."""

    @property
    def full_screen(self) -> bool:
        """Whether it fills the screen."""

    def show_full_screen(self, on: bool) -> None:
        """Fill the screen, or no longer."""

    def every(self, seconds: float, call: Callable[[float], None]) -> None:
        """From now on `call` with the seconds since the last call, about so often, the GL context current."""

    def repaint(self) -> None:
        """Draw the picture soon."""

    def screenshot(self) -> object:
        """Save what is shown."""

    def film(self) -> object:
        """Begin a film of what is shown, or end the one that is made."""

    def ask_file(self, title: str, endings: Sequence[str], then: Callable[[Path], object]) -> None:
        """Let the user choose a file whose name has one of the endings; `then` gets it, later or never."""

    def ask_text(self, title: str, label: str, text: str, then: Callable[[str], object]) -> None:
        """Let the user change `text` in a field below a title and a label; `then` gets it, later or never."""

    def copy(self, text: str) -> None:
        """Put a text on the clipboard."""

    def pasted(self) -> str:
        """The text that is on the clipboard; empty where there is none."""

    def tell(self, line: str) -> None:
        """Say one line outside of the picture: on the terminal."""

    def close_soon(self) -> None:
        """Close when nothing is being painted or handled."""

    def enter(self, make: Callable[[tuple[int, int]], Guest], name: str) -> None:
        """Close what is shown and show what `make` makes of a size, once nothing is painted or handled."""


class Guest:
    """What a host shows, used with the host's GL context current; what it does not answer to does nothing.

    It asks its host for what a window can do; without a host nothing happens.
    """

    host: Host | None = None
    clock = _escape_until = _notice_until = 0.0
    notice_seconds = NOTICE_SECONDS
    """How long a line of news stands."""
    _notice, _dirty = "", True
    escape_action: Callable[[], None] | None = None
    """Where Escape leads when nothing is open; None: its second press closes the window."""

    def attach(self, host: Host) -> None:
        """Appear in `host`: from now on it gives time, and does what is asked."""
        self.host = host
        host.every(TICK, self._beat)

    def _beat(self, seconds: float) -> None:
        """`seconds` have passed on the host's clock."""

    def draw(self, viewport: tuple[int, int] | None = None) -> None:
        """Paint the picture into the bound framebuffer."""

    def for_file(self) -> AbstractContextManager[bool]:
        """While the block runs the picture is one for stills and films; gives whether that is another one."""
        return nullcontext(False)

    def resize(self, size: tuple[int, int]) -> None:
        """Lay out for another size in device pixels."""

    def key(self, name: str | None, text: str = "", *, shift: bool = False, ctrl: bool = False) -> bool:
        """A key was pressed; returns whether it means something."""
        return False

    def press(self, at: Point, button: str = "left", *, shift: bool = False, ctrl: bool = False) -> None:
        """A button went down at a point in device pixels."""

    def move(self, at: Point) -> None:
        """The pointer is at `at`."""

    def release(self, at: Point) -> None:
        """The button went up."""

    def leave(self) -> None:
        """The pointer left the picture."""

    def scroll(self, at: Point, notches: tuple[float, float], *, shift: bool = False) -> None:
        """The wheel turned by `notches` across and up."""

    def open(self, paths: Sequence[Path]) -> None:
        """Files were dropped on the picture."""

    def close(self) -> None:
        """Let go of what is shown: no thread goes on."""

    # ---- what it asks of its host

    @property
    def host_handlers(self) -> dict[str, Callable[[], object]]:
        """What it asks, by the names of the table of actions."""
        return {
            "toggle_full_screen": lambda: self._ask_host(lambda host: host.show_full_screen(not host.full_screen)),
            "screenshot": lambda: self._ask_host(lambda host: host.screenshot()),
            "film": lambda: self._ask_host(lambda host: host.film()), "close": self._close,
        }  # fmt: skip

    def _ask_host(self, what: Callable[[Host], object]) -> None:
        if self.host is not None:
            what(self.host)

    def _close(self) -> None:
        self._ask_host(lambda host: host.close_soon())

    def say(self, line: str, seconds: float = 0.0) -> None:
        """Show a line of news for a while, or for so long."""
        self._notice, self._notice_until, self._dirty = line, self.clock + (seconds or self.notice_seconds), True

    def pass_time(self, seconds: float) -> None:
        """News go when they have stood long enough."""
        self.clock += seconds
        if self._notice and self.clock >= self._notice_until:
            self._notice, self._dirty = "", True

    def _leave_window(self) -> None:
        """Escape where nothing is open: leave full screen, take the way out, or close at the second press."""
        if self.host is not None and self.host.full_screen:
            self.host.show_full_screen(False)
        elif self.escape_action is not None:
            self.escape_action()
        elif self.clock < self._escape_until:
            self._close()
        elif self.host is not None:
            self._escape_until = self.clock + AGAIN_SECONDS
            self.say("Escape again closes the window", AGAIN_SECONDS)


class Room(Guest, ABC):
    """A window that shows no run: a line of news, a list of keys, and `own` says how its actions are done."""

    def __init__(self, actions: Sequence[Action], own: Mapping[str, Handler]) -> None:
        shared = {"escape": self._escape, "toggle_help": self._toggle_help, "toggle_theme": self.toggle_theme}
        does, every = {**own, **shared, **self.host_handlers}, (*actions, *map(action_of, SHARED))
        self._actions, self._does = actions, {key: does[action.name] for action in every for key in action.keys}
        self._help = 0

    # ---- what a room has of its own

    @property
    @abstractmethod
    def page(self) -> tuple[float, float]:
        """Logical pixels of the picture."""

    @abstractmethod
    def toggle_theme(self) -> None:
        """Light or dark."""

    def table(self) -> list[tuple[str, str]]:
        """The list of keys."""
        return table_of(self._actions)

    def cancel(self) -> bool:
        """Escape: let go of what was begun; returns whether there was something."""
        return False

    # ---- time

    def repaint(self) -> None:
        """Let the host paint what has changed."""
        if self._dirty and self.host is not None:
            self._dirty = False
            self.host.repaint()

    # ---- keys

    def key(self, name: str | None, text: str = "", *, shift: bool = False, ctrl: bool = False) -> bool:
        """A key was pressed; returns whether it means something here."""
        pressed = normalised(name, text, ctrl=ctrl)
        does = self._does.get(pressed)
        if does is None:
            if pressed:
                self.say(f"{pressed} does nothing here; ? shows the keys")
            return False
        if pressed != "Escape":
            self._escape_until = 0.0
        does()
        self._dirty = True
        return True

    def _escape(self) -> None:
        if self._help:
            self._help = 0
        elif not self.cancel():
            self._leave_window()

    def _toggle_help(self) -> None:
        pages = help_pages(self.page, self.table())
        self._help = self._help + 1 if self._help < len(pages) else 0
