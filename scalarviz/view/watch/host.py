"""`Host` and `Guest`: the interface between windows and pictures; `Room`: a window that shows no run.

A host is a window, an off-screen canvas or a notebook cell. It sends keys, pointer events, sizes, dropped files and
time. Guests do not know the type of their host, and hosts do not know what their guest shows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Protocol

from ..ink.widgets import help_pages
from .actions import SHARED, Action, action_of, normalised, table_of

Point = tuple[float, float]
Handler = Callable[[], object]
TICK = 1 / 60
"""Seconds between two ticks."""
AGAIN_SECONDS = 2.0
"""Seconds within which a second Escape closes the window."""
NOTICE_SECONDS = 8.0
"""Seconds for which a notice is shown in a window without a run."""


class Host(Protocol):
    """The window, canvas or cell of a picture."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the picture in device pixels."""

    @property
    def pixel_ratio(self) -> float:
        """Device pixels per pixel of the pointer's coordinates: 2 on many screens."""

    @property
    def place(self) -> tuple[int, int] | None:
        """Upper left corner of the picture on the screen, or None without a screen."""

    @property
    def visible(self) -> bool:
        """True if the picture can be seen."""

    @property
    def full_screen(self) -> bool:
        """True if the picture fills the screen."""

    def show_full_screen(self, on: bool) -> None:
        """Enter or leave full screen."""

    def every(self, seconds: float, call: Callable[[float], None]) -> None:
        """Call `call` about every `seconds`, with the seconds since the last call and the GL context current."""

    def repaint(self) -> None:
        """Schedule a redraw."""

    def screenshot(self) -> object:
        """Save a screenshot."""

    def film(self) -> object:
        """Start a film of the window, or end the current one."""

    def ask_file(self, title: str, endings: Sequence[str], then: Callable[[Path], object]) -> None:
        """Let the user choose a file with one of the endings; `then` gets its path, or is never called."""

    def copy(self, text: str) -> None:
        """Put a text on the clipboard."""

    def pasted(self) -> str:
        """Return the text on the clipboard, or ''."""

    def tell(self, line: str) -> None:
        """Print one line on the terminal."""

    def close_soon(self) -> None:
        """Close once nothing is being drawn or handled."""

    def enter(self, make: Callable[[tuple[int, int]], Guest], name: str) -> None:
        """Replace the guest by ``make(size)`` once nothing is being drawn or handled."""


class Guest:
    """The content of a host. Use it while the host's GL context is current. Events without a method do nothing.

    It asks its host for what a window can do; without a host that does nothing.
    """

    host: Host | None = None
    clock = _escape_until = _notice_until = 0.0
    notice_seconds = NOTICE_SECONDS
    """Seconds for which a notice is shown."""
    _notice, _dirty = "", True
    escape_action: Callable[[], None] | None = None
    """Called on Escape when nothing is open; with None, Escape twice closes the window."""

    def attach(self, host: Host) -> None:
        """Appear in `host`, which then sends time and fulfils requests."""
        self.host = host
        host.every(TICK, partial(self._beat, host))

    def _beat(self, host: Host, seconds: float) -> None:
        """Advance by `seconds` of the host's clock."""

    def draw(self, viewport: tuple[int, int] | None = None) -> None:
        """Draw the picture into the bound framebuffer."""

    def for_file(self) -> AbstractContextManager[bool]:
        """Show the picture for stills and films inside the block; yield whether it differs."""
        return nullcontext(False)

    def resize(self, size: tuple[int, int]) -> None:
        """Lay out for another size in device pixels."""

    def key(self, name: str | None, text: str = "", *, shift: bool = False, ctrl: bool = False) -> bool:
        """Handle a key; return whether it has a meaning."""
        return False

    def press(self, at: Point, button: str = "left", *, shift: bool = False, ctrl: bool = False) -> None:
        """Handle a button press at a point in device pixels."""

    def move(self, at: Point) -> None:
        """Handle a pointer move."""

    def release(self, at: Point) -> None:
        """Handle a button release."""

    def leave(self) -> None:
        """Handle the pointer leaving the picture."""

    def scroll(self, at: Point, notches: tuple[float, float], *, shift: bool = False) -> None:
        """Handle the wheel; `notches` count to the right and up."""

    def open(self, paths: Sequence[Path]) -> None:
        """Open files that were dropped on the picture."""

    def close(self) -> None:
        """Release what is shown and end its threads."""

    # ---- requests to the host

    @property
    def host_handlers(self) -> dict[str, Callable[[], object]]:
        """Functions that ask the host, by action name."""
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
        """Show a notice for `seconds`, or for `notice_seconds` with 0."""
        self._notice, self._notice_until, self._dirty = line, self.clock + (seconds or self.notice_seconds), True

    def _does_nothing(self, pressed: str) -> bool:
        """Say that a key does nothing here, unless it is one like Shift alone (''); return False."""
        if pressed:
            self.say(f"{pressed} does nothing here; ? shows the keys")
        return False

    def pass_time(self, seconds: float) -> None:
        """Advance the clock and remove a notice whose time is over."""
        self.clock += seconds
        if self._notice and self.clock >= self._notice_until:
            self._notice, self._dirty = "", True

    def _leave_window(self) -> None:
        """Leave full screen, run `escape_action`, or close at the second press."""
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
    """A window that shows no run, with notices and a list of keys; `own` maps its actions to functions."""

    def __init__(self, actions: Sequence[Action], own: Mapping[str, Handler]) -> None:
        shared = {"escape": self._escape, "toggle_help": self._toggle_help, "toggle_theme": self.toggle_theme}
        does, every = {**own, **shared, **self.host_handlers}, (*actions, *map(action_of, SHARED))
        self._actions, self._does = actions, {key: does[action.name] for action in every for key in action.keys}
        self._help = 0

    # ---- to be defined by each room

    @property
    @abstractmethod
    def page(self) -> tuple[float, float]:
        """Width and height of the picture in logical pixels."""

    @abstractmethod
    def toggle_theme(self) -> None:
        """Switch between light and dark."""

    def table(self) -> list[tuple[str, str]]:
        """Return the list of keys."""
        return table_of(self._actions)

    def cancel(self) -> bool:
        """Cancel what Escape cancels first; return whether there was something."""
        return False

    # ---- time

    def repaint(self) -> None:
        """Redraw what has changed."""
        if self._dirty and self.host is not None:
            self._dirty = False
            self.host.repaint()

    # ---- keys

    def key(self, name: str | None, text: str = "", *, shift: bool = False, ctrl: bool = False) -> bool:
        """Handle a key; return whether it has a meaning here."""
        pressed = normalised(name, text, ctrl=ctrl)
        does = self._does.get(pressed)
        if does is None:
            return self._does_nothing(pressed)
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
